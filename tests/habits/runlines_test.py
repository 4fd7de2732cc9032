"""runlines_test.py LIT: a RUN line whose command fails, wherever in the line, fails its test; and no RUN line of this folder lets one fail unseen.

Runs a suite of small tests by the program LIT, as the tests of stc are run (tests/runlines.py), and looks at which pass.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from loose import loose  # noqa: E402 (the folder is known only now)

PASSES = [
    "true; true", "cd . && true", "for i in 1 2; do true; done", "r=0; false || r=$?; test $r = 1", "(echo a; echo b) | grep -q b",
    "for i in 1 2; do true && true || exit 1; done && true", "{ true; } && true", "if false; then false; fi", "x=$(echo a); test $x = a",
    "true | sed s/a/b/ && test 1 = 1", "case a in b) false;; a) true;; esac", "false || { true; }", "echo '; && || !' && echo \"$(true; true)\"",
    "for i in 1 2; do true && false && exit 1; test $i; done", "false & wait $! || test $? = 1", "test $(((1 + 4) % 3)) = $((1 + (1))) && true", "mkdir -p d; cd d\n# RUN: test $(basename $PWD) = d",
]
FAILS = [
    "false; true", "true; false; true", "for i in 1 2; do false; true; done", "for i in 1 2; do test $i = 2; done", "false | cat", "cat /dev/null | false | cat",
    "(false; true) | cat", "false && true\n# RUN: true", "true && false\n# RUN: true", "x=$(false); true", "x=$(false; true); true", "{ false; true; }",
    "cd . && { false; true; }", "if true; then false; true; fi", "case a in a) false; true;; esac", "for i in 1 2; do true && false || exit 1; done",
    "true\n# RUN: false\n# RUN: true", "while test ! -e none; do touch none; false; done", "nobody-has-this-program; true", "f() { false; true; }; f",
    "for i in 1 2; do false && false && exit 1; true; done; false; true",
]
REFUSED = [
    "! false", "cd . && ! false && true", "true; ! false", "false || true", "false || :", "set -e; true", "true && false; true", "for i in 1 2; do true && false; done",
    "{ false; true; } && true", "(false; true) && true", "for i in 1 2; do false; done && true", "for i in 1; do false; true; done || exit 1",
    "for i in 1 2; do if true; then true && false; fi; done", "if true; then false; true; fi && true", "(true && false; true) | cat", "cd . && for i in 1; do true && false; done",
]


def run_lines(path):
    """(number of its last line, text) of each RUN line of a test, with what lit joins by a backslash."""
    held = ""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        m = re.search(r"RUN:(.*)", line)
        if m:
            held += m.group(1).strip()
            if held.endswith("\\"):
                held = held[:-1]
            else:
                yield number, held
                held = ""


def files():
    """All tests of lit's."""
    return sorted(p for p in TESTS.rglob("*") if p.suffix in (".test", ".stn", ".sir", ".kir") and "Inputs" not in p.parts)


def outcomes(lit, lines):
    """By name, whether each of the tests passes that these RUN lines make."""
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        (top / "lit.cfg.py").write_text(f"import sys\nsys.path.insert(0, {str(TESTS)!r})\nimport runlines\nconfig.name = 'small'\n"
                                        "config.test_format = runlines.Script()\nconfig.suffixes = ['.test']\n")
        for name, line in lines.items():
            (top / f"{name}.test").write_text(f"# RUN: {line}\n")
        done = subprocess.run([lit, "-a", "-j2", folder], capture_output=True, text=True)
        return {name: f"PASS: small :: {name}.test" in done.stdout for name in lines}, done.stdout


def main(lit):
    wrong = [f"{path}:{number}: {loose(line)}" for path in files() for number, line in run_lines(path) if loose(line)]
    wrong += [f"not refused: {line}" for line in REFUSED if not loose(line)]
    wrong += [f"refused, though nothing fails unseen: {line}: {loose(line)}" for line in PASSES + FAILS if loose(line)]
    lines = {f"{kind}{i}": line for kind, all_of in (("passes", PASSES), ("fails", FAILS), ("refused", REFUSED)) for i, line in enumerate(all_of)}
    passed, told = outcomes(lit, lines)
    wrong += [f"{'fails' if name.startswith('passes') else 'passes'}: {lines[name]}" for name in lines if passed[name] != name.startswith("passes")]
    if wrong:
        print(*wrong, told, sep="\n")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
