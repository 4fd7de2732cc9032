"""interrupt.py FOLDER COMMAND...: starts the command, sends it SIGINT after a second, and checks that it ends soon, with exit code 130, its message, and FOLDER empty."""
import os
import signal
import subprocess
import sys
import time

signal.signal(signal.SIGINT, signal.default_int_handler)
p = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE)
time.sleep(2)
p.send_signal(signal.SIGINT)
_, err = p.communicate(timeout=60)
assert p.returncode == 130, (p.returncode, err)
assert b"stopped; no file was written" in err, err
assert os.listdir(sys.argv[1]) == [], os.listdir(sys.argv[1])
