"""failing_disk.py FOLDER [--sent] COMMAND...: starts the command, which has a grid in a file in the folder (--memory), and cuts that file to its half while it runs, as a disk would fail: the command ends with exit
code 5 and a message, and no signal. --sent: the disk is right, and somebody sends the command SIGBUS, which ends it. What it says goes to
the standard output."""
import os
import resource
import signal
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


def is_mapped(process, home):
    """Does the process have memory that is such a file?"""
    with open(f"/proc/{process}/maps") as maps:
        return home + "/" in maps.read()


sent = sys.argv[2] == "--sent"
folder, command = os.path.realpath(sys.argv[1]), sys.argv[3 if sent else 2:]
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
try:
    wait("there is no file", lambda: grid(run.pid, folder) is not None or run.poll() is not None)
    if sent:
        wait("no file is mapped", lambda: is_mapped(run.pid, folder) or run.poll() is not None)
        run.send_signal(signal.SIGBUS)
    else:
        file = grid(run.pid, folder)
        os.truncate(file, os.stat(file).st_size // 2)
    print(run.communicate(timeout=LONG)[0])
finally:
    run.kill()
assert run.wait() == (-signal.SIGBUS if sent else 5), f"it ended with {run.returncode}"
