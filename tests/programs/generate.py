"""Random programs, valid by construction as far as that can be told, with sizes, inputs and schedules to run them with.

A seed makes one Case. Only operations that all devices round alike are used, and no field gets values that are infinite or no numbers, so that results are equal byte for byte.
"""
import random

from tree import List, Node

EXTENT = "NML"
LITERAL = {"f32": ["0.5", "-0.75", "0.1", "3.0"], "f64": ["0.25", "-1.5", "0.1", "2.0"], "i32": ["7", "-3", "2"], "i64": ["5", "-9", "1"],
           "bool": ["true", "false"]}
SIMPLEST = {"f32": "0.5", "f64": "0.5", "i32": "2", "i64": "2", "bool": "true"}
MIXES = [["f32"], ["f64"], ["f32", "f64"], ["i32", "i64"], ["f32", "f64", "i32", "i64", "bool"]]
SIZES = [[1, 2, 3, 5, 17, 40, 100], [1, 2, 3, 7, 11, 19, 33], [1, 2, 5, 7, 9, 12]]


class Field:
    """A field: its name, type, box (points left out below and above in each dimension), outside rule or "", kind ("", "temp" or "input"). readable: written before."""

    def __init__(self, name, type, box, rule, kind):
        self.name, self.type, self.box, self.rule, self.kind, self.readable = name, type, box, rule, kind, kind != "temp"


class Case:
    """A program and how it is run. tree: its text; sizes, steps; inputs: (name, value) for --in; outputs: names for --out; runs: lists of options."""

    def __init__(self, tree, sizes, steps, inputs, outputs, runs):
        self.tree, self.sizes, self.steps, self.inputs, self.outputs, self.runs = tree, sizes, steps, inputs, outputs, runs


class Place:
    """Where an expression stands. box: the points it is for, for each dimension ("all", a, b): all points of the grid but a below and b above; ("low", a, b): points
    a to b from below; ("high", a, b): from a to b points from above. slack: how far macros about it move it down and up. loops: variables of sums about it, with
    their least and greatest value. values: names of lets and their types. macros: may it call any. step: has it the number of the step."""

    def __init__(self, box, slack=None, loops=(), values=(), macros=True, step=True, points=True):
        self.box, self.slack, self.loops, self.values, self.macros, self.step, self.points = box, slack or [(0, 0)] * len(box), list(loops), list(values), macros, step, points

    def within(self, **changes):
        """The place again with some things changed."""
        it = dict(box=self.box, slack=self.slack, loops=self.loops, values=self.values, macros=self.macros, step=self.step, points=self.points)
        it.update(changes)
        return Place(**it)


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.seed = seed
        self.rank = self.r.choice([1, 1, 2, 2, 2, 3])
        self.origin = [self.r.choice([0, 0, 0, -3, 5]) for _ in range(self.rank)]
        self.reach = self.r.choice([1, 1, 2, 3])
        self.fields, self.params, self.macros, self.named, self.lines, self.names = {}, [], [], 0, [], []
        self.least = [1] * self.rank

    # ---------------------------------------------------------------- regions

    def low(self, d, a):
        return str(self.origin[d] + a)

    def high(self, d, b):
        c = self.origin[d] - 1 - b
        return EXTENT[d] + (f" - {-c}" if c < 0 else f" + {c}" if c else "")

    def range(self, d, x):
        kind, a, b = x
        if kind == "all":
            whole = [] if (a, b) == (0, 0) else [Node(self.low(d, 0) + " .. " + self.high(d, 0))]
            return Node(self.low(d, a) + " .. " + self.high(d, b), smaller=whole)
        ends = (self.low(d, a), self.low(d, b)) if kind == "low" else (self.high(d, b), self.high(d, a))
        return Node(ends[0] if a == b else " .. ".join(ends))

    def region(self, box):
        """The box in brackets."""
        return Node("[" + ", ".join("$" * self.rank) + "]", *[self.range(d, x) for d, x in enumerate(box)])

    def points_of(self, field):
        return [("all", *b) for b in field.box]

    def demand(self, d, least):
        """The grid must have at least so many points in dimension d."""
        self.least[d] = max(self.least[d], least)

    # ---------------------------------------------------------------- accesses

    def room(self, x, field, d):
        """The offsets in dimension d at which points of x may read `field`, on a grid that is large enough."""
        kind, a, b = x
        below, above = field.box[d]
        if field.rule:
            return -self.reach, self.reach
        least = below - a if kind != "high" else -self.reach
        most = b - above if kind == "all" else a - above if kind == "high" else self.reach
        return max(least, -self.reach), min(most, self.reach)

    def demand_access(self, place, field, d, lo, hi):
        """An access at total offsets lo to hi: how large the grid must be."""
        kind, a, b = place.box[d]
        below, above = field.box[d]
        if field.rule:
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

    def access_to(self, field, place, dots):
        """An access to `field` at some offset; dots: offsets are written also when they are all 0."""
        offsets = [self.offset(place, field, d, *self.room(place.box[d], field, d)) for d in range(self.rank)]
        if None in offsets:
            return None
        if not dots and all(o.form == "0" for o in offsets):
            return Node(field.name, type=field.type)
        return Node(field.name + "[" + ", ".join("$" * self.rank) + "]", *offsets, type=field.type)

    def access(self, type, place):
        """An access of that type; None if there is none."""
        fields = [f for f in self.fields.values() if f.type == type and f.readable]
        self.r.shuffle(fields)
        return next((a for a in (self.access_to(f, place, False) for f in fields) if a), None)

    # ---------------------------------------------------------------- expressions

    def literal(self, type):
        return Node(f"{type}({self.r.choice(LITERAL[type])})", type=type)

    def leaf(self, type, place):
        r, other = self.r, self.r.choice(list(LITERAL))
        k = r.random()
        values = [n for n, t in place.values if t == type]
        if values and k < 0.25:
            return Node(r.choice(values), type=type)
        if k < 0.75 and (a := self.access(type, place)):
            return a
        if k < 0.85 and other != type and (a := self.access(other, place)):
            return Node(f"{type}($)", a, type=type)
        named = [n for n, t in self.params if t == type]
        if k < 0.9 and named:
            return Node(r.choice(named), type=type)
        if k < 0.95 and place.points:
            d = r.randrange(self.rank)
            return Node(f"(idx({d}) % 3 == 1)" if type == "bool" else f"{type}(idx({d}))", type=type)
        if k < 0.97 and place.step:
            return Node(f"{type}(step)", type=type)
        if k < 0.98 and place.loops:
            return Node(f"{type}({r.choice(place.loops)[0]})", type=type)
        return self.literal(type)

    def macro_call(self, type, place, depth):
        name, reach = self.r.choice(self.macros)
        moved = [(s[0] + m[0], s[1] + m[1]) for s, m in zip(place.slack, reach)]
        return Node(f"{name}($)", self.expr(type, place.within(slack=moved, macros=False, values=()), min(depth, 2)), type=type)

    def bool_expr(self, place, depth):
        r = self.r
        if r.random() < 0.2:
            return Node("!($)", self.expr("bool", place, depth - 1), type="bool")
        t = r.choice(list(LITERAL))
        operator = r.choice(["&&", "||", "==", "!="] if t == "bool" else ["<", "<=", ">", ">=", "==", "!="])
        return Node(f"($ {operator} $)", self.expr(t, place, depth - 1), self.expr(t, place, depth - 1), type="bool")

    def expr(self, type, place, depth):
        """An expression of a scalar type."""
        r = self.r
        if depth <= 0 or r.random() < 0.12:
            return self.leaf(type, place)
        e = lambda t=type, less=1: self.expr(t, place, depth - less)
        n = lambda form, *parts: Node(form, *parts, type=type)
        k = r.random()
        if k < 0.08:
            return n(r.choice(["(if $ then $ else $)", "select($, $, $)"]), e("bool", 2), e(), e())
        if k < 0.16 and self.macros and place.macros and type != "bool":
            return self.macro_call(type, place, depth - 1)
        if k < 0.24 and (other := r.choice(list(LITERAL))) != type:
            return n(f"{type}($)", e(other))
        if type == "bool":
            return self.bool_expr(place, depth)
        if k < 0.6:
            return n(f"($ {r.choice('+-+-*')} $)", e(), e())
        if k < 0.74:
            return n(f"{r.choice(['min', 'max'])}($, $)", e(), e())
        if k < 0.8:
            return n(f"{r.choice(['abs', '-'])}($)", e())
        if type[0] == "i":
            return n(f"($ {r.choice('/%')} $)", e(), e())
        if k < 0.88:
            return n("($ / (2.0 + abs($)))", e(), e())
        if k < 0.93:
            return n("sqrt(abs($))", e())
        return n(f"{r.choice(['floor', 'ceil'])}($)", e()) if k < 0.96 else n("fma($, $, $)", e(), e(), e())

    def value(self, type, place, depth):
        """An expression that keeps floats in bounds; also a NaN becomes a number."""
        e = self.expr(type, place, depth)
        return Node(f"max({type}(-4.0), min({type}(4.0), $))", e, type=type) if type[0] == "f" else e

    # ---------------------------------------------------------------- stencils

    def inner(self, x, most):
        kind, a, b = x
        return (kind, a + self.r.choice([0, 0, 1, most]), b + self.r.choice([0, 0, 1, most]))

    def piece_boxes(self, box):
        """One piece, all of the box or the inner part of it, or a part at either end of a dimension and the middle."""
        r, k = self.r, self.r.random()
        if k < 0.75:
            return [box if k < 0.4 else [self.inner(x, 2) for x in box]]
        d, n, m = r.randrange(self.rank), r.choice([1, 2]), r.choice([1, 2])
        _, a, b = box[d]
        parts = [("low", a, a + n - 1), ("all", a + n, b + m), ("high", b, b + m - 1)]
        self.demand(d, a + b + n + m)
        r.shuffle(parts)
        return [box[:d] + [x] + box[d + 1:] for x in parts[:r.choice([2, 3])]]

    def new_name(self, letter):
        self.named += 1
        return f"{letter}{self.named}"

    def let(self, type, place):
        """A let, which becomes one of the place's values."""
        name = self.new_name("v")
        node = Node(f"let {name} = $;", self.value(type, place, 2), declares=[name])
        place.values.append((name, type))
        return node

    def assignment(self, target, place, depth):
        return Node(f"{target.name} = $;", self.value(target.type, place, depth))

    def body(self, targets, box, single, step):
        """The equations of a piece; `single`: the stencil has one target, so that an expression may stand alone."""
        depth, place = self.r.choice([2, 3, 3, 4]), Place(box, step=step)
        if single and self.r.random() < 0.5:
            return Node("= $;", self.value(targets[0].type, place, depth))
        lines = []
        for t in targets:
            if self.r.random() < 0.5:
                lines.append(self.let(self.r.choice([t.type, self.r.choice(list(LITERAL))]), place))
            lines.append(self.assignment(t, place, depth))
        return Node("{ $ }", List(lines, " ", 1))

    def stencil(self, name, targets, whole=False, word="stencil"):
        """A stencil, or by another word an init; `whole`: every target gets values at all of its points."""
        box = [("all", *(max(t.box[d][end] for t in targets) for end in (0, 1))) for d in range(self.rank)]
        boxes = [box] if whole else self.piece_boxes(box)
        mine = [targets if k == 0 or self.r.random() < 0.5 else [self.r.choice(targets)] for k in range(len(boxes))]
        pieces = [Node("$ $", self.region(b), self.body(t, b, len(targets) == 1, word == "stencil")) for b, t in zip(boxes, mine)]
        head = List([Node(t.name) for t in targets], ", ", 1)
        return Node(f"{word} {name}($)" + ("$" if len(pieces) == 1 else " {\n  $\n}"), head, pieces[0] if len(pieces) == 1 else List(pieces, "\n  ", 1))

    # ---------------------------------------------------------------- declarations

    def macro(self):
        name, r = self.new_name("m"), self.r
        offs = [[r.randint(-2, 2) if r.random() < 0.6 else 0 for _ in range(self.rank)] for _ in range(r.choice([2, 3]))]
        body = r.choice([" + ", " - ", " * "]).join(f"X[{', '.join(map(str, o))}]" for o in offs)
        self.macros.append((name, [(max(0, -min(o[d] for o in offs)), max(0, max(o[d] for o in offs))) for d in range(self.rank)]))
        return Node(f"op {name}(X) = {body};", declares=[name], smaller=[Node(f"op {name}(X) = X;", declares=[name])])

    def field(self, name, kind, rule, mix, staggered):
        r = self.r
        type = r.choice(mix)
        rule = r.choice(["", "clamp", "mirror", "periodic", "constant"]) if rule is None else rule
        box = [(r.choice([0, 1, 2]), r.choice([0, 1, 2])) if staggered else (0, 0) for _ in range(self.rank)]
        self.fields[name] = f = Field(name, type, box, rule, kind)
        for d in range(self.rank):
            self.demand(d, sum(box[d]) + 1 if rule not in ("", "constant") else 1)
        attributes = [Node("on $", self.region(self.points_of(f)))] if staggered or r.random() < 0.5 else []
        attributes += [Node(f"outside {r.choice(LITERAL[type])}" if rule == "constant" else f"outside {rule}")] if rule else []
        attributes += [Node(kind)] if kind else []
        r.shuffle(attributes)
        return Node(f"field {name} : {type} $;", List(attributes), declares=[name])

    def scalar_params(self):
        for i in range(self.r.choice([0, 1, 2])):
            type = self.r.choice(list(LITERAL))
            self.params.append((f"p{i}", type))
            yield Node(f"param p{i} : {type} = {self.r.choice(LITERAL[type])};", declares=[f"p{i}"])

    def field_lines(self):
        r = self.r
        kinds = [""] + [r.choice(["", "", "", "temp", "input"]) for _ in range(r.randint(0, 3))]
        rule, mix, staggered = r.choice(["", "clamp", "mirror", "periodic", "constant", None, None]), r.choice(MIXES), r.random() < 0.4
        return [self.field(name, kind, rule, mix, staggered and r.random() < 0.5) for name, kind in zip("ABCDE", kinds)]

    def init_lines(self):
        """Inits of some of the fields."""
        for f in self.fields.values():
            if f.kind != "temp" and self.r.random() < 0.25:
                yield self.stencil(self.new_name("i"), [f], self.r.random() < 0.5, "init")

    def stencil_lines(self):
        r = self.r
        temps, plain = ([f for f in self.fields.values() if f.kind == kind] for kind in ("temp", ""))
        for t in temps:
            yield self.named_stencil([t], True)
            t.readable = True
        for _ in range(max(1, r.randint(1, 4) - len(temps))):
            pair = len(plain) > 1 and r.random() < 0.35
            yield self.named_stencil(sorted(r.sample(plain, 2), key=lambda f: f.name) if pair else [r.choice(plain + temps[:1])])

    def named_stencil(self, targets, whole=False):
        self.names.append(self.new_name("s"))
        return self.stencil(self.names[-1], targets, whole)

    def program(self):
        """The tree of the whole program."""
        lines = [Node("param " + ", ".join(f"{EXTENT[d]} = 20" for d in range(self.rank)) + ";")]
        lines += list(self.scalar_params())
        lines.append(Node("grid G = $, 8;", self.region([("all", 0, 0)] * self.rank)))
        lines += [self.macro() for _ in range(self.r.choice([0, 1, 2]))]
        lines += self.field_lines()
        for f in self.fields.values():
            f.readable = False
        inits = list(self.init_lines())
        for f in self.fields.values():
            f.readable = f.kind != "temp"
        lines += inits + list(self.stencil_lines())
        return Node("$\n", List(lines, "\n"))

    # ---------------------------------------------------------------- runs

    def schedules(self, device):
        """Options of the runs, on `device` alone if it is not None."""
        r, rank = self.r, self.rank
        threads, points = [[31, 64, 100], [5, 8, 16], [4, 5, 8]][rank - 1], [[3, 17, 40, 100], [4, 7, 16, 30], [3, 8, 14, 20]][rank - 1]
        shape = lambda choices: "x".join(str(r.choice(choices)) for _ in range(rank))
        gpu = [f"--device={device}"] if device else ["--device=sim", "-march=" + r.choice(["nvptx", "nvptx", "amdgpu"])]
        for _ in range(3 if device else 2):
            yield gpu + [f"-T={r.choice([1, 1, 2, 2, 3, 5])}", f"-block={shape(threads)}", f"-elems={shape([1, 2, 3, 4])}"]
        yield gpu + r.choice([[], ["-schedule=naive"]])
        if not device:
            yield ["--device=sim", "-march=host", f"-T={r.choice([1, 2, 3, 4])}", f"-block={shape(points)}"]
            yield ["--device=host:2", "-O" + r.choice("00000003")] + r.choice([[], ["-schedule=naive"], [f"-T={r.choice([1, 2, 3])}", f"-block={shape(points)}"]])

    def case(self, device=None):
        r, tree = self.r, self.program()
        sizes = [r.choice([s for s in SIZES[self.rank - 1] + [self.least[d], self.least[d] + 1] if s >= self.least[d]]) for d in range(self.rank)]
        stored = [f for f in self.fields.values() if f.kind != "temp"]
        inits = {i.parts[0].items[0].form for i in tree.parts[0].items if i.form.startswith("init")}
        inputs = [(f.name, f"random:{self.seed}") for f in stored if f.name not in inits]
        return Case(tree, sizes, r.choice([1, 2, 3, 5, 7]), inputs, [f.name for f in stored], list(self.schedules(device)))
