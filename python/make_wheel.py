"""make_wheel.py OUT [--prebuilt LIBSTC.SO]: builds the wheel into the folder OUT, with the tag of the oldest glibc that it runs on.

Nothing is left in the source tree. With --prebuilt nothing is compiled: the library is one that CMake built before. Needs pip and the
network (scikit-build-core), or an environment that has it; the library itself needs what ./bootstrap installs.
"""
import argparse
import base64
import hashlib
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


def retagged(wheel, out, tag):
    """Writes the wheel to `out` with another tag: in its file WHEEL, and in RECORD the new sum of that."""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        about = next(n for n in old.namelist() if n.endswith(".dist-info/WHEEL"))
        text = "".join(line + "\n" for line in old.read(about).decode().splitlines() if line and not line.startswith("Tag:")) + f"Tag: {tag}\n"
        total = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        for item in old.infolist():
            data = old.read(item)
            if item.filename == about:
                data = text.encode()
            elif item.filename.endswith(".dist-info/RECORD"):
                data = re.sub(re.escape(about) + r",.*", f"{about},sha256={total},{len(text)}", data.decode()).encode()
            new.writestr(item, data, zipfile.ZIP_DEFLATED)


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
        tag = f"py3-none-manylinux_{OLDEST[0]}_{OLDEST[1]}_x86_64"
        out = options.out / f"{name}-{version}-{tag}.whl"
        retagged(wheel, out, tag)
    print(out)


if __name__ == "__main__":
    main()
