"""Complex fields: NumPy's complex arrays in and out, parts as fields, gradients."""
import json

import numpy as np
import pytest

import stc
from stc._expression import bind
from stc._manifest import check_single

SOURCE = """
grid G = [0 .. 5, 0 .. 4], 3;
field z : c64 on G outside 0 history 1;
field y : c128 on G input;
stencil s(z)[G] = z@1 * 0.5i + c64(y) * z[0,1] / (2 - 1i);
"""


def numbers(seed, dtype):
    r = np.random.default_rng(seed)
    return (r.random((6, 5)) + 1j * r.random((6, 5))).astype(dtype)


def test_complex():
    z, y = numbers(1, "c8"), numbers(2, "c16")
    old, now = z.copy(), z.copy()
    for _ in range(3):
        right = np.zeros_like(now)
        right[:, :-1] = now[:, 1:]
        old, now = now, old * np.complex64(0.5j) + y.astype("c8") * right / np.complex64(2 - 1j)
    for device in ("ref", "host", "sim"):
        run = stc.compile(SOURCE).plan(device=device)
        run["z"], run["y"] = z, y
        run(3)
        assert run["z"].dtype == np.complex64 and run["y"].dtype == run.dtype("y") == np.complex128
        assert np.allclose(run["z"], now, atol=1e-6) and (run["y"] == y).all()
        assert (run["z.re"] == run["z"].real).all() and (run["z.im"] == run["z"].imag).all()
        run["z"] = 2 - 1j
        assert (run["z"] == 2 - 1j).all()


def test_gradient():
    run = stc.compile("grid G = [0 .. 3], 2; field z : c128 on G; stencil s(z)[G] = z * z; loss L += abs2(z) over G at end; gradient L to z;").plan(device="ref")
    z = np.array([1 + 2j, 0.5, 1j, -1 - 1j])
    run["z"] = z
    value, g = run.gradient(2)
    assert np.isclose(value, (abs(z) ** 8).sum()) and np.allclose(g["z"], 8 * abs(z) ** 6 * z)


def test_params():
    text = "param k : c64 = 1; let w = k * k; grid G = [0 .. 3], 1; field z : c64 on G; init i(z)[G] = 0; stencil s(z)[G] = z + w;"
    for k in (1.5 - 2j, np.complex64(0.1j), -0.0 - 1e-30j, 3):
        run = stc.compile(text).plan(device="ref", k=k)
        run(1)
        assert (run["z"] == np.complex64(k) * np.complex64(k)).all()
        assert np.complex64(complex(run.params["k_re"], run.params["k_im"])) == np.complex64(k)
    program = stc.compile(text, defines={"k": 2 + 1j})
    assert bind(json.loads(program.emit("manifest")), {"k": 1 - 2j})["w_im"] == -4
    run = program.plan(device="ref")
    run(1)
    assert (run["z"] == 3 + 4j).all()


def test_memory():
    """The parts are bound without a copy, by DLPack too; whole arrays are copied, also those of others, as torch's are."""
    class Tensor:
        def __init__(self, a):
            self.a = a

        def __array__(self, dtype=None, copy=None):
            return self.a

        def __dlpack__(self, **how):
            return self.a.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    program = stc.compile("grid G = [0 .. 5, 0 .. 4], 3; field z : c64 on G; stencil s(z)[G] = z * 2i;")
    run, z = program.plan(device="host"), numbers(3, "c8")
    run["z"] = Tensor(z)
    assert (run["z"] == z).all()
    with pytest.raises(stc.OptionError, match="complex numbers, whose parts have memory of their own .* one by one"):
        run.bind("z", Tensor(z))
    re, im = z.real.copy(), z.imag.copy()
    run.bind("z.re", re)
    run.bind("z.im", Tensor(im))
    run(1)
    assert np.allclose(re, -2 * z.imag) and np.allclose(im, 2 * z.real)
    with pytest.raises(ValueError, match="^op: fields of vectors and structs cannot be tensors"):
        check_single(json.loads(stc.compile("grid G = [0 .. 5], 3; field z : f32[2] on G; stencil s(z)[G] = z + z;").emit("manifest")), "op: ", "tensors")


def test_arrays():
    """A launch-time array of complex numbers is two, of its parts; also of two indices, and what a gradient is to."""
    text = """
param n = 3, m = 2, w[n] : c64, v[m, 3] : c128;
grid G = [0 .. 2], 3;
field z : c128 on G;
init i(z)[G] = 1;
stencil s(z)[G] = z * c128(w[step]) + v[step % 2, idx(0)];
loss L += abs2(z) over G at end;
gradient L to w, v;
"""
    w, v = np.array([1j, 2, 1 - 1j], "c8"), np.arange(6).reshape(2, 3) * (1 + 2j)
    want = np.ones(3, "c16")
    for step in range(3):
        want = want * w[step] + v[step % 2]
    for device in ("ref", "host", "sim"):
        run = stc.compile(text).plan(device=device)
        run["w"], run["v"] = w, v
        run(3)
        assert np.allclose(run["z"], want) and run["w"].dtype == np.complex64 and (run["w"] == w).all() and (run["v_im"] == v.imag).all()
    run = stc.compile(text).plan(device="ref")
    run["w"], run["v"] = w, v
    value, g = run.gradient(3)
    assert np.isclose(value, (abs(want) ** 2).sum())
    last = (w[0] + v[0]) * w[1] + v[1]      # before the last step
    assert np.isclose(g["w_re"][2] + 1j * g["w_im"][2], (2 * want * last.conj()).sum())
