"""pages_test.py STC LIBRARY: pages.py sees what is wrong in a page: a command that fails, another output, a block that nothing runs. And the
language's page: its programs compile, and its other declarations can be read."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WRONG = {
    "exit code 3": "```\n// a.stn\ngrid G = [0 .. 9], 1\n```\n\n```sh\nstc -o a.o a.stn\n```\n",
    "exit code 1": "```sh\nfalse\ntrue\n```\n",
    "not what the commands print": "```sh\necho one two\n```\n\n```text\none ... three\n```\n",
    "neither run nor marked": "```c\nint a;\n```\n",
    "hidden is run": "<!-- hidden sh\necho hidden is run; false\n-->\n",
    "a cell failed": "<!-- cell -->\n```\nnothing_of_this_name\n```\n",
}
RIGHT = "<!-- hidden b.txt\nbar\n-->\n<!-- as c.txt -->\n```c\nbaz\n```\n<!-- hidden sh\ngrep bar b.txt; grep baz c.txt\n-->\n```\n# a.txt\nfoo\n```\n\n```sh\ncat a.txt\n```\n\n```text\n# a...\nfoo\n```\n\n<!-- not run: no -->\n```c\nint a;\n```\n\n<!-- needs no-such-program -->\n```sh\nfalse\n```\n"


LANGUAGE = Path(__file__).parents[2] / "docs" / "language.md"
DECLARATION = re.compile(r"(?://|param|const|let|struct|grid|region|field|op|fn|stencil|init|sweep|inject|mask|reduce|probe|scalar|loss)\b|//")


def check_language(stc, folder):
    """All blocks of the language's page but those with `...`, single lines of a body and the grammar."""
    text = LANGUAGE.read_text(encoding="utf-8")
    for m in re.finditer(r"^```\n(.*?)^```$", text, re.M | re.S):
        block = m[1]
        if "..." in block or not DECLARATION.match(block) or re.search("^\\w+ = ", block, re.M):
            continue
        file = Path(folder) / "block.stn"
        file.write_text(block, encoding="utf-8")
        whole = re.search("^param ", block, re.M) and re.search("^grid ", block, re.M) and re.search("^(stencil|sweep) ", block, re.M) and re.search("^field ", block, re.M)
        words = [stc, "-emit=sir", "-o", "-", file] if whole else [stc, "fmt", "--check", file]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert "error:" not in done.stderr, f"{LANGUAGE}:{text[:m.start()].count(chr(10)) + 1}: {done.stderr}"


def main(words):
    with tempfile.TemporaryDirectory() as folder:
        check_language(words[0], folder)
    with tempfile.TemporaryDirectory() as folder:
        for expected, text in [*WRONG.items(), ("", RIGHT)]:
            page = Path(folder) / "page.md"
            page.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, Path(__file__).with_name("pages.py"), *words, page], capture_output=True, text=True, check=False)
            assert bool(done.returncode) == bool(expected) and expected in done.stderr, f"{text}: {done.returncode} {done.stdout} {done.stderr}"


if __name__ == "__main__":
    main(sys.argv[1:])
