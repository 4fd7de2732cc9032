"""Fields that are series of frames: arrays, functions, checkpoints, and artifacts from their manifest alone."""
import shutil

import numpy as np
import pytest

import stc
from commands import command

TEXT = """param N = 7;
grid G = [0 .. N-1], 12;
field F : real[2] on G frames every 4 linear;
field C : i32 on G frames every 3 cycle;
field A : real on G;
init a(A)[G] = 0;
stencil s(A)[G] = 0.5 * A + F[0][0] - F[0][1] + real(C);
"""


def series():
    chance = np.random.default_rng(3)
    return chance.random((3, 7, 2)).astype("f4"), chance.integers(0, 9, (2, 7)).astype("i4")


def expected(f, c, steps):
    a = np.zeros(7, "f4")
    for s in range(steps):
        now, later = f[s // 4], f[min(s // 4 + 1, len(f) - 1)]
        w = now + np.float32(s % 4) / np.float32(4) * (later - now)
        a = np.float32(0.5) * a + w[:, 0] - w[:, 1] + c[s // 3 % len(c)].astype("f4")
    return a


@pytest.fixture(scope="module")
def program():
    return stc.compile(TEXT, contract=False)


@pytest.mark.parametrize("device", ["ref", "host"])
def test_arrays_and_functions(program, device):
    f, c = series()
    run = program.plan(device=device)
    assert run.fields == ["F", "C", "A"]
    run["F"], run["C"] = f, c
    for steps in 5, 3, 4:
        run(steps)
    np.testing.assert_array_equal(run["A"], expected(f, c, 12))
    with pytest.raises(stc.InputError, match="field F has 3 frames of 4 steps each, but step 12 is in frame 3"):
        run(1)
    asked = []
    run.restart()
    run["F"] = lambda j: asked.append(j) or f[min(j, 2)]
    run(12)
    np.testing.assert_array_equal(run["A"], expected(f, c, 12))
    assert asked == [0, 1, 2, 3]


def test_wrong(program):
    f, c = series()
    run = program.plan(device="host")
    with pytest.raises(ValueError, match="shape"):
        run["F"] = np.zeros((3, 8, 2), "f4")
    with pytest.raises(TypeError, match="i32"):
        run["C"] = c + 0.5
    with pytest.raises(stc.OptionError, match="needs one frame"):
        run["C"] = c[:0]
    run["F"], run["C"] = f, lambda j: 1 // (2 - j)
    with pytest.raises(ZeroDivisionError):
        run(12)
    run = program.plan(device="host")
    with pytest.raises(stc.InputError, match=r"set it with plan\[name\] = frames"):
        run(1)
    run["F"], run["C"] = np.ones((7, 2), "f4"), 2
    run(30)
    np.testing.assert_allclose(run["A"], 4, rtol=1e-5)


@pytest.mark.parametrize("split", [None, 2])
def test_goes_on(program, split):
    """Behind a frame that could not be had the plan goes on from the step that it came to."""
    f, c = series()
    run = program.plan(device="host", split=split)
    asked = []

    def give(j):
        asked.append(j)
        if len(asked) == 3:
            raise EOFError
        return c[j % 2]
    run["F"], run["C"] = f, give
    with pytest.raises(EOFError):
        run(12)
    assert run.step == 6
    np.testing.assert_array_equal(run["A"], expected(f, c, 6))
    run(6)
    np.testing.assert_array_equal(run["A"], expected(f, c, 12))


@pytest.mark.parametrize("use", [lambda run: run["A"], lambda run: run(1), lambda run: run.step, lambda run: run.close()])
def test_uses_its_plan(program, use):
    f, c = series()
    run = program.plan(device="host")
    run["F"], run["C"] = f, lambda j: (use(run) if j == 1 else None, c[0])[1]
    with pytest.raises(stc.OptionError, match="a function that makes a frame cannot use the plan"):
        run(12)
    run["C"] = c
    run(12 - run.step)
    np.testing.assert_array_equal(run["A"], expected(f, np.stack([c[0], c[1]]), 12))


def test_checkpoint(program, tmp_path):
    f, c = series()
    run = program.plan(device="host")
    run["F"], run["C"] = f, c
    run(6)
    run.save(tmp_path / "c.npz")
    run(6)
    run.load(tmp_path / "c.npz")
    assert run.step == 6
    run(6)
    np.testing.assert_array_equal(run["A"], expected(f, c, 12))


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_artifact(tmp_path):
    f, c = series()
    (tmp_path / "frames.stn").write_text(TEXT)
    command("-march=host", "-fno-contract", "-o", tmp_path / "frames.o", tmp_path / "frames.stn")
    artifact = stc.load(tmp_path / "frames.json")
    a = np.zeros(7, "f4")
    given = {"F.0": np.ascontiguousarray(f[..., 0]), "F.1": lambda j: f[min(j, 2), :, 1], "C": c, "A": a}
    artifact.run(given, 5)
    artifact.run(given, 7, first_step=5)
    np.testing.assert_array_equal(a, expected(f, c, 12))
    with pytest.raises(stc.InputError, match="F.0 has 3 frames of 4 steps each, but step 12 is in frame 3"):
        artifact.run({**given, "F.1": given["F.0"]}, 1, first_step=12)
    with pytest.raises(stc.InputError, match="has the frames ahead of F.0"):
        artifact.run({**given, "F.next.0": f[..., 0]}, 1)


def test_members_share_frames():
    """Frames that all members share have the axis of members, of length 1, or leave it out, as in files; a value for all steps, too."""
    text = "grid G = [0 .. 4], 4; members 3; field F : f32 on G shared frames every 1; field A : f32 on G; init a(A)[G] = f32(member); stencil s(A)[G] = A + F;"
    frames, run = np.random.default_rng(3).random((4, 5)).astype("f4"), stc.compile(text).plan("ref")
    for series in frames, frames[:, None], lambda j: frames[j]:
        run.restart()
        run["F"] = series
        run(4)
        np.testing.assert_array_equal(run["A"], (((np.arange(3, dtype="f4")[:, None] + frames[0]) + frames[1]) + frames[2]) + frames[3])
    run.restart()
    run["F"] = frames[0]
    run(1)
    np.testing.assert_array_equal(run["A"], np.arange(3, dtype="f4")[:, None] + frames[0])
