"""failing_disk.py FOLDER COMMAND...: starts the command, which has a grid in a file in the folder (--memory), and cuts that file to its half while it runs, as a disk would fail: the command ends with exit
code 5 and a message, and no signal. What it says goes to the standard output."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, wait  # noqa: E402


def grid(process, home):
    """The file of the process without a name in the folder, or None."""
    files = f"/proc/{process}/fd"
    for name in os.listdir(files) if os.path.isdir(files) else []:
        try:
            path = os.path.join(files, name)
            if os.readlink(path).startswith(home) and os.stat(path).st_size > 1 << 20:
                return path
        except FileNotFoundError:
            pass
    return None


folder, command = os.path.realpath(sys.argv[1]), sys.argv[2:]
run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
try:
    wait("there is no file", lambda: grid(run.pid, folder) is not None or run.poll() is not None)
    file = grid(run.pid, folder)
    os.truncate(file, os.stat(file).st_size // 2)
    print(run.communicate(timeout=LONG)[0])
finally:
    run.kill()
assert run.wait() == 5, f"it ended with {run.returncode}"
