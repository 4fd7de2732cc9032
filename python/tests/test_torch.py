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
