"""What those who know NumPy try first, and what answers them: values in a view before the first run, params, types, NaN."""
import warnings

import numpy as np
import pytest

import stc

TEXT = """
param N = 8, k : real = 0.5;
grid G = [0 .. N-1, 0 .. N-1], 4;
field u : real on G;
init i(u)[G] = 1;
stencil s(u)[G] = if step >= 3 && idx(0) == 2 && idx(1) == 5 then sqrt(-u) else k * u;
reduce most = max(u) over G every 1;
probe seen = u at [2, 5] every 1;
"""


def plan(device="host:1", **options):
    return stc.compile(TEXT, **options).plan(device)


@pytest.mark.parametrize("device", ["ref", "sim", "host:1"])
def test_what_is_written_before_the_first_run(device):
    """The init would overwrite it: the view is read-only until its field is set or has run, and so after restart()."""
    run = plan(device)
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            run["u"][3, 4] = 7
        run(0)
        run["u"][3, 4] = 7
        run(1)
        assert run["u"][3, 4] == 3.5 and run["u"][0, 0] == 0.5
        run.restart()
    run["u"] = 0
    run["u"][3, 4] = 7
    run(1)
    assert run["u"][3, 4] == 3.5 and run["u"][0, 0] == 0


def test_params_are_fixed():
    run = plan()
    assert run.params["k"] == 0.5 and dict(run.params) == {"N": 8, "k": 0.5} and run.params == {"N": 8, "k": 0.5}
    with pytest.raises(TypeError, match=r"params are fixed .*program\.plan\(k=0\.1\)"):
        run.params["k"] = 0.1
    for use in (lambda: run["k"], lambda: run.k, lambda: run.__setitem__("k", 0.1), lambda: setattr(run, "k", 0.1)):
        with pytest.raises((KeyError, AttributeError), match=r"'k' is a param, .*plan\.params\['k'\].*program\.plan\(k=\.\.\.\)"):
            use()
    with pytest.raises(KeyError, match="'U' is no field.*is 'u' meant"):
        run["U"]
    with pytest.raises(stc.InputError, match=r"no param 'steps'.*run\(10\)"):
        stc.compile(TEXT).plan("host:1", steps=10)


def test_numbers_of_other_types():
    for real in "float64", np.float64, np.dtype("f8"), float:
        assert plan(real=real).dtype("u") == np.float64
    assert plan(real=np.float32).dtype("u") == np.float32
    run = stc.compile(TEXT).plan("host:1", N=10)
    with pytest.raises(TypeError, match=r"numpy\.load\('a\.npy'\)"):
        run["u"] = "a.npy"
    with pytest.raises(ValueError, match=r"has the shape \(10, 10\), but the array has \(4, 5\); the program's params .*program\.plan\(NAME=\.\.\.\)"):
        run["u"] = np.zeros((4, 5))


def test_nan_is_told_of_once():
    """Where values are read back and to look costs nothing: reductions and probes."""
    run = plan()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(3)
        run.reductions, run.probes
    run(1)
    with pytest.warns(RuntimeWarning, match=r"probe seen is NaN after 4 steps.*check_finite"):
        run.probes
    with pytest.warns(RuntimeWarning, match="reduction most is NaN after 4 steps"):
        run.reductions
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.reductions, run.probes
