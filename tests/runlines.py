"""How lit runs the RUN lines of a test here: one bash script, in which any command that fails ends the test as failed.

lit's own external shell joins RUN lines by `&&` within braces, where `set -e` has no effect: of `RUN: a; b` and of a loop's body only the
last command counted, and lit 24 takes that shell away. Here each RUN line stands on lines of its own below `set -e`, `pipefail` and
`inherit_errexit`, so `a; b`, a loop's body, either side of a pipe and `$(...)` in an assignment all count. What bash excepts from `set -e`
is refused before anything runs: tests/loose.py has the list.
"""
import os
import pathlib
import re
import shlex

import lit.Test
import lit.TestRunner
import lit.util
from lit.formats.base import FileBasedTest

from loose import loose

DEBUG = re.compile(lit.TestRunner.kPdbgRegex)
SHORTENED = re.compile(r"UNSUPPORTED:.*sanitize|%if sanitize")  # of a test that a build with the sanitizers leaves out, or runs in part


class Script(FileBasedTest):
    """lit's format of the tests: RUN lines as one strict bash script."""

    def execute(self, test, lit_config):
        """Runs a test, as lit calls it; gives lit's result."""
        if test.config.unsupported:
            return lit.Test.Result(lit.Test.UNSUPPORTED, "Test is unsupported")
        if lit_config.params.get("beside") and not SHORTENED.search(pathlib.Path(test.getSourcePath()).read_text(encoding="utf-8", errors="replace")):
            return lit.Test.Result(lit.Test.UNSUPPORTED, "A build with the sanitizers runs all of this test")
        lines = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(lines, lit.Test.Result):
            return lines
        for line in lines:
            why = loose(DEBUG.sub(r"\2", getattr(line, "command", "")))
            if why:
                return lit.Test.Result(lit.Test.FAIL, f"{line.command}\nA command of this line can fail unseen: {why}.\n")
        if lit_config.noExecute:
            return lit.Test.Result(lit.Test.PASS)
        folder, base = lit.TestRunner.getTempPaths(test)
        substitutions = lit.TestRunner.getDefaultSubstitutions(test, folder, base, normalize_slashes=True)
        conditions = {feature: True for feature in test.config.available_features}
        lines = lit.TestRunner.applySubstitutions(lines, substitutions, conditions, recursion_limit=test.config.recursiveExpansionLimit)
        return run(test, lit_config, lines, base)


def script(lines, mutant=""):
    """The bash script of RUN lines: each behind a word of where it stands, and behind the end that the line before makes if it failed.

    (`set -e` alone does not see that: of `a && b` a may fail.) mutant: `NUMBER:KIND` breaks stc in one line (tests/habits/mutate.py).
    """
    text = "set -e -o pipefail; shopt -s inherit_errexit\n"
    broken, _, kind = mutant.partition(":")
    for number, line in enumerate(lines):
        m = DEBUG.fullmatch(line)
        where, command = m.groups() if m else ("RUN", line)
        text += f"{{ last=$?; set +x; }} 2>/dev/null; test $last = 0 || exit $last; echo {shlex.quote('# ' + where)} >&2; {{ set -x; }} 2>/dev/null\n"
        text += f"export STC_MUTANT={kind if broken == str(number) else ''}\n" if broken else ""
        text += command + "\n"
    return text


def run(test, lit_config, lines, base):
    """Runs the lines in the folder of the test's outputs; gives lit's result."""
    path = pathlib.Path(base + ".script")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script(lines, lit_config.params.get("mutant", "")), encoding="utf-8")
    limit = getattr(test.config, "maxIndividualTestTime", 0) or getattr(lit_config, "maxIndividualTestTime", 0) or 0   # where lit 23 and 22 keep it
    try:
        out, err, code = lit.util.executeCommand([lit_config.getBashPath(), str(path)], cwd=os.path.dirname(test.getExecPath()),
                                                 env={**test.config.environment, "LIT_CURRENT_TESTCASE": test.getFullName()}, timeout=limit)
        status, late = lit.Test.FAIL if code else lit.Test.PASS, ""
    except lit.util.ExecuteCommandTimeoutException as e:
        out, err, code, status, late = e.out, e.err, e.exitCode, lit.Test.TIMEOUT, f"Timeout: {e.msg}\n"
    parts = "".join(f"Command Output ({name}):\n--\n{text}\n--\n" for name, text in (("stdout", out), ("stderr", err)) if text)
    return lit.Test.Result(status, f"Exit Code: {code}\n{late}\n{parts}")
