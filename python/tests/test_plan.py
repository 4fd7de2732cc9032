"""Programs and plans as docs/python.md describes them, on ref, sim and host."""
import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import stc

rng = np.random.default_rng(1)


@pytest.mark.parametrize("device", ["ref", "sim", "host:2"])
def test_heat(heat_text, heat_numpy, device):
    a = rng.random((64, 48), np.float32)
    run = stc.compile(heat_text).plan(device=device)
    run["A"] = a
    info = run(7)
    assert info.steps == 7 and info.points == 64 * 48 and info.until is None
    np.testing.assert_allclose(run["A"], heat_numpy(a, 7), rtol=1e-5)
    run(3)
    np.testing.assert_allclose(run["A"], heat_numpy(a, 10), rtol=1e-5)


def test_file_and_params(tmp_path, heat_text):
    path = tmp_path / "heat.stn"
    path.write_text(heat_text)
    program = stc.compile(str(path), real="f64", schedule="overlap", T=4, block=(8, 16), defines={"M": 32})
    assert program.name == "heat" and program.rank == 2 and program.steps == 10 and program.fields == ["A"] and program.arrays == []
    run = program.plan(N=100)
    assert run.shape("A") == (100, 32) and run.dtype("A") == np.float32
    assert run.schedule.startswith("overlap T=4 block=8x16") and "heat" in repr(run)
    assert ".entry" in stc.compile(path, arch="sm_90").emit().decode() and '"stc-manifest"' in program.emit("manifest")
    with pytest.raises(ValueError, match="there are ast"):
        program.emit("exe")


@pytest.mark.parametrize("device", ["ref", "host:2"])
def test_unsigned(device):
    text = "grid G = [0 .. 9], 3; field P : u8 on G; field Q : u16[2] on G; stencil s(P, Q)[G] { P = u8(P + 100); Q = {u16(Q[0][0] - 1), u16(Q[0][1] + P)}; }"
    run = stc.compile(text).plan(device=device)
    p, q = np.arange(10, dtype="u1") * 20, np.stack([np.arange(10), 65500 + np.arange(10)], axis=-1).astype("u2")
    run["P"], run["Q"] = p, q
    run(1)
    assert run.dtype("P") == np.uint8 and run.dtype("Q") == np.uint16
    np.testing.assert_array_equal(run["P"], p + np.uint8(100))
    np.testing.assert_array_equal(run["Q"], q + np.stack([np.full(10, 65535, "u2"), p.astype("u2")], axis=-1))


@pytest.mark.parametrize("device", ["ref", "host:2"])
def test_bits(device):
    text = "param k : u32 = 4294967295; grid G = [0 .. 9], 3; field P : u32 on G; stencil s(P)[G] = (P << 13 ^ P >> 3) - k & ~(1 << 4);"
    run = stc.compile(text).plan(device=device)
    p = np.arange(10, dtype="u4") * np.uint32(429496729)
    run["P"] = p
    run(1)
    assert run.dtype("P") == np.uint32
    np.testing.assert_array_equal(run["P"], ((p << np.uint32(13)) ^ (p >> np.uint32(3))) + np.uint32(1) & ~np.uint32(16))


def test_include(tmp_path):
    (tmp_path / "ops.stn").write_text("op twice(X) = 2 * X;")
    text = 'grid G = [0 .. 9], 3; field P : f32 on G; include "ops.stn"; stencil s(P)[G] = twice(P);'
    with pytest.raises(stc.InputError, match="cannot include"):
        stc.compile(text)
    run = stc.compile(text, base=tmp_path).plan(device="host:1")
    run["P"] = np.ones(10, "f4")
    run(1)
    np.testing.assert_array_equal(run["P"], np.full(10, 2, "f4"))


def test_views_are_live(heat_text, heat_numpy):
    a = rng.random((64, 48), np.float32)
    run = stc.compile(heat_text, schedule="overlap", T=3).plan(device="host:1")
    run["A"] = a
    view = run["A"]
    for steps in 1, 3, 4, 7:
        run(steps)
        assert view.ctypes.data == run["A"].ctypes.data
    np.testing.assert_allclose(view, heat_numpy(a, 15), rtol=1e-5)
    del run
    gc.collect()
    np.testing.assert_allclose(view, heat_numpy(a, 15), rtol=1e-5)
    assert np.from_dlpack(view).ctypes.data == view.ctypes.data


@pytest.mark.parametrize("width", [45, 46, 48])
def test_rows_of_any_width(heat_text, heat_numpy, width):
    """Rows that are no whole vectors are padded in memory until somebody works on it, and dense for everybody."""
    a = rng.random((64, width), np.float32)
    run = stc.compile(heat_text, arch="sm_90", schedule="stream", T=2).plan(device="sim", M=width)
    run["A"] = a
    run(4)
    view = run["A"]
    assert view.shape == (64, width) and view.flags.c_contiguous
    np.testing.assert_allclose(view, heat_numpy(a, 4), rtol=1e-5)
    run(3)
    np.testing.assert_allclose(view, heat_numpy(a, 7), rtol=1e-5)
    own = np.array(view)
    run.bind("A", own)
    run(3)
    np.testing.assert_allclose(own, heat_numpy(a, 10), rtol=1e-5)


def test_bind(heat_text, heat_numpy):
    a = np.ascontiguousarray(rng.random((64, 48), np.float32))
    before = a.copy()
    run = stc.compile(heat_text).plan(device="host:1")
    run.bind("A", a)
    run(5)
    np.testing.assert_allclose(a, heat_numpy(before, 5), rtol=1e-5)
    assert run["A"].ctypes.data == a.ctypes.data
    run.bind("A", None)
    run(5)
    np.testing.assert_allclose(a, heat_numpy(before, 5), rtol=1e-5)
    np.testing.assert_allclose(run["A"], heat_numpy(before, 10), rtol=1e-5)


def test_bind_refuses(heat_text):
    run = stc.compile(heat_text).plan()
    for array, message in [(np.zeros((64, 48), np.float32, "F"), "Fortran order"), (np.zeros((64, 50), np.float32)[:, :48], "padded"),
                           (np.zeros((64, 48)), "of type f32, but the array is of f64"), (np.zeros((48, 64), np.float32), "shape 64x48")]:
        with pytest.raises(stc.OptionError, match=message):
            run.bind("A", array)
    frozen = np.zeros((64, 48), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        run.bind("A", frozen)


def test_assigning(heat_text):
    run = stc.compile(heat_text).plan()
    run["A"] = 3
    assert (run["A"] == 3).all()
    run["A"] = np.asfortranarray(np.arange(64 * 48).reshape(64, 48))
    assert run["A"][1, 2] == 50
    with pytest.raises(ValueError, match="has the shape"):
        run["A"] = np.zeros((3, 3))
    with pytest.raises(TypeError, match="not converted to it silently"):
        run["A"] = np.zeros((64, 48), complex)
    with pytest.raises(KeyError, match="no field, component or launch-time array"):
        run["B"] = 1


def test_errors_have_places():
    with pytest.raises(stc.InputError) as e:
        stc.compile("param N = 8;\ngrid G = [0 .. N-1], 1;\nfield A : f32 on G;\nstencil s(A)[G] = B + 1;\n", name="wrong.stn")
    e = e.value
    assert (e.file, e.line, e.column) == ("wrong.stn", 4, 19) and e.source == "stencil s(A)[G] = B + 1;" and e.status == 3
    assert str(e).split("\n")[2].index("^") == 2 + 18 and str(e).startswith("wrong.stn:4:19: 'B' is not declared")
    with pytest.raises(stc.OptionError):
        stc.compile("grid G = [0 .. 7], 1;\nfield A : f32 on G;\nstencil s(A)[G] = A;", schedule="fastest").plan()
    with pytest.raises(stc.OptionError, match="no device 'tpu'"):
        stc.compile("grid G = [0 .. 7], 1;\nfield A : f32 on G;\nstencil s(A)[G] = A;").plan(device="tpu")
    with pytest.raises(stc.InputError, match="has no value to start from"):
        stc.compile("grid G = [0 .. 7], 1;\nfield A : f32 on G;\nstencil s(A)[G] = A;").plan()(1)


def test_reductions_and_until():
    run = stc.compile("""
        param N = 32;  grid G = [0 .. N-1], 1000;  field A : f64 on G outside 0;
        init i(A)[G] = 1.0;
        reduce total = sum(A) over G every 2;
        stencil s(A)[G] = 0.5 * A;
        until max(A) over G < 0.1 every 2;
    """).plan(device="host:1")
    info = run()
    assert info.steps == 4 and info.until == "until"
    total = run.reductions["total"]
    assert list(total["step"]) == [0, 2, 4] and list(total["value"]) == [32, 8, 2]


def test_vectors_arrays_and_levels():
    run = stc.compile("""
        param N = 16, n = 3;  grid G = [0 .. N-1], 4;  param src[n] : f32;
        field V : f32[2] on G;  field U : f64 on G history 1;
        stencil v(V)[G] = V + src[0];
        stencil u(U)[G] = 2 * U - U@1 + f64(src[step]);
    """).plan(device="host:1")
    run["src"] = [1, 2, 3]
    run["V"] = np.arange(32).reshape(16, 2)
    run["U"] = 0
    run["U@1"] = 0
    run(2)
    assert run["V"].shape == (16, 2) and run["V"][3, 1] == 9 and (run["V.0"] == np.arange(0, 32, 2) + 2).all()
    assert (run["U"] == 4).all() and (run["U@1"] == 1).all()
    assert run["src"].tolist() == [1, 2, 3]
    with pytest.raises(ValueError):
        run["src"] = [1, 2]


def test_whole_vectors_without_copies():
    program = stc.compile("""
        param N = 16, M = 12;  grid G = [0 .. N-1, 0 .. M-1], 4;
        field V : f32[3] on G;
        stencil v(V)[1 .. N-2, 1 .. M-2] = V[-1,0] + 2 * V[0,1];
    """)
    values = rng.random((16, 12, 3), np.float32)
    want = values.copy()
    for _ in range(5):
        want[1:-1, 1:-1] = want[:-2, 1:-1] + 2 * want[1:-1, 2:]
    for device in "host:2", "sim", "ref":
        run = program.plan(device=device)
        run["V"] = values
        view = run["V"]
        run(2)
        run(3)
        np.testing.assert_allclose(view if device != "ref" else run["V"], want, rtol=1e-5)
        if device != "ref":
            assert np.shares_memory(view, run["V"]) and np.shares_memory(view, run["V.1"])
            np.testing.assert_array_equal(np.from_dlpack(run["V"]), view)
    mine = np.moveaxis(np.ascontiguousarray(np.moveaxis(values, -1, 0)), 0, -1)
    run = program.plan(device="host:2")
    run.bind("V", mine)
    run(5)
    np.testing.assert_allclose(mine, want, rtol=1e-5)
    with pytest.raises(stc.OptionError, match="side by side"):
        run.bind("V", values)
    run.bind("V", None)
    run(1)
    np.testing.assert_allclose(mine, want, rtol=1e-5)


def test_background_and_threads(heat_text, heat_numpy):
    a = rng.random((64, 48), np.float32)
    want = heat_numpy(a, 20)
    results = [None] * 4

    def work(i):
        run = stc.compile(heat_text).plan(device="host:2")
        run["A"] = a
        assert run(20, wait=False) is None
        assert run.wait().steps == 20 and not run.busy
        results[i] = run["A"].copy()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for r in results:
        np.testing.assert_allclose(r, want, rtol=1e-5)


def test_threads_take_turns_at_one_plan(heat_text):
    """Short runs, which no other thread sees begin, between looks, assignments and other short runs."""
    run, failed = stc.compile(heat_text).plan(device="host:1"), []
    run["A"] = 1

    def work(i):
        try:
            for _ in range(40):
                run(2)
                run["A"].sum()
                assert run.step % 2 == 0
                run["A"] = i
        except BaseException as e:
            failed.append(repr(e))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed and run.step == 6 * 40 * 2, failed


@pytest.mark.filterwarnings("ignore::DeprecationWarning")     # of forks beside threads
def test_a_fork_while_another_thread_is_in_a_plan(heat_text):
    run = stc.compile(heat_text).plan(device="host:1")
    run["A"] = 1
    run(1)
    other = threading.Thread(target=run, args=(200000,))
    other.start()
    while run._turn.acquire(blocking=False):
        run._turn.release()
        time.sleep(0.001)
    child = os.fork()
    if not child:
        os._exit(not run._turn.acquire(blocking=False))
    assert os.waitpid(child, 0)[1] == 0
    other.join()


def test_nothing_leaks(heat_text):
    program = stc.compile(heat_text)

    def resident():
        return int(open("/proc/self/statm").read().split()[1])

    def use(n):
        for _ in range(n):
            run = program.plan(device="host:1")
            run["A"] = 1
            run(1)
            run["A"].sum()
        gc.collect()
    use(30)
    before = resident()
    use(300)
    assert resident() - before < 2000, "pages"


def test_command_and_explain(heat_text, tmp_path):
    done = subprocess.run([sys.executable, "-m", "stc", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("stc " + stc.__version__)
    assert subprocess.run([sys.executable, "-m", "stc", "run", str(tmp_path / "no.stn")], capture_output=True).returncode == 5
    assert "host" in stc.devices()
    e = stc.compile(heat_text).plan().explain()
    assert "<svg" in e.svg and e.svg in e._repr_html_() and str(e)


def test_magic():
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "stc")
    shell.run_cell_magic("stencil", "p real=f64", "grid G = [0 .. 7], 1;\nfield A : real on G;\nstencil s(A)[G] = A;\n")
    assert shell.user_ns["p"].plan().dtype("A") == np.float64


def test_progress(heat_text, capsys):
    run = stc.compile(heat_text).plan(device="host:1")
    run["A"] = 1
    assert run(50, progress=True).steps == 50


def test_outside():
    program = stc.compile("""param w = 2; grid G = [0 .. 7, 0 .. 8], 1;
        field A : f64 on G outside [mirror half odd about 0.5 .. clamp, periodic] history 1;
        field B : f64 on G; field C : f32[2] on G outside -1.5; field D : f32 on G outside mirror odd about real(w);
        stencil s(A, B, C, D)[G] { A = A; B = B; C = C; D = D; }""")
    assert [program.outside(n) for n in program.fields] == [
        "[mirror half odd about 0.5 .. clamp, periodic]", "[mirror half odd about 0.5 .. clamp, periodic]", None, "-1.5", program.outside("D")]
    assert program.outside("D").startswith("mirror odd about ")
    with pytest.raises(KeyError, match="no field 'E'; there are A, A@1, B, C, D"):
        program.outside("E")


def test_spacing(heat_text):
    text = "param h : f64 = 0.5;\ngrid G = [0 .. 7, 0 .. 8], 1 spacing [h, 2 * h] step h / 4;\nfield A : f64 on G outside 0;\nstencil s(A)[G] = diff(A, 1);\n"
    run = stc.compile(text).plan(h=0.25)
    assert run.spacing == (0.25, 0.5) and run.time_step == 0.0625
    a = np.arange(72.0).reshape(8, 9)
    run["A"] = a
    run(1)
    np.testing.assert_array_equal(run["A"][:, 1:-1], np.gradient(a, 0.5, axis=1)[:, 1:-1])
    bare = stc.compile(heat_text).plan()
    assert bare.spacing is None and bare.time_step is None
    with pytest.raises(AttributeError, match="not to be changed"):
        run.spacing = (1, 1)


@pytest.mark.parametrize("parts", [{}, {"split": 2}])
def test_coordinates_that_are_refused(parts):
    """A plan keeps the coordinates that it has where others do not rise."""
    text = "param N = 9, z[N] : f64; grid G = [0 .. N-1], 2 spacing [at z]; field A : f64 on G outside mirror; stencil s(A)[G] = A + 0.01 * diff(A, 0) * f64(coord(0));"
    z, found = np.arange(9.0) ** 1.5, []
    for wrong in False, True:
        run = stc.compile(text, contract=False).plan("ref", **parts)
        run["A"], run["z"] = np.sin(z), z
        if wrong:
            with pytest.raises(stc.InputError, match="rise"):
                run["z"] = z[::-1].copy()
        run(2)
        found.append(run["A"].copy())
    np.testing.assert_array_equal(*found)


def test_a_mask_that_has_been_run_with():
    """What is beyond the edges of a field with a dry rule goes by its mask as it was before the first step; it begins anew with another one."""
    plan = stc.compile("grid G = [0 .. 5, 0 .. 8], 100; mask wet on G = true; field A : f64 on G where wet dry self outside clamp;\n"
                       "init i(A)[G] = f64(idx(0) * 3 + idx(1)); stencil s(A)[G where wet] = A + 0.1 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1] - 4 * A);").plan(device="ref")
    wet = np.ones((6, 9), bool)
    wet[0, 7] = wet[3, 2] = False
    plan["wet"] = wet
    plan(3)
    first = plan["A"].copy()
    with pytest.raises(stc.OptionError, match="goes by it as it was"):
        plan["wet"] = ~wet
    plan.restart()
    plan["wet"] = np.ones((6, 9), bool)
    plan(3)
    assert (plan["A"] != first).any()
    plan.restart()
    plan["wet"] = wet
    plan(3)
    assert (plan["A"] == first).all()


def test_masks_that_change_between_runs():
    """Kernels for tiles of which there are none are not launched; they are again once another mask has some: one that is set, bound, written to or made anew."""
    text = ("param N = 61, M = 75; grid G = [0 .. N-1, 0 .. M-1], 100; mask wet on G = false; field A : f32 on G; field B : f32 on G where wet dry self outside clamp;\n"
            "init i(A, B)[G] { A = real((idx(0) * 7 + idx(1) * 3) % 13); B = real((idx(0) * 5 + idx(1) * 3) % 7); } op mean(X) = 0.25 * (X[-1,0] + X[1,0] + X[0,-1] + X[0,1]);\n"
            "stencil s(A)[1 .. N-2, 1 .. M-2 where wet] = mean(A); stencil t(B)[G where wet] = mean(B);")
    one, other = (stc.compile(text, contract=False, schedule="naive").plan(device=device) for device in ("host", "ref"))
    wet = np.random.default_rng(2).random((4, 61, 75)) < [[[0.5]], [[1]], [[0]], [[0.9]]]
    wet[1, 60, 74] = wet[2, 0, 0] = False

    def run(wait=True):
        for plan in one, other:
            plan(3, wait=wait)
            plan.wait()
        for name in "A", "B":
            np.testing.assert_array_equal(one[name], other[name])

    def anew(mask, how="set"):
        for plan in one, other:
            plan.restart()
            if how == "bind":
                plan.bind("wet", mask)
            else:
                plan["wet"] = mask

    run()
    for mask in wet:
        anew(mask)
        run()
        run(wait=False)
    anew(np.ones((61, 75), bool))
    run(wait=False)
    bound = np.ones((61, 75), bool)
    anew(bound, "bind")
    for mask in wet:
        run()
        bound[...] = mask
    run()


@pytest.mark.parametrize("device", ["host", "ref", "sim"])
def test_a_bound_mask_that_changes_in_place(device):
    """Between runs the caller may write other values into a mask's memory that a plan works on: what is beyond the edges goes by these, too."""
    text = ("grid G = [0 .. 5, 0 .. 8], 100; mask wet on G = true; field A : f64 on G where wet dry self outside clamp;\n"
            "init i(A)[G] = f64(idx(0) * 3 + idx(1)); stencil s(A)[G where wet] = A + 0.1 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1] - 4 * A);")
    second = np.ones((6, 9), bool)
    second[0, 7] = second[0, 6] = second[5, 0] = False
    one, other = (stc.compile(text).plan(device=device) for _ in range(2))
    wet = np.ones((6, 9), bool)
    one.bind("wet", wet)
    one(3)
    wet[...] = second
    one(3)
    other["wet"] = np.ones((6, 9), bool)
    other(3)
    state = other["A"].copy()
    other.restart()
    other["wet"], other["A"] = second, state
    other(3)
    np.testing.assert_array_equal(one["A"], other["A"])


def test_masks_that_are_told_of_choose_tiles_alone():
    program = stc.compile("param N = 96; grid G = [0 .. N-1, 0 .. N-1], 9; mask wet on G = true; field u : f32 on G where wet dry self outside clamp;"
                          "init a(u)[G] = real(idx(0) * 7 % 5); stencil s(u)[G where wet] = u + 0.125 * (u[0,1] - 2 * u + u[-1,0]);")
    wet, seen = np.zeros((96, 96), bool), []
    wet[40:48] = True
    for told in (None, wet, ~wet):
        if told is not None:
            program.foresee("wet", told)
        run = program.plan("sim")
        run["wet"] = wet
        run(9)
        seen.append(run["u"].copy())
    assert (seen[0] == seen[1]).all() and (seen[0] == seen[2]).all()
    with pytest.raises(stc.OptionError, match="there is no field 'dry'"):
        program.foresee("dry", wet)
    with pytest.raises(TypeError, match="these are of type complex128"):
        program.foresee("wet", wet * 1j)
