#!/usr/bin/env python3
"""bootstrap_test.py SOURCE: `./bootstrap test` says how long it will take, which of its parts begins and how long all has taken, shows what the
tests' own counting prints, names the tests that took longest, and fails if any test does. Programs that do nothing stand for those that install,
build and test. The README and the script's head say of the time what it says."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = ["apt-get", "chromium", "cmake", "ninja", "nvdisasm", "ptxas", "qemu-aarch64"]   # do nothing
CTEST = """#!/bin/sh
mkdir -p "$2/Testing/Temporary"
echo "frames: skipped: there is no browser" > "$2/Testing/Temporary/LastTest.log"
echo "1/2 Test #1: unit.short ......   Passed    1.50 sec"
echo "2/2 Test #2: lit.long ........   Passed   12.25 sec"
echo "100% tests passed, 0 tests failed out of 2"
case $2 in */$FAILS) exit 8 ;; esac
"""
TIME = re.compile(r"half an hour to an hour on 2\s+cores")
SAID = ["all of this takes half an hour to an hour on 2 cores; here are ", "1 of 4, after 0:0", "2 of 4, after 0:0", "3 of 4, after 0:0", "1/2 Test #1: unit.short",
        "the longest of these tests:\n  12.25 s lit.long\n  1.50 s unit.short", "frames: skipped: there is no browser", "100% tests passed", "4 of 4, after 0:0",
        "2/2 Test #2: lit.long", "100% tests passed, 0 tests failed out of 2"]


def write(path, text):
    """A program of so many words of shell."""
    path.write_text(text)
    path.chmod(0o755)


def tried(source, folder, fails):
    """What the script prints, and its exit code, where the tests of the tree `fails` fail."""
    shutil.copy(source / "bootstrap", folder / "bootstrap")
    done = subprocess.run([folder / "bootstrap", "test"], env={"PATH": f"{folder}/programs:/usr/bin:/bin", "FAILS": fails}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout, done.returncode


def main(source):
    for name in "README.md", "bootstrap":
        assert TIME.search((source / name).read_text()), f"{name} does not say how long ./bootstrap test takes"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "programs").mkdir()
        for program in HERE:
            write(folder / "programs" / program, "#!/bin/sh\n")
        write(folder / "programs/dpkg-query", "#!/bin/sh\necho install ok installed\n")
        write(folder / "programs/locale", "#!/bin/sh\necho de_DE.utf8\n")
        write(folder / "programs/ctest", CTEST)
        for fails, code in (("none", 0), ("sanitize", 1), ("tests", 1)):
            text, status = tried(source, folder, fails)
            assert status == code, (fails, status, text)
            at = 0
            for words in SAID:
                at = text.find(words, at)
                assert at >= 0, f"{words!r} is not where it should be in\n{text}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
