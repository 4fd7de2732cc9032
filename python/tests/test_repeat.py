"""Rounds within a step (`repeat`): against the same in NumPy, on several devices, from an artifact, and after a checkpoint."""
import shutil

import numpy as np
import pytest

import stc
from commands import command

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
    command("-march=host", "-fno-contract", tmp_path / "relax.stn", "-o", tmp_path / "relax.o")
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


LEVELS = """
const D = 2, q[3] = {1, 4, 16};
param N = 8, tol : f64 = 1e-3;
grid G = [0 .. N-1, 0 .. N-1], 1;
levels L = 0 .. D of G;
field x, b, r : f64 on L outside 0;
op A(X, l) = (X[1,0] + X[-1,0] + X[0,1] + X[0,-1] - 4 * X) / q[l];
op res(l) = b(l) - A(x(l), l);
each (l in 0 .. D) { init zero(x(l), r(l))[L(l)] { x(l) = 0; r(l) = 0; } }
each (l in 1 .. D) { init later(b(l))[L(l)] = 0; }
init given(b(0))[G] = f64(idx(0)) - 0.5 * f64(idx(1));
scalar left : f64 = 0;
repeat cycle up to 20 {
  each (l in 0 .. D - 1) {
    repeat before up to 2 { stencil relax(x(l))[L(l)] = x(l) - 0.2 * res(l) * q[l]; }
    stencil residual(r(l))[L(l)] = res(l);
    stencil restrict(b(l+1), x(l+1))[L(l+1)] {
      b(l+1) = 0.25 * (fine(r(l))[0,0] + fine(r(l))[0,1] + fine(r(l))[1,0] + fine(r(l))[1,1]);
      x(l+1) = 0;
    }
  }
  repeat bottom up to 5 { stencil last(x(D))[L(D)] = x(D) - 0.2 * res(D) * q[D]; }
  each (l in D - 1 .. 0 by -1) {
    stencil prolong(x(l))[L(l)] = x(l) + coarse(x(l+1))[0,0];
    repeat behind up to 2 { stencil relax2(x(l))[L(l)] = x(l) - 0.2 * res(l) * q[l]; }
  }
  update left = max(abs(res(0))) over G;
  until left < tol every 1;
}
"""


def v_cycle(x, b, level, q=(1, 4, 16)):
    """One cycle from `level` on, as the program does it."""
    def left(x):
        p = np.pad(x, 1)
        return b - (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x) / q[level]
    for _ in range(2 if level < 2 else 5):
        x = x - 0.2 * left(x) * q[level]
    if level < 2:
        r = left(x)
        coarse = v_cycle(np.zeros((len(x) // 2,) * 2), 0.25 * (r[::2, ::2] + r[::2, 1::2] + r[1::2, ::2] + r[1::2, 1::2]), level + 1)[0]
        x = x + coarse.repeat(2, 0).repeat(2, 1)
        for _ in range(2):
            x = x - 0.2 * left(x) * q[level]
    return x, np.abs(left(x)).max()


@pytest.mark.parametrize("device, parts", [("ref", None), ("host", None), ("host:1", "2")])
def test_levels(device, parts):
    """Levels by their names, the scalar that ends the cycles and their number; a field of a level is set as others are."""
    run = stc.compile(LEVELS, contract=False).plan(device, split=parts)
    assert [run["x(%d)" % l].shape for l in range(3)] == [(8, 8), (4, 4), (2, 2)]
    b = np.random.default_rng(3).random((8, 8))
    run["b(0)"] = b
    run(1)
    x, cycles, left = np.zeros((8, 8)), 0, 1.0
    while left >= 1e-3:
        x, left = v_cycle(x, b, 0)
        cycles += 1
    assert np.allclose(run["x(0)"], x, rtol=0, atol=1e-12)
    assert run.rounds["cycle"] == stc.Rounds(cycles, True, 0)
    assert run.rounds["before(1)"].rounds == 2 * cycles and abs(run["left"] - left) < 1e-12


COLUMNS = """
const K = 9;
param M = 7;
grid G = [0 .. K-1, 0 .. M-1], 4;
field T : f64 on G;
field a, s : f64 on G;
field c, d : f64 temp on G;
init z(a, s)[G] { a = 0; s = 0; }
sweep out(c, d)[G] along 0 up {
  first { c = -0.3 / 1.3; d = T / 1.3; }
  next { let m = 1 / (1.6 + 0.3 * c[-1,0]); c = -0.3 * m; d = (T + 0.3 * d[-1,0]) * m; }
}
sweep home(T)[G] along 0 down { first = d; next = d - c * T[1,0]; }
stencil moved(a)[G] = T - T@0;
stencil seen(s)[G] every 2 = s + T;
"""


@pytest.mark.parametrize("device, parts", [("ref", None), ("host", None), ("sim", None), ("host:1", "1x3")])
def test_columns(device, parts):
    """Columns solved by two sweeps, the change since the start of the step, and a stencil every other step."""
    run = stc.compile(COLUMNS, contract=False).plan(device, split=parts)
    matrix = 1.6 * np.eye(9) - 0.3 * (np.eye(9, k=1) + np.eye(9, k=-1))
    matrix[0, 0] = 1.3
    t, before, sums = np.random.default_rng(5).random((9, 7)), None, 0
    run["T"] = t
    for step in range(4):
        run(1)
        before, t = t, np.linalg.solve(matrix, t)
        sums = sums + t if step % 2 == 0 else sums
        assert np.allclose(run["T"], t, rtol=0, atol=1e-13) and np.allclose(run["a"], t - before, rtol=0, atol=1e-13)
    assert np.allclose(run["s"], sums, rtol=0, atol=1e-13)
