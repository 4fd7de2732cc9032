"""tests/gpu/cavity.py STC [N ...]: the lid-driven cavity at Re = 1000 (examples/sciences/lid_cavity.stn, without the evaluation of its
rounds) to its steady state on grids each twice as fine as the one before, begun with that one's flow between its points. A grid is left
when no velocity changes by more than --change of the lid's in the time in which the lid moves by its length. Prints how far the flow is from
Ghia's tables I and II at their points, as a part of the lid's speed, from those of O. Botella, R. Peyret (Computers & Fluids 27, 1998, by a
spectral method) at theirs, and its extremes beside both's. Ends with 1 if on the finest grid u is off by more than --most of the lid's speed
from either, or v from theirs: Ghia's own v is 1.9 % off that. Needs NumPy."""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

# U. Ghia, K. Ghia, C. Shin, J. Comp. Phys. 48, 1982, Re = 1000: u along the vertical line through the centre, v along the horizontal one.
U = [(0.0547, -0.18109), (0.0625, -0.20196), (0.0703, -0.22220), (0.1016, -0.29730), (0.1719, -0.38289), (0.2813, -0.27805),
     (0.4531, -0.10648), (0.5, -0.06080), (0.6172, 0.05702), (0.7344, 0.18719), (0.8516, 0.33304), (0.9531, 0.46604), (0.9609, 0.51117),
     (0.9688, 0.57492), (0.9766, 0.65928)]
V = [(0.0625, 0.27485), (0.0703, 0.29012), (0.0781, 0.30353), (0.0938, 0.32627), (0.1563, 0.37095), (0.2266, 0.33075), (0.2344, 0.32235),
     (0.5, 0.02526), (0.8047, -0.31966), (0.8594, -0.42665), (0.9063, -0.51550), (0.9453, -0.39188), (0.9531, -0.33714),
     (0.9609, -0.27669), (0.9688, -0.21388)]
# O. Botella, R. Peyret, tables 9 and 10: their lid moves the other way.
EXACT_U = [(0.0547, -0.1812881), (0.0625, -0.2023300), (0.0703, -0.2228955), (0.1016, -0.3004561), (0.1719, -0.3885691),
           (0.2813, -0.2803696), (0.4531, -0.1081999), (0.5, -0.0620561), (0.6172, 0.0570178), (0.7344, 0.1886747), (0.8516, 0.3372212),
           (0.9531, 0.4723329), (0.9609, 0.5169277), (0.9688, 0.5808359), (0.9766, 0.6644227)]
EXACT_V = [(0.0625, 0.2807056), (0.0703, 0.2962703), (0.0781, 0.3099097), (0.0938, 0.3330442), (0.1563, 0.3769189), (0.2266, 0.3339924),
           (0.2344, 0.3253592), (0.5, 0.0257995), (0.8047, -0.3202137), (0.8594, -0.4264545), (0.9063, -0.5264392), (0.9453, -0.4103754),
           (0.9531, -0.3553213), (0.9609, -0.2936869), (0.9688, -0.2279225)]


def between(a, axis, faces, ends=(0.0, 0.0), even=False):
    """The values of `a` along `axis` on a grid twice as fine: of faces, which include both ends, or of cells, whose values beyond the ends
    are their images (`even`), or such that `ends` are the values at the two."""
    a = np.moveaxis(a, axis, 0)
    if faces:
        out = np.empty((2 * a.shape[0] - 1,) + a.shape[1:])
        out[::2] = a
        out[1::2] = 0.5 * (a[1:] + a[:-1])
    else:
        first, last = (a[:1], a[-1:]) if even else (2 * ends[0] - a[:1], 2 * ends[1] - a[-1:])
        e = np.concatenate([first, a, last])
        out = np.empty((2 * a.shape[0],) + a.shape[1:])
        out[::2] = 0.75 * e[1:-1] + 0.25 * e[:-2]
        out[1::2] = 0.75 * e[1:-1] + 0.25 * e[2:]
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


def refined(u, v, p):
    """The flow on a grid twice as fine. None goes through walls."""
    u = between(between(u, 0, False, (0.0, 1.0)), 1, True)
    v = between(between(v, 0, True), 1, False)
    u[:, 0] = u[:, -1] = 0
    v[0] = v[-1] = 0
    return [u, v, between(between(p, 0, False, even=True), 1, False, even=True)]


def line(values, at, low, high, x):
    """The value at x of a line of values at points `at`, with those of the two ends."""
    return np.interp(x, np.concatenate([[0], at, [1]]), np.concatenate([[low], values, [high]]))


def compare(u, v):
    """Prints how far the flow is from the tables, and they from each other; the most that it may not be far from any."""
    n = u.shape[0]
    centre = (np.arange(n) + 0.5) / n
    found = {"N": n}
    for name, table, exact, values, end in (("u", U, EXACT_U, u[:, n // 2], 1), ("v", V, EXACT_V, v[n // 2, :], 0)):
        for whose, t in (("Ghia", table), ("Botella", exact)):
            away = [abs(line(values, centre, 0, end, x) - w) for x, w in t]
            found["%s from %s's" % (name, whose)] = {"most": round(max(away), 5), "at": t[int(np.argmax(away))][0],
                                                     "mean": round(float(np.mean(away)), 5)}
        found["Ghia's %s from Botella's" % name] = round(max(abs(a[1] - b[1]) for a, b in zip(table, exact)), 5)
    found["least u, most v, least v"] = [round(float(x), 5) for x in (u[:, n // 2].min(), v[n // 2].max(), v[n // 2].min())]
    found["Ghia"] = [-0.38289, 0.37095, -0.5155]
    found["Botella and Peyret"] = [-0.38857, 0.37694, -0.52708]
    print(json.dumps(found), flush=True)
    return max(found[name]["most"] for name in ("u from Ghia's", "u from Botella's", "v from Botella's"))


def arguments():
    """What the command line says."""
    p = argparse.ArgumentParser()
    p.add_argument("stc")
    p.add_argument("grids", nargs="*", type=int, default=[128, 256, 512, 1024])
    p.add_argument("--device", default="cuda")
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--rounds", type=int, default=20, help="of relaxation in a step")
    p.add_argument("--over", type=float, default=1.7)
    p.add_argument("--change", type=float, default=1e-4)
    p.add_argument("--chunk", type=float, default=5.0, help="units of time between two looks at the flow")
    p.add_argument("--Re", type=float, default=1000)
    p.add_argument("--most", type=float, default=0.01)
    return p.parse_intermixed_args()


def run(o, program, n, dt, steps, flow):
    """The flow after so many steps; `flow` is the one before, None: at rest."""
    args = [o.stc, "run", "--device=" + o.device, "-freal=f64", "--quiet", "-DN=%d" % n, "-DRe=%g" % o.Re, "-Ddt=%.9g" % dt,
            "-Dover=%g" % o.over, "-Dsweeps=%d" % o.rounds, "--steps=%d" % steps]
    for name, a in zip("uvp", flow or []):
        np.save(name + ".npy", a)
        args += ["--in", name + "=" + name + ".npy"]
    for name in "uvp":
        args += ["--out", name + "=" + name + ".out.npy"]
    subprocess.run(args + [program], check=True, stdout=subprocess.DEVNULL)
    new = [np.load(name + ".out.npy") for name in "uvp"]
    new[2] -= new[2].mean()
    if not np.isfinite(new[0]).all():
        sys.exit("N = %d: the flow is not finite; take more --rounds" % n)
    return new


def steady(o, program, n, flow, end):
    """The steady flow on n x n cells, or the one at time `end`, and how far it is from the tables."""
    dt, change, done, began = min(1.6 / o.Re, 0.9 * o.Re / (4.0 * n * n)), math.inf, 0.0, time.time()
    while change > o.change and time.time() < end:
        steps = max(1, round(o.chunk * (1 if flow else 5) / dt))
        new = run(o, program, n, dt, steps, flow)
        if flow:
            change = max(float(abs(a - b).max()) for a, b in zip(new[:2], flow[:2])) / (steps * dt)
        lost = float(abs((new[0][:, 1:] - new[0][:, :-1] + new[1][1:] - new[1][:-1]) * n).max())
        flow, done = new, done + steps * dt
        print("N = %d, t = %.2f, %d steps of %.3g: change %.3g, divergence %.3g, %.1f s" %
              (n, done, steps, dt, change, lost, time.time() - began), flush=True)
    return flow, compare(*flow[:2])


def main():
    o, flow = arguments(), None
    end = time.time() + o.seconds
    source = pathlib.Path(__file__).resolve().parents[2] / "examples/sciences/lid_cavity.stn"
    kept = [x for x in source.read_text().splitlines() if not re.match(r" *(reduce|until) ", x)]
    with tempfile.TemporaryDirectory() as folder:
        o.stc = os.path.abspath(o.stc)
        os.chdir(folder)
        pathlib.Path("cavity.stn").write_text("\n".join(kept) + "\n")
        for n in o.grids:
            flow, away = steady(o, "cavity.stn", n, flow and refined(*flow), end)
    return int(away > o.most)


sys.exit(main())
