"""What random programs are made of: types, fields, places where expressions stand, and cases: programs with what they are run with."""
import re

from tree import List, Node

EXTENT = "NML"
LITERAL = {"f32": ["0.5", "-0.75", "0.1", "3.0"], "f64": ["0.25", "-1.5", "0.1", "2.0"], "i32": ["7", "-3", "2"], "i64": ["5", "-9", "1"],
           "bool": ["true", "false"], "u32": ["5", "4294967291", "19"]}
# The types that scalars, lets and functions have; fields may be of u32 beside.
SCALARS = ["f32", "f64", "i32", "i64", "bool"]
SIMPLEST = {"f32": "0.5", "f64": "0.5", "i32": "2", "i64": "2", "bool": "true", "u32": "2"}
MIXES = [["f32"], ["f64"], ["f32", "f64"], ["i32", "i64"], ["f32", "f64", "i32", "i64", "bool"]]
STORED = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32", "u8": "i32", "u16": "i32"}
SHORT = [t for t, c in STORED.items() if c == "i32"]
SIZES = [[1, 2, 3, 5, 17, 40, 100], [1, 2, 3, 7, 11, 19, 33], [1, 2, 5, 7, 9, 12]]
# Literals halfway between two values of a narrow type, or a trifle beside that: what is rounded twice is wrong.
HARD = {"f16": ["1.00048828125", "-1.00048828125000000000001", "1.00146484375", "1.00048828124999999999999", "0.1", "-2.0009765625000000000001"],
        "bf16": ["1.00390625", "-1.00390625000000000000001", "1.01171875", "1.00390624999999999999999", "0.1", "-2.0078125000000000000001"]}
# Of numbers that launching or the point decides, so that nothing is folded: the narrow type, an expression with a place for the point's number, what the value is made small by.
HARDER = [("f16", "f64($) * 0.0009765625 + h1", 1), ("f16", "i32($) * 2 + 2049", 2000), ("f16", "i64($) * 4 + 4098", 4000), ("f16", "f32($) * 0.0009765625 + 1.00048828125", 1),
          ("bf16", "f64($) * 0.0078125 + h2", 1), ("bf16", "i32($) * 131072 + 16842753", 1e7), ("bf16", "i64($) * 8589934592 + 1103806595073", 1e12), ("bf16", "f32($) * 0.0078125 + 1.00390625", 1)]
# On real devices, where tiles that touch no edge are quickly had.
LARGE_SIZES = [[3, 100, 1000, 5000], [3, 33, 70, 150, 260, 400], [2, 12, 21, 40, 70]]


class Vector(str):
    """The type of vectors of n values of the scalar type `of`; as a str its name."""

    def __new__(cls, of, n):
        self = super().__new__(cls, f"{of}[{n}]")
        self.of, self.n, self.members = of, n, [("[%d]" % i, of) for i in range(n)]
        return self


class Struct(str):
    """A struct type; members: (name, type); as a str its name."""

    def __new__(cls, name, members):
        self = super().__new__(cls, name)
        self.members = [("." + m, t) for m, t in members]
        return self


def components(type):
    """The scalar components of a type: how each is reached, and its type."""
    if not isinstance(type, (Vector, Struct)):
        return [("", type)]
    return [(path + rest, t) for path, m in type.members for rest, t in components(m)]


def is_plain(type):
    """Is it a vector of scalars, for which there is arithmetic?"""
    return isinstance(type, Vector) and not isinstance(type.of, (Vector, Struct))


def computed(type):
    """What a value of the type is when something is computed with it."""
    return Vector(computed(type.of), type.n) if isinstance(type, Vector) else STORED.get(type, type)


class Field:
    """A field: its name, type, box (points left out below and above in each dimension), outside rule or "", kind ("", "temp", "input" or "past"). readable: written before;
    levels: how many older levels it has behind it. written: of a temp, the points left out of the part that is written; None: all is. thin: on a thin region (shapes.py), or None.
    lacks: the dimensions that it does not have (lacking.py). masked: it has a
    mask (masked.py). series: it has frames (series.py)."""

    def __init__(self, name, type, box, rule, kind, levels=0):
        self.written, self.thin, self.lacks, self.masked, self.series = None, None, (), False, False
        self.name, self.type, self.box, self.rule, self.kind, self.readable, self.levels = name, type, box, rule, kind, kind != "temp", levels

    def kept(self, older):
        """Can a macro read it that looks so many steps back?"""
        return older <= self.levels or (self.kind == "input" and not self.series)


class Case:
    """A program and how it is run. tree: its text; sizes, steps; inputs: (name, value) for --in; outputs: names for --out; options: further ones of all runs; runs: lists of
    the options of each. In a list for -fuse the names are those of the whole program's stencils. every: after so many steps the outputs are written, 0: after the last one. constant: the extents are numbers in the text."""

    def __init__(self, tree, sizes, steps, inputs, outputs, options, runs, every=0, constant=False):
        self.tree, self.sizes, self.steps, self.inputs, self.outputs, self.options, self.runs, self.every, self.constant = tree, sizes, steps, inputs, outputs, options, runs, every, constant

    def changed(self, **changes):
        """The case again with some things changed."""
        return Case(**{**vars(self), **changes})


def renamed(tree, old, new, alone=False):
    """The tree with `new` for the word `old`; alone: only where that is all of an expression."""
    def change(part):
        if isinstance(part, List):
            return List([change(i) for i in part.items], part.between, part.least)
        form = re.sub(rf"\b{old}\b", new, part.form) if not alone or (part.form == old and part.type) else part.form
        return Node(form, *[change(p) for p in part.parts], type=part.type, smaller=[change(s) for s in part.smaller], declares=part.declares)
    return change(tree)


class Place:
    """Where an expression stands. box: the points it is for, for each dimension ("all", a, b): all points of the grid but a below and b above; ("low", a, b): points
    a to b from below; ("high", a, b): from a to b points from above. slack: how far macros about it move it down and up. loops: variables of sums about it, with
    their least and greatest value. values: names of lets, vars and parameters and their types; vars: those that can be assigned; fixed: is it where lets have a value
    at this point alone. macros: may it call any; older: how many steps back those about it look. step: has it the number of the step; points: and coordinates; fields: and accesses; arrays: and elements."""

    def __init__(self, box, slack=None, loops=(), values=(), vars=(), fixed=False, macros=True, older=0, step=True, points=True, fields=True, arrays=True):
        self.older = older
        self.box, self.slack, self.loops, self.values, self.vars, self.fixed = box, slack or [(0, 0)] * len(box), list(loops), list(values), list(vars), fixed
        self.macros, self.step, self.points, self.fields, self.arrays = macros, step, points, fields, arrays

    def within(self, **changes):
        """The place again with some things changed."""
        return Place(**{**vars(self), **changes})
