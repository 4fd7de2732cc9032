"""%%stencil: a notebook's cell as a program."""
from __future__ import annotations

import shlex

from ._errors import StcError
from ._knobs import SHAPES
from ._program import compile


def _keywords(words):
    """`real=f64 T=8 block=8x32` as keywords of stc.compile."""
    out = {}
    for w in words:
        name, _, text = w.partition("=")
        if text.isdigit():
            out[name] = int(text)
        elif name in (*SHAPES, "grid"):
            out[name] = tuple(int(n) for n in text.split("x"))
        elif text in ("", "true", "True", "false", "False"):
            out[name] = text not in ("false", "False")
        else:
            out[name] = text
    return out


def register(ipython) -> None:
    """Adds the magic to a shell."""
    def stencil(line: str, cell: str):
        """%%stencil NAME [real=f64 schedule=overlap T=8 ...]: compiles the cell; the variable NAME becomes the program."""
        words = shlex.split(line)
        if not words or not words[0].isidentifier():
            raise ValueError("write %%stencil NAME, the variable that the program goes into")
        try:
            program = compile(cell, name=f"{words[0]}.stn", **_keywords(words[1:]))
        except StcError as e:
            print(e)
            return None
        ipython.push({words[0]: program})
        return None

    ipython.register_magic_function(stencil, "cell", "stencil")
