"""Equations in time, solved for the newest level, and the order in which a step goes through them."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import sympy as sp

from ._errors import InputError
from ._symbols import Difference, Field, Grid, Mean, _Components, wrong

_TWICE, _ONCE, _NEW = sp.Dummy("dt2"), sp.Dummy("dt"), sp.Dummy("forward")     # what an equation has of its field's newest level


class Step(NamedTuple):
    """An equation, solved: the field becomes what it is predicted to be (2 u - u@1, u or nothing, by its order in time) and dt^order * change. gain:
    by how much the field is more if the right side is more by 1, over dt^order."""
    field: Field
    order: int
    change: sp.Expr
    gain: sp.Expr
    said: str


def pairs(equations: Any) -> List[Tuple[sp.Expr, sp.Expr]]:
    """The left and the right side of each equation; those of vectors and tensors component by component, each once."""
    listed = equations.items() if isinstance(equations, Mapping) else [(e.lhs, e.rhs) for e in _equalities(equations)]
    out: Dict[sp.Expr, sp.Expr] = {}
    for lhs, rhs in listed:
        for a, b in entries(lhs, rhs):
            if a in out and sp.expand(out[a] - b) != 0:
                raise wrong(f"{a} has two equations, {out[a]} and {b}: a tensor's equation must be symmetric, as (A + A.T) / 2 is, and a field has one equation")
            out[a] = b
    return list(out.items())


def _equalities(equations: Any) -> Sequence[sp.Eq]:
    listed = list(equations) if isinstance(equations, (list, tuple)) else [equations]
    for e in listed:
        if not isinstance(e, sp.Eq):
            raise wrong(f"{e} is no equation: a dictionary {{u.dt: ...}} is wanted, or a list of SymPy's Eq(left, right)")
    return listed


def entries(lhs: Any, rhs: Any) -> Iterable[Tuple[sp.Expr, sp.Expr]]:
    """Both sides, component by component; a number at the right is that of all components."""
    a, b = (v.matrix if isinstance(v, _Components) else sp.sympify(v) for v in (lhs, rhs))
    if not isinstance(a, sp.MatrixBase):
        if isinstance(b, sp.MatrixBase):
            raise wrong(f"{a} is a number, and {b} has {len(b)} components")
        return [(a, b)]
    if isinstance(b, sp.MatrixBase) and a.shape != b.shape:
        raise wrong(f"{list(a)} are {len(a)} components, and {list(b)} are {len(b)}")
    return zip(a, b if isinstance(b, sp.MatrixBase) else [b] * len(a))


def fields(e: Any) -> Set[Field]:
    return {f for f in e.atoms(sp.Function) if isinstance(f, Field)}


def _time_degree(d: sp.Derivative, t: sp.Symbol) -> int:
    return sum(int(n) for v, n in d.variable_count if v == t)


def _read(e: sp.Expr) -> sp.Expr:
    """The expression as people read it, u_tt for the second derivative by t."""
    return e.xreplace({d: sp.Symbol(f"{d.expr}_{''.join(str(v) * int(n) for v, n in d.variable_count)}")
                       for d in e.atoms(sp.Derivative) if isinstance(d.expr, Field) and all(n.is_Integer for v, n in d.variable_count)})


def _rebuilt(e: sp.Basic, what: Callable[[sp.Basic], Optional[sp.Basic]]) -> sp.Basic:
    """The expression with what a function has for some of its parts in their place."""
    made = what(e)
    if made is not None:
        return made
    return e.func(*(_rebuilt(a, what) for a in e.args)) if e.args else e


class System:
    """The equations of a program."""

    def __init__(self, equations: Any, grid: Grid):
        self.grid, self.pairs = grid, pairs(equations)
        self.said = [f"{_read(a)} = {_read(b)}" for a, b in self.pairs]
        self.of: Dict[type, int] = {}          # by a field's function the number of its equation
        self.order: Dict[type, int] = {}       # and its order in time
        self.sought: List[Field] = []
        for k in range(len(self.pairs)):
            self.within(k, self._seek)
        self.steps = [self.within(k, self._solve) for k in range(len(self.pairs))]

    def within(self, k: int, do: Callable[[int], Any]) -> Any:
        """What a function of an equation's number gives, in whose errors the equation is named."""
        try:
            return do(k)
        except InputError as e:
            text = str(e)
            raise (wrong(text) if text.startswith("in the equation ") else wrong(f"in the equation {self.said[k]}: {text}")) from None

    def _seek(self, k: int) -> None:
        """Which field an equation is solved for: at its left that is written which changes in time."""
        left, t = self.pairs[k][0], self.grid.t
        found: Dict[Field, int] = {}
        for d in left.atoms(sp.Derivative):
            if isinstance(d.expr, Field) and _time_degree(d, t):
                found[d.expr] = max(found.get(d.expr, 0), _time_degree(d, t))
        now = lambda f: f.func(t, *self.grid.x)
        for f in fields(left):
            if not f.stc.input and f.level() == 1:
                found.setdefault(now(f), 0)
        if not found and isinstance(left, Field) and left.stc.temp:
            found[left] = 0
        if len(found) != 1:
            names = " and ".join(sorted(f.func.__name__ for f in found))
            raise wrong(f"{'both ' + names + ' change' if found else 'nothing at the left changes'} in time; the left side says what the equation is "
                        "solved for: u.dt, u.dt2, u.forward, or a temp field")
        field, order = found.popitem()
        if order > 2:
            raise wrong(f"a derivative by time of degree {order}; u.dt and u.dt2 can be solved: give u.dt a field and an equation of its own")
        if field.func in self.of:
            raise wrong(f"{field} has another equation, {self.said[self.of[field.func]]}")
        self.of[field.func], self.order[field.func] = k, order
        self.sought.append(field)

    def _rate(self, field: Field, degree: int, sought: Field) -> sp.Expr:
        """A field's derivative by time, by its levels."""
        dt = self.grid.dt
        if self.grid.step is None:
            raise wrong("a derivative by time takes the time of a step, and the grid has none: Grid(..., step=...)")
        order = self.order.get(field.func, 0)
        if degree > order:
            raise wrong(f"{field} is derived {degree} times by time here, and its own equation has {order}" if field.func in self.of else
                        f"{field} is derived by time, and has no equation")
        if field == sought:
            return _TWICE if degree == 2 else _ONCE
        if order == 1:
            return (field.forward - field) / dt
        return (field.forward - field.backward) / (2 * dt) if degree == 1 else (field.forward - 2 * field + field.backward) / dt**2

    def levels(self, e: sp.Expr, sought: Field) -> sp.Expr:
        """The expression without derivatives by time, and with our own for those by coordinates."""
        def of(part: sp.Basic) -> Optional[sp.Basic]:
            if isinstance(part, Field) and part.func == sought.func and not sought.stc.temp and part.level() == 1 and not any(part.offset()):
                return _NEW
            if not isinstance(part, sp.Derivative):
                return None
            degree, inner = _time_degree(part, self.grid.t), part.expr
            if degree and (not isinstance(inner, Field) or inner.level() or any(inner.offset())):
                raise wrong(f"{part}: only fields as they are can be derived by time, u.dt; SymPy's .doit() works the rest out")
            made = self._rate(inner, degree, sought) if degree else self.levels(inner, sought)
            for x, n in part.variable_count:
                made = made if x == self.grid.t else Difference(made, x, n)
            return made
        return _rebuilt(e, of)

    def _solve(self, k: int) -> Step:
        field, (left, right) = self.sought[k], self.pairs[k]
        order, dt = self.order[field.func], self.grid.dt
        if field.stc.temp:
            return Step(field, 0, self.levels(right, field), sp.S.One, self.said[k])
        off = self.levels(left, field) - self.levels(right, field)
        unknowns = (_TWICE, _ONCE, _NEW)
        for part in sorted(off.atoms(Difference, Mean), key=str):
            if part.has(*unknowns):
                raise wrong(f"it is implicit: {_named(part, field)} takes {field}'s newest level at neighbours. Take a level that is known, such as "
                            f"({field} - {field}.backward) / dt in place of {field}.dt")
        a, b, f = (sp.diff(off, u) for u in unknowns)
        if any(c.has(*unknowns) for c in (a, b, f)):
            raise wrong(f"it is not linear in {field}'s newest level: {_named(off, field)} = 0. Write the other factors at a level that is known")
        gain = a + b * dt / 2 + f * dt**2 if order == 2 else b + f * dt if order == 1 else f
        if gain == 0:
            raise wrong(f"{field}'s newest level drops out of it")
        guess = {2: {_TWICE: 0, _ONCE: (field - field.backward) / dt, _NEW: 2 * field - field.backward}, 1: {_ONCE: 0, _NEW: field}, 0: {_NEW: 0}}[order]
        return Step(field, order, -off.xreplace({u: sp.sympify(v) for u, v in guess.items()}) / gain, 1 / gain, self.said[k])

    # ---- the order of a step

    def stages(self) -> List[List[Step]]:
        """Stencils, one after the other, each of equations that all see the levels from before it."""
        n, at = len(self.steps), [0] * len(self.steps)
        rules = [r for k in range(n) for r in self.within(k, self._rules)]
        for _ in range(n + 1):
            changed = [(k, at[j] + far, why) for j, k, far, why in rules if at[k] < at[j] + far and not at.__setitem__(k, at[j] + far)]
            if not changed:
                break
        else:
            k, _, why = changed[0]
            raise wrong(f"in the equation {self.said[k]}: {why}, which closes a circle: in no order of the equations all levels that they read "
                        "are there. Read other levels, or keep an old one: a temp field, Field('old', grid, temp=True, outside=...), of the equation {old: u}")
        order: Dict[Any, List[Step]] = {}
        for k in sorted(range(n), key=lambda k: at[k]):
            order.setdefault((at[k], self._region(k)), []).append(self.steps[k])
        return list(order.values())

    def _region(self, k: int) -> Any:
        info = self.steps[k].field.stc
        return info.keep, info.temp

    def _rules(self, k: int) -> List[Tuple[int, int, int, str]]:
        """(j, k, far, why): equation k comes at least `far` stages after j."""
        out = []
        for f in fields(self.steps[k].change):
            if f.stc.input:
                continue
            j, level = self.of.get(f.func), f.level()
            if j is None:
                raise wrong(f"{f} has no equation: give it one, or declare it with input=True")
            if level > 1 or level == 1 and f.stc.temp:
                raise wrong(f"{f} is more than the newest level")
            if f.stc.temp and level < 0:
                raise wrong(f"{f}: a temp field keeps no older levels")
            if j == k:
                if level == 1 or f.stc.temp:
                    raise wrong(f"it is implicit: it takes {f} at neighbours" if level == 1 else f"{f} is read before it is made")
            elif level == 1 or f.stc.temp:
                out.append((j, k, 1, f"it reads {f}"))
            elif level == 0:
                out.append((k, j, int(self._region(j) != self._region(k)), f"{self.sought[k]}'s reads {f} from before"))
        return out


def _named(e: sp.Expr, field: Field) -> sp.Expr:
    """The expression with names for its unknowns."""
    return e.xreplace({_TWICE: sp.Symbol(f"{field}.dt2"), _ONCE: sp.Symbol(f"{field}.dt"), _NEW: sp.Symbol(f"{field}.forward")})
