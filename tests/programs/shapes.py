"""Programs whose shape schedules stumble over: extents that are constants, rows that are whole 16 bytes and rows that are not, temp fields in constant pieces, fields on a thin region, tables of one
value. Their chances are of their own."""
import random

from model import EXTENT, Place, renamed
from tree import List, Node


class Shapes:
    """The part of the Generator that makes them. self.own are the chances; a thin field has `thin`: the dimension in which it is, at which end ("low" or "high"), and how many points it has there."""

    def constant_body(self, targets, box, single=True):
        """The equations of a piece that reads no field; `single`: the stencil has one target."""
        own = self.own
        place = Place(box, fields=False, arrays=False, macros=False, points=own.random() < 0.4, step=own.random() < 0.4)
        values = [self.value(t.type, place, own.choice([0, 0, 1, 2])) for t in targets]
        if single:
            return Node("= $;", *values)
        return Node("{ $ }", List([Node(f"{t.name} = $;", v) for t, v in zip(targets, values)], " ", 1))

    def frame(self, box):
        """The box in parts: the ends of some of its dimensions, and last what is between them."""
        own, parts, box = self.own, [], list(box)
        dims = [d for d in range(self.rank) if own.random() < 0.7] or [own.randrange(self.rank)]
        for d in dims:
            _, a, b = box[d]
            n, m = own.choice([(1, 1), (1, 1), (0, 1), (1, 0), (2, 1)])
            self.demand(d, a + b + n + m + 1)
            parts += [box[:d] + [("low", a, a + n - 1)] + box[d + 1:]] if n else []
            parts += [box[:d] + [("high", b, b + m - 1)] + box[d + 1:]] if m else []
            box[d] = ("all", a + n, b + m)
        return parts + [box]

    def constant_pieces(self, t):
        """A stencil of all of temp field `t`, most of whose pieces read no field."""
        own, boxes = self.own, self.frame(self.points_of(t))
        chance = lambda k: (1 if self.plain else 0.8) if k < len(boxes) - 1 else 0.2
        bodies = [self.constant_body([t], b) if own.random() < chance(k) else self.body([t], b, True, True) for k, b in enumerate(boxes)]
        pieces = [Node("$ $", self.region(b), body) for b, body in zip(boxes, bodies)]
        own.shuffle(pieces)
        name = self.new_name("s")
        self.names.append(name)
        return Node(f"stencil {name}({t.name}) {{\n  $\n}}", List(pieces, "\n  ", 1), declares=[name])

    def thin_room(self, x, field):
        """The offsets at which points of x may read thin `field` in its dimension."""
        _, end, n = field.thin
        kind, a, b = x
        if kind != end:
            return 1, 0
        if field.rule:
            return -self.reach, self.reach
        least, most = (-a, n - 1 - b) if end == "low" else (b - n + 1, a)
        return max(least, -self.reach), min(most, self.reach)

    def make_thin(self, field):
        """Puts the field on a thin region, or not."""
        own = self.own
        if self.rank == 1 or self.plain or field.kind == "temp" or any(map(any, field.box)) or field.rule in ("mirror", "periodic") or own.random() > 0.1:
            return
        field.thin = own.randrange(self.rank), own.choice(["low", "high"]), own.choice([2, 3])
        self.demand(field.thin[0], field.thin[2])


def constant_extents(case, seed, plain):
    """The case, or one in seven with extents that are known when compiling; one in three of those that suit the warps schedule (`plain`), which are few."""
    if random.Random(seed * 2 + 13).random() > (1 / 3 if plain else 1 / 7):
        return case
    lines = case.tree.parts[0]
    tree = Node("$\n", List(lines.items[1:], lines.between, lines.least))
    for d, size in enumerate(case.sizes):
        tree = renamed(renamed(tree, EXTENT[d], f"i64({size})", True), EXTENT[d], str(size))
    return case.changed(tree=tree, constant=True)


def wider(sizes, least, seed):
    """The sizes, or in two dimensions now and then rows of more than a warp, whole 16 bytes and not."""
    r = random.Random(seed * 2 + 15)
    if len(sizes) != 2 or r.random() > 0.35:
        return sizes
    width = r.choice([12, 36, 132, 133, 140, 260, 291])
    rows = sizes[0] if width < 100 else min(sizes[0], max(least[0], r.choice([5, 11, 17])))
    return [rows, width] if width >= least[1] else sizes
