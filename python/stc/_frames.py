"""Fields that are series of frames: an array whose first axis is that of the frames, or a function that makes each."""
from __future__ import annotations

import ctypes as c
import threading
import weakref
from typing import TYPE_CHECKING, Any, Tuple

from . import _arrays as arrays
from ._library import FRAME_FN, CFieldInfo

if TYPE_CHECKING:
    from ._plan import Plan


def is_series(info: CFieldInfo, shape: Tuple[int, ...], value: Any) -> bool:
    """Is the value for the field, whose arrays have such a shape, a series? The frames of one may leave out axes of length 1, as that of members of a
    shared field is."""
    have = tuple(getattr(value, "shape", ()))
    few = len(have) > 1 and not arrays.is_shape(have, shape) and arrays.is_shape(have[1:], shape)
    return bool(info.frames) and (callable(value) or len(have) == len(shape) + 1 or few)


def giver(plan: "Plan", name: str, info: CFieldInfo, value: Any) -> Any:
    """What the library calls for a frame of field `name`. An exception ends the run, and comes out of it."""
    me = weakref.ref(plan)

    @FRAME_FN
    def give(_, frame, to, size):
        now = me()
        if now is None:
            return 130
        now._giving = threading.get_ident()
        try:
            values = now._values(name, info, value(frame) if callable(value) else value[frame])
            c.memmove(to, values.ctypes.data, size)
            return 0
        except BaseException as e:
            now._interrupt = e
            return 130
        finally:
            now._giving = None
    return give
