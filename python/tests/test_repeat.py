"""Rounds within a step (`repeat`): against the same in NumPy, on several devices, from an artifact, and after a checkpoint."""
import shutil
import subprocess
import sys

import numpy as np
import pytest

import stc

RELAX = """
param N = 12, M = 17, most = 50;
param tol : f64 = 0.02;
grid G = [0 .. N-1, 0 .. M-1], 4;
field f : f64 on G input;
field p : f64 on G outside 0;
init z(p)[G] = 0;
op res(P) = P[1,0] + P[-1,0] + P[0,1] + P[0,-1] - 4 * P - f;
repeat pressure up to most {
  stencil relax(p)[G] = p + 0.25 * res(p);
  reduce left = max(abs(res(p))) over G every 4;
  until max(abs(res(p))) over G < tol every 4;
}
stencil drift(p)[G] = 0.5 * p + 0.01 * f64(idx(1));
"""


def res(p, f):
    q = np.pad(p, 1)
    return q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - 4 * p - f


def relaxed(f, steps, most=50, tol=0.02):
    """The fields and the rounds of each step."""
    p, made = np.zeros_like(f), []
    for _ in range(steps):
        for n in range(1, most + 1):
            p = p + 0.25 * res(p, f)
            if n % 4 == 0 and np.abs(res(p, f)).max() < tol:
                break
        made.append((n, n % 4 == 0 and bool(np.abs(res(p, f)).max() < tol)))
        p = 0.5 * p + 0.01 * np.arange(f.shape[1])
    return p, made


@pytest.mark.parametrize("device, parts", [("ref", None), ("host", None), ("sim", None), ("host:1", "2x2")])
def test_rounds(device, parts, tmp_path):
    f = np.random.default_rng(1).random((12, 17)) - 0.5
    program = stc.compile(RELAX, contract=False)
    run = program.plan(device, split=parts)
    run["f"] = f
    assert run.rounds == {"pressure": stc.Rounds(0, False, -1)}
    steps = 4 if device != "sim" else 1
    run(steps)
    want, made = relaxed(f, steps)
    assert np.array_equal(run["p"], want)
    assert run.rounds == {"pressure": stc.Rounds(made[-1][0], made[-1][1], steps - 1)}
    assert run.reductions["pressure.rounds"]["value"].tolist() == [n for n, _ in made]
    assert run.reductions["pressure.ended"]["value"].tolist() == [int(e) for _, e in made]
    assert run.reductions["left"]["step"].tolist() == list(range(1, steps + 1))
    if device == "host":
        two, other = program.plan(device), program.plan("ref")
        two["f"] = f
        two(2)
        two.save(tmp_path / "c.npz")
        other.load(tmp_path / "c.npz")
        other(2)
        assert np.array_equal(other["p"], want)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_artifact(tmp_path):
    (tmp_path / "relax.stn").write_text(RELAX)
    subprocess.run([sys.executable, "-m", "stc", "-march=host", "-fno-contract", str(tmp_path / "relax.stn"), "-o", str(tmp_path / "relax.o")], check=True)
    f = np.random.default_rng(2).random((12, 17)) - 0.5
    p = np.zeros_like(f)
    stc.load(tmp_path / "relax.json").run({"f": f, "p": p}, 2)
    assert np.array_equal(p, relaxed(f, 2)[0])


def test_conjugate_gradients():
    """An implicit step: (1 - k lap) u = old, against the same iteration and a direct solve."""
    program = stc.compile("""
param N = 9, k : f64 = 3, tol : f64 = 1e-24;
grid G = [0 .. N-1, 0 .. N-1], 2;
field u, r, d : f64 on G outside 0;
field q : f64 on G temp;
op A(X) = X - k * (X[-1,0] + X[1,0] + X[0,-1] + X[0,1] - 4 * X);
scalar rr : f64 = 0, old : f64 = 0, a : f64 = 0;
init z(r, d)[G] { r = 0; d = 0; }
stencil start(r, d)[G] { r = u - A(u); d = u - A(u); }
update rr = sum(r * r) over G;
repeat solve up to 200 {
  update old = rr;
  stencil apply(q)[G] = A(d);
  update a = old / (sum(d * A(d)) over G);
  stencil move(u, r)[G] { u = u + a * d; r = r - a * q; }
  update rr = sum(r * r) over G;
  stencil turn(d)[G] = r + (rr / old) * d;
  until rr <= tol;
}
""")
    n, k = 9, 3
    lap = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    matrix = np.eye(n * n) - k * (np.kron(lap, np.eye(n)) + np.kron(np.eye(n), lap))
    run = program.plan("host")
    run["u"] = u = np.random.default_rng(3).random((n, n))
    run(2)
    for _ in range(2):
        u = np.linalg.solve(matrix, u.ravel()).reshape(n, n)
    assert np.abs(run["u"] - u).max() < 1e-12
    assert run.rounds["solve"].ended and 5 < run.rounds["solve"].rounds < 100
