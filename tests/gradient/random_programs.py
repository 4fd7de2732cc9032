#!/usr/bin/env python3
"""Gradients of random programs: those of the backward program on a device against those of the reference's tape, and these against
differences of the value. `random_programs.py STC [--device=host] [--programs=N] [--seed=S] [--taylor] [--memory] [--artifact] [--long] [--print=SEED]`; a program that fails
is printed with the command that repeats it."""
import argparse, math, os, random, re, struct, subprocess, sys, tempfile

SMOOTH = ["sin({a})", "cos({a})", "exp(-{a} * {a})", "tanh({a})", "sqrt(1 + {a} * {a})", "log(2 + {a} * {a})", "{a} / (2 + {b} * {b})", "atan({a})",
          "rsqrt(1 + {a} * {a})", "pow(1 + {a} * {a}, 0.5 + 0.1 * {b})", "atan2({a}, 2 + {b} * {b})", "fma({a}, {b}, {c})", "cbrt(2 + {a} * {a})", "erf({a})",
          "cosh(sin({a}))", "sinh(sin({a}))", "asin(0.5 * sin({a}))", "acos(0.5 * sin({a}))", "tan(0.5 * sin({a}))", "log2(2 + {a} * {a})",
          "log10(2 + {a} * {a})", "{a} * {b}", "{a} + {b}", "{a} - {b}", "-{a}", "({a} + {b}) * {c}", "0.5 * {a}", "{p} * {a}", "{a} / {p}"]
KINKED = ["min({a}, {b})", "max({a}, {b})", "abs({a})", "(if {a} > {b} then {b} else {c})", "(if idx(0) % 2 == 0 then {a} else {b})", "copysign({a}, {b})",
          "(if {a} > 0 then sqrt({a}) else 0)", "floor({a}) * {b}", "ceil({a}) * {b}"]
WITHOUT = []            # why artifacts have no gradient
LONG = False            # of so many steps that GPUs make most of them in batches
RULES = ["clamp", "mirror", "mirror half", "periodic", "0", "0.5", "mirror odd", "mirror half odd", "mirror odd about q"]


class Maker:
    """A program of seed `seed`; `smooth`: it has derivatives everywhere."""

    def __init__(self, seed, smooth):
        self.r, self.rare = random.Random(seed), random.Random(seed * 2 + 1)     # rare: stencils every so many steps, fields at the start of a step
        self.more = random.Random(seed * 3 + 2)         # repeats, and scalars that are updated
        self.part = random.Random(seed * 5 + 3) if seed % 2 else None      # the gradient has a part in scalars that are updated
        self.many = random.Random(seed * 11 + 5)
        self.members = 3 if self.many.random() < 0.25 else 0
        self.between, self.losses = None, False             # what is reduced between steps, which losses do not read
        self.smooth, self.starting, self.inits, self.masks = smooth, False, [], []
        self.scalars, self.rounds = [], False
        self.rank = self.r.choice([1, 1, 2, 2, 2, 3])
        self.sizes = {1: [29], 2: [11, 13], 3: [6, 7, 8]}[self.rank]
        self.fields, self.text, self.steps = [], [], self.r.randint(0, 5)
        self.narrow, self.forms = [], None              # names of fields and arrays of f32, which are read as f64; what expressions are made of in place of both lists
        self.steps = random.Random(seed * 7 + 4).randint(20, 40) if LONG else self.steps

    def pick(self, *of):
        return self.r.choice(of)

    def rule(self):
        if self.r.random() < 0.3:                       # a rule for each dimension, or side
            sides = []
            for _ in range(self.rank):
                a, b = self.pick("clamp", "mirror", "mirror half", "0", "mirror odd"), self.pick("clamp", "mirror", "mirror half", "0.25")
                sides.append(self.pick(a, a + " .. " + b, "periodic"))
            return "[" + ", ".join(sides) + "]"
        return self.r.choice(RULES)

    def offset(self, most):
        return "[" + ", ".join(str(self.r.randint(-most, most)) for _ in range(self.rank)) + "]"

    def access(self):
        can = [f for f in self.fields if f["ready"] and not (self.starting and f["mask"])]
        if not can:
            return "q"
        f = self.r.choice(can)
        level = "@%d" % self.r.randint(1, f["history"]) if f["history"] and not self.starting and self.r.random() < 0.4 else ""
        level = "" if self.rounds else level
        if not (level or self.starting or f["temp"] or f["input"]) and self.rare.random() < 0.05:
            level = "@0"
        inner = f["rule"] is None
        most = min(self.reach, 1) if inner else 2
        off = self.offset(most) if self.r.random() < 0.7 and (most or not inner) else ""
        part = "[%d]" % self.r.randint(0, 1) if f["vector"] else ""
        if part and not off:
            off = "[" + ", ".join("0" for _ in range(self.rank)) + "]"
        return self.wide(f["name"]) % (f["name"] + level + off + part)

    def wide(self, name):
        """What a value of that field is as f64, with %s for it."""
        return "f64(%s)" if name in self.narrow else "%s"

    def kept(self, name, value):
        """The value as that field keeps it."""
        return "f32(%s)" % value if name in self.narrow else value

    def widened(self, text):
        """An expression that reads u and v as they are, with all in f64."""
        return re.sub(r"\b[uv]\b", lambda m: self.wide(m[0]) % m[0], text)

    def set_to(self, f, depth, other):
        """A value for the field, a vector of two if it has these."""
        one = lambda d: self.kept(f["name"], self.value(d))
        return "{%s, %s}" % (one(other[0]), one(other[1])) if f["vector"] else one(depth())

    def expr(self, depth):
        if depth == 0:
            if self.between and not self.losses and self.part.random() < 0.15:
                return self.between
            if self.scalars and not self.starting and self.more.random() < 0.15:
                return self.more.choice(self.scalars)
            if self.rounds and self.more.random() < 0.2:
                return "(0.2 * f64(round))"
            if self.members and self.many.random() < 0.15:
                return "km[member]"
            k = self.r.random()
            return self.access() if k < 0.7 else self.pick("p", "q", "w", "0.7", "(0.1 * f64(idx(%d)))" % self.r.randrange(self.rank), "src[1]" if self.starting else "(0.05 * f64(step))")
        forms = self.forms or SMOOTH if self.forms or self.smooth or self.r.random() < 0.75 else KINKED
        return "(" + self.r.choice(forms).format(a=self.expr(depth - 1), b=self.expr(self.r.randint(0, depth - 1)), c=self.expr(0), p=self.pick("p", "(1.5 + q)")) + ")"

    def region(self):
        """A region, and how far accesses may reach in it without leaving the grid."""
        kind = self.r.random()
        if kind < 0.4:
            self.reach = 0
            return "G"
        lo = [self.r.randint(0, 2) for _ in range(self.rank)]
        hi = [self.r.randint(0, 2) for _ in range(self.rank)]
        self.reach = min(lo + hi)
        return "[" + ", ".join("%d .. N%d-%d" % (l, d, h + 1) for d, (l, h) in enumerate(zip(lo, hi))) + "]"

    def value(self, depth):
        return "0.6 * tanh(%s) + 0.2 * %s" % (self.expr(depth), self.expr(0))

    def stencil(self, n):
        targets = [f for f in self.fields if not f["input"]]
        chosen = self.r.sample(targets, self.r.randint(1, min(2, len(targets))))
        temps = [f for f in targets if f["temp"] and not f["ready"]]
        if temps and self.r.random() < 0.7:
            chosen = [temps[0]]
        if any(f["temp"] for f in chosen) or self.r.random() < 0.75:
            region = self.region()
            if any(f["temp"] for f in chosen):
                region, self.reach = "G", 0
            pieces = [region]
        else:                                           # pieces by the first dimension
            self.reach = 0
            rest = "".join(", 0 .. N%d-1" % d for d in range(1, self.rank))
            pieces = ["[0%s]" % rest, "[1 .. N0-2%s]" % rest] + (["[N0-1%s]" % rest] if self.r.random() < 0.5 else [])
        self.rounds = not any(f["temp"] for f in chosen) and self.more.random() < 0.25
        def one():
            return " ".join("%s = %s;" % (f["name"], self.set_to(f, lambda: self.r.randint(1, 3), (2, 1))) for f in chosen)
        def where(p):
            p = "[G]" if p == "G" else p
            return p[:-1] + " where %s]" % self.r.choice(self.masks) if self.masks and not any(f["temp"] for f in chosen) and self.r.random() < 0.5 else p
        body = "\n".join("  %s { %s }" % (where(p), one()) for p in pieces)
        every = " every %d" % self.rare.choice([2, 2, 3]) if not any(f["temp"] for f in chosen) and self.rare.random() < 0.15 else ""
        text = "stencil s%d(%s)%s {\n%s\n}" % (n, ", ".join(f["name"] for f in chosen), every, body)
        if self.rounds:
            text = "repeat k%d up to %s {\n%s\n}" % (n, self.more.choice(["1", "2", "3", "R", "0"]), text)
        if self.rounds and self.more.random() < 0.2:
            text = "repeat m%d up to 2 {\n%s\n}" % (n, text)
        self.rounds = False
        self.text.append(text)
        for f in chosen:
            f["ready"] = True

    def field(self, name, **of):
        f = dict(name=name, rule=self.rule(), history=0, temp=False, input=False, vector=False, ready=True, shape=self.sizes, mask="")
        f.update(of)
        if self.masks and not f["temp"] and self.r.random() < 0.6:
            dry = self.pick("self", "0.3", "odd about q", "odd about 0.2") if not f["vector"] else "self"
            f["mask"] = " where %s dry %s" % (self.r.choice(self.masks), dry)
        if name in self.narrow:
            f["rule"], f["mask"] = [x and x.replace("about q", "about f32(q)") for x in (f["rule"], f["mask"])]
        self.fields.append(f)
        shared = self.members and f["input"] and not f["mask"] and self.many.random() < 0.5
        f["shape"] = ([self.members] if self.members and not shared else []) + f["shape"]
        words = (" temp" if f["temp"] else "") + (" input" if f["input"] else "") + (" history %d" % f["history"] if f["history"] else "") + " shared" * shared
        self.text.append("field %s : %s%s on G%s%s%s;" % (name, "f32" if name in self.narrow else "f64", "[2]" if f["vector"] else "", f["mask"], " outside " + f["rule"] if f["rule"] else "", words))

    def profile(self):
        """A field without a dimension, or two."""
        lacks = self.r.sample(range(self.rank), self.r.randint(1, self.rank - 1))
        ranges = ["*" if d in lacks else "0 .. N%d-1" % d for d in range(self.rank)]
        rule = "[" + ", ".join("*" if d in lacks else self.pick("clamp", "periodic", "0.5", "mirror half") for d in range(self.rank)) + "]"
        self.text.append("field c : f64 on [%s] outside %s;" % (", ".join(ranges), rule))
        if self.r.random() < 0.4:
            has = next(d for d in range(self.rank) if d not in lacks)
            self.text.append("init zc(c)[c] = 0.6 * sin(p * f64(idx(%d))) + q;" % has)
            self.inits.append("c")
        self.fields.append(dict(name="c", rule=rule, history=0, temp=False, input=True, vector=False, ready=True, mask="",
                                shape=[self.members] * (self.members > 0) + [1 if d in lacks else n for d, n in enumerate(self.sizes)]))

    def coast(self):
        """Masks."""
        self.text.append("field land : f64 on G outside clamp input;\nmask wet on G = land > -0.4;")
        self.masks = ["wet"]
        if self.r.random() < 0.5:
            off = self.offset(1)
            self.text.append("mask both on G = wet && (wet%s || land%s > 0);" % (off, off))
            self.masks.append("both")

    def start(self):
        """Inits of some fields, made of what there is before."""
        self.starting, self.reach = True, 0
        states = [f for f in self.fields if not f["input"]]
        for f in states:
            f["ready"] = False
        for f in states:
            f["ready"] = self.r.random() < 0.4
            if f["ready"]:
                f["ready"] = False
                v = self.set_to(f, lambda: 2, (1, 1))
                f["ready"] = True
                self.inits.append(f["name"])
                self.text.append("init z%s(%s)[G] = %s;" % (f["name"], f["name"], v))
                if f["history"] and self.r.random() < 0.5:
                    v = self.set_to(f, lambda: 1, (1, 1))
                    self.text.append("init y%s(%s@1)[G] = %s;" % (f["name"], f["name"], v))
        for f in states:
            f["ready"] = True
        self.starting = False

    def change(self):
        """Updates of the scalars, of some of which the gradient has a part."""
        for s in ["t0", "t1"]:
            if s in self.scalars and self.more.random() < 0.5:
                sums = ["0.1 * t0 + 0.2 * (max(land) over G)", "0.05 * (sum(land * land) over G)"] if self.masks and s == "t1" else []
                if self.part:
                    over = "[" + ", ".join("%d .. N%d-%d" % (self.part.randint(0, 1), d, self.part.randint(1, 2)) for d in range(self.rank)) + "]"
                    sums += ["t1 / (1 + (sum(u * u + 0.1 * u) over %s) * (sum(v * v) over G))" % over,
                             "0.3 * tanh(sum(u * u * 0.1 + p * v) over %s) + 0.2 * t1" % over, "t0 * cos(t1) * p", "q * src[step] + 0.3 * t0"]
                    sums += [] if self.smooth else ["0.2 * (max(u * v + 0.3 * u) over %s) - 0.1 * t0" % over, "0.1 * t1 - 0.2 * (min(q * u + t0 * v) over G)", "max(0.1, t1) * 0.9"]
                if self.part and self.between is None and not self.members and self.part.random() < 0.4:
                    self.between = "e"
                    kind = "sum" if self.smooth else self.part.choice(["sum", "max", "min"])
                    self.text.append("reduce e = %s(%s) over G every %d;" % (kind, self.widened("0.02 * u * u + 0.01 * p * v"), self.part.choice([1, 2, 3])))
                    sums += ["0.5 * t1 + tanh(e)", "q * e"]
                self.text.append("update %s = %s;" % (s, self.widened(self.more.choice(["0.9 * t0 + 0.05 * f64(step)", "sin(t0) + 0.1", "t0 + 0.1 * t1"] + 2 * sums))))

    def injected(self, value, at):
        return "0.3 * sin(%s) * src[%s]" % (value, at)

    def missed(self, u):
        """What a loss adds up of a value."""
        return "0.5 * %s * %s" % (u, u)

    def grid(self):
        """Words behind the steps of the grid."""
        return ""

    def more_inputs(self):
        """Declarations of what a kind of programs has beside; further stencils of it, and names that its gradient is to."""
        return []
    def more_stencils(self, n):
        return []
    def more_names(self):
        return []
    def arrays(self, rnd):
        """Their launch-time arrays, with values of the chances rnd and shapes."""
        return {}

    def make(self):
        add = self.text.append
        add("param " + ", ".join("N%d = %d" % (d, n) for d, n in enumerate(self.sizes)) + ", nr = 4;")
        add("param R = %d;" % self.more.randint(0, 3))
        add("param p : f64 = 1.1, q : f64 = 0.3;\nlet w = sin(p) * q;\nparam r[nr] : i32, src[6] : f64;")
        add("grid G = [%s], %d%s;" % (", ".join("0 .. N%d-1" % d for d in range(self.rank)), self.steps, self.grid()))
        if self.members:
            add("members %d;\nparam km[%d] : f64;" % (self.members, self.members))
        for line in self.more_inputs():
            add(line)
        if self.r.random() < 0.4:
            self.coast()
        if self.more.random() < (0.7 if self.part else 0.35):
            shared = " shared" * (self.members > 0 and self.many.random() < 0.25)
            add("scalar t0 : f64%s = 0.2, t1 : f64%s = 0.4;" % (shared, shared))
            self.scalars = ["t0", "t1"]
        if self.rank > 1 and self.r.random() < 0.4:
            self.profile()
        self.field("u", history=self.pick(0, 0, 1, 2))
        self.field("v", rule=self.pick(None, "clamp", "periodic", "mirror"), input=True)
        if self.r.random() < 0.6:
            self.field("x", vector=self.r.random() < 0.4, history=self.pick(0, 0, 1))
        self.start()
        temp = self.r.random() < 0.6
        if temp:
            self.field("t", temp=True, ready=False)
        for n in range(self.r.randint(1, 3) + temp):
            self.change()
            self.stencil(n)
            for line in self.more_stencils(n):
                add(line)
            if self.r.random() < 0.3:
                rest = ", ".join(["r"] + ["N%d / 2" % d for d in range(1, self.rank)])
                self.reach = 0
                add("inject i%d(u) += %s at [%s];" % (n, self.kept("u", self.injected(self.value(1), self.pick("step", "point"))), rest))
        self.change()
        for f in self.fields:
            f["ready"] = not f["temp"]
        names, terms, self.losses = [], [], True
        for k in range(self.r.randint(1, 2)):
            due = self.pick("every 1", "every 2", "every 3", "at end", "at end")
            self.reach = 0
            where = "at [%s]" % ", ".join(["r"] + ["N%d / 2" % d for d in range(1, self.rank)]) if self.r.random() < 0.35 else "over " + self.region()
            if where.startswith("at"):
                self.reach = 0
            e = self.expr(self.r.randint(1, 2))
            u = "x" if any(f["name"] == "x" and not f["vector"] for f in self.fields) and self.r.random() < 0.4 else "u"
            add("loss l%d += %s + 0.1 * %s %s %s;" % (k, self.missed(self.wide(u) % u), e, where, due))
            terms.append(self.pick("", "2 * ", "-0.3 * ") + "l%d" % k)
        self.names = ["u", "v", "p", "q", "src"] + ["km"] * (self.members > 0) + self.scalars[:1] * (self.members > 0) + (["c"] if any(f["name"] == "c" for f in self.fields) and "c" not in self.inits else []) + (["x"] if any(f["name"] == "x" for f in self.fields) else [])
        self.names += self.more_names()
        return "\n".join(self.text) + "\n", " + ".join(terms)


def load(path):
    with open(path, "rb") as f:
        b = f.read()
    n = struct.unpack("<H", b[8:10])[0]
    return list(struct.unpack("<%dd" % ((len(b) - 10 - n) // 8), b[10 + n:]))


def save(path, values, kind="<f8", code="d", shape=None):
    shape = shape or [len(values)]
    h = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join("%d," % s for s in shape))
    h += " " * (63 - (len(h) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(h)) + h.encode() + struct.pack("<%d%s" % (len(values), code), *values))


class Refused(Exception):
    pass


class Case:
    """One program on disk, with its inputs, in folder `at`."""

    def __init__(self, stc, at, seed, smooth, maker=Maker):
        self.stc, self.at, self.m = stc, at, maker(seed, smooth)
        self.text, self.terms = self.m.make()
        rnd = random.Random(seed + 1)
        self.values, self.shapes = {}, {}
        if self.m.masks:
            self.shapes["land"] = [self.m.members] * (self.m.members > 0) + self.m.sizes
            self.values["land"] = [rnd.uniform(-1, 1) for _ in range(math.prod(self.shapes["land"]))]
        for f in self.m.fields:
            if f["temp"] or (f["name"] in self.m.inits and (seed % 4 or "@1)[" in self.text)):   # else an init would read what is given
                continue
            shape = f["shape"] + ([2] if f["vector"] else [])
            self.shapes[f["name"]] = shape
            self.values[f["name"]] = [rnd.uniform(-1, 1) for _ in range(math.prod(shape))]
        save(os.path.join(at, "r.npy"), sorted(rnd.sample(range(self.m.sizes[0]), 4)), "<i4", "i")
        floats = ("<f4", "f") if "src" in self.m.narrow else ("<f8", "d")
        save(os.path.join(at, "src.npy"), [rnd.uniform(-1, 1) for _ in range(6)], *floats)
        self.arrays = ["r", "src"] + ["km"] * (self.m.members > 0)
        save(os.path.join(at, "km.npy"), [rnd.uniform(-1, 1) for _ in range(self.m.members)], *floats)
        for n, (values, shape) in self.m.arrays(rnd).items():
            self.arrays.append(n)
            save(os.path.join(at, n + ".npy"), values, shape=shape)
        self.names = list(self.m.names)

    def gradient(self, device, values=None, defines=(), extra=()):
        """The value and the derivatives by name; names that do not matter are left out of the program."""
        values = values or self.values
        for n, v in values.items():
            single = ("<f4", "f") if n in self.m.narrow else ("<f8", "d")
            save(os.path.join(self.at, n + ".npy"), v, *single, shape=self.shapes[n])
        while True:
            path, out = os.path.join(self.at, "a.stn"), os.path.join(self.at, "out")
            os.makedirs(out, exist_ok=True)
            with open(path, "w") as f:
                f.write(self.text + "gradient %s to %s;\n" % (self.terms, ", ".join(self.names)))
            ins = [a for n in list(values) + self.arrays for a in ("--in", "%s=%s" % (n, os.path.join(self.at, n + ".npy")))]
            command = [self.stc, "run", "--quiet", "-fno-contract", "--device=" + device, "--gradient=" + out, *extra, *defines, *ins, path]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                break
            idle = [n for n in self.names if "'%s' does not influence" % n in done.stderr or ("'%s.0' does not" % n in done.stderr and "'%s.1' does not" % n in done.stderr)]
            if idle and len(self.names) > len(idle):
                self.names = [n for n in self.names if n not in idle]
                continue
            raise (Refused if idle or "gradient" in done.stderr and "does not influence" in done.stderr or "is computed only where" in done.stderr or
                   "is not computed where" in done.stderr or "could stretch; leave out" in done.stderr else RuntimeError)("exit %d: %s" % (done.returncode, done.stderr))
        got = {}
        for line in done.stdout.splitlines():
            w = line.split()
            if w[0] == "gradient:" and w[2] != "in":
                got[w[1]] = [float(w[2])]
            elif w[0] == "gradient:":
                got[w[1]] = load(w[3])
        return got.pop("value")[0], got


def differ(a, b):
    """The largest difference, by the largest number."""
    most = max(max(map(abs, a)), 1e-3)
    if any(x != x for x in a + b):
        return 9.0 if [x != x for x in a] != [x != x for x in b] else 0.0
    return max(abs(x - y) for x, y in zip(a, b)) / most


def in_least_memory(case, device, extra):
    """The same with as many steps made again as can be; None: nothing is kept anyway."""
    try:
        case.gradient(device, extra=[*extra, "--memory=1"])
    except RuntimeError as e:
        least = re.search(r"needs (\d+) bytes of memory at least", str(e))
        if not least:
            raise
        return case.gradient(device, extra=[*extra, "--memory=" + least[1]])


def by_artifact(case):
    """The same from an artifact of the host and its manifest, by the package stc alone; None: the artifact has no gradient, and a warning said so."""
    import numpy, stc
    made, values = os.path.join(case.at, "a.o"), {}
    done = subprocess.run([case.stc, "-O1", "-fno-contract", "-o", made, os.path.join(case.at, "a.stn")], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    artifact = stc.load(made[:-1] + "json")
    if "gradient" not in artifact.manifest:
        WITHOUT.append(re.search("the artifact has no gradient: (.*)", done.stderr)[1])
        return None
    for n in list(case.values) + case.arrays:
        a = numpy.load(os.path.join(case.at, n + ".npy"))
        parts = [f for f in artifact.fields if f.startswith(n + ".") and f[len(n) + 1:].isdigit()]
        for k, part in enumerate(parts):
            values[part] = numpy.ascontiguousarray(a[..., k])
        if not parts:
            values[n] = a
    try:
        value, by = artifact.gradient(values)
    except stc.InputError as e:
        if "that is given: give it" not in str(e):
            raise
        WITHOUT.append("it is for fields that are given")
        return None
    return value, {n: numpy.stack([by[n + ".0"], by[n + ".1"]], -1).ravel().tolist() if n + ".0" in by else numpy.ravel(by[n]).tolist() for n in case.names}


def check(stc, seed, device, taylor, memory, extra, artifact=False):
    with tempfile.TemporaryDirectory() as at:
        case = Case(stc, at, seed, taylor)
        try:
            j, g = case.gradient(device, extra=extra)
            k, t = case.gradient("ref")
        except Refused as e:
            return "refused", str(e)
        except RuntimeError as e:
            return "failed", str(e)
        if memory:
            less = in_least_memory(case, device, extra)
            if less and less != (j, g):
                return "failed", "in the least memory the numbers are others"
        try:
            made = by_artifact(case) if artifact else None
        except Exception as e:
            return "failed", "by the artifact: %s: %s" % (type(e).__name__, e)
        if made and (made[0] != j or any(differ(g[n], made[1][n]) for n in g)):
            return "failed", "by the artifact the value is %r and not %r, or derivatives differ: %s" % (made[0], j, {n: differ(g[n], made[1][n]) for n in g})
        worst = max([differ(t[n], g[n]) for n in t] + [abs(j - k) / max(abs(k), 1e-3) if math.isfinite(j) and math.isfinite(k) else math.inf])
        if not worst <= 1e-11 or set(g) != set(t):
            return "failed", "value %r and %r, differences %s" % (j, k, {n: differ(t[n], g[n]) for n in t})
        if taylor:
            rnd, h, slope, up, down, defines = random.Random(seed), 1e-5, 0.0, {}, {}, ([], [])
            for n, v in case.values.items():
                d = [rnd.uniform(-1, 1) if n in t else 0.0 for _ in v]
                slope += sum(x * y for x, y in zip(d, t.get(n, [])))
                up[n], down[n] = [x + h * y for x, y in zip(v, d)], [x - h * y for x, y in zip(v, d)]
            for n, v in (("p", 1.1), ("q", 0.3)):
                if n in t:
                    slope += 0.7 * t[n][0]
                    defines[0].append("-D%s=%.17g" % (n, v + 0.7 * h)), defines[1].append("-D%s=%.17g" % (n, v - 0.7 * h))
            a, b = case.gradient("ref", up, defines[0])[0], case.gradient("ref", down, defines[1])[0]
            found = (a - b) / (2 * h)
            if abs(found - slope) > 1e-5 * max(1.0, abs(slope)):
                return "failed", "the tape's slope is %r, differences of the value say %r" % (slope, found)
        return "ok", worst


def main():
    o = argparse.ArgumentParser(description=__doc__)
    o.add_argument("stc")
    o.add_argument("--device", default="host")
    o.add_argument("--programs", type=int, default=40)
    o.add_argument("--seed", type=int, default=1)
    o.add_argument("--taylor", action="store_true")
    o.add_argument("--memory", action="store_true", help="and whether numbers are the same in the least memory")
    o.add_argument("--long", action="store_true", help="programs of 20 to 40 steps, most of which GPUs make in batches")
    o.add_argument("--artifact", action="store_true", help="and whether an artifact of the host gives the same numbers; needs the package stc")
    o.add_argument("--option", action="append", default=[])
    o.add_argument("--verbose", action="store_true", help="say why programs are refused")
    o.add_argument("--print", type=int, dest="show")
    a = o.parse_args()
    global LONG
    LONG = a.long
    if a.show is not None:
        with tempfile.TemporaryDirectory() as at:
            case = Case(a.stc, at, a.show, a.taylor)
            print(case.text + "gradient %s to %s;" % (case.terms, ", ".join(case.names)))
        return 0
    count, worst = {"ok": 0, "refused": 0, "failed": 0}, 0.0
    for seed in range(a.seed, a.seed + a.programs):
        what, told = check(a.stc, seed, a.device, a.taylor, a.memory, a.option, a.artifact)
        count[what] += 1
        worst = max(worst, told) if what == "ok" else worst
        if what == "refused" and a.verbose:
            print("seed %d: %s" % (seed, next((l for l in told.splitlines() if "error:" in l), told)))
        if what == "failed":
            print("seed %d: %s\n  %s %s %s --device=%s --seed=%d --programs=1%s" % (seed, told, sys.executable, __file__, a.stc, a.device, seed, " --taylor" * a.taylor + " --long" * a.long))
    print("%d programs agree, %d refused, %d failed; the largest difference is %.2g" % (count["ok"], count["refused"], count["failed"], worst))
    for why in sorted(set(WITHOUT)):
        print("%d artifacts have none: %s" % (WITHOUT.count(why), why))
    return count["failed"] > 0 or count["refused"] * 4 > a.programs


if __name__ == "__main__":
    sys.exit(main())
