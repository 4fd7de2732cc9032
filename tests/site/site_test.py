"""site_test.py SOURCE STC: the documentation site builds without a warning, with pictures of some examples in its gallery and no link to nowhere.
Run by a python that has mkdocs."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def main(source, stc):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        done = subprocess.run([sys.executable, Path(source) / "packaging/site/make_site.py", stc, out, "--few"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        site = out / "site"
        pages = {p.relative_to(site).as_posix(): p.read_text() for p in site.rglob("*.html") if p.name != "404.html"}
        assert {"index.html", "gallery.html", "tutorial.html", "compare.html", "language.html", "howto/boundaries.html", "from/numpy.html", "lab/warps.html"} <= set(pages), sorted(pages)
        assert len(re.findall(r'<h2 id="', pages["gallery.html"])) == len(list((Path(source) / "examples").glob("*.stn")))
        for name, text in pages.items():
            for target in re.findall(r'(?:href|src)="([^"#:]+)[#"]', text):
                assert (site / name).parent.joinpath(target).exists(), f"{name}: {target}"


if __name__ == "__main__":
    main(*sys.argv[1:])
