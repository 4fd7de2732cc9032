"""What a plan tells of itself and lets be set: names, params, probes, checkpoints, its end."""
import ctypes
import gc
import os

import numpy as np
import pytest

import stc

TEXT = """
param N = 12, n = 3;  param c : f64 = 0.5;  param on : bool = true;  param src[n] : f64, x[n] : i64;
grid G = [0 .. N-1, 0 .. N-1], 8;
field U : f64 on G outside 0 history 1;
field work : f64 on G temp;
field S : f32[2] on G;
init u(U)[G] = f64(idx(0)) + c;
stencil w(work)[G] = U[-1,0] + U[0,1];
stencil s(U)[G] = 0.2 * work + 0.1 * U@1 + (if on && step < 3 then src[step] else 0);
stencil t(S)[G] = {S[0,0][1], S[0,0][0]};
probe rec = U at [2, x] every 2;
probe corner = U at [N - 1, 0] every 1;
reduce total = sum(U) over G every 4;
"""


def plan(device="host:1", **params):
    run = stc.compile(TEXT, contract=False).plan(device, **params)
    run["src"], run["x"], run["S"] = [1, 2, 3], [1, 5, 9], np.arange(2 * 12 * 12).reshape(12, 12, 2)
    return run


@pytest.mark.parametrize("device", ["ref", "sim", "host:2"])
def test_probes(device):
    run = plan(device)
    assert list(run.probes) == ["rec", "corner"] and run.probes["rec"].value.shape == (0, 3)
    want = []
    for _ in range(5):
        want.append(np.array(run["U"])) if run(0).steps == 0 else None
        run(1)
    rec, corner = run.probes["rec"], run.probes["corner"]
    assert rec.step.tolist() == [0, 2, 4] and rec.at.tolist() == [[2, 1], [2, 5], [2, 9]] and rec.value.dtype == np.float64
    np.testing.assert_array_equal(rec.value, [want[s][2, [1, 5, 9]] for s in (0, 2, 4)])
    assert corner.at.tolist() == [11, 0] and corner.value[:5].tolist() == [w[11, 0] for w in want]
    with pytest.raises(KeyError, match=r"plan.probes\['rec'\]"):
        run["rec"]
    run.restart()
    assert len(run.probes["rec"].step) == 0


def test_names_and_values():
    run = plan(N=12, c=0.25)
    assert run.fields == ["U", "U@1", "S"] and run.arrays == ["src", "x"] and run.params == dict(N=12, n=3, c=0.25, on=True)
    assert "U" in run and "U@1" in run and "S.1" in run and "src" in run and "rec" not in run and 3 not in run and "work" in run
    assert "N=12" in repr(run) and "c=0.25" in repr(run)
    assert run["src"].tolist() == [1, 2, 3] and run["x"].dtype == np.int64
    run["src"][0] = 9
    assert run["src"][0] == 1
    mine = np.array([4.0, 5, 6])
    run["src"] = mine
    mine[:] = 0
    assert run["src"].tolist() == [4, 5, 6]
    with pytest.raises(KeyError, match="has not been set"):
        stc.compile(TEXT).plan()["src"]
    for name in "U", "A", "device", "fields", "steps":
        with pytest.raises(AttributeError, match=rf"plan\['{name}'\] = values"):
            setattr(run, name, 1)


def test_close():
    with plan() as run:
        run(2)
        view, want = run["U"], run["U"].copy()
    assert (view == want).all() and "closed" in repr(run)
    for use in (lambda: run(1), lambda: run["U"], lambda: run.restart(), lambda: run.wait(), lambda: run.params, lambda: run.schedule, lambda: run.probes):
        with pytest.raises(stc.OptionError, match="is closed"):
            use()
    run.close()
    assert not run.busy
    for name in dir(run):           # none ends the process
        try:
            repr(getattr(run, name))
        except stc.OptionError as e:
            assert "is closed" in str(e), name

    def resident():
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)     # what malloc keeps for later is no plan's
        return int(open("/proc/self/statm").read().split()[1])
    program, kept = stc.compile(TEXT), []
    program.plan("host:1", N=700).close()   # what compiling takes once
    before = resident()
    for _ in range(20):
        kept.append(program.plan("host:1", N=700))
        kept[-1].close()
    assert resident() - before < 8000, "pages: closed plans keep their memory"


@pytest.mark.parametrize("device", ["ref", "host:2"])
def test_checkpoints(tmp_path, device):
    run = plan(device)
    run(5)
    run.save(tmp_path / "c.npz")
    run(5)
    again = plan("sim", N=12)
    again(1)
    again.load(tmp_path / "c.npz")
    assert again.step == 5 and (again["U"] == np.load(tmp_path / "c.npz")["field U"]).all()
    again(5)
    assert again.step == run.step == 10
    for name in "U", "U@1", "S":
        np.testing.assert_array_equal(again[name], run[name])
    assert again.reductions["total"]["step"].tolist() == [8] and again.reductions["total"][-1] == run.reductions["total"][-1]
    assert again.probes["rec"].step.tolist() == [6, 8, 10] and os.listdir(tmp_path) == ["c.npz"]
    np.savez(tmp_path / "other.npz", step=np.int64(3), A=np.zeros(3))
    with pytest.raises(stc.InputError, match="no checkpoint of"):
        again.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        again.load(tmp_path / "none.npz")
    with pytest.raises(stc.OptionError, match="before the first run"):
        again.first_step(3)
    late = plan(device)
    late.first_step(6)
    late["U"], late["U@1"] = 0, 0
    late(2)
    assert late.step == 8 and (late["U"] == 0).all()


def test_missing_files(tmp_path):
    for source in "missing.txt", "missing.stn", "missing", tmp_path / "missing.stn", str(tmp_path / "x y"):
        with pytest.raises(FileNotFoundError, match="missing|x y"):
            stc.compile(source)
    with pytest.raises(stc.InputError):
        stc.compile("")


def test_explain_has_the_programs_options():
    text = "param N = 4096; grid G = [0 .. N-1, 0 .. N-1], 8; field A : real on G; init i(A)[G] = 1; stencil s(A)[1 .. N-2, 1 .. N-2] = A[-1,0] + A[0,1];"
    program = stc.compile(text, schedule="overlap", T=2, block=(8, 32), elems=(4, 1), real="f64", arch="sm_80", defines={"N": 1000}, contract=False, opt_level=2)
    told = str(program.explain())
    assert "overlap T=2 block=8x32 elems=4x1" in told and "f64" in told and "1000" in told and "sm_80" in told, told
    here = stc.compile(text).explain(device="host:1")
    assert "GPts/s" in here.text and not here.svg, here
    assert str(stc.compile(text).explain(device="sim")) == str(stc.compile(text).explain())
    assert "2000" in str(program.explain(N=2000)) and "T=2" in str(stc.compile(text, schedule="overlap", T=2).plan(N=500).explain()), told


def test_names_that_there_are_not():
    run = plan()
    with pytest.raises(KeyError, match="there is no probe 'x'; there are rec, corner"):
        run.probes["x"]
    with pytest.raises(KeyError, match="there is no reduction with values 'total'; there are none"):
        run.reductions["total"]
    run(1)
    assert list(run.reductions) == ["total"] and run.reductions.get("x") is None and dict(run.probes)["rec"].step.tolist() == [0]
    with pytest.raises(AttributeError, match=r"a plan has no attribute 'U'; fields .*plan\['U'\]"):
        run.U
    with pytest.raises(AttributeError, match="a plan has no attribute 'run_all'$"):
        run.run_all
    with pytest.raises(AttributeError, match="a program has no attribute 'gradient'; what runs it has: run = program.plan"):
        run.program.gradient()
    with pytest.raises(AttributeError, match="a program has no attribute 'run_all'$"):
        run.program.run_all
    with pytest.raises(TypeError, match="a program is not run by itself: run = program.plan"):
        run.program(10)
    with pytest.raises(TypeError, match=r"a program has no values: run = program.plan\(\); run\['U'\]"):
        run.program["U"] = 1
    run.close()
    assert not hasattr(run, "_repr_html_x") and not hasattr(run, "U")
