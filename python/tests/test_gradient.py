"""Gradients: Plan.gradient."""
import numpy as np
import pytest

import stc

TEXT = """
param N = 14, M = 9, nr = 3;  param k : f64 = 0.2;  param r[nr] : i32, seen[nr] : f64;
grid G = [0 .. N-1, 0 .. M-1], 6;
field u : f64 on G outside clamp history 1;
field V : f64[2] on G outside mirror;
field q : f32 on G input;
init cold(u)[G] = 0;
stencil heat(u)[G] = u + k * (u[-1,0] + u[1,0] - 2 * u) + 0.1 * u@1 * u + f64(q) + 0.1 * V[0,1][0];
stencil turn(V)[G] = {V[1,0][1], 0.5 * V[0,0][0] * u};
loss a += 0.5 * (u - seen[point]) * (u - seen[point]) at [r, 4] every 2;
loss b += V[0,0][0] * V[0,0][1] over G at end;
gradient a + 0.1 * b to u, q, V, k, seen;
"""


def plan(device, text=TEXT, **params):
    run = stc.compile(text, contract=False).plan(device, **params)
    rng = np.random.default_rng(3)
    run["r"], run["seen"], run["q"] = [1, 5, 9], rng.random(3), rng.random((14, 9)).astype(np.float32)
    run["V"], run["u"] = rng.random((14, 9, 2)), rng.random((14, 9))
    return run


@pytest.mark.parametrize("device", ["host:2", "sim"])
def test_against_the_reference(device):
    want, slopes = plan("ref").gradient()
    run = plan(device)
    value, g = run.gradient()
    assert value == want and list(g) == ["u", "q", "V", "k", "seen"]
    assert g["q"].dtype == np.float32 and g["V"].shape == (14, 9, 2) and g["seen"].shape == (3,) and isinstance(g["k"], float)
    for name, slope in slopes.items():
        np.testing.assert_allclose(g[name], slope, rtol=1e-6 if name == "q" else 1e-12, atol=1e-13)
    again = run.gradient(6, memory="20.5kB")                       # the plan is as if it had not run; steps are made again
    assert again.value == value and all(np.array_equal(again.by[n], g[n]) for n in g)
    assert run(6).steps == 6 and np.array_equal(run["u"], finished(device))
    with pytest.raises(stc.OptionError, match="it has run already"):
        run.gradient()
    run.restart()
    rng = np.random.default_rng(3)
    run["seen"] = rng.random(3)
    run["q"], run["V"], run["u"] = rng.random((14, 9)).astype(np.float32), rng.random((14, 9, 2)), rng.random((14, 9))
    assert run.gradient().value == value


def finished(device):
    run = plan(device)
    run(6)
    return run["u"].copy()


@pytest.mark.parametrize("device", ["ref", "host:1"])
def test_difference_of_values(device):
    run, rng, h = plan(device), np.random.default_rng(5), 1e-6
    value, g = run.gradient()
    start, to = np.random.default_rng(3), rng.standard_normal((14, 9))
    start.random(3), start.random((14, 9)), start.random((14, 9, 2))
    u = start.random((14, 9))
    run["u"] = u + h * to
    up = run.gradient().value
    run["u"] = u - h * to
    assert (up - run.gradient().value) / (2 * h) == pytest.approx((g["u"] * to).sum(), rel=1e-6)


def test_errors():
    run = plan("host:1")
    with pytest.raises(stc.OptionError, match="bytes of memory at least"):
        run.gradient(memory=100)
    with pytest.raises(stc.OptionError, match='memory=.8cows.: a number of bytes is wanted'):
        run.gradient(memory="8cows")
    with pytest.raises(TypeError, match="steps"):
        run.gradient(2.5)
    with pytest.raises(stc.InputError, match="the program says no gradient"):
        plan("host:1", TEXT.split("gradient")[0]).gradient()
