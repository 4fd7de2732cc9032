"""interrupt.py FOLDER COMMAND...: starts the command, sends it SIGINT when it has computed for a while, and checks that it ends soon, with exit code 130, its message, and FOLDER empty."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, work  # noqa: E402

signal.signal(signal.SIGINT, signal.default_int_handler)
p = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE)
work(p, 0.5)
p.send_signal(signal.SIGINT)
_, err = p.communicate(timeout=LONG)
assert p.returncode == 130, (p.returncode, err)
assert b"stopped; no file was written" in err, err
assert os.listdir(sys.argv[1]) == [], os.listdir(sys.argv[1])
