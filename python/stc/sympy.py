"""Programs from equations of SymPy's:

    from stc.sympy import Field, Grid, laplace, program
    grid = Grid((301, 401), spacing=10, step=0.001, steps=1000)
    u, c = Field("u", grid, outside=0), Field("c", grid, input=True)
    text = program({u.dt2: c**2 * laplace(u)}, grid=grid, order=8)     # for stc.compile, or to go on from

docs/python.md has all of it.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

try:
    import sympy as sp
except ImportError:
    raise ImportError("stc.sympy needs SymPy: pip install sympy") from None

from ._equations import Step, System, entries, fields
from ._errors import InputError
from ._stn import MUL, Writer
from ._symbols import Difference, Field, Grid, Mean, Series, Tensor, Vector, check_name, curl, diff, div, grad, laplace, mean, wrong

__all__ = ["Grid", "Field", "Vector", "Tensor", "Series", "Source", "Absorb", "diff", "mean", "grad", "div", "curl", "laplace", "program"]
_WIDTH = 120


class Source(NamedTuple):
    """What is added to the right side of a field's equation at one point or a list of points.

    at: the coordinates of the point, slowest first, as whole numbers, sums of the grid's sizes, or names of launch-time arrays of `count` integers.
    up_to: how many points of a list may be at one place.
    """
    field: Field
    value: Any
    at: Sequence[Any]
    name: str = "source"
    count: int = 1  # type: ignore[assignment]
    up_to: int = 1


class Absorb(NamedTuple):
    """Absorbing layers of so many points along the sides of the grid, but those named in `but`, such as "z lower"; numbers, or symbols of params."""
    points: int
    speed: Any
    frequency: Any
    reflection: Any = 1e-5
    but: Sequence[str] = ()
    kappa: Any = None
    name: str = "border"


def program(equations: Any, *, grid: Grid, order: int = 2, params: Optional[Mapping[Any, Any]] = None, initial: Optional[Mapping[Any, Any]] = None,
            sources: Sequence[Source] = (), absorb: Optional[Absorb] = None) -> str:
    """The text of a program that solves the equations by finite differences in time and space.

    equations: {left: right}, or a list of sympy.Eq. The left side has what changes in time: u.dt, u.dt2 or u.forward, of a field or a vector, perhaps
    with factors and damping; or it is a temp field. Each is solved for the newest level; at the right, u is the level before the step and u.forward
    the new one, which has the equations go one after the other.
    order: of the derivatives by coordinates. params: what symbols are by default; None: whoever runs the program says it. initial: what fields are
    before the first step, by expressions of the coordinates.
    """
    return _Program(System(equations, grid), grid, order, dict(params or {}), dict(initial or {}), list(sources), absorb).text()


class _Program:
    """The parts of a program's text. fields: all that it has, by their functions; history: how many older levels of each; taken: names."""

    def __init__(self, system: System, grid: Grid, order: int, params: Dict[Any, Any], initial: Dict[Any, Any], sources: List[Source],
                 absorb: Optional[Absorb]):
        self.system, self.grid, self.absorb, self.params = system, grid, absorb, {**grid.params, **_symbols(params, grid)}
        self.write = Writer(grid, order, {**grid.points, **self.params})
        self.initial = {f: e for key, value in initial.items() for f, e in entries(key, value)}
        self.fields: Dict[type, Field] = {}
        self.history: Dict[type, int] = {}
        self.series: Dict[str, Series] = {}
        self.points: Dict[str, str] = {}        # by the name of an array of coordinates that of its length
        self.taken: Dict[str, str] = {}
        self._see_all(sources)
        self.name = self._name("G")
        self.layer = self._name(absorb.name) if absorb else ""
        self.sources = [s._replace(name=self._name(s.name)) for s in sources]

    def text(self) -> str:
        layer, inits, stages = self._layer(), self._inits(), self._stages()
        parts = [self._head(), self._scalars() + self._grid() + layer, self._fields(), inits, stages]
        return "\n".join(p for p in parts if p)

    # ---- what is seen on the way

    def _see_all(self, sources: Sequence[Source]) -> None:
        """Notes what there is, and its names."""
        for s in self.system.steps:
            self._see(s.field)
        for s in self.system.steps:
            self._see(sp.Tuple(s.field.backward if s.order == 2 else s.field, s.change))
        for f, e in self.initial.items():
            self._see(sp.Tuple(f, e))
        for s in sources:
            self._see(sp.sympify(s.value))
        for symbol in self.grid.points:
            self._take(str(symbol), "a size of the grid, which Grid(..., sizes=...) names")
        for symbol in self.params:
            self._take(str(symbol), "the grid's spacing or step, which may be a symbol of another name, Grid(..., spacing=...)"
                       if symbol in self.grid.params else "a param")
        for f in self.fields:
            self._take(f.__name__, f"a field, {f.__name__}")
        for s in self.series:
            self._take(s, "a series")
            self._take(f"n{s}", f"the length of {s}")
        for name in self.grid.uneven.values():
            self._take(name, "the coordinates")
        for s in sources:
            for name in (a for a in s.at if isinstance(a, str)):
                if name not in self.points:
                    self._take(name, f"coordinates of {s.name}")
                    self.points[name] = f"n{name}"
                    self._take(f"n{name}", f"the number of points in {name}")

    def _take(self, name: str, what: str) -> None:
        if self.taken.setdefault(check_name(name), what) is not what:
            raise wrong(f"the name {name} stands for {self.taken[name]}, and for {what}: in a program a name stands for one thing")

    def _see(self, e: Any) -> None:
        """Notes which fields and series an expression has, and how old."""
        for f in sorted(fields(e), key=str):
            plain = f if f.stc.input else f.func(self.grid.t, *self.grid.x)
            if plain.stc.grid is not self.grid:
                raise wrong(f"{plain} is a field on another grid than the program's")
            self.fields.setdefault(plain.func, plain)
            self.history[f.func] = max(self.history.get(f.func, 0), -f.level())
        for s in sorted(e.atoms(Series), key=str):
            self.series.setdefault(str(s), s)

    def _within(self, where: str, do: Any, *arguments: Any) -> Any:
        try:
            return do(*arguments)
        except InputError as e:
            text = str(e)
            raise (e if text.startswith("in the ") else wrong(f"in the {where}: {text}")) from None

    def _name(self, wanted: str) -> str:
        """A name that nothing else has."""
        while wanted in self.taken:
            wanted += "_"
        self.taken[check_name(wanted)] = "a part of the program"
        return wanted

    # ---- parts of the text

    def _head(self) -> str:
        lines = "".join(f"//   {s}\n" for s in self.system.said)
        return f"// Made by stc.sympy of these equations:\n{lines}"

    def _value(self, value: Any) -> str:
        """A number, or a param, where the language wants either."""
        e = sp.sympify(value)
        if not (e.is_number or isinstance(e, sp.Symbol)):
            raise wrong(f"{value!r}: a number or a symbol is wanted")
        return self.write.text(e, (sp.S.Zero,) * self.grid.rank)

    def _scalars(self) -> str:
        g = self.grid
        out = "param " + ", ".join(f"{s} = {n}" for s, n in g.points.items()) + ";\n"
        for symbols in ([s for s in self.params if s in g.params], [s for s in self.params if s not in g.params]):
            value = lambda s: f" = {self._value(self.params[s])}" if self.params[s] is not None else ""
            each = [f"{s}{'' if s.is_integer else ' : real'}{value(s)}" for s in symbols]
            out += f"param {', '.join(each)};\n" if each else ""
        for s in self.series.values():
            out += f"param n{s} = {s.length}, {s}[n{s}] : real;\n"
        for d, name in g.uneven.items():
            out += f"param {name}[{g.shape[d]}] : real;\n"
        counts = {name: s.count for s in self.sources for name in s.at if isinstance(name, str)}
        return out + "".join(f"param {n} = {counts[name]}, {name}[{n}] : i32;\n" for name, n in self.points.items())

    def _grid(self) -> str:
        g = self.grid
        each = [f"at {g.uneven[d]}" if d in g.uneven else "" if g.spacing is None else self._value(h) for d, h in enumerate(g.h)]
        space = "" if g.spacing is None else f" spacing [{', '.join(each)}]"
        step = "" if g.step is None else f" step {self._value(g.dt)}"
        return f"grid {self.name} = [{', '.join(f'0 .. {n}-1' for n in g.shape)}], {g.steps}{space}{step};\n"

    def _layer(self) -> str:
        a = self.absorb
        if a is None:
            return ""
        sides = []
        for side in a.but:
            x, _, end = side.partition(" ")
            if end not in ("lower", "upper"):
                raise wrong(f"but={side!r} of Absorb: a coordinate and a side are wanted, such as '{self.grid.x[0]} lower'")
            sides.append(f"{self.grid.dimension(sp.Symbol(x))} {end}")
        but = f" but [{', '.join(sides)}]" if sides else ""
        kappa = f", kappa {self._value(a.kappa)}" if a.kappa is not None else ""
        return (f"absorb {self.layer} = {a.points} of {self.name}{but} speed {self._value(a.speed)}, frequency {self._value(a.frequency)}, "
                f"reflection {self._value(a.reflection)}{kappa};\n")

    def _fields(self) -> str:
        out: Dict[str, List[str]] = {}
        for function, f in self.fields.items():
            k = self.history.get(function, 0)
            words = [f"real on {self.name}"] + [_outside(f)] * (f.stc.outside is not None)
            words += ["input"] * f.stc.input + ["temp"] * f.stc.temp + [f"history {k}"] * (k > 0)
            out.setdefault(" ".join(words), []).append(function.__name__)
        return "".join(f"field {', '.join(names)} : {words};\n" for words, names in out.items())

    def _inits(self) -> str:
        out = ""
        order = lambda f: (not f.stc.input, -f.level()) if isinstance(f, Field) else (True, 0)      # inputs, what is now, what was before
        for f, e in sorted(self.initial.items(), key=lambda p: order(p[0])):
            out += self._within(f"initial value of {f}", self._init, f, e)
        return out

    def _init(self, f: Any, e: sp.Expr) -> str:
        if not isinstance(f, Field) or f.level() > 0 or any(f.offset()):
            raise wrong("a field is wanted, or what it was before, u.backward")
        name, level = f.func.__name__, -f.level()
        target = f"{name}@{level}" if level else name
        made = self.write.text(e, _at(f))
        return _wrapped(f"init {self._name(f'start_{name}' if not level else f'before_{name}')}({target})[{self.name}] = {made};")

    def _stages(self) -> str:
        for s in self.sources:
            if not isinstance(s.field, Field) or s.field.func not in self.system.of:
                raise wrong(f"the source {s.name}: {s.field} has no equation to add to")
        out = ""
        for stage in self.system.stages():
            out += self._stencil(stage)
            out += "".join(self._within(f"source {s.name}", self._inject, s) for s in self.sources if any(s.field == t.field for t in stage))
        return out

    def _stencil(self, stage: List[Step]) -> str:
        g, info = self.grid, stage[0].field.stc
        names = [s.field.func.__name__ for s in stage]
        layer = f" absorb {self.layer}" if self.absorb and any(s.change.has(Difference) for s in stage) else ""
        box = self.name if not any(map(any, info.keep)) else ", ".join(f"{a} .. {n}-{b + 1}" for n, (a, b) in zip(g.shape, info.keep))
        named = "_".join(names) if len(names) <= 6 else f"{names[0]}_to_{names[-1]}"
        head = f"stencil {self._name(f'next_{named}')}({', '.join(names)})[{box}]{layer}"
        values = [self.system.within(self.system.of[s.field.func], lambda k, s=s: self._new(s)) for s in stage]  # type: ignore[misc]
        if len(stage) == 1:
            return _wrapped(f"{head} = {values[0]};")
        return f"{head} {{\n" + "".join(_wrapped(f"  {n} = {v};") for n, v in zip(names, values)) + "}\n"

    def _new(self, s: Step) -> str:
        """A field's new value: what is predicted, and what the step changes."""
        name, at = s.field.func.__name__, _at(s.field)
        if s.order == 0:
            return self.write.text(s.change, at)
        before = name if s.order == 1 else f"2 * {name} - {name}@1"
        if s.change == 0:
            return before
        negative = bool(s.change.as_coeff_Mul()[0].is_negative) or s.change.is_Add and all(t.as_coeff_Mul()[0].is_negative for t in s.change.args)
        made = self.write.text(-s.change if negative else s.change, at, MUL)
        return f"{before} {'-' if negative else '+'} {' * '.join([str(self.grid.dt)] * s.order)} * {made}"

    def _inject(self, source: Source) -> str:
        s = self.system.steps[self.system.of[source.field.func]]
        value = sp.sympify(source.value) * s.gain
        changing = sorted(f.func.__name__ for f in fields(value) if not f.stc.input)
        if changing:
            raise wrong(f"its value, {value}, takes {', '.join(changing)}, which the step has changed by then: take inputs, params, "
                        f"{self.grid.t} and series")
        if len(source.at) != self.grid.rank:
            raise wrong(f"at={list(source.at)!r} are {len(source.at)} coordinates, and the grid has {self.grid.rank}")
        places = ", ".join(a if isinstance(a, str) else _bound(sp.sympify(a), self.grid) for a in source.at)
        made = " * ".join([str(self.grid.dt)] * s.order + [self.write.text(value, _at(s.field), MUL)])
        up_to = f" up to {source.up_to}" if source.up_to > 1 else ""
        return _wrapped(f"inject {source.name}({s.field.func.__name__}) += {made} at [{places}]{up_to};")


def _symbols(params: Mapping[Any, Any], grid: Grid) -> Dict[sp.Symbol, Any]:
    """The params by their symbols, which are none of the grid's."""
    out = {sp.Symbol(k) if isinstance(k, str) else k: v for k, v in params.items()}
    for k in out:
        if k in (grid.t, *grid.x, *grid.shape) or k in grid.params:
            what = "time" if k == grid.t else "coordinate" if k in grid.x else "size" if k in grid.shape else "spacing or step"
            raise wrong(f"{k} is no param: it is the grid's {what}; "
                        "take another name, or Grid(..., names=..., sizes=..., spacing=SYMBOL, step=SYMBOL)")
    return out


def _at(f: Field) -> Tuple[sp.Rational, ...]:
    return tuple(p if p is not None else sp.S.Zero for p in f.stc.at)


def _outside(f: Field) -> str:
    """What a field's declaration says of the points beyond the edge."""
    rule = f.stc.outside
    if not isinstance(rule, (list, tuple)):
        return f"outside {rule}"
    if len(rule) != f.stc.grid.rank:
        raise wrong(f"outside={rule!r} of {f} has {len(rule)} entries, and the grid has {f.stc.grid.rank} dimensions: one rule for each, or a "
                    "pair (lower, upper)")
    return f"outside [{', '.join(' .. '.join(map(str, r)) if isinstance(r, (list, tuple)) else str(r) for r in rule)}]"


def _bound(e: sp.Expr, grid: Grid) -> str:
    """A coordinate of a point: a sum of the grid's sizes, and of their quotients by whole numbers, and of a number."""
    out = ""
    for t in sorted(e.as_ordered_terms(), key=lambda t: t.is_number):
        c, rest = t.as_coeff_Mul()
        if not (c.is_Integer if t.is_number else rest.is_Symbol and c.is_Rational and (c.q == 1 or abs(c.p) == 1)):
            raise wrong(f"{e} is no coordinate: whole numbers, sizes of the grid and their quotients by whole numbers can be added")
        one = str(abs(t)) if t.is_number else (f"{abs(c.p)} * " * (abs(c.p) != 1)) + str(rest) + (f" / {c.q}" * (c.q != 1))
        out += (" - " if c < 0 else " + ") + one if out else ("-" if c < 0 else "") + one
    return out


def _wrapped(line: str) -> str:
    """A line, and where it is long, the lines that it is broken into behind operations."""
    out, indent = "", " " * (len(line) - len(line.lstrip()) + 4)
    while len(line) > _WIDTH:
        cut = _cut(line, len(indent))
        if cut < 0:
            break
        out, line = out + line[:cut] + "\n", indent + line[cut:].lstrip()
    return out + line + "\n"


def _cut(line: str, first: int) -> int:
    """Where a long line is best broken: in as few brackets as can be, before + and -, else before * and words."""
    depth, best = 0, (0, -1)
    for i, c in enumerate(line[:_WIDTH]):
        depth += (c in "([{") - (c in ")]}")
        if c == " " and i > max(first, _WIDTH // 4):
            worth = (2 * depth + (0 if line[i + 1] in "+-" else 1 if line[i + 1] == "*" or line[i - 1] == "=" else 9), i)
            if best[1] < 0 or worth[0] <= best[0]:
                best = worth
    return best[1]
