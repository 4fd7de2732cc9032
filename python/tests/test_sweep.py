"""Sweeps along columns, stencils that run every so many steps, and fields as they were at the start of the step, beside NumPy: on ref, sim and host, in parts, behind a checkpoint, and in artifacts."""
import shutil

import numpy as np
import pytest

import stc
from commands import command

DEVICES = [("ref", None), ("sim", None), ("host:2", None), ("ref", (1, 3)), ("host:1", (1, 2))]
HEAT = """
param K = 8, N = 9;
grid G = [0 .. K-1, 0 .. N-1], 4;
field T : f64 on G;
field kv : f64 on G outside 0 input;
field c, d : f64 temp on G;
sweep out(c, d)[G] along 0 up {
  first { let b = kv[1,0]; c = -b / (1 + b); d = T / (1 + b); }
  next { let m = 1 / (1 + kv + kv[1,0] + kv * c[-1,0]); c = -kv[1,0] * m; d = (T + kv * d[-1,0]) * m; }
}
sweep home(T)[G] along 0 down { first = d; next = d - c * T[1,0]; }
"""
SEEN = """
param N = 24, M = 10;
grid G = [0 .. N-1, 0 .. M-1], 9;
field u, light : f64 on G outside clamp;
stencil one(u)[G] = u + 0.25 * (u[-1,0] - u);
stencil two(u)[G] = u + 0.25 * (u[0,1] - u) + 0.125 * u@0;
stencil see(light)[G] every 3 = light + (u - u@0) * (u - u@0[1,0]);
"""


def solved(t, kv, steps):
    """T after so many steps of backward Euler: each column's system, as a matrix, solved by LAPACK."""
    t = t.copy()
    kv = np.vstack([0 * kv[:1], kv[1:], 0 * kv[:1]])
    for _ in range(steps):
        for j in range(t.shape[1]):
            above, below = kv[:-1, j], kv[1:, j]
            t[:, j] = np.linalg.solve(np.diag(1 + above + below) - np.diag(above[1:], -1) - np.diag(below[:-1], 1), t[:, j])
    return t


def by_numpy(u, light, first, steps):
    """The fields of SEEN after so many steps from number `first` on."""
    for step in range(first, first + steps):
        was = u
        u = u + 0.25 * (np.pad(u, ((1, 0), (0, 0)), "edge")[:-1] - u)
        u = u + 0.25 * (np.pad(u, ((0, 0), (0, 1)), "edge")[:, 1:] - u) + 0.125 * was
        if step % 3 == 0:
            light = light + (u - was) * (u - np.pad(was, ((0, 1), (0, 0)), "edge")[1:])
    return u, light


@pytest.mark.parametrize("device, parts", DEVICES)
def test_sweep(device, parts, tmp_path):
    run = stc.compile(HEAT, contract=False).plan(device=device, split=parts)
    random = np.random.default_rng(5)
    t, kv = random.random((8, 9)), random.random((8, 9))
    kv[0] = 0
    run["T"], run["kv"] = t, kv
    run(3)
    assert np.allclose(run["T"], solved(t, kv, 3), rtol=1e-13, atol=0)
    run.save(tmp_path / "c.npz")
    run(1)
    other = stc.compile(HEAT, contract=False).plan(device="ref")
    other["kv"] = kv
    other.load(tmp_path / "c.npz")
    other(1)
    assert np.array_equal(run["T"], other["T"]) and np.allclose(run["T"].sum(0), t.sum(0), rtol=1e-13)


@pytest.mark.parametrize("device, parts", DEVICES)
def test_every_and_start(device, parts, tmp_path):
    run = stc.compile(SEEN, contract=False).plan(device=device, split=parts)
    u = np.random.default_rng(6).random((24, 10))
    run["u"], run["light"] = u, 0 * u
    run(4)
    want = by_numpy(u, 0 * u, 0, 4)
    assert np.array_equal(run["u"], want[0]) and np.array_equal(run["light"], want[1])
    run.save(tmp_path / "c.npz")
    run(1)                               # none of the steps that are due
    assert np.array_equal(run["light"], want[1])
    other = stc.compile(SEEN, contract=False).plan(device=device, split=parts)
    other.load(tmp_path / "c.npz")
    other(3)
    want = by_numpy(*want, 4, 3)
    assert np.array_equal(other["u"], want[0]) and np.array_equal(other["light"], want[1])


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_artifacts(tmp_path):
    random = np.random.default_rng(7)
    t, kv, u = random.random((8, 9)), random.random((8, 9)), random.random((24, 10))
    kv[0] = 0
    for name, text in ("heat", HEAT.replace("param", "const")), ("seen", SEEN):
        (tmp_path / f"{name}.stn").write_text(text)
        command("-march=host", "-fno-contract", tmp_path / f"{name}.stn", "-o", tmp_path / f"{name}.o")
    want = solved(t, kv, 2)
    stc.load(tmp_path / "heat.json").run({"T": t, "kv": kv}, 2)
    assert np.allclose(t, want, rtol=1e-13, atol=0)
    seen, light = stc.load(tmp_path / "seen.json"), 0 * u
    want = by_numpy(u, light, 0, 7)
    seen.run({"u": u, "light": light}, 2)
    seen.run({"u": u, "light": light}, 5, first_step=2)
    assert np.array_equal(u, want[0]) and np.array_equal(light, want[1])
