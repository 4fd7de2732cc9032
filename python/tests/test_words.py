"""Messages speak of what Python has: every name that they may contain is there."""
import inspect
import re
from pathlib import Path

import pytest

import stc
from stc._errors import _CALLS, in_python
from stc._library import _FUNCTIONS
from stc._plan import Part

SOURCES = Path(__file__).resolve().parents[2] / "driver"
CALLERS = SOURCES / "program" / "callers.c"
OWNERS = {"plan": stc.Plan, "program": stc.Program, "part": Part}
OPTIONS = {name for f in (stc.compile, stc.Program.plan, stc.Plan.__call__) for name in inspect.signature(f).parameters}
# Options of libstc's that Python cannot set, and calls that it does not make: nothing can be said about them.
NOT_SET = {"load_passes", "print_before", "print_after", "print_all", "verify_each", "time_passes", "stats", "remarks", "stc_plan_time_kernels"}


def check(words):
    """Does each name in words that Python says exist?"""
    assert "stc_" not in words and "STC_EMIT" not in words
    for owner, name in re.findall(r"\b(plan|program|part)\.(\w+)", words):
        assert hasattr(OWNERS[owner], name), f"{words}: there is no {OWNERS[owner].__name__}.{name}"
    for owner in re.findall(r"\b(plan|program|part)\[", words):
        assert hasattr(OWNERS[owner], "__getitem__") and hasattr(OWNERS[owner], "__setitem__")
    for name in re.findall(r"\b([a-z_]+)=", words):
        assert name in OPTIONS, f"{words}: there is no option {name}"


def test_table_of_calls():
    for call in _CALLS:
        check(in_python(f"take {call} for that"))
    program = stc.compile("grid G = [0 .. 7], 1; field A : f32 on G; init a(A)[G] = 1.0;")
    for what in re.findall(r'program\.emit\("(\w+)"\)', " ".join(_CALLS.values())):
        assert program.emit(what)


def test_calls_that_python_makes():
    """Whatever the library's function is called, Python's words for it exist, or it keeps its name."""
    for call in _FUNCTIONS:
        words = in_python(f"take {call} for that")
        assert call in words or check(words) is None


def test_a_plan_is_what_schedule_takes():
    text = "param N = 4096; grid G = [0 .. N-1, 0 .. N-1], 9; field A : f32 on G; stencil s(A)[1 .. N-2, 1 .. N-2] = 0.2 * (A[-1,0] + A[1,0]);"
    program = stc.compile(text, arch="sm_90", schedule="stream", T=3, block=(4, 32))
    plan = program.emit("plan")
    assert plan.startswith("plan stream")
    assert stc.compile(text, arch="sm_90", schedule=plan).emit("kir") == program.emit("kir")


@pytest.mark.skipif(not CALLERS.exists(), reason="not in a checkout")
def test_words_of_the_library():
    said = re.findall(r'\{"-[^"]*", "([^"]+)"\}', CALLERS.read_text())
    assert len(said) > 30 and "stc_program_plan" in said
    for words in set(said) - NOT_SET:
        check(in_python(words))
        for word in words.split(" or "):
            name = in_python(word).split("=")[0].split()[0]
            assert "." in name or name in OPTIONS | {"STC_MPI"}, name


@pytest.mark.skipif(not CALLERS.exists(), reason="not in a checkout")
def test_calls_in_messages():
    """All calls that texts of the library's sources name."""
    texts = (re.findall(r'"(?:[^"\\\n]|\\.)*"', path.read_text()) for folder in ("driver", "frontend", "passes") for path in (SOURCES.parent / folder).rglob("*.c")
             if "artifact" not in path.parts and "tests" not in path.parts)
    calls = {call for found in texts for text in found for call in re.findall(r"\bstc_(?:plan|program)_\w+", text)}
    assert len(calls) > 8
    for call in calls - NOT_SET:
        check(in_python(f"take {call} for that"))
