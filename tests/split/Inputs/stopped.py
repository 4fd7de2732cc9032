"""stopped.py FOLDER STC OPTION... PROGRAM: stops a run whose grid is cut after a second, by Ctrl-C, and compares field U of the checkpoint that it leaves with
that of a run of as many steps."""
import re
import signal
import subprocess
import sys
import time

folder, stc, options, program = sys.argv[1], sys.argv[2], sys.argv[3:-1], sys.argv[-1]
signal.signal(signal.SIGINT, signal.default_int_handler)
run = subprocess.Popen([stc, "run", "--quiet", *options, "--steps=1000000000", f"--checkpoint={folder}/c.h5", program])
time.sleep(1)
run.send_signal(signal.SIGINT)
assert run.wait(60) == 130, run.returncode
refused = subprocess.run([stc, "run", "--quiet", *options, "--steps=0", f"--restart={folder}/c.h5", program], capture_output=True, text=True)
steps = int(re.search(r"(\d+) steps are done there", refused.stderr)[1])
assert steps > 1, "it was stopped before it began"
for name, more in (("a", [f"--restart={folder}/c.h5"]), ("b", [])):
    subprocess.run([stc, "run", "--quiet", *options, f"--steps={steps}", *more, "--out", f"U={folder}/{name}.npy", program], check=True)
with open(f"{folder}/a.npy", "rb") as one, open(f"{folder}/b.npy", "rb") as other:
    assert one.read() == other.read(), f"the checkpoint has not what {steps} steps give"
