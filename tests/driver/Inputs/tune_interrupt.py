"""tune_interrupt.py STC FOLDER PROGRAM: interrupts `stc tune` on the stand-in for NVIDIA's driver while that compiles what is to be tried after the
default was measured, which takes three seconds. The command ends at once and writes its log, which has the default; no schedule is kept."""
import csv
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, wait  # noqa: E402

stc, folder, program = sys.argv[1:]
log, table, database = (os.path.join(folder, name) for name in ("log", "log.csv", "db.json"))
open(log, "w").close()


seen = {"at": 0, "verified": False, "last": ""}


def compiles_more():
    """Has the default, or another one, been verified on the odd grid, and is something compiled now?"""
    with open(log, "rb") as f:
        f.seek(seen["at"])
        new = f.read()
    lines = new[:new.rfind(b"\n") + 1].decode().split("\n")[:-1]      # the last may not be whole
    seen["at"] += sum(len(line) + 1 for line in lines)
    seen["verified"] |= any("_any " in line for line in lines)
    seen["last"] = lines[-1] if lines else seen["last"]
    return seen["verified"] and seen["last"].startswith("compiles") and "_any" not in seen["last"]


signal.signal(signal.SIGINT, signal.default_int_handler)
p = subprocess.Popen([stc, "tune", "--device=cuda", "--no-ptxas", "--quiet", "--seconds=1000", "--db", database, "--log", table, program],
                     stderr=subprocess.PIPE, text=True, env=os.environ | dict(STC_STANDIN_LOG=log, STC_STANDIN_COMPILE="3000"))
wait("nothing is compiled behind the default or another one", lambda: compiles_more() or p.poll() is not None, 5 * LONG)
start = time.monotonic()
p.send_signal(signal.SIGINT)
_, err = p.communicate(timeout=60)
assert time.monotonic() - start < 2, time.monotonic() - start
assert p.returncode == 130 and re.search(r"stopped; \d+ schedules? w.* measured, none is kept", err), (p.returncode, err)
with open(table) as f:
    rows = list(csv.DictReader(f))
assert rows[0]["options"] == "-schedule=auto" and rows[0]["state"] == "wrong", rows[0]
assert not os.path.exists(database)
