"""waits.py SIGNAL COMMAND...: starts the command, which waits for the other side of a pipe, sends it the signal when it has waited for a while, and checks that it ends soon, with exit code 130 and its message."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG  # noqa: E402

signal.signal(signal.SIGINT, signal.default_int_handler)
p = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE, start_new_session=True)


def catches(pid, number):
    """Has the process a handler for the signal? Before that it would end by it at once."""
    with open(f"/proc/{pid}/status") as f:
        mask = next(line for line in f if line.startswith("SigCgt:"))
    return int(mask.split()[1], 16) >> (number - 1) & 1


end = time.monotonic() + LONG
while p.poll() is None and not catches(p.pid, getattr(signal, sys.argv[1])):
    assert time.monotonic() < end, "it does not handle the signal"
    time.sleep(0.02)
time.sleep(0.7)
assert p.poll() is None, (p.returncode, p.stderr.read())
p.send_signal(getattr(signal, sys.argv[1]))
try:
    _, err = p.communicate(timeout=LONG)
finally:
    p.kill()
assert p.returncode == 130, (p.returncode, err)
assert b"stopped; no file was written" in err, err
