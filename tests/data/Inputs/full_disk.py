"""full_disk.py STC PROGRAM FOLDER: each writer meets a full disk (a limit on the size of files): an error that names the file and the cause, and
nothing under the name of a whole file but what is whole: a file of many steps with those that were written (readers.py reads such). What can
be known before the first step is said then."""
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys

STC, PROGRAM, TOP = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), pathlib.Path(sys.argv[3])
LATE = str(pathlib.Path(PROGRAM).parent / "late.stn")
FOREVER = ["--steps=1000000000000", "--every=3"]


def run(words, limit, program=PROGRAM):
    """Status and messages of a run that may write no file longer than `limit` bytes."""
    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done = subprocess.run([STC, "run", "-O0", "--quiet", *words, program], capture_output=True, text=True, cwd=TOP, preexec_fn=limited, timeout=300)
    return done.returncode, done.stderr


def left():
    return sorted(os.listdir(TOP))


def clean():
    for name in left():
        (TOP / name).unlink()


# What is written, the limit, what the error names, and what is left.
CASES = [(["--out", "u=%d.npy"], 100000, "0.npy", []), (["-DN=1200", "-DM=1200", "--out", "u=%d.npy"], 3 << 20, "0.npy", []),
         (["--out", "u=%d.vti"], 500, "0.vti", []), (["--compress=0", "--out", "u=%d.vti"], 100000, "0.vti", []),
         (["--compress=0", "--out", "u=s.pvd"], 100000, "s_000000.vti", []), (["--compress=0", "--out", "u=s.h5"], 700000, "s.h5", ["s.h5", "s.xmf"]),
         (["--compress=0", "--out", "u=s.nc"], 700000, "s.nc", ["s.nc"]), (["--out", "u=s.h5"], 60000, "s.h5", ["s.h5", "s.xmf"]),
         (["--compress=0", "--out", "u=s.h5"], 100000, "s.h5", []),
         (["--compress=0", "--checkpoint=c", "--checkpoint-every=1000000", "--out", "u=s.h5"], 700000, "s.h5", ["c", "s.h5.part"]),
         (["--png", "u=%d.png"], 200, "0.png", []), (["--png", "u=s.apng"], 30000, "s.apng", ["s.apng"]), (["--png", "u=s.apng"], 300, "s.apng", []), (["--checkpoint=c"], 100000, "c", [])]
LAST = [(["--log", "l.csv"], 100, "l.csv"), (["--log", "l.h5"], 1000, "l.h5"), (["--out", "u=u.npy"], 1000, "u.npy"), (["--png", "u=u.png"], 200, "u.png")]

for words, limit, name, rest in CASES:
    status, error = run(["-DN=200", "-DM=200", *FOREVER, *words] if "-DN=1200" not in words else FOREVER + words, limit)
    assert status == 5 and f"cannot write {name}: " in error and error.count("error: ") == 1, (words, status, error)
    assert left() == rest, (words, left())
    clean()
for words, limit, name in LAST:
    status, error = run(["-DN=200", "-DM=200", "--steps=40", *words], limit)
    assert status == 5 and f"cannot write {name}: " in error and left() == [], (words, status, error, left())
# A series that fits is written to its end, with no more room to spare than what steps may take beside their values.
for compress, program in ((0, PROGRAM), (1, PROGRAM), (1, LATE), (9, LATE)):
    fits = ["-DN=400", "-DM=500", f"--compress={compress}", "--steps=12", "--every=3"]
    for name in ("s.h5", "s.nc"):
        assert run([*fits, "--out", f"u={name}"], 1 << 30, program) == (0, "")
        length = (TOP / name).stat().st_size
        clean()
        assert run([*fits, "--out", f"u={name}"], length + (1 << 16), program) == (0, "") and (TOP / name).stat().st_size == length, (compress, program, name)
        clean()


def steps_of(name):
    return [int(n) for n in re.findall(r'<Time Value="(\d+)"', (TOP / name).read_text())]


# Where steps suddenly take a hundred times the room, there is none for the first such step; what was whole before is there.
status, error = run([*FOREVER, "--out", "u=s.h5"], 100000, LATE)
assert status == 5 and error == "stc: error: cannot write s.h5: File too large\n" and left() == ["s.h5", "s.xmf"], (status, error, left())
assert steps_of("s.xmf") == [0, 3, 6]
clean()
# The first step of a run that goes on with a series finds out, too, that there is no room, and a further run goes on with what is there.
for options in (["--compress=0"], ["--compress=1"]):
    words = ["-DN=400", "-DM=500", *options, "--every=3", "--checkpoint=c", "--out", "u=s.h5"]
    assert run([*words, "--steps=9"], 1 << 30, LATE) == (0, "")
    length = (TOP / "s.h5").stat().st_size
    status, error = run([*words, "--steps=15", "--restart=c"], length + (1 << 16), LATE)
    assert status == 5 and error == "stc: error: cannot write s.h5: File too large\n" and "s.h5.part" in left(), (status, error, left())
    assert run([*words, "--steps=15", "--restart=c"], 1 << 30, LATE) == (0, "") and steps_of("s.xmf") == [0, 3, 6, 9, 12, 15], left()
    clean()
for name in ("u.npy", "u.png", "u.vti"):
    status, error = run([*FOREVER, "--out", f"u={name}"], 1 << 30)
    assert status == 2 and "give it a name with a place for the step's number" in error, (name, status, error)
for name in ("%d.npy", "%d.png", "%d.vti", "s.h5", "s.nc", "s.pvd", "s.apng"):
    status, error = run([*FOREVER, "--out", f"u=/proc/{name}"], 1 << 30)
    assert status == 5 and "cannot write /proc/" in error and left() == [], (name, status, error)
print("full disks left nothing that looks whole")
