"""Artifacts by their manifests alone: host object files against NumPy and plans, GPUs' against the stand-ins for their drivers."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stc

rng = np.random.default_rng(2)
needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")


def build(folder, text, *options):
    """The manifest of the artifact that the command makes."""
    source = folder / "p.stn"
    source.write_text(text)
    subprocess.run([sys.executable, "-m", "stc", "-o", str(folder / "p.x"), *options, str(source)], check=True)
    made = folder / "p.x"
    ending = {"nvptx": "ptx", "amdgpu": "hsaco"}.get(next((o[7:] for o in options if o.startswith("-march=")), ""), "o")
    made.rename(folder / f"p.{ending}")
    return folder / "p.json"


@needs_cc
def test_heat(tmp_path, heat_text, heat_numpy):
    k = stc.load(build(tmp_path, heat_text, "-schedule=overlap", "-T=3"))
    assert k.fields == ["A"]
    a = rng.random((40, 30), np.float32)
    want = heat_numpy(a, 7)
    r = k.run({"A": a}, steps=7)
    assert r.steps == 7 and r.until is None
    np.testing.assert_allclose(a, want, rtol=1e-5)


@needs_cc
def test_all_that_a_manifest_has(tmp_path):
    text = """
        param N = 24, n = 8;  grid G = [0 .. N-1, 0 .. N-1], 50;  param src[n] : f64;
        let h = sqrt(1.0 / real(N));
        field U : f64 on G outside 0 history 1;  field C : f64 on G input;
        init c(C)[G] = 0.1 + f64(h);
        init u(U)[2 .. N-3, 2 .. N-3] = f64(idx(0) + idx(1));
        reduce total = sum(U) over G every 5;
        stencil s(U)[G] = 1.5 * U - 0.6 * U@1 + C * (U[-1,0] + U[0,1] - 2 * U) + (if idx(0) == 3 then src[step] else 0);
        until max(abs(U)) over G > 100 every 5;
    """
    src = rng.random(8)
    run = stc.compile(text, contract=False).plan(device="ref")
    run["src"] = src
    info = run(50)
    k = stc.load(build(tmp_path, text, "-fno-contract"))
    u, past = np.zeros((24, 24)), np.zeros((24, 24))
    r = k.run({"src": src}, steps=50)
    assert (r.steps, r.until) == (info.steps, info.until)
    assert (r.reductions["total"] == run.reductions["total"]).all()
    given = stc.compile(text, contract=False).plan(device="ref")
    given["src"], given["U"], given["U@1"] = src, 1, 2
    given(12)
    u[:], past[:] = 1, 2
    k.run({"src": src, "U": u, "U@1": past}, steps=12)
    np.testing.assert_array_equal(u, given["U"])
    np.testing.assert_array_equal(past, given["U@1"])
    more = stc.compile(text, contract=False).plan(device="ref")
    more["src"], more["U"], more["U@1"] = src, 1, 2
    more(20)
    c = np.array(more["C"])
    k.run({"src": src, "U": u, "U@1": past, "C": c}, steps=8, first_step=12)
    np.testing.assert_array_equal(u, more["U"])


@needs_cc
def test_refuses(tmp_path, heat_text):
    k = stc.load(build(tmp_path, heat_text))
    with pytest.raises(KeyError, match="no field or launch-time array"):
        k.run({"B": np.zeros((8, 8), np.float32)})
    with pytest.raises(ValueError, match="no param"):
        k.run({}, K=3)
    with pytest.raises(ValueError, match="is of type f32"):
        k.run({"A": np.zeros((64, 48), complex)})
    with pytest.raises(ValueError, match="steps=-1: the number is at least 0"):
        k.run({}, steps=-1)
    with pytest.raises(ValueError, match="first_step=-4: the number is at least 0"):
        k.run({}, steps=5, first_step=-4)
    path = tmp_path / "p.json"
    path.write_text(path.read_text().replace('"schema_version": ', '"schema_version": 9'))
    with pytest.raises(ValueError, match="update it"):
        stc.load(path)


STANDIN = os.environ.get("STC_STANDIN_DIR")


@pytest.mark.skipif(not STANDIN, reason="STC_STANDIN_DIR does not name the stand-ins for the drivers")
@pytest.mark.parametrize("options", [("-march=nvptx", "-mcpu=sm_90"), ("-march=amdgpu", "-mcpu=gfx90a")])
def test_on_standin(tmp_path, heat_text, options):
    """Calls and their order, pointers, block and grid are what the stand-in takes; it computes nothing."""
    if "amdgpu" in options[0] and not (shutil.which("ld.lld-22") or shutil.which("ld.lld")):
        pytest.skip("no ld.lld")
    manifest = build(tmp_path, heat_text, "-schedule=overlap", "-T=3", *options)
    log = tmp_path / "log"
    code = f"import stc, numpy as np; k = stc.load({str(manifest)!r}); a = np.ones((64, 48), np.float32); r = k.run({{'A': a}}, steps=7); print(r.steps)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=STANDIN, STC_STANDIN_LOG=str(log)))
    assert done.stdout == "7\n", done.stderr
    lines = log.read_text().split("\n")
    assert not [l for l in lines if l.startswith("fault")] and len([l for l in lines if l.startswith("launch ")]) == 3
