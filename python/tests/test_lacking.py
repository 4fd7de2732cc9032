"""Fields that do not have all dimensions: arrays of them have one point there, or leave it out."""
import numpy as np
import pytest

import stc

TEXT = """
param N = 6, M = 9;
grid G = [0 .. N-1, 0 .. M-1], 7;
field A : f32 on G outside 0;
field P : f32 on [*, 0 .. M-1];
field Q : f32 on [0 .. N-1, *];
init a(A)[G] = f32((idx(0) * 5 + idx(1) * 3) % 7);
stencil s(A)[G] = 0.25 * (P * (A[0,-1] + A[0,1]) + Q * (A[1,0] + A[-1,0]));
"""
ROW, COLUMN = np.linspace(0.5, 1.5, 9, dtype=np.float32), np.linspace(1.5, 0.25, 6, dtype=np.float32)


def expected(steps):
    """By NumPy, in the order of the program."""
    a = np.fromfunction(lambda i, j: (i * 5 + j * 3) % 7, (6, 9)).astype(np.float32)
    for _ in range(steps):
        b = np.pad(a, 1)
        a = np.float32(0.25) * (ROW * (b[1:-1, :-2] + b[1:-1, 2:]) + COLUMN[:, None] * (b[2:, 1:-1] + b[:-2, 1:-1]))
    return a


@pytest.mark.parametrize("device", ["ref", "host"])
def test_values_and_arrays(device):
    run = stc.compile(TEXT, contract=False).plan(device=device)
    assert run.shape("P") == (1, 9) and run.shape("Q") == (6, 1)
    run["P"], run["Q"] = ROW, COLUMN[:, None]
    run()
    assert np.array_equal(run["A"], expected(7))
    assert run["P"].shape == (1, 9) and np.array_equal(run["P"][0], ROW)
    with pytest.raises(ValueError, match=r"P has the shape \(1, 9\), but the array has \(6,\)"):
        run["P"] = COLUMN


def test_bound():
    run, row, column = stc.compile(TEXT, contract=False).plan(device="host"), ROW.copy(), COLUMN[:, None].copy()
    run.bind("P", row)
    run.bind("Q", column)
    run()
    assert np.array_equal(run["A"], expected(7))
    with pytest.raises(stc.OptionError, match="field P has the shape 1x9, but the array has 6"):
        run.bind("P", COLUMN)
    with pytest.raises(stc.OptionError, match="field Q: the array's places along dimension 0"):
        run.bind("Q", np.repeat(COLUMN, 2)[::2])


def test_params_of_shapes():
    from stc._expression import params_of_shapes
    extent = lambda param, constant: {"terms": [{"param": param, "coefficient": 1}] if param else [], "constant": constant}
    manifest = {"fields": [{"name": "P", "extents": [extent("", 1), extent("N", 0), extent("M", 2)]}]}
    assert params_of_shapes(manifest, {"P": (5, 9)}) == params_of_shapes(manifest, {"P": (1, 5, 9)}) == {"N": 5, "M": 7}
