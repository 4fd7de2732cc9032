"""Arrays that are views of others: their values are what the program computes with, or an error says what does not fit and what to do."""
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import stc
from commands import command

STANDIN = os.environ.get("STC_STANDIN_DIR")
N, M = 12, 14
TEXT = ("param N = 12, M = 14; grid G = [0 .. N-1, 0 .. M-1], 3; field A : f64 on G; field B : f64 on G;"
        "stencil s(A)[1 .. N-2, 1 .. M-2] = 0.25 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1]) + B; stencil t(B)[G] = B * 0.5 + A * 0.125;")
LINE = "param N = 12; grid G = [0 .. N-1], 3; field A : f64 on G; stencil s(A)[1 .. N-2] = 0.25 * (A[-1] + A[1]);"
VALUES = np.random.default_rng(1).random((N, M))
DENSE = {"rows": lambda: np.zeros((N + 4, M))[2:-2], "subclass": lambda: np.zeros((N, M)).view(np.matrix)}
APART = "elements apart.*Give it a dense copy in C order"
# Arrays that kernels cannot work in, and the message for each.
OTHER = {"every second row": (lambda: np.zeros((2 * N, M))[::2], APART), "every second column": (lambda: np.zeros((N, 2 * M))[:, ::2], APART),
         "a part": (lambda: np.zeros((N + 4, M + 4))[2:-2, 2:-2], APART), "transposed": (lambda: np.zeros((M, N)).T, "Fortran order"),
         "in Fortran order": (lambda: np.zeros((N, M), order="F"), "Fortran order"), "reversed": (lambda: np.zeros((N, M))[::-1], APART),
         "mirrored": (lambda: np.zeros((N, M))[:, ::-1], APART), "imaginary": (lambda: np.zeros((N, M), complex).imag, APART),
         "a member": (lambda: np.zeros((N, M), [("b", "f8"), ("a", "f8")])["b"], APART),
         "a member beside a shorter one": (lambda: np.zeros((N, M), [("b", "f8"), ("a", "f4")])["b"], "no whole number of elements apart.*dense copy"),
         "of other bytes": (lambda: np.zeros((N, M), ">f8"), "f64, but the array is of another")}
VIEWS = DENSE | {name: make for name, (make, _) in OTHER.items()}


@pytest.fixture(scope="module", name="want")
def wanted():
    run = stc.compile(TEXT).plan("ref")
    run["A"], run["B"] = VALUES, 2 * VALUES
    run(3)
    return run["A"].copy(), run["B"].copy()


ALL = [("ref", {}), ("host:1", {}), ("sim", {}), ("host:1", {"split": 2}), (["host:1", "host:1"], {}), ("ref", {"split": (2, 2)}), ("sim", {"split": "1x2"})]


@pytest.mark.parametrize("device, parts", ALL)
@pytest.mark.parametrize("name", VIEWS)
def test_set(name, device, parts, want):
    view = VIEWS[name]()
    view[...] = VALUES
    run = stc.compile(TEXT).plan(device, **parts)
    run["A"], run["B"] = view, np.asfortranarray(2 * VALUES)
    run(3)
    assert np.array_equal(run["A"], want[0]) and np.array_equal(run["B"], want[1])
    assert np.array_equal(view, VALUES)


@pytest.mark.parametrize("device, parts", ALL)
def test_bind(device, parts, want):
    """A grid in parts takes and refuses what a whole one does; of what it is bound to it has copies."""
    for make in DENSE.values():
        view, run = make(), stc.compile(TEXT).plan(device, **parts)
        view[...] = VALUES
        run.bind("A", view)
        run["B"] = 2 * VALUES
        run(3)
        assert np.array_equal(np.asarray(view), want[0])
    for make, why in OTHER.values():
        with pytest.raises(ValueError, match=why):
            stc.compile(TEXT).plan(device, **parts).bind("A", make())


@pytest.mark.parametrize("device", ["ref", "host:1", "sim"])
def test_bind_in_one_dimension(device):
    """Where no further dimension tells that places are apart."""
    run = stc.compile(LINE).plan(device)
    with pytest.raises(ValueError, match="no whole number of elements apart"):
        run.bind("A", np.zeros(N, [("b", "f8"), ("a", "f4")])["b"])
    with pytest.raises(ValueError, match=APART):
        run.bind("A", np.zeros(2 * N)[::2])


ON_GPU = """
import sys
import numpy as np
import stc

class OnGpu:
    def __init__(self, address, shape, strides):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f8", "data": (address, False), "strides": strides, "version": 3}

N, M = 12, 14
program = stc.compile(f"grid G = [0 .. {N - 1}, 0 .. {M - 1}], 3; field A : f64 on G; stencil s(A)[1 .. {N - 2}, 1 .. {M - 2}] = A[-1,0] + A[1,0];")
memory = stc.compile(f"grid G = [0 .. {4 * N * M - 1}], 3; field A : f64 on G; stencil s(A)[1 .. 2] = A[-1] + A[1];").plan("cuda")
memory["A"] = np.arange(4.0 * N * M)
run, values = program.plan(sys.argv[1]), np.random.default_rng(1).random((N, 2 * M))[:, ::2]
run["A"] = values
assert np.array_equal(np.asarray(run["A"]), values)
run["A"] = np.asfortranarray(values[::-1])
assert np.array_equal(run["A"].numpy(), values[::-1])
at = memory["A"].address
for strides in (16 * M, 16), (8 * M + 8, 8), (8, 8 * N), (12 * M, 12):
    for give in (lambda a: run.__setitem__("A", a)), (lambda a: run.bind("A", a)):
        try:
            give(OnGpu(at, (N, M), strides))
        except ValueError as e:
            assert "dense copy in C order, run['A'] = " in str(e) and "assign" not in str(e) and "in place of binding" not in str(e), e
        else:
            raise AssertionError(strides)
assert np.array_equal(run["A"].numpy(), values[::-1])
run["A"] = OnGpu(at, (N, M), (8 * M, 8))
assert np.array_equal(run["A"].numpy().ravel(), np.arange(N * M))
"""


@pytest.mark.skipif(not STANDIN, reason="STC_STANDIN_DIR does not name the stand-ins for the drivers")
@pytest.mark.parametrize("device", ["cuda", "cuda:0,0"])
def test_on_gpus(device):
    """Views in host memory are copied in; those on the GPU would have to be the field's memory, and are refused."""
    done = subprocess.run([sys.executable, "-c", ON_GPU, device], capture_output=True, text=True, check=False, env=os.environ | {"LD_LIBRARY_PATH": STANDIN})
    assert done.returncode == 0, done.stderr


@pytest.fixture(name="alone")
def artifact(tmp_path):
    (tmp_path / "v.stn").write_text(TEXT)
    command("-march=host", "-o", tmp_path / "v.o", tmp_path / "v.stn")
    return stc.load(tmp_path / "v.json")


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_an_artifact_brings_values_back_to_views(alone, want):
    for make in VIEWS.values():
        a, b = make(), np.asfortranarray(2 * VALUES)
        a[...] = VALUES
        alone.run({"A": a, "B": b}, steps=3)
        assert np.array_equal(np.asarray(a), want[0]) and np.array_equal(b, want[1])


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_what_an_artifact_cannot_bring_values_back_to(alone):
    """Is refused before anything runs."""
    fixed, overlapping = VALUES.copy(), np.lib.stride_tricks.as_strided(np.zeros(M), (N, M), (0, 8))
    fixed.flags.writeable = False
    for a, why in (fixed, "A: the array is read-only, and a run brings the field's values back to it; give a copy"), \
                  (np.broadcast_to(VALUES[0], (N, M)), "A: the array is read-only"), (overlapping, "A: places of the array share memory.*give a copy"):
        b = VALUES.copy()
        with pytest.raises(stc.InputError, match=why):
            alone.run({"B": b, "A": a}, steps=3)
        assert np.array_equal(b, VALUES)
    with pytest.raises(TypeError, match="A: a list holds .* give numpy.array"):
        alone.run({"A": VALUES.tolist()}, steps=3)
