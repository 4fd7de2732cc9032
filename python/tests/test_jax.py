"""Programs as functions that jax.jit takes."""
import numpy as np
import pytest

jax = pytest.importorskip("jax")

import stc
import stc.jax


def test_jit(heat_text, heat_numpy):
    f = stc.jax.function(heat_text, steps=5)
    a = jax.random.uniform(jax.random.key(1), (40, 30))
    got = jax.jit(lambda x: f(2 * x) + 1)(a)
    np.testing.assert_allclose(got, heat_numpy(np.asarray(2 * a), 5) + 1, rtol=1e-5)
    with pytest.raises(TypeError, match="takes A"):
        f(a, a)


def test_arrays_are_copied(heat_text):
    run = stc.compile(heat_text).plan()
    a = jax.numpy.ones((64, 48))
    run["A"] = a
    run(3)
    assert (a == 1).all()
