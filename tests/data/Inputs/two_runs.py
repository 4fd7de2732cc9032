"""two_runs.py STC PROGRAM: runs that write the same file at the same time. One has it and writes it whole; the others end at once, with exit
code 5 and an error that says which process has it. What a run that was killed has left keeps nobody out."""
import os
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from running import LONG, wait  # noqa: E402

STC, PROGRAM = sys.argv[1:3]
RUN = [STC, "run", "-O0", "--quiet", "--device=host:1", "-schedule=naive"]

SOME = 100_000  # bytes: more than a file has before its first values


def start(*words):
    return subprocess.Popen([*RUN, "--steps=1000000000", *words, PROGRAM], stderr=subprocess.PIPE, text=True)


def lock_of(name):
    return pathlib.Path(f".{name}.stc-lock")


def written(name):
    """The bytes that a run has written so far: of its last checkpoint, or of the file that grows."""
    path = pathlib.Path("c" if name == "c" else f"{name}.part")
    return path.stat().st_size if path.exists() else 0


for name, words in (("s.h5", ["--every=50", "--out", "u=s.h5"]), ("s.nc", ["--every=50", "--out", "u=s.nc"]), ("c", ["--checkpoint=c", "--every=50"]),
                    ("c", ["--checkpoint=./c", "--every=50", "--out", "u=t.h5"]), ("l.h5", ["--log", "l.h5"])):
    runs = [start(*words) for _ in range(4)]
    wait("more than one run goes on", lambda: sum(p.poll() is None for p in runs) <= 1)
    [winner] = [p for p in runs if p.poll() is None]
    for p in runs:
        if p is not winner:
            error = p.communicate()[1]
            owner = re.search(r"error: cannot write \S+: (process (\d+) on \S+|another process) is writing it", error)
            assert p.returncode == 5 and owner and owner[2] in (None, str(winner.pid)), (p.returncode, error, winner.pid)
    late = start(*words)
    error = late.communicate(timeout=LONG)[1]
    assert late.returncode == 5 and f"process {winner.pid} on " in error, error
    if name != "l.h5":   # a run that is stopped before its first values are written leaves no file
        wait("nothing is written", lambda: written(name) > SOME)
    winner.send_signal(signal.SIGTERM)
    assert winner.wait(timeout=LONG) == 130 and os.path.exists(name) == (name != "l.h5") and not lock_of(name).exists(), (winner.stderr.read(), os.listdir("."))
    if name == "c":
        again = start("--restart=c", *words)
        wait("no restart", lambda: lock_of(name).exists() or again.poll() is not None)
        again.kill()
        assert again.wait() == -signal.SIGKILL and lock_of(name).exists(), again.stderr.read()
        subprocess.run([*RUN, "--steps=3", "--checkpoint=c", PROGRAM], check=True)
        assert not lock_of(name).exists()
