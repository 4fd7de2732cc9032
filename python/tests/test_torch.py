"""Plans with torch's tensors, and operators that torch.compile takes. On the CPU; with a GPU, there too."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import stc
import stc.torch

TEXT = """
param N = 32, n = 4;  grid G = [0 .. N-1, 0 .. N-1], 4;  param src[n] : f32;
field A : f32 on G outside 0;  field C : f32 on G input;
stencil s(A)[G] = C * (A[-1,0] + A[0,1]) + src[step];
"""


def reference(a, c, src, steps):
    run = stc.compile(TEXT).plan(device="ref", N=a.shape[0])
    run["A"], run["C"], run["src"] = a, c, src
    run(steps)
    return np.array(run["A"])


@pytest.fixture(scope="module")
def op():
    return stc.torch.operator("stctest::shift", TEXT)


def values(n=48):
    g = torch.Generator().manual_seed(1)
    return torch.rand(n, n, generator=g), torch.rand(n, n, generator=g), torch.rand(4, generator=g)


def test_tensors_in_and_out(heat_text, heat_numpy):
    run = stc.compile(heat_text).plan()
    a = torch.rand(64, 48)
    before = a.numpy().copy()
    run["A"] = a
    run(3)
    out = torch.from_dlpack(run["A"])
    assert out.data_ptr() == run["A"].ctypes.data
    np.testing.assert_allclose(out.numpy(), heat_numpy(before, 3), rtol=1e-5)
    assert (a.numpy() == before).all()
    run.bind("A", a)
    run(2)
    np.testing.assert_allclose(a.numpy(), heat_numpy(before, 2), rtol=1e-5)


def test_operator(op):
    a, c, src = values()
    before = a.clone()
    for steps in 4, 2, 4:
        np.testing.assert_allclose(op(a, c, src, steps).numpy(), reference(a.numpy(), c.numpy(), src.numpy(), steps), rtol=1e-5)
    assert torch.equal(a, before)
    with pytest.raises(TypeError, match="A is of torch.float32"):
        op(a.double(), c, src, 1)


def test_opcheck(op):
    torch.library.opcheck(op, (*values(), 3), test_utils=("test_schema", "test_faketensor"))


def test_compile(op):
    a, c, src = values()

    def f(x):
        return op(x * 2, c, src, 3) + 1

    np.testing.assert_allclose(torch.compile(f, backend="aot_eager", fullgraph=True)(a).numpy(), f(a).numpy())


def test_gradients():
    """backward="auto": torch's own comparison with differences, and compiled graphs. Integers have no gradient."""
    text = TEXT.replace("f32", "f64").replace("input;", "input;  field m : i32 on G input;").replace("+ src[step]", "* A + src[step] * f64(m)")
    op = stc.torch.operator("stctest::derived", text, backward="auto", memory="1.2kB")
    a, c, src = (v.double().requires_grad_() for v in values(8))
    m = torch.ones(8, 8, dtype=torch.int32)
    assert torch.autograd.gradcheck(lambda a, c, src: op(a, c, m, src, 3), (a, c, src))
    f = lambda a: (op(2 * a, c, m, src, 3) ** 2).sum()      # noqa: E731
    want, = torch.autograd.grad(f(a), a)
    got, = torch.autograd.grad(torch.compile(f, backend="aot_eager", fullgraph=True)(a), a)
    assert torch.equal(got, want)
    torch.library.opcheck(op, (a, c, m, src, 3))
    with pytest.raises(ValueError, match="auto.* is wanted"):
        stc.torch.operator("stctest::wrong", TEXT, backward="automatic")


def test_members(op):
    """Tensors with an axis more, in front, are as many runs, by torch.vmap, too; their gradients, by tensors that all share as well."""
    a, c, src = values()
    many = torch.stack([a, 2 * a, 3 * a])
    want = torch.stack([op(x, c, src, 3) for x in many])
    assert torch.equal(op(many, c, src, 3), want)
    assert torch.equal(torch.vmap(lambda x: op(x, c, src, 3), in_dims=2)(many.movedim(0, 2)), want)
    kicks = torch.stack([src, 2 * src, src])
    assert torch.equal(torch.vmap(lambda x, s: op(x, c, s, 3))(many, kicks), torch.stack([op(x, c, s, 3) for x, s in zip(many, kicks)]))
    torch.library.opcheck(op, (many, c, src, 3), test_utils=("test_schema", "test_faketensor"))
    with pytest.raises(ValueError, match="axes of 2, 3 members in front"):
        op(many, torch.stack([c, c]), src, 1)
    text = TEXT.replace("f32", "f64").replace("C * (", "A * C * (")
    derived = stc.torch.operator("stctest::members", text, backward="auto")
    arguments = [x.double().requires_grad_() for x in (many[:, :8, :8], c[:8, :8], src)]
    got = torch.autograd.grad((derived(*arguments, 3) ** 2).sum(), arguments)
    one = torch.autograd.grad(sum((derived(x, *arguments[1:], 3) ** 2).sum() for x in arguments[0]), arguments)
    for x, y in zip(got, one):
        torch.testing.assert_close(x, y)
    until = stc.torch.operator("stctest::until", TEXT + "until max(A) over G < 0.5 every 1;")
    few = torch.stack([a, 0.01 * a])
    assert torch.equal(until(few, c, 0 * src, 3), torch.stack([until(x, c, 0 * src, 3) for x in few]))


def test_complex():
    """Tensors of complex numbers in and out, with members, and torch's own derivative of the same."""
    op = stc.torch.operator("stctest::complex", """
param N = 8;  grid G = [0 .. N-1, 0 .. 4], 3;
field z : c128 on G outside 0;  field V : f64 on G input;
stencil s(z)[G] = V * z[0,1] * conj(z) / (2 - 1i) + 0.5i * z;
""", backward="auto")

    def plain(z, V):
        for _ in range(3):
            z = V * torch.nn.functional.pad(z[:, 1:], (0, 1)) * z.conj() / (2 - 1j) + 0.5j * z
        return z
    g = torch.Generator().manual_seed(2)
    z, V = torch.rand(2, 6, 5, dtype=torch.complex128, generator=g), torch.rand(6, 5, dtype=torch.float64, generator=g)
    got = op(z, V, 3)
    assert got.dtype == torch.complex128
    for a, b in zip(got, z):
        torch.testing.assert_close(a, plain(b, V))
        assert torch.equal(a, op(b.conj().resolve_conj().conj(), V, 3))
    at = z[0].requires_grad_(), V.requires_grad_()
    for a, b in zip(*(torch.autograd.grad((f(*at)).abs().square().sum(), at) for f in (plain, lambda z, V: op(z, V, 3)))):
        torch.testing.assert_close(a, b)
    assert torch.autograd.gradcheck(lambda z, V: op(z, V, 3), at)       # by differences, whose convention is torch's: the conjugate
    assert torch.autograd.gradcheck(lambda z, V: op(z.conj(), V, 2), at)
    with pytest.raises(TypeError, match="z is of torch.complex128, but the tensor is of torch.complex64"):
        op(z.to(torch.complex64), V, 3)


@pytest.mark.parametrize("shape, words", [((2, 3, 9), "has 2 dimensions more than the field.*reshape, or use vmap"), ((0, 9), "there is one member at least")])
def test_axes_that_cannot_be_members(shape, words):
    text = "grid G = [0 .. 8], 4; field u : f32 on G outside periodic; stencil s(u)[G] = 0.5 * u[-1];"
    op = stc.torch.operator(f"stc_test::axes_{len(shape)}", stc.compile(text))
    with pytest.raises(ValueError, match=words):
        op(torch.zeros(shape), 4)


def test_scalars_of_members():
    """Gradients through scalars by member."""
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
    op = stc.torch.operator("stc_test::scalars_of_members", stc.compile(text), backward="auto")
    u = torch.rand(3, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    k = torch.tensor([0.5, 1, 2], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda u, k: op(u, k, 4), (u, k))
