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


paths = sorted(p for where in ("examples", "driver/bench", "tests/programs") for p in (root / where).glob("*.stn"))
copies = [folder / p.name for p in paths]
assert len(set(copies)) == len(paths)
for path, copy in zip(paths, copies):
    copy.write_bytes(path.read_bytes())
subprocess.run([stc, "fmt", *copies], check=True)
once = [copy.read_bytes() for copy in copies]
subprocess.run([stc, "fmt", *copies], check=True)
bad = [p.name for p, copy, text in zip(paths, copies, once) if copy.read_bytes() != text or sir(copy) != sir(p)]
print("\n".join(bad + [f"{len(paths)} programs, {len(bad)} differ"]))
