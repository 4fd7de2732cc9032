"""Contexts of libstc, which its messages go to."""
from __future__ import annotations

import ctypes as c
import warnings
from typing import List, Optional

from ._errors import Message, StcWarning, error, in_python
from ._library import MESSAGE_FN, CConfig, lib

_KINDS = ["error", "warning", "remark", "note"]


def text_of(s: Optional[bytes]) -> Optional[str]:
    return None if s is None else s.decode(errors="replace")


class Context:
    """A context of libstc and the messages that came from it."""

    def __init__(self):
        self.messages: List[Message] = []
        keep = self.messages

        @MESSAGE_FN
        def take(_, m):
            m = m.contents
            keep.append(Message(_KINDS[m.kind], text_of(m.file), m.line, m.column, text_of(m.source), in_python(text_of(m.text))))

        self._take = take
        self._config = CConfig(None, take, None)
        self.handle = lib.stc_context_new(c.byref(self._config))
        if not self.handle:
            raise MemoryError("no memory for a context")

    def check(self, status: int) -> None:
        """Raises what a status other than 0 means; warnings become Python's."""
        messages, self.messages[:] = list(self.messages), []
        if status:
            raise error(status, messages)
        for m in messages:
            if m.kind == "warning":
                warnings.warn(str(m), StcWarning, stacklevel=4)
