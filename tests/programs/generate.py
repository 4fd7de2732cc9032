"""Random programs, valid by construction as far as that can be told, with sizes, inputs and schedules to run them with.

A seed makes one Case. Only operations that all devices round alike are used, and no field gets values that are infinite or no numbers, so that results are equal byte for byte.
"""
import math
import random
import re

from absorbing import Absorbing
from complexes import with_complex
from distances import Distances
from ensemble import with_members
from faces import Faces
from inits import Inits
from lacking import Lacking
from layers import Layers, framed
from looked import with_looked
from leveled import Leveled
from masked import Masked
from model import EXTENT, HARD, HARDER, LARGE_SIZES, LITERAL, MIXES, SCALARS, SHORT, SIZES, STORED, Case, Field, Place, Struct, Vector, components, computed, is_plain, renamed
from numbers_kept import Numbers
from rounds import Rounds
from series import Series
from shapes import Shapes, constant_extents, wider
from statements import Statements
from stops import dense, later, longer
from swept import Swept
from tree import List, Node

class Generator(Statements, Inits, Shapes, Faces, Distances, Layers, Absorbing, Lacking, Masked, Numbers, Rounds, Series, Swept, Leveled):
    """Makes the case of a seed. points: with probes in every program, and injects in most. plain: the program has what suits the warps schedule, which fits few others."""

    def __init__(self, seed, points=False, turns=0):
        """turns: the share of runs whose grid is cut in which parts take turns on the device."""
        self.r, self.points, self.turns = random.Random(seed), points, turns
        self.types, self.mix, self.functions, self.regions, self.bounds, self.movable = [], None, [], [], {}, set()
        self.seed, self.own, self.chances = seed, random.Random(seed * 2 + 17), random.Random(seed * 2 + 19)
        self.rank = self.r.choice([1, 1, 2, 2, 2, 3])
        self.origin = [self.r.choice([0, 0, 0, -3, 5]) for _ in range(self.rank)]
        self.reach = self.r.choice([1, 1, 2, 3])
        self.fields, self.params, self.macros, self.tables, self.arrays, self.coordinates, self.named, self.names, self.faces = {}, [], [], [], [], [], 0, [], []
        self.least = [1] * self.rank
        self.plain = self.rank == 2 and not points and self.own.random() < 0.25
        self.edges, self.words = random.Random(seed * 2 + 21), random.Random(seed * 2 + 23)
        self.sided = random.Random(seed * 2 + 25)
        self.rare = random.Random(seed * 2 + 35)                  # stencils that run every so many steps; fields at the start of a step
        self.in_stencil = self.starts = False
        self.bitwise, self.draws = self.words.choice([0, 0, 0.6]), self.words.choice([0, 0, 0.3])
        self.masks = []
        self.start_distances(seed)
        self.start_numbers(seed)
        self.start_rounds(seed)
        self.layered = self.edges.random() < (0.12 if self.rank < 3 else 0.3)
        if self.layered:
            self.plain, self.points = False, points or self.edges.random() < 0.4
        self.start_absorbing(seed)
        self.start_sweeps(seed)
        self.start_levels(seed)

    # ---------------------------------------------------------------- regions

    def low(self, d, a):
        """The coordinate a points from the lower end. A param that is a, or what launching computes of params, may stand there, so that some comparisons are left to
        the launch."""
        name = self.r.choice(self.bounds[a]) if a in self.bounds and self.r.random() < 0.3 else None
        return f"{self.origin[d]} + {name}" if name else str(self.origin[d] + a)

    def high(self, d, b):
        name = self.r.choice(self.bounds[b]) if b in self.bounds and self.r.random() < 0.3 else None
        c = self.origin[d] - 1 - (0 if name else b)
        return EXTENT[d] + (f" - {-c}" if c < 0 else f" + {c}" if c else "") + (f" - {name}" if name else "")

    def range(self, d, x):
        kind, a, b = x
        if kind == "all":
            whole = [] if (a, b) == (0, 0) else [Node(self.low(d, 0) + " .. " + self.high(d, 0))]
            return Node(self.low(d, a) + " .. " + self.high(d, b), smaller=whole)
        ends = (self.low(d, a), self.low(d, b)) if kind == "low" else (self.high(d, b), self.high(d, a))
        return Node(ends[0] if a == b else " .. ".join(ends))

    def empty_region(self, box):
        """A part of the box without points, whatever the params are."""
        d = self.r.randrange(self.rank)
        ends = [Node(f"{self.origin[e] + 7} .. {self.origin[e] + 6}") if e == d else self.range(e, x) for e, x in enumerate(box)]
        return Node("[" + ", ".join("$" * self.rank) + "]", *ends)

    def region(self, box, name=True):
        """The box in brackets, or if `name` a name of it."""
        written = Node("[" + ", ".join("$" * self.rank) + "]", *[self.range(d, x) for d, x in enumerate(box)])
        names = [n for n, b in self.regions if b == box] + [f.name for f in self.fields.values() if self.points_of(f) == box and f.kind != "past" and not f.lacks]
        return Node(f"[{self.r.choice(names)}]", smaller=[written]) if names and name and self.r.random() < 0.15 else written

    def points_of(self, field):
        points = [("all", *b) for b in field.box]
        if field.thin:
            points[field.thin[0]] = (field.thin[1], 0, field.thin[2] - 1)
        return points

    def demand(self, d, least):
        """The grid must have at least so many points in dimension d."""
        self.least[d] = max(self.least[d], least)

    # ---------------------------------------------------------------- accesses

    def room(self, x, field, d):
        """The offsets in dimension d at which points of x may read `field`, on a grid that is large enough."""
        if field.thin and field.thin[0] == d:
            return self.thin_room(x, field)
        if d in field.lacks:
            return -self.reach, self.reach
        kind, a, b = x
        below, above = field.written[d] if field.written else field.box[d]
        if field.rule and not field.written:
            return -self.reach, self.reach
        least = below - a if kind != "high" else -self.reach
        most = b - above if kind == "all" else a - above if kind == "high" else self.reach
        return max(least, -self.reach), min(most, self.reach)

    def demand_access(self, place, field, d, lo, hi):
        """An access at total offsets lo to hi: how large the grid must be."""
        kind, a, b = place.box[d]
        below, above = field.written[d] if field.written else field.box[d]
        if (field.rule and not field.written) or (field.thin and field.thin[0] == d) or d in field.lacks:
            return
        if kind == "low":
            self.demand(d, b + hi + above + 1)
        if kind == "high":
            self.demand(d, b + 1 - lo + below)

    def offset(self, place, field, d, lo, hi):
        """One offset, as Node, that all in all stays in lo .. hi, with a sum's variable now and then. None if there is none."""
        r, down, up = self.r, place.slack[d][0], place.slack[d][1]
        lo, hi = lo + down, hi - up
        if lo > hi:
            return None
        if place.loops and r.random() < 0.6:
            name, first, last, sign = *r.choice(place.loops), r.choice([1, 1, -1])
            least, most = sorted((sign * first, sign * last))
            if lo - least <= hi - most:
                o = r.randint(lo - least, hi - most)
                self.demand_access(place, field, d, o + least - down, o + most + up)
                variable = name if sign > 0 else "-" + name
                return Node(variable + (f" - {-o}" if o < 0 else f" + {o}" if o else ""), smaller=[Node("0")])
        o = 0 if lo <= 0 <= hi and r.random() < 0.45 else r.randint(lo, hi)
        self.demand_access(place, field, d, o - down, o + up)
        return Node(str(o), smaller=[Node("0")] if o else [])

    def access_to(self, field, place, path=""):
        """An access to `field`, or to what is reached by `path` from its value, at some offset."""
        offsets = [self.offset(place, field, d, *self.room(place.box[d], field, d)) for d in range(self.rank)]
        if None in offsets:
            return None
        type = computed(field.type) if not path else computed(dict(components(field.type))[path])
        if all(o.form == "0" for o in offsets) and not path.startswith("[") and self.r.random() < 0.9:
            return Node(self.at_start(field) + path, type=type)
        if is_plain(field.type) and path and place.loops and self.r.random() < 0.5:
            path = self.running_path(field.type, place) or path
        return Node(self.at_start(field) + "[" + ", ".join("$" * self.rank) + "]" + path, *offsets, type=type)

    def at_start(self, field):
        """The name of the field, in a stencil now and then as it is at the start of the step."""
        starts = self.in_stencil and field.kind == "" and self.rare.random() < 0.04
        self.starts |= starts
        return field.name + "@0" if starts else field.name

    def running_path(self, type, place):
        """The index of a vector's component that depends on a sum's variable, in brackets; None if there is none."""
        fitting = [v for v in place.loops if v[2] - v[1] < type.n]
        if not fitting:
            return None
        name, first, last = self.r.choice(fitting)
        o = self.r.randint(-first, type.n - 1 - last)
        return f"[{name}{f' + {o}' if o > 0 else f' - {-o}' if o else ''}]"

    def access(self, type, place):
        """An access of that type; None if there is none."""
        if not place.fields:
            return None
        found = [(f, path) for f in self.fields.values() if f.readable and f.kept(place.older) for path, t in components(f.type) if computed(t) == type]
        self.r.shuffle(found)
        return next((a for a in (self.access_to(f, place, path) for f, path in found[:8]) if a), None)

    # ---------------------------------------------------------------- expressions

    def literal(self, type):
        return Node(f"{type}({self.r.choice(LITERAL[type])})", type=type)

    def leaf(self, type, place):
        return self.placed(type, place, self.some_leaf(type, place))

    def some_leaf(self, type, place):
        r, k = self.r, self.r.random()
        others = list(dict.fromkeys(computed(t) for f in self.fields.values() for _, t in components(f.type))) + SCALARS
        other = others[min(r.randrange(len(others)), r.randrange(len(others)))]
        values = [n + path for n, t in place.values for path, c in components(t) if computed(c) == type]
        if (arrays := [a for a in self.arrays if a[1] == type]) and place.arrays and r.random() < 0.1:
            return self.array_value(*r.choice(arrays), place)
        if values and k < 0.25:
            return Node(r.choice(values), type=type)
        if k < 0.75 and (a := self.access(type, place)):
            return a
        if k < 0.86 and other != type and (a := self.access(other, place)):
            return Node(f"{type}($)", a, type=type)
        named = [n for n, t in self.params if t == type]
        if k < 0.9 and named:
            return Node(r.choice(named), type=type)
        if self.draws and place.points and type[0] == "f" and self.words.random() < self.draws:
            return self.drawn(type)
        if k < 0.95 and place.points:
            d = r.randrange(self.rank)
            return Node(f"(idx({d}) % 3 == 1)" if type == "bool" else f"{type}(idx({d}))", type=type)
        if type in ("f32", "f64") and place.points and r.random() < self.hard:
            return self.hard_value(type)
        if place.loops and k < 0.96:
            return Node(f"{type}({r.choice(place.loops)[0]})", type=type)
        if (tables := [t for t in self.tables if t[1] == type]) and k < 0.98:
            return self.table_value(*r.choice(tables), place)
        if place.step and k < 0.99:
            return Node(f"{type}(step)", type=type)
        if place.points and type[0] == "f" and self.words.random() < 0.3:
            return self.drawn(type)
        return self.literal(type)

    def drawn(self, type):
        """A random number."""
        seed, n = self.words.choice(["1", "N", "-7", "u32(12345)"]), self.words.choice(["0", "1", "2", "3", "6", "N", f"idx({self.rank - 1})"])
        return Node(f"{type}({self.words.choice(['random', 'normal'])}({seed}, {n}))", type=type)

    def hard_value(self, type):
        """A number that a narrow type rounds at a place halfway, or beside that, at every point."""
        narrow, form, large = self.r.choice(HARDER)
        value = f"f32({narrow}({form.replace('$', f'idx({self.r.randrange(self.rank)})')}))"
        value = value if large == 1 else f"({value} / {large:.1f})"
        return Node(value if type == "f32" else f"f64({value})", type=type)

    def narrow(self, type, place):
        """A value for a field of a narrow float type that is rounded once, from its text or from a wider type."""
        r, sign = self.r, lambda x: Node(x)
        k = r.random()
        if k < 0.3:
            return sign(r.choice(HARD[type]))
        if k < 0.5:
            return Node("if $ then $ else $", self.expr("bool", place, 1), sign(r.choice(HARD[type])), sign(r.choice(HARD[type])))
        if k < 0.6:
            return Node(f"{type}($)", sign(r.choice(HARD[type])))
        found = [(form, large) for narrow, form, large in HARDER if narrow == type and (" h" not in form or ("h1", "f64") in self.params)]
        if k < 0.85 and place.points:
            form, large = r.choice(found)
            value = f"{type}({form.replace('$', f'idx({r.randrange(self.rank)})')})"
            return Node(value if large == 1 else f"f32({value}) / {large:.1f}")
        wide = r.choice(["f64", "f64", "i32", "i64"])
        return Node(f"{type}(max({wide}(-4), min({wide}(4), $)))", self.expr(wide, place, 2))

    def array_value(self, name, type, place):
        """An element of a launch-time array at any index."""
        r, index = self.r, self.access("i64", place)
        if index is None or r.random() < 0.5:
            choices = ["0"] + (["step", "step % 3"] if place.step else []) + ([f"idx({r.randrange(self.rank)})", "idx(0) - 2"] if place.points else [])
            choices += [n for n, t in place.values if t == "i64"]
            index = Node(r.choice(choices), type="i64")
        return Node(f"{name}[$]", index, type=type)

    def table_value(self, name, type, n, place):
        """A value of a table of n constants: at a constant, at a sum's variable, or at an index that is any number, beyond the ends too."""
        r, simple = self.r, [Node(f"{name}[0]", type=type)]
        fitting = [v for v in place.loops if v[2] - v[1] < n]
        if fitting and r.random() < 0.7:
            variable, first, last = r.choice(fitting)
            o = r.randint(-first, n - 1 - last)
            return Node(f"{name}[{variable}{f' + {o}' if o > 0 else f' - {-o}' if o else ''}]", type=type, smaller=simple)
        others = [t for t in self.tables if t[1] == "i64"]
        if others and place.points and self.own.random() < 0.25:
            inner = self.access("i64", place) or Node("idx(0) % 5", type="i64")
            return Node(f"{name}[$]", Node(f"{self.own.choice(others)[0]}[$]", inner, type="i64"), type=type, smaller=simple)
        if r.random() < 0.4 and (index := self.access("i64", place) or (Node("idx(0) % 5", type="i64") if place.points else None)):
            return Node(f"{name}[$]", index, type=type, smaller=simple)
        return Node(f"{name}[{r.randrange(n)}]", type=type)

    def over_offsets(self, type, place, depth):
        """A sum, product, least or greatest over the values of a variable."""
        r, name = self.r, self.new_name("r")
        first = r.choice([-2, -1, 0, 1, 1])
        word, last = r.choice(["sum", "sum", "prod", "min", "max"]), first + r.choice([0, 1, 2, 3])
        body = self.expr(type, place.within(loops=place.loops + [(name, first, last)]), min(depth, 2))
        bounds = Node(f"{first} .. {last}", smaller=[Node(f"{first} .. {k}") for k in range(first, last)] + [Node("0 .. 0"), Node("0 .. 1")])
        return Node(f"({word}({name} in $) $)", bounds, body, type=type)

    def macro_call(self, type, place, depth):
        """A call of a macro with arguments of `type`; None if none suits the place."""
        macros = [m for m in self.macros if not m[3] or (place.step and place.older + m[3] <= max((f.levels for f in self.fields.values()), default=0))]
        if not macros:
            return None
        name, reach, form, older = self.r.choice(macros)
        moved = ""
        if self.r.random() < 0.3 and not isinstance(type, Vector) and not any(map(any, place.slack)):
            off = [self.r.randint(-1, 1) for _ in range(self.rank)]
            moved = f"[{', '.join(map(str, off))}]"
            reach = [(m[0] + max(0, -o), m[1] + max(0, o)) for m, o in zip(reach, off)]
        argument = self.argument(place, reach, older)
        make = self.vector if isinstance(type, Vector) else self.expr
        return Node(f"{name}({form}){moved}", *[make(type, argument, min(depth, 2)) for _ in range(form.count("$"))], type=type)

    def argument(self, place, reach, older):
        """Where the argument of a macro stands that moves it by `reach`, and reads it up to `older` steps earlier. Lets move with it, where no access can leave its field."""
        moved = [(s[0] + m[0], s[1] + m[1]) for s, m in zip(place.slack, reach)]
        ruled = all(f.rule for f in self.fields.values()) and not older
        values = [v for v in place.values if v[0] in self.movable] if ruled else ()
        return place.within(slack=moved, older=place.older + older, macros=place.macros and not any(map(any, place.slack)), vars=(), values=values)

    def bool_expr(self, place, depth):
        r = self.r
        if wet := self.mask_value(place):
            return wet
        if r.random() < 0.2:
            return Node("!($)", self.expr("bool", place, depth - 1), type="bool")
        t = r.choice(SCALARS)
        operator = r.choice(["&&", "||", "==", "!="] if t == "bool" else ["<", "<=", ">", ">=", "==", "!="])
        return Node(f"($ {operator} $)", self.expr(t, place, depth - 1), self.expr(t, place, depth - 1), type="bool")

    def expr(self, type, place, depth):
        """An expression of a scalar type."""
        r = self.r
        if depth <= 0 or r.random() < 0.12:
            return self.leaf(type, place)
        e = lambda t=type, less=1: self.expr(t, place, depth - less)
        n = lambda form, *parts: Node(form, *parts, type=type)
        if called := self.call(type, place, depth):
            return called
        k = r.random()
        if k < 0.08:
            return n(r.choice(["(if $ then $ else $)", "select($, $, $)"]), e("bool", 2), e(), e())
        if k < 0.16 and place.macros and type != "bool" and (called := self.macro_call(type, place, depth - 1)):
            return called
        if k < 0.24 and (other := r.choice(SCALARS)) != type:
            return n(f"{type}($)", e(other))
        if type == "bool":
            return self.bool_expr(place, depth)
        if k < 0.3 and len(place.loops) < 2:
            return self.over_offsets(type, place, depth - 1)
        if k < 0.62:
            return n(f"($ {r.choice('+-+-*')} $)", e(), e())
        if k < 0.74:
            return n(f"{r.choice(['min', 'max'])}($, $)", e(), e())
        if k < 0.8:
            return n(f"{r.choice(['abs', '-'])}($)", e())
        if type[0] in "iu":
            return self.bits(type, e) if self.words.random() < self.bitwise else n(f"($ {r.choice('/%')} $)", e(), e())
        if k < 0.88:
            return n("($ / (2.0 + abs($)))", e(), e())
        if k < 0.93:
            return n("sqrt(abs($))", e())
        return n(f"{r.choice(['floor', 'ceil'])}($)", e()) if k < 0.96 else n("fma($, $, $)", e(), e(), e())

    def bits(self, type, e):
        """An operation on bits; e: makes an operand."""
        k = self.words.random()
        form = "~$" if k < 0.1 else f"($ {self.words.choice(['&', '|', '^'])} $)" if k < 0.6 else f"($ {self.words.choice(['<<', '>>'])} " + ("($ & 7))" if k < 0.8 else "$)")
        return Node(form, *[e() for _ in range(form.count("$"))], type=type)

    def vector(self, type, place, depth):
        """An expression of a vector or struct type `type`, which is computed(type); one without arithmetic is an access, a let, a call or a constructor."""
        r = self.r
        if depth > 0 and (called := self.call(type, place, depth)):
            return called
        k = r.random()
        if not is_plain(type) and depth > 0 and k > 0.5:
            return self.braces(type, place, depth)
        if depth <= 0 or k < 0.3 or not is_plain(type):
            fields = [f for f in self.fields.values() if place.fields and f.readable and f.kept(place.older) and computed(f.type) == type]
            r.shuffle(fields)
            for f in fields:
                if a := self.access_to(f, place):
                    return a
            values = [n for n, t in place.values if t == type]
            return Node(r.choice(values), type=type) if values and k < 0.9 else self.braces(type, place, depth)
        n = lambda form, *parts: Node(form, *parts, type=type)
        v = lambda: self.vector(type, place, depth - 1)
        if k < 0.4:
            return n("(if $ then $ else $)", self.expr("bool", place, depth - 2), v(), v())
        if type.of == "bool" or k < 0.5:
            return self.braces(type, place, depth)
        if k < 0.6:
            return n(f"($ {r.choice('*+-')} $)", *r.sample([self.expr(type.of, place, depth - 1), v()], 2))
        if k < 0.68 and place.macros and (called := self.macro_call(type, place, min(depth - 1, 1))):
            return called
        if k < 0.75:
            return n(r.choice(["min($, $)", "max($, $)"]), v(), v())
        return n(f"($ {r.choice('+-*')} $)", v(), v())

    def braces(self, type, place, depth):
        """A value of a vector or struct type from its members."""
        named = isinstance(type, Struct) and self.r.random() < 0.4
        parts = [self.value(t, place, depth - 1) for _, t in type.members]
        forms = [f"{path[1:]} = $" if named else "$" for path, _ in type.members]
        return Node("{" + ", ".join(forms) + "}", *parts, type=type)

    def value(self, type, place, depth):
        """An expression that can be assigned to something of that type and keeps floats in bounds; also a NaN becomes a number."""
        if is_plain(type) and type.of not in SHORT:
            e = self.vector(computed(type), place, depth)
            return Node("max(-4.0, min(4.0, $))", e, type=computed(type)) if computed(type.of)[0] == "f" else e
        if isinstance(type, (Vector, Struct)):
            return self.braces(type, place, depth) if is_plain(type) or computed(type) != type else self.vector(type, place, depth)
        if type in HARD and self.r.random() < 0.3:
            return self.narrow(type, place)
        e = self.expr(computed(type), place, depth)
        if type in SHORT:
            return Node(f"{type}($)", e)
        return Node(f"max({computed(type)}(-4.0), min({computed(type)}(4.0), $))", e, type=computed(type)) if computed(type)[0] == "f" else e

    # ---------------------------------------------------------------- stencils

    def inner(self, x, most):
        kind, a, b = x
        return (kind, a + self.r.choice([0, 0, 1, most]), b + self.r.choice([0, 0, 1, most]))

    def piece_boxes(self, box):
        """One piece, all of the box or the inner part of it, or a part at either end of a dimension and the middle."""
        r, k = self.r, self.r.random()
        inside = [b for _, b in self.regions if all(x[1] >= y[1] and x[2] >= y[2] for x, y in zip(b, box))]
        if inside and k < 0.2:
            return [r.choice(inside)]
        return [box if k < 0.4 else [self.inner(x, 2) for x in box]] if k < 0.75 else self.ends_and_middle(box)[:r.choice([2, 3])]

    def ends_and_middle(self, box):
        """The box in three parts along some dimension, in any order."""
        r = self.r
        d, n, m = r.randrange(self.rank), r.choice([1, 2]), r.choice([1, 2])
        _, a, b = box[d]
        parts = [("low", a, a + n - 1), ("all", a + n, b + m), ("high", b, b + m - 1)]
        self.demand(d, a + b + n + m)
        r.shuffle(parts)
        return [box[:d] + [x] + box[d + 1:] for x in parts]

    def constants_of(self, type):
        """Literals that may stand beyond the edges of a field of that type or of vectors of it."""
        return [x for x in LITERAL.get(computed(type), ["2"]) if type[0] != "u" or x[0] != "-"] + HARD.get(type, [])

    def new_name(self, letter):
        self.named += 1
        return f"{letter}{self.named}"

    def let(self, type, place):
        """A let, which becomes one of the place's values."""
        name = self.new_name("v")
        written = f" : {computed(type)}" if isinstance(type, (Struct, Vector)) and not is_plain(type) or self.r.random() < 0.1 else ""
        node = Node(f"let {name}{written} = $;", self.value(type, place, 2), declares=[name])
        place.values.append((name, computed(type)))
        if not place.fixed:
            self.movable.add(name)
        return node

    def assignment(self, target, place, depth):
        return Node(f"{target.name} = $;", self.bad(target.type, place, self.assigned(target, place, depth)))

    def bad(self, type, place, e):
        """`e`, or now and then, in a program that is run with -fcheck=finite, an infinity or what is no number, at some points in some step."""
        r, t = self.r, computed(type)
        if not self.finite or t not in ("f32", "f64") or not place.step or r.random() < 0.35:
            return e
        value = f"{t}(0.0) / {t}(0.0)" if self.finite == 1 and r.random() < 0.5 else f"{t}({r.choice(['1.0', '-1.0'])}) / {t}(0.0)"
        return Node(f"(if step {r.choice(['==', '>='])} {r.choice([0, 1, 2, 3, 6])} && idx(0) >= {self.origin[0] + r.choice([0, 1, 4])} then {value} else $)", e, type=t)

    def body(self, targets, box, single, step):
        """The equations of a piece; `single`: the stencil has one target, so that an expression may stand alone."""
        depth, place = self.r.choice([2, 3, 3, 4]), Place(box, step=step)
        if single and self.r.random() < 0.5:
            return Node("= $;", self.bad(targets[0].type, place, self.assigned(targets[0], place, depth)))
        lines = self.statements(place, self.r.choice([1, 2, 3])) if self.r.random() < 0.2 else []
        for t in targets:
            if self.r.random() < 0.5:
                lines.append(self.let(self.r.choice([computed(t.type), self.r.choice(SCALARS)]), place))
            lines.append(self.assignment(t, place, depth))
        return Node("{ $ }", List(lines, " ", 1))

    def stencil(self, name, targets, whole=False, word="stencil"):
        """A stencil, or by another word an init; `whole`: every target gets values at all of its points."""
        self.in_stencil = word == "stencil"
        thin = [t for t in targets if t.thin][:1]
        targets = thin or targets
        box = self.points_of(thin[0]) if thin else [("all", *(max(t.box[d][end] for t in targets) for end in (0, 1))) for d in range(self.rank)]
        boxes = [box] if thin else self.piece_boxes(box) if not whole else [box] if self.r.random() < 0.8 else self.ends_and_middle(box)
        mine = [targets if k == 0 or whole or self.r.random() < 0.5 else [self.r.choice(targets)] for k in range(len(boxes))]
        still = [any(x[0] != "all" for x in b) if self.plain else k > 0 and self.own.random() < 0.25 for k, b in enumerate(boxes)]
        at = lambda b, t: self.at_wet(self.region(b), t) if word == "stencil" and not whole else self.region(b)
        rare = "" if word != "stencil" or whole or any(t.kind == "temp" for t in targets) or self.rare.random() > 0.12 else f" every {self.rare.choice([1, 2, 2, 3, 4, 7])}"
        pieces = [Node("$ $", at(b, t), self.constant_body(t, b, len(targets) == 1) if s and word == "stencil" else self.body(t, b, len(targets) == 1, word == "stencil")) for b, t, s in zip(boxes, mine, still)]
        if self.r.random() < 0.05:
            empty = Node("$ $", self.empty_region(boxes[0]), self.body(targets, boxes[0], len(targets) == 1, word == "stencil"))
            pieces = [empty] if not whole and self.r.random() < 0.5 else pieces + [empty]
        self.in_stencil = False
        if rare and len(pieces) == 1:
            region = pieces[0].parts[0]
            pieces[0].parts[0] = Node("$" + rare, region, smaller=[region])
        head = List([Node(t.name) for t in targets], ", ", 1)
        return Node(f"{word} {name}($)" + ("$" if len(pieces) == 1 else rare + " {\n  $\n}"), head, pieces[0] if len(pieces) == 1 else List(pieces, "\n  ", 1), declares=[name])

    # ---------------------------------------------------------------- declarations

    def array_lines(self):
        for _ in range(self.r.choice([0, 1, 2]) if self.r.random() < 0.4 else 0):
            name, type = self.new_name("a"), self.r.choice(SCALARS)
            self.arrays.append((name, type))
            yield Node(f"param {name}[$] : {type};", Node(self.r.choice(["1", "3", "N", "N + 2", "2 * N"]), smaller=[Node("1")]), declares=[name])

    def reduction_lines(self):
        """Reductions, whose values the stencils may use, and at most one condition that ends the run."""
        r = self.r
        for _ in range(r.choice([1, 1, 2]) if r.random() < 0.2 else 0):
            name, type = self.new_name("t"), r.choice(["f32", "f64", "i32", "i64"])
            yield Node(f"reduce {name} = $ every {r.choice([1, 2, 3, 5])};", self.over_region(type), declares=[name])
            self.params.append((name, "f64" if type[0] == "f" else "i64"))
        if r.random() < 0.15:
            type = r.choice(["f32", "f64", "i32", "i64"])
            bound = r.choice(["0.1", "1.0", "2.5", "-1.0"] if type[0] == "f" else ["0", "100", "-5"])
            yield Node(f"until $ $ every {r.choice([1, 2, 3, 5])};", self.over_region(type), Node(f"{r.choice(['<', '<=', '>', '>='])} {bound}"))

    # ---------------------------------------------------------------- single points

    def coordinate(self, d, least):
        """Coordinate d of a point that stays `least` points away from the ends, a constant: how it is written, and its part of the place."""
        k = self.r.choice([0, 0, 1, 2])
        self.demand(d, sum(least) + k + 1)
        low = self.r.random() < 0.5
        a = least[0 if low else 1] + k
        return (Node(self.low(d, a)), ("low", a, a)) if low else (Node(self.high(d, a)), ("high", a, a))

    def places(self, boxes, lines):
        """Where a probe or an inject is: a point, or a list of points, in all of the fields' `boxes`. As it is written, its place, and how many points there are, 0 for a point
        alone; adds the arrays' declarations to `lines`."""
        r, at, box, room = self.r, [], [], []
        n = r.choice([1, 2, 3, 3, 5]) if r.random() < 0.6 else 0
        arrays = [n and r.random() < 0.7 for _ in range(self.rank)]
        if n and not any(arrays):
            arrays[r.randrange(self.rank)] = True
        for d in range(self.rank):
            least = [max([b[d][end] for b in boxes] + [0]) + r.choice([0, 0, 0, 1]) for end in (0, 1)]
            written, part = (Node(self.new_name("c")), ("all", *least)) if arrays[d] else self.coordinate(d, least)
            at, box = at + [written], box + [part]
            room.append(part if arrays[d] else ("all", 0, 0))
            if arrays[d]:
                self.demand(d, sum(least) + 1)
                self.coordinates.append(written.form)
                lines.append(Node(f"param {written.form}[{n}] : {r.choice(['i16', 'i32', 'i32', 'i64'])};", declares=[written.form]))
        inside = any(any(x[1:]) for x in room) or r.random() < 0.2
        text = "at [" + ", ".join("$" * self.rank) + "]" + (" in $" if inside else "")
        return Node(text, *at, *([self.region(room)] if inside else [])), box, n

    def probe_lines(self):
        r = self.r
        for _ in range(r.choice([1, 1, 2, 3]) if not self.plain and (r.random() < 0.3 or self.points) else 0):
            lines, type = [], r.choice(["f32", "f64", "i32", "i64"])
            at, box, _ = self.places([], lines)
            e = self.value(type, Place(box), r.choice([0, 1, 2, 3]))
            yield from lines
            yield Node(f"probe {self.new_name('q')} = {type}($) $ every {r.choice([1, 1, 2, 3, 5])};", e, at)

    def inject_lines(self, targets):
        """An inject of one of the fields, now and then."""
        r, lines = self.r, []
        targets = [f for f in targets if not f.written and not f.thin]
        if not targets or self.plain or r.random() > (0.6 if self.points else 0.15):
            return
        f = r.choice(targets)
        at, box, n = self.places([f.box], lines)
        place = Place(box)
        place.values.append(("point", "i64"))
        self.names.append(self.new_name("s"))
        add = not isinstance(f.type, Struct) and (not isinstance(f.type, Vector) or is_plain(f.type)) and computed(getattr(f.type, "of", f.type)) != "bool" and r.random() < 0.6
        add = add and f.type not in STORED and getattr(f.type, "of", "") not in SHORT
        e = self.value(f.type, place, r.choice([1, 2, 3]))
        if f.type in ("f32", "f64", "i32", "i64") and r.random() < 0.3:
            e = Node(f"($ + {f.type}(point % 3))", e, type=f.type)
        yield from lines
        yield Node(f"inject {self.names[-1]}({f.name}) {'+=' if add else '='} $ $" + (f" up to {n}" if n > 1 else "") + ";", e, at, declares=[self.names[-1]])

    def over_region(self, type):
        """sum(...) over REGION."""
        r = self.r
        box = [self.inner(("all", 0, 0), 2) if r.random() < 0.4 else ("all", 0, 0) for _ in range(self.rank)]
        word, place = r.choice(["sum", "sum", "prod", "min", "max"]), Place(box, step=False)
        e = self.value(type, place, r.choice([1, 2, 3]))
        if word == "prod" and type[0] == "f":
            e = Node(f"(1.0 + 0.01 * $)", e, type=type)
        if type[0] == "f" and r.random() < 0.2:
            e = Node(f"(if step >= {r.choice([0, 1, 3])} && idx(0) >= {self.origin[0] + r.choice([0, 1, 4])} then {type}(0.0) / {type}(0.0) else $)", e, type=type)
        return Node(f"{word}($) over $", e, self.empty_region(box) if r.random() < 0.05 else self.region(box))

    def table(self):
        r, name, type, n = self.r, self.new_name("w"), self.r.choice(["f32", "f64", "i32", "i64", "bool"]), self.r.choice([1, 3, 4, 7])
        n = 1 if self.own.random() < 0.2 else n
        self.tables.append((name, type, n))
        return Node(f"const {name}[{n}] : {type} = {{{', '.join(r.choice(LITERAL[type]) for _ in range(n))}}};", declares=[name])

    def macro(self):
        """A macro, which is known from then on: its name, how far it moves its arguments down and up in each dimension, how it is called, and how many steps back it looks."""
        name, r, still = self.new_name("m"), self.r, [(0, 0)] * self.rank
        d, far, k, i = r.randrange(self.rank), r.choice([1, 2]), r.random(), self.new_name("r")
        at = lambda text: ", ".join(str(text) if e == d else "0" for e in range(self.rank))
        along = still[:d] + [(far, far)] + still[d + 1:]
        if k < 0.15:
            parts = "X", along, "$", 0, f"X + (sum({i} in 1 .. {far}) (X[{at('-' + i)}] - X[{at(i)}]))"
        elif k < 0.3:
            parts = f"X, {i}", along, f"$, {far}", 0, f"X[{at(i)}] - X[{at('-' + i)}]"
        elif k < 0.45:
            older = r.choice([1, 1, 2])
            parts = "X", along if r.random() < 0.3 else still, "$", older, f"X - X@{older}"
            parts = parts if parts[1] == still else (*parts[:4], f"X - X@{older}[{at(far)}]")
        elif k < 0.6:
            parts = "X, Y", along, "$, $", 0, f"X[{at(far)}] * Y - Y[{at(-far)}]"
        else:
            offs = [[r.randint(-2, 2) if r.random() < 0.6 else 0 for _ in range(self.rank)] for _ in range(r.choice([2, 3]))]
            body = r.choice([" + ", " - ", " * "]).join(f"X[{', '.join(map(str, o))}]" for o in offs)
            parts = "X", [(max(0, -min(o[d] for o in offs)), max(0, max(o[d] for o in offs))) for d in range(self.rank)], "$", 0, body
        self.macros.append((name, *parts[1:4]))
        return Node(f"op {name}({parts[0]}) = {parts[4]};", declares=[name], smaller=[Node(f"op {name}({parts[0]}) = X;", declares=[name])])

    def field(self, name, kind, rule, mix, staggered):
        r = self.r
        type = r.choice(mix) if r.random() > 0.35 else r.choice(self.types or mix)
        rule = r.choice(["", "clamp", "mirror", "periodic", "constant"]) if rule is None else rule
        rule = "mirror" if self.rising and rule == "periodic" else rule  # a derivative does not go over a seam whose length no array says
        box = [(r.choice([0, 1, 2]), r.choice([0, 1, 2])) if staggered else (0, 0) for _ in range(self.rank)]
        self.fields[name] = f = Field(name, type, box, rule, kind)
        self.make_thin(f)
        for d in range(self.rank):
            self.demand(d, sum(box[d]) + 1 if rule not in ("", "constant") else 1)
        attributes = [self.on(f)] if staggered or r.random() < 0.5 or f.thin else []
        constant = r.choice(self.constants_of(getattr(type, 'of', type))) if rule == "constant" else ""
        if rule and self.sided.random() < 0.3:
            attributes.append(self.by_side(f))
        elif rule:
            attributes.append(Node(f"outside {constant or rule}"))
        attributes += [Node(kind)] if kind else []
        attributes += self.dry(f) if self.masks else []
        if kind == "" and r.random() < 0.3 and not f.thin:
            attributes.append(self.history(f, r.choice([1, 1, 1, 2, 2, 3, 5])))
        r.shuffle(attributes)
        return Node(f"field {name} : {type} $;", List(attributes), declares=[name])

    def side(self, field, signed):
        """A rule for one side, and what kind it is of."""
        own, of = self.sided, getattr(field.type, "of", field.type)
        kind = own.choice(["clamp", "mirror", "mirror", "half", "half", "constant"])
        if kind == "constant":
            return own.choice(self.constants_of(of)), kind
        text = {"half": "mirror half"}.get(kind, kind)
        if kind == "clamp" or not signed or own.random() < 0.4:
            return text, kind
        computed = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32"}.get(str(of), of)
        named = [n for n, t in self.params if t == computed]
        about = own.choice(named + [f"{n} + {own.choice(named)}" for n in named]) if named and own.random() < 0.7 else own.choice(self.constants_of(of))
        return text + " odd" + (f" about {about}" if own.random() < 0.6 else ""), "odd"

    def by_side(self, field):
        """The attribute that gives each dimension, or each side of it, a rule of its own."""
        own, rules = self.sided, []
        signed = all(t in ("f16", "bf16", "f32", "f64", "real", "i8", "i16", "i32", "i64") for _, t in components(field.type))
        for d in range(self.rank):
            thin = bool(field.thin) and field.thin[0] == d
            if own.random() < 0.25 and not self.rising:
                rules.append("periodic")
                continue
            low, high = self.side(field, signed and not thin), self.side(field, signed and not thin)
            high = low if own.random() < 0.3 else high
            once = {"mirror", "half", "odd"} & {low[1], high[1]} and {"constant", "odd"} & {low[1], high[1]}
            if once and thin:
                low = high = "clamp", "clamp"
            elif once:
                self.demand(d, sum(field.box[d]) + max(field.box[d]) + self.reach + 1)
            rules.append(low[0] if high is low else f"{low[0]} .. {high[0]}")
        uniform = own.random() < 0.1 and ".." not in rules[0]
        if uniform and "mirror" in rules[0]:
            for d in range(self.rank):
                self.demand(d, sum(field.box[d]) + max(field.box[d]) + self.reach + 1)
            uniform = not field.thin
        return Node("outside " + (rules[0] if uniform else f"[{', '.join(rules)}]"))

    def on(self, field):
        """The attribute that says where the field is."""
        box, names = self.points_of(field), [n for n, b in self.regions if b == self.points_of(field)]
        written = Node("on $", self.region(box, False))
        return Node(f"on {self.r.choice(names)}", smaller=[written]) if names and self.r.random() < 0.3 else written

    def history(self, field, levels):
        """The attribute that keeps older levels of `field`, which become fields to read."""
        levels_of = lambda n: [f"{field.name}@{k}" for k in range(1, n + 1)]
        field.levels = levels
        for k, name in enumerate(levels_of(levels)):
            self.fields[name] = Field(name, field.type, field.box, field.rule, "past", levels - k - 1)
            self.fields[name].masked = field.masked
        return Node(f"history {levels}", declares=levels_of(levels), smaller=[Node(f"history {k}", declares=levels_of(k)) for k in range(1, levels)])

    def type_lines(self, mix):
        """Decides which types fields may have beside those of `mix`, and declares the structs among them."""
        r = self.r
        if self.plain:
            return
        if r.random() < 0.35:
            self.types += [t for t, c in STORED.items() if c in mix or r.random() < 0.3]
        if self.bitwise and self.words.random() < 0.5:
            self.types += ["u32"] * 2
        scalars = mix + [t for t in STORED if r.random() < 0.2] + (["u32"] if self.bitwise and self.words.random() < 0.5 else [])
        if r.random() < 0.35:
            self.types += [Vector(r.choice(scalars), r.choice([1, 2, 3, 4])) for _ in range(r.choice([1, 1, 2]))]
        for _ in range(r.choice([1, 1, 2]) if r.random() < 0.25 else 0):
            members = scalars + [t for t in self.types if isinstance(t, (Vector, Struct))] * 2
            self.types.append(Struct(self.new_name("S"), [(m, r.choice(members)) for m in "abcd"[:r.choice([1, 2, 3])]]))
            text = "; ".join(f"{m[1:]} : {t}" for m, t in self.types[-1].members)
            yield Node(f"struct {self.types[-1]} {{ {text} }}", declares=[str(self.types[-1])])
        if self.types and r.random() < 0.25:
            self.types.append(Vector(r.choice(self.types), r.choice([1, 2, 3])))

    def scalar_params(self):
        for i in range(self.r.choice([0, 1, 2])):
            type = self.r.choice(SCALARS)
            self.params.append((f"p{i}", type))
            yield Node(f"param p{i} : {type} = {self.r.choice(LITERAL[type])};", declares=[f"p{i}"])
            if self.r.random() < 0.4:
                self.options.append(f"-Dp{i}={self.r.choice(LITERAL[type])}")
        self.params += [("N", "i64")]

    def scalar_lines(self):
        """Constants, and lets that the launch computes."""
        nowhere = Place([("all", 0, 0)] * self.rank, macros=False, step=False, points=False, fields=False, arrays=False)
        for word in self.r.choice([[], [], [], ["const"], ["let"], ["let", "let"]]):
            name, type = self.new_name("c"), self.r.choice(SCALARS)
            value = Node(self.r.choice(LITERAL[type])) if word == "const" else self.value(type, nowhere, 3)
            yield Node(f"{word} {name} : {type} = $;", value, declares=[name])
            self.params.append((name, type))

    def region_lines(self):
        for _ in range(self.r.choice([0, 0, 1, 2])):
            name, box = self.new_name("R"), [self.inner(("all", 0, 0), 2) for _ in range(self.rank)]
            yield Node(f"region {name} = $;", self.region(box, False), declares=[name])
            self.regions.append((name, box))

    def field_lines(self):
        r = self.r
        kinds = [""] + [r.choice(["", "", "", "temp", "input"]) for _ in range(r.randint(0, 3))]
        rule, mix, staggered = r.choice(["", "clamp", "mirror", "periodic", "constant", None, None]), self.mix, r.random() < 0.4 and not self.plain
        rule = self.own.choice(["", "clamp", "mirror", "periodic", "constant"]) if self.plain else rule
        return [self.field(name, kind, rule, mix, staggered and r.random() < 0.5) for name, kind in zip("ABCDE", kinds)]

    def stencil_lines(self):
        r = self.r
        if self.layered or self.absorbing:
            yield from self.layered_stencils() if self.layered else self.absorbed_stencils()
            return
        temps, plain = ([f for f in self.fields.values() if f.kind == kind] for kind in ("temp", ""))
        for t in temps:
            yield from self.temp_lines(t)
            t.readable = True
            yield from self.inject_lines(plain)
        for _ in range(max(1, r.randint(1, 4) - len(temps))):
            pair = len(plain) > 1 and r.random() < 0.35
            yield from self.inject_lines(plain + temps[:1])
            yield self.named_stencil(sorted(r.sample(plain, 2), key=lambda f: f.name) if pair else [r.choice(plain + temps[:1])])
        yield from self.inject_lines(plain)

    def temp_lines(self, t):
        """What writes temp field `t`: one stencil all of it; or several, or pieces of one, a part that they cover together, beyond which nothing may read it."""
        r = self.r
        if self.has_sweeps and self.sweeps.random() < 0.4:
            yield self.sweep([t], True)
            return
        if self.own.random() < (0.6 if self.plain else 0.35):
            yield self.constant_pieces(t)
            return
        if r.random() < 0.6:
            yield self.named_stencil([t], True)
            return
        t.written = [(a + r.choice([0, 0, 1]), b + r.choice([0, 0, 1])) for a, b in t.box]
        box = [("all", *w) for w in t.written]
        d = r.randrange(self.rank)
        n = r.choice([1, 2])
        a, b = t.written[d]
        self.demand(d, a + b + n + 1)
        parts = [box[:d] + [x] + box[d + 1:] for x in (("low", a, a + n - 1), ("all", a + n, b))]
        r.shuffle(parts)
        bodies = [Node("$ $", self.region(p), self.constant_body([t], p) if self.plain and p[d][0] == "low" else self.body([t], p, True, True)) for p in parts]
        names = [self.new_name("s") for _ in range(r.choice([1, 2]))]
        self.names += names
        head = lambda name: f"stencil {name}({t.name})"
        if len(names) == 1:
            yield Node(head(names[0]) + " {\n  $\n}", List(bodies, "\n  ", 1), declares=names)
        else:
            for name, body in zip(names, bodies):
                yield Node(head(name) + "$", body, declares=[name])

    def named_stencil(self, targets, whole=False):
        self.names.append(self.new_name("s"))
        return self.stencil(self.names[-1], targets, whole)

    def program(self):
        """The tree of the whole program."""
        default = self.r.choice([" = 20"] * 9 + [" = 0", " = -3", " : i64"])
        default = f" = {self.layers_extent()}" if self.layered or self.absorbing else default
        lines = [Node("param " + ", ".join(f"{EXTENT[d]}{default}" for d in range(self.rank)) + ";")]
        self.hard = self.r.choice([0, 0, 0, 0.3])
        if self.hard or self.r.random() < 0.2:
            lines.append(Node("param h1 : f64 = 1.000488281250001, h2 : f64 = 1.003906250000001;", declares=["h1", "h2"]))
            self.params += [("h1", "f64"), ("h2", "f64")]
        if self.r.random() < 0.1 and not self.layered and not self.absorbing:
            self.bounds = {1: ["k1", "k1", "k2 / 2", "min(k1, k2)", "3 % k2"], 2: ["k2", "k2", "max(k1, k2)", "5 / k2"]}
            k1, k2 = self.r.choice([("k1 = 1", "k2 = 2"), ("k1 = 1", "k2 = 2"), ("k1 = 100", "k2 = -7"), ("k1 : i64", "k2 = 0"), ("k1 = -1", "k2 : i64")])
            lines.append(Node(f"param {k1}, {k2};", declares=["k1", "k2"]))
            self.options += ["-Dk1=1", "-Dk2=2"]
        self.mix = self.own.choice(MIXES[:4]) if self.plain else self.r.choice(MIXES)
        self.mix = self.edges.choice(MIXES[:4]) if self.layered else self.mix
        lines += list(self.type_lines(self.mix)) + list(self.scalar_params()) + list(self.scalar_lines())
        lines += list(self.array_lines()) + list(self.distance_params())
        steps = [8, 9, 200][self.seed % 3]
        if self.r.random() < 0.1:
            lines.append(Node(f"param nt = {steps};", declares=["nt"]))
            steps = self.r.choice(["nt", "max(nt, 1)"])
        lines.append(Node(f"grid G = $, {steps}{self.metric()};", self.region([("all", 0, 0)] * self.rank, False)))
        self.regions.append(("G", [("all", 0, 0)] * self.rank))
        lines += list(self.absorb_lines()) + list(self.region_lines())
        lines += [self.table() for _ in range(self.r.choice([0, 0, 1, 2]))]
        lines += [self.function() for _ in range(self.r.choice([1, 1, 2, 3]) if self.r.random() < 0.3 else 0)]
        lines += [self.macro() for _ in range(self.r.choice([0, 1, 2]))]
        lines += list(self.face_lines()) + list(self.derivatives())
        lines += list(self.mask_lines())
        lines += self.layered_fields() if self.layered else self.absorbed_fields() if self.absorbing else self.field_lines()
        lines += list(self.init_lines()) + list(self.lacking_lines())
        self.hide_layers()
        lines += list(self.kept_lines()) + list(self.swept_lines()) + list(self.level_lines())
        lines += list(self.reduction_lines()) + list(self.probe_lines()) + list(self.frame_lines())
        lines += self.rounded(self.numbered(self.swept(self.stencil_lines()))) + list(self.level_stencils()) + self.past_frames() + list(self.ends_of_kept())
        return Node("$\n", List(lines, "\n"))

    # ---------------------------------------------------------------- runs

    def cut(self):
        """A list for -fuse: the step's stencils in order, cut at random; not where copies of fields at the start of the step, which have names of their own, are among them."""
        cut = self.names[0] + "".join(self.r.choice("+,") + name for name in self.names[1:])
        return "none" if self.starts else cut

    def tiles(self, shape, threads, elems):
        """Options of the overlap schedule: time steps a tile, or a cut of the step into launches; tiles of a random shape."""
        r, words = self.r, [f"-block={shape(threads)}"] + ([f"-elems={shape(elems)}"] if elems else [])
        words += ["-edges=apart"] if elems and r.random() < 0.6 else []
        if len(self.names) > 1 and r.random() < 0.4:
            return [f"-fuse={r.choice(['all', 'none', self.cut(), self.cut(), self.cut()])}"] + words
        return [f"-T={r.choice([1, 2, 2, 3, 4, 5])}"] + words

    def streamed(self, copies):
        """Options of the stream schedule on a target with asynchronous copies or without: warps beside or above each other, cells a lane, lines a thread, rows of a walk, rows that loads run ahead; in three dimensions lines that are parts of a warp. What stands for speed is left to chance. Halos
        in three dimensions are kept small: the simulator takes half a minute for a few tiles of large ones."""
        r, rank = self.r, self.rank
        warps, cells = r.choice([1, 1, 2, 3] if rank < 3 else [1, 2, 3, 4, 4, 6]), r.choice([1, 2, 2, 3, 4, 4, 8] if rank < 3 else [1, 2, 2, 4])
        lanes = random.Random(self.seed * 2 + 3).choice([32, 32, 16, 8])
        words = ["-schedule=stream", "-block=" + [f"{32 * warps}", f"{warps}x32", f"1x{32 // lanes * warps}x{lanes}"][rank - 1], "-elems=" + [f"{cells}", f"1x{cells}", f"1x{r.choice([1, 2, 2, 3])}x{cells}"][rank - 1]]
        words += [f"-chunk={r.choice([1, 2, 3, 5, 8, 16])}"] if rank > 1 else []
        words += ["-edges=apart"] if r.random() < 0.6 else []
        words += ["-tiles=fitted"] if rank > 2 and random.Random(self.seed * 2 + 1).random() < 0.5 else []
        words += [f"-ahead={r.choice([1, 2, 3, 4])}"] if copies and r.random() < 0.7 else []
        own = random.Random(self.seed * 2 + 5)
        words += [f"-cluster={own.choice([2, 2, 3, 4])}"] if rank > 2 and copies and lanes == 32 and warps > 1 and own.random() < 0.7 else []
        if len(self.names) > 1 and r.random() < 0.2:
            return words + [f"-fuse={r.choice(['all', 'none', self.cut(), self.cut()])}"]
        return words + [f"-T={r.choice([1, 1, 2, 2, 3, 5] if rank < 3 or self.reach == 1 else [1, 1, 1, 2] if self.reach == 2 else [1])}"]

    def moved_apart(self):
        """Has the warps schedule warps of their own that load and store, where the target can have them?"""
        return random.Random(self.seed * 2 + 11).random() < 0.4

    def over_warps(self):
        """Options of the warps schedule, which fits few programs: warps, levels a warp, cells a lane, groups a ring. Its choices are of their own, so that those of programs stay as they are."""
        r = random.Random(self.seed * 2 + 1)
        warps = r.choice([1, 2, 2, 3, 4])
        warps = 4 if self.moved_apart() else warps
        return ["-schedule=warps", f"-T={warps * r.choice([1, 1, 2])}", f"-block={warps}x32", f"-elems=1x{r.choice([4, 4, 8, 12])}", f"-ahead={r.choice([2, 3, 4])}"]

    def in_lanes(self):
        """Options of overlapped tiles whose cells stay in the registers of lanes. Its choices are of their own, too."""
        r = random.Random(self.seed * 2 + 7)
        words = ["-schedule=overlap", "-tiles=lanes", f"-block={r.choice([1, 2, 3, 4, 6])}x32", f"-elems={r.choice([1, 2, 3, 5])}x{r.choice([1, 2, 2, 3, 4])}"]
        words += ["-edges=apart"] if r.random() < 0.5 else []
        if len(self.names) > 1 and r.random() < 0.3:
            return words + [f"-fuse={r.choice(['all', 'none'])}"]
        return words + [f"-T={r.choice([1, 2, 2, 3, 4, 5])}"]

    def walked_alone(self):
        """Options of the stream schedule on a target without threads: lines and columns that a tile computes, rows of a walk."""
        r = self.r
        words = ["-schedule=stream", "-block=1" + "".join(f"x{r.choice([9, 14, 25, 40, 70] if self.rank < 3 else [7, 12, 20, 33])}" for _ in range(self.rank - 1)), f"-chunk={r.choice([1, 2, 3, 5, 8, 16, 40])}"]
        if len(self.names) > 1 and r.random() < 0.2:
            return words + [f"-fuse={r.choice(['all', 'none', self.cut(), self.cut()])}"]
        return words + [f"-T={r.choice([1, 2, 2, 3, 4, 5])}"]

    def several(self, shape, threads):
        """Options of the naive schedule with several points a thread, of which those of a row are whole vectors or not."""
        r = self.r
        points = [r.choice([1, 1, 2, 3, 4]) for _ in range(self.rank - 1)] + [r.choice([1, 2, 2, 3, 4, 4, 8])]
        words = ["-schedule=naive", "-block=" + shape(threads), "-elems=" + "x".join(map(str, points))]
        return words + r.choice([[], [], ["-edges=apart"], ["-edges=along"]])

    def layers_extent(self):
        """What grids with layers are said to have along each dimension, which runs do not: in two dimensions half of them so much that each piece of a stencil has a launch of its own, as in three."""
        return 100000 if self.rank == 2 and random.Random(self.seed * 2 + 43).random() < 0.5 else 400

    def has_edges(self):
        """Has the program layers at edges in two dimensions or three, where threads with several points have faces?"""
        return self.rank > 1 and (self.layered or self.absorbing)

    def several_runs(self, device):
        """Two runs more with several points a thread, on `device` or in the simulator."""
        r = self.r = random.Random(self.seed * 2 + 41)
        where = [f"--device={device}"] if device else ["--device=sim", "-march=nvptx"]
        threads = [[5, 8, 16], [4, 5, 8]][self.rank - 2]
        return [where + self.several(lambda choices: "x".join(str(r.choice(choices)) for _ in range(self.rank)), threads) for _ in range(2)]

    def schedules(self, tree, device):
        """Options of the runs, on `device` alone if it is not None. A reduction is a quarter of a million threads, which the simulator should not run too often; LLVM's optimiser
        takes longer than all the rest."""
        r, rank = self.r, self.rank
        threads, points = [[31, 64, 100], [5, 8, 16], [4, 5, 8]][rank - 1], [[3, 17, 40, 100], [4, 7, 16, 30], [3, 8, 14, 20]][rank - 1]
        shape = lambda choices: "x".join(str(r.choice(choices)) for _ in range(rank))
        kind = device and device.split(":")[0]
        if kind == "host":
            for options in [[], ["-schedule=naive"], self.tiles(shape, points, None), self.walked_alone() if rank > 1 else []]:
                yield [f"--device={device}"] + options
            return
        gpu = [f"--device={device}"] if device else ["--device=sim", "-march=" + r.choice(["nvptx", "nvptx", "amdgpu"])]
        reductions = any(i.form.startswith(("reduce", "until", "update", "repeat")) for i in tree.parts[0].items) or any("-fcheck" in o for o in self.options)
        for _ in range(3 if device else 1 if reductions else r.choice([1, 2])):
            yield gpu + self.tiles(shape, threads, [1, 2, 3, 4])
        if kind in (None, "sim", "cuda"):
            cpu = r.choice(["sm_75", "sm_90", "sm_90"])
            yield [f"--device={device or 'sim'}"] + (self.streamed(True) if kind == "cuda" else ["-march=nvptx", f"-mcpu={cpu}"] + self.streamed(cpu == "sm_90"))
        if kind in (None, "sim", "cuda") and rank == 2:
            yield [f"--device={device or 'sim'}"] + ([] if kind == "cuda" else ["-march=nvptx", "-mcpu=" + ("sm_90a" if self.moved_apart() else "sm_90")]) + self.over_warps()
            yield gpu + self.in_lanes()
        if device or r.random() < (0.2 if reductions else 0.5):
            yield gpu + r.choice([[], ["-schedule=naive"], self.several(shape, threads), self.several(shape, threads)])
        if not device and r.random() < 0.7:
            yield ["--device=sim", "-march=host"] + (self.walked_alone() if rank > 1 and r.random() < 0.6 else self.tiles(shape, points, None))
        if not device:
            yield ["--device=host:2", "-O" + r.choice("0" * 22 + "13" if len(tree.text()) < 1000 else "0")] + r.choice([[], ["-schedule=naive"], self.tiles(shape, points, None), self.walked_alone() if rank > 1 else []])

    def turned(self, sizes, split):
        """Options of the run with that --split, or of one whose parts take turns on the device: so many as are asked for, or as the memory that they may have takes, which may be too
        little for any."""
        r = random.Random(self.seed * 2 + 5)
        if r.random() >= self.turns:
            return [split]
        if r.random() < 0.3:
            return [f"--memory={math.prod(sizes) * r.choice([12, 20, 40, 80]) + r.choice([0, 4000])}"]
        d = r.randrange(self.rank)
        parts = [min(r.choice([2, 3, 4, 5, 12]), sizes[d]) if k == d else 1 for k in range(self.rank)]
        return ["--split=" + "x".join(str(n) for n in parts) + r.choice(["", "/1", "/2", "/3", "/5", "/9"]), "--memory=1GB"]

    def splits(self, sizes, often, device, runs):
        """Options of a run, or none, whose grid is cut into up to 12 parts, that exchange after so many steps as they choose or a number; on `device`, if it is not None, under the schedule of one of the runs. These have chances of their own: the
        rest of the case stays what it is."""
        r = random.Random(self.seed * 2 + 1)
        if r.random() > often:
            return
        parts = [1] * self.rank
        for _ in range(r.choice([1, 1, 2, 3])):
            d = r.randrange(self.rank)
            parts[d] = max(1, min(r.choice([2, 2, 3, 4, 5, 12]), 12 * parts[d] // math.prod(parts), sizes[d]))
        split = "--split=" + "x".join(str(n) for n in parts) + r.choice(["", "", "/1", "/2", "/3", "/5"])
        if device:
            yield [f"--device={device}"] + [o for o in r.choice(runs)[1:] if not o.startswith("-passes=")] + self.turned(sizes, split)
            return
        staged = self.kept or self.repeats
        most = 3 if self.rank < 3 else max(1, 6 // (self.reach * len(self.names)))  # tiles of three steps of seven stages compute 200 points for each that they store
        steps = [min(most, t) for t in (1, 2, 3)]
        yield (lambda run: [o for o in run if not (staged and o.startswith("-T="))])(r.choice([["--device=ref"], ["--device=ref"], ["--device=sim", "-march=nvptx"], ["--device=sim", "-march=nvptx", f"-T={r.choice(steps)}"], ["--device=host:2", "-O0"], ["--device=host:1", "-O0", "-T=2"]])) + self.turned(sizes, split)

    def given(self, tree):
        """What --in gives: every field without an init, some of the older levels, all arrays."""
        r, inits = self.r, {target.form for i in tree.parts[0].items if i.form.startswith("init") for target in i.parts[0].items}
        found = [(name, f"random:{self.seed}") for name in [name for name, _ in self.arrays] + self.coordinates + list(self.rising.values())]
        for f in self.fields.values():
            if f.kind == "temp" or f.name in inits or (f.kind == "past" and r.random() < 0.5):
                continue
            found.append((f.name, f"random:{self.seed}" if r.random() < 0.9 else r.choice(["zero", "true" if f.type == "bool" else "3"])))
            if f.kind != "past" and isinstance(f.type, (Vector, Struct)) and not f.series and r.random() < 0.2:
                path, _ = r.choice(components(f.type))
                found.append((f.name + path.replace("[", ".").replace("]", ""), f"random:{self.seed + 1}"))
        return found

    def case(self, device=None, often=0.2):
        """The case, for `device` alone if it is not None; one of so many has a run whose grid is cut, on a device that is given all (`often` is 1) or none."""
        r = self.r
        self.options, self.finite = [], r.choice([1, 1, 2, 3, 5]) if r.random() < 0.12 else 0
        tree = self.program()
        small = device in (None, "sim") or random.Random(self.seed * 2 + 45).random() < 0.35
        choices = [[1]] * 3 if r.random() < 0.05 else SIZES if small else LARGE_SIZES
        sizes = [r.choice([s for s in choices[self.rank - 1] + [self.least[d], self.least[d] + 1] if s >= self.least[d]]) for d in range(self.rank)]
        sizes = self.level_sizes(sizes if choices[0] == [1] else wider(sizes, self.least, self.seed))
        if r.random() < 0.1 and ": f32" in tree.text():
            self.options += r.choice([["-freal=f64"], ["-freal=f64"], []]) if "f16" not in tree.text() else []
            tree = renamed(tree, "f32", "real")
        checks = ([f"finite={self.finite}"] if self.finite else []) + (["bounds"] if r.random() < (0.4 if self.arrays else 0.02) else [])
        self.options += ["-fcheck=" + ",".join(checks)] if checks else []
        stored = [f.name for f in self.fields.values() if f.kind != "temp"] + self.level_fields()
        steps = r.choice([0, 1, 2, 3, 3, 5, 9, 7] + ([] if "reduce" in tree.text() or "until" in tree.text() or "update" in tree.text() or self.repeats or checks else [7, 12]))
        given, runs = self.given(tree), list(self.schedules(tree, device.split(":")[0] if device and often == 1 else device))
        runs = framed(runs if checks else dense(runs, self.seed), self.seed, self.layered)
        few = re.search(r"(?m)^\s*(levels|repeat|sweep|update)\b", tree.text())  # of such programs there are so few that more are cut
        runs += [] if device and often < 1 else list(self.splits(sizes, max(often, 0.5) if few and often else often, device, runs))
        runs = list(self.leveled_runs(self.swept_runs(runs)))
        case = Case(tree, sizes, steps, given, stored, self.options, runs)
        case = later(case if self.has_levels else longer(case, self.least, self.seed, device), self.seed)
        case = case if self.layered else constant_extents(case, self.seed, self.plain)
        return case if self.layered else with_members(case, self.seed) if self.has_levels else with_looked(with_complex(with_members(case, self.seed), self.seed), self.seed)
