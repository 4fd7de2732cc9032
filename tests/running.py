"""What tests do with processes that run until they are stopped. They wait for what a process has come to, not for a time: on a busy machine a second may not be enough to begin."""
import os
import signal
import time

LONG = 120  # seconds after which a process hangs, even where many others run


def wait(what, condition, seconds=LONG):
    """Waits until the condition holds; fails after so many seconds."""
    end = time.time() + seconds
    while not condition():
        assert time.time() < end, what
        time.sleep(0.02)


def status(pid, key):
    """What /proc says under `key` of a process; the empty string if it has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((line.split()[1] for line in file if line.startswith(key + ":")), "")
    except OSError:
        return ""


def catches(pid, number):
    """Does the process have a handler for the signal?"""
    return int(status(pid, "SigCgt") or "0", 16) >> (number - 1) & 1 == 1


def processor_time(pid):
    """Seconds of processor time that the process has taken, all its threads; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
    except OSError:
        return 0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def work(p, seconds, number=signal.SIGINT):
    """Waits until the process, a Popen, has a handler for the signal and has computed for so many seconds since, or has ended."""
    wait("the process has no handler for the signal", lambda: catches(p.pid, number) or p.poll() is not None)
    enough = processor_time(p.pid) + seconds
    wait("the process computes nothing", lambda: processor_time(p.pid) >= enough or p.poll() is not None)
