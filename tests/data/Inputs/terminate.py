"""terminate.py COMMAND... --checkpoint=FILE ...: SIGTERM ends the command with exit code 130, and FILE is there."""
import os
import signal
import subprocess
import sys
import time

name = next(w for w in sys.argv if w.startswith("--checkpoint="))[13:]
p = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE)
time.sleep(3)
p.send_signal(signal.SIGTERM)
_, err = p.communicate(timeout=60)
assert p.returncode == 130 and b"stopped; the files have what was written until then" in err, (p.returncode, err)
assert os.path.getsize(name) > 1000
