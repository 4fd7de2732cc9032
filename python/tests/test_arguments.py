"""Arguments are what they should be, or an error names them: nothing is cut off, wrapped around or taken for something else."""
import shutil

import numpy as np
import pytest

import stc
from commands import command

COUNT = "param N = 8; param k : f32 = 1; grid G = [0 .. N-1], 3; field A : f32 on G; init i(A)[G] = 0; stencil s(A)[G] = A + k;"
NO_INTEGERS = [1.5, 0.9, "3", b"3", None, [3], np.float64(3.5), float("nan"), True, np.bool_(True), 1j]


class Index:
    def __index__(self):
        return 2


def test_steps():
    run = stc.compile(COUNT).plan(device="ref")
    for n in 2, 2.0, np.float32(2), np.int8(2), np.uint64(2), np.array(2), Index():
        assert run(n).steps == 2
    done = run["A"][0]
    for n in NO_INTEGERS:
        if n is not None:
            with pytest.raises(TypeError, match="steps=.*: an integer is wanted"):
                run(n)
            with pytest.raises(TypeError, match="steps="):
                run(n, wait=False)
    for n in -1, -2**63, 2**63, 2**64 + 3, np.uint64(2**63):
        with pytest.raises(stc.OptionError, match="steps=.*: the number is at least 0"):
            run(n)
    with pytest.raises(stc.OptionError, match="are too many"):
        run(2**63 - 1)
    assert run["A"][0] == done and run(0).steps == 0 and run().steps == 3


WHOLE = [("T", 1, 2**31), ("chunk", 1, 2**31), ("ahead", 1, 2**31), ("opt_level", 0, 4), ("check_finite", 0, 2**63), ("block", 1, 2**31), ("elems", 1, 2**31),
         ("grid", 1, 2**63), ("members", 1, 2**63)]


@pytest.mark.parametrize("name, least, beyond", WHOLE)
def test_options_that_are_integers(name, least, beyond):
    for n in NO_INTEGERS:
        if n is not None and not (name == "check_finite" and n is True) and not (isinstance(n, list) and name in ("block", "elems", "grid")):
            with pytest.raises(TypeError, match=f"{name}=.*: an integer is wanted"):
                stc.compile(COUNT, **{name: n})
    for n in least - 1, -2**40, beyond, 2**40 if beyond < 2**40 else 2**64 + 1, 2**70:
        with pytest.raises(stc.OptionError, match=f"{name}={n}: the number is at least {least}"):
            stc.compile(COUNT, **{name: n})
    if name in ("block", "elems", "grid"):
        for n in (), (1,) * (5 if name == "grid" else 4), (1, 1.5), "8x32", {1: 2}:
            with pytest.raises((stc.OptionError, TypeError), match=f"{name}="):
                stc.compile(COUNT, **{name: n})


@pytest.mark.parametrize("name", ["contract", "fast_math", "hoist", "cache", "check_bounds"])
def test_options_that_are_true_or_false(name):
    for wrong in "no", "", None, 2, -1, 0.0, []:
        with pytest.raises(TypeError, match=f"{name}=.*: True or False is wanted"):
            stc.compile(COUNT, **{name: wrong})
    for right in True, np.bool_(False), 0, 1:
        stc.compile(COUNT, **{name: right})


def test_texts():
    for name in "real", "schedule", "edges", "barriers", "tiles", "fuse", "repeats", "passes", "arch":
        with pytest.raises(TypeError, match=f"{name}=5: a text is wanted"):
            stc.compile(COUNT, **{name: 5})
        with pytest.raises(stc.OptionError, match=f"{name}: there is a NUL"):
            stc.compile(COUNT, **{name: "a\0b"})
    with pytest.raises(stc.OptionError, match="the program: there is a NUL"):
        stc.compile(COUNT + "\0 reduce r = sum(A) over G;")
    run = stc.compile(COUNT).plan()
    with pytest.raises(stc.OptionError, match="NUL"):
        run["A\0B"]
    with pytest.raises(TypeError, match="text is wanted"):
        run[0]
    for device in 0, None, [], ["cuda:0", 1]:
        with pytest.raises(TypeError, match="device="):
            run.program.plan(device=device)
    for split in 1.5, (2, 1.5), True:
        with pytest.raises(TypeError, match="split="):
            run.program.plan(split=split)
    for split in 0, -1, (), (1, 1, 1, 1, 1):
        with pytest.raises(stc.OptionError, match="split="):
            run.program.plan(split=split)


def test_params():
    program = stc.compile(COUNT)
    for wrong in 1.5, "4.5", "4.0", 2**63, -2**63 - 1, True, None, [4], np.float32(4.5), 1e300:
        with pytest.raises(stc.InputError, match="param N : i64"):
            program.plan(N=wrong)
    for right in 4, "4", 4.0, np.float32(4), np.int8(4), np.array(4):
        assert program.plan(N=right).shape("A") == (4,)
    for k in np.float32(0.1), np.array(0.1, np.float32), float(np.float32(0.1)):
        run = program.plan(device="ref", k=k)
        run(1)
        assert run["A"][0] == np.float32(0.1)
    for wrong in [1], "N=3":
        with pytest.raises(TypeError, match="a dict is wanted"):
            stc.compile(COUNT, defines=wrong)


def test_each_error_is_told():
    """A program tells of each error, not of the first twenty alone."""
    program = stc.compile(COUNT)
    for _ in range(30):
        with pytest.raises(stc.InputError, match="no param 'M'"):
            program.plan(M=1)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_artifacts(tmp_path):
    (tmp_path / "p.stn").write_text(COUNT)
    command("-o", tmp_path / "p.o", tmp_path / "p.stn")
    k = stc.load(tmp_path / "p.json")
    for name in "steps", "first_step":
        for n in NO_INTEGERS:
            if n is not None:
                with pytest.raises(TypeError, match=f"{name}=.*: an integer is wanted"):
                    k.run({}, **{name: n})
        for n in -1, 2**63, 2**64 + 3:
            with pytest.raises(stc.OptionError, match=f"{name}="):
                k.run({}, **{name: n})
    for n in 1.5, "3", True, 2**63, -2**63 - 1, None:
        with pytest.raises((TypeError, stc.OptionError), match="N="):
            k.run({}, N=n)
    for value in "1", True, None, 1j, 10**400:
        with pytest.raises(TypeError, match="k="):
            k.run({}, k=value)
    for device in 0.5, -1, 2**31:
        with pytest.raises((TypeError, stc.OptionError), match="device="):
            stc.load(tmp_path / "p.json", device=device)
