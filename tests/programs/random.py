"""random.py STC [SEED [PROGRAMS [DEVICE]]]: random programs on sim and host, or on DEVICE, a GPU, under random schedules against the reference, bit for bit.

A program has rank 1 to 3, one to four fields of all types, temp and input ones, on regions of their own, with all outside rules, one to four stencils of one or more
pieces, macros, lets, params, `if`, `idx` and `step`. Only operations that every device rounds alike are used. What fails is printed whole, with its command.
Schedules that the compiler refuses as illegal are left out; of the rest there must be enough.
"""
import os
import random
import subprocess
import sys
import tempfile

EXTENT = "NML"
LITERAL = {"f32": ["0.5", "-0.75", "0.1", "3.0"], "f64": ["0.25", "-1.5", "0.1", "2.0"], "i32": ["7", "-3", "2"], "i64": ["5", "-9", "1"],
           "bool": ["true", "false"]}
MIXES = [["f32"], ["f64"], ["f32", "f64"], ["i32", "i64"], ["f32", "f64", "i32", "i64", "bool"]]


class Field:
    """type; box: (points left out below, above) in each dimension; rule: outside rule or ""; kind: "", "temp" or "input"; readable: written already."""

    def __init__(self, type, box, rule, kind):
        self.type, self.box, self.rule, self.kind, self.readable = type, box, rule, kind, kind != "temp"


class Generator:
    """Makes one program from a seed. A box has for each dimension ("all", a, b): all points but a below and b above, ("low", a, b): points a to b from below, or
    ("high", a, b): from a to b points from above."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rank = self.r.choice([1, 1, 2, 2, 2, 3])
        self.origin = [self.r.choice([0, 0, 0, -3, 5]) for _ in range(self.rank)]
        self.reach = self.r.choice([1, 1, 2, 3])
        self.lines, self.fields, self.params, self.macros, self.lets = [], {}, [], [], 0

    # ---- text of regions

    def low(self, d, a):
        return str(self.origin[d] + a)

    def high(self, d, b):
        c = self.origin[d] - 1 - b
        return EXTENT[d] + (f" - {-c}" if c < 0 else f" + {c}" if c else "")

    def range(self, d, x):
        kind, a, b = x
        if kind == "all":
            return self.low(d, a) + " .. " + self.high(d, b)
        ends = (self.low(d, a), self.low(d, b)) if kind == "low" else (self.high(d, b), self.high(d, a))
        return ends[0] if a == b else " .. ".join(ends)

    def text(self, box):
        return "[" + ", ".join(self.range(d, x) for d, x in enumerate(box)) + "]"

    # ---- expressions

    def room(self, x, field, d):
        """The offsets in dimension d at which points of x may read `field`."""
        kind, a, b = x
        below, above = field.box[d]
        if field.rule:
            return -self.reach, self.reach
        least = below - a if kind != "high" else 0
        most = b - above if kind == "all" else a - above if kind == "high" else 0
        return max(least, -self.reach), min(most, self.reach)

    def access(self, type, box, slack):
        """An access of that type from `box`, which macros move by up to `slack`; None if there is none."""
        names = [n for n, f in self.fields.items() if f.type == type and f.readable]
        self.r.shuffle(names)
        for n in names:
            ranges = [self.room(box[d], self.fields[n], d) for d in range(self.rank)]
            ranges = [(lo + slack[d][0], hi - slack[d][1]) for d, (lo, hi) in enumerate(ranges)]
            if all(lo <= hi for lo, hi in ranges):
                off = [0 if lo <= 0 <= hi and self.r.random() < 0.45 else self.r.randint(lo, hi) for lo, hi in ranges]
                return f"{n}[{', '.join(map(str, off))}]" if any(off) else n
        return None

    def leaf(self, type, box, slack):
        r, other = self.r, self.r.choice(list(LITERAL))
        k = r.random()
        if k < 0.75 and (a := self.access(type, box, slack)):
            return a
        if k < 0.85 and other != type and (a := self.access(other, box, slack)):
            return f"{type}({a})"
        named = [n for n, t in self.params if t == type]
        if k < 0.9 and named:
            return r.choice(named)
        if k < 0.95:
            return f"(idx({r.randrange(self.rank)}) % 3 == 1)" if type == "bool" else f"{type}(idx({r.randrange(self.rank)}))"
        if k < 0.97:
            return f"{type}(step)"
        return f"{type}({r.choice(LITERAL[type])})"

    def macro_call(self, type, box, depth, slack):
        name, reach = self.r.choice(self.macros)
        moved = [(s[0] + m[0], s[1] + m[1]) for s, m in zip(slack, reach)]
        return f"{name}({self.expr(type, box, min(depth, 2), moved, False)})"

    def expr(self, type, box, depth, slack=None, macros=True):
        """An expression; `slack` is how far macros about it move it down and up."""
        r = self.r
        slack = slack or [(0, 0)] * self.rank
        if depth <= 0 or r.random() < 0.12:
            return self.leaf(type, box, slack)
        e = lambda t, less=1: self.expr(t, box, depth - less, slack, macros)
        k = r.random()
        if k < 0.08:
            return r.choice(["(if {} then {} else {})", "select({}, {}, {})"]).format(e("bool", 2), e(type), e(type))
        if k < 0.16 and self.macros and macros and type != "bool":
            return self.macro_call(type, box, depth - 1, slack)
        if k < 0.24 and (other := r.choice(list(LITERAL))) != type:
            return f"{type}({e(other)})"
        if type == "bool":
            t = r.choice(list(LITERAL))
            ops = ["&&", "||", "==", "!="] if t == "bool" else ["<", "<=", ">", ">=", "==", "!="]
            return f"({e(t)} {r.choice(ops)} {e(t)})" if r.random() < 0.8 else f"!({e(type)})"
        if k < 0.6:
            return f"({e(type)} {r.choice('+-+-*')} {e(type)})"
        if k < 0.74:
            return f"{r.choice(['min', 'max'])}({e(type)}, {e(type)})"
        if k < 0.8:
            return f"{r.choice(['abs', '-'])}({e(type)})"
        if type[0] == "i":
            return f"({e(type)} {r.choice('/%')} {e(type)})"
        if k < 0.88:
            return f"({e(type)} / ({type}(2.0) + abs({e(type)})))"
        if k < 0.93:
            return f"sqrt(abs({e(type)}))"
        return f"{r.choice(['floor', 'ceil'])}({e(type)})" if k < 0.96 else f"fma({e(type)}, {e(type)}, {e(type)})"

    def value(self, type, box, depth):
        """An expression that keeps floats in bounds."""
        e = self.expr(type, box, depth)
        return f"max({type}(-4.0), min({type}(4.0), {e}))" if type[0] == "f" else e

    # ---- stencils

    def inner(self, x, most):
        kind, a, b = x
        return (kind, a + self.r.choice([0, 0, 1, most]), b + self.r.choice([0, 0, 1, most]))

    def pieces(self, box):
        """One piece, all of the box or the inner part of it, or a part at either end of a dimension and the middle."""
        k = self.r.random()
        if k < 0.75:
            return [box if k < 0.4 else [self.inner(x, 2) for x in box]]
        d, n, m = self.r.randrange(self.rank), self.r.choice([1, 2]), self.r.choice([1, 2])
        _, a, b = box[d]
        parts = [("low", a, a + n - 1), ("all", a + n, b + m), ("high", b + m - 1, b)]
        self.r.shuffle(parts)
        return [box[:d] + [x] + box[d + 1:] for x in parts[:self.r.choice([2, 3])]]

    def body(self, targets, box, single):
        """The equations of a piece; `single`: the stencil has one target, so that an expression may stand alone."""
        depth, lines = self.r.choice([2, 3, 3, 4]), []
        if single and self.r.random() < 0.6:
            return f"= {self.value(self.fields[targets[0]].type, box, depth)};"
        for t in targets:
            type, extra = self.fields[t].type, ""
            if type != "bool" and self.r.random() < 0.4:
                self.lets += 1
                lines.append(f"let v{self.lets} = {self.value(type, box, 2)} * {type}(1);")
                extra = f" - v{self.lets}"
            lines.append(f"{t} = {self.value(type, box, depth)}{extra};")
        return "{ " + " ".join(lines) + " }"

    def stencil(self, name, targets, whole=False):
        box = [("all", *(max(self.fields[t].box[d][end] for t in targets) for end in (0, 1))) for d in range(self.rank)]
        pieces = [box] if whole else self.pieces(box)
        mine = [targets if k == 0 or self.r.random() < 0.5 else [self.r.choice(targets)] for k in range(len(pieces))]
        code = [f"{self.text(p)} {self.body(t, p, len(targets) == 1)}" for p, t in zip(pieces, mine)]
        self.lines.append(f"stencil {name}({', '.join(targets)})" + (code[0] if len(code) == 1 else " {\n  " + "\n  ".join(code) + "\n}"))

    # ---- programs

    def macro(self, name):
        offs = [[self.r.randint(-2, 2) if self.r.random() < 0.6 else 0 for _ in range(self.rank)] for _ in range(self.r.choice([2, 3]))]
        self.lines.append(f"op {name}(X) = " + self.r.choice([" + ", " - ", " * "]).join(f"X[{', '.join(map(str, o))}]" for o in offs) + ";")
        self.macros.append((name, [(max(0, -min(o[d] for o in offs)), max(0, max(o[d] for o in offs))) for d in range(self.rank)]))

    def field(self, name, kind, rule, mix, staggered):
        r = self.r
        type = r.choice(mix)
        rule = r.choice(["", "clamp", "mirror", "periodic", "constant"]) if rule is None else rule
        box = [(r.choice([0, 1, 2]), r.choice([0, 1, 2])) if staggered else (0, 0) for _ in range(self.rank)]
        self.fields[name] = f = Field(type, box, rule, kind)
        outside = f" outside {r.choice(LITERAL[type])}" if rule == "constant" else f" outside {rule}" if rule else ""
        self.lines.append(f"field {name} : {type} on {self.text([('all', *b) for b in f.box])}{outside} {kind};")

    def program(self):
        r = self.r
        self.lines.append("param " + ", ".join(f"{EXTENT[d]} = 20" for d in range(self.rank)) + ";")
        for i in range(r.choice([0, 1, 2])):
            self.params.append((f"p{i}", r.choice(list(LITERAL))))
            self.lines.append(f"param p{i} : {self.params[i][1]} = {LITERAL[self.params[i][1]][0]};")
        self.lines.append(f"grid G = {self.text([('all', 0, 0)] * self.rank)}, 8;")
        for i in range(r.choice([0, 1, 2])):
            self.macro(f"m{i}")
        kinds = [""] + [r.choice(["", "", "", "temp", "input"]) for _ in range(r.randint(0, 3))]
        rule, mix, staggered = r.choice(["", "clamp", "mirror", "periodic", "constant", None, None]), r.choice(MIXES), r.random() < 0.4
        for name, kind in zip("ABCD", kinds):
            self.field(name, kind, rule, mix, staggered and r.random() < 0.5)
        temps = [n for n, f in self.fields.items() if f.kind == "temp"]
        plain = [n for n, f in self.fields.items() if f.kind == ""]
        for t in temps:
            self.stencil(f"t{t}", [t], True)
            self.fields[t].readable = True
        for i in range(max(1, r.randint(1, 4) - len(temps))):
            self.stencil(f"s{i}", sorted(r.sample(plain, 2)) if len(plain) > 1 and r.random() < 0.35 else [r.choice(plain + temps[:1])])
        return "\n".join(self.lines) + "\n"


def schedules(r, rank, device):
    """Options of the runs of one program, on `device` alone if it is not None."""
    threads, points = [[31, 64, 100], [5, 8, 16], [4, 5, 8]][rank - 1], [[3, 17, 40, 100], [4, 7, 16, 30], [3, 8, 14, 20]][rank - 1]
    shape = lambda choices: "x".join(str(r.choice(choices)) for _ in range(rank))
    if device:
        yield [f"--device={device}"]
        yield [f"--device={device}", "-schedule=naive"]
    for target in [f"--device={device}"] * 3 if device else ["--device=sim -march=nvptx", "--device=sim -march=amdgpu"]:
        yield target.split() + [f"-T={r.choice([1, 1, 2, 2, 3, 5])}", f"-block={shape(threads)}", f"-elems={shape([1, 2, 3, 4])}"]
    if device:
        return
    yield ["--device=sim", "-march=nvptx"] + r.choice([[], ["-schedule=naive"]])
    yield ["--device=sim", "-march=host", f"-T={r.choice([1, 2, 3, 4])}", f"-block={shape(points)}"]
    yield ["--device=host:2", "-O0", f"-T={r.choice([1, 2, 3])}", f"-block={shape(points)}"]
    yield ["--device=host:2", "-O0"] + r.choice([[], ["-schedule=naive"]])


def run(stc, path, options):
    """Exit code and messages."""
    p = subprocess.run([stc, "run", "--quiet", "-fno-contract", path] + options, capture_output=True, text=True, errors="replace")
    return p.returncode, p.stdout + p.stderr


def try_program(stc, folder, seed, device, count):
    """Runs the program of that seed under its schedules and counts what comes of it; prints failures."""
    g, r, path = Generator(seed), random.Random(seed + 1), os.path.join(folder, f"random{seed}.stn")
    text = g.program()
    with open(path, "w") as f:
        f.write(text)
    sizes = [[1, 2, 5, 17, 40, 100], [1, 3, 7, 11, 19], [2, 5, 7, 9]][g.rank - 1]
    data = [o for n, f in g.fields.items() if f.kind != "temp" for o in ("--in", f"{n}=random:{seed}")]
    data += [f"-D{EXTENT[d]}={r.choice(sizes)}" for d in range(g.rank)] + [f"--steps={r.choice([1, 3, 5, 7])}"]
    code, out = run(stc, path, data + ["--device=ref"])
    if code == 3 and "(with " in out:
        count["refused params"] += 1
        return
    for options in schedules(r, g.rank, device):
        code, out = run(stc, path, data + ["--check=0"] + options)
        if code == 3 and any(w in out for w in ("legal", "share a launch", "go one a launch")):
            count["refused schedules"] += 1
            continue
        count["runs"] += 1
        if code != 0:
            count["failures"] += 1
            print(f"FAIL seed {seed}, exit code {code}: stc run --quiet -fno-contract {' '.join(data + ['--check=0'] + options)}\n{out[:2000]}\n{text}")


def main():
    stc, seed, programs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 60
    device = sys.argv[4] if len(sys.argv) > 4 else None
    count = {"runs": 0, "refused params": 0, "refused schedules": 0, "failures": 0}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(programs):
            try_program(stc, folder, seed + i, device, count)
    print(f"{programs} programs: " + ", ".join(f"{n} {what}" for what, n in count.items()))
    if count["runs"] < 2 * programs:
        print("FAIL: too few runs")
    sys.exit(1 if count["failures"] or count["runs"] < 2 * programs else 0)


main()
