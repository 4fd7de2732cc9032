#!/usr/bin/env python3
"""words.py SOURCE [--plant=FILE:TEXT]: are comments, messages and documents free of the words that only stc once used?

Each word of WORDS has the field's own in its place. Looks at FILES and at all in FOLDERS; programs and tests may have any words. Prints
what is not so, and exits with 1.

--plant=FILE:TEXT takes TEXT for a last line of that file: to see the test fail.
"""
import argparse
import pathlib
import re
import sys

FILES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
FOLDERS = ["frontend", "ir", "passes", "backend", "driver", "docs", "python/stc", "examples/plugin", "packaging"]
KINDS = {".c", ".h", ".def", ".md", ".py"}
# What may keep them: the names of the pass lower-walk and of files; the glossary, which explains them; a let that is called KERNEL.rim.D.
KEPT = re.compile(r"lower-walk(?:\.c)?|walk-size\.c|block_walk|KERNEL\.rim\.D|\"rim\"")
KEPT_FILES = {"docs/glossary.md"}
WORDS = {
    r"walk(?:s|ed|ing)?": "stream, streamed tile (of IR: visit, traverse)",
    r"rims?": "boundary columns, boundary layer, edge",
    r"movers?": "producer warps",
    r"(?:gives?|gave|given|giving) out": "store, output tile",
    r"(?:is|are|was|were) said of": "applies to",
    r"(?:taken?|takes|took) late": "delayed",
    r"put by": "spilled",
    r"of which each": "each of which",
    r"it is so that": "",
    r"time over warps": "warp-pipelined temporal blocking, warp pipeline",
    r"hollow": "facade without data",
    r"moving on of": "rotation of",
    r"(?:levels move on|moves? levels on|moves? on by themselves)": "rotate",
    r"brought into": "mapped into, clamped to",
    r"by that(?! name)": "for that reason, from it",
}
SPLIT = r"(?:\s+(?:\*\s+|//\s+)?)"   # a blank, or the end of a line of a comment or a page


# All words in one pattern, each a group of its own; it finds them at the ends of lines, too.
ANY = re.compile(r"(?<![\w.-])(?:" + "|".join(f"({word.replace(' ', SPLIT)})" for word in WORDS) + r")(?![\w-])", re.I)


def found(name, text):
    """A line for each such word in the text of a file."""
    for m in ANY.finditer(KEPT.sub(lambda m: "=" * len(m[0]), text)):
        instead = list(WORDS.values())[m.lastindex - 1]
        yield f"{name}:{text.count(chr(10), 0, m.start()) + 1}: '{' '.join(m[0].split())}'" + (f": say {instead}" if instead else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--plant", help="FILE:TEXT, a line to take for the file's last")
    args = parser.parse_args()
    planted = args.plant.split(":", 1) if args.plant else (None, "")
    bad = 0
    paths = [args.source / f for f in FILES] + [p for f in FOLDERS for p in sorted((args.source / f).rglob("*"))]
    for path in paths:
        name = str(path.relative_to(args.source))
        if path.suffix not in KINDS or name in KEPT_FILES:
            continue
        text = path.read_text(encoding="utf-8") + (planted[1] + "\n" if name == planted[0] else "")
        for line in found(name, text):
            print(line)
            bad += 1
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
