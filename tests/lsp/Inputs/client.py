"""client.py STC: an editor's side of `stc lsp`: opens a program, types in it, asks, and compares the answers."""
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse

PROGRAM = """\
param N = 256, c2 : real = 0.2;
grid  G = [0 .. N-1, 0 .. N-1], 100;
struct Cell { mass : f32; speed : f32[2] };
field u : real on G outside 0 history 1;
field cells : Cell on G;
op lap(X) = X[-1,0] + X[1,0] + X[0,-2] + X[0,2] - 4 * X;
fn twice(x : real) : real { let y = x + x; return y; }
stencil wave(u)[1 .. N-2, 2 .. N-3] { let speed = c2 * lap(u); u = u + twice(speed) - 0.1 * u@1 + cells.mass; }
"""
URI = "file:///tmp/drum%20one.stn"


class Editor:
    def __init__(self, stc):
        self.server = subprocess.Popen([stc, "lsp", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids, self.version = 0, 0

    def send(self, **message):
        body = json.dumps(dict(jsonrpc="2.0", **message), ensure_ascii=False).encode()
        self.server.stdin.write(b"Content-Length: %d\r\nContent-Type: x\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def receive(self):
        headers = {}
        while (line := self.server.stdout.readline().strip()):
            key, value = line.split(b":")
            headers[key] = int(value)
        return json.loads(self.server.stdout.read(headers[b"Content-Length"]))

    def ask(self, method, **params):
        self.ids += 1
        self.send(id=self.ids, method=method, params=params)
        answer = self.receive()
        assert answer["id"] == self.ids, answer
        return answer

    def at(self, method, text, word, nth=0, **more):
        """Asks about the nth occurrence of the word in the text."""
        place = -1
        for _ in range(nth + 1):
            place = text.index(word, place + 1)
        line = text.count("\n", 0, place)
        character = len(text[text.rfind("\n", 0, place) + 1:place].encode("utf-16-le")) // 2
        return self.ask(f"textDocument/{method}", textDocument={"uri": URI}, position={"line": line, "character": character}, **more)["result"]

    def show(self, text):
        """Opens or changes the program; its diagnostics."""
        self.version += 1
        if self.version == 1:
            self.send(method="textDocument/didOpen", params={"textDocument": {"uri": URI, "languageId": "stencil", "version": 1, "text": text}})
        else:
            self.send(method="textDocument/didChange",
                      params={"textDocument": {"uri": URI, "version": self.version}, "contentChanges": [{"text": text}]})
        told = self.receive()
        assert told["method"] == "textDocument/publishDiagnostics" and told["params"]["uri"] == URI
        assert told["params"]["version"] == self.version
        return told["params"]["diagnostics"]


def cut(text, r):
    """The text of a range that lies on one line."""
    line = text.split("\n")[r["start"]["line"]].encode("utf-16-le")
    return line[2 * r["start"]["character"]:2 * r["end"]["character"]].decode("utf-16-le")


def check_start(e):
    assert e.ask("textDocument/hover")["error"]["code"] == -32002
    able = e.ask("initialize", processId=None, rootUri=None, capabilities={})["result"]
    assert able["capabilities"]["textDocumentSync"]["change"] == 1 and able["capabilities"]["hoverProvider"]
    assert able["serverInfo"]["name"] == "stc"
    e.send(method="initialized", params={})
    assert e.ask("textDocument/rename")["error"]["code"] == -32601


def check_diagnostics(e):
    assert e.show(PROGRAM) == []
    wrong = PROGRAM.replace("lap(u)", "lop(u)")
    one, = e.show(wrong)
    assert one["severity"] == 1 and "lop" in one["message"] and "lap" in one["message"] and cut(wrong, one["range"]) == "lop", one
    half, = e.show(PROGRAM.replace("outside 0 history 1;", "outside 0 his"))[:1]
    assert half["severity"] == 1 and half["range"]["start"]["line"] in (3, 4), half
    unused = e.show(PROGRAM.replace("let speed", "let idle = 1.0; let speed"))
    assert [d["severity"] for d in unused] == [2] and "idle" in unused[0]["message"], unused
    foreign = "/* \N{OLD ITALIC LETTER A}\N{GREEK SMALL LETTER ALPHA} */ param M = Q;\n"
    told = e.show(foreign)
    assert cut(foreign, told[0]["range"]) == "Q", told
    strange = e.show("grid G = [0 .. 9], \N{GREEK SMALL LETTER ALPHA};\n")
    assert strange and strange[0]["severity"] == 1, strange
    for n in range(0, len(PROGRAM), 7):
        e.show(PROGRAM[:n])
    assert e.show(PROGRAM) == []


def check_include(e):
    """A program in a folder whose name its URI writes otherwise; a file that is missing is all that is told of."""
    with tempfile.TemporaryDirectory(prefix="of stc %20 ") as folder:
        with open(os.path.join(folder, "ops.stn"), "w") as f:
            f.write("op twice(X) = 2 * X;\n")
        for name, message in ("ops.stn", None), ("none.stn", "cannot include '" + os.path.join(folder, "none.stn")):
            uri = "file://" + urllib.parse.quote(os.path.join(folder, "with " + name))
            text = f'include "{name}";\ngrid G = [0 .. 9], 1;\nfield A : f32;\nstencil s(A)[G] = twice(A);\n'
            e.send(method="textDocument/didOpen", params={"textDocument": {"uri": uri, "languageId": "stencil", "version": 1, "text": text}})
            told = e.receive()["params"]["diagnostics"]
            assert len(told) == (message is not None) and all(message in d["message"] for d in told), told


def check_hover(e):
    text = e.at("hover", PROGRAM, "u = u")["contents"]["value"]
    assert "field u : real on G outside 0 history 1;" in text and "of type `f32`" in text and "[0 .. N - 1, 0 .. N - 1]" in text, text
    assert "`wave` reads it at [-1 .. 1, -2 .. 2]." in text and "`wave` reads `u@1` at [0, 0]." in text and "`wave` writes it." in text, text
    text = e.at("hover", PROGRAM, "wave")["contents"]["value"]
    assert "Region `[1 .. N - 2, 2 .. N - 3]`" in text and "Reads `u` at [-1 .. 1, -2 .. 2]." in text, text
    assert "a param of type `i64`" in e.at("hover", PROGRAM, "N-1")["contents"]["value"]
    assert "op lap(X)" in e.at("hover", PROGRAM, "lap(u)")["contents"]["value"]
    assert "a let of type `f32`" in e.at("hover", PROGRAM, "speed)")["contents"]["value"]
    assert "a member of `Cell`, of type `f32`" in e.at("hover", PROGRAM, "mass", 1)["contents"]["value"]
    assert "[0 .. N - 1, 0 .. N - 1]" in e.at("hover", PROGRAM, "G out")["contents"]["value"]
    assert e.at("hover", PROGRAM, "stencil") is None and e.at("hover", PROGRAM, "[1 ..") is None
    outside = e.ask("textDocument/hover", textDocument={"uri": URI}, position={"line": 999, "character": 5})["result"]
    assert outside is None


def check_definition(e):
    for word, nth, line, column in (("lap", 1, 5, 3), ("u)", 1, 3, 6), ("speed", 2, 7, 42), ("X[1", 0, 5, 7), ("x + x", 0, 6, 9), ("G out", 0, 1, 6)):
        found = e.at("definition", PROGRAM, word, nth)
        assert found and found["uri"] == URI and found["range"]["start"] == {"line": line, "character": column}, (word, found)
    assert e.at("definition", PROGRAM, "return") is None


def check_completion(e):
    names = {i["label"]: i for i in e.at("completion", PROGRAM, "u = u")}
    assert {"u", "N", "lap", "wave", "speed", "stencil", "history", "sqrt"} <= set(names) and "X" not in names and "mass" not in names
    assert names["u"]["detail"] == "a field" and names["stencil"]["kind"] == 14
    assert {i["label"] for i in e.at("completion", PROGRAM, "mass;")} == {"mass", "speed"}
    broken = PROGRAM + "stencil next(u)[G] = la"
    assert e.show(broken)
    assert "lap" in {i["label"] for i in e.at("completion", broken, "la", broken.count("la") - 1)}
    assert e.show(PROGRAM) == []


def check_symbols(e):
    symbols = e.ask("textDocument/documentSymbol", textDocument={"uri": URI})["result"]
    assert [s["name"] for s in symbols] == ["N", "c2", "G", "Cell", "u", "cells", "lap", "twice", "wave"], symbols


def check_formatting(e):
    options = {"tabSize": 2, "insertSpaces": True}
    ugly = "param  N=4;\ngrid G=[0..N-1],3;"
    e.show(ugly)
    edit, = e.ask("textDocument/formatting", textDocument={"uri": URI}, options=options)["result"]
    assert edit["newText"] == "param N = 4;\ngrid G = [0 .. N-1], 3;\n", edit
    assert edit["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 18}}, edit
    e.show(edit["newText"])
    assert e.ask("textDocument/formatting", textDocument={"uri": URI}, options=options)["result"] == []
    e.show("param N = = 4;")
    assert e.ask("textDocument/formatting", textDocument={"uri": URI}, options=options)["result"] is None


def check_wire(e):
    e.server.stdin.write(b"Content-Length: 3\r\n\r\n{x}")
    e.server.stdin.flush()
    assert e.receive()["error"]["code"] == -32700
    e.send(id=77)
    assert e.receive()["error"]["code"] == -32600
    e.send(method="$/setTrace", params={"value": "off"})
    assert e.at("hover", "param N", "N") is not None


def check_end(e, stc):
    e.send(method="textDocument/didClose", params={"textDocument": {"uri": URI}})
    assert e.receive()["params"]["diagnostics"] == []
    assert e.ask("textDocument/hover", textDocument={"uri": URI}, position={"line": 0, "character": 0})["result"] is None
    assert e.ask("shutdown")["result"] is None
    e.send(method="exit")
    assert e.server.wait(20) == 0
    early = Editor(stc)
    early.send(method="exit")
    assert early.server.wait(20) != 0


def main(stc):
    e = Editor(stc)
    check_start(e)
    check_diagnostics(e)
    check_include(e)
    check_hover(e)
    check_definition(e)
    check_completion(e)
    check_symbols(e)
    check_formatting(e)
    check_wire(e)
    check_end(e, stc)
    print("all answers are right")


if __name__ == "__main__":
    main(*sys.argv[1:])
