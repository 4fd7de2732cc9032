"""killed_once.py FILE COMMAND...: starts the command and kills it (SIGKILL) as soon as FILE is there."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import wait  # noqa: E402

file, command = sys.argv[1], sys.argv[2:]
run = subprocess.Popen(command)
wait("the command does not write", lambda: os.path.exists(file) or run.poll() is not None)
run.kill()
assert run.wait() == -signal.SIGKILL, f"the command ended first, with {run.returncode}"
