"""Masks, fields with rules for their dry points, and stencils on their points: one program in six has them. Their chances are of their own."""
import random

from model import components
from tree import Node

MASKED = 0.17   # of the programs


class Masked:
    """The part of the Generator that makes them. self.masks: their names."""

    def has_masks(self):
        """Has the program masks?"""
        return not (self.plain or self.layered) and random.Random(self.seed * 2 + 33).random() <= MASKED

    def mask_lines(self):
        """One or two masks: none of the points, all, stripes, blocks, noise, a shore, or another one at a neighbour."""
        own = self.wet = random.Random(self.seed * 2 + 33)
        self.masks = []
        if self.plain or self.layered or own.random() > MASKED:
            return
        for name in ("wet1", "wet2")[:own.choice([1, 1, 2])]:
            d, e = own.randrange(self.rank), own.randrange(self.rank)
            form = own.choice(["true", "false", f"idx({d}) % 3 != 0", f"idx({d}) % 4 < 2 || idx({e}) % 5 > 1", f"random({self.seed % 1000}, 1) < {own.choice(['0.1', '0.5', '0.9'])}", f"idx({d}) > {own.choice([3, 9, 20])} || idx({e}) < 4"])
            if self.masks and own.random() < 0.5:
                form = f"wet1 && wet1[{', '.join(str(own.choice([-1, 0, 1])) for _ in range(self.rank))}]"
            box = [("all", 0, 0) if own.random() < 0.6 else ("all", own.choice([0, 1]), own.choice([0, 1, 2])) for _ in range(self.rank)]
            self.masks.append(name)
            yield Node(f"mask {name} on $ = {form};", self.region(box, False), declares=[name])

    def dry(self, field):
        """The attribute of a field that has a mask, as a list; [] if it has none."""
        own, of = self.wet, [t for _, t in components(field.type)]
        if not self.masks or field.kind == "temp" or own.random() < 0.4:
            return []
        plain, signed = len(set(of)) == 1 and "." not in components(field.type)[0][0], not {"bool", "u8", "u16", "u32"} & set(of)
        here = bool(field.rule) or not any(map(any, field.box))      # the reading point may be one of the field's, or beyond its edge
        rule = own.choice(["self", "self"] * here + ["value"] * plain + ["odd"] * (plain and signed and here) + ["none"])
        if rule == "none":
            return []
        about = own.choice(self.constants_of(of[0])) if rule != "self" else ""
        field.masked = True
        return [Node(f"where {own.choice(self.masks)} dry " + {"self": "self", "value": about, "odd": f"odd about {about}"}[rule])]

    def mask_value(self, place):
        """A mask at a neighbour as a condition; None where it has no value."""
        if not self.masks or not place.step or not place.fields or self.wet.random() > 0.2:
            return None
        return Node(f"{self.wet.choice(self.masks)}[{', '.join(str(self.wet.choice([-1, 0, 0, 2])) for _ in range(self.rank))}]", type="bool")

    def at_wet(self, region, targets):
        """The region of a piece of a stencil, now and then at the points of a mask alone."""
        if not self.masks or any(t.kind == "temp" for t in targets) or self.wet.random() < 0.5:
            return region
        return Node(region.form[:-1] + f" where {self.wet.choice(self.masks)}]", *region.parts, smaller=[region])
