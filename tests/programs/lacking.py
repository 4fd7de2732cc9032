"""Fields that do not have all dimensions of the grid, which steps read: one program in five of rank 2 and 3 has them. Their chances are of their own."""
import random

from model import Field, Place, components
from tree import List, Node

LACKING = "PQ"   # their names


class Lacking:
    """The part of the Generator that makes them, behind all other fields and their inits."""

    def lacking_lines(self):
        """One or two of them, most with an init."""
        own = self.stars = random.Random(self.seed * 2 + 31)
        if self.rank == 1 or self.plain or own.random() > 0.2:
            return
        for name in LACKING[:own.choice([1, 1, 2])]:
            yield from self.lacking_field(name)

    def lacking_field(self, name):
        """The declaration of one, and its init."""
        own = self.stars
        lacks = own.choice([d for d in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)] if max(d) < self.rank and len(d) < self.rank])
        type = own.choice([t for t in self.mix if t != "bool"] + self.types)
        box = [(0, 0) if d in lacks or own.random() < 0.7 else (own.choice([0, 1]), own.choice([0, 1])) for d in range(self.rank)]
        rule = own.choice(["", "clamp", "mirror", "periodic", "constant"])
        rule = "mirror" if self.rising and rule == "periodic" else rule
        f = Field(name, type, box, rule, "input")
        f.lacks = lacks
        for d in range(self.rank):
            if d not in lacks:
                self.demand(d, sum(box[d]) + 1 if rule not in ("", "constant") else 1)
        region = lambda left=lambda d: f.box[d]: Node("[" + ", ".join("$" * self.rank) + "]", *[Node("*") if d in lacks else self.range(d, ("all", *left(d))) for d in range(self.rank)])
        text = own.choice(self.constants_of(getattr(type, "of", type))) if rule == "constant" else rule
        each = ", ".join("*" if d in lacks else str(text) for d in range(self.rank))
        attributes = [Node("on $", region())] + [Node(f"outside {text}" if own.random() < 0.5 else f"outside [{each}]")] * bool(rule) + [Node("input")] * (own.random() < 0.3)
        yield Node(f"field {name} : {type} $;", List(attributes), declares=[name])
        if own.random() < 0.7:
            place = Place([("all", *b) for b in box], fields=False, points=False, step=False)
            kept, self.r = self.r, own
            value = self.value(type, place, 2)
            self.r = kept
            if not [1 for _, t in components(type) if t != type]:
                d = own.choice([d for d in range(self.rank) if d not in lacks])
                plain = {"f16": "f32", "bf16": "f32"}.get(type, type)
                value = Node(f"{type}({plain}(idx({d}) % 5) + {plain}($))", value, type=type)
            part = own.random() < 0.2
            init = self.new_name("n")
            yield Node(f"init {init}($)$ = $;", List([Node(name)], ", ", 1), region(lambda d: (f.box[d][0] + part, f.box[d][1])) if own.random() < 0.6 else Node(f"[{name}]"), value, declares=[init])
        self.fields[name] = f
