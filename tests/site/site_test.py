"""site_test.py SOURCE: the documentation site builds without a warning, with the programs of all examples in its gallery and no link to nowhere.
Run by a python that has mkdocs."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def main(source):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        done = subprocess.run([sys.executable, Path(source) / "packaging/site/make_site.py", out], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        site = out / "site"
        pages = {p.relative_to(site).as_posix(): p.read_text() for p in site.rglob("*.html") if p.name != "404.html"}
        assert {"index.html", "gallery.html", "tutorial.html", "compare.html", "language.html", "howto/boundaries.html", "from/numpy.html", "lab/warps.html"} <= set(pages), sorted(pages)
        assert len(re.findall(r'<h2 id="', pages["gallery.html"])) == len(programs := [*(Path(source) / "examples").glob("*.stn"), *(Path(source) / "examples/sciences").glob("*.stn")])
        assert all(p.read_text().splitlines()[0].split("&")[0][:40] in pages["gallery.html"] for p in programs)
        for name, text in pages.items():
            for target in re.findall(r'(?:href|src)="([^"#:]+)[#"]', text):
                assert (site / name).parent.joinpath(target).exists(), f"{name}: {target}"


if __name__ == "__main__":
    main(*sys.argv[1:])
