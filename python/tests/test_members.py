"""Programs with members: arrays with an axis in front, what members share, values of probes by member."""
import numpy as np
import pytest

import stc

SOURCE = """
param N = 9, M = 7, nm = 4;
param k[nm] : f32, sx[nm] : i32;
grid G = [0 .. N-1, 2 .. M+1], 8;
members nm;
field u : real on G outside clamp;
field c : real on G shared;
stencil heat(u)[G] = u + k[member] * c * (u[-1,0] + u[1,0] + u[0,-1] + u[0,1] - 4 * u);
inject push(u) += 0.5 at [3, sx[member]];
probe fixed = u at [2, 4] every 1;
probe own = u at [3, sx[member]] every 2;
"""
ALONE = SOURCE.replace("members nm;", "param which = 0, place = 2;").replace("shared", "input").replace("k[member]", "k[which]").replace("sx[member]", "place")


def test_option():
    """An argument stands for the word."""
    text = "param N = 8; grid G = [0 .. N-1], 4; field u : f32 on G outside periodic; stencil s(u)[G] = 0.5 * (u[-1] + u[1]);"
    run, one = stc.compile(text, members=3).plan(), stc.compile(text).plan()
    u = np.random.default_rng(3).random((3, 8), "f4")
    assert run["u"].shape == (3, 8)
    run["u"] = u
    run(4)
    for m in range(3):
        one["u"] = u[m]
        one(4)
        assert (run["u"][m] == one["u"]).all()
    derived = stc.compile(text, members=3).plan(device="ref")
    derived["u"] = u
    assert np.allclose(derived.pull(4, {"u": u}, to="u")["u"].sum(axis=1), u.sum(axis=1), rtol=1e-5)
    with pytest.raises(stc.OptionError, match="members=0: the number is at least 1"):
        stc.compile(text, members=0)
    with pytest.raises(stc.InputError, match="leave out the second 'members'"):
        stc.compile(SOURCE, members=4)


def test_members():
    k, sx = np.linspace(0.1, 0.2, 4, dtype="f4"), np.array([2, 3, 8, 5], "i4")
    u, c = np.random.default_rng(1).random((4, 9, 7), "f4"), np.random.default_rng(2).random((9, 7), "f4")
    for device in ("ref", "host"):
        run = stc.compile(SOURCE).plan(device=device)
        assert run["u"].shape == (4, 9, 7) and run["c"].shape == (1, 9, 7)
        run["u"], run["c"], run["k"], run["sx"] = u, c, k, sx
        run(8)
        for m in range(4):
            one = stc.compile(ALONE).plan(device=device, which=m, place=int(sx[m]))
            one["u"], one["c"], one["k"], one["sx"] = u[m], c, k, sx
            one(8)
            assert np.allclose(run["u"][m], one["u"], rtol=1e-6)
            assert np.allclose(run.probes["fixed"].value[:, m], one.probes["fixed"].value, rtol=1e-6)
            assert np.allclose(run.probes["own"].value[:, m], one.probes["own"].value, rtol=1e-6)
        assert run.probes["own"].at.tolist() == [[m, 3, x] for m, x in enumerate(sx)]
        assert run.probes["fixed"].at.tolist() == [[m, 2, 4] for m in range(4)]
