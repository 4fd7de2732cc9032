#!/usr/bin/env python3
"""contents.py SOURCE BUILD [--plant=HEADER:NAME]: are the tables of contents true with which headers begin?

A header's first comment names files, as in "cut.c  which stencils share a launch". Each must be there: beside the header or below, or by its
path from the top or from the folders of groups.PARTS. Each C file must be named by some header. A heading in a header, a comment that begins
with a row of dashes, may name C files: every function declared behind it, up to the next heading, must be defined in one of them. What
defines a function is read from the objects of BUILD with nm. Prints what is not so, and exits with 1.

--plant=HEADER:NAME has the header name that file, too: to see the test fail.
"""
import argparse
import pathlib
import re
import sys

import groups

FIRST = re.compile(r"\s*/\*.*?\*/", re.S)
FILE = re.compile(r"(?<![\w*%./-])((?:[\w.-]+/)*[\w-]+\.(?:c|h|def))\b")
HEADING = re.compile(r"/\* -{3,} (.*?)\*/", re.S)
DECLARED = re.compile(r"^(?!static|typedef|#|return)[A-Za-z_][\w \*]*?\b(\w+)\([^;{]*\)[^;{]*;", re.M)


def below(source, pattern):
    """Files of the project by their paths from the top, with their texts."""
    paths = [p for part in groups.PARTS for p in sorted((source / part).rglob(pattern))]
    return {str(p.relative_to(source)): p.read_text(encoding="utf-8") for p in paths}


def named(text):
    """The files that the first comment of a header names."""
    first = FIRST.match(text)
    return FILE.findall(first.group(0)) if first else []


def found(source, header, name):
    """The path from the top of a file that a header names; None if it is not there."""
    folder = pathlib.Path(header).parent
    for path in (folder / name, pathlib.Path(name), *(pathlib.Path(part) / name for part in groups.PARTS)):
        if (source / path).exists():
            return str(path)
    inner = sorted((source / folder).rglob(pathlib.Path(name).name))
    return str(inner[0].relative_to(source)) if inner else None


def wrong_names(source, headers):
    """A line for each file that a header names and that is not there, and for each C file that no header names."""
    known = set()
    for header, text in headers.items():
        for name in named(text):
            path = found(source, header, name)
            known.add(path)
            if not path:
                yield f"{header} names {name}, which is not there"
    for path in below(source, "*.c"):
        if path not in known:
            yield f"no header names {path}: say in the table of contents of its folder what it is for"


def wrong_headings(source, headers, defines):
    """A line for each function that stands under a heading with the names of other files than the one that defines it."""
    for header, text in headers.items():
        marks = [(m.start(), m.group(1)) for m in HEADING.finditer(text)]
        for (start, title), end in zip(marks, [*(at for at, _ in marks[1:]), len(text)]):
            files = [found(source, header, name) for name in FILE.findall(title) if name.endswith(".c")]
            code = re.sub(r"/\*.*?\*/", "", text[start:end], flags=re.S)
            for function in DECLARED.findall(code):
                if files and function in defines and defines[function] not in files:
                    yield f"{header} has {function} under the heading of {', '.join(map(str, files))}; it is in {defines[function]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--plant", help="HEADER:NAME, a file to take for named")
    args = parser.parse_args()
    headers = below(args.source, "*.h")
    if args.plant:
        header, name = args.plant.split(":")
        headers[header] = re.sub(r"\*/", f"{name} */", headers[header], count=1)
    _, defines = groups.symbols(args.source, args.build)
    lines = [*wrong_names(args.source, headers), *wrong_headings(args.source, headers, defines)]
    for line in lines:
        print(line)
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
