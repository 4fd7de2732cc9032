"""old_libc_test.py SOURCE CC: a library with driver/shared/old-libc.c in it unwinds by that file's _dl_find_object, and not by glibc's: an exception
is caught within the library, and libstdc++'s random numbers differ from each other. It asks glibc for nothing newer than 2.34."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARY = """#include <random>
#include <stdexcept>
extern "C" int caught(int n) {
  try { if (n > 0) throw std::runtime_error("thrown"); } catch (const std::exception &) { return n; }
  return -1;
}
extern "C" unsigned drawn(void) { std::random_device source("arc4random"); return source(); }
"""
PROGRAM = "int caught(int n); unsigned drawn(void); int main(void) { return caught(3) == 3 && caught(0) == -1 && (drawn() != drawn() || drawn() != drawn()) ? 0 : 1; }"
MAP = "{ global: caught; drawn; local: *; };"


def main(source, cc):
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, text in ("library.cc", LIBRARY), ("program.c", PROGRAM), ("map", MAP):
            (work / name).write_text(text)
        for words in ([cc, "-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-c", f"{source}/driver/shared/old-libc.c"],
                      ["c++", "-shared", "-fPIC", "-static-libgcc", "-static-libstdc++", "-Wl,--version-script=map", "-o", "library.so", "library.cc", "old-libc.o"],
                      [cc, "-o", "program", "program.c", "./library.so"], ["./program"]):
            subprocess.run(words, cwd=work, check=True)
        needs = subprocess.run(["readelf", "-V", work / "library.so"], capture_output=True, text=True, check=True).stdout
        newest = max(tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", needs))
        assert newest <= (2, 34), newest


if __name__ == "__main__":
    main(*sys.argv[1:])
