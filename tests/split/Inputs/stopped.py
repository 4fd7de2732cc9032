"""stopped.py FOLDER STC OPTION... PROGRAM: stops a run whose grid is cut when it has computed for a while, by Ctrl-C, and compares field U of the checkpoint that it leaves with
that of a run of as many steps."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, work  # noqa: E402

folder, stc, options, program = sys.argv[1], sys.argv[2], sys.argv[3:-1], sys.argv[-1]
signal.signal(signal.SIGINT, signal.default_int_handler)


def stopped(seconds):
    """How many steps a run made that was stopped after so many seconds of processor time: 0 if these were not enough to begin."""
    run = subprocess.Popen([stc, "run", "--quiet", *options, "--steps=1000000000", f"--checkpoint={folder}/c.h5", program])
    work(run, seconds)
    run.send_signal(signal.SIGINT)
    assert run.wait(LONG) == 130, run.returncode
    refused = subprocess.run([stc, "run", "--quiet", *options, "--steps=0", f"--restart={folder}/c.h5", program], capture_output=True, text=True)
    found = re.search(r"(\d+) steps are done there", refused.stderr)
    return int(found[1]) if found else 0


steps = next(filter(lambda n: n > 1, map(stopped, (0.5, 2, 8, 32))), 0)
assert steps, "it was stopped before it began"
for name, more in (("a", [f"--restart={folder}/c.h5"]), ("b", [])):
    subprocess.run([stc, "run", "--quiet", *options, f"--steps={steps}", *more, "--out", f"U={folder}/{name}.npy", program], check=True)
with open(f"{folder}/a.npy", "rb") as one, open(f"{folder}/b.npy", "rb") as other:
    assert one.read() == other.read(), f"the checkpoint has not what {steps} steps give"
