"""The programs that the tests use. The package is the installed one, or the tree's with STC_LIBRARY."""
import pytest

import stc

HEAT = """
param N = 64, M = 48;
grid  G = [0 .. N-1, 0 .. M-1], 10;
field A : f32 on G;
stencil relax(A)[1 .. N-2, 1 .. M-2] = 0.2 * (A[-1,0] + A + A[1,0] + A[0,-1] + A[0,1]);
"""


def numpy_heat(a, steps):
    """The same in NumPy."""
    a = a.copy()
    for _ in range(steps):
        b = a.copy()
        b[1:-1, 1:-1] = a.dtype.type(0.2) * (a[:-2, 1:-1] + a[1:-1, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a = b
    return a


@pytest.fixture
def heat_text():
    return HEAT


@pytest.fixture
def heat_numpy():
    return numpy_heat


@pytest.fixture(autouse=True)
def compiled_soon(monkeypatch):
    """Programs are compiled without optimisation, which takes a tenth of the time, unless a test says another level."""
    compiled = stc.compile
    monkeypatch.setattr(stc, "compile", lambda source, **options: compiled(source, **{"opt_level": 0, **options}))
