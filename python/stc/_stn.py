"""Expressions of SymPy's as text of the language."""
from __future__ import annotations

from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Tuple

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from ._symbols import HALF, Difference, Field, Grid, Mean, Place, Series, per_dimension, shifted, wrong

# How tightly what a text consists of binds.
IF, OR, AND, COMPARE, ADD, MUL, SIGN, ATOM = range(8)
_FUNCTIONS: Dict[type, str] = {
    sp.sin: "sin", sp.cos: "cos", sp.tan: "tan", sp.exp: "exp", sp.log: "log", sp.asin: "asin", sp.acos: "acos", sp.atan: "atan", sp.atan2: "atan2",
    sp.sinh: "sinh", sp.cosh: "cosh", sp.tanh: "tanh", sp.floor: "floor", sp.ceiling: "ceil", sp.erf: "erf", sp.Abs: "abs"}
_COMPARISONS = {sp.Eq: "==", sp.Ne: "!=", sp.Lt: "<", sp.Le: "<=", sp.Gt: ">", sp.Ge: ">="}
_WHERE: Dict[Optional[sp.Rational], str] = {sp.S.Zero: "at whole points", HALF: "half a point ahead"}
_Sets = List[FrozenSet[sp.Rational]]
_BOTH = frozenset((sp.S.Zero, HALF))


def _other(p: sp.Rational) -> sp.Rational:
    return HALF - p


def _factor(t: sp.Expr) -> sp.Expr:
    """The number that a term begins with."""
    return t.as_coeff_Mul()[0]


def _content(e: sp.Add) -> sp.Expr:
    """The number that is a factor of all terms, which SymPy multiplies out."""
    found = {abs(_factor(t)) for t in e.args}
    return found.pop() if len(found) == 1 else sp.S.One


def _bare(terms: Iterable[sp.Expr], sign: int) -> sp.Expr:
    """The sum of terms, times a sign, without the numbers that they begin with."""
    return sp.Add(*(sign * sp.sign(_factor(t)) * t.as_coeff_Mul()[1] for t in terms), evaluate=False)


class Writer:
    """Writes expressions for the points of one field. order: that of derivatives. symbols: those that the program declares."""

    def __init__(self, grid: Grid, order: int, symbols: Dict[sp.Symbol, object]):
        self.grid, self.order, self.symbols = grid, order, symbols

    # ---- where values lie

    def places(self, e: sp.Expr) -> _Sets:
        """Of each dimension where the expression's values can be had."""
        if isinstance(e, Field):
            return [_BOTH if p is None else frozenset((p,)) for p in e.stc.at]
        if isinstance(e, (Difference, Mean)):
            moved, d = self.places(e.args[0]), self.grid.dimension(e.args[1])
            moved[d] = _BOTH if isinstance(e, Difference) else frozenset(map(_other, moved[d]))
            return moved
        sets: _Sets = [_BOTH] * self.grid.rank
        for a in e.args:
            for d, s in enumerate(self.places(a)):
                if not sets[d] & s:
                    raise wrong(f"in {e}, {a} lies {_WHERE[next(iter(s))]} along {self.grid.x[d]} and what it is combined with does not: take "
                                f"mean(..., {self.grid.x[d]}) of one of them, or say at='any' of a field whose place does not matter")
                sets[d] = sets[d] & s
        return sets

    # ---- text

    def text(self, e: sp.Expr, at: Place, tight: int = IF) -> str:
        """The expression's value at a place, in brackets if it binds less than that."""
        made, binds = self._write(e, at)
        return f"({made})" if binds < tight else made

    def _write(self, e: sp.Expr, at: Place) -> Tuple[str, int]:
        write = next((w for kind, w in self._writers if isinstance(e, kind)), Writer._unknown)
        return write(self, e, at)

    def _unknown(self, e: sp.Expr, at: Place) -> Tuple[str, int]:
        if isinstance(e, AppliedUndef):
            raise wrong(f"{e} is a function that nothing is known of: Field({e.func.__name__!r}, grid, ...) declares a field")
        if isinstance(e, (sp.Subs, sp.Derivative)):
            raise wrong(f"{e}: only derivatives by {self.grid.t} and by {', '.join(map(str, self.grid.x))}, of fields as they are and of "
                        "expressions of them, can be written")
        if isinstance(e, type(sp.I)):
            raise wrong("numbers are real here: write the real and the imaginary part of a complex field as two fields, with an equation each")
        known = ", ".join(sorted({*_FUNCTIONS.values(), "sqrt", "pow", "min", "max", "sign"}))
        raise wrong(f"{type(e).__name__} in {e} has no counterpart in the language, whose functions are {known}: rewrite it (SymPy's "
                    ".rewrite, .doit)")

    def _number(self, e: sp.Expr, at: Place) -> Tuple[str, int]:
        if e.is_real is not True or not e.is_finite:
            raise wrong(f"{e} is no finite number")
        if e.is_Integer and abs(e) < 2**53:
            return str(e), ATOM if e >= 0 else SIGN
        if e.is_Rational:
            if e.q & (e.q - 1) == 0 and e.q <= 64 and abs(e.p) < 10**6:
                return repr(float(e)), ATOM if e >= 0 else SIGN
            return f"{e.p}.0 / {e.q}", MUL      # 1 / 3 of two integers alone would be 0
        return repr(float(e)), ATOM if e >= 0 else SIGN

    def _symbol(self, e: sp.Symbol, at: Place) -> Tuple[str, int]:
        g = self.grid
        if e in g.x:
            d = g.x.index(e)
            if g.spacing is None:
                raise wrong(f"{e} is a place, and the grid has no distance between its points: Grid(..., spacing=...)")
            return (f"coord({d}) + 0.5 * {g.h[d]}", ADD) if at[d] == HALF else (f"coord({d})", ATOM)
        if e == g.t:
            if g.step is None:
                raise wrong(f"{e} is a time, and the grid does not say how long a step is: Grid(..., step=...)")
            return f"real(step) * {g.dt}", MUL
        if e not in self.symbols:
            raise wrong(f"the symbol {e} is not known: params={{{e}: VALUE}} gives it a value, params={{{e}: None}} leaves that to who runs "
                        "the program")
        return (f"real({e})", ATOM) if e in g.shape or e.is_integer else (str(e), ATOM)

    def _series(self, e: Series, at: Place) -> Tuple[str, int]:
        return f"if step < n{e} then {e}[step] else 0", IF

    def _field(self, e: Field, at: Place) -> Tuple[str, int]:
        level, offset = e.level(), e.offset()
        for d, (p, want) in enumerate(zip(e.stc.at, at)):
            if p is not None and p != want:
                raise wrong(f"{e} lies {_WHERE[p]} along {self.grid.x[d]}, and is wanted {_WHERE[want]} there: take mean({e}, "
                            f"{self.grid.x[d]}), or say at='any' of {e.func.__name__} if its place does not matter")
        if level < -16:
            raise wrong(f"{e} is {-level} steps old: a program keeps 16 at most")
        return e.func.__name__ + (f"@{-level}" if level < 0 else "") + (f"[{','.join(map(str, offset))}]" if any(offset) else ""), ATOM

    def _difference(self, e: Difference, at: Place) -> Tuple[str, int]:
        (X, x), (n, order, side) = e.args[:2], map(int, e.args[2:])
        d, g = self.grid.dimension(x), self.grid
        if n > 4:
            raise wrong(f"{e} is a derivative of degree {n}, and `diff` goes up to 4: nest two of them, or make one a temp field with an "
                        "equation of its own")
        if g.spacing is None or d not in g.uneven and per_dimension("spacing", g.spacing, g.rank)[d] is None:
            raise wrong(f"{e} takes the distance between points, and the grid has none: Grid(..., spacing=...)")
        order = order or self.order
        if order % 2 or not 2 <= order <= 16:
            raise wrong(f"order {order} of {e}: it is even, from 2 to 16")
        inner, want = self.places(X)[d], at[d]
        here = next(iter(inner)) if len(inner) == 1 else _other(want) if n % 2 and X.has(Difference) else want
        words = [str(d)] + [str(n)] * (n > 1) + [f"order {order}"] * (order > 2)
        if here != want:
            if d in g.uneven:
                raise wrong(f"{e} goes half a point along {x}, where points lie unevenly: there all fields lie at whole points, at=0")
            words.append("at 1/2" if want == HALF else "at -1/2")
        words += [f"side {side}"] * (side != 0)
        moved = tuple(here if k == d else p for k, p in enumerate(at))
        return f"diff({self.text(X, moved)}, {', '.join(words)})", ATOM

    def _mean(self, e: Mean, at: Place) -> Tuple[str, int]:
        d = self.grid.dimension(e.args[1])
        moved = tuple(_other(p) if k == d else p for k, p in enumerate(at))
        pair = (0, 1) if at[d] == HALF else (-1, 0)
        a, b = (self.text(shifted(e.args[0], self.grid, d, k), moved, ADD) for k in pair)
        return f"0.5 * ({a} + {b})", MUL

    def _sum(self, e: sp.Add, at: Place) -> Tuple[str, int]:
        if all(_factor(t).is_negative for t in e.args):
            return "-" + self.text(sp.Add(*(-t for t in e.args)), at, MUL), MUL
        out, groups = "", self._groups(e)
        for c, terms in groups:
            negative = all(_factor(t).is_negative for t in terms)
            if len(terms) > 1:
                inner = _bare(terms, -1 if negative else 1)
                made, binds = self._product_of([c], [], [inner], at)
            else:
                made, binds = self._write(-terms[0] if negative else terms[0], at)
            if len(groups) == 1:
                return made, binds
            made = f"({made})" if binds < (MUL if negative else ADD) else made
            out += (" - " if negative else " + ") + made if out else ("-" if negative else "") + made
        return out, ADD

    def _groups(self, e: sp.Add) -> List[Tuple[sp.Expr, List[sp.Expr]]]:
        """The terms in the order in which they are written, those together that have a number as their common factor: SymPy has multiplied it out."""
        alike: Dict[sp.Expr, List[sp.Expr]] = {}
        for t in sorted(e.args, key=self._rank_of_term):
            c = abs(_factor(t))
            alike.setdefault(c if float(c) != 1 and (t.has(Difference) or _content(e) != 1) else t, []).append(t)
        return [(abs(_factor(terms[0])), terms) for terms in alike.values()]

    def _rank_of_term(self, t: sp.Expr) -> tuple:
        """Positive terms first; derivatives in the order of the dimensions, then numbers, then the rest."""
        c, rest = t.as_coeff_Mul()
        found = sorted((self.grid.dimension(d.args[1]), -int(d.args[2])) for d in rest.atoms(Difference))
        return bool(c.is_negative), not found, found, not t.is_number, len(rest.atoms(AppliedUndef)), c != 1, str(rest)

    def _rank_of_factor(self, f: sp.Expr) -> tuple:
        base = f.as_base_exp()[0]
        kind = (0 if base == self.grid.dt else 1 if isinstance(base, (sp.Symbol, Mean)) else 2 if isinstance(base, Field) and base.stc.input else
                3 if isinstance(base, (Field, sp.Function)) else 4 if isinstance(base, Difference) else 5)
        return kind, str(base)

    def _product(self, e: sp.Mul, at: Place) -> Tuple[str, int]:
        c, rest = e.as_coeff_Mul()
        if c.is_negative:
            return "-" + self.text(-e, at, MUL), MUL
        above, below = [], []
        for f in sp.Mul.make_args(rest):
            base, power = f.as_base_exp()
            if f.is_number and f.is_real:
                c *= sp.N(f, 20)
            elif f.is_Add and float(_content(f)) != 1:
                c *= _content(f)
                above.append(_bare(f.args, 1))
            elif isinstance(f, sp.Pow) and power.is_Rational and power < 0:
                below.append(sp.Pow(base, -power))
            else:
                above.append(f)
        return self._product_of([c] if c != 1 or not above else [], sorted(below, key=self._rank_of_factor), sorted(above, key=self._rank_of_factor), at)

    def _product_of(self, numbers: List[sp.Expr], below: List[sp.Expr], above: List[sp.Expr], at: Place) -> Tuple[str, int]:
        """The product of numbers and factors, over what is below."""
        out = " * ".join(self.text(f, at, MUL) for f in [*numbers, *above])
        for f in below:
            out += f" / {self.text(f, at, SIGN)}"
        return out, MUL

    def _exp(self, e: sp.Expr, at: Place) -> Tuple[str, int]:
        return f"exp({self.text(e.as_base_exp()[1], at)})", ATOM

    def _power(self, e: sp.Pow, at: Place) -> Tuple[str, int]:
        base, power = e.as_base_exp()
        if power.is_Rational and power < 0:
            return f"1 / {self.text(sp.Pow(base, -power), at, SIGN)}", MUL
        if power == HALF:
            return f"sqrt({self.text(base, at)})", ATOM
        if power.is_Integer and power <= (4 if base.is_Atom or isinstance(base, (Field, Difference)) else 2):
            return " * ".join([self.text(base, at, SIGN)] * int(power)), MUL
        return f"pow({self.text(base, at)}, {self.text(power, at)})", ATOM

    def _function(self, e: sp.Function, at: Place) -> Tuple[str, int]:
        if type(e) not in _FUNCTIONS:
            return self._unknown(e, at)
        return f"{_FUNCTIONS[type(e)]}({', '.join(self.text(a, at) for a in e.args)})", ATOM

    def _extreme(self, e: sp.Expr, at: Place) -> Tuple[str, int]:
        word = "min" if isinstance(e, sp.Min) else "max"
        texts = [self.text(a, at) for a in sorted(e.args, key=self._rank_of_term)]
        out = texts[-1]
        for t in reversed(texts[:-1]):
            out = f"{word}({t}, {out})"
        return out, ATOM

    def _sign(self, e: sp.sign, at: Place) -> Tuple[str, int]:
        x = self.text(e.args[0], at, COMPARE + 1)
        return f"if {x} > 0 then 1 else if {x} < 0 then -1 else 0", IF

    def _piecewise(self, e: sp.Piecewise, at: Place) -> Tuple[str, int]:
        *cases, (last, always) = e.args
        if always != True:  # noqa: E712, a value of SymPy's
            raise wrong(f"{e} says nothing of the points where none of its conditions holds: end it with (VALUE, True)")
        return "".join(f"if {self.text(c, at)} then {self.text(v, at)} else " for v, c in cases) + self.text(last, at), IF

    def _condition(self, e: Boolean, at: Place) -> Tuple[str, int]:
        if isinstance(e, (sp.And, sp.Or)):
            binds, word = (AND, " && ") if isinstance(e, sp.And) else (OR, " || ")
            return word.join(self.text(a, at, binds + 1) for a in sorted(e.args, key=str)), binds
        if isinstance(e, sp.Not):
            return "!" + self.text(e.args[0], at, SIGN), SIGN
        if isinstance(e, sp.ITE):
            return self._write(e.to_nnf(), at)
        if type(e) in _COMPARISONS:
            return f" {_COMPARISONS[type(e)]} ".join(self.text(a, at, COMPARE + 1) for a in e.args), COMPARE
        if e in (sp.true, sp.false):
            return str(e).lower(), ATOM
        return self._unknown(e, at)

    _writers: List[Tuple[Any, Callable]] = [
        (Field, _field), (Difference, _difference), (Mean, _mean), (Series, _series), (sp.Symbol, _symbol), ((sp.Number, sp.NumberSymbol), _number),
        (sp.Add, _sum), (sp.Mul, _product), (sp.exp, _exp), (sp.Pow, _power), (sp.Piecewise, _piecewise), ((sp.Min, sp.Max), _extreme), (sp.sign, _sign),
        ((Relational, Boolean), _condition), (AppliedUndef, _unknown), (sp.Function, _function)]
