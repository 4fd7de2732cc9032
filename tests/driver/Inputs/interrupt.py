"""interrupt.py [--within=S] FOLDER COMMAND...: starts the command, sends it SIGINT when it has computed for a while, and checks that it ends soon,
with exit code 130, its message, and FOLDER empty; in S seconds, of processor time so that a busy machine does not count, if that is given.
A bench, which has no FOLDER to watch and says nothing, is told by its name."""
import os
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, processor_time, work  # noqa: E402

within = float(sys.argv.pop(1)[9:]) if sys.argv[1].startswith("--within=") else None
signal.signal(signal.SIGINT, signal.default_int_handler)
p = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE)
work(p, 0.5 if within is None else 3)
before = processor_time(p.pid)
p.send_signal(signal.SIGINT)
_, err = p.communicate(timeout=LONG)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
assert within is None or used.ru_utime + used.ru_stime - before < within, (used, before)
assert p.returncode == 130, (p.returncode, err)
assert "bench" in sys.argv or b"stopped; no file was written" in err, err
assert os.listdir(sys.argv[1]) == [], os.listdir(sys.argv[1])
