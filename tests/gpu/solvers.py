#!/usr/bin/env python3
"""What steps with structure make on a CUDA device (docs/lab/solvers.md), against what their parts allow: a table a part.

  solvers.py [--parts=relax,cg,columns,levels,cfl,loops] [--runs=2] [--other=STC] [--cases=REGEX] STC

  relax    red-black relaxation in a `repeat`, with an `until`, and as a program of the same two stencils: us a round
  cg       conjugate gradients on 512^3, f64: us a round, beside copying of the words that it has to move
  columns  2^20 tridiagonal systems of 64 unknowns, f64, along the first and the last dimension, beside copying and, where CuPy is there,
           cuSPARSE's gtsv2StridedBatch and gtsvInterleavedBatch in the same run
  levels   V(2,2) on 512^3, f64, until 1e-9: cycles and ms; relaxation there beside star3d1r
  cfl      shallow water with a time step from the state, and with a fixed one
  loops    programs whose rounds the device may end by itself: ms; --other is an stc to compare with, in turns,
           --cases names some of them

All times are of runs with `--time`, the least of --runs of them in turns.
"""
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

from words import option

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELAX = """param N = %(N)d, n = %(n)d;
let q = f64(N) * f64(N);
grid G = [%(box)s], %(steps)s;
field u, b : f64 on G outside mirror half odd;
op laplace(X) = (%(sum)s - %(points)d * X) * q;
op relaxed(X) = X - (b - laplace(X)) / (%(points)d * q);
op even() = (%(index)s) %% 2 == 0;
init z(u, b)[G] { u = 0; b = if %(index)s == N / 2 then q else 0; }
%(open)s
  stencil red(u)[G] = if even() then relaxed(u) else u;
  stencil black(u)[G] = if even() then u else relaxed(u);
%(close)s
"""
CG = """param N = 512, n = 100;
grid G = [0 .. N-1, 0 .. N-1, 0 .. N-1], 1;
field b : f64 on G input;
field x, r, d : f64 on G outside 0;
field q : f64 on G temp;
op A(X) = 6 * X - X[-1,0,0] - X[1,0,0] - X[0,-1,0] - X[0,1,0] - X[0,0,-1] - X[0,0,1];
scalar rr : f64 = 0, old : f64 = 0, a : f64 = 0;
init start(x, r, d)[G] { x = 0; r = b; d = b; }
update rr = sum(r * r) over G;
repeat solve up to n {
  update old = rr;
  update a   = old / (sum(d * A(d)) over G);
  stencil apply(q)[G] = A(d);
  stencil move(x, r)[G] { x = x + a * d; r = r - a * q; }
  update rr  = sum(r * r) over G;
  stencil turn(d)[G] = r + (rr / old) * d;
}
"""
COLUMNS = """const K = 64;
param N = 1024;
grid G = [%(box)s], 20;
field A, B, C, D, X : f64 on G;
field c, d : f64 temp on G;
op some(n) = f64((idx(0) * 37 + idx(1) * 101 + idx(2) * 211 + n) %% 1009) * 0.001;
init given(A, B, C, D, X)[G] { A = some(1); B = some(2); C = some(3); D = some(4); X = 0; }
sweep out(c, d)[G] along %(along)d up {
  first { c = C / (4 + B); d = D / (4 + B); }
  next { let m = 1 / (4 + B - A * c[%(back)s]); c = C * m; d = (D - A * d[%(back)s]) * m; }
}
sweep home(X)[G] along %(along)d down { first = d; next = d - c * X[%(ahead)s]; }
"""
COPY = """param N = 512;
grid G = [0 .. N-1, 0 .. N-1, 0 .. N-1], 40;
field A, B : f64 on G;
init a(A)[G] = f64(idx(2)) * 0.001;
init b(B)[G] = 0.0;
stencil copy(B)[G] = A;
"""


class Bench:
    """Runs programs with `stc`, each in a file of its own."""

    def __init__(self, stc):
        self.stc, self.folder, self.runs = os.path.abspath(stc), tempfile.mkdtemp(), int(option("runs", "2"))
        self.copied = 0.0

    def once(self, text, arguments, stc=None):
        """What `--time` says of one run; None: it failed."""
        path = os.path.join(self.folder, "program.stn")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        run = subprocess.run([stc or self.stc, "run", "--device=" + option("device", "cuda"), "--quiet", "--no-tune-db", "--time"] + arguments + [path],
                             capture_output=True, text=True)
        line = next((x for x in run.stdout.splitlines() if x.startswith("{")), None)
        if run.returncode or not line:
            print("failed:", " ".join(arguments), (run.stderr or run.stdout)[-300:])
            return None
        return json.loads(line)

    def best(self, cases):
        """By name of `cases`, each a program and arguments, the fastest of the runs, made in turns."""
        best = {}
        for _ in range(self.runs):
            for name, case in cases.items():
                said = self.once(*case)
                if said and (name not in best or said["seconds"] < best[name]["seconds"]):
                    best[name] = said
        return best

    def bandwidth(self):
        """Bytes a second, read and written, by copying a field of 1 GiB."""
        if not self.copied:
            said = self.best({"copy": (COPY, ["-T=1"])})["copy"]
            self.copied = 16 * 512**3 * 40 / said["seconds"]
            print("copying: %.0f GB/s" % (self.copied / 1e9))
        return self.copied


def example(name):
    with open(os.path.join(ROOT, "examples", name), encoding="utf-8") as f:
        return f.read()


def relaxation(rank, n, rounds, form):
    """The program of red-black relaxation: in a repeat, in one with an until, or as the step itself."""
    around = ["X[%s]" % ",".join("%d" % (s if e == d else 0) for e in range(rank)) for d in range(rank) for s in (1, -1)]
    until = "  until max(abs(b - laplace(u))) over G < 1e-30 every 40;\n" if form == "until" else ""
    return RELAX % {"N": n, "n": rounds, "box": ", ".join(["0 .. N-1"] * rank), "steps": "n" if form == "program" else "1", "points": 2 * rank,
                    "sum": " + ".join(around), "index": " + ".join("idx(%d)" % d for d in range(rank)),
                    "open": "" if form == "program" else "repeat smooth up to n {", "close": "" if form == "program" else until + "}"}


def relax(b):
    print("| grid | as a program, us a round | in a repeat | share (bar 0.8) | with until | share |")
    for rank, n, rounds in ((2, 1024, 8000), (2, 4096, 800), (3, 512, 80)):
        forms = b.best({form: (relaxation(rank, n, rounds, form), []) for form in ("program", "repeat", "until")})
        us = {form: 1e6 * said["seconds"] / rounds for form, said in forms.items()}
        if len(us) == 3:
            print("| %d^%d | %.2f | %.2f | %.2f | %.2f | %.2f |" % (n, rank, us["program"], us["repeat"], us["program"] / us["repeat"], us["until"], us["program"] / us["until"]))


def cg(b):
    """As it is written, and with d * A(d) summed by pairs of neighbours, which a symmetric matrix allows: half of them are read."""
    pairs = CG.replace("d * A(d)", "d * (6 * d - 2 * (d[1,0,0] + d[0,1,0] + d[0,0,1]))")
    words = 1e6 * 9 * 8 * 512**3 / b.bandwidth()
    for name, text in (("as written", CG), ("by pairs", pairs)):
        said = b.best({n: (text, ["--in", "b=random:1", "-Dn=%d" % n]) for n in (20, 100)})
        us = 1e6 * (said[100]["seconds"] - said[20]["seconds"]) / 80
        print("cg 512^3 f64 %s: %.0f us a round; to copy 9 words %.0f us: %.2f (bar 0.85); of 4.8 TB/s %.2f" % (
            name, us, words, words / us, 9 * 8 * 512**3 / 4.8e6 / us))


def sparse():
    """cuSPARSE's batched tridiagonal solvers, by name in us for 2^20 systems of 64 unknowns in f64; empty: no CuPy."""
    try:
        import cupy
        import cupyx.scipy.sparse
        from cupy_backends.cuda.libs import cusparse
        handle = cusparse.create()
        path = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "libcusparse.so" in line)
    except (ImportError, StopIteration):
        return {}
    lib = ctypes.CDLL(path)
    many, length = 1 << 20, 64
    arrays = [cupy.random.random((many, length)) for _ in range(4)]
    arrays[1] += 4
    pointers = [ctypes.c_void_p(a.data.ptr) for a in arrays]
    out = {}
    for name, tail in (("gtsv2StridedBatch", (many, length)), ("gtsvInterleavedBatch", (many,))):
        head = (ctypes.c_void_p(handle),) + ((0,) if "Inter" in name else ()) + (length,) + tuple(pointers) + tail
        size = ctypes.c_size_t()
        if getattr(lib, "cusparseD%s_bufferSizeExt" % name)(*head, ctypes.byref(size)):
            continue
        buffer = cupy.empty(size.value + 128, dtype=cupy.uint8)
        call = lambda: getattr(lib, "cusparseD" + name)(*head, ctypes.c_void_p(buffer.data.ptr))
        times = []
        for _ in range(6):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            failed = call()
            end.record()
            end.synchronize()
            times.append(1e3 * cupy.cuda.get_elapsed_time(begin, end))
        if not failed:
            out[name] = min(times)
        del buffer
    return out


def columns(b):
    words = 1e6 * 5 * 8 * (1 << 26) / b.bandwidth()
    first = COLUMNS % {"box": "0 .. K-1, 0 .. N-1, 0 .. N-1", "along": 0, "back": "-1,0,0", "ahead": "1,0,0"}
    last = COLUMNS % {"box": "0 .. N-1, 0 .. N-1, 0 .. K-1", "along": 2, "back": "0,0,-1", "ahead": "0,0,1"}
    said = {name: 1e6 * s["seconds"] / 20 for name, s in b.best({"first dimension": (first, []), "last dimension": (last, [])}).items()}
    other = sparse()
    for name, us in list(said.items()) + list(other.items()):
        print("| %s | %.0f us | %.2f of copying 5 words (bar 0.8) | %s |" % (
            name, us, words / us, " ".join("%.2f times as fast as %s" % (o / us, k) for k, o in other.items()) if name in said else ""))


def levels(b):
    text = example("sciences/capacitor.stn").replace("D = 5, q[6] = {1, 4, 16, 64, 256, 1024}", "D = 7, q[8] = {1, 4, 16, 64, 256, 1024, 4096, 16384}")
    said = b.best({"capacitor": (text, ["-DN=512"]), "star3d1r": (example("../driver/bench/star3d1r.stn"), ["-freal=f64", "-DN=512", "-DM=512", "-DL=512", "--steps=120"]),
                   "round": (relaxation(3, 512, 80, "repeat"), [])})
    cycles = said["capacitor"]["reductions"].get("cycle.rounds")
    print("V(2,2) 512^3 f64 until 1e-9: %s cycles (bar 12), %.1f ms" % (cycles, 1e3 * said["capacitor"]["seconds"]))
    stencils, star = 2 * 80 * 512**3 / said["round"]["seconds"] / 1e9, said["star3d1r"]["gpts"]
    print("relaxation on 512^3: %.0f GPts/s of stencils; star3d1r %.0f: %.2f (bar 0.7)" % (stencils, star, stencils / star))


def cfl(b):
    text = re.sub(r"(reduce .*?|until .*?);\n", "", example("dam_break.stn"))
    fixed = re.sub(r"(scalar|update) .*?\n", "", text).replace("grid G", "let dt = 0.2;\ngrid G")
    size = ["-DN=2048", "-DM=2048", "--steps=400", "-Dend=1e9"]
    said = {name: 1e6 * s["seconds"] / 400 for name, s in b.best({"state": (text, size), "fixed": (fixed, size), "one step a launch": (fixed, size + ["-T=1"])}).items()}
    print("shallow water 2048^2, us a step: %.1f with its time step from the state, %.1f with a fixed one (%.1f with a step a launch)" % (
        said["state"], said["fixed"], said["one step a launch"]))


def loops(b):
    """Long runs and short ones: what loops of the device save, and what they cost."""
    other = option("other", "")
    page = open(os.path.join(ROOT, "docs", "howto", "solvers.md"), encoding="utf-8").read()
    parts = {m.group(1): m.group(0) for m in re.finditer(r"// (\w+\.stn)\n.*?(?=\n```)", page, flags=re.S)}
    cavity = example("sciences/lid_cavity.stn")
    cases = {"implicit %d^2, %d steps" % (n, steps): (parts["implicit.stn"], ["-DN=%d" % n, "--steps=%d" % steps])
             for n, steps in ((64, 10), (64, 30), (64, 100), (256, 10), (256, 100), (1024, 5), (1024, 30))}
    cases.update({"cavity %d^2, %d steps" % (n, steps): (cavity, ["-DN=%d" % n, "--steps=%d" % steps])
                  for n, steps in ((64, 30), (64, 100), (64, 1000), (128, 300), (256, 300), (1024, 20))})
    cases.update({"vcycle %d^2" % n: (parts["vcycle.stn"], ["-DN=%d" % n]) for n in (128, 1024)})
    cases.update({"relaxation %d^2, %d steps" % (n, steps): (relaxation(2, n, 2000, "until").replace("], 1;", "], %d;" % steps), [])
                  for n, steps in ((64, 2), (64, 10), (64, 100), (512, 2), (512, 10), (512, 60), (1024, 10))})
    cases = {name: case for name, case in cases.items() if re.search(option("cases", ""), name)}
    print("| program | ms%s |" % (" | ms by the other | share" if other else ""))
    for name, case in cases.items():
        both = {"this": case + (None,)}
        if other:
            both["other"] = case + (os.path.abspath(other),)
        said = b.best(both)
        if len(said) == len(both):
            ms = {k: 1e3 * s["seconds"] for k, s in said.items()}
            print("| %s, %d launches | %.2f |%s" % (name, said["this"]["launches"], ms["this"], " %.2f | %.2f |" % (ms["other"], ms["other"] / ms["this"]) if other else ""))
            sys.stdout.flush()


def main():
    if len(sys.argv) < 2 or sys.argv[-1].startswith("--"):
        print(__doc__)
        return 2
    b = Bench(sys.argv[-1])
    for part in option("parts", "relax,cg,columns,levels,cfl,loops").split(","):
        print("== " + part)
        {"relax": relax, "cg": cg, "columns": columns, "levels": levels, "cfl": cfl, "loops": loops}[part](b)
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
