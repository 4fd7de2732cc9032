"""The gradient of a program's losses."""
from __future__ import annotations

import ctypes as c
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Union

import numpy as np

from ._context import text_of
from ._errors import Message, OptionError
from ._library import TYPES, lib
from ._numbers import whole

if TYPE_CHECKING:
    from ._plan import Plan

_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


class Gradient(NamedTuple):
    """What is differentiated, and its derivatives by each name that the program's `gradient` is to: arrays of that one's shape, a number for a param."""
    value: float
    by: Dict[str, Any]


def memory_bytes(memory: Union[int, str, None]) -> int:
    """8589934592 or "8GiB" in bytes; 0 for None: as many as it takes."""
    if memory is None:
        return 0
    if not isinstance(memory, str):
        return whole("memory", memory, 1)
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]*)\s*", memory)
    if not found or found[2] not in _UNITS or float(found[1]) * _UNITS[found[2]] < 1:
        raise OptionError(2, [Message("error", None, 0, 0, None, f'memory={memory!r}: a number of bytes is wanted, or a text such as "8GiB" or "500MB"')])
    return int(float(found[1]) * _UNITS[found[2]])


def gradient(plan: "Plan", steps: Optional[int], memory: Union[int, str, None]) -> Gradient:
    value, program = c.c_double(), plan.program._handle
    n = -1 if steps is None else whole("steps", steps, 0)
    room = memory_bytes(memory)
    plan._settle()
    plan._check(plan._make(partial(lib.stc_plan_gradient, plan._handle, n, room, c.byref(value))))
    by = {text_of(lib.stc_program_gradient_name(program, i)): _values(plan, i) for i in range(lib.stc_program_gradient_count(program))}
    return Gradient(value.value, by)


def _values(plan: "Plan", i: int) -> Any:
    """The derivatives by what has number i."""
    name = text_of(lib.stc_program_gradient_name(plan.program._handle, i))
    values = np.empty(lib.stc_plan_gradient_size(plan._handle, i), np.float64)
    plan._check(lib.stc_plan_gradient_get(plan._handle, i, values.ctypes.data_as(c.POINTER(c.c_double)), values.size))
    if name not in plan.program.fields and name not in plan.program.arrays:
        return float(values[0])
    info = plan._info(plan._find(name))
    shape = tuple(info.shape[d] for d in range(info.rank))
    if TYPES[info.type] == "composite":
        kinds = {TYPES[info.components[k].type] for k in range(info.ncomponents)}
        whole_shape, dtype = plan._layout(info)
        shape = whole_shape if dtype.names is None else shape + (info.ncomponents,)
    else:
        kinds = {TYPES[info.type]}
    return values.reshape(shape).astype(np.float64 if "f64" in kinds else np.float32)
