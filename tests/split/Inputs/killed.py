"""killed.py HOW[,PATTERN] FOLDER COMMAND...: starts several processes, and kills one of them (HOW is one_rank, or first_rank, which
writes, or second_rank with a launcher that was stopped and ends nobody) or sends all of them Ctrl-C (control_c). All must be gone soon,
and FOLDER as it was but for names that match PATTERN, of which there must be some. One of the ranks that are left says which one is
missing. Where some have process numbers of their own, as ranks of several machines have, the message says the machine, too; the launcher
is stopped there whichever is killed, for it may end the others before what they hear by the network has come to them."""
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


def is_over(pid):
    """Has the process ended, whether or not its parent knows?"""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def watches(pid):
    """Does the process wait for the end of others (pidfd_open)?"""
    try:
        return any("pidfd" in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def own_number(pid):
    """The number by which the process knows itself."""
    with open(f"/proc/{pid}/status") as file:
        return next(line for line in file if line.startswith("NSpid:")).split()[-1]


def linked(pids):
    """Are there processes that do not see each other? They have had time to connect then: three seconds of this one's processor, for on a busy
    machine those of a clock say nothing, and nobody misses a rank that is killed before that."""
    far = len({os.readlink(f"/proc/{pid}/ns/pid") for pid in pids}) > 1
    end = time.process_time() + 3
    while far and time.process_time() < end:
        pass
    return far


def ended(kill):
    """Runs the command until its processes run steps, has `kill` end it, and looks at what is left."""
    word = f"STC_TEST_RUN={os.getpid()}-{kill.__name__}"
    before = sorted(os.listdir(folder))
    run = subprocess.Popen(command, env=dict(os.environ, STC_TEST_RUN=word.split("=")[1]), stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, start_new_session=True)
    wait("the processes do not begin", lambda: len(children(word)) >= 3 or run.poll() is not None)
    far = linked(children(word))
    wait("they do not watch each other", lambda: far or all(map(watches, children(word))) or run.poll() is not None)
    if pattern:
        wait("nothing is written", lambda: fnmatch.filter(set(os.listdir(folder)) - set(before), pattern) or run.poll() is not None)
    time.sleep(0.4)
    assert run.poll() is None, run.stderr.read().decode()
    known = {pid: own_number(pid) for pid in children(word)}
    held = kill is second_rank or far and kill is not control_c
    if held:
        os.kill(launcher(run.pid), signal.SIGSTOP)
    try:
        killed = known.get(kill(run, sorted(known)))
        if held:
            wait("processes are left", lambda: all(map(is_over, known)), GONE)
    except BaseException:
        os.killpg(run.pid, signal.SIGKILL)
        raise
    if held:
        os.killpg(run.pid, signal.SIGCONT)
    wait("the launcher goes on", lambda: run.poll() is not None, GONE)
    wait("processes are left", lambda: not children(word), GONE)
    told = run.stderr.read().decode()
    assert run.returncode not in (0, 124), f"the launcher ended with {run.returncode}"
    assert kill is not control_c or "stopped; " in told, told
    on = f" on {os.uname().nodename}" if far else ""
    assert told.count("has ended") == (killed is not None) and (killed is None or f"(process {killed}{on}) has ended" in told), told
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


def second_rank(_, pids):
    """Kills the second process."""
    os.kill(pids[1], signal.SIGKILL)
    return pids[1]


def launcher(pid):
    """The process that mpirun is in: below `timeout`."""
    with open(f"/proc/{pid}/comm") as file:
        if file.read().strip() != "timeout":
            return pid
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return int(file.read().split()[0])


def group(pid):
    """The processes of the process's group, but `timeout`, which hands a signal on: the launcher would have it three times."""
    found = []
    for other in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{other}/comm") as file:
                if os.getpgid(other) == pid and file.read().strip() != "timeout":
                    found.append(other)
        except OSError:
            pass
    return found


def control_c(run, _):
    """Ctrl-C, once, as a terminal sends it: to all of the group. At a second one MPICH's launcher fails an assertion of its own, at once, whatever
    becomes of the ranks."""
    for pid in group(run.pid):
        os.kill(pid, signal.SIGINT)


ended({"one_rank": one_rank, "first_rank": first_rank, "second_rank": second_rank, "control_c": control_c}[how])
