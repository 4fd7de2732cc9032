"""The manifest's formulas: bounds and launch-time expressions (docs/manifest.md)."""
from __future__ import annotations

import ctypes as c
import ctypes.util
import math
from typing import Any, Dict, List, Mapping, Set

import numpy as np

from ._errors import InputError, Message
from ._numbers import scalar


def _wrong(why: str) -> InputError:
    return InputError(3, [Message("error", None, 0, 0, None, why)])


CTYPES: Dict[str, Any] = {"bool": c.c_bool, "i8": c.c_int8, "i16": c.c_int16, "i32": c.c_int32, "i64": c.c_int64, "f32": c.c_float, "f64": c.c_double,
          "f16": c.c_uint16, "bf16": c.c_uint16, "u8": c.c_uint8, "u16": c.c_uint16, "u32": c.c_uint32}


def bound(b: Mapping[str, Any], env: Mapping[str, Any]) -> int:
    """The value of an affine bound."""
    return b["constant"] + sum(t["coefficient"] * env[t["param"]] for t in b["terms"])


def rounded(x: Any, type: str) -> Any:
    """x in the type: integers wrap, floats round; from a float to an integer it is cut off, held at the ends, NaN is 0."""
    if type == "bool":
        return bool(x)
    if type[0] == "f":
        return float(np.float32(x)) if type == "f32" else float(x)
    bits = int(type[1:])
    low, high = (0, (1 << bits) - 1) if type[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if isinstance(x, float):
        return 0 if math.isnan(x) else low if x <= low else high if x >= high else int(x)
    return (int(x) - low) % (1 << bits) + low


def _divide(x, y):
    if isinstance(x, float):
        with np.errstate(all="ignore"):
            return float(np.float64(x) / np.float64(y))
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(x, y):
    return 0 if y == 0 else x - y * _divide(x, y)


def _of_numpy(name):
    def call(*x):
        with np.errstate(all="ignore"):
            return float(getattr(np, name)(*(np.float64(v) for v in x)))
    return call


def _of_library(name):
    """The function of floats that C's mathematics has under that name, from NumPy or the C library; None if there is none."""
    if isinstance(getattr(np, name, None), np.ufunc):
        return _of_numpy(name)
    f = getattr(c.CDLL(ctypes.util.find_library("m")), name, None)
    if f is not None:
        f.restype = c.c_double
    return f and (lambda *x: f(*(c.c_double(v) for v in x)))


def _least(x, y):
    return float(np.fmin(x, y)) if isinstance(x, float) else min(x, y)


def _most(x, y):
    return float(np.fmax(x, y)) if isinstance(x, float) else max(x, y)


def _fma(x, y, z):
    from fractions import Fraction
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    return float(Fraction(x) * Fraction(y) + Fraction(z))


def _rsqrt(x):
    with np.errstate(all="ignore"):
        return float(1 / np.sqrt(np.float64(x)))


_OPS = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": _divide, "rem": _remainder, "neg": lambda x: -x,
        "abs": abs, "min": _least, "max": _most, "fma": _fma, "rsqrt": _rsqrt, "pow": _of_numpy("power"),
        "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y, "and": lambda x, y: x and y, "or": lambda x, y: x or y, "not": lambda x: not x,
        "bit.and": lambda x, y: x & y, "bit.or": lambda x, y: x | y, "bit.xor": lambda x, y: x ^ y, "bit.not": lambda x: ~x,
        "select": lambda p, x, y: x if p else y, "convert": lambda x: x}


def _shift(name: str, type: str, x: int, y: int) -> int:
    """Shifts by a number that is negative or not below the type's width shift all bits out."""
    y = y if 0 <= y < int(type[1:]) else int(type[1:])
    return x << y if name == "shl" else x >> y


def expression(ops: List[Mapping[str, Any]], env: Mapping[str, Any], index: int = 0) -> Any:
    """The value of a launch-time expression, where index 0 is `index`: operations in order, the last is the result."""
    return steps_of(ops, env, index)[-1]


def steps_of(ops: List[Mapping[str, Any]], env: Mapping[str, Any], index: int = 0) -> List[Any]:
    """The values of all its operations."""
    values: List[Any] = []
    for op in ops:
        kind = op["op"]
        if kind == "const":
            v = float(op["value"]) if op["type"][0] == "f" else op["value"]
        elif kind == "scalar":
            v = env[op["scalar"]]
        elif kind == "index":
            v = index
        elif kind in ("shl", "shr"):
            v = _shift(kind, op["type"], *(values[i] for i in op["arguments"]))
        else:
            f = _OPS.get(kind) or _of_library(kind)
            if f is None:
                raise _wrong(f"the manifest has an expression with the operation {kind!r}, which this package does not know")
            v = f(*(values[i] for i in op["arguments"]))
        values.append(rounded(v, op["type"]))
    return values


def _with_parts(params: Mapping[str, Any], known: Set[str]) -> Dict[str, Any]:
    """The params, complex ones as the two of their parts."""
    out: Dict[str, Any] = {}
    for name, value in params.items():
        if name not in known and {f"{name}_re", f"{name}_im"} <= known:
            number = complex(value)
            out[f"{name}_re"], out[f"{name}_im"] = number.real, number.imag
        else:
            out[name] = value
    return out


def bind(manifest: Mapping[str, Any], params: Mapping[str, Any]) -> Dict[str, Any]:
    """All scalars of a manifest under these params, checked."""
    env: Dict[str, Any] = {}
    known = {s["name"] for s in manifest["scalars"] if s["kind"] == "param"}
    params = _with_parts(params, known)
    for name in params:
        if name not in known:
            raise _wrong(f"{name!r} is no param of the program; there are {', '.join(sorted(known)) or 'none'}")
    for s in manifest["scalars"]:
        if s["kind"] == "reduction":
            env[s["name"]] = 0
        elif s["name"] in params:
            env[s["name"]] = rounded(scalar(s["name"], params[s["name"]], s["type"]), s["type"])
        elif "expression" in s:
            env[s["name"]] = expression(s["expression"], env)
        elif s["default"] is None:
            raise _wrong(f"param {s['name']} has no default: give it a value")
        else:
            env[s["name"]] = rounded(float(s["default"]) if s["type"][0] == "f" else s["default"], s["type"])
    for check in manifest["checks"]:
        if "covered" in check:
            raise _wrong("the artifact has a condition on which points are covered, which stc.load cannot check: use stc.compile, or stc run")
        empty = any(bound(lo, env) > bound(hi, env) for r in check["unless_empty"] for lo, hi in zip(r["lower"], r["upper"]))
        if not empty and bound(check["value"], env) < 0:
            raise _wrong(check["message"])
    return env


def extents(field: Mapping[str, Any], env: Mapping[str, Any]) -> tuple:
    """Points of a field per dimension."""
    return tuple(max(bound(e, env), 0) for e in field["extents"])


def _is_one(extent: Mapping[str, Any]) -> bool:
    """Is the extent 1 whatever the params are, so that arrays may leave it out?"""
    return not extent["terms"] and extent["constant"] == 1


def params_of_shapes(manifest: Mapping[str, Any], shapes: Mapping[str, tuple]) -> Dict[str, int]:
    """The params that the shapes of fields name: those that alone make out an extent, such as N of N + 2."""
    found: Dict[str, int] = {}
    for f in manifest["fields"]:
        shape = shapes.get(f["name"], ())
        lacks = [d for d in range(len(f["extents"])) if len(shape) < len(f["extents"]) and _is_one(f["extents"][d])]
        extents = [b for d, b in enumerate(f["extents"]) if d not in lacks[:len(f["extents"]) - len(shape)]]
        for b, n in zip(extents, shape):
            if len(b["terms"]) == 1 and (n - b["constant"]) % b["terms"][0]["coefficient"] == 0:
                found.setdefault(b["terms"][0]["param"], (n - b["constant"]) // b["terms"][0]["coefficient"])
    return found
