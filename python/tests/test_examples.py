"""Each script of examples/python, on a small problem, if the libraries that it needs are there."""
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import stc

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/python"
QUICK = EXAMPLES.parents[1] / "tests/pages/quick"   # has scripts compile without optimisation
pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="not in a checkout")


def run(name, *options, cwd):
    done = subprocess.run([sys.executable, str(EXAMPLES / name), "--quick", *options], capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(QUICK)]))})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_heat(tmp_path):
    text = run("heat.py", "--out=a.npy", cwd=tmp_path)
    a = np.load(tmp_path / "a.npy")
    assert "GPts/s" in text and a[0, 5] == 100 and 40 < a[1, 32] < 100 and a[-1].max() == 0


def test_gray_scott(tmp_path):
    pytest.importorskip("PIL")
    from PIL import Image
    assert "4 frames" in run("gray_scott.py", "--out=a.gif", cwd=tmp_path)
    with Image.open(tmp_path / "a.gif") as picture:
        assert picture.size == (64, 64) and picture.n_frames > 1


def test_wave(tmp_path):
    run("wave.py", "--out=s.npy", cwd=tmp_path)
    s = np.load(tmp_path / "s.npy")
    assert s.shape == (30, 96) and np.isfinite(s).all() and np.abs(s).max() > 0.1
    np.testing.assert_allclose(s[:, 48 - 9], s[:, 48 + 9], atol=1e-4)


def test_image_smoothing(tmp_path):
    before, after = map(float, re.findall(r"0\.\d+", run("image_smoothing.py", cwd=tmp_path)))
    assert after < 0.7 * before


def test_torch_training(tmp_path):
    pytest.importorskip("torch")
    losses = [float(x) for x in re.findall(r"loss (\S+?),?\s", run("torch_training.py", cwd=tmp_path))]
    assert losses[-1] < 0.3 * losses[0]


def read_grey(path):
    """matplotlib's imread of a grey PNG of 8 bits whose rows have no filter, as examples/inputs writes them."""
    data, at, parts = Path(path).read_bytes(), 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        parts[kind] = data[at + 8:at + 8 + size]
        at += size + 12
    width, height = struct.unpack(">II", parts[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:].astype(np.float32) / 255


def test_gallery(tmp_path, monkeypatch):
    """The same from Python, of each example in the gallery: with a step a run, on the reference; of multigrid one cycle."""
    source = EXAMPLES.parents[1]
    subprocess.run([sys.executable, source / "packaging/site/gallery.py", "--inputs"], cwd=tmp_path, check=True)
    (tmp_path / "examples").symlink_to(source / "examples")
    monkeypatch.chdir(tmp_path)
    call, shown = stc.Plan.__call__, []
    monkeypatch.setattr(stc.Plan, "__call__", lambda plan, steps=None: call(plan, min(steps or 1, 1)))
    draw = lambda a, **_: shown[-1].append(np.shape(a))
    names = {"np": np, "stc": stc, "plt": SimpleNamespace(imread=read_grey, imshow=draw, plot=draw)}
    sections = re.split(r"^## ", (source / "docs/gallery.md").read_text(), flags=re.M)[1:]
    for section in sections:
        snippet = re.search(r"```python\n(.*?)```", section, re.S)[1]
        snippet = re.sub(r"(?<=range\()\d+", "2", snippet.replace('device="host"', 'device="ref"'))
        snippet = snippet.replace('capacitor.stn").plan(', 'capacitor.stn").plan(tol=1.0, ')
        shown.append([])
        exec(snippet, dict(names))
    assert len(shown) > 40 and all(drawn and all(len(shape) in (1, 2) for shape in drawn) for drawn in shown)


def test_inversion_by_torch(tmp_path):
    pytest.importorskip("torch")
    first, last = map(float, re.search(r"misfit (\S+) to (\S+) in", run("waveform_inversion.py", "--torch", cwd=tmp_path)).groups())
    assert last < first


def test_inverse_problems(tmp_path):
    """Searches with gradients come nearer, each in a few steps."""
    pytest.importorskip("scipy")
    found = re.search(r"hottest at (\d+), (\d+), .* heat (\S+) of (\S+);", run("heat_source.py", cwd=tmp_path))
    row, column, heat, true = map(float, found.groups())
    assert abs(row - 12) <= 2 and abs(column - 25) <= 2 and abs(heat / true - 1) < 0.05
    for value, true in re.findall(r": (\S+), in truth (\S+)", run("gray_scott_fit.py", cwd=tmp_path)):
        assert abs(float(value) / float(true) - 1) < 0.02
    first, last, alike = map(float, re.search(r"misfit (\S+) to (\S+) in .* by (\S+)", run("waveform_inversion.py", cwd=tmp_path)).groups())
    assert last < 0.1 * first and alike > 0.3
