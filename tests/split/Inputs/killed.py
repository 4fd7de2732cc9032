"""killed.py HOW[,PATTERN] FOLDER COMMAND...: starts several processes, and kills one of them (HOW is one_rank, or first_rank, which
writes) or sends all of them Ctrl-C (control_c). All must be gone soon, and FOLDER as it was but for names that match
PATTERN, of which there must be some. One of the ranks that are left says which one is missing."""
import fnmatch
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import wait  # noqa: E402

how, _, pattern = sys.argv[1].partition(",")
folder, command = sys.argv[2], sys.argv[3:]
GONE = 60  # seconds in which all must be gone


def children(word):
    """The processes with this word in their environment, which are the run's own, that are called stc."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                mine = word.encode() in file.read()
            with open(f"/proc/{pid}/comm") as file:
                if mine and file.read().strip() == "stc":
                    found.append(int(pid))
        except OSError:
            pass
    return found


def watches(pid):
    """Does the process wait for the end of others (pidfd_open)?"""
    try:
        return any("pidfd" in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def ended(kill):
    """Runs the command until its processes run steps, has `kill` end it, and looks at what is left."""
    word = f"STC_TEST_RUN={os.getpid()}-{kill.__name__}"
    before = sorted(os.listdir(folder))
    run = subprocess.Popen(command, env=dict(os.environ, STC_TEST_RUN=word.split("=")[1]), stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, start_new_session=True)
    wait("the processes do not begin", lambda: len(children(word)) >= 3 or run.poll() is not None)
    wait("they do not watch each other", lambda: all(map(watches, children(word))) or run.poll() is not None)
    if pattern:
        wait("nothing is written", lambda: fnmatch.filter(set(os.listdir(folder)) - set(before), pattern) or run.poll() is not None)
    time.sleep(0.4)
    assert run.poll() is None, run.stderr.read().decode()
    killed = kill(run, children(word))
    wait("the launcher goes on", lambda: run.poll() is not None, GONE)
    wait("processes are left", lambda: not children(word), GONE)
    assert run.returncode not in (0, 124), f"the launcher ended with {run.returncode}"
    told = run.stderr.read().decode()
    assert told.count("has ended") == (killed is not None) and (killed is None or f"(process {killed}) has ended" in told), told
    left = [name for name in sorted(os.listdir(folder)) if name not in before]
    whole = fnmatch.filter(left, pattern)
    assert left == whole, f"left behind: {sorted(set(left) - set(whole))}"
    assert whole or not pattern, "nothing was written"


def one_rank(_, pids):
    """Kills the last process."""
    os.kill(max(pids), signal.SIGKILL)
    return max(pids)


def first_rank(_, pids):
    """Kills the first process."""
    os.kill(min(pids), signal.SIGKILL)
    return min(pids)


def control_c(run, _):
    """Ctrl-C, as a terminal sends it: to all of the session."""
    os.killpg(run.pid, signal.SIGINT)


ended({"one_rank": one_rank, "first_rank": first_rank, "control_c": control_c}[how])
