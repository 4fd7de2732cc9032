"""interrupted.py FOLDER COMMAND...: starts the command, sends it SIGINT, and checks that it says so and that FOLDER has whole .npy files of one size, of steps 0, 100, 200, ..."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, wait  # noqa: E402

folder = sys.argv[1]
signal.signal(signal.SIGINT, signal.default_int_handler)
p = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE)
wait("no fourth file", lambda: os.path.exists(f"{folder}/000300.npy") or p.poll() is not None)
p.send_signal(signal.SIGINT)
_, err = p.communicate(timeout=LONG)
assert p.returncode == 130, (p.returncode, err)
assert b"stopped; the files have what was written until then" in err, err
names = sorted(os.listdir(folder))
assert names == [f"{100 * i:06d}.npy" for i in range(len(names))] and len(names) > 3, names
assert {os.path.getsize(f"{folder}/{name}") for name in names} == {128 + 4 * 400 * 400}, names
