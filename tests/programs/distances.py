"""Grids that say how far their points are apart, coordinates, and derivatives: one program in four has them. Their chances are of their own, so that all else of programs stays what it is."""
import random

from model import EXTENT, computed
from tree import Node


def reach_of(n, order, half, side, uneven=False):
    """How many points below and above the point derivative `n` reads, at so many halves, from a side or from both (0); `uneven`: of points that an array has the places of."""
    if uneven and half and not side:
        k = 1 if order + n == 3 and half > 0 else (order + n + 1) // 2
        return (k - (half > 0), k - (half < 0))
    if uneven and not side:
        return (order + n - 1) // 2, (order + n) // 2
    if side:
        far = order + n - 1
        return (0, far) if side > 0 else (far, 0)
    k = (order + n) // 2 if half else (order + n - 1) // 2
    return (k - (half > 0), k - (half < 0))


class Distances:
    """The part of the Generator that makes them. self.distances: the chances; self.spaced: has the grid a spacing."""

    def start_distances(self, seed):
        self.distances = random.Random(seed * 2 + 25)
        self.spaced, self.rising = self.distances.random() < 0.25, {}

    def distance_params(self):
        """Params that spacings are made of, and arrays of coordinates."""
        if not self.spaced:
            return
        yield Node("param d1 : f32 = 0.5, d2 : f64 = 1.25, d3 = 3;", declares=["d1", "d2", "d3"])
        for d in range(self.rank):
            if self.distances.random() < 0.3 and not self.absorbing:
                self.rising[d] = self.new_name("z")
                yield Node(f"param {self.rising[d]}[{EXTENT[d]}] : {self.distances.choice(['f32', 'f64', 'f64', 'real'])};", declares=[self.rising[d]])

    def metric(self):
        """What stands behind the number of the grid's steps."""
        own = self.distances
        if not self.spaced:
            return ""
        spacing = [own.choice(["d1", "d2", "d3", "0.1", "2", "d1 * 3", "d2 / 7", "sqrt(d2)"]) if d not in self.rising else f"at {self.rising[d]}" for d in range(self.rank)]
        return f" spacing [{', '.join(spacing)}]" + own.choice([" step 0.25", " step d2"] if self.absorbing else ["", "", " step 0.25", " step d2"])

    def derivatives(self):
        """Macros of a derivative each, which targets are made with (Faces.assigned), mostly such as read no more points than other accesses do."""
        own = self.distances
        for _ in range(own.choice([1, 2, 2, 3]) if self.spaced else 0):
            n, order, half, side = own.choice([1, 1, 1, 2, 2, 3, 4]), own.choice([2, 2, 2, 4, 4, 6]), own.choice([0, 0, 1, -1]), own.choice([0, 0, 0, 1, -1])
            d, name, least = own.randrange(self.rank), self.new_name("m"), max(self.reach, 1)
            uneven = d in self.rising
            while max(reach_of(n, order, half, side, uneven)) > least and own.random() < 0.9:
                n, order, half, side = own.choice([(1, 2, 0, 0), (1, 2, 1, 0), (1, 2, -1, 0), (2, 2, 0, 0), (1, 4, half, 0), (1, 2, 0, side), (2, 4, 0, 0), (3, 2, half, 0)])
            words = [f"order {order}"] * (order != 2 or own.random() < 0.3) + [f"at {'-' if half < 0 else ''}1/2"] * bool(half) + [f"side {side}"] * bool(side)
            own.shuffle(words)
            body = f"diff({own.choice(['X', 'X', 'X * X', 'abs(X)'])}, {d}{f', {n}' if n > 1 or own.random() < 0.3 else ''}{''.join(', ' + w for w in words)})"
            self.faces.append((name, [reach_of(n, order, half, side, uneven) if e == d else (0, 0) for e in range(self.rank)]))
            yield Node(f"op {name}(X) = {body};", declares=[name], smaller=[Node(f"op {name}(X) = X;", declares=[name])])

    def placed(self, type, place, e):
        """`e`, a value of type `type`, or the point's place instead, if that is a float and the program has places."""
        own = self.distances
        if not self.spaced or type not in ("f32", "f64") or not place.points or own.random() > 0.1:
            return e
        return Node(f"{type}(coord({own.randrange(self.rank)}))", type=computed(type), smaller=[e])
