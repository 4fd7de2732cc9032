#!/usr/bin/env python3
"""One of the cases of peers.py by the C that Devito makes of it, with OpenMP and its own blocking of the space dimensions ("advanced" optimisation).

  devito_peer.py CASE TYPE STEPS REPEAT OUT N M [L]

The rim, which keeps its values, is Devito's halo. Prints the least seconds of REPEAT runs of STEPS steps from the same start, and writes the fields' raw values
to OUT ("-": nowhere).
"""
import os
import sys
import time

os.environ.setdefault("DEVITO_LANGUAGE", "openmp")
os.environ.setdefault("DEVITO_ARCH", "gcc")
os.environ.setdefault("DEVITO_LOGGING", "ERROR")

import numpy as np
from devito import Eq, Function, Grid, Operator, TimeFunction

from cases import STARS, C, start


def neighbour(f, off):
    """Field `f` at the point `off` away, at the present time level."""
    dims = f.grid.dimensions
    return f.subs({d: d + o * d.spacing for d, o in zip(dims, off) if o})


def cross(f, r):
    """The sum of all points of `f` on the axes at distance `r`."""
    rank = len(f.grid.dimensions)
    return sum(neighbour(f, [s if e == d else 0 for e in range(rank)]) for d in range(rank) for s in (-r, r))


def equations(case, fields):
    if case in STARS:
        a, = fields
        return [Eq(a.forward, sum(w * neighbour(a, off) for *off, w in STARS[case]))]
    if case == "gray_scott":
        u, v = fields
        uvv = u * v * v
        return [Eq(u.forward, u + .16 * (cross(u, 1) - 4 * u) - uvv + .037 * (1 - u)), Eq(v.forward, v + .08 * (cross(v, 1) - 4 * v) + uvv - .097 * v)]
    p, k = fields
    return [Eq(p.forward, 2 * p - p.backward + k * (3 * C[0] * p + sum(C[r] * cross(p, r) for r in range(1, 5))))]


def main():
    case, real, steps, repeat, out = sys.argv[1:6]
    shape, steps, kind = [int(n) for n in sys.argv[6:]], int(steps), np.float32 if real == "f32" else np.float64
    radius = 4 if case in ("star2d4r", "acoustic3d") else 1
    grid = Grid(shape=[n - 2 * radius for n in shape], dtype=kind)
    names = {"gray_scott": "uv", "acoustic3d": "p"}.get(case, "a")
    fields = [TimeFunction(name=n, grid=grid, space_order=(2 * radius, radius, radius), time_order=2 if case == "acoustic3d" else 1) for n in names]
    if case == "acoustic3d":
        fields.append(Function(name="k", grid=grid, space_order=(2 * radius, radius, radius)))
    op = Operator(equations(case, fields), opt=("advanced", {"openmp": True}))
    values, best = start(case, kind, shape), None
    for _ in range(int(repeat)):
        for f, v in zip(fields, values[:1] + values[-1:] if case == "acoustic3d" else values):
            f.data_with_halo[:] = v
        op.apply(time_m=0, time_M=0) if best is None else None
        for f, v in zip(fields, values[:1] + values[-1:] if case == "acoustic3d" else values):
            f.data_with_halo[:] = v
        first = 1 if case == "acoustic3d" else 0
        begin = time.perf_counter()
        op.apply(time_m=first, time_M=first + steps - 1)
        seconds = time.perf_counter() - begin
        best = seconds if best is None else min(best, seconds)
    print("%.9f" % best)
    if out != "-":
        with open(out, "wb") as f:
            for a in fields[:len(names)]:
                f.write(np.ascontiguousarray(a.data_with_halo[(first + steps) % a.data_with_halo.shape[0]]).tobytes())


if __name__ == "__main__":
    main()
