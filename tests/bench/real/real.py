#!/usr/bin/env python3
"""Real problems on a CPU: stc beside what one would write instead, plain C loops with OpenMP (loops.c) and Numba (numba_peer.py). It needs NumPy.

  real.py [OPTIONS] STC

  --cases=A,B         of lbm, srad, cahn, euler, wetdry, heat, elastic, heart (default all)
  --peers=A,B         of c, numba, stc, t1: stc with -T=1, naive: stc with -schedule=naive (default all that are there)
  --threads=N         threads of all of them (default 1)
  --clock=user|wall   processor time or the clock on the wall (default: user with one thread, which other work on the machine disturbs less; else wall)
  --size=full|tiny    the grids as they are, about a million points, or some thousands, to see whether it works
  --repeat=N          runs of each, in turns, of which the best counts (default 3)
  --steps=N           steps of each run (default: what makes a run about half a second)
  --longer=X          X times as many steps, for many threads (default 1)
  --cc=CC             the C compiler (default gcc), which gets -O3 -march=native -fopenmp -fno-math-errno
  --json=FILE         write what was measured there, too
  --stc-options=TEXT  options for stc, e.g. -T=2

Prints a table in GPts/s, 1e9 points x steps a second: of the time that more steps take than few, so that what is done once counts for nothing.
Every peer starts from the same data, and its last fields after 20 steps are compared with those of the C loops, in f32; one that differs by more than 1e-3 of the
largest number fails the script. A peer that is not installed is left out, with a line that says so.
"""

import argparse
import ctypes
import importlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
F = np.float32
PEERS = {"c": "C loops", "numba": "Numba", "stc": "stc", "t1": "stc -T=1", "naive": "stc naive"}
OWN = {"stc": [], "t1": ["-T=1"], "naive": ["-schedule=naive"]}
TOLERANCE = 1e-3
# Fields of vectors, whose components lie apart in loops.c, together in the files that stc reads.
VECTORS = ("f", "U")
# Of D2Q9: which way each of the nine goes, and its weight.
CX, CY = [0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


def settled(rho, ux, uy):
    """What the nine are where nothing changes."""
    along = [3 * (CX[k] * ux + CY[k] * uy) for k in range(9)]
    return np.stack([WEIGHTS[k] * rho * (1 + a + 0.5 * a * a - 1.5 * (ux * ux + uy * uy)) for k, a in enumerate(along)])


class Case:
    """A program with its data: `given`, the fields and arrays that stc reads, by their names there, and the params."""

    def __init__(self, name, n, steps, given, params):
        self.name, self.n, self.steps, self.given, self.params = name, n, steps, given, params

    def program(self):
        return os.path.join(HERE, self.name + ".stn")


def make_lbm(n, r):
    y, x = np.mgrid[:n, :n]
    noise = lambda: 0.01 * r.standard_normal((n, n))
    u = 0.32 * np.arange(n) / (n - 1) * (1 - np.arange(n) / (n - 1))
    solid = ((y - n // 2) ** 2 + (x - 0.3 * n) ** 2 < (0.06 * n) ** 2).astype(np.uint8)
    return {"f": settled(1 + noise(), noise() + 0.05, noise()).astype(F), "solid": solid, "prof": settled(1, u, 0 * u).astype(F).reshape(-1)}


def make_srad(n, r):
    return {"J": np.exp(r.random((n, n)) * 0.8).astype(F)}


def make_cahn(n, r):
    return {"c": r.random((n, n)).astype(F)}


def make_euler(n, r):
    x = np.arange(n * n) / (n * n)
    rho, p, v = np.where(x < 0.5, 1, 0.125) + 0.01 * np.sin(40 * x), np.where(x < 0.5, 1, 0.1), 0.1 * np.cos(20 * x)
    return {"U": np.stack([rho, rho * v, p / 0.4 + 0.5 * rho * v * v]).astype(F), "t": np.zeros(1, F), "dtf": np.zeros(1, F)}


def make_wetdry(n, r):
    y, x = np.mgrid[-1 : n + 1, -1 : n + 1]
    z = 1.0 * x / n + 0.3 * np.exp(-((y - 0.5 * n) ** 2 + (x - 0.4 * n) ** 2) / (0.008 * n * n))
    h = np.maximum(0, 0.8 - z)
    q = 0.05 * r.standard_normal(z.shape) * (h > 0.01)
    return {"U.h": h.astype(F), "U.qx": q.astype(F), "U.qy": (0.5 * q).astype(F), "z": z.astype(F)}


def make_heat(n, r):
    y, x = np.mgrid[:n, :n]
    wet = np.ones((n, n), np.uint8)
    for _ in range(60):
        a, b, radius = r.integers(0, n), r.integers(0, n), r.integers(5, 40) * n / 1000
        wet[(y - a) ** 2 + (x - b) ** 2 < radius**2] = 0
    return {"A": r.random((n, n)).astype(F), "wet": wet}


def make_elastic(n, r):
    h, dt, frequency, steps, receivers = 10.0, 0.001, 25.0, 300, 100
    a = (np.pi * frequency * (np.arange(steps) * dt - 1.5 / frequency)) ** 2
    y, x = np.mgrid[:n, :n]
    vp = np.where(y * 2 < n + x // 4, 1500.0, 2500.0)
    m = 2000 * (vp / 1.8) ** 2
    where = np.array([int(i * (n - 1) / (receivers - 1)) for i in range(receivers)], np.int32)
    return {"source": ((1 - 2 * a) * np.exp(-a)).astype(F), "rx": where, "lam": ((2000 * vp * vp - 2 * m) * dt / h).astype(F), "mu": (m * dt / h).astype(F)}


def make_heart(n, r):
    y, x = np.mgrid[:n, :n]
    whole = (y - n / 2) ** 2 + (x - n / 2) ** 2 < (0.48 * n) ** 2
    tissue = whole & ((y - 0.3 * n) ** 2 + (x - 0.6 * n) ** 2 > (0.06 * n) ** 2) & (r.random((n, n)) < 0.98)
    v, late = (x < n // 10) * 0.8 + 0.1 * r.random((n, n)), (y < n // 2) * 0.6 + 0.1 * r.random((n, n))
    return {"v": v.astype(F), "r": late.astype(F), "tissue": tissue.astype(np.uint8), "phi": (3 * x / n + 0.2 * r.random((n, n))).astype(F)}


def cases(names, size):
    n = {"full": 1000, "tiny": 120}[size]
    square = {"N": n, "M": n}
    params = {
        "lbm": dict(square, S=9 * n),
        "euler": {"N": n * n},
        "heart": dict(square, dt=0.05),
        "wetdry": dict(square, lam=0.05),
        "elastic": dict(square, nr=100),
    }
    steps = {"lbm": 80, "srad": 400, "cahn": 500, "euler": 100, "wetdry": 80, "heat": 1500, "elastic": 150, "heart": 180}
    makers = {name: globals()["make_" + name] for name in steps}
    return [Case(k, n, steps[k], makers[k](n, np.random.default_rng(1)), params.get(k, square)) for k in steps if not names or k in names]


def padded(a, n, mode="constant"):
    return np.ascontiguousarray(np.pad(a, n, mode=mode))


def arguments_of(case):
    """What the case's functions in loops.c and numba_peer.py get: arrays, numbers of C alone before the number of steps, numbers behind it; and of the arrays those
    that are stc's fields in the end, after an even number of steps."""
    g, n = case.given, case.n
    if case.name == "lbm":
        f = g["f"].copy()
        return [f, f.copy(), g["solid"], g["prof"].reshape(9, n)], [n, n], [F(1.6)], {"f": f}
    if case.name == "srad":
        a = g["J"].copy()
        return [a, a.copy(), a.copy()], [n, n], [F(0.125)], {"J": a}
    if case.name == "cahn":
        a = g["c"].copy()
        return [a, a.copy(), a.copy()], [n, n], [F(0.02), F(2), F(5)], {"c": a}
    if case.name == "euler":
        u = np.ascontiguousarray(np.pad(g["U"], ((0, 0), (2, 2)), mode="edge"))
        return [u, u.copy()], [n * n], [F(0.4)], {"U": u[:, 2:-2]}
    if case.name == "wetdry":
        a = [g[k].copy() for k in ("U.h", "U.qx", "U.qy")]
        return a + [v.copy() for v in a] + [g["z"]], [n + 2, n + 2], [F(0.05)], {k: v[1:-1, 1:-1] for k, v in zip(("U.h", "U.qx", "U.qy"), a)}
    if case.name == "heat":
        a = g["A"].copy()
        return [a, a.copy(), g["wet"]], [n, n], [F(0.2)], {"A": a}
    if case.name == "heart":
        v, r, p = padded(g["v"], 1), padded(g["r"], 1), padded(g["phi"], 1, "edge")
        across = [(0.2 + 0.6 * np.cos(p) ** 2).astype(F), (0.2 + 0.6 * np.sin(p) ** 2).astype(F), (0.6 * np.sin(p) * np.cos(p)).astype(F)]
        return [v, r, v.copy(), r.copy(), padded(g["tissue"], 1)] + across, [n + 2, n + 2], [F(0.01)], {"v": v[1:-1, 1:-1], "r": r[1:-1, 1:-1]}
    a, b = [np.zeros((n + 4, n + 4), F) for _ in range(5)], np.full((n, n), 1e-3 / 10 / 2000, F)
    ground = [g["lam"], g["mu"], g["mu"].copy(), b, b.copy()]
    seen = np.zeros((case.steps + 40, g["rx"].size), F)
    return a + ground + [g["source"], g["rx"], seen], [g["source"].size, g["rx"].size, n, n], [F(10), 1], {"vz": a[0][2:-2, 2:-2], "szx": a[4][2:-2, 2:-2]}


def clock_of(options):
    """A function that says how much time has gone by."""
    if options.clock == "wall":
        return time.perf_counter
    return lambda: sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Runner:
    """Builds and runs the peers: run(case, peer, steps, out) is seconds, and the last fields are put into `out` where it is a dictionary."""

    def __init__(self, options, folder):
        self.o, self.folder, self.clock = options, folder, clock_of(options)
        self.library = self.numba = None

    def run(self, case, peer, steps, out=None):
        return self.stc(case, OWN[peer], steps, out) if peer in OWN else self.function(case, peer, steps, out)

    def function(self, case, peer, steps, out):
        """The function of the case in loops.c or numba_peer.py."""
        arrays, before, behind, fields = arguments_of(case)
        if peer == "numba":
            if not self.numba:
                self.numba = importlib.import_module("numba_peer")
            call, given = getattr(self.numba, case.name), arrays + [steps] + behind
        else:
            call, given = self.loops(case.name), [self.as_c(a) for a in arrays + before + [steps] + behind]
        start = self.clock()
        call(*given)
        took = self.clock() - start
        if out is not None:
            out.update(fields)
        return took

    def loops(self, name):
        """A function of loops.c, compiled at the first call."""
        if not self.library:
            path = os.path.join(self.folder, "loops.so")
            command = [self.o.cc, "-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-shared", "-fPIC", os.path.join(HERE, "loops.c"), "-o", path, "-lm"]
            subprocess.run(command, check=True)
            self.library = ctypes.CDLL(path)
        return getattr(self.library, name)

    @staticmethod
    def as_c(a):
        return ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_float(a) if isinstance(a, F) else ctypes.c_int(a)

    def stc(self, case, options, steps, out):
        """`stc run` on files with the case's data."""
        command = [self.o.stc, "run", "--quiet", "--device=host:%d" % self.o.threads, "--steps=%d" % steps, *options, *self.o.stc_options.split()]
        command += ["-D%s=%s" % p for p in case.params.items()]
        for name, a in case.given.items():
            path = os.path.join(self.folder, "%s-%s.npy" % (case.name, name))
            if not os.path.exists(path):
                np.save(path, np.ascontiguousarray(np.moveaxis(a, 0, -1)) if name in VECTORS else a)
            command += ["--in", "%s=%s" % (name, path)]
        files = {f: os.path.join(self.folder, "out-%s.npy" % f) for f in arguments_of(case)[3]} if out is not None else {}
        command += [a for f, path in files.items() for a in ("--out", "%s=%s" % (f, path))]
        start = self.clock()
        done = subprocess.run(command + [case.program()], capture_output=True, text=True)
        took = self.clock() - start
        if done.returncode:
            sys.exit("%s\nfailed with %d\n%s" % (" ".join(command), done.returncode, done.stderr[-4000:]))
        for f, path in files.items():
            a = np.load(path)
            out[f] = np.moveaxis(a, -1, 0) if f in VECTORS else a[1:-1, 1:-1] if case.name == "wetdry" else a
        return took


def differs(found, first):
    """How far fields are from the first peer's, of the largest number there."""
    return max(float(np.max(np.abs(found[k].astype(float) - first[k])) / (np.max(np.abs(first[k])) or 1)) for k in first)


def measure_case(runner, case, peers, missing):
    """The GPts/s of each peer, and how far its result is from the first one's."""
    few, many = 20, 20 + case.steps // 2 * 2
    best, apart, first = {p: [float("inf")] * 2 for p in peers}, {}, None
    for p in peers:
        if p in missing:
            continue
        try:
            fields = {}
            runner.run(case, p, few, fields)
            first = first or {k: v.copy() for k, v in fields.items()}
            apart[p] = differs(fields, first)
        except ImportError as why:
            missing[p] = str(why)
            print("left out: %s (%s)" % (PEERS[p], why), flush=True)
    for _ in range(runner.o.repeat):
        for p in apart:
            best[p] = [min(best[p][i], runner.run(case, p, steps)) for i, steps in enumerate((few, many))]
    return {p: {"gpts": case.n**2 * (many - few) / 1e9 / max(best[p][1] - best[p][0], 1e-9), "apart": apart[p]} for p in apart}


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return next(l.split(":", 1)[1].strip() for l in f if l.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def parse():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("stc", nargs="?")
    p.add_argument("--cases", default="")
    p.add_argument("--peers", default="")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--clock", choices=["user", "wall"])
    p.add_argument("--size", choices=["full", "tiny"], default="full")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--steps", type=int)
    p.add_argument("--longer", type=float, default=1)
    p.add_argument("--cc", default="gcc")
    p.add_argument("--json")
    p.add_argument("--stc-options", default="")
    o = p.parse_args()
    o.peers = o.peers.split(",") if o.peers else list(PEERS)
    o.clock = o.clock or ("user" if o.threads == 1 else "wall")
    found = cases(o.cases.split(",") if o.cases else [], o.size)
    if not found or not set(o.peers) <= set(PEERS) or (set(o.peers) & set(OWN) and not o.stc):
        sys.exit(p.format_usage())
    for case in found:
        case.steps = int((o.steps or case.steps) * o.longer)
    return o, found


def main():
    o, found = parse()
    os.environ.update(OMP_NUM_THREADS=str(o.threads), NUMBA_NUM_THREADS=str(o.threads))
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    rows, wrong, missing = [], [], {}
    print("%s, %d threads, %s time, %s" % (cpu_name(), o.threads, o.clock, time.strftime("%Y-%m-%d")))
    print("| problem | %s | stc / best other |\n%s" % (" | ".join(PEERS[p] for p in o.peers), "|---" * (len(o.peers) + 2) + "|"), flush=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        runner = Runner(o, folder)
        for case in found:
            got = measure_case(runner, case, o.peers, missing)
            others = max([got[p]["gpts"] for p in got if p not in OWN], default=0)
            ratio = got["stc"]["gpts"] / others if "stc" in got and others else None
            cells = ["%.3f" % got[p]["gpts"] if p in got else "" for p in o.peers]
            print("| %s | %s | %s |" % (case.name, " | ".join(cells), "%.2f" % ratio if ratio else ""), flush=True)
            wrong += ["%s of %s is %g from the first" % (p, case.name, f["apart"]) for p, f in got.items() if not f["apart"] <= TOLERANCE]
            rows.append({"case": case.name, "peers": got, "ratio": ratio})
            if o.json:
                with open(o.json, "w", encoding="utf-8") as f:
                    json.dump({"cpu": cpu_name(), "threads": o.threads, "clock": o.clock, "date": time.strftime("%Y-%m-%d"), "cases": rows}, f, indent=1)
                    f.write("\n")
    print("\n".join(wrong) if wrong else "all results agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
