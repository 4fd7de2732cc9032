"""The gradient of an artifact's losses, by the backward program that stands beside it (docs/manifest.md). Nothing of libstc."""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from . import _arrays as arrays
from ._errors import InputError, Message
from ._expression import extents, steps_of

_STEPS = ".steps"                                   # t.steps: what scalar t was when 0 .. N steps were done
_ROW, _LANES, _BLOCKS = 2048, 256, 1024             # the order of sums over points


class Gradient(NamedTuple):
    """What is differentiated, and its derivatives by each name that the program's `gradient` is to: arrays of that one's shape, a number for a param, or for
    a scalar, which may be by member."""
    value: float
    by: Dict[str, Any]


def _precision(type: str) -> Any:
    """The type of derivatives by what is of that type, as plans give them."""
    return np.float64 if type == "f64" else np.float32


def _wrong(why: str) -> InputError:
    return InputError(3, [Message("error", None, 0, 0, None, why)])


# ---- derivatives of launch-time expressions

def _like_c(name: str, of_numpy: np.ufunc) -> Callable[..., float]:
    """A function of C's mathematics: its bits, and where Python raises, the number that C has."""
    def call(*x: float) -> float:
        try:
            return getattr(math, name)(*x)
        except (ValueError, OverflowError):
            return of_numpy(*(np.float64(v) for v in x))
    return call


_log, _pow, _exp, _sqrt = (_like_c(name, f) for name, f in (("log", np.log), ("pow", np.power), ("exp", np.exp), ("sqrt", np.sqrt)))
_sin, _cos, _sinh, _cosh = (_like_c(name, getattr(np, name)) for name in ("sin", "cos", "sinh", "cosh"))
_LOG2E, _LOG10E, _2_SQRTPI = math.log2(math.e), math.log10(math.e), 2 / math.sqrt(math.pi)


def _unknown(op: str) -> NotImplementedError:
    return NotImplementedError(f"the derivative of {op} is not known to this version of the package stc; update it")


def _binary(op: str, x: np.float64, y: np.float64, v: np.float64) -> Tuple[float, float]:
    if op in ("min", "max"):
        first = float(x <= y or math.isnan(y)) if op == "min" else float(x >= y or math.isnan(y))
        return first, 1 - first
    known: Dict[str, Callable[[], Tuple[float, float]]] = {
        "add": lambda: (1, 1), "sub": lambda: (1, -1), "mul": lambda: (y, x), "div": lambda: (1 / y, -v / y), "rem": lambda: (1, -np.trunc(x / y)),
        "pow": lambda: (0 if y == 0 else y * _pow(x, y - 1), 0 if x == 0 and y > 0 else v * _log(x)),
        "atan2": lambda: (y / (x * x + y * y), -x / (x * x + y * y)), "copysign": lambda: (math.copysign(1, x) * math.copysign(1, y), 0)}
    if op not in known:
        raise _unknown(op)
    return known[op]()


_UNARY: Dict[str, Callable[[np.float64, np.float64], float]] = {
    "neg": lambda x, v: -1, "abs": lambda x, v: 1 if x >= 0 else -1, "sqrt": lambda x, v: 0.5 / v, "rsqrt": lambda x, v: -0.5 * v * v * v, "exp": lambda x, v: v,
    "log": lambda x, v: 1 / x, "log2": lambda x, v: _LOG2E / x, "log10": lambda x, v: _LOG10E / x, "sin": lambda x, v: _cos(x), "cos": lambda x, v: -_sin(x),
    "tan": lambda x, v: 1 + v * v, "tanh": lambda x, v: 1 - v * v, "cbrt": lambda x, v: 1 / (3 * v * v), "asin": lambda x, v: 1 / np.float64(_sqrt(1 - x * x)),
    "acos": lambda x, v: -1 / np.float64(_sqrt(1 - x * x)), "atan": lambda x, v: 1 / (1 + x * x), "sinh": lambda x, v: _cosh(x), "cosh": lambda x, v: _sinh(x),
    "erf": lambda x, v: _2_SQRTPI * _exp(-x * x), "floor": lambda x, v: 0, "ceil": lambda x, v: 0}


def _partials(op: Mapping[str, Any], types: Sequence[str], x: Sequence[Any], v: Any) -> Sequence[float]:
    """The derivatives of an operation's value `v` by what it takes, `x` of these types."""
    if op["op"] == "select":
        return (0, 1, 0) if x[0] else (0, 0, 1)
    if op["op"] == "convert":
        return (float(types[0][0] == "f"),)
    if op["op"] == "fma":
        return (x[1], x[0], 1)
    of, value = [np.float64(n) for n in x], np.float64(v)
    if len(of) == 1 and op["op"] not in _UNARY:
        raise _unknown(op["op"])
    return _binary(op["op"], of[0], of[1], value) if len(of) == 2 else (_UNARY[op["op"]](of[0], value),) if of else ()


def _pull_expression(ops: List[Mapping[str, Any]], env: Mapping[str, Any], seed: float, bars: Dict[str, float]) -> None:
    """Adds to the derivatives by the scalars that an expression takes `seed` times its own."""
    values = steps_of(ops, env)
    adjoint = [0.0] * len(ops)
    adjoint[-1] = seed
    for i in reversed(range(len(ops))):
        op, g = ops[i], adjoint[i]
        if g == 0 or op["type"][0] != "f":
            continue
        if op["op"] == "scalar":
            bars[op["scalar"]] = bars.get(op["scalar"], 0.0) + g
        takes = op.get("arguments", [])
        for k, partial in zip(takes, _partials(op, [ops[k]["type"] for k in takes], [values[k] for k in takes], values[i])):
            adjoint[k] += partial * g if partial else 0.0


@np.errstate(all="ignore")
def pull_scalars(scalars: List[Mapping[str, Any]], env: Mapping[str, Any], bars: Dict[str, float]) -> None:
    """Hands derivatives by lets on to what they are made of."""
    for s in reversed(scalars):
        if s["kind"] == "let" and s["type"][0] == "f" and bars.get(s["name"]):
            _pull_expression(s["expression"], env, bars[s["name"]], bars)


# ---- sums

def _tree(v: np.ndarray) -> float:
    while len(v) > 1:
        v = v[:len(v) // 2] + v[len(v) // 2:]
    return float(v[0])


def _in_turn(v: np.ndarray, lanes: int) -> float:
    """Value i is added to what lane i mod lanes has; the lanes in pairs."""
    rows = np.zeros((-(-len(v) // lanes) + 1, lanes))
    rows[1:].reshape(-1)[:len(v)] = v
    return _tree(np.add.accumulate(rows)[-1])


def ordered_sum(v: np.ndarray) -> float:
    """The sum over all points of a field, in the order of reductions."""
    row = v.shape[-1] if v.ndim > 1 else _ROW
    flat = v.reshape(-1).astype(np.float64)
    rows = [_in_turn(flat[i:i + row], _LANES) for i in range(0, len(flat), max(row, 1))]
    return _in_turn(np.array(rows), _BLOCKS)


# ---- the runs

class Adjoint:
    """One call of Artifact.gradient. forward: the artifact's run, at step 0; run: makes one of the backward artifact, of arrays and params. given: what
    the user gave."""

    def __init__(self, forward: Any, run: Callable[[Mapping[str, Any], Mapping[str, Any]], Any], facts: Mapping[str, Any], given: Mapping[str, Any], steps: int):
        self.forward, self.make, self.facts, self.given, self.steps = forward, run, facts, given, steps
        self.kept: List[Dict[str, int]] = []
        self.scalars: List[Dict[str, Any]] = []
        self.elements: Dict[str, np.ndarray] = {}
        self.back: Any = None

    def check(self) -> None:
        """Refuses what the backward program was not made for."""
        lacking = [p for name in self.facts["given"] for p in self._parts(name) if p not in self.given]
        if lacking:
            raise _wrong(f"the gradient is made for a {lacking[0]} that is given: give it")
        for x in self.facts["filled"]:
            if x["name"] in self.given:
                raise _wrong(f"the gradient is made for a {x['name']} that begins as {x['from']} does: leave it out, or have the gradient be to it, too")

    def _parts(self, name: str) -> List[str]:
        """The fields that a field of the program is: itself, or its components."""
        return next(([c["field"] for c in r["components"]] for r in self.forward.m["records"] if r["name"] == name), [name])

    def _keep(self, names: Sequence[str]) -> None:
        """Copies of those fields as they are now, and what scalars are."""
        copies = {}
        for name in names:
            buffer = self.forward.buffer_of(name)
            size = self.forward._elements(buffer) * buffer["element_bytes"]
            copies[name] = self.forward.driver.alloc(size)
            self.forward.own.append(copies[name])
            self.forward.driver.copy(copies[name], self.forward.memory[buffer["name"]], size)
        self.kept.append(copies)
        wanted = [a["name"] for a in self.facts["program"]["arrays"] if a["name"].endswith(_STEPS)]
        self.scalars.append({**self.forward.env, **self.forward._scalars()} if wanted else {})

    def _run_forward(self) -> None:
        names = sorted({x["from"] for key in ("saved", "after") for x in self.facts[key]})
        self.forward.begin(self.steps)
        self._keep(names)
        for k in range(self.steps):
            self.forward.advance(k + 1)
            self._keep(names)

    def _begin_backward(self) -> None:
        """Makes the backward run, and gives it what does not change."""
        forward, program = self.forward, self.facts["program"]
        params = {s["name"]: forward.env[s["name"]] for s in program["scalars"] if s["kind"] == "param" and s["name"] in forward.env}
        given = {a["name"]: self.given[a["name"]] for a in program["arrays"] if a["name"] in self.given}
        for a in program["arrays"]:
            if a["name"].endswith(_STEPS):
                of = [np.atleast_1d(s[a["name"][:-len(_STEPS)]]) for s in self.scalars]
                given[a["name"]] = np.concatenate(of).astype(arrays.NUMPY[a["type"]])
        for x in self.facts["inputs"]:
            if forward.buffer_of(x["from"]) is None and x["from"] in self.given:
                given[x["name"]] = self.given[x["from"]]
        self.back = self.make(given, {**params, self.facts["last"]: self.steps})
        for x in self.facts["inputs"] + self.facts["ends"]:
            buffer = forward.buffer_of(x["from"])
            if buffer is not None:
                self._give(x["name"], forward.memory[buffer["name"]])

    def _give(self, name: str, at: int) -> None:
        """Gives a field of the backward run what is at an address."""
        buffer = self.back.buffer_of(name)
        if buffer is not None:
            self.back.driver.copy(self.back.memory[buffer["name"]], at, self.back._elements(buffer) * buffer["element_bytes"])

    def _run_backward(self) -> None:
        changes = self.facts["saved"] or self.facts["after"]
        for k in range(self.steps + 1):
            done = self.steps - k
            for x in self.facts["saved"]:
                self._give(x["name"], self.kept[done][x["from"]])
            for x in self.facts["after"]:
                self._give(x["name"], self.kept[done + (k > 0)][x["from"]])
            if k == 0:
                self.back.begin(self.steps + 1)
            elif changes:
                self.back._once()
            self.back.advance(k + 1)
            self._add_elements()

    def _add_elements(self) -> None:
        """Adds derivatives by elements of arrays, which each step leaves at points."""
        for e in self.facts["elements"]:
            to = self.elements.setdefault(e["array"], np.zeros(self.forward._shape(e["array"])).reshape(-1))
            if len(to):
                np.add.at(to, np.clip(self._field(e["number"]).reshape(-1), 0, len(to) - 1), self._field(e["bar"]).reshape(-1))

    def _field(self, name: str) -> np.ndarray:
        """A field of the backward run."""
        buffer, field = self.back.buffer_of(name), self.back.a._fields[name]
        values = np.zeros(extents(field, self.back.env), arrays.NUMPY[field["type"]])
        if buffer is not None:
            self.back.driver.fetch(values.ctypes.data, self.back.memory[buffer["name"]], values.nbytes)
        return values

    def _value(self) -> float:
        value = 0.0
        for loss in self.facts["losses"]:
            every, factor = loss["every"], float(loss["factor"])
            if factor == 0:                         # the backward program does not compute it
                continue
            seen = dict(self.back.series.get(loss["name"], []))
            due = range(0, self.steps + 1, every) if every else (self.steps,)
            total = 0.0
            for n in due:
                total += seen[self.steps + 1 - n if every else 0]
            value += factor * total
        return value

    def _by_field(self, name: str) -> np.ndarray:
        """The derivatives by a field of the artifact, a component perhaps: a sum of what several fields have."""
        field = self.forward.a._fields[name]
        shape = extents(field, self.forward.env)
        bars = {x["from"]: x["name"] for x in self.facts["derivatives"]}
        of = [bars[name]] if name in bars else []
        of += [bars[x["name"]] for x in self.facts["filled"] if x["from"] == name and x["name"] in bars]
        total = np.zeros(shape)
        for bar in of:
            values = self._field(bar)
            at = np.indices(values.shape)
            lacking = [n == 1 and m > 1 for n, m in zip(shape, values.shape)]      # the derivatives have all points of the grid there
            at[np.array(lacking, bool)] = 0
            np.add.at(total, tuple(at), values.astype(np.float64))
        return total.astype(_precision(field["type"]))

    def _by_scalars(self) -> Tuple[Dict[str, float], Dict[str, np.ndarray]]:
        """The derivatives by all scalars; of those that each member has, by all."""
        bars: Dict[str, float] = {}
        each: Dict[str, np.ndarray] = {}
        for x in self.facts["scalars"]:
            bars[x["from"]] = bars.get(x["from"], 0.0) + ordered_sum(self._field(x["name"]))
        states = self.back._scalars() if self.facts["states"] else {}
        for x in self.facts["states"]:
            each[x["from"]] = np.atleast_1d(states[x["name"]]).astype(np.float64)
            for v in each[x["from"]]:
                bars[x["from"]] = bars.get(x["from"], 0.0) + float(v)
        pull_scalars(self.forward.m["scalars"], self.forward.env, bars)
        return bars, each

    def all(self) -> Gradient:
        self.check()
        self._run_forward()
        try:
            self._begin_backward()
            self._run_backward()
            bars, each = self._by_scalars()
            by: Dict[str, Any] = {}
            for x in self.facts["by"]:
                name = x["name"]
                if x["kind"] == "field":
                    by.update({part: self._by_field(part) for part in self._parts(name)})
                elif x["kind"] == "array":
                    found = self.elements.get(name, np.zeros(self.forward._shape(name)))
                    by[name] = found.reshape(self.forward._shape(name)).astype(_precision(self.forward.a._arrays[name]["type"]))
                else:
                    by[name] = each[name] if x.get("each") and name in each else float(bars.get(name, 0.0))
            return Gradient(self._value(), by)
        finally:
            if self.back is not None:
                self.back.close()
