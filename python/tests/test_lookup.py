"""Launch-time arrays of two indices, and fields between points, against the same by NumPy."""
import numpy as np
import pytest

import stc

PROGRAM = """
param N = 12, A = 3, B = 4;
param w[A, B] : f64;
grid G = [0 .. N-1, 0 .. N-1], 5;
field u : f64 on G outside periodic;
field vy, vx : f64 on G input;
stencil s(u)[G] = 0.5 * at(u, vy, vx, within 2) + 0.25 * lookup(w, 3 * u, vx) + 0.125 * w[idx(0), step];
"""


def between(values, y, x):
    """The values at places y, x, which are in range, rows first."""
    i, j = np.floor(y).astype(int), np.floor(x).astype(int)
    low, high = (values(k, j) + (x - j) * (values(k, j + 1) - values(k, j)) for k in (i, i + 1))
    return low + (y - i) * (high - low)


@pytest.mark.parametrize("device, parts", [("ref", None), ("sim", None), ("host:2", None), ("ref", 2)])
def test_lookup(device, parts):
    random = np.random.default_rng(5)
    u, vy, vx, w = random.random((12, 12)), random.normal(size=(12, 12)), 2 * random.normal(size=(12, 12)), random.random((3, 4))
    run = stc.compile(PROGRAM, contract=False).plan(device=device, split=parts)
    with pytest.raises(ValueError):
        run["w"] = w.T
    run["u"], run["vy"], run["vx"], run["w"] = u, vy, vx, w
    assert run["w"].shape == (3, 4)
    run(5)
    rows, columns = np.mgrid[0:12, 0:12]
    for step in range(5):
        about = between(lambda i, j: u[(rows + np.minimum(i, 2)) % 12, (columns + np.minimum(j, 2)) % 12], vy.clip(-2, 2), vx.clip(-2, 2))
        found = between(lambda i, j: w[np.minimum(i, 2), np.minimum(j, 3)], (3 * u).clip(0, 2), vx.clip(0, 3))
        u = 0.5 * about + 0.25 * found + 0.125 * w[rows.clip(0, 2), min(step, 3)]
    np.testing.assert_array_equal(np.asarray(run["u"]), u)


def test_gradient():
    """By the field, a place and the array, against differences: the slopes between the values that were read."""
    program = stc.compile(PROGRAM + "loss J += u * u over G at end;  gradient J to u, vy, w;", contract=False)
    random = np.random.default_rng(7)
    values = {"u": random.random((12, 12)), "vy": random.normal(size=(12, 12)), "vx": 2 * random.normal(size=(12, 12)), "w": random.random((3, 4))}

    def run(changed):
        plan = program.plan(device="host:1")
        for name, value in {**values, **changed}.items():
            plan[name] = value
        return plan.gradient(5)

    _, g = run({})
    for name, place in [("u", (3, 4)), ("u", (0, 11)), ("vy", (5, 6)), ("vy", (11, 0)), ("w", (1, 2)), ("w", (2, 3))]:
        ends = []
        for by in (1e-6, -1e-6):
            moved = values[name].copy()
            moved[place] += by
            ends.append(run({name: moved})[0])
        np.testing.assert_allclose(g[name][place], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-8)
