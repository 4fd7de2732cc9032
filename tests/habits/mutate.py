"""mutate.py BUILD [FILTER...]: does each RUN line of the lit tests fail if the stc that it runs is broken?

For each RUN line that runs %stc the test is run once more, without the files of runs before, with an stc that is broken in this line
alone: it `fails` (says nothing, exit status 1) or, where the line looks at what stc says or writes (`|`, `>` or `-o`), tells `garbage` (a
line of it, to no file, status 0). A test that passes all the same does not look at what that line does; such lines are named, and the exit
status is 1. A FILTER is a regular expression over FOLDER/FILE (none: all tests, which takes hours); --jobs=N: tests at once.

    python3 tests/habits/mutate.py build/tests '^(ir|fmt)/' --jobs=2
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import runlines_test  # noqa: E402 (the folder is known only now)

LIT = "/usr/lib/llvm-22/bin/lit"
MUTANTS = ["fails", "garbage"]
WRAPPER = """#!/bin/bash
case "${{STC_MUTANT-}}" in
  fails) exit 1 ;;
  garbage) echo "what is this"; exit 0 ;;
  *) exec {stc} "$@" ;;
esac
"""


def passes(build, name, *params):
    """Does the test pass? None if it is not run here (unsupported)."""
    words = [LIT, "-q", "-j1", "--filter=^stc :: " + re.escape(name) + "$", *(f"-D{p}" for p in params), build / "tests"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if "Unsupported" in done.stdout + done.stderr or "did not discover" in done.stdout + done.stderr:
        return None
    return done.returncode == 0


def survivors(build, wrapper, path, mutants):
    """The RUN lines of a test, with the mutant, that pass though their stc is broken; and a word if the test itself fails."""
    name, found = str(path.relative_to(runlines_test.TESTS)), []
    lines = [(k, at, text) for k, (at, text) in enumerate(runlines_test.run_lines(path)) if "%stc" in text]
    if not lines or not passes(build, name, f"stc={wrapper}"):
        return name, found, bool(lines)
    for k, at, text in lines:
        for mutant in mutants:
            for old in (build / "tests" / name).parent.glob(f"Output/{path.name}.tmp*"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            if (mutant == "fails" or re.search(r"[|>]|-o ", text)) and passes(build, name, f"stc={wrapper}", f"mutant={k}:{mutant}"):
                found.append((at, mutant, text))
    return name, found, False


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("build", type=lambda p: pathlib.Path(p).resolve())
    arguments.add_argument("filters", nargs="*")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--mutants", type=lambda s: s.split(","), default=MUTANTS)
    a = arguments.parse_args()
    excluded = ("programs", "fuzz", "bench", "gpu", "unit", "standin", "api")
    files = [p for p in runlines_test.files() if p.relative_to(runlines_test.TESTS).parts[0] not in excluded]
    files = [p for p in files if not a.filters or any(re.search(f, str(p.relative_to(runlines_test.TESTS))) for f in a.filters)]
    count = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        wrapper = pathlib.Path(folder) / "stc"
        wrapper.write_text(WRAPPER.format(stc=a.build / "stc"))
        wrapper.chmod(0o755)
        for name, found, broken in pool.map(lambda p: survivors(a.build, wrapper, p, a.mutants), files):
            if broken:
                print(f"{name}: not tried: the test does not pass here", flush=True)
            for at, mutant, text in found:
                print(f"{name}:{at}: passes where stc {mutant}: {text[:200]}", flush=True)
            count += len(found)
    print(f"{len(files)} tests, {count} lines and mutants that live")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
