"""symbols.py LIBSTC.SO HEADER: the library exports what symbols.txt lists and nothing else, each function is declared in the header and
stands in docs/api.md, and the library needs no other library than libc's and has the SONAME that docs/api.md promises."""
import re
import subprocess
import sys
from pathlib import Path


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def exported(library):
    """The names that the library defines for others, versions cut off."""
    lines = run("nm", "-D", "--defined-only", library).split("\n")
    return {line.split()[2].split("@")[0] for line in lines if len(line.split()) == 3} - {"LIBSTC_0.2"}


def main(library, header):
    listed = {l for l in (Path(__file__).parent / "symbols.txt").read_text().split("\n") if l and not l.startswith("#")}
    found = exported(library)
    declared = set(re.findall(r"\b(stc_\w+)\(", Path(header).read_text()))
    page = set(re.findall(r"`(stc_\w+)", (Path(header).parents[1] / "docs" / "api.md").read_text()))
    dynamic = run("readelf", "-d", library)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    wrong = [f"exported, but not in tests/api/symbols.txt: {s}" for s in sorted(found - listed)]
    wrong += [f"in tests/api/symbols.txt, but not exported: {s}" for s in sorted(listed - found)]
    wrong += [f"exported, but not in stc.h: {s}" for s in sorted(found - declared)]
    wrong += [f"exported, but not in docs/api.md: {s}" for s in sorted(found - page)]
    wrong += [f"needs {n}, which is not part of libc" for n in sorted(needed)
              if not re.match(r"(lib(c|m|dl|rt|pthread)|ld-linux.*)\.so", n)]
    if not re.search(r"SONAME.*\[libstc\.so\.0\.2\]", dynamic):
        wrong.append("its SONAME is not libstc.so.0.2")
    print("\n".join(wrong) or f"{len(found)} functions")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
