"""The README's program and the Python beside it do what the README says; what pages show as Python is Python."""
import ast
import re
from pathlib import Path

import pytest

import stc

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="not in a checkout")
def test_readme(tmp_path, monkeypatch, capsys):
    text = README.read_text()
    program, python = (text[text.index(start):].split("```")[0] for start in ("param N = 256, M = 256, c2", "import numpy as np, stc"))
    (tmp_path / "drum.stn").write_text(program)
    monkeypatch.chdir(tmp_path)
    values = {}
    exec(python, values)
    assert "GPts/s, 500 steps" in capsys.readouterr().out
    assert values["run"]["u"].shape == (512, 512) and 0 < abs(values["run"]["u"]).max() < 1


@pytest.mark.skipif(not README.exists(), reason="not in a checkout")
def test_blocks_of_pages():
    """Each block of Python can be read; the notebook's cell of docs/python.md makes the program that the page says."""
    pages = [README, *(README.parent / "docs").rglob("*.md")]
    blocks = [(page, text) for page in pages for text in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)]
    assert len(blocks) > 40
    for page, text in blocks:
        ast.parse(text, str(page))
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    name, cell = re.search(r"^```\n(%%stencil (\w+) .*?)^```$", (README.parent / "docs" / "python.md").read_text(encoding="utf-8"), re.M | re.S).group(2, 1)
    for text in "%load_ext stc", cell:
        shell.run_cell(text).raise_error()
    assert isinstance(shell.user_ns[name], stc.Program)


@pytest.mark.skipif(not README.exists(), reason="not in a checkout")
def test_reference_is_complete():
    """docs/python.md names all that the package, programs, plans, runs and artifacts have."""
    page = (README.parent / "docs" / "python.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", page))
    of = {c: [n for n in vars(c) if not n.startswith("_")] for c in (stc.Program, stc.Plan, stc.RunInfo, stc.Artifact)}
    names = [n for n in stc.__all__ if not n.startswith("_")] + [n for members in of.values() for n in members]
    assert len(names) > 40 and not [n for n in names if n not in words]
