"""terminate.py COMMAND... --checkpoint=FILE ...: SIGTERM, when the command has computed for a while, ends it with exit code 130, and FILE is there."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, work  # noqa: E402

name = next(w for w in sys.argv if w.startswith("--checkpoint="))[13:]
p = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE)
work(p, 0.5, signal.SIGTERM)
p.send_signal(signal.SIGTERM)
_, err = p.communicate(timeout=LONG)
assert p.returncode == 130 and b"stopped; the files have what was written until then" in err, (p.returncode, err)
assert os.path.getsize(name) > 1000
