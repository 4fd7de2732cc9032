"""The README's program and the Python beside it do what the README says."""
from pathlib import Path

import pytest

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
