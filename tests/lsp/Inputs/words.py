"""words.py STC PACKAGING: the grammar for VS Code and the one for Vim know every word of the language, which the server's completion lists,
and no others; the files that describe the extension name files that are there."""
import json
import re
import sys
from pathlib import Path

from client import Editor


def words_of(stc):
    e = Editor(stc)
    e.ask("initialize", capabilities={})
    e.show("param N = 1;\n")
    words = {i["label"] for i in e.at("completion", "param N = 1;\n", "param") if i["kind"] == 14}
    e.ask("shutdown")
    e.send(method="exit")
    assert e.server.wait(20) == 0
    return words


def in_lists(patterns):
    """The words of patterns that are lists of words."""
    return {w for p in patterns for m in [re.fullmatch(r"\\b\(([\w|]+)\)\\b", p.get("match", ""))] if m for w in m[1].split("|")}


def check_vscode(folder, words):
    package = json.loads((folder / "package.json").read_text())
    grammar = json.loads((folder / package["contributes"]["grammars"][0]["path"]).read_text())
    json.loads((folder / package["contributes"]["languages"][0]["configuration"]).read_text())
    assert (folder / package["main"]).exists()
    known = in_lists(grammar["repository"]["words"]["patterns"])
    assert known == words, known ^ words
    for part in grammar["repository"].values():
        for pattern in part["patterns"]:
            for key in pattern.keys() & {"match", "begin", "end"}:
                re.compile(pattern[key])
    number = [p["match"] for p in grammar["repository"]["numbers"]["patterns"]]
    assert [[bool(re.fullmatch(n, s)) for n in number] for s in ("1", "1.5", "1e9", "2.5e-3")] == [[0, 1], [1, 0], [1, 0], [1, 0]]
    assert not re.match(number[0], "0 .. 7") and re.match(number[1], "0..7")[0] == "0"


def check_vim(folder, words):
    lines = (folder / "syntax/stencil.vim").read_text().splitlines()
    known = {w for line in lines if line.startswith("syntax keyword") and "contained" not in line for w in line.split()[3:]}
    assert known == words, known ^ words


def main(stc, packaging):
    words = words_of(stc)
    assert len(words) > 50
    check_vscode(Path(packaging) / "vscode", words)
    check_vim(Path(packaging) / "vim", words)
    print("the grammars know all words")


if __name__ == "__main__":
    main(*sys.argv[1:])
