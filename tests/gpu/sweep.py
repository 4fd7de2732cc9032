#!/usr/bin/env python3
"""sweep.py STC [--seconds=N] [--programs=A,B] [--types=f32,f64] [--sizes=S,S] [--start=FILE.json] [--out=FILE.json] [--all=FILE.json]
              [--list=FILE.json] [--jobs=N] [--mcpu=sm_90] [--jit]

What stc chooses against the best that a search finds, for each program, type and size, on the CUDA device.

A case begins with stc's own choice, the best schedules that FILE of --start (docs/data/schedules.json) knows of it, and a few of each family
at random; then what is one step of one knob (passes/plan/axes.def) away from the best so far is tried, until the time is over. Schedules are
compiled by processes beside the card, which takes them in turn. At the end the choice and the three best are timed again in four rounds, and
the median of those counts. --jit: the driver compiles for the card, and not ptxas beside it. --out keeps a row for each case, --all every
schedule that was timed. --list names the cases in place of --programs, --types and --sizes: rows of program, type and size, where wanted of
its file (path), params that are no extents (params, as -D has them) and schedules that are tried first (ask), which may leave knobs open;
those of its list "keep" are timed in the last rounds, too. Inputs have some numbers, other fields without an init are 0. Results are not compared with the reference: check.py does that.
"""
import collections
import ctypes
import json
import math
import operator
import os
import queue
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import fit
from words import option


TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAMS = ("star2d1r,star2d2r,star2d4r,box2d1r,box2d2r,gradient2d,fdtd2d,gray_scott,acoustic_wave,rician2d,vector_diffusion,poisson2d,"
            "star3d1r,star3d2r,box3d1r,star1d1r,star1d3r,j1d5pt")
SIZES = "512x512,1024x1024,2048x2048,128x128x128,256x256x256,1000000,512x512x512"
LARGE = ("512x512x512",)
PTXAS = "/usr/local/cuda/bin/ptxas" if os.path.exists("/usr/local/cuda/bin/ptxas") else "ptxas"
CPU = option("mcpu", "sm_90")
JIT = "--jit" in sys.argv
KNOBS = ("T", "block", "elems", "chunk", "ahead")
SAID = ("fuse", *KNOBS, "tiles")
RANDOM, KNOWN, FINALISTS, ROUNDS = 3, 3, 3, 4
PATIENCE = 60  # seconds of ptxas for a schedule; others are given up
# What inputs have: a letter of struct, and the value number i. Integers stay the same for a while, as depths and kinds of rock do.
FILLS = {"f32": ("f", lambda rng, i: rng.uniform(0.25, 0.75)), "f64": ("d", lambda rng, i: rng.uniform(0.25, 0.75)),
         "i32": ("i", lambda rng, i: i // 100 % 64), "bool": ("B", lambda rng, i: i % 1000 > 100)}
INTEGERS = {"i64": ctypes.c_int64, "i32": ctypes.c_int32, "i16": ctypes.c_int16, "i8": ctypes.c_int8, "u8": ctypes.c_uint8,
            "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "bool": ctypes.c_uint8, "f32": ctypes.c_float, "f64": ctypes.c_double}



# ---- what there is


def axes():
    """{(family, rank): {knob: its values}}, for targets with threads; tiles in lanes are a family of their own here."""
    with open(os.path.join(TOP, "passes", "plan", "axes.def"), encoding="utf-8") as f:
        rows = re.findall(r"^AXES\((\w+), (\d), true, (.*?\))\)$", f.read(), re.M | re.S)
    table = {}
    for family, rank, axes in rows:
        said = {knob.lower(): values for knob, values in re.findall(r'AXIS\((\w+), "(.*?)"\)', axes)}
        kind = said.get("tiles", "").replace("|", "-")
        table[family.lower() + kind, int(rank)] = {k: said.get(k.lower(), "").replace("|", " ").split() for k in KNOBS}
    return table


def source(program):
    """The file of a program of the bench, and its text."""
    for folder in ("driver/bench", "examples"):
        path = os.path.join(TOP, folder, program + ".stn")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                return path, f.read()
    sys.exit("sweep.py: there is no program %s" % program)


class Case:
    """A program of a type on a grid: the schedules that were asked for, and what those made that were timed, in GPts/s."""

    def __init__(self, program, kind, size, known, path=None, params=(), keep=()):
        self.key, self.size = (program, kind, size), [int(n) for n in size.split("x")]
        self.path, self.params, self.keep, self.kept = path or source(program)[0], params, keep, []
        self.listed = path is not None
        self.asked, self.waiting, self.made, self.code = set(), 0, collections.defaultdict(list), {}
        self.default, self.tried = None, set()
        self.known = known

    def best(self, count=1):
        """The fastest schedules so far."""
        return sorted(self.made, key=lambda s: -statistics.median(self.made[s]))[:count]


def words(schedule):
    """A schedule as options in words: its family and knobs."""
    family = re.search(r"(?:-schedule=)?(\w+)", schedule.replace("-schedule=", ""))[1]
    found = {k: v for k, v in re.findall(r"(\w+)=(\S+)", schedule) if k in SAID}
    return family, {k: v for k, v in found.items() if k != "T" or "fuse" not in found}


def options(family, knobs):
    """The options that ask for it."""
    return " ".join(["-schedule=" + family] + ["-%s=%s" % (k, knobs[k]) for k in SAID if k in knobs])


def number(word):
    """What a knob's values are sorted by."""
    return [int(n) for n in word.split("x")]


def neighbours(table, schedule, rank):
    """The schedules that are one step of one knob away."""
    family, knobs = words(schedule)
    lanes = "-lanes" if knobs.get("tiles") == "lanes" else ""
    for knob, values in table.get((family + lanes, rank), {}).items():
        if knob not in knobs or not values or "fuse" in knobs:
            continue
        own = math.prod(number(knobs[knob]))
        near = sorted((v for v in values if v != knobs[knob]), key=lambda v: abs(math.log(math.prod(number(v)) / own)))
        for v in near[:4 if knob in ("block", "elems") else 2]:
            yield options(family, {**knobs, knob: v})


def at_random(table, rank, rng):
    """Some schedules of each family that tiles."""
    for family in ("overlap", "stream"):
        values = table.get((family, rank))
        for _ in range(RANDOM if values else 0):
            yield options(family, {k: rng.choice(v) for k, v in values.items() if v})
    yield options("naive", {"block": table["naive", rank]["block"][0]})


# ---- compiling


def architecture(path):
    """What a file of PTX is for, as ptxas has it: sm_90a."""
    with open(path, encoding="utf-8") as f:
        return re.search(r"^\.target (\w+)", f.read(4096), re.M)[1]


def compile_one(stc, folder, case, schedule):
    """The machine code and the manifest of a schedule; None if it is not legal."""
    base = tempfile.mktemp(dir=folder)
    done = subprocess.run([stc, "-march=nvptx", "-mcpu=" + CPU, "--no-tune-db", "-freal=" + case.key[1], "-for-grid=" + case.key[2],
                           *case.params, *schedule.split(), "-o", base + ".ptx", case.path], capture_output=True, check=False)
    if done.returncode:
        return None
    try:
        words = [PTXAS, "-arch=" + architecture(base + ".ptx"), "-o", base + ".cubin", base + ".ptx"] if not JIT else ["true"]
        if subprocess.run(words, capture_output=True, check=False, timeout=PATIENCE).returncode:
            return None
    except subprocess.TimeoutExpired:
        return None
    with open(base + (".ptx" if JIT else ".cubin"), "rb") as code, open(base + ".json", encoding="utf-8") as manifest:
        both = code.read() + b"\0", json.load(manifest)
    for end in (".ptx", ".json", ".cubin")[:2 if JIT else 3]:
        os.unlink(base + end)
    return both


# ---- the card


class Cuda:
    """The driver."""

    def __init__(self):
        try:
            self.lib, self.pool, self.texts = ctypes.CDLL("libcuda.so.1"), {}, {}
        except OSError as error:
            sys.exit("sweep.py: there is no driver of NVIDIA's here: %s" % error)
        pointer = ctypes.c_void_p
        self.lib.cuLaunchKernel.argtypes = [pointer] + [ctypes.c_uint] * 7 + [pointer] * 3
        self.lib.cuMemAlloc_v2.argtypes = [pointer, ctypes.c_size_t]
        self.lib.cuMemsetD8Async.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, pointer]
        self("cuInit", 0)
        self.device, self.context = ctypes.c_int(), pointer()
        self("cuDeviceGet", ctypes.byref(self.device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self("cuCtxSetCurrent", self.context)
        self.streams = [self.made("cuStreamCreate", flags) for flags in (0, 1)]
        self.times = [self.made("cuEventCreate", 0) for _ in range(2)]
        self.marks = [self.made("cuEventCreate", 2) for _ in range(2)]

    def __call__(self, name, *arguments):
        """Calls the driver; raises its error, at the very first call ends the script: there is no card then."""
        error = getattr(self.lib, name)(*arguments)
        if error and name == "cuInit":
            sys.exit("sweep.py: there is no card that the driver can use: cuInit gives error %d" % error)
        if error:
            raise RuntimeError("%s: error %d" % (name, error))

    def made(self, name, *arguments):
        """The handle that a function gives out."""
        handle = ctypes.c_void_p()
        self(name, ctypes.byref(handle), *arguments)
        return handle

    def numbers(self, kind, size):
        """At least so many bytes of the numbers that inputs have: they repeat, from row to row elsewhere."""
        own, rng = self.texts.get(kind, b""), random.Random(2)
        if len(own) < size:
            some = struct.pack("<8191" + FILLS[kind][0], *[FILLS[kind][1](rng, i) for i in range(8191)])
            own = self.texts[kind] = some * (size // len(some) + 1)
        return own

    def name(self):
        """The device's name."""
        text = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", text, 256, self.device)
        return text.value.decode()

    def memory(self, count):
        """Memory of so many bytes, and how many it has."""
        count = (count >> 20) + 1 << 20
        for size in sorted(self.pool):
            if count <= size <= 2 * count and self.pool[size]:
                return size, self.pool[size].pop()
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), count)
        return count, address.value


def affine(form, scalars):
    """The value of a bound."""
    return form["constant"] + sum(t["coefficient"] * scalars[t["param"]] for t in form["terms"])


def quotient(a, b):
    """a / b, of integers without what remains; 0 where b is 0."""
    if isinstance(a, int) and isinstance(b, int):
        return b and (abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b)))
    return a / b if b else 0.0


VALUES = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": quotient, "rem": lambda a, b: a - b * int(quotient(a, b)), "neg": operator.neg,
          "abs": abs, "min": min, "max": max, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
          "ge": operator.ge, "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": operator.not_, "select": lambda c, a, b: a if c else b,
          "convert": lambda a: a, "pow": operator.pow, "rsqrt": lambda a: a ** -0.5, **{n: getattr(math, n) for n in
          ("sqrt", "cbrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "erf", "floor", "ceil",
           "copysign") if hasattr(math, n)}}


def evaluated(ops, scalars):
    """The value of an expression of a param, in Python's numbers."""
    made = []
    for op in ops:
        name, a = op["op"], [made[k] for k in op.get("arguments", [])]
        if name not in VALUES and name not in ("const", "scalar"):
            sys.exit("sweep.py: a param is computed by '%s', which this script does not know: add it to VALUES" % name)
        value = float(op["value"]) if name == "const" else scalars[op["scalar"]] if name == "scalar" else VALUES[name](*a)
        made.append(int(value) if op["type"][0] in "iub" else float(value))
    return made[-1]


class Code:
    """Kernels on the card, with buffers of their own."""

    def __init__(self, cuda, size, code, manifest):
        self.cuda, self.m, self.kernels = cuda, manifest, {k["name"]: k for k in manifest["kernels"]}
        self.module, self.functions, self.held, self.at = cuda.made("cuModuleLoadDataEx", code, 0, None, None), {}, [], {}
        extents = []
        for bound in manifest["grid"]["upper"]:
            extents += [t["param"] for t in bound["terms"] if t["param"] not in extents]
        self.scalars, given = {}, dict(zip(extents, size))
        for s in manifest["scalars"]:
            own = evaluated(s["expression"], self.scalars) if s.get("expression") else s.get("default") or 0
            self.scalars[s["name"]] = given.get(s["name"], own)
        for buffer in manifest["buffers"]:
            self.add_buffer(buffer)

    def add_buffer(self, buffer):
        """Makes a buffer, which is 0 at first, where launches are fastest: `lead` bytes behind a multiple of 256."""
        if buffer["kind"] != "field":
            size = eval(buffer["bytes"].replace("/", "//"), {"max": max, **self.scalars})
        else:
            field = next(f for f in self.m["fields"] if f["name"] == buffer["field"])
            size = math.prod(max(1, affine(x, self.scalars)) for x in field["extents"]) * buffer["element_bytes"]
        held = self.cuda.memory(size + 4096)
        self.held.append(held)
        self.at[buffer["name"]] = held[1] + buffer.get("lead", 0)
        self.cuda("cuMemsetD8Async", held[1], 0, held[0], None)
        if buffer["kind"] == "field" and field.get("input") and field["type"] in FILLS:
            text = self.cuda.numbers(field["type"], size)
            self.cuda("cuMemcpyHtoD_v2", ctypes.c_uint64(self.at[buffer["name"]]), text, ctypes.c_size_t(size))

    def close(self):
        """Gives back what it holds."""
        for size, address in self.held:
            self.cuda.pool.setdefault(size, []).append(address)
        self.cuda("cuModuleUnload", self.module)

    def function(self, kernel):
        """The kernel's handle."""
        name = kernel["name"]
        if name not in self.functions:
            self.functions[name] = self.cuda.made("cuModuleGetFunction", self.module, name.encode())
            if kernel.get("dynamic_shared_bytes", 0) > 49152:
                self.cuda("cuFuncSetAttribute", self.functions[name], 8, kernel["dynamic_shared_bytes"])
        return self.functions[name]

    def blocks(self, kernel):
        """The grid of blocks of a kernel: x, y, z."""
        number_of, hole = {"x": 1, "y": 1, "z": 1}, 1
        for d in kernel["grid"]:
            extent = affine(d["extent"], self.scalars)
            extent = max(extent - d["over"], min(extent, 1)) if "over" in d else extent
            number_of[d["axis"]] = -(-max(extent, 0) // d["tile"])
            hole *= -(-max(affine(d["without"], self.scalars), 0) // d["tile"]) if "without" in d else 1
        if any("without" in d for d in kernel["grid"]):
            rest = math.prod(number_of.values()) - hole
            number_of = {"x": 1, "y": 1, "z": 1, kernel["grid"][-1]["axis"]: rest}
        return number_of["x"], number_of["y"], number_of["z"]

    def launch(self, name, stream, step):
        """Starts a kernel, or the one that stands in for it at this size."""
        kernel = self.kernels[name]
        if any(affine(x["value"], self.scalars) % x["of"] for x in kernel["multiples"]):
            self.launch(kernel["instead"], stream, step)
            return
        blocks, values = self.blocks(kernel), []
        if min(blocks) <= 0:
            return
        for a in kernel["arguments"]:
            values.append(ctypes.c_uint64(self.at[a["buffer"]]) if a["kind"] == "buffer" else
                          INTEGERS[a["type"]](self.scalars[a["scalar"]]) if a["kind"] == "scalar" else ctypes.c_int64(step))
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        threads = [kernel["block"][d] for d in "xyz"]
        self.cuda("cuLaunchKernel", self.function(kernel), *blocks, *threads, kernel.get("dynamic_shared_bytes", 0), stream, pointers, None)

    def run(self, ops, step, first):
        """Runs ops of the host part on stream `first`, kernels beside others on a stream of their own."""
        other = self.cuda.streams[1]
        for i, op in enumerate(ops):
            if "swap" in op:
                a, b = op["swap"]
                self.at[a], self.at[b] = self.at[b], self.at[a]
            elif "launch" in op and not op.get("beside"):
                beside = []
                for x in ops[i + 1:]:
                    if not x.get("beside"):
                        break
                    beside.append(x)
                if beside:
                    self.cuda("cuEventRecord", self.cuda.marks[0], first)
                    self.cuda("cuStreamWaitEvent", other, self.cuda.marks[0], 0)
                self.launch(op["launch"], first, step)
                for x in beside:
                    self.launch(x["launch"], other, step)
                if beside:
                    self.cuda("cuEventRecord", self.cuda.marks[1], other)
                    self.cuda("cuStreamWaitEvent", first, self.cuda.marks[1], 0)

    def start(self):
        """Gives all fields their first values."""
        self.run(self.m["host"]["init"]["operations"], 0, None)

    def sample(self, graph, count):
        """Seconds that the graph takes, of so many in a row, from the first values on."""
        begin, end = self.cuda.times
        self.start()
        self.cuda("cuEventRecord", begin, None)
        for _ in range(count):
            self.cuda("cuGraphLaunch", graph, None)
        self.cuda("cuEventRecord", end, None)
        self.cuda("cuEventSynchronize", end)
        took = ctypes.c_float()
        self.cuda("cuEventElapsedTime", ctypes.byref(took), begin, end)
        return took.value * 1e-3 / count

    def gpts(self, points):
        """GPts/s of the longest sequence of steps, in a graph of many."""
        sequence, first, repeats = self.m["host"]["sequences"][0], self.cuda.streams[0], 6
        while repeats * max(4e-6, points * sequence["steps"] * 2e-12) < 4e-4 and repeats < 96:
            repeats *= 2
        self.start()
        self.cuda("cuStreamBeginCapture_v2", first, 2)
        for r in range(repeats):
            self.run(sequence["operations"], r * sequence["steps"], first)
        captured = self.cuda.made_last("cuStreamEndCapture", first)
        graph = self.cuda.made("cuGraphInstantiateWithFlags", captured, ctypes.c_ulonglong(0))
        once = min(self.sample(graph, 1), self.sample(graph, 1))
        took = statistics.median(self.sample(graph, max(1, min(200, int(7e-4 / once)))) for _ in range(5))
        self.cuda("cuGraphExecDestroy", graph)
        self.cuda("cuGraphDestroy", captured)
        return points * sequence["steps"] * repeats / took * 1e-9


def made_last(cuda, name, *arguments):
    """The handle that a function gives out as its last argument."""
    handle = ctypes.c_void_p()
    cuda(name, *arguments, ctypes.byref(handle))
    return handle


Cuda.made_last = made_last


def timed(cuda, case, schedule):
    """Times a schedule of a case once more."""
    code = Code(cuda, case.size, *case.code[schedule])
    case.made[schedule].append(code.gpts(math.prod(case.size)))
    code.close()


# ---- the search


class Search:
    """The schedules that wait for a process to compile them, those of the cases with fewest first."""

    def __init__(self, stc, cases, table):
        self.stc, self.cases, self.table = stc, cases, table
        self.wanted, self.compiled, self.over = queue.PriorityQueue(), queue.Queue(), threading.Event()
        self.count, self.rng = 0, random.Random(1)

    def ask(self, case, schedule):
        """Wants a schedule, once."""
        if schedule in case.asked:
            return
        case.asked.add(schedule)
        case.waiting += 1
        self.count += 1
        self.wanted.put((len(case.asked), self.count, case, schedule))

    def begin(self):
        """Wants what each case begins with."""
        for case in self.cases:
            self.ask(case, "")
            for schedule in [*case.keep, *case.known, *([] if case.listed else at_random(self.table, len(case.size), self.rng))]:
                self.ask(case, schedule)

    def work(self, folder):
        """What a thread does: it compiles."""
        while not self.over.is_set():
            try:
                case, schedule = self.wanted.get(timeout=0.2)[2:]
            except queue.Empty:
                continue
            self.compiled.put((case, schedule, compile_one(self.stc, folder, case, schedule)))

    def take(self, cuda, case, schedule, both):
        """Times what was compiled, and wants what is near the best once nothing of the case is under way."""
        case.waiting -= 1
        if both:
            own = options(*words(both[1]["schedule"]))
            case.default = own if not schedule else case.default
            case.asked.add(own)
            if own not in case.code:
                case.code[own] = both
                timed(cuda, case, own)
            case.kept += [own] if schedule in case.keep else []
        if not case.waiting and (case.known or not case.listed):
            for best in case.best(2):
                if best not in case.tried:
                    case.tried.add(best)
                    for near in neighbours(self.table, best, len(case.size)):
                        self.ask(case, near)
                    if case.waiting:
                        break


def finals(cuda, cases, end):
    """Times the choice and the best of each case anew, one after the other, in as many rounds as end by then; in one at least."""
    finalists = [(c, s) for c in cases if c.default for s in dict.fromkeys([c.default, *c.best(FINALISTS), *c.kept])]
    for c, s in finalists:
        c.made[s] = []
    for r in range(ROUNDS):
        random.Random(r).shuffle(finalists)
        for c, s in finalists:
            if r == 0 or time.monotonic() < end:
                timed(cuda, c, s)
    for c in cases:
        last = {s for k, s in finalists if k is c}
        c.final = {s: statistics.median(c.made[s]) for s in last}


def rows_of(cases):
    """A row for each case: the choice, the best, and how many were tried."""
    for c in cases:
        if c.default:
            best = max(c.final, key=c.final.get)
            yield {**dict(zip(("program", "type", "size"), c.key)), "choice": c.default, "gpts": round(c.final[c.default], 1), "best": best,
                   "best_gpts": round(c.final[best], 1), "tried": len(c.made), "final": {s: round(g, 2) for s, g in c.final.items()}}


def report(rows):
    """Prints each case, and the geometric means."""
    for r in sorted(rows, key=lambda r: r["gpts"] / r["best_gpts"]):
        print("%.3f %s %s %s: %s %.4g | %s %.4g (of %d)" % (r["gpts"] / r["best_gpts"], r["program"], r["type"], r["size"], r["choice"],
                                                           r["gpts"], r["best"], r["best_gpts"], r["tried"]))
    for name, group in (("small", [r for r in rows if r["size"] not in LARGE]), ("512^3", [r for r in rows if r["size"] in LARGE])):
        if group:
            mean = math.exp(statistics.mean(math.log(r["gpts"] / r["best_gpts"]) for r in group))
            print("%s: the choice is %.3f of the best by geometric mean of %d cases" % (name, mean, len(group)))


def known_rows(path):
    """{case: its best schedules} of a file with rows."""
    if not path:
        return {}
    rows = fit.rows_of(path)
    found = collections.defaultdict(dict)
    for r in rows:
        if r.get("gpts"):
            found[r["program"], r["type"], r["size"]][options(*words(r["schedule"]))] = r["gpts"]
    return {k: sorted(v, key=lambda s: -v[s])[:KNOWN] for k, v in found.items()}


def listed_cases(path):
    """The cases of a file of --list."""
    with open(path, encoding="utf-8") as f:
        for r in json.load(f):
            yield Case(r["program"], r["type"], r["size"], r.get("ask", []), r.get("path"), r.get("params", []), r.get("keep", []))


def all_cases(known):
    """The cases that the options ask for."""
    for program in option("programs", PROGRAMS).split(","):
        text = source(program)[1]
        rank = re.split(r"^grid", text, flags=re.M)[1].split("]")[0].count(",") + 1
        for kind in option("types", "f32,f64").split(","):
            for size in option("sizes", SIZES).split(","):
                if size.count("x") == rank - 1 and (kind == "f32" or re.search(r"\breal\b", text)):
                    yield Case(program, kind, size, known.get((program, kind, size), []))


def keep(cuda, name, rows):
    """Writes rows to the file that an option names, if it does."""
    if option(name, ""):
        with open(option(name, ""), "w", encoding="utf-8") as f:
            json.dump({"device": cuda.name(), "date": time.strftime("%Y-%m-%d"), "rows": rows}, f)


def main():
    begin, seconds = time.monotonic(), float(option("seconds", "600"))
    stc = next((a for a in sys.argv[1:] if not a.startswith("--")), None) or sys.exit(__doc__)
    listed = option("list", "")
    cases = list(listed_cases(listed) if listed else all_cases(known_rows(option("start", ""))))
    cuda, search = Cuda(), Search(os.path.abspath(stc), cases, axes())
    search.begin()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        threads = [threading.Thread(target=search.work, args=(folder,), daemon=True) for _ in range(int(option("jobs", str(os.cpu_count() - 1))))]
        for t in threads:
            t.start()
        last, took = sum(FINALISTS + 1 + len(c.keep) for c in cases) * ROUNDS, []
        while any(c.waiting for c in cases):
            if time.monotonic() - begin > seconds * 0.98 - min(seconds / 3, last * statistics.mean(took or [0.02])):
                break
            try:
                compiled = search.compiled.get(timeout=1)
            except queue.Empty:
                continue
            start = time.monotonic()
            try:
                search.take(cuda, *compiled)
            except RuntimeError as error:
                print("%s %s: %s" % (" ".join(compiled[0].key), compiled[1], error), flush=True)
                break
            took += [time.monotonic() - start] if compiled[2] else []
        search.over.set()
        for t in threads:
            t.join()
    everything = [{**dict(zip(("program", "type", "size"), c.key)), "schedule": s, "gpts": round(statistics.median(v), 2)} for c in cases
                  for s, v in c.made.items() if v]
    keep(cuda, "all", everything)
    finals(cuda, cases, begin + seconds - 1)
    rows = list(rows_of(cases))
    keep(cuda, "out", rows)
    report(rows)
    print("%d schedules of %d cases in %.0f s" % (len(everything), len(cases), time.monotonic() - begin))


if __name__ == "__main__":
    main()
