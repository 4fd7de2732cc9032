#!/usr/bin/env python3
"""One of the cases of peers.py in Halide, in tiles of several time steps that are written as a schedule by hand.

  halide_peer.py CASE TYPE STEPS REPEAT T LINES COLUMNS WAY OUT N M [L]

A pipeline makes T steps: each tile gives out LINES (rank 3: and as many planes) by COLUMNS points (0: whole rows). WAY says where the levels before the last are
kept: `tile`, a whole tile of each, or `slide`, the lines (planes) that the next level still reads. Prints the least seconds of REPEAT runs of STEPS steps from the
same start, and writes the fields' raw values to OUT ("-": nowhere).
"""
import sys
import time

import halide as hl
import numpy as np

from cases import C, RADIUS, STARS, start


def weighted(table, real):
    """The step of a sum of weighted neighbours."""
    def next_level(levels, at):
        terms = [hl.f32(w) * levels[0][shift(at, off)] if real == "f32" else hl.f64(w) * levels[0][shift(at, off)] for *off, w in table]
        total = terms[0]
        for t in terms[1:]:
            total += t
        return total
    return next_level


def shift(at, off):
    """The point `off` (slowest dimension first) away; Halide has the fastest first."""
    return tuple(v + o if o else v for v, o in zip(at, reversed(list(off))))


def gray_scott(real):
    number = hl.f32 if real == "f32" else hl.f64
    ring = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def next_level(levels, at):
        f = levels[0]
        u, v = f[at][0], f[at][1]
        lap = [sum((f[shift(at, o)][k] for o in ring[1:]), f[shift(at, ring[0])][k]) - number(4) * f[at][k] for k in (0, 1)]
        uvv = u * v * v
        return (u + number(.16) * lap[0] - uvv + number(.037) * (number(1) - u), v + number(.08) * lap[1] + uvv - number(.097) * v)
    return next_level


def acoustic(real, k):
    number = hl.f32 if real == "f32" else hl.f64

    def next_level(levels, at):
        p, q = levels
        lap = number(3 * C[0]) * p[at]
        for r in range(1, 5):
            lap += number(C[r]) * sum((p[shift(at, o)] for o in [(r, 0, 0), (0, -r, 0), (0, r, 0), (0, 0, -r), (0, 0, r)]), p[shift(at, (-r, 0, 0))])
        return number(2) * p[at] - q[at] + k[at] * lap
    return next_level


class Pipeline:
    """`levels` steps of a case as one Halide pipeline."""

    def __init__(self, case, real, levels, lines, columns, way, shape):
        self.case, self.levels = case, levels
        self.rank, self.kind = len(shape), hl.Float(32 if real == "f32" else 64)
        self.extent = list(reversed(shape))
        self.inputs = [hl.ImageParam(self.kind, self.rank) for _ in range({"gray_scott": 2, "acoustic3d": 3}.get(case, 1))]
        self.at = [hl.Var(n) for n in "xyz"[:self.rank]]
        radius, at = RADIUS.get(case, 1), tuple(self.at)
        edge = [hl.BoundaryConditions.repeat_edge(i, [(0, e) for e in self.extent]) for i in self.inputs]
        inner = None
        for v, e in zip(self.at, self.extent):
            here = (v >= radius) & (v < e - radius)
            inner = here if inner is None else inner & here
        rule = weighted(STARS[case], real) if case in STARS else gray_scott(real) if case == "gray_scott" else acoustic(real, edge[2])
        first = hl.Func("start")
        if case == "gray_scott":
            first[at] = (edge[0][at], edge[1][at])
            chain = [first]
        else:
            chain = [edge[0]] if case != "acoustic3d" else [edge[1], edge[0]]
        base = len(chain)
        for t in range(levels):
            f, old = hl.Func("level%d" % t), chain[-1]
            new = rule([old] + ([chain[-2]] if case == "acoustic3d" else []), at)
            if case == "gray_scott":
                f[at] = tuple(hl.select(hl.likely(inner), n, old[at][i]) for i, n in enumerate(new))
            else:
                f[at] = hl.select(hl.likely(inner), new, old[at])
            chain.append(f)
        self.chain = chain[base:]
        self.out = self.chain[-1]
        if case == "acoustic3d":
            self.out = hl.Func("both")
            self.out[at] = (self.chain[-1][at], (self.chain[-2] if levels > 1 else edge[0])[at])
        self.schedule(lines, columns, way)

    def schedule(self, lines, columns, way):
        lanes = 64 // (self.kind.bits() // 8)
        slow = self.at[-1]
        outer, inner = [hl.Var(v.name() + "o") for v in self.at], [hl.Var(v.name() + "i") for v in self.at]
        sizes = [columns] + [lines] * (self.rank - 1)
        cut = [d for d in range(self.rank) if sizes[d]]
        for d in cut:
            self.out.split(self.at[d], outer[d], inner[d], sizes[d], hl.TailStrategy.ShiftInwards)
        self.out.reorder(*[inner[d] if d in cut else self.at[d] for d in range(self.rank)], *[outer[d] for d in cut])
        last = outer[cut[0]]
        whole = outer[cut[0]]
        for d in cut[1:]:
            fused = hl.Var("f%d" % d)
            self.out.fuse(whole, outer[d], fused)
            whole = last = fused
        self.out.parallel(last)
        self.out.vectorize(inner[0] if 0 in cut else self.at[0], lanes)
        row = inner[self.rank - 1] if self.rank - 1 in cut else slow
        for f in self.chain[:-1]:
            if way == "slide":
                f.store_at(self.out, last).compute_at(self.out, row)
            else:
                f.compute_at(self.out, last)
            f.vectorize(self.at[0], lanes)
        if self.case == "acoustic3d":
            self.chain[-1].compute_at(self.out, inner[1] if 1 in cut else self.at[1]).vectorize(self.at[0], lanes)

    def compile(self):
        self.out.compile_jit(hl.get_host_target())

    def step(self, fields, to):
        for param, f in zip(self.inputs, fields):
            param.set(hl.Buffer(f))
        made = [hl.Buffer(t) for t in to]
        self.out.realize(made if len(made) > 1 else made[0])


def main():
    case, real, steps, repeat, levels, lines, columns, way, out = sys.argv[1:10]
    steps, repeat, levels, shape = int(steps), int(repeat), int(levels), [int(n) for n in sys.argv[10:]]
    pipeline = Pipeline(case, real, levels, int(lines), int(columns), way, shape)
    pipeline.compile()
    if steps % levels:
        sys.exit("halide_peer.py: %d steps are no multiple of T=%d" % (steps, levels))
    best = None
    for _ in range(repeat):
        fields = start(case, np.float32 if real == "f32" else np.float64, shape)
        moving = 2 if case in ("gray_scott", "acoustic3d") else 1
        to = [f.copy() for f in fields[:moving]]
        begin = time.perf_counter()
        for _ in range(steps // levels):
            pipeline.step(fields, to)
            fields, to = to + fields[moving:], fields[:moving]
        seconds = time.perf_counter() - begin
        best = seconds if best is None else min(best, seconds)
    print("%.9f" % best)
    if out != "-":
        with open(out, "wb") as f:
            for a in fields[:2 if case == "gray_scott" else 1]:
                f.write(a.tobytes())


if __name__ == "__main__":
    main()
