"""Grids that are cut into parts: on several devices of this process, and on several processes."""
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import stc

TEXT = """param N = 20, M = 24;
grid  G = [0 .. N-1, 0 .. M-1], 9;
field U : f32 on G outside periodic history 1;
field V : f64[2] on [1 .. N-2, 0 .. M-1] outside clamp;
init v(V)[1 .. N-2, 0 .. M-1] = {f64(idx(0)), f64(idx(1))};
stencil ring(U)[G] = 0.25 * (U[-1,0] + U[1,-1] + U[0,1] + U@1);
stencil flow(V)[2 .. N-3, 0 .. M-1] = {V[-1,0][1] + f64(U), V[1,1][0]};
reduce total = sum(U) over G every 2;
"""
u = np.random.default_rng(5).random((20, 24), np.float32)
module = os.environ.get("STC_MPI")
needs_mpi = pytest.mark.skipif(not (module and shutil.which("mpirun")), reason="no mpirun, or no module in $STC_MPI")


def results(**options):
    run = stc.compile(TEXT, contract=False).plan(**options)
    run["U"] = run["U@1"] = u
    run(3)
    run(4)
    return np.array(run["U"]), np.array(run["V"]), run.reductions["total"]


@pytest.mark.parametrize("options", [dict(split=3), dict(split=(2, 2)), dict(split="1x4/2"), dict(device="sim", split=[4, 1]), dict(device=["host:1", "host:1"])])
def test_same_bits(options):
    want, got = results(device="ref"), results(**options)
    for a, b in zip(want, got):
        np.testing.assert_array_equal(a, b)


def test_turns():
    """Parts that take turns within little memory have the same results."""
    whole = results(device="host:1")
    for memory in (20000, "20kB"):
        for a, b in zip(results(device="host:1", memory=memory), whole):
            assert np.array_equal(a, b)
    for a, b in zip(results(device="sim", memory="1GiB", split="5/2"), whole):
        assert np.array_equal(a, b)
    with pytest.raises(MemoryError, match="do not fit"):
        results(device="host:1", memory=100)
    with pytest.raises(stc.StcError, match="leave comm out"):
        results(device="host:1", memory=20000, comm=True)


def test_refused():
    p = stc.compile(TEXT)
    with pytest.raises(stc.OptionError, match="at most 20"):
        p.plan(split=21)
    with pytest.raises(stc.OptionError, match="write how many parts"):
        p.plan(split="two")
    with pytest.raises(stc.OptionError, match="one kind"):
        p.plan(device=["host:1", "sim"])
    for comm in (None, False):
        with pytest.raises(stc.OptionError, match="give comm"):
            p.plan(split=2, parts=True, comm=comm)
    assert p.plan(split=2).parts == []


CHILD = """
import sys, numpy as np, stc
text, u = open(sys.argv[1]).read(), np.load(sys.argv[2])
comm = True
if sys.argv[3] == "mpi4py":
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
run = stc.compile(text, contract=False).plan("host:1", split="3x2", comm=comm, parts=True)
apart, fortran = np.repeat(u, 2, 1)[:, ::2], np.asfortranarray(u)
for part in run.parts:
    part["U"] = apart[part.box("U")]
    part["U@1"] = fortran[part.box("U@1")]
    assert (part["U"] == u[part.box("U")]).all() and (part["U@1"] == u[part.box("U@1")]).all()
try:
    run["U"] = u
except stc.OptionError as e:
    assert "part[name] = values" in str(e), e
else:
    raise AssertionError("no rank has the whole grid")
run(3)
run(4)
want = np.load(sys.argv[4])
for part in run.parts:
    assert (part["U"] == want[part.box("U")]).all() and part["V"].shape[-1] == 2
assert len(run.parts) >= 1
"""


@needs_mpi
@pytest.mark.parametrize("how", ["started", "mpi4py"])
def test_processes(tmp_path, how):
    if how == "mpi4py":
        pytest.importorskip("mpi4py")
    for name, value in (("text", TEXT), ("child.py", CHILD)):
        (tmp_path / name).write_text(value)
    np.save(tmp_path / "u.npy", u)
    np.save(tmp_path / "want.npy", results(device="ref")[0])
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    subprocess.run(["mpirun", "--oversubscribe", "-n", "3", sys.executable, "child.py", "text", "u.npy", how, "want.npy"], cwd=tmp_path, env=environment, check=True, timeout=600)
