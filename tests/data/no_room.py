"""no_room.py STC: run by the python that has h5py: on disks that are full and cannot set room aside HDF5 files, too, that have their names are whole: they have the steps
that were written before, bit for bit. 77: no disk can be made for that (mount)."""
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from unreserved import refuse  # noqa: E402

PROGRAM = str(pathlib.Path(__file__).resolve().parents[1] / "split" / "Inputs" / "gathered.stn")
ARRAYS = ("A", "s.b")


def run(stc, folder, compress, name):
    """The run's status."""
    words = [stc, "run", "-O0", "--quiet", "--device=host:1", "-DN=200", "-DM=301", "--steps=12", "--every=1", f"--compress={compress}", *(f"--out={f}={name}" for f in ("A", "s"))]
    done = subprocess.run([*words, PROGRAM], capture_output=True, text=True, cwd=folder, preexec_fn=refuse, timeout=300)
    assert done.returncode == 0 or (done.returncode == 5 and "No space left on device" in done.stderr), done
    return done.returncode


def values(path):
    with h5py.File(path) as h:
        return h["step"][()].tolist(), [[step.tobytes() for step in h[a][()]] for a in ARRAYS]


def check_disk(stc, disk, kib, compress, name, want):
    """Is there a file from a disk of so many KiB? If so it has the first of the steps."""
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", disk], check=True)
    try:
        assert run(stc, disk, compress, name) == 5
        if not (disk / name).exists():
            return False
        steps, got = values(disk / name)
        assert steps == list(range(len(steps))) and got == [w[: len(steps)] for w in want], (name, compress, kib, steps)
        return True
    finally:
        subprocess.run(["umount", disk], check=True)


def check(stc):
    """In a name space of its own, for mounts."""
    kept = 0
    with tempfile.TemporaryDirectory() as top:
        for name, compress, first, step in (("s.h5", 0, 400, 237), ("s.h5", 1, 100, 31), ("s.nc", 1, 300, 290)):
            whole = pathlib.Path(top, name)
            assert run(stc, top, compress, name) == 0
            steps, want = values(whole)
            assert steps == list(range(13))
            for kib in range(first, whole.stat().st_size >> 10, step):
                kept += check_disk(stc, pathlib.Path(top, "disk"), kib, compress, name, want)
            whole.unlink()
    print(f"{kept} files were kept")
    assert kept > 10


def main(stc, *inside):
    if inside:
        return check(stc)
    for way in (["unshare", "-m"], ["unshare", "-Urm"]):
        if subprocess.run([*way, "mount", "-t", "tmpfs", "none", "/mnt"], stderr=subprocess.DEVNULL).returncode == 0:
            return sys.exit(subprocess.run([*way, sys.executable, __file__, os.path.abspath(stc), "inside"]).returncode)
    print("no disk can be made here")
    sys.exit(77)


main(*sys.argv[1:])
