"""The knobs of schedules, as the library tells of them (ir/knobs.def): arguments of stc.compile, and members of StcOptions."""
from __future__ import annotations

import inspect
import os
from typing import Any, Callable, List, Mapping, Optional, Sequence, TypeVar, Union

from ._library import KNOBS, COptions
from ._numbers import I32, text, whole, wholes

TYPES = {"number": Optional[int], "shape": Union[int, Sequence[int], None], "word": Optional[str], "text": Optional[str]}
SHAPES = tuple(k.name for k in KNOBS if k.kind == "shape")


def fill(o: COptions, values: Mapping[str, Any]) -> None:
    """Sets the members of `o` that `values` names; None is open."""
    for knob in KNOBS:
        value = values.get(knob.name)
        if value is None:
            continue
        if knob.kind == "number":
            setattr(o, knob.name, whole(knob.name, value, 1, I32))
        elif knob.kind == "shape":
            for d, n in enumerate(wholes(knob.name, value, 1, I32)):
                getattr(o, knob.name)[d] = n
        else:
            setattr(o, knob.name, text(knob.name, value))


def words(o: COptions) -> List[str]:
    """What `o` says of them, as the command takes it."""
    told = {k.name: getattr(o, k.name) for k in KNOBS}
    told.update((n, "x".join(str(d) for d in told[n] if d)) for n in SHAPES)
    return [f"-{n}={os.fsdecode(v) if isinstance(v, bytes) else v}" for n, v in told.items() if v]


F = TypeVar("F", bound=Callable[..., Any])


def takes_knobs(function: F) -> F:
    """Has `function`, which takes them as **knobs, say so to people, refuse others, and list them in its text."""
    was = inspect.signature(function)
    at = next(n for n, p in was.parameters.items() if p.kind is p.VAR_KEYWORD)
    own = [p for n, p in was.parameters.items() if n != at]
    knobs = [inspect.Parameter(k.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=TYPES[k.kind]) for k in KNOBS]
    setattr(function, "__signature__", was.replace(parameters=own + knobs))
    if function.__doc__:
        function.__doc__ += "\n    The schedule, where it is not left to stc:\n\n" + "".join(f"    {k.name}: {k.help}\n" for k in KNOBS)
    return function


def check(function: str, knobs: Mapping[str, Any]) -> None:
    """An error as Python's own for an argument that is no knob."""
    for name in knobs:
        if name not in {k.name for k in KNOBS}:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
