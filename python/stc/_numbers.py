"""Arguments from outside, checked before anything is made of them; errors name the argument."""
from __future__ import annotations

import operator
from typing import Any, List, Mapping, Optional, Tuple

import numpy as np

from ._errors import Message, OptionError

I32, I64 = 2**31 - 1, 2**63 - 1


def _wrong(why: str) -> OptionError:
    return OptionError(2, [Message("error", None, 0, 0, None, why)])


def whole(name: str, value: Any, least: int, most: int = I64) -> int:
    """An integer of any kind (what has __index__, or a float without a fraction; no text, no truth value) between least and most."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = int(value) if isinstance(value, (float, np.floating)) and float(value).is_integer() else operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: an integer is wanted, and this is of type {type(value).__name__}") from None
    if not least <= number <= most:
        raise _wrong(f"{name}={value!r}: the number is at least {least}" + (f", and at most {most}" if most < I64 or number > most else ""))
    return number


def flag(name: str, value: Any) -> bool:
    """True or False, or 1 or 0; no text, of which "no" would count as true."""
    if isinstance(value, (bool, np.bool_, int, np.integer)) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{name}={value!r}: True or False is wanted, and this is of type {type(value).__name__}")


def wholes(name: str, value: Any, least: int, most: int = I64, rank: int = 3) -> Tuple[int, ...]:
    """An integer, or up to `rank` of them, one for each dimension."""
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__") or np.ndim(value) == 0:
        return (whole(name, value, least, most),)
    numbers = tuple(whole(name, n, least, most) for n in value)
    if not 1 <= len(numbers) <= rank:
        raise _wrong(f"{name}={value!r}: there are {len(numbers)} numbers, and a grid has 1 to {rank} dimensions")
    return numbers


def scalar(name: str, value: Any, type: str) -> Any:
    """The value of a param of stc's type: no float for an integer, none that is out of range, true and false for bool alone."""
    if hasattr(value, "item") and np.ndim(value) == 0:
        value = value.item()
    if type == "bool" or isinstance(value, bool):
        if type == "bool" and isinstance(value, bool):
            return value
        raise TypeError(f"{name}={value!r}: the param is of type {type}, and this is of type {value.__class__.__name__}")
    if type[0] in "iu":
        bits = int(type[1:])
        return whole(name, value, 0 if type[0] == "u" else -2**(bits - 1), 2**bits - 1 if type[0] == "u" else 2**(bits - 1) - 1)
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, OverflowError):
        raise TypeError(f"{name}={value!r}: the param is of type {type}, and this is no number of that kind") from None


def text(name: str, value: Any) -> bytes:
    """A text, which libstc takes to its first NUL: one within is an error."""
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r}: a text is wanted, and this is of type {type(value).__name__}")
    if "\0" in value:
        raise _wrong(f"{name}: there is a NUL character in the text, at place {value.index(chr(0))}")
    return value.encode(errors="surrogateescape")


def defines(params: Optional[Mapping[str, Any]]) -> List[str]:
    """"NAME=VALUE" of each param, numbers so that they read back exactly."""
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"defines={params!r}: a dict is wanted, such as {{'N': 512}}")

    def spelled(value: Any) -> str:
        if hasattr(value, "item") and np.ndim(value) == 0:
            value = value.item()
        if isinstance(value, complex):
            imaginary = repr(value.imag)
            return f"{value.real!r}{'' if imaginary[0] == '-' else '+'}{imaginary}i"
        if isinstance(value, float) and value.is_integer() and 0 < abs(value) < 2**53:
            value = int(value)
        return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)
    return [text("the name of a param", n).decode(errors="surrogateescape") + "=" + text(n, spelled(v)).decode(errors="surrogateescape") for n, v in (params or {}).items()]
