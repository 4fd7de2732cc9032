"""A window into a plan's runs."""
from __future__ import annotations

import ctypes as c
import weakref
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Optional

from ._context import text_of
from ._errors import Owner
from ._library import lib
from ._numbers import text

if TYPE_CHECKING:
    from ._plan import Plan


class View(Owner):
    """A page that shows a plan's fields while it runs, and has its runs wait, make single steps, take other params and begin anew. Plan.view opens
    it. A notebook shows the page itself; elsewhere `url` is to be opened in a browser. Who knows the address may steer the run."""
    _copying = _pickling = "plan.view() of the other plan opens one of its own"

    def __init__(self, plan: Plan, address: Optional[str], height: int):
        self._plan, self._height = weakref.ref(plan), height
        self._life: Any = plan._life
        self._handle: Optional[c.c_void_p] = c.c_void_p()
        plan._check(lib.stc_view_open(plan._handle, None if address is None else text("address", address), c.byref(self._handle)))
        self._url = text_of(lib.stc_view_url(self._handle))

    @property
    def url(self) -> str:
        """Where the page is. It has a random token, by which alone the page is had."""
        return self._url

    @property
    def is_open(self) -> bool:
        return self._handle is not None

    def open(self) -> "View":
        """Opens the page in the computer's browser."""
        import webbrowser
        webbrowser.open(self._url)
        return self

    def close(self) -> None:
        """Closes the window. A run that waits for the page goes on; one in the background is waited for."""
        plan, handle = self._plan(), self._handle
        if handle is None:
            return
        self._handle = None
        if plan is None:
            lib.stc_view_close(handle)
        else:
            plan._settle()
            plan._window = None
            plan._make(partial(_close, handle))
        self._life = None

    def _forget(self) -> None:
        """The plan is closed, and this with it."""
        self._handle = self._life = None

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"View({self._url!r})" if self.is_open else "View(closed)"

    def _repr_html_(self) -> str:
        if not self.is_open:
            return "<p>The view is closed.</p>"
        url = escape(self._url, quote=True)
        return (f'<iframe src="{url}" width="100%" height="{self._height}" style="border: 0" title="a window into the run"></iframe>'
                f'<p><a href="{url}" target="_blank" rel="noopener">in a window of its own</a></p>')


def _close(handle: c.c_void_p) -> int:
    lib.stc_view_close(handle)
    return 0
