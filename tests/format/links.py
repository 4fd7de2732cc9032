#!/usr/bin/env python3
"""links.py SOURCE [--plant=FILE:TEXT]: do links between documents, and from code to documents, lead to what is there?

Looks at all pages: each file that a link names must be there, and each heading. So must the headings that comments name, as in
docs/lab/model.md#heading. The table of docs/lab/README.md must have all pages of lab notes, with the number of their entries and the dates
of the first and the last one. Prints what is not so, and exits with 1.

--plant=FILE:TEXT takes TEXT for a last line of that file: to see the test fail.
"""
import argparse
import pathlib
import re
import sys

PARTS = ["ir", "frontend", "passes", "backend", "driver", "python", "tests"]
DATE = r"20\d\d-\d\d-\d\d"


def anchor(heading):
    """The anchor that a page has for a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


def anchors(text):
    """All anchors of a page."""
    prose = re.sub(r"(?ms)^```.*?^```", "", text)
    return {anchor(h) for h in re.findall(r"(?m)^#+ (.*)", prose)} | set(re.findall(r'id="([^"]+)"', prose))


def lost(path, text, pages):
    """A line for each link of a page that leads nowhere."""
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        name, _, heading = link.partition("#")
        to = (path.parent / name).resolve() if name else path
        if not to.exists():
            yield f"{path}: {link}: there is no such file"
        elif heading and to in pages and heading not in anchors(pages[to]):
            yield f"{path}: {link}: there is no such heading"


def lost_in_code(top, pages):
    """The same of comments that name a heading of a page."""
    for path in (p for part in PARTS for p in sorted((top / part).rglob("*")) if p.suffix in {".c", ".h", ".def", ".py"}):
        for name, heading in re.findall(r"(docs/[\w/-]+\.md)#([\w-]+)", path.read_text(encoding="utf-8")):
            if name != "docs/lab/model.md" or heading != "heading":
                if heading not in anchors(pages.get((top / name).resolve(), "")):
                    yield f"{path}: {name}#{heading}: there is no such heading"


def wrong_notes(top, pages):
    """A line for each page of lab notes that the table of contents says something else of."""
    table = pages[(top / "docs/lab/README.md").resolve()]
    for path, text in sorted(pages.items()):
        if path.parent != (top / "docs/lab").resolve() or path.name == "README.md":
            continue
        entries = re.split(r"(?m)^## ", text)[1:]
        dates = sorted(d for e in entries for d in re.findall(DATE, e.split("\n")[0]) or re.findall(DATE, e)[:1])
        span = f"{dates[0]} to {dates[-1]}" if dates[0] != dates[-1] else dates[0]
        if not re.search(rf"\]\({re.escape(path.name)}\).*\| {len(entries)} \| {span} \|", table):
            yield f"docs/lab/README.md: {path.name} has {len(entries)} entries, {span}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--plant", help="FILE:TEXT, a line to take for the file's last")
    args = parser.parse_args()
    top = args.source.resolve()
    pages = {p.resolve(): p.read_text(encoding="utf-8") for p in [*top.glob("*.md"), *(top / "docs").rglob("*.md")]}
    if args.plant:
        name, text = args.plant.split(":", 1)
        pages[(top / name).resolve()] += text + "\n"
    found = [line for path, text in sorted(pages.items()) for line in lost(path, text, pages)]
    found += [*lost_in_code(top, pages), *wrong_notes(top, pages)]
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
