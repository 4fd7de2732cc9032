#!/usr/bin/env python3
"""knobs_test.py SOURCE BUILD [--build CMAKE]: a knob of schedules is a row of ir/knobs.def, and nothing more has to be named for it to be there.

--build builds a copy of the sources in BUILD (kept, so that a second run compiles what has changed) whose table has two more rows, of knobs that
mean nothing, under the thread sanitizer, for unit/threads_test.c is run in this build, too. Without it looks for these knobs where people meet knobs: options, help, manual, completion, messages of the command and of the library, plans as
text, C's header as it is and as it is installed, Python with its types. unit.knobs_test, built there, goes through the table by itself."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROWS = """
KNOB(DUMMY, dummy, NUMBER, "N", "a number that means nothing", KNOB_OF_LAUNCH, IN(OVERLAP), "dummy", 100,
     "a number of nothings from 1 to 100", "has nothings of no kind; leave it out")
KNOB(MOOD, mood, WORD, "HOW", "a word that means nothing: good or bad", 0, IN_ALL, "mood", 0, "moods are good or bad", NULL)
KNOB_WORD(MOOD, GOOD, "good")
KNOB_WORD(MOOD, BAD, "bad")

#undef KNOB
"""
PROGRAM = "param N = 64; grid G = [0 .. N-1, 0 .. N-1], 4; field A : f32 on G; init i(A)[G] = 1; stencil s(A)[1 .. N-2, 1 .. N-2] = A[-1,0] + A[1,0];"
HEADER = """#include <stc.h>
#include "written.h"
#define SAME(member) _Static_assert(offsetof(StcOptions, member) == offsetof(WrittenOptions, member), #member);
"""


def run(*words, ok=True, **options):
    """Runs a program, which must succeed, or if not `ok` must not; what it prints."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert (done.returncode == 0) == ok, f"{words}: exit code {done.returncode}\n{done.stdout[-4000:]}"
    return done.stdout


def copy_sources(source, to):
    """What git has of the sources, as it lies there; files that have not changed keep their times. The table has the two rows more."""
    names = set(run("git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")) - {""}
    for old in [p for p in to.rglob("*") if p.is_file() and str(p.relative_to(to)) not in names]:
        old.unlink()
    for name in sorted(names):
        here, there = source / name, to / name
        if not here.is_file():
            continue
        data = here.read_bytes()
        if name == "ir/knobs.def":
            data = data.replace(b"\n#undef KNOB\n", ROWS.encode(), 1)
            assert b"MOOD" in data
        there.parent.mkdir(parents=True, exist_ok=True)
        if not there.exists() or there.read_bytes() != data:
            there.write_bytes(data)
            shutil.copymode(here, there)


def check_command(stc, work):
    """Options and what is made of them."""
    program = work / "p.stn"
    program.write_text(PROGRAM)
    for topic in "compile", "run", "explain":
        text = run(stc, "help", topic)
        assert re.search(r"^  -dummy=N +a number that means nothing$", text, re.M) and re.search(r"^  -mood=HOW ", text, re.M), text
    assert "dummy" not in run(stc, "help", "tune")
    assert "\\-mood=HOW" in run(stc, "man")
    assert "-mood | --mood) words='good bad'" in run(stc, "completion", "bash")
    assert "-a 'good bad'" in run(stc, "completion", "fish") and "(good bad)" in run(stc, "completion", "zsh")
    plan = [stc, "-march=nvptx", "-emit=plan", "-o", "-", program]
    run(*plan, "-schedule=overlap", "-T=2", "-dummy=3", "-mood=bad")
    for options, message in ((["-dummy=0"], "-dummy=0: expected a number of nothings from 1 to 100"), (["-mood=odd"], "-mood=odd: moods are good or bad"),
                             (["-schedule=naive", "-dummy=3"], "-dummy: the naive schedule has nothings of no kind; leave it out"),
                             (["-dumy=3"], "is -dummy meant?")):
        assert message in run(*plan, *options, ok=False), options
    assert "-dummy, -mood and -passes out" in run(stc, "tune", "-mood=bad", program, ok=False)
    for text, message in (("plan naive dummy=3", "the naive schedule has no 'dummy'"), ("plan overlap mood=odd", "'odd' is neither good nor bad"),
                          ("plan overlap\n launch overlap mood=bad", "'mood' applies to the whole plan"), ("plan overlap x=1", "dummy, mood, launch")):
        (work / "p.plan").write_text(text)
        assert message in run(*plan, f"-plan={work}/p.plan", ok=False), text
    (work / "p.plan").write_text("plan overlap T=2 dummy=3 mood=bad")
    run(*plan, f"-plan={work}/p.plan")


def check_header(tree, build, work):
    """stc.h in the tree and as it is installed have the same members."""
    written = (build / "include/stc.h").read_text()
    assert "  int dummy; /* a number that means nothing */" in written and "const char *mood;" in written and "knobs.def" not in written
    names = re.findall(r"^KNOB\(\w+, (\w+),", (tree / "ir/knobs.def").read_text(), re.M)
    struct = re.search(r"typedef struct StcOptions \{.*?\} StcOptions;", written, re.S).group(0)
    (work / "written.h").write_text(struct.replace("StcOptions", "WrittenOptions"))
    lines = [f"SAME({n})" for n in names + ["march", "grid", "opt_level", "defines"]]
    (work / "same.c").write_text(HEADER + "\n".join(lines) + "\n_Static_assert(sizeof(StcOptions) == sizeof(WrittenOptions), \"size\");\n")
    run("cc", "-std=c11", "-fsyntax-only", f"-I{tree}/driver", work / "same.c")


def check_python(tree, build):
    """The package takes the knobs from the library; its types are made."""
    types = (build / "python/_knob_types.pyi").read_text()
    assert "    dummy: Optional[int]\n" in types and "    mood: Optional[str]\n" in types
    sanitizer = run("cc", "-print-file-name=libtsan.so").strip()   # which has to be there before the library is loaded
    environment = dict(os.environ, PYTHONPATH=str(tree / "python"), STC_LIBRARY=str(build / "libstc.so"), LD_PRELOAD=sanitizer)
    if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode:
        print("no NumPy here: stc.compile is not tried")
        return
    run(sys.executable, "-c", f"""
import inspect, stc
assert {{"dummy", "mood", "T"}} <= set(inspect.signature(stc.compile).parameters) and "mood: a word" in stc.compile.__doc__
p = stc.compile({PROGRAM!r}, schedule="overlap", dummy=3, mood="bad")
assert "-dummy=3" in p._words and "-mood=bad" in p._words, p._words
naive = dict(schedule="naive", dummy=3, arch="sm_90")
for wrong, what in ((dict(dummy=0), "at least 1"), (naive, "dummy: the naive schedule has nothings of no kind"), (dict(mood="odd"), "mood=odd: moods are good or bad"), (dict(dumy=1), "unexpected keyword")):
    try:
        stc.compile({PROGRAM!r}, **wrong).emit("kir")
        raise SystemExit(f"{{wrong}} is taken")
    except (stc.StcError, TypeError) as e:
        assert what in str(e) and "-" + what not in str(e), e
""", env=environment)


def build(source, tree, made, cmake):
    """Copies the sources, and builds what is looked at, and unit/threads_test.c."""
    copy_sources(source, tree)
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run(cmake, "-G", "Ninja", "-S", tree, "-B", made, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0 -g1 -fsanitize=thread", "-DBUILD_TESTING=ON", *launcher)
    run(cmake, "--build", made, "-j2", "--target", "stc", "libstc_shared", "knobs_test", "threads_test")


def main():
    source, folder = Path(sys.argv[1]), Path(sys.argv[2]) / "knobs"
    tree, made, work = folder / "tree", folder / "build", folder / "work"
    for path in tree, work:
        path.mkdir(parents=True, exist_ok=True)
    if sys.argv[3:4] == ["--build"]:
        build(source, tree, made, sys.argv[4])
        return
    run(made / "tests/knobs_test")
    check_command(made / "stc", work)
    check_header(tree, made, work)
    check_python(tree, made)


if __name__ == "__main__":
    main()
