"""Contexts of libstc, which its messages go to."""
from __future__ import annotations

import ctypes as c
import warnings
from typing import Any, Callable, List, Optional, Tuple, overload

from . import _running as running
from ._errors import Message, StcWarning, error, in_python
from ._library import MESSAGE_FN, CConfig, lib

_KINDS = ["error", "warning", "remark", "note"]


@overload
def text_of(s: bytes) -> str: ...
@overload
def text_of(s: None) -> None: ...
def text_of(s: Optional[bytes]) -> Optional[str]:
    return None if s is None else s.decode(errors="replace")


class Context:
    """A context of libstc and the messages that came from it."""

    def __init__(self):
        self.messages: List[Message] = []
        self._left: Optional[Tuple[running.Call, Callable[[], None]]] = None
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

    def make(self, owner: Any, function: Callable[[], int], undo: Callable[[], None] = lambda: None) -> int:
        """Makes a call that may compile, which Ctrl-C ends in the main thread; its status. owner: what must live as long as it; undo: gives back
        what it has made when nobody waits for that any more. One that did not end soon when it was told to is waited for by the next."""
        self.settle()
        if not running.is_main_thread():
            return function()
        call = running.Call((self, owner), function, lambda: lib.stc_context_stop(self.handle, True))
        try:
            self._left = (call, undo)
            call.begin()
            call.ended.wait()
        except BaseException:
            if call.drop():
                self.settle()
            raise
        self._left = None
        return call.status

    def settle(self) -> None:
        """Waits for a call that was told to end."""
        if self._left is not None:
            call, undo = self._left
            while not call.drop():
                pass
            self._left = None
            if call.status == 0:
                undo()
            lib.stc_context_stop(self.handle, False)
            self.messages.clear()

    def check(self, status: int) -> None:
        """Raises what a status other than 0 means; warnings become Python's."""
        messages, self.messages[:] = list(self.messages), []
        if status:
            raise error(status, messages)
        for m in messages:
            if m.kind == "warning":
                warnings.warn(m.told(), StcWarning, stacklevel=4)
