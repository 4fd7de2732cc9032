"""Programs as functions that jax.jit takes."""
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import stc
import stc.jax

LEVELS = """
param N = 20, n = 8;
param kick[n] : f32;
grid  G = [0 .. N-1, 0 .. N-1], 6;
field U : f32 on G outside 0 history 1;
field c : f32 on G input;
field work : f32 on G temp;
stencil a(work)[G] = c * (U[-1,0] + U[1,0] + U[0,-1] + U[0,1] - 4 * U);
stencil b(U)[G] = 2 * U - U@1 + work + (if idx(0) == 3 && idx(1) == 4 then kick[step] else 0);
"""


def levels_numpy(u, past, c, kick, steps):
    for t in range(steps):
        p = np.pad(u, 1)
        new = 2 * u - past + c * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)
        new[3, 4] += kick[t]
        u, past = new, u
    return u, past


def test_jit(heat_text, heat_numpy):
    f = stc.jax.function(heat_text, steps=5)
    a = jax.random.uniform(jax.random.key(1), (40, 30))
    before = np.array(a)
    got = jax.jit(lambda x: f(2 * x) + 1)(a)
    np.testing.assert_allclose(got, heat_numpy(np.asarray(2 * a), 5) + 1, rtol=1e-5)
    np.testing.assert_allclose(f(a), heat_numpy(before, 5), rtol=1e-5)
    np.testing.assert_array_equal(a, before)
    with pytest.raises(TypeError, match="takes A"):
        f(a, a)
    with pytest.raises(TypeError, match="A is of type f32, but the array is of int32"):
        f(a.astype(int))
    with pytest.raises(ValueError, match="no field 'B'"):
        stc.jax.function(heat_text, outputs=["B"])


def test_loops_and_shapes(heat_text, heat_numpy):
    f = stc.jax.function(heat_text, steps=2)
    a = jax.random.uniform(jax.random.key(2), (24, 33))
    got = jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda _, y: f(y), x))(a)
    np.testing.assert_allclose(got, heat_numpy(np.asarray(a), 10), rtol=1e-5)
    many = jax.random.uniform(jax.random.key(3), (3, 16, 16))
    got = jax.jit(jax.vmap(f))(many)
    for x, y in zip(many, got):
        np.testing.assert_allclose(y, heat_numpy(np.asarray(x), 2), rtol=1e-5)


def test_buffers_are_aliased(heat_text):
    """A donated argument is where the result is."""
    f = jax.jit(stc.jax.function(heat_text, steps=1), donate_argnums=0)
    a = f(jax.random.uniform(jax.random.key(1), (64, 48)))
    at = a.unsafe_buffer_pointer()
    b = f(a)
    assert b.unsafe_buffer_pointer() == at and a.is_deleted()


def test_levels_arrays_inputs_and_outputs():
    r = np.random.default_rng(4)
    u, past, c = (r.random((16, 16), np.float32) for _ in range(3))
    kick = r.random(8, np.float32)
    want = levels_numpy(u, past, 0.1 * c, kick, 6)
    f = stc.jax.function(LEVELS)
    values = {"U": u, "U@1": past, "c": 0.1 * c}
    assert set(f_fields := stc.compile(LEVELS).fields) >= set(values)
    order = [values[n] for n in f_fields if n in values] + [kick]
    got = dict(zip([n for n in f_fields if n in ("U", "U@1")], jax.jit(f)(*order)))
    np.testing.assert_allclose(got["U"], want[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got["U@1"], want[1], rtol=1e-4, atol=1e-6)
    only = stc.jax.function(LEVELS, outputs=["U"])(*order)
    np.testing.assert_allclose(only, want[0], rtol=1e-4, atol=1e-6)


def test_gradients():
    """By all floats that are taken; nothing by integers. check_grads compares with differences."""
    from jax.test_util import check_grads
    with jax.enable_x64(True):
        program = stc.compile(LEVELS.replace("f32", "f64").replace("input;", "input;\nfield m : i32 on G input;").replace("* (U[-1,0]", "* U * (U[-1,0] + f64(m)"))
        f, r = stc.jax.function(program, memory="4kB"), np.random.default_rng(4)
        values = {"U": r.random((10, 10)), "U@1": r.random((10, 10)), "c": 0.1 * r.random((10, 10)), "kick": r.random(8)}
        fixed = {"m": np.ones((10, 10), np.int32)}

        def loss(*moved):
            at = {**dict(zip(values, moved)), **fixed}
            u, past = f(*[at[n] for n in program.fields if n in at], at["kick"])
            return (u ** 2).sum() + (u * past).sum()

        check_grads(loss, tuple(values.values()), 1, modes=["rev"], eps=1e-6)
        one = jax.grad(loss, argnums=(0, 2))
        whole = one(*values.values())
        for a, b in zip(jax.jit(one)(*values.values()), whole):
            np.testing.assert_array_equal(a, b)
        many = jax.vmap(one, in_axes=(0, None, None, None))(np.stack([2 * values["U"], values["U"]]), *list(values.values())[1:])
        np.testing.assert_array_equal(many[1][1], whole[1])


def test_errors_and_the_end():
    """What fails within a call is JAX's error; a call may be under way when Python ends."""
    text = "param N = 8; grid G = [0 .. N-1], 5; field A : f32 on G; stencil s(A)[G] = A / 0 * 0; until max(A) over G < 0.0 every 1;"
    f = stc.jax.function(text)
    with pytest.raises(Exception, match="NaN"):
        jax.block_until_ready(f(jax.numpy.ones(8)))
    code = f"import jax, stc.jax; f = stc.jax.function({text.replace('until max(A) over G < 0.0 every 1;', '')!r}, steps=300000); f(jax.numpy.ones(8))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_arrays_are_copied(heat_text):
    run = stc.compile(heat_text).plan()
    a = jax.numpy.ones((64, 48))
    run["A"] = a
    run(3)
    assert (a == 1).all()


def test_vmap():
    """A batch is one call of a program with members, where these are independent runs: also of gradients, of nested batches, with arguments that are not batched."""
    calls = []
    with jax.enable_x64(True):
        f, r = stc.jax.function(LEVELS.replace("f32", "f64"), outputs=["U"]), np.random.default_rng(7)
        u, past, c, kick = r.random((2, 3, 9, 9)), r.random((9, 9)), r.random((3, 9, 9)), r.random(8)
        families = f.families
        families.of = lambda n, of=families.of: calls.append(n) or of(n)
        got = jax.jit(jax.vmap(jax.vmap(f, in_axes=(0, None, 0, None)), in_axes=(0, None, None, None)))(u, past, c, kick)
        want = np.array([[f(u[i, j], past, c[j], kick) for j in range(3)] for i in range(2)])
        np.testing.assert_array_equal(got, want)
        assert 6 in calls and families.against is None

        def loss(u, past, c):
            return (f(u, past, c, kick) ** 2).sum()
        many = jax.vmap(jax.grad(loss, argnums=(0, 1)), in_axes=(0, None, 0))(u[0], past, c)
        for j in range(3):
            for a, b in zip(many, jax.grad(loss, argnums=(0, 1))(u[0, j], past, c[j])):
                np.testing.assert_allclose(a[j], b, rtol=1e-12)
        calls.clear()
        kicks = r.random((3, 8))
        got = jax.vmap(f, in_axes=(None, None, 0, 0))(u[0, 0], past, c, kicks)      # a launch-time array for each: one call after the other
        np.testing.assert_array_equal(got, [f(u[0, 0], past, c[j], kicks[j]) for j in range(3)])
        assert not calls
    until = "param N = 8; grid G = [0 .. N-1], 9; field A : f32 on G; stencil s(A)[G] = 0.5 * A; until max(A) over G < 0.1 every 1;"
    f = stc.jax.function(until)
    a = np.array([[1.0] * 8, [100.0] * 8], "f4")
    np.testing.assert_array_equal(jax.vmap(f)(a), [f(x) for x in a])
    assert "until" in f.families.against


COMPLEX = """
param N = 8;
grid G = [0 .. N-1, 0 .. 4], 3;
field z : c64 on G outside 0 history 1;
field V : f32 on G input;
stencil s(z)[G] = 0.5i * z@1 + V * z[0,1] * conj(z) / (2 - 1i);
"""


def complex_numpy(z, old, V, steps=3):
    np = jax.numpy
    for _ in range(steps):
        z, old = 0.5j * old + V * np.pad(z[:, 1:], ((0, 0), (0, 1))) * np.conj(z) / (2 - 1j), z
    return z, old


def test_complex():
    """Complex arrays in and out, under vmap, and JAX's own derivative of the same in jax.numpy."""
    f, r = stc.jax.function(COMPLEX), np.random.default_rng(3)
    z, old = (r.random((2, 3, 6, 5)) + 1j * r.random((2, 3, 6, 5))).astype("c8")
    V = r.random((6, 5), np.float32)
    one, past = jax.jit(f)(z[0], old[0], V)
    assert one.dtype == past.dtype == np.complex64
    np.testing.assert_allclose(one, complex_numpy(z[0], old[0], V)[0], rtol=1e-4)
    np.testing.assert_allclose(past, complex_numpy(z[0], old[0], V)[1], rtol=1e-4)
    np.testing.assert_array_equal(jax.vmap(f, in_axes=(0, 0, None))(z, old, V)[0], [f(a, b, V)[0] for a, b in zip(z, old)])

    def loss(f):
        return lambda z, V: jax.numpy.sum(abs(f(z, old[0], V)[0]) ** 2)
    got, want = (jax.grad(loss(g), argnums=(0, 1))(z[0], V) for g in (f, complex_numpy))
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    with pytest.raises(TypeError, match="z is of type c64, but the array is of float32"):
        f(V, V, V)


def test_scalars_of_members():
    """Gradients through scalars by member; check_grads compares with differences."""
    from jax.test_util import check_grads
    text = """
    param k[3] : f64;
    grid G = [0 .. 2, 0 .. 3], 4;
    members 3;
    field u : f64 on G outside clamp;
    scalar dt : f64 = 0.1, e : f64 = 0;
    update e = max(abs(u)) over G;
    update dt = 0.5 * dt / (1 + k[member] * e);
    stencil s(u)[G] = u + dt * (u[1,0] + u[-1,0] + u[0,1] + u[0,-1] - 4 * u) - 0.1 * e * u * u;
    """
    with jax.enable_x64(True):
        f = stc.jax.function(text, steps=4)
        u = np.random.default_rng(1).random((3, 3, 4))
        check_grads(f, (u, np.array([0.5, 1, 2])), 1, modes=["rev"], eps=1e-6)
