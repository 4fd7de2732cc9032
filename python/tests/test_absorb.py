"""Absorbing layers: fields of their memories, profiles that follow the params, and artifacts, whose launcher computes them."""
import shutil

import numpy as np
import pytest

import stc
from commands import command

WAVE = """
param N = 40, M = 44, dt : f64 = 0.1;
grid G = [0 .. N-1, 0 .. M-1], 20 spacing [1, 1] step dt;
absorb rim = 6 of G but [0 lower] speed 1, frequency 0.2, reflection 1e-3;
field p : f32 on G outside [mirror .. 0, 0];
field v : f32 on G outside 0;
init i(p, v)[G] { p = real(idx(0) * idx(1) % 7); v = 0; }
stencil speed(v)[G] absorb rim = v + real(dt) * diff(p, 0, order 4, at 1/2);
stencil pressure(p)[G] absorb rim = p + real(dt) * diff(v, 0, order 4, at -1/2) + 0.001 * diff(p, 1, 2);
"""
MEMORIES = {"speed.rim.1.upper": (6, 44), "pressure.rim.1.upper": (6, 44), "pressure.rim.2.lower": (40, 7), "pressure.rim.2.first.lower": (40, 6),
            "pressure.rim.2.upper": (40, 7), "pressure.rim.2.first.upper": (40, 6)}


@pytest.mark.parametrize("device", ["ref", "host:2"])
def test_memories_and_params(device):
    program = stc.compile(WAVE, contract=False)
    assert program.arrays == [] and set(program.fields) == {"p", "v", *MEMORIES}
    run = program.plan(device=device)
    run(20)
    assert {name: run[name].shape for name in MEMORIES} == MEMORIES and all(np.abs(run[name]).max() > 0 for name in MEMORIES)
    other = program.plan(device=device, dt=0.05)
    other(20)
    assert not np.array_equal(run["p"], other["p"])


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_artifact(tmp_path):
    (tmp_path / "wave.stn").write_text(WAVE)
    command("-march=host", "-fno-contract", "-o", tmp_path / "wave.o", tmp_path / "wave.stn")
    run = stc.compile(WAVE, contract=False).plan(device="ref", dt=0.05)
    run(20)
    fields = {name: np.zeros(run[name].shape, np.float32) for name in ("p", "v", *MEMORIES)}
    fields["p"] += np.outer(np.arange(40), np.arange(44)) % 7
    stc.load(str(tmp_path / "wave.json")).run(fields, steps=20, dt=0.05)
    assert all(np.array_equal(fields[name], run[name]) for name in fields)
