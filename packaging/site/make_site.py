"""make_site.py OUT: builds the documentation site into OUT/site from docs/ and README.md. Needs mkdocs, from PyPI. Warnings are errors: a link to
nowhere fails."""
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


DOCS = SOURCE / "docs"


def place(path, anchor):
    """Where a file of the checkout is in the site, and the anchor in it; None if it is not there."""
    if path.suffix == ".md" and DOCS in path.parents:
        return path.relative_to(DOCS).as_posix(), anchor
    if path in (SOURCE / "README.md", SOURCE / "CONTRIBUTING.md"):
        return ("index.md" if path.name == "README.md" else "contributing.md"), anchor
    if path.parent in (SOURCE / "examples", SOURCE / "examples/sciences") or path == SOURCE / "examples":
        return "gallery.md", path.stem if path.suffix == ".stn" else ""
    if DOCS / "pictures" in path.parents:
        return path.relative_to(DOCS).as_posix(), ""
    return None


def link(target, at):
    """Where a link of a document that stood in the folder `at` leads in the site; None if what it names is not there."""
    file, _, anchor = target.partition("#")
    found = place((at / file).resolve(), anchor)
    folder = at.relative_to(DOCS) if at == DOCS or DOCS in at.parents else Path(".")
    return found and os.path.relpath(found[0], folder) + (f"#{found[1]}" if found[1] else "")


def moved(text, at):
    """The text with its links led to where things are in the site; what is not in it is named only."""
    def one(m):
        if re.match(r"[a-z]+:|#", m[3]):
            return m[0]
        to = link(m[3], at)
        return f"{m[1]}[{m[2]}]({to})" if to else f"`{m[2].strip('`')}`"
    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", one, text)


def with_programs(text):
    """The gallery's page, with the program in place of the link to it, which is not in the site."""
    return re.sub(r"\s+The\s+program\s+is\s+\[\w+\.stn\]\(\.\./([\w/]+\.stn)\)\.(.*?)(?=\n## |\Z)",
                  lambda m: f"{m[2].rstrip()}\n\n```\n{(SOURCE / m[1]).read_text().rstrip()}\n```\n", text, flags=re.S)


def stage(out):
    """Puts everything that mkdocs reads into `out`."""
    docs = out / "docs"
    shutil.copytree(DOCS / "pictures", docs / "pictures", ignore=shutil.ignore_patterns("*.md"))
    shutil.copy(HERE / "mkdocs.yml", out)
    for p in DOCS.rglob("*.md"):
        (docs / p.relative_to(DOCS)).parent.mkdir(exist_ok=True)
        text = with_programs(p.read_text()) if p.name == "gallery.md" else p.read_text()
        (docs / p.relative_to(DOCS)).write_text(moved(text, p.parent))
    (docs / "contributing.md").write_text(moved((SOURCE / "CONTRIBUTING.md").read_text(), SOURCE))
    (docs / "index.md").write_text(moved((SOURCE / "README.md").read_text(), SOURCE))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    stage(options.out)
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-f", str(options.out / "mkdocs.yml")], check=True)
    print(options.out / "site")


if __name__ == "__main__":
    main()
