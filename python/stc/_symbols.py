"""What equations are written in: a grid, fields on it, and derivatives, as objects of SymPy's."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import sympy as sp
from sympy.core.function import AppliedUndef, UndefinedFunction

from ._errors import InputError, Message

HALF = sp.Rational(1, 2)
Place = Tuple[Optional[sp.Rational], ...]       # of each dimension 0 or 1/2; None: it does not matter


def wrong(text: str) -> InputError:
    return InputError(3, [Message("error", None, 0, 0, None, text)])


def per_dimension(what: str, value: Any, rank: int) -> list:
    """The value of each dimension: one for all, or a list of them."""
    if not isinstance(value, (list, tuple)):
        return [value] * rank
    if len(value) != rank:
        raise wrong(f"{what} has {len(value)} entries, but the grid has {rank} dimension{'s' * (rank > 1)}: one entry for each, slowest first")
    return list(value)


class Grid:
    """The points and steps of a program.

    shape: points in each dimension, slowest first. spacing: how far they are apart: a number or a symbol, or one for each dimension; "at NAME": as
    a launch-time array of coordinates says. step: the time from one step to the next, a number or a symbol. steps: how many.
    names: of the coordinates; sizes: of the params of the shape.

    t and x are the symbols of time and of the coordinates, dt and h those of the step and the spacings, shape those of the sizes.
    """

    def __init__(self, shape: Sequence[int], *, spacing: Any = None, step: Any = None, steps: int = 100, names: Optional[Sequence[str]] = None,
                 sizes: Optional[Sequence[str]] = None):
        self.rank = rank = len(shape)
        if not 1 <= rank <= 3:
            raise wrong(f"a grid of {rank} dimensions: there may be one to three")
        names = per_dimension("names", list(names or ("z", "y", "x")[-rank:]), rank)
        sizes = per_dimension("sizes", list(sizes or ("L", "N", "M")[-rank:] if rank > 1 else sizes or ["N"]), rank)
        self.t, self.x = sp.Symbol("t"), tuple(sp.Symbol(n) for n in names)
        self.shape = tuple(sp.Symbol(n) for n in sizes)
        self.steps = steps
        self.params: Dict[Any, Any] = {}        # symbols and what they are by default
        self.points = dict(zip(self.shape, shape))
        self.uneven: Dict[int, str] = {}        # by dimension the name of the coordinates' array
        self.spacing, self.step = spacing, step
        self.h = self._spacings(spacing)
        self.dt = self._symbol("dt", step)

    def _symbol(self, name: str, value: Any) -> sp.Symbol:
        """The symbol that a value is given as, or the one of that name, which has the value."""
        if isinstance(value, sp.Symbol):
            return value
        symbol = sp.Symbol(name)
        if value is not None:
            self.params[symbol] = value
        return symbol

    def _spacings(self, spacing: Any) -> Tuple[sp.Symbol, ...]:
        values = per_dimension("spacing", spacing, self.rank)
        alike = all(v == values[0] for v in values) and not isinstance(values[0], str)
        out = []
        for d, v in enumerate(values):
            if isinstance(v, str):
                word, _, array = v.partition(" ")
                if word != "at" or not array.isidentifier():
                    raise wrong(f"spacing={v!r}: a number or a symbol is wanted, or 'at NAME' with the name of a launch-time array of coordinates")
                self.uneven[d] = array
            out.append(self._symbol("h" if alike else f"h{self.x[d]}", None if isinstance(v, str) else v))
        return tuple(out)

    def dimension(self, x: Any) -> int:
        """The number of a coordinate's dimension."""
        if x in self.x:
            return self.x.index(x)
        raise wrong(f"{x} is no coordinate of the grid, which has {', '.join(map(str, self.x))}")


class Info(NamedTuple):
    """What a field's declaration says. at: where it lies; keep: points at the lower and the upper side, by dimension, that no equation changes."""
    grid: Grid
    outside: Any
    at: Place
    input: bool
    temp: bool
    keep: Tuple[Tuple[int, int], ...]

    def __hash__(self):
        return id(self.grid)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other


def _places(at: Any, grid: Grid) -> Place:
    if at == "any":
        return (None,) * grid.rank
    places = [sp.nsimplify(a) for a in per_dimension("at", at, grid.rank)]
    if any(p not in (0, HALF) for p in places):
        raise wrong(f"at={at!r}: of each dimension 0 or 1/2, or 'any' for values that are taken everywhere as they are")
    return tuple(places)


def _margins(keep: Any, grid: Grid) -> Tuple[Tuple[int, int], ...]:
    pairs = [k if isinstance(k, (list, tuple)) else (k, k) for k in per_dimension("keep", keep, grid.rank)]
    if any(len(p) != 2 or any(not isinstance(k, int) or k < 0 for k in p) for p in pairs):
        raise wrong(f"keep={keep!r}: a number of points, or of each dimension one number or a pair of them, (lower, upper)")
    return tuple((int(a), int(b)) for a, b in pairs)


class Field(AppliedUndef):
    """A field, as a function of time and the coordinates that SymPy differentiates.

    Field(name, grid, outside=..., at=..., input=..., temp=..., keep=...). outside: what is beyond the edge, as in the language: 0, "clamp",
    "mirror half odd", or one for each dimension, or a pair of them, (lower, upper). at: 1/2 in the dimensions in which it lies half a point ahead;
    "any": where it lies does not matter. input: no equation changes it. temp: it is made anew in each step, of others. keep: points at the edge
    that no equation changes.

    u.dt and u.dt2 are its derivatives by time, u.forward and u.backward it itself one step later and one before.
    """
    stc: Info

    def __new__(cls, *args: Any, **options: Any):
        return super().__new__(cls, *args, **options) if cls is not Field else _field(*args, **options)

    @property
    def dt(self) -> sp.Derivative:
        return sp.Derivative(self, self._time(), evaluate=False)

    @property
    def dt2(self) -> sp.Derivative:
        return sp.Derivative(self, (self._time(), 2), evaluate=False)

    @property
    def forward(self) -> "Field":
        return self.later(1)

    @property
    def backward(self) -> "Field":
        return self.later(-1)

    def later(self, steps: int) -> "Field":
        """The field so many steps later."""
        return self.func(self.args[0] + steps * self.stc.grid.dt, *self.args[1:]) if self._time() else self

    def shift(self, x: sp.Symbol, points: int) -> "Field":
        """The field so many points further in the direction of a coordinate."""
        return shifted(self, self.stc.grid, self.stc.grid.dimension(x), points)

    def _time(self) -> sp.Symbol:
        if self.stc.input:
            raise wrong(f"{self} is an input, which does not change in time")
        return self.stc.grid.t

    def level(self) -> int:
        """Steps after the running one's start: 1 what is sought."""
        g = self.stc.grid
        if self.stc.input:
            return 0
        n = sp.expand((self.args[0] - g.t) / g.dt)
        if not n.is_Integer:
            raise wrong(f"{self.func.__name__} at the time {self.args[0]}: only whole steps from {g.t} can be read, such as {g.t} - {g.dt}")
        return int(n)

    def offset(self) -> Tuple[int, ...]:
        """Points from the one that is computed."""
        g = self.stc.grid
        out = [sp.expand((a - x) / h) for a, x, h in zip(self.args[-g.rank:], g.x, g.h)]
        for n, a, x in zip(out, self.args[-g.rank:], g.x):
            if not n.is_Integer:
                raise wrong(f"{self.func.__name__} at {a}: only whole points from {x} can be read; mean({self.func.__name__}, {x}) is its value half a point aside")
        return tuple(int(n) for n in out)

    def _sympystr(self, printer) -> str:
        try:
            level, moved = self.level(), any(self.offset())
        except InputError:
            level, moved = 0, True
        if moved:
            return f"{self.func.__name__}({', '.join(map(str, self.args))})"
        return self.func.__name__ + {0: "", 1: ".forward", -1: ".backward"}.get(level, f".later({level})")


def _field(name: str, grid: Grid, *, outside: Any = None, at: Any = 0, input: bool = False, temp: bool = False, keep: Any = 0) -> Field:
    if not isinstance(grid, Grid):
        raise wrong(f"Field({name!r}, ...): its grid, a stc.sympy.Grid, stands behind its name")
    if input and temp:
        raise wrong(f"{name} cannot be an input and a temp field: an input is given, a temp field is made in each step")
    made = UndefinedFunction(check_name(name), bases=(Field,), stc=Info(grid, outside, _places(at, grid), input, temp, _margins(keep, grid)))
    return made(*([] if input else [grid.t]), *grid.x)


def check_name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or name[0] == "_":
        raise wrong(f"{name!r} is no name of the language: letters, digits and _, beginning with a letter")
    if name in ("diff", "coord"):       # which may be names, but are functions in what is written here
        raise wrong(f"{name!r} is a function that programs made here call: take another name")
    return name


class Series(sp.Symbol):
    """A launch-time array with one number for each step, 0 behind its end: what a source does, for example."""
    length: int

    def __new__(cls, name: str, length: int):
        made = sp.Symbol.__xnew__(cls, check_name(name))
        made.length = int(length)
        return made

    def _hashable_content(self) -> tuple:
        return super()._hashable_content() + (self.length,)


class Difference(sp.Expr):
    """The n-th derivative of X by a coordinate, which stays as it is written. order 0: that of the program; side 1, -1: from one side alone."""
    is_commutative = True

    def __new__(cls, X: Any, x: sp.Symbol, n: int = 1, order: int = 0, side: int = 0):
        return sp.Expr.__new__(cls, sp.sympify(X), sp.sympify(x), *map(sp.Integer, (n, order, side)))

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        return Difference(self, s)

    def _plain(self) -> sp.Derivative:
        return sp.Derivative(self.args[0], (self.args[1], self.args[2]), evaluate=False)

    def _sympystr(self, printer) -> str:
        X, x, n = self.args[0], self.args[1], int(self.args[2])
        return f"{X}_{str(x) * n}" if isinstance(X, Field) and len(str(x)) == 1 and str(X).isidentifier() else f"diff({X}, {x}{f', {n}' * (n > 1)})"

    def _latex(self, printer) -> str:
        return printer._print(self._plain())

    def _pretty(self, printer):
        return printer._print(self._plain())


class Mean(sp.Expr):
    """The mean of X at two points that are neighbours along a coordinate: its value half a point aside."""
    is_commutative = True

    def __new__(cls, X: Any, x: sp.Symbol):
        return sp.Expr.__new__(cls, sp.sympify(X), sp.sympify(x))

    def _sympystr(self, printer) -> str:
        return f"mean({self.args[0]}, {self.args[1]})"


def shifted(e: sp.Expr, grid: Grid, d: int, points: int) -> sp.Expr:
    """The expression moved by whole points along a dimension."""
    if isinstance(e, (Difference, Mean)):
        return e.func(shifted(e.args[0], grid, d, points), *e.args[1:])
    if e == grid.x[d]:
        return e + points * grid.h[d]
    return e.func(*(shifted(a, grid, d, points) for a in e.args)) if e.args else e


Parts = Union["Vector", "Tensor", sp.MatrixBase]


def _by_name(option: Any, name: str) -> Any:
    """What an option says of the component of that name: a mapping tells them apart."""
    if isinstance(option, Mapping):
        if name not in option:
            raise wrong(f"the component {name} is missing in {dict(option)}")
        return option[name]
    return option


class _Components:
    """Fields in a matrix, which are read by the names of their coordinates: v.z, s.zx."""
    matrix: sp.ImmutableDenseMatrix
    _names: Dict[str, Field]
    grid: Grid

    def __getattr__(self, name: str) -> Field:
        names = self.__dict__.get("_names", {})
        if name in names:
            return names[name]
        raise AttributeError(f"{name}: the components are {', '.join(names)}")

    def _each(self, what) -> sp.ImmutableDenseMatrix:
        return sp.ImmutableDenseMatrix(self.matrix.applyfunc(what))

    @property
    def dt(self) -> sp.ImmutableDenseMatrix:
        return self._each(lambda f: f.dt)

    @property
    def dt2(self) -> sp.ImmutableDenseMatrix:
        return self._each(lambda f: f.dt2)

    @property
    def forward(self) -> sp.ImmutableDenseMatrix:
        return self._each(lambda f: f.forward)

    @property
    def backward(self) -> sp.ImmutableDenseMatrix:
        return self._each(lambda f: f.backward)

    def __getitem__(self, i):
        return self.matrix[i]

    def __mul__(self, other):
        return self.matrix * other

    def __rmul__(self, other):
        return other * self.matrix

    def __truediv__(self, other):
        return self.matrix / other

    def __add__(self, other):
        return self.matrix + matrix_of(other)

    __radd__ = __add__

    def __sub__(self, other):
        return self.matrix - matrix_of(other)

    def __rsub__(self, other):
        return matrix_of(other) - self.matrix

    def __neg__(self):
        return -self.matrix


class Vector(_Components):
    """A field for each coordinate, in the order of the grid's. at="faces": each lies half a point ahead along its own; "edges": along the others.
    outside and keep may be mappings from the coordinates' names."""

    def __init__(self, name: str, grid: Grid, *, at: Any = 0, outside: Any = None, keep: Any = 0, **options: Any):
        self.grid, self._names = grid, {}
        for d, x in enumerate(grid.x):
            place = [HALF if (at == "faces") == (d == e) else 0 for e in range(grid.rank)] if at in ("faces", "edges") else at
            self._names[str(x)] = Field(f"{name}{x}", grid, at=place, outside=_by_name(outside, str(x)), keep=_by_name(keep, str(x)), **options)
        self.matrix = sp.ImmutableDenseMatrix(list(self._names.values()))


class Tensor(_Components):
    """A symmetric tensor: a field for each pair of coordinates. at="faces": those of two different ones lie half a point ahead along both, as stress
    does where the velocity is a Vector at="faces". outside and keep may be mappings from pairs of the coordinates' names, such as "zx"."""

    def __init__(self, name: str, grid: Grid, *, at: Any = 0, outside: Any = None, keep: Any = 0, **options: Any):
        self.grid, self._names = grid, {}
        rows: List[List[Any]] = [[None] * grid.rank for _ in grid.x]
        for i, a in enumerate(grid.x):
            for j, b in enumerate(grid.x[i:], i):
                pair = f"{a}{b}"
                place = [HALF if i != j and d in (i, j) else 0 for d in range(grid.rank)] if at == "faces" else at
                rows[i][j] = rows[j][i] = Field(f"{name}{pair}", grid, at=place, outside=_by_name(outside, pair), keep=_by_name(keep, pair), **options)
                self._names[pair] = self._names[f"{b}{a}"] = rows[i][j]
        self.matrix = sp.ImmutableDenseMatrix(rows)


def matrix_of(v: Any) -> Any:
    return v.matrix if isinstance(v, _Components) else v


def _grid_of(e: Any) -> Grid:
    """The grid of the fields in an expression."""
    found = next((f.stc.grid for f in sp.sympify(matrix_of(e)).atoms(AppliedUndef) if isinstance(f, Field)), None)
    if found is None:
        raise wrong(f"there is no field in {e}, so that its grid is not known: diff(X, x) takes a coordinate")
    return found


def diff(X: Any, x: sp.Symbol, n: int = 1, *, order: int = 0, side: int = 0) -> sp.Expr:
    """The n-th derivative of X, an expression, a vector or a tensor, by a coordinate. It is not worked out by the rules of calculus: what stands in
    brackets is differenced as a whole. order: if not that of the program; side 1 or -1: from one side alone."""
    X = matrix_of(X)
    if isinstance(X, sp.MatrixBase):
        return sp.ImmutableDenseMatrix(X.applyfunc(lambda e: Difference(e, x, n, order, side)))
    return Difference(X, x, n, order, side)


def mean(X: Any, x: sp.Symbol) -> sp.Expr:
    """X half a point aside along a coordinate: the mean of two neighbours."""
    return Mean(X, x)


def grad(X: Any) -> sp.ImmutableDenseMatrix:
    """The vector of derivatives; of a vector the matrix that has those of a component in its row."""
    x, X = _grid_of(X).x, matrix_of(X)
    rows = list(X) if isinstance(X, sp.MatrixBase) else [X]
    made = [[Difference(e, c) for c in x] for e in rows]
    return sp.ImmutableDenseMatrix(made if len(rows) > 1 else made[0])


def div(v: Parts) -> Any:
    """The divergence of a vector; of a tensor the vector of its rows' divergences."""
    x, v = _grid_of(v).x, matrix_of(v)
    if not isinstance(v, sp.MatrixBase) or v.shape not in ((len(x), 1), (len(x), len(x))):
        raise wrong(f"div({v}): a vector or a tensor with as many components as the grid has dimensions is wanted")
    if v.shape[1] == 1:
        return sp.Add(*(Difference(e, c) for e, c in zip(v, x)))
    return sp.ImmutableDenseMatrix([sp.Add(*(Difference(v[i, j], c) for j, c in enumerate(x))) for i in range(len(x))])


def laplace(X: Any) -> Any:
    """The sum of second derivatives, of a vector by component."""
    x, X = _grid_of(X).x, matrix_of(X)
    made = lambda e: sp.Add(*(Difference(e, c, 2) for c in x))
    return sp.ImmutableDenseMatrix(X.applyfunc(made)) if isinstance(X, sp.MatrixBase) else made(X)


def curl(v: Any) -> Any:
    """The curl of a vector, where the last coordinate is the first axis: with (z, y, x) the right-handed one. In two dimensions that of a vector is
    a number, and that of a number a vector."""
    x, v = _grid_of(v).x, matrix_of(v)
    if len(x) == 2:
        if isinstance(v, sp.MatrixBase):
            return Difference(v[0], x[1]) - Difference(v[1], x[0])
        return sp.ImmutableDenseMatrix([-Difference(v, x[1]), Difference(v, x[0])])
    if len(x) != 3 or not isinstance(v, sp.MatrixBase):
        raise wrong(f"curl({v}): a vector in two or three dimensions is wanted")
    d = lambda i, j: Difference(v[i], x[j])
    return sp.ImmutableDenseMatrix([d(1, 2) - d(2, 1), d(2, 0) - d(0, 2), d(0, 1) - d(1, 0)])
