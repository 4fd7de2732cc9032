"""Gradients: Plan.gradient."""
import re

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


def least(call):
    """The least memory that the call can do with, which it says when it has less."""
    with pytest.raises(stc.OptionError) as e:
        call(memory=1)
    return int(re.search(r"needs (\d+) bytes of memory at least", str(e.value))[1])


@pytest.mark.parametrize("device", ["host:2", "sim"])
def test_against_the_reference(device, tmp_path):
    want, slopes = plan("ref").gradient()
    run = plan(device)
    value, g = run.gradient()
    assert value == want and list(g) == ["u", "q", "V", "k", "seen"]
    assert g["q"].dtype == np.float32 and g["V"].shape == (14, 9, 2) and g["seen"].shape == (3,) and isinstance(g["k"], float)
    for name, slope in slopes.items():
        np.testing.assert_allclose(g[name], slope, rtol=1e-6 if name == "q" else 1e-12, atol=1e-13)
    again = run.gradient(6, memory=least(run.gradient))                       # the plan is as if it had not run; steps are made again
    assert again.value == value and all(np.array_equal(again.by[n], g[n]) for n in g)
    again = run.gradient(6, memory=least(run.gradient), scratch=tmp_path)
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


PULL = """
param N = 14, M = 9;  param k : f64 = 0.2;  param seen[3] : f64;
grid G = [0 .. N-1, 0 .. M-1], 6;
field u : f64 on G outside clamp history 1;
field V : f64[2] on G outside mirror;
field c : f64 on [0 .. N-1, *];
field q : f32 on G input;
field idle : f64 on G input;
stencil heat(u)[G] = u + k * (u[-1,0] + u[1,0] - 2 * u) + 0.1 * u@1 * u + f64(q) + 0.1 * V[0,1][0];
stencil turn(V)[G] = {V[1,0][1], 0.5 * V[0,0][0] * u * c + seen[1] + floor(idle)};
"""
SHAPES = {"u": (14, 9), "u@1": (14, 9), "V": (14, 9, 2), "c": (14, 1), "idle": (14, 9), "seen": (3,)}


def pull_plan(device, **moved):
    run, rng = stc.compile(PULL, contract=False).plan(device, k=0.2 + moved.get("k", 0)), np.random.default_rng(3)
    for name, shape in SHAPES.items():
        run[name] = rng.random(shape) + moved.get(name, 0)
    run["q"] = rng.random((14, 9)).astype(np.float32)
    return run


@pytest.mark.parametrize("device", ["host:2", "sim"])
def test_pull(device):
    """Derivatives by fields at the end, from outside: against the tape and differences of runs; older levels, vectors, what does not matter."""
    rng, to = np.random.default_rng(5), ["u", "u@1", "V", "c", "idle", "seen", "k", "q"]
    bars = {name: rng.standard_normal(SHAPES[name]) for name in ("u", "u@1", "V", "c")}
    want, run = pull_plan("ref").pull(6, bars, to=to), pull_plan(device)
    g = run.pull(6, bars, to=to)
    for name in to:
        assert np.shape(g[name]) == np.shape(want[name])
        np.testing.assert_allclose(g[name], want[name], **(dict(rtol=1e-5, atol=1e-5) if name == "q" else dict(rtol=1e-12, atol=1e-12)))
    assert not g["idle"].any() and g["q"].dtype == np.float32 and isinstance(g["k"], float)
    again = run.pull(6, bars, to=to, memory=least(lambda memory: run.pull(6, bars, to=to, memory=memory)))
    assert all(np.array_equal(again[name], g[name]) for name in to)
    d = {name: rng.standard_normal(np.shape(g[name])) for name in to if name != "q"}
    ends = []
    for h in 1e-6, -1e-6:
        moved = pull_plan(device, **{name: h * v for name, v in d.items()})
        moved(6)
        ends.append(sum((bar * np.asarray(moved[name])).sum() for name, bar in bars.items()))
    slope = sum((np.asarray(g[name]) * d[name]).sum() for name in d)
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-6)
    run(6)                                                         # the plan is as it was
    moved = pull_plan(device)
    moved(6)
    assert np.array_equal(run["V"], moved["V"])


LINEAR = """
param N = 17, M = 12;  param k : f64 = 0.2;
grid G = [0 .. N-1, 0 .. M-1], 25 spacing [1.0, 1.0] step 0.5;
absorb rim = 4 of G speed 1, frequency 0.1, reflection 1e-3;
field p : f64 on G outside 0 history 1;
field u : f64 on G outside [mirror odd, periodic];
field V : f64[2] on G outside clamp;
field c : f64 on G outside clamp;
field q : f64 on G input;
stencil wave(p)[G] absorb rim = 2 * p - p@1 + 0.3 * (diff(p, 0, 2, order 4) + diff(p, 1, 2, order 4)) + q;
stencil heat(u)[G] = u + k * (u[-1,0] + u[2,0] - 2 * u + u[0,3]) + (if idx(0) > 5 then 0.1 * V[0,1][0] else p[-1,0]);
stencil turn(V)[1 .. N-1, 0 .. M-1] = {V[-1,0][1] - 0.1 * q, 0.5 * V[0,0][0] + 0.01 * c * u};
stencil drift(c)[G] = 0.5 * (c[0,1] + c * c);
"""


def test_dot_products():
    """What fields become depends on what they were linearly, with factors that change from step to step: y . A x is x . A' y but for rounding, whatever the memory."""
    rng, names = np.random.default_rng(11), {"p": (17, 12), "p@1": (17, 12), "u": (17, 12), "V": (17, 12, 2)}
    x = {name: rng.standard_normal(shape) for name, shape in {**names, "q": (17, 12)}.items()}
    y, factors = {name: rng.standard_normal(shape) for name, shape in names.items()}, rng.random((17, 12))
    run = stc.compile(LINEAR).plan("host:2")

    def begin():
        for name, values in x.items():
            run[name] = values
        run["c"] = factors

    begin()
    run(25)
    there = sum((y[name] * run[name]).sum() for name in y)
    run.restart()
    begin()
    g = run.pull(25, y, to=list(x))
    size = sum((abs(g[name]) * abs(x[name])).sum() for name in x)
    assert abs(there - sum((g[name] * x[name]).sum() for name in x)) < 1e-13 * size
    again = run.pull(25, y, to=list(x), memory=least(lambda memory: run.pull(25, y, to=list(x), memory=memory)))
    assert all(np.array_equal(again[name], g[name]) for name in x)


def test_pull_errors():
    run = pull_plan("host:1")
    for message, of, more in [("say what the derivatives are to be by", {"u": 1}, {}), ("from one field at least", {}, {"to": "u"}),
                              ("'x' is no field, launch-time array or param of the program", {"u": 1}, {"to": ["u", "x"]}), ("'N' is no param or scalar of floats", {"u": 1}, {"to": "N"})]:
        with pytest.raises(stc.StcError, match=message):
            run.pull(6, of, **more)
    with pytest.raises(KeyError, match="seen.* is no field"):
        run.pull(6, {"seen": 1}, to="u")
    with pytest.raises(ValueError, match="has the shape"):
        run.pull(6, {"u": np.zeros(3)}, to="u")
    run(1)
    with pytest.raises(stc.OptionError, match="it has run already"):
        run.pull(6, {"u": 1}, to="u")
    run.restart()
    for name in "u", "V", "c", "q", "idle":
        run[name] = 0
    with pytest.raises(stc.OptionError, match="'u@1' has not been set"):
        run.pull(6, {"u": 1}, to="u@1")
    until = stc.compile(PULL + "until max(u) over G < 0.0 every 1;").plan("host:1")
    for name in "u", "V", "c", "q", "idle", "seen":
        until[name] = 0
    with pytest.raises(stc.InputError, match="'until' ends runs"):
        until.pull(6, {"u": 1}, to="u")


def test_memory():
    """The same bits in any memory, from all steps kept down to one, with snapshots in between."""
    text = """
    param N = 30;
    grid G = [0 .. N-1], 97;
    field u : f64 on G outside clamp history 1;
    field q : f64 on G input;
    stencil heat(u)[G] = 0.6 * u + 0.2 * (u[-1] + u[1]) + 0.01 * u@1 * u + 0.01 * q * u;
    loss a += u * u over G every 3;
    gradient a to u, q;
    """
    run, rng = stc.compile(text).plan("host:1"), np.random.default_rng(1)
    run["u"], run["q"] = rng.random(30), rng.random(30)
    value, g = run.gradient()
    fewest = least(run.gradient)
    assert fewest == 4 * 30 * 8             # u and its older level at a step, and a snapshot of both
    for memory in fewest, 2 * fewest, 5 * fewest, 12000, 23000:
        again = run.gradient(memory=memory)
        assert again.value == value and all(np.array_equal(again.by[n], g[n]) for n in g), memory


def test_members():
    """Scalars by member: a derivative for each, as differences of the value say; what is handed back through the run is the same."""
    text = """
    param n = 3;
    param k[n] : f64;
    grid G = [0 .. 6, 0 .. 7], 4;
    members n;
    field u : f64 on G outside clamp;
    scalar dt : f64 = 0.1, e : f64 = 0;
    update e = max(abs(u)) over G;
    update dt = 0.5 * dt / (1 + k[member] * e);
    stencil s(u)[G] = u + dt * (u[1,0] + u[-1,0] + u[0,1] + u[0,-1] - 4 * u) - 0.1 * e * u * u;
    loss j += u * u over G at end;
    gradient j to u, k, dt;
    """
    values = {"u": np.random.default_rng(4).random((3, 7, 8)), "k": np.array([0.5, 1, 2]), "dt": np.array([0.1, 0.2, 0.3])}
    run = stc.compile(text).plan("host:1")

    def gradient(**of):
        run.restart()
        for name, v in {**values, **of}.items():
            run[name] = v
        return run.gradient()

    value, g = gradient()
    assert g["dt"].shape == g["k"].shape == (3,) and (run["dt"] == values["dt"]).all() and (run["u"] == values["u"]).all()
    for name in "k", "dt":
        for m in range(3):
            h = 1e-6 * (np.arange(3) == m)
            slope = (gradient(**{name: values[name] + h}).value - gradient(**{name: values[name] - h}).value) / 2e-6
            assert abs(slope - g[name][m]) < 1e-7 * max(1, abs(slope)), (name, m)
    gradient()
    run(4)
    end = run["u"].copy()
    run.restart()
    for name, v in values.items():
        run[name] = v
    pulled = run.pull(4, {"u": 2 * end}, to=["u", "k", "dt"])
    assert all(np.allclose(pulled[name], g[name], rtol=1e-12, atol=1e-14) for name in g)


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
