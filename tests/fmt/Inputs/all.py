"""all.py STC ROOT FOLDER: formats all programs of the examples, the bench and tests/programs in FOLDER. Each must give the same stencil IR
as before, and come out of a second time as it went in. Prints those that do not, and the numbers of both."""
import pathlib
import subprocess
import sys

stc, root, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)


def sir(path):
    """The stencil IR of a program."""
    return subprocess.run([stc, "-emit=sir", path], stdout=subprocess.PIPE, check=True).stdout


def same(path):
    """Does a program stay the same?"""
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    subprocess.run([stc, "fmt", copy], check=True)
    once = copy.read_bytes()
    subprocess.run([stc, "fmt", copy], check=True)
    return copy.read_bytes() == once and sir(copy) == sir(path)


paths = sorted(p for where in ("examples", "driver/bench", "tests/programs") for p in (root / where).glob("*.stn"))
bad = [p.name for p in paths if not same(p)]
print("\n".join(bad + [f"{len(paths)} programs, {len(bad)} differ"]))
