"""Scalars that are kept from step to step, on ref, sim and host, in checkpoints and in artifacts."""
import shutil

import numpy as np
import pytest

import stc
from commands import command

DECAY = """
param N = 24;
grid G = [0 .. N-1], 10;
field A : f64 on G outside 0;
scalar t : f64 = 0.5, n = 3, top = 0.0;
update top = max(A) over G;
stencil half(A)[G] = 0.5 * A + 0.125 * (A[-1] + A[1]) / (1 + top);
update t = t + 0.25 * top;
update n = n + 1;
until t >= 4;
"""


def by_numpy(a, t, steps):
    """The field and t after so many steps."""
    for _ in range(steps):
        top, wide = a.max(), np.pad(a, 1)
        a = 0.5 * a + 0.125 * (wide[:-2] + wide[2:]) / (1 + top)
        t = t + 0.25 * top
    return a, t


@pytest.mark.parametrize("device, parts", [("ref", None), ("sim", None), ("host:2", None), ("ref", 3), ("host:1", 2)])
def test_scalars(device, parts, tmp_path):
    program = stc.compile(DECAY, contract=False)
    assert program.scalars == ["t", "n", "top"] and program.arrays == []
    a = np.random.default_rng(3).random(24)
    run = program.plan(device=device, split=parts)
    assert (run["t"], run["n"]) == (0.5, 3) and "t" in run
    run["A"] = a
    run(4)
    want, t = by_numpy(a, 0.5, 4)
    assert np.array_equal(run["A"], want) and run.scalars == {"t": t, "n": 7, "top": run["top"]}
    run.save(tmp_path / "c.npz")
    other = program.plan(device=device, split=parts)
    other.load(tmp_path / "c.npz")
    other(2)
    run(2)
    assert other.scalars == run.scalars and np.array_equal(other["A"], run["A"])
    run.restart()
    run["A"], run["t"] = a, 3.9
    assert run["t"] == 3.9
    assert run(10).until == "until" and run["n"] == 4 and np.array_equal(run["A"], by_numpy(a, 3.9, 1)[0])
    with pytest.raises(TypeError, match="scalar n is one number of type i64"):
        run["n"] = 0.5


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_artifact(tmp_path):
    (tmp_path / "decay.stn").write_text(DECAY)
    command("-march=host", "-fno-contract", tmp_path / "decay.stn", "-o", tmp_path / "decay.o")
    artifact, a = stc.load(tmp_path / "decay.json"), np.random.default_rng(3).random(24)
    want, t = by_numpy(a, 0.5, 4)
    first = artifact.run({"A": a}, 2)
    second = artifact.run({"A": a, **first.scalars}, 2, first_step=2)
    assert np.array_equal(a, want) and second.scalars["t"] == t and second.scalars["n"] == 7
