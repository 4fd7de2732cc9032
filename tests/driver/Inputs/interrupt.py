"""interrupt.py [--after=S] [--within=S] FOLDER COMMAND...: starts the command, sends it SIGINT when it has computed for a while, and checks that it
ends soon, with exit code 130, its message, and FOLDER as it was; in S seconds, of processor time so that a busy machine does not count, if that is
given. A bench, which says nothing, is told by its name."""
import os
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, processor_time, work  # noqa: E402


def option(name):
    return float(sys.argv.pop(1).partition("=")[2]) if sys.argv[1].startswith(name) else None


def files(folder):
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


after, within = option("--after="), option("--within=")
before = files(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)
p = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE)
work(p, 0.5 if after is None else after)
taken = processor_time(p.pid)
p.send_signal(signal.SIGINT)
_, err = p.communicate(timeout=LONG)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
assert within is None or used.ru_utime + used.ru_stime - taken < within, (used, taken)
assert p.returncode == 130, (p.returncode, err)
assert "bench" in sys.argv or b"stopped; no" in err, err
assert files(sys.argv[1]) == before, os.listdir(sys.argv[1])
