"""The gradient of a program's losses."""
from __future__ import annotations

import ctypes as c
import re
from functools import partial
from os import PathLike, fsencode
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from ._adjoint import Gradient
from ._context import text_of
from ._errors import Message, OptionError
from ._library import TYPES, CPull, lib, strings
from ._numbers import whole

if TYPE_CHECKING:
    from ._plan import Plan

_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


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


def _set_scratch(plan: "Plan", folder: Union[str, "PathLike[str]", None]) -> None:
    plan._check(lib.stc_plan_gradient_scratch(plan._handle, None if folder is None else fsencode(folder)))


def gradient(plan: "Plan", steps: Optional[int], memory: Union[int, str, None], scratch: Union[str, "PathLike[str]", None]) -> Gradient:
    value = c.c_double()
    n = -1 if steps is None else whole("steps", steps, 0)
    room = memory_bytes(memory)
    plan._settle()
    _set_scratch(plan, scratch)
    plan._check(plan._make(partial(lib.stc_plan_gradient, plan._handle, n, room, c.byref(value))))
    return Gradient(value.value, {name: _values(plan, i, name) for i, name in enumerate(_names(plan))})


def _names(plan: "Plan") -> List[str]:
    """What the program's `gradient` is to."""
    program = plan.program._handle
    return [text_of(lib.stc_program_gradient_name(program, i)) for i in range(lib.stc_program_gradient_count(program))]


def pull(plan: "Plan", steps: Optional[int], bars: Mapping[str, Any], to: Optional[Sequence[str]], memory: Union[int, str, None],
         scratch: Union[str, "PathLike[str]", None]) -> Dict[str, Any]:
    n = -1 if steps is None else whole("steps", steps, 0)
    room = memory_bytes(memory)
    plan._settle()
    _set_scratch(plan, scratch)
    names = _names(plan) if to is None else [to] if isinstance(to, str) else list(to)
    if to is None and not names:
        raise OptionError(2, [Message("error", None, 0, 0, None, "the program says no gradient, so say what the derivatives are to be by: to=[\"v\"]")])
    given = {}
    for name, bar in bars.items():
        place = plan._find(name)
        if place.field < 0 or place.component >= 0:
            raise KeyError(f"{name!r} is no field of the program, which derivatives can be given by")
        given[name] = plan._values(name, plan._info(place), bar)
    of = (CPull * max(len(given), 1))(*[CPull(name.encode(), v.ctypes.data, v.nbytes) for name, v in given.items()])
    words, count = strings([name if isinstance(name, str) else str(name) for name in names])

    def call(given=given):      # which live as long as the call, that Ctrl-C may leave to a worker
        return lib.stc_plan_pull(plan._handle, n, room, len(given), of, count, words)
    plan._check(plan._make(call))
    return {name: _values(plan, i, name) for i, name in enumerate(names)}


def _values(plan: "Plan", i: int, name: str) -> Any:
    """The derivatives by what has number i."""
    if name in plan.program.fields:
        info = plan._info(plan._find(name))
        if TYPES[info.type] == "f32":
            single = np.empty(tuple(info.shape[d] for d in range(info.rank)), np.float32)
            plan._check(lib.stc_plan_gradient_get_f32(plan._handle, i, single.ctypes.data_as(c.POINTER(c.c_float)), single.size))
            return single
    values = np.empty(lib.stc_plan_gradient_size(plan._handle, i), np.float64)
    plan._check(lib.stc_plan_gradient_get(plan._handle, i, values.ctypes.data_as(c.POINTER(c.c_double)), values.size))
    if name not in plan.program.fields and name not in plan.program.arrays:
        return values if name in plan.program.scalars and isinstance(plan._scalar(name), np.ndarray) else float(values[0])
    info = plan._info(plan._find(name))
    shape = tuple(info.shape[d] for d in range(info.rank))
    if TYPES[info.type] == "composite":
        kinds = {TYPES[info.components[k].type] for k in range(info.ncomponents)}
        whole_shape, dtype = plan._layout(info)
        if dtype.kind == "c":       # by the real part, and i times that by the imaginary one
            return values.view(np.complex128).reshape(whole_shape).astype(dtype)
        shape = whole_shape if dtype.names is None else shape + (info.ncomponents,)
    else:
        kinds = {TYPES[info.type]}
    return values.reshape(shape).astype(np.float64 if "f64" in kinds else np.float32)
