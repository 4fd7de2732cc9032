"""series_restart.py STC [KILLS [SEED]]: run by the python that has h5py: kills a run that writes series with SIGKILL at random moments and goes on
from its checkpoint: the series in HDF5, netCDF, as VTK's image data and as single files, and what probes and reductions gave, must be those of
a run that nobody killed, no step left out and none twice."""
import pathlib
import random
import subprocess
import sys
import tempfile
import time

PROGRAM = str(pathlib.Path(__file__).resolve().parent / "Inputs" / "state.stn")
STEPS, EVERY = 2000, 100
DATASETS = ["step", "u", "v", "s.a", "s.n", "s.v.0", "s.v.1"]
WAYS = [["--device=host"], ["--device=host:1", "-T=1"], ["--device=host", "-schedule=overlap", "-T=3", "-block=16x16"]]


def command(stc, folder, way, *options):
    """A run's words; what it gives goes to `folder`."""
    outputs = [(f, "all.h5") for f in "uvs"] + [("u", "all.nc"), ("u", "all.pvd"), ("v", "v_%06d.npy")]
    out = [word for f, name in outputs for word in ("--out", f"{f}={folder}/{name}")]
    return [stc, "run", "--quiet", "-fno-contract", f"--steps={STEPS}", f"--every={EVERY}", "--compress=0", "--log", f"{folder}/log.h5", *way,
            *out, *options, PROGRAM]


def arrays(path):
    """All arrays of an HDF5 file."""
    import h5py
    found = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def compare(folder, want, way):
    """Are the files of both folders the same?"""
    names = sorted(p.name for p in want.iterdir())
    assert sorted(p.name for p in folder.iterdir() if p.name != "c") == names, sorted(set(names) ^ {p.name for p in folder.iterdir()})
    for name in names:
        a, b = folder / name, want / name
        if a.suffix not in (".h5", ".nc"):
            assert a.read_bytes() == b.read_bytes(), (name, way)
            continue
        got, right = arrays(a), arrays(b)
        assert got.keys() == right.keys(), name
        for key in right:
            assert got[key].shape == right[key].shape and got[key].tobytes() == right[key].tobytes(), (name, key, way)
    assert set(DATASETS) <= arrays(folder / "all.h5").keys() and len(arrays(folder / "all.h5")["step"]) == STEPS // EVERY + 1
    assert {"probes/seen/value", "probes/cells/points", "reductions/most/step"} <= arrays(folder / "log.h5").keys()


def killed_run(stc, folder, longest, chance):
    """One run from its start to its end, killed on the way, ever later (so that it ends where processes have become slower); how often, and by which way the last part ran."""
    kills, checkpoint = 0, folder / "c"
    while True:
        start = ["--restart", str(checkpoint)] if checkpoint.exists() else ["--in", "src=random:1", "--in", "px=random:2"]
        way = chance.choice(WAYS)
        words = command(stc, folder, way, f"--checkpoint={checkpoint}", f"--checkpoint-every={chance.choice([30, 100, 170])}", *start)
        p = subprocess.Popen(words, stderr=subprocess.PIPE)
        try:
            p.wait(timeout=chance.uniform(0.05, longest * 1.2 ** kills))
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            kills += 1
            continue
        error = p.communicate()[1].decode()
        assert p.returncode == 0, (words, error)
        return kills, way


def main():
    stc, least = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with tempfile.TemporaryDirectory() as name:
        whole = pathlib.Path(name) / "whole"
        whole.mkdir()
        start = time.time()
        subprocess.run(command(stc, whole, WAYS[0], "--in", "src=random:1", "--in", "px=random:2"), check=True)
        took, kills, runs = time.time() - start, 0, 0
        while kills < least:
            folder = pathlib.Path(name) / f"killed{runs}"
            folder.mkdir()
            more, way = killed_run(stc, folder, took, chance)
            compare(folder, whole, way)
            kills, runs = kills + more, runs + 1
        print(f"{runs} runs, killed {kills} times, left the series of the one that was not")


if __name__ == "__main__":
    main()
