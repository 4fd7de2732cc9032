#!/usr/bin/env python3
"""stc's host target beside what else computes stencils on a CPU: C loops with OpenMP (loops.c), the same in tiles of several time steps, Halide with time tiles by
hand (halide_peer.py), and the C that Devito makes (devito_peer.py).

  peers.py [OPTIONS] STC

  --cases=A,B         cases by name or name-type (default all eight)
  --peers=A,B         of c, tiles, halide, devito, stc, t1: stc with -T=1 (default all that are there)
  --threads=N         threads of all of them (default: the cores that this process may use)
  --size=full|half|tiny   the grids as they stand below, half as long in each dimension, or some dozens of points
  --repeat=N          runs of each, of which the best counts (default 3)
  --python=PATH       the Python that has halide and devito (pip install halide devito)
  --cc=CC             the C compiler (default gcc)
  --json=FILE         write what was measured there, too
  --stc-options=TEXT  options for stc, e.g. -T=2

Prints a table in GPts/s: 1e9 points x steps a second, the time steps alone. Every peer starts from the same data, and its last fields are compared with those of
the C loops; one that differs by more than the tolerance (1e-4 in f32, 1e-10 in f64, of numbers up to about 1) fails the script. A peer that is not installed is
left out, with a line that says so. Of several settings of a peer the best counts. Without time tiles stc must not be slower than the C loops: where it is by more
than a tenth a line says so.
"""
import argparse
import array
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "..", "..", "driver", "bench")
TOLERANCE = {"f32": 1e-4, "f64": 1e-10}
# All that is compared, in the order of the table's columns, and what of it is stc.
PEERS = {"c": "C loops", "tiles": "C tiles", "halide": "Halide", "devito": "Devito", "stc": "stc", "t1": "stc T=1"}
OWN = ("stc", "t1")
# Points that two results are compared at, at most.
COMPARED = 1000000


class Case:
    """A stencil, a type, a grid, a number of steps; settings of tiles in C (T, lines, columns) and in Halide (the same and how levels are kept)."""

    def __init__(self, name, real, shape, steps, tiles, halide):
        self.name, self.real, self.shape, self.steps, self.tiles, self.halide = name, real, shape, steps, tiles, halide

    def __str__(self):
        return "%s-%s" % (self.name, self.real)

    def program(self):
        return os.path.join(HERE if self.name in ("gray_scott", "acoustic3d") else BENCH, self.name + ".stn")

    def fields(self):
        return {"gray_scott": ["U", "V"], "acoustic3d": ["p"]}.get(self.name, ["A"])

    def scaled(self, size):
        """The case on a smaller grid."""
        tiny = {2: (96, 112), 3: (40, 36, 48)}[len(self.shape)]
        shape = {"full": self.shape, "half": tuple(n // 2 for n in self.shape), "tiny": tiny}[size]
        return Case(self.name, self.real, shape, 8 if size == "tiny" else self.steps, self.tiles, self.halide)

    def gpts(self, seconds):
        n = self.steps / 1e9
        for e in self.shape:
            n *= e
        return n / seconds


CASES = [
    Case("star2d1r", "f32", (8192, 8192), 48, [(8, 128, 1024), (16, 256, 1024)], [(8, 128, 1024, "tile"), (8, 256, 1024, "slide"), (16, 512, 1024, "slide")]),
    Case("star2d1r", "f64", (6144, 6144), 48, [(8, 128, 512), (16, 256, 512)], [(8, 128, 512, "tile"), (8, 256, 512, "slide"), (16, 512, 512, "slide")]),
    Case("box2d1r", "f32", (8192, 8192), 48, [(8, 128, 1024), (16, 256, 1024)], [(8, 128, 1024, "tile"), (8, 256, 1024, "slide"), (16, 512, 1024, "slide")]),
    Case("star2d4r", "f32", (8192, 8192), 24, [(4, 128, 1024), (8, 256, 1024)], [(4, 128, 1024, "tile"), (4, 256, 1024, "slide"), (8, 512, 1024, "slide")]),
    Case("star3d1r", "f32", (400, 400, 400), 24, [(4, 40, 0), (2, 32, 0)], [(4, 40, 0, "tile"), (2, 40, 0, "slide"), (4, 50, 0, "slide")]),
    Case("star3d1r", "f64", (320, 320, 320), 24, [(4, 32, 0), (2, 32, 0)], [(4, 32, 0, "tile"), (2, 32, 0, "slide"), (4, 40, 0, "slide")]),
    Case("gray_scott", "f32", (6144, 6144), 48, [(8, 128, 512), (4, 128, 1024)], [(4, 128, 512, "tile"), (4, 256, 1024, "slide"), (8, 256, 512, "slide")]),
    Case("acoustic3d", "f32", (400, 400, 400), 12, [(1, 40, 0), (2, 40, 0)], [(1, 8, 0, "tile"), (1, 40, 0, "tile"), (2, 40, 0, "slide")]),
]


class Missing(Exception):
    """A peer is not there: why."""


class Runner:
    """Builds and runs the peers."""

    def __init__(self, options, folder):
        self.o, self.folder = options, folder
        self.env = dict(os.environ, OMP_NUM_THREADS=str(options.threads), HL_NUM_THREADS=str(options.threads))

    def run(self, command):
        """What the command printed."""
        done = subprocess.run(command, capture_output=True, text=True, env=self.env)
        if done.returncode:
            sys.exit("%s\nfailed with %d\n%s" % (" ".join(command), done.returncode, done.stderr[-4000:]))
        return done.stdout

    def loops(self, case, setting, out):
        """Seconds of loops.c."""
        exe = os.path.join(self.folder, "loops-%s" % case)
        if not os.path.exists(exe):
            real = {"f32": "float", "f64": "double"}[case.real]
            self.run([self.o.cc, "-O3", "-march=native", "-fopenmp", "-D" + case.name, "-DREAL=" + real, os.path.join(HERE, "loops.c"), "-o", exe])
        return float(self.run([exe, str(case.steps), "1", *map(str, setting), out, *map(str, case.shape)]))

    def python(self, module):
        """The Python that has the module."""
        found = subprocess.run([self.o.python, "-c", "import numpy, " + module], capture_output=True, text=True)
        if found.returncode:
            raise Missing("%s is not installed for %s (pip install %s)" % (module, self.o.python, module))
        return self.o.python

    def halide(self, case, setting, out):
        command = [self.python("halide"), os.path.join(HERE, "halide_peer.py"), case.name, case.real, str(case.steps), str(self.o.repeat), *map(str, setting), out]
        return float(self.run(command + [str(n) for n in case.shape]))

    def devito(self, case, setting, out):
        command = [self.python("devito"), os.path.join(HERE, "devito_peer.py"), case.name, case.real, str(case.steps), str(self.o.repeat), out]
        return float(self.run(command + [str(n) for n in case.shape]))

    def t1(self, case, setting, out):
        return self.stc(case, setting, out, "-T=1")

    def stc(self, case, setting, out, *more):
        """Seconds of `stc run`; its fields' values one behind the other in `out`."""
        command = [self.o.stc, "run", "--quiet", "--time", "--device=host:%d" % self.o.threads, "--steps=%d" % case.steps, "-freal=" + case.real]
        command += ["-D%s=%d" % d for d in zip("NML", case.shape)] + self.o.stc_options.split() + list(more)
        files = ["%s-%s.npy" % (out, f) for f in case.fields()] if out != "-" else []
        command += [a for f, name in zip(case.fields(), files) for a in ("--out", "%s=%s" % (f, name))]
        line = [l for l in self.run(command + [case.program()]).splitlines() if l.startswith("{")][-1]
        with open(out if files else os.devnull, "wb") as to:
            for name in files:
                with open(name, "rb") as f:
                    f.seek(8)
                    f.seek(10 + int.from_bytes(f.read(2), "little"))
                    while block := f.read(1 << 24):
                        to.write(block)
                os.remove(name)
        return case.gpts(1) / json.loads(line)["gpts"]


def settings_of(case, peer):
    """The settings of the peer: loops without tiles are tiles of no levels."""
    return {"c": [(0, 0, 0)], "tiles": case.tiles, "halide": case.halide}.get(peer, [()])


def sample(path, real):
    """Every so many-th number of a file, so that about COMPARED are left."""
    kind = {"f32": "f", "f64": "d"}[real]
    size = array.array(kind).itemsize
    n = os.path.getsize(path) // size
    stride = max(n // COMPARED, 1) | 1
    values = array.array(kind)
    with open(path, "rb") as f:
        values.fromfile(f, n)
    return n, values[::stride]


def difference(a, b):
    """The largest distance of two samples; infinite where one has no number or not as many."""
    if a[0] != b[0]:
        return float("inf")
    return max((abs(x - y) if x == x and y == y else float("inf")) for x, y in zip(a[1], b[1]))


def measure_case(runner, case, peers, missing):
    """The best GPts/s of each peer with its setting and how far its result is from the first one's."""
    o, found, first = runner.o, {}, None
    runs = {"c": runner.loops, "tiles": runner.loops, "halide": runner.halide, "devito": runner.devito, "stc": runner.stc, "t1": runner.t1}
    for turn in range(o.repeat):
        for peer in peers:
            if peer in missing or (turn and peer in ("halide", "devito")):
                continue
            for setting in settings_of(case, peer):
                out = os.path.join(runner.folder, "result") if turn == 0 else "-"
                try:
                    speed = case.gpts(runs[peer](case, setting, out))
                except Missing as why:
                    missing[peer] = str(why)
                    print("left out: %s" % why, flush=True)
                    break
                apart = 0.0
                if turn == 0:
                    values = sample(out, case.real)
                    first = first or values
                    apart = difference(first, values)
                    os.remove(out)
                old = found.get(peer, {"gpts": 0, "apart": 0})
                new = {"gpts": speed, "setting": list(setting)} if speed > old["gpts"] else dict(old)
                new["apart"] = max(apart, old["apart"])
                found[peer] = new
    return found


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return next(l.split(":", 1)[1].strip() for l in f if l.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def row_of(case, found):
    """The case's line of the table, and stc over the best of the others."""
    cells = ["%.2f" % found[p]["gpts"] if p in found else "" for p in PEERS]
    others = max([found[p]["gpts"] for p in found if p not in OWN], default=0)
    ratio = found["stc"]["gpts"] / others if "stc" in found and others else None
    return "| %s | %s | %s | %s | %s |" % (case.name, case.real, "x".join(map(str, case.shape)), " | ".join(cells), "%.2f" % ratio if ratio else ""), ratio


def parse():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("stc", nargs="?")
    p.add_argument("--cases", default="")
    p.add_argument("--peers", default="")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--size", choices=["full", "half", "tiny"], default="full")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--cc", default="gcc")
    p.add_argument("--json")
    p.add_argument("--stc-options", default="")
    o = p.parse_args()
    o.peers = o.peers.split(",") if o.peers else list(PEERS)
    cases = [c for c in CASES if not o.cases or c.name in o.cases.split(",") or str(c) in o.cases.split(",")]
    if not cases or not set(o.peers) <= set(PEERS) or (set(o.peers) & set(OWN) and not o.stc):
        sys.exit(p.format_usage())
    return o, [c.scaled(o.size) for c in cases]


def save(o, missing, cases):
    """Writes what was measured so far to --json's file."""
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump({"cpu": cpu_name(), "threads": o.threads, "date": time.strftime("%Y-%m-%d"), "left_out": missing, "cases": cases}, f, indent=1)
            f.write("\n")


def main():
    o, cases = parse()
    missing, wrong, all_found = {}, [], []
    print("%s, %d threads, %s" % (cpu_name(), o.threads, time.strftime("%Y-%m-%d")))
    print("| program | type | points | %s | stc / best |\n%s" % (" | ".join(PEERS.values()), "|---" * (len(PEERS) + 4) + "|"), flush=True)
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        runner = Runner(o, folder)
        for case in cases:
            found = measure_case(runner, case, o.peers, missing)
            line, ratio = row_of(case, found)
            print(line, flush=True)
            wrong += ["%s of %s is %g from the first" % (p, case, f["apart"]) for p, f in found.items() if not f["apart"] <= TOLERANCE[case.real]]
            if "t1" in found and "c" in found and found["t1"]["gpts"] < 0.9 * found["c"]["gpts"]:
                print("%s: stc without time tiles has %.2f of the C loops" % (case, found["t1"]["gpts"] / found["c"]["gpts"]), flush=True)
            all_found.append({"case": str(case), "shape": case.shape, "steps": case.steps, "peers": found, "ratio": ratio})
            save(o, missing, all_found)
    print("\n".join(wrong) if wrong else "all results agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
