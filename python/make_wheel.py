"""make_wheel.py OUT [--prebuilt LIBSTC.SO]: builds the wheel into the folder OUT, with the tag of the oldest glibc that it runs on.

Nothing is left in the source tree. With --prebuilt nothing is compiled: the library is one that CMake built before. Needs pip and the
network (scikit-build-core), or an environment that has it; the library itself needs what ./bootstrap installs.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

OLDEST = (2, 36)


def glibc_needed(wheel):
    """The newest version of glibc's symbols that the library inside asks for."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as z:
        name = next(n for n in z.namelist() if n.startswith("stc/libstc.so"))
        needs = subprocess.run(["readelf", "-V", z.extract(name, folder)], capture_output=True, text=True, check=True).stdout
    return max(tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", needs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--prebuilt", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(Path(__file__).parent)]
        if options.prebuilt:
            words += ["-C", f"cmake.define.STC_PREBUILT={options.prebuilt.resolve()}"]
        subprocess.run(words, check=True)
        wheel = next(Path(folder).glob("*.whl"))
        needed = glibc_needed(wheel)
        if needed > OLDEST:
            sys.exit(f"the library needs glibc {needed}, newer than {OLDEST}: build on Debian 12, or change the tag")
        name, version, *_ = wheel.name.split("-")
        out = options.out / f"{name}-{version}-py3-none-manylinux_{OLDEST[0]}_{OLDEST[1]}_x86_64.whl"
        subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", "--python-tag", "py3", "--abi-tag", "none", "--platform-tag",
                        f"manylinux_{OLDEST[0]}_{OLDEST[1]}_x86_64", str(wheel)], check=True, stdout=subprocess.DEVNULL)
        next(Path(folder).glob("*.whl")).rename(out) if out.parent.resolve().stat().st_dev == Path(folder).stat().st_dev else \
            out.write_bytes(next(Path(folder).glob("*.whl")).read_bytes())
    print(out)


if __name__ == "__main__":
    main()
