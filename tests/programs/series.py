"""Fields that are series of frames, which stencils alone read: one program in ten has them. Their chances are of their own."""
import random

from model import Field, Vector, components
from tree import List, Node

FLOATS = ("f16", "bf16", "f32", "f64")


class Series:
    """The part of the Generator that makes them, behind all that is not to read them."""

    def frame_lines(self):
        """One or two of them; random numbers are another series a frame."""
        own = self.frames = random.Random(self.seed * 2 + 41)
        if self.plain or self.layered or self.absorbing or own.random() > 0.1:
            return
        for name in ("W1", "W2")[:own.choice([1, 1, 2])]:
            type = own.choice([t for t in self.mix if t != "bool"] + self.types)
            box = [(0, 0) if own.random() < 0.7 else (own.choice([0, 1]), own.choice([0, 1])) for _ in range(self.rank)]
            rule = own.choice(["", "clamp", "mirror", "constant"])
            f = Field(name, type, box, rule, "input")
            f.series = True
            for d in range(self.rank):
                self.demand(d, sum(box[d]) + 1 if rule not in ("", "constant") else 1)
            text = own.choice(self.constants_of(getattr(type, "of", type))) if rule == "constant" else rule
            between = all(t in FLOATS for _, t in components(type)) and (not components(type)[0][0] or isinstance(type, Vector) and type.of in FLOATS)
            words = [w for w in ["linear"] * between + ["cycle"] if own.random() < 0.6]
            attributes = [Node(f"frames every {' '.join([str(own.choice([1, 1, 2, 3, 3, 4, 5, 8])), *words])}")] + [Node(f"outside {text}")] * bool(rule)
            attributes += [Node("on $", self.region([("all", *b) for b in box], False))]
            own.shuffle(attributes)
            yield Node(f"field {name} : {type} $;", List(attributes), declares=[name])
            self.fields[name] = f

    def past_frames(self):
        """Nothing behind the stencils reads them."""
        for f in self.fields.values():
            f.readable = f.readable and not f.series
        return []
