"""make_site.py STC OUT [--few]: builds the documentation site into OUT/site from docs/, README.md and the examples, with a gallery that has a
picture of each of them (--few: of three), which takes about a minute. Needs mkdocs, from PyPI. Warnings are errors: a link to nowhere fails."""
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
FEW = "j2d5pt,j1d3pt,vector_diffusion"


DOCS = SOURCE / "docs"


def place(path, anchor):
    """Where a file of the checkout is in the site, and the anchor in it; None if it is not there."""
    if path.suffix == ".md" and DOCS in path.parents:
        return path.relative_to(DOCS).as_posix(), anchor
    if path in (SOURCE / "README.md", SOURCE / "CONTRIBUTING.md"):
        return ("index.md" if path.name == "README.md" else "contributing.md"), anchor
    if path.parent == SOURCE / "examples" or path == SOURCE / "examples":
        return "gallery.md", path.stem if path.suffix == ".stn" else ""
    if DOCS / "pictures" in path.parents:
        return f"pictures/{path.name}", ""
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


def gallery(names):
    """The page with the pictures: what the table of the examples' README says of each, and its program."""
    about = dict(re.findall(r"^\| \[(\w+)\]\(\w+\.stn\) \| (.*?) \|", (SOURCE / "examples/README.md").read_text(), re.M))
    out = ["# Gallery\n\nEvery example, after some steps on a CPU; `packaging/site/gallery.py` draws them.\n"]
    for name in sorted(about):
        out.append(f"## {name}\n\n{about[name][0].upper()}{about[name][1:]}.\n")
        if name in names:
            out.append(f"![{name}](pictures/{name}.png)\n")
        out.append(f"```\n{(SOURCE / 'examples' / (name + '.stn')).read_text().rstrip()}\n```\n")
    return "\n".join(out)


def stage(out, pictures):
    """Puts everything that mkdocs reads into `out`."""
    docs = out / "docs"
    (docs / "pictures").mkdir(parents=True)
    shutil.copy(HERE / "mkdocs.yml", out)
    for p in [*pictures, *(SOURCE / "docs/pictures").glob("*.*g")]:
        shutil.copy(p, docs / "pictures")
    for p in DOCS.rglob("*.md"):
        (docs / p.relative_to(DOCS)).parent.mkdir(exist_ok=True)
        (docs / p.relative_to(DOCS)).write_text(moved(p.read_text(), p.parent))
    (docs / "contributing.md").write_text(moved((SOURCE / "CONTRIBUTING.md").read_text(), SOURCE))
    (docs / "index.md").write_text(moved((SOURCE / "README.md").read_text(), SOURCE))
    (docs / "gallery.md").write_text(gallery({p.stem for p in pictures}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stc")
    parser.add_argument("out", type=Path)
    parser.add_argument("--few", action="store_true")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    drawn = options.out / "drawn"
    words = [sys.executable, HERE / "gallery.py", options.stc, SOURCE / "examples", drawn] + (["--only", FEW] if options.few else [])
    subprocess.run([str(w) for w in words], check=True, stdout=subprocess.DEVNULL)
    stage(options.out, sorted(drawn.glob("*.png")))
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-f", str(options.out / "mkdocs.yml")], check=True)
    print(options.out / "site")


if __name__ == "__main__":
    main()
