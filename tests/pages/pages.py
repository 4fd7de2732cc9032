"""pages.py STC LIBRARY PAGE...: does what a page has one type, and fails if anything of it does.

A page is a Markdown file. Its fenced blocks are done in their order, in an empty folder of the page's own:

- A block whose first line is a comment that names a file (`// heat.stn`, `# film.py`, `/* main.c */`, `! main.f90`) is written to that file.
- A block `sh` is run by bash, each line of which must succeed; `stc` and `python3` are those of this build. (`stc run` is `stc run -O0`, and
  Python's stc.compile takes opt_level=0.)
- A block `text` behind a block `sh` is what that one prints, on both outputs; `...` in it stands for anything.
- `<!-- not run: WHY -->` on a line before a block leaves the block out; `<!-- needs NAME ... -->` does where no program and no Python package
  has one of the names.
- `<!-- as FILE -->` has a block written to that file: a piece of a program that a hidden file includes.
- `<!-- hidden sh`, `<!-- hidden cell` or `<!-- hidden FILE`, up to a line `-->`, is such a block that readers do not see: the program that a
  reference's examples are about, or what is around a piece of one.
- `<!-- cell -->` makes a block a notebook's cell: all of them are run in one IPython at the end of the page (`<!-- cell needs NAME ... -->`).

Any other block is a mistake of the page's: what a reader may copy is run here, or says why not.

A page that ends in .ipynb is a notebook, whose cells of code are run in their order in one IPython. The results that it is kept with are those
of its code: packaging/site/notebooks.py writes them. What a cell's result must be it says itself, by assert.
"""
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*) -->\n\n?)?^(?P<fence>```+)(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$"
                   r"|^<!-- hidden (?P<kind>[^\n]*)\n(?P<hidden>.*?)^-->$", re.M | re.S)
NAMED = re.compile(r"(?://|#|!|/\*|%)\s*([\w./-]+\.\w+|CMakeLists\.txt|Makefile)(?:\s*\*/)?\s*$")


def missing(mark):
    """The first name of a mark `needs NAME ...` that neither a program nor a Python package has; None if all are there."""
    m = re.fullmatch("(?:cell )?needs (.*)", mark)
    names = m[1].split() if m else []
    return next((n for n in names if not shutil.which(n) and not importlib.util.find_spec(n)), None)


def matches(expected, printed):
    """Whether a text is what was expected, in which `...` stands for anything; blanks at the ends of lines do not count."""
    parts = [re.escape(p) for p in "\n".join(line.rstrip() for line in expected.strip().splitlines()).split("...")]
    return re.fullmatch(".*".join(parts), "\n".join(line.rstrip() for line in printed.strip().splitlines()), re.S)


# `stc run` compiles without optimisation here, which takes a tenth of the time; so does Python (quick/).
RUN = """#!/bin/sh
if [ "$1" = run ]; then shift; set -- run -O0 "$@"; fi
exec '{stc}' "$@"
"""
CELLS = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for path in sys.argv[1:]:
    shell.run_cell(open(path).read()).raise_error()
"""


def run_cells(cells, folder, environment):
    """Runs a notebook's cells one after the other in one IPython."""
    for number, text in enumerate(cells):
        (folder / f"cell{number}").write_text(text, encoding="utf-8")
    words = [sys.executable, "-c", CELLS, *(f"cell{number}" for number in range(len(cells)))]
    done = subprocess.run(words, cwd=folder, env={**environment, "HOME": str(folder)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, check=False)
    if done.returncode:
        sys.exit(f"a cell failed\n{done.stdout[-6000:]}")


def notebook(path, environment):
    """Runs the cells of a notebook."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    cells = [c for c in whole["cells"] if c["cell_type"] == "code"]
    sum_of = hashlib.sha256("\0".join("".join(c["source"]) for c in cells).encode()).hexdigest()[:16]
    if whole["metadata"].get("results_of") != sum_of or any(c["execution_count"] for c in cells) or path.stat().st_size > 300_000:
        sys.exit(f"{path}: its results are not those of its code, or too large; packaging/site/notebooks.py makes them anew")
    with tempfile.TemporaryDirectory() as folder:
        run_cells(["".join(c["source"]) for c in cells], Path(folder), environment)
    print(f"{path.name}: {len(cells)} cells")


def do(language, name, text, where, folder, environment, last):
    """Does one block of a page in a folder, one of commands or one that is written to the file `name`; gives what it printed (None if it is no
    block of commands)."""
    if language == "sh":
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, timeout=300, check=False)
        if done.returncode:
            sys.exit(f"{where}: exit code {done.returncode}\n{text}\n{done.stdout[-6000:]}")
        return done.stdout
    if language == "text" and last is not None:
        if not matches(text, last):
            sys.exit(f"{where}: this is not what the commands print, which is\n{last}")
    elif name:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    else:
        sys.exit(f"{where}: this block is neither run nor marked: name a file in its first line, or say why it is not run")
    return None


def parts(block):
    """Of a match of BLOCK: its mark, its language, the file that it is written to (None: none is named) and its text."""
    if block["hidden"] is not None:
        kind = block["kind"]
        mark, language, name = (kind, "", None) if kind.startswith("cell") else ("", "sh", None) if kind == "sh" else ("", "", kind)
        return mark, language, name, block["hidden"]
    mark = block["mark"] or ""
    named = NAMED.match(block["text"].partition("\n")[0].strip())
    name = mark[3:] if mark.startswith("as ") else named and named[1]
    return mark, block["language"], name, block["text"]


def installed(folder, build):
    """Installs the command and the libraries of a build into a folder of pages'; gives its name."""
    prefix = Path(folder) / "prefix"
    if not prefix.exists():
        for component in "command", "library", "archive":
            subprocess.run(["cmake", "--install", build, "--prefix", str(prefix), "--component", component], check=True, capture_output=True)
    return str(prefix)


def page(path, environment):
    """Does all blocks of a page. One that looks for an installed stc by CMake or pkg-config finds one."""
    text = path.read_text(encoding="utf-8")
    if "find_package(stc" in text or "pkg-config --cflags --libs stc)" in text:
        prefix = installed(environment["STC_PAGES"], environment["STC_BUILD"])
        environment = {**environment, "CMAKE_PREFIX_PATH": prefix, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "LD_LIBRARY_PATH": f"{prefix}/lib"}
    with tempfile.TemporaryDirectory() as folder:
        last, count, cells = None, 0, []
        for block in BLOCK.finditer(text):
            where = f"{path}:{text.count(chr(10), 0, block.start('fence' if block['fence'] else 0)) + 1}"
            mark, language, name, body = parts(block)
            lacks = missing(mark)
            if mark.startswith("not run") or lacks:
                print(f"{where}: {f'needs {lacks}, which is not here' if lacks else mark}")
                last = None
                continue
            count += 1
            if mark.startswith("cell"):
                cells.append(body)
                continue
            last = do(language, name, body, where, Path(folder), environment, last)
        if cells:
            run_cells(cells, Path(folder), environment)
    print(f"{path.name}: {count} blocks")


def main():
    stc, library, *pages = sys.argv[1:]
    with tempfile.TemporaryDirectory() as programs:
        (Path(programs) / "stc").write_text(RUN.format(stc=Path(stc).resolve()))
        (Path(programs) / "stc").chmod(0o755)
        (Path(programs) / "python3").write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
        (Path(programs) / "python3").chmod(0o755)
        source = Path(__file__).resolve().parents[2]
        # What Python compiles of packages is kept for the next page, and not in the sources.
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": f"{source}/python:{Path(__file__).resolve().parent}/quick", "STC_LIBRARY": str(Path(library).resolve()),
                       "STC_SOURCE": str(source), "STC_PAGES": programs, "STC_BUILD": str(Path(stc).resolve().parent), "STC_TUNE_DB": "off", "MPLBACKEND": "Agg",
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                       "STC_MPI": str(Path(stc).resolve().parent / "tests/openmpi/stc-mpi.so"), "XDG_CACHE_HOME": programs,
                       "PYTHONPYCACHEPREFIX": str(Path(stc).resolve().parent / "tests/pycache"), "OMP_NUM_THREADS": "2"}
        for name in pages:
            (notebook if name.endswith(".ipynb") else page)(Path(name), environment)


if __name__ == "__main__":
    main()
