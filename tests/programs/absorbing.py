"""Stencils whose derivatives absorbing layers stretch: one program in twelve. Their chances are of their own."""
import random

from distances import reach_of
from model import Field, Place
from tree import List, Node


class Absorbing:
    """The part of the Generator that makes programs of them. self.absorb: the chances; self.absorbing: is this one? often: how many are."""

    often = 0.1

    def start_absorbing(self, seed):
        self.absorb = own = random.Random(seed * 2 + 29)
        self.absorbing = not self.layered and own.random() < (self.often if self.rank < 3 else self.often / 2)
        if not self.absorbing:
            return
        self.plain, self.spaced = False, True
        self.width = own.choice([4, 4, 5, 7])
        self.sides = {(d, end) for d in range(self.rank) for end in ("lower", "upper") if own.random() < 0.75} or {(0, "upper")}
        self.seam = {d for d in range(self.rank) if not self.sides & {(d, "lower"), (d, "upper")} and own.random() < 0.5}

    def absorb_lines(self):
        """The layer."""
        own = self.absorb
        if not self.absorbing:
            return
        out = [f"{d} {end}" for d in range(self.rank) for end in ("lower", "upper") if (d, end) not in self.sides]
        but = f" but [{', '.join(out)}]" if out else ""
        numbers = f"speed {own.choice(['3', 'd1', 'd2 * 2'])}, frequency {own.choice(['0.5', '1', 'd2'])}, reflection {own.choice(['0.1', '1e-3'])}{own.choice(['', '', ', kappa 2', ', kappa d3'])}"
        yield Node(f"absorb rim = {self.width} of G{but} {numbers};", declares=["rim"])

    def beyond(self, d):
        """What is beyond both sides of dimension d; where there is no layer a field may be odd or periodic."""
        own = self.absorb
        if d in self.seam:
            return "periodic"
        rules = [own.choice(["0", "0", "clamp", "mirror", "mirror half"] + ([] if (d, end) in self.sides else ["mirror odd", "mirror half odd"])) for end in ("lower", "upper")]
        return " .. ".join(rules)

    def absorbed_fields(self):
        """Two or three fields of one type of floats, vectors now and then, and an input field."""
        own, lines = self.absorb, []
        type = own.choice([t for t in self.mix if t in ("f32", "f64")] or ["f32"])
        for name in "AB"[:own.choice([1, 2, 2])]:
            self.fields[name] = Field(name, type, [(0, 0)] * self.rank, "clamp", "")
            attributes = [Node("outside [" + ", ".join(self.beyond(d) for d in range(self.rank)) + "]")]
            attributes += [self.history(self.fields[name], 1)] if own.random() < 0.4 else []
            lines.append(Node(f"field {name} : {type} $;", List(attributes), declares=[name]))
        if own.random() < 0.5:
            self.fields["C"] = Field("C", type, [(0, 0)] * self.rank, "clamp", "input")
            lines.append(Node(f"field C : {type} input outside clamp;", declares=["C"]))
        return lines

    def derivative(self, far, stretched):
        """A derivative of something, and how far it reaches into *far, by dimension. stretched: in a dimension that has a layer."""
        own = self.absorb
        d, n, order = own.choice(sorted({side for side, _ in self.sides})) if stretched else own.randrange(self.rank), own.choice([1, 1, 2]), own.choice([2, 2, 2, 4])
        half = own.choice([0, 0, 1, -1]) if n == 1 else 0
        here = [name for name in self.fields if name != "C"]
        of = own.choice(here * 3 + [f"{own.choice(here)} * {own.choice(here)}"] + (["C * " + own.choice(here)] if "C" in self.fields else []))
        far[d] = max(far[d], *reach_of(n, order, half, 0))
        if n == 2:
            self.seconds.add(d)
        return f"diff({of}, {d}{', 2' if n == 2 else ''}{f', order {order}' if order > 2 or own.random() < 0.2 else ''}{f', at {half}/2' if half else ''})"

    def absorbed_body(self, target, place, far):
        """What the target gets of derivatives and of other values."""
        own, t = self.absorb, target.type
        lines, uses = [], []
        for i in range(own.choice([1, 2, 2, 3])):
            d = self.derivative(far, i == 0)
            if own.random() < 0.3:
                name = self.new_name("v")
                lines.append(Node(f"let {name} = {d};", declares=[name]))
                uses += [name, f"{name} * {name}"] if own.random() < 0.4 else [name]
            else:
                uses.append(own.choice(["$", "$", "$", "abs($)", "max($, 0.25)", f"(if {target.name} < 0.5 then $ else 0.5)"]).replace("$", d))
        value = Node(f"max({t}(-4.0), min({t}(4.0), {t}(0.5) * {target.name} + {t}(0.125) * ({' + '.join(uses)}) + {t}(0.125) * $))", self.expr(t, place.within(slack=[(self.reach, self.reach)] * self.rank), own.choice([0, 1])), type=t)
        lines.append(Node(f"{target.name} = $;", value))
        return Node("{ $ }", List(lines, " ", 1))

    def meets_layer(self, box, d):
        """Has a piece on `box` points in a layer across dimension d?"""
        kind, first = box[d][:2]
        return (d, "lower") in self.sides and first < self.width or (d, "upper") in self.sides and kind != "low"

    def absorbed_stencil(self, target):
        """A stencil of one or two pieces, most of whose derivatives the layer stretches."""
        own, far = self.absorb, [0] * self.rank
        edge = own.choice([0, 0, 0, 1])
        boxes = [[("all", edge, edge)] * self.rank]
        if own.random() < 0.25:
            d, n = own.randrange(self.rank), own.choice([1, 2, self.width + 1])
            boxes = [boxes[0][:d] + [x] + boxes[0][d + 1:] for x in (("low", edge, edge + n - 1), ("all", edge + n, edge))]
            self.demand(d, 2 * edge + n + 1)
        plain = own.random() < 0.15 and len(boxes) > 1
        readable = {f: f.readable for f in self.fields.values()}
        pieces, seconds = [], set()
        for i, b in enumerate(boxes):
            self.seconds = set()
            pieces.append(Node(f"${'' if plain and i else ' absorb rim'} $", self.region(b, False), self.absorbed_body(target, Place(b), far)))
            seconds |= set() if plain and i else {d for d in self.seconds if self.meets_layer(b, d)}
        for f, before in readable.items():
            f.readable = before
        name = self.new_name("s")
        cut = [d for d in range(self.rank) if {(d, "lower"), (d, "upper")} & self.sides]
        for d in cut:
            self.demand(d, 2 * (self.width + 2) + 1 + (len(boxes) > 1) * (self.width + 2))
        names = [f"{name}.rim.{d}" for d in cut if d in seconds] + [name]
        self.names += names
        form = f"stencil {name}({target.name})" + (" {\n  $\n}" if len(pieces) > 1 else "$")
        return Node(form, List(pieces, "\n  ", 1) if len(pieces) > 1 else pieces[0], declares=names)

    def absorbed_stencils(self):
        """One to three of them, and what is added to the fields between."""
        fields = [self.fields[name] for name in "AB" if name in self.fields]
        for _ in range(self.absorb.choice([1, 2, 2, 3])):
            target = self.absorb.choice(fields)
            yield self.absorbed_stencil(target)
            if self.absorb.random() < 0.3:
                yield from self.inject_lines(fields)
            if self.absorb.random() < 0.2:
                yield self.named_stencil([self.absorb.choice(fields)])
