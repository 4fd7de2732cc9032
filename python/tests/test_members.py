"""Programs with members: arrays with an axis in front, what members share, values of probes by member."""
import shutil
import tempfile

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


def test_reductions():
    """A value for each member, to the bit of the member alone, on all devices and in parts; `until` ends the run when it holds for all."""
    text = """
param N = 7, M = 300, which = 0;
grid G = [0 .. N-1, 0 .. M-1], 40;
field u : f64 on G outside periodic;
init a(u)[G] = f64((idx(1) * 7 + idx(0)) % 17) * (1 + f64(which));
stencil s(u)[G] = 0.5 * u[1,1] + 0.5 * u[-1,0];
reduce e = sum(u * u) over G every 3;
reduce n = max(i64(u)) over [1 .. 2, 3 .. M-4] every 2;
until max(abs(u - 8.0)) over G < 6.5 every 1;
"""
    many = text.replace(", 40;", ", 40; members 3;").replace(", which = 0", "").replace("which", "member")
    alone = []
    for k in range(3):
        one = stc.compile(text, contract=False).plan(device="ref", which=k)
        alone.append((one(40).steps, one.reductions))
    most = max(steps for steps, _ in alone)
    for device, split in (("ref", None), ("host", None), ("sim", None), ("host", (3, 1, 1)), ("host", (1, 2, 2))):
        run = stc.compile(many, contract=False).plan(device=device, split=split)
        assert run(40).steps == most and len({steps for steps, _ in alone}) > 1
        for name in ("e", "n", "until"):
            got = run.reductions[name]
            assert got["value"].shape == (len(got), 3)
            for k, (_, of) in enumerate(alone):
                assert (got["value"][:len(of[name]), k] == of[name]["value"]).all() and (got["step"][:len(of[name])] == of[name]["step"]).all()


def test_no_number_in_a_member():
    """An `until` that one member has no number for is an error, which names it; what was reduced can be read."""
    text = """
grid G = [0 .. 6], 12; members 3;
field u : f64 on G;
init a(u)[G] = 1;
stencil s(u)[G] = if step == 3 && member == 1 then sqrt(-u) else u + 1;
until max(u) over G > 40 every 1;
"""
    for device, split in (("ref", None), ("sim", None), ("host", (3, 1))):
        run = stc.compile(text).plan(device=device, split=split)
        with pytest.raises(stc.InputError, match="is NaN in member 1 after 4 steps"):
            run(12)
        value = run.reductions["until"]["value"]
        assert value.shape == (5, 3) and np.isnan(value[4]).tolist() == [False, True, False] and value[4, 2] == 5


SCALARS = """
grid G = [0 .. 8, 0 .. 5], 12; members 3;
param k[3] : f64;
field u : f64 on G outside periodic;
scalar t : f64 = 0, n = 0, all : f64 shared = 0;
init a(u)[G] = f64((idx(0) * 5 + idx(1)) % 7) + k[member];
update t = t + 1.0 / (max(u) over G);
update n = n + (if t > 1 then 1 else 0);
update all = sum(t) over G;
stencil s(u)[G] = u + 0.01 * t * (u[-1,0] + u[0,1] - 2 * u);
reduce now = t every 4;
until n >= 99;
"""


def test_scalars():
    """Each member has the scalars that it has alone, and a shared one is of all; they are given, read, and go on from a checkpoint by member."""
    k, wanted = np.array([0, 2, 4.5]), []
    for m in range(3):
        one = stc.compile(SCALARS.replace("members 3;", f"param m = {m};").replace("member", "m").replace("shared", ""), contract=False).plan(device="ref")
        one["k"] = k
        one(8)
        wanted.append((one["t"], one["n"], one["u"]))
    for device, split in (("ref", None), ("sim", None), ("host", (3, 1, 1)), ("ref", (2, 2, 1))):
        program = stc.compile(SCALARS, contract=False)
        run = program.plan(device=device, split=split)
        run["k"] = k
        assert (run["t"] == 0).all() and run["t"].shape == (3,)
        run(5)
        with tempfile.TemporaryDirectory() as folder:
            run.save(folder + "/c.npz")
            run = program.plan(device=device, split=split)
            run.load(folder + "/c.npz")
        run(3)
        for m, (t, n, u) in enumerate(wanted):
            assert run["t"][m] == t and run["n"][m] == n and (run["u"][m] == u).all()
        assert run["n"].dtype == np.int64 and run.reductions["now"]["value"].shape[1] == 3 and isinstance(run["all"], float)
        run["t"] = [1.0, 2.0, 3.0]
        assert run["t"].tolist() == [1, 2, 3]
        run["t"] = 4
        assert run["t"].tolist() == [4, 4, 4]
        with pytest.raises(TypeError, match="scalar t is one number of type f64, or 3 of them"):
            run["t"] = [1, 2]
        with pytest.raises(TypeError, match="scalar n is one number of type i64"):
            run["n"] = [2 ** 63] * 3


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_scalars_of_an_artifact():
    """An artifact takes them, and gives them back, by member."""
    program, k = stc.compile(SCALARS, contract=False), np.array([0, 2, 4.5])
    run = program.plan(device="ref")
    run["k"] = k
    run["t"] = [0.5, 1.0, 1.5]
    run["u"] = np.ones((3, 9, 6))
    run(4)
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/m.json", "w") as manifest, open(folder + "/m.o", "wb") as code:
            manifest.write(program.emit("manifest"))
            code.write(program.emit("obj"))
        got = stc.load(folder + "/m.json", folder + "/m.o").run({"u": np.ones((3, 9, 6)), "k": k, "t": np.array([0.5, 1.0, 1.5])}, 4)
    assert (got.scalars["t"] == run["t"]).all() and (got.scalars["n"] == run["n"]).all() and got.scalars["all"] == run["all"]


def test_three_dimensions():
    """Members of a grid of three dimensions: fields and arrays that are bound have four, as the grid that a schedule is to suit; parts and views are refused."""
    text = "grid G = [0 .. 5, 0 .. 6, 0 .. 7], 3; field u : f32 on G outside clamp; stencil s(u)[G] = u + 0.1 * (u[-1,0,0] + u[0,1,0] + u[0,0,1]);"
    one, many = stc.compile(text, contract=False), stc.compile(text, contract=False, members=2, grid=(2, 6, 7, 8))
    u = np.random.default_rng(5).random((2, 6, 7, 8), "f4")
    want = []
    for m in range(2):
        alone = one.plan(device="ref")
        alone["u"] = u[m]
        alone()
        want.append(alone["u"])
    for device in "ref", "sim", "host":
        run = many.plan(device=device)
        run["u"] = u
        run()
        assert run["u"].shape == u.shape and (run["u"] == want).all()
    bound, run = u.copy(), many.plan(device="host")
    run.bind("u", bound)
    run()
    assert (bound == want).all()
    with pytest.raises(stc.StcError, match="a view shows fields of up to three dimensions"):
        run.view()
    run = many.plan(device="host", split=(2, 1, 1, 1))
    run["u"] = u
    run()
    assert (run["u"] == want).all()
