"""ranks.py STC MODULE: run by the python that has h5py and netCDF4: HDF5 and netCDF files that several ranks of Open MPI write together, each what
its parts own, are those of one process: arrays, attributes, dimensions, chunks and the bytes of each chunk, whole, compressed or not; also where
another number of ranks goes on with them, and where a rank was killed while they were written."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import netCDF4

PROGRAM = str(pathlib.Path(__file__).resolve().parents[1] / "split" / "Inputs" / "gathered.stn")
SIZES = ["-DN=420", "-DM=401"]
VARY = ("device", "schedule", "REFERENCE_LIST", "DIMENSION_LIST")


def words(stc, folder, compress, *options):
    """A run's words; A and s go to `folder`."""
    out = [f"--out={f}={folder}/{name}" for f, name in (("A", "a.h5"), ("s", "a.h5"), ("A", "a.nc"))]
    return [stc, "run", "--quiet", "--device=host:1", "-O0", "-fno-contract", *SIZES, "--every=3", f"--compress={compress}", *out, *options, PROGRAM]


def attributes(of):
    return {k: v.tolist() if hasattr(v, "tolist") else v for k, v in of.attrs.items() if k not in VARY}


def chunks(array):
    """Where in the array each chunk is, and its bytes in the file."""
    number = array.id.get_num_chunks() if array.chunks else 0
    return [(i.chunk_offset, array.id.read_direct_chunk(i.chunk_offset)) for i in map(array.id.get_chunk_info, range(number))]


def compare(one, other):
    """Are both HDF5 files the same, but for what they say of the device?"""
    with h5py.File(one) as a, h5py.File(other) as b:
        names, found = [], []
        a.visit(names.append)
        b.visit(found.append)
        assert names == found and attributes(a) == attributes(b), (other, names, found)
        for x, y in ((a[n], b[n]) for n in names):
            assert attributes(x) == attributes(y), (other, x.name)
            if isinstance(x, h5py.Dataset):
                same = all(getattr(x, k) == getattr(y, k) for k in ("shape", "maxshape", "dtype", "chunks", "compression", "compression_opts", "shuffle"))
                assert same and x[()].tobytes() == y[()].tobytes() and chunks(x) == chunks(y), (other, x.name)
                assert x.name != "/A" or len(chunks(x)) > len(a["step"]), f"{x.name} has too few chunks to tell"


def killed(command, part, end):
    """Starts the run, kills the rank that began last when `part` is there and some is written, and waits until all are gone."""
    run = subprocess.Popen(command, env=dict(os.environ, STC_TEST_RUN=end), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.time() + 60
    while not (part.exists() and part.stat().st_size > 6 << 20):
        assert time.time() < until and run.poll() is None, "nothing is written"
        time.sleep(0.02)
    mine = [p for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and is_rank(p, end)]
    os.kill(max(int(p.name) for p in mine), signal.SIGKILL)
    run.wait(30)


def is_rank(process, end):
    """Is the process one of stc that `killed` has started?"""
    try:
        return (process / "comm").read_text() == "stc\n" and f"STC_TEST_RUN={end}".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def check_whole(stc, ranks, top):
    """What two and three ranks write, uncompressed and compressed."""
    for compress, split in ((0, ["-n", "2", "--split=1x2"]), (2, ["-n", "3", "--split=3"])):
        one, two = top / f"one{compress}", top / f"two{compress}"
        one.mkdir()
        two.mkdir()
        subprocess.run(words(stc, one, compress, "--steps=7"), check=True)
        subprocess.run([*ranks, *split[:2], *words(stc, two, compress, "--steps=7", split[2])], check=True)
        for name in ("a.h5", "a.nc"):
            compare(one / name, two / name)
        with netCDF4.Dataset(one / "a.nc") as a, netCDF4.Dataset(two / "a.nc") as b:
            assert (a["A"][:] == b["A"][:]).all() and a["A"].dimensions == b["A"].dimensions and a["A"].filters() == b["A"].filters()
        assert (one / "a.xmf").read_bytes() == (two / "a.xmf").read_bytes()


def check_killed(stc, ranks, top):
    """Another number of ranks goes on after one of two was killed."""
    for compress in (1,):
        on, one = top / f"on{compress}", top / f"long{compress}"
        on.mkdir()
        one.mkdir()
        options = [f"--checkpoint={on}/c", "--checkpoint-every=1"]
        killed([*ranks, "-n", "2", *words(stc, on, compress, "--steps=1000", *options)], on / "a.h5.part", f"{os.getpid()}-{compress}")
        assert not (on / "a.h5").exists() and (on / "a.nc.part").exists()
        again = [*options, f"--restart={on}/c"]
        told = subprocess.run(words(stc, on, compress, "--steps=0", *again), capture_output=True, text=True).stderr
        assert "steps are done there" in told, told
        steps = int(re.search(r"(\d+) steps are done there", told)[1]) + 4
        subprocess.run([*ranks, "-n", "3", *words(stc, on, compress, f"--steps={steps}", *again, "--split=3")], check=True)
        subprocess.run(words(stc, one, compress, f"--steps={steps}"), check=True)
        with h5py.File(one / "a.h5") as a, h5py.File(on / "a.h5") as b, h5py.File(on / "a.nc") as c:
            assert a["step"][()].tolist() == b["step"][()].tolist() == c["step"][()].tolist(), (steps, b["step"][()])
            assert all(a[n][()].tobytes() == b[n][()].tobytes() for n in ("A", "s.a.0", "s.b") if n in a), steps
            assert a["A"][()].tobytes() == c["A"][()].tobytes(), steps


def main(stc, module):
    ranks = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", f"STC_MPI={module}", "mpirun.openmpi", "--oversubscribe"]
    with tempfile.TemporaryDirectory() as top:
        check_whole(stc, ranks, pathlib.Path(top))
        check_killed(stc, ranks, pathlib.Path(top))
    print("the files of several ranks are those of one process")


main(*sys.argv[1:])
