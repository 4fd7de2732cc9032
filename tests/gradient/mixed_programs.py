#!/usr/bin/env python3
"""Gradients of random programs of several kinds, each by the reference's tape and in two settings of the host or of the simulator, with schedules and parts that chance chooses,
and half of them also within less memory: all but the tape give the same bits. What a linear loss becomes by other fields is what its derivatives say.
With --device=cuda:0, or another device, both settings are of that device. With --long programs have 20 to 40 steps, most of which GPUs make in batches, and one setting is a launch a stencil.
`mixed_programs.py STC [--device=DEVICE] [--programs=N] [--seed=S] [--seconds=S] [--kind=KIND] [--long] [--print=SEED] [--verbose]`; a program that fails is printed with the command that repeats it."""
import argparse, collections, math, os, random, re, sys, tempfile, time

import random_programs
from random_programs import Case, Maker, Refused, differ

LINEAR = ["({a} + {b})", "({a} - {b})", "-{a}", "0.5 * {a}", "{p} * {a}", "{a} / {p}", "(if idx(0) % 2 == 0 then {a} else {b})", "fma({p}, {a}, {b})", "w * {a}", "v * {a}", "cos(v) * {a} + {c}"]
TABLES = ["lookup(tab, 2.5 + 2 * sin({a}))", "lookup(two, 1 + sin({a}), 1.5 * cos({b}))", "lookup(tab, 4 * {a}) * {b}", "tab[idx(0) % 6] * {a}", "two[idx(0) / 4, i64(floor(2 * {a}))] + {b}"]
KINDS = ["plain", "linear", "narrow", "single", "layers", "tables", "moved"]


class Plain(Maker):
    """The programs of random_programs.py."""
    tolerance = 1e-11
    given = ()                              # names whose derivatives, of a linear program, say all of its value


class Linear(Plain):
    """The losses are linear in u, x and src, all coefficients are made of v and of params. So what the value becomes by other fields is what the derivatives say, which are the same bits then."""
    given = ("u", "x", "c")

    def __init__(self, seed, smooth):
        super().__init__(seed, smooth)
        self.part, self.forms = None, LINEAR

    def expr(self, depth):
        self.forms = [f for f in LINEAR if "v" not in f] if self.starting else LINEAR           # inits read nothing that has a mask
        return super().expr(depth)

    def access(self):
        fields = self.fields
        self.fields = [f for f in fields if f["name"] != "v"]
        a = super().access()
        self.fields = fields
        return a

    def value(self, depth):
        return "0.3 * %s + 0.2 * %s" % (self.expr(depth), self.expr(0))

    def injected(self, value, at):
        return "0.2 * (%s) + 0.3 * v * src[%s]" % (value, at)

    def missed(self, u):
        return "(0.5 + v) * " + u


class Narrow(Plain):
    """Fields of f32, in programs that compute in f64."""
    tolerance = 1e-5

    def __init__(self, seed, smooth):
        super().__init__(seed, smooth)
        self.narrow = [n for n in "uvxt" if self.kinds(seed).random() < 0.6] or ["u"]

    @staticmethod
    def kinds(seed):
        return random.Random(seed * 13 + 6)


class Single(Plain):
    """All of f32, but for losses' sums."""
    tolerance = 1e-4

    def __init__(self, seed, smooth):
        super().__init__(seed, smooth)
        self.narrow, self.part = ["u", "v", "x", "t", "c", "land", "src"], None

    def wide(self, name):
        return "%s"

    def kept(self, name, value):
        return value

    def change(self):
        pass

    def make(self):
        text, terms = super().make()
        lines = [l if l.startswith("scalar") else l.replace("f64", "f32") for l in text.splitlines()]
        text = "\n".join(lines) + "\n"
        return re.sub(r"\b(t[01])\b(?! : | =)", r"f32(\1)", text), terms


class Layers(Plain):
    """Programs with an absorbing layer, which some stencils' derivatives are stretched by."""

    def __init__(self, seed, smooth):
        super().__init__(seed, smooth)
        self.own = random.Random(seed * 17 + 7)
        self.sizes = {1: [29], 2: [16, 13], 3: [13, 14, 13]}[self.rank]
        self.steps = min(self.steps, 3) if self.rank > 2 else self.steps

    def rule(self):
        return self.own.choice(["0", "clamp", "mirror", "mirror half", "0"])

    def coast(self):
        pass

    def grid(self):
        return " spacing [%s] step 0.4" % ", ".join(["1.0"] * self.rank)

    def more_inputs(self):
        sides = [s for d in range(self.rank) for s in ("%d lower" % d, "%d upper" % d) if self.own.random() < 0.25]
        out = " but [%s]" % ", ".join(sides) if sides and len(sides) < 2 * self.rank else ""
        return ["absorb edge = 4 of G%s speed %s, frequency 0.1, reflection 1e-3;" % (out, self.own.choice(["1", "2"]))]

    def more_stencils(self, n):
        if self.own.random() < 0.3:
            return []
        def slope():
            d, two = self.own.randrange(self.rank), self.own.random() < 0.5
            return "diff(%s, %d%s)" % (self.own.choice(["u", "u", "u * u", "sin(u)", "u * p"]), d, ", 2" if two else "")
        return ["stencil a%d(u)[G] absorb edge = 0.5 * u + %s;" % (n, " + ".join(self.own.choice(["0.1 * v * %s", "0.2 * tanh(%s)", "0.05 * %s", "0.1 * p * %s"]) % slope() for _ in range(self.own.randint(1, 2))))]


class Tables(Plain):
    """Programs that look things up in arrays that they are given, which the gradient is to."""

    def __init__(self, seed, smooth):
        super().__init__(seed, smooth)
        self.own = random.Random(seed * 19 + 8)

    def expr(self, depth):
        if depth and not self.smooth and self.own.random() < 0.4:
            return "(" + self.own.choice(TABLES).format(a=super().expr(depth - 1), b=super().expr(0)) + ")"
        return super().expr(depth)

    def more_inputs(self):
        return ["param tab[6] : f64, two[3, 4] : f64;"]

    def more_names(self):
        return ["tab", "two"]

    def arrays(self, rnd):
        return {"tab": ([rnd.uniform(-1, 1) for _ in range(6)], [6]), "two": ([rnd.uniform(-1, 1) for _ in range(12)], [3, 4])}


class Moved(Plain):
    """Programs that read fields at offsets and places which depend on data."""

    def __init__(self, seed, smooth):
        super().__init__(seed, smooth)
        self.own = random.Random(seed * 23 + 9)

    def access(self):
        f = self.own.choice([f for f in self.fields if f["ready"] and not f["vector"]] or [None])
        if f is None or f["rule"] is None or f["mask"] or f["name"] == "c" or self.starting or self.smooth or self.own.random() < 0.6:
            return super().access()
        if self.own.random() < 0.5:
            return "%s[[%s] within 1]" % (f["name"], ", ".join(self.own.choice(["0", "1", "i64(step) % 3 - 1", "i64(floor(2 * sin(3 * v)))"]) for _ in range(self.rank)))
        return "at(%s, %s, within 1)" % (f["name"], ", ".join(self.own.choice(["0.3", "0.8 * sin(v)", "q * u", "-0.45 * cos(p * u)"]) for _ in range(self.rank)))


REASONS = collections.Counter()             # why settings were refused
MAKERS = {"plain": Plain, "linear": Linear, "narrow": Narrow, "single": Single, "layers": Layers, "tables": Tables, "moved": Moved}


def kind_of(seed):
    """Two programs in seven are plain ones."""
    return random.Random(seed * 29 + 10).choice(KINDS)


def settings(seed, rank, members, given=None):
    """Two settings whose results are the same bits, both on the host or in the simulator: functions such as sin are others' there. Schedules are as stc chooses them for grids of several sizes, or said; some grids are cut into parts. `given`: the device."""
    rnd = random.Random(seed * 31 + 11)
    sizes = {1: [29, 3000, 10 ** 6], 2: [12, 300, 3000], 3: [8, 60, 300]}[rank]
    def needed(device):
        return ["-O0"] if device == "host" else ["-march=amdgpu"] if gpu else []
    def one(device):
        words = needed(device) + rnd.choice([["-schedule=naive"], [], [], [], ["-T=2"], ["-fuse=none"]])
        if rnd.random() < 0.5 and "-schedule=naive" not in words:
            words.append("-for-grid=" + "x".join([str(members)] * (members > 0) + [str(rnd.choice(sizes))] * rank))
        if rnd.random() < 0.2:
            words.append("--split=" + rnd.choice(["2", "3"] + ["2x2"] * (rank > 1)))
        return device, words
    device, gpu = rnd.choice(["host", "sim"]), rnd.random() < 0.3
    device, gpu = given or device, gpu and not given
    if random_programs.LONG:
        return (device, [*needed(device), "-schedule=naive"]), one(device)
    return one(device), one(device)


def computed(case, setting, more=()):
    """What the program gives in that setting or, where it is refused, on its device alone."""
    device, words = setting
    try:
        return case.gradient(device, extra=[*words, *more])
    except RuntimeError as e:
        if not words or words == ["-O0"] or not re.match("exit [23]: ", str(e)) or "bytes of memory at least" in str(e) or "mistake in stc" in str(e):
            raise
        REASONS[next((re.sub("[0-9]+", "N", l.split("error: ")[1]) for l in str(e).splitlines() if "error: " in l), str(e))[:110]] += 1
        return case.gradient(device, extra=[w for w in words if w == "-O0"] + list(more))


def less_memory(case, setting, seed):
    """What the program gives in less memory than for all steps; None: it keeps nothing, or chance does not ask."""
    rnd, (device, words) = random.Random(seed * 37 + 12), setting
    if rnd.random() < 0.5:
        return None
    try:
        computed(case, setting, ["--memory=1"])
    except RuntimeError as e:
        least = re.search(r"needs (\d+) bytes of memory at least", str(e))
        if not least:
            raise
        scratch = ["--scratch=" + case.at] if rnd.random() < 0.3 else []
        return computed(case, setting, ["--memory=%d" % (int(least[1]) * rnd.choice([1, 1, 1.5, 2.2]))] + scratch)


def wrong_slope(case, setting, j, g):
    """What is wrong with a linear program; None: nothing."""
    rnd, values, slope = random.Random(len(case.text)), {}, 0.0
    for n, v in case.values.items():
        moved = n in case.m.given and n in g
        values[n] = [x + rnd.uniform(-1, 1) for x in v] if moved else v
        slope += sum((y - x) * d for x, y, d in zip(v, values[n], g.get(n, [])))
    there, other = case.gradient(setting[0], values, extra=["-O0"] if setting[0] == "host" else [])
    if any(repr(g[n]) != repr(other[n]) for n in case.m.given if n in g):
        return "the derivatives of a linear loss change"
    if not abs(there - j - slope) <= 1e-11 * max(abs(j), abs(there), 1e-2):
        return "a linear loss changes by %r, its derivatives say %r" % (there - j, slope)
    return None


def check(stc, seed, kind, device):
    maker = MAKERS[kind]
    with tempfile.TemporaryDirectory() as at:
        case = Case(stc, at, seed, False, maker)
        first, second = settings(seed, case.m.rank, case.m.members, device)
        try:
            j, g = computed(case, first)
            if repr(computed(case, second)) != repr((j, g)):
                return "failed", "other bits by %s than by %s" % (second, first)
            less = less_memory(case, first, seed)
            if less and repr(less) != repr((j, g)):
                return "failed", "other bits in less memory"
            wrong = wrong_slope(case, first, j, g) if maker.given else None
            k, t = case.gradient("ref")
        except Refused as e:
            return "refused", str(e)
        except RuntimeError as e:
            return "failed", str(e)
        worst = max([differ(t[n], g[n]) for n in t] + [abs(j - k) / max(abs(k), 1e-3) if math.isfinite(j) and math.isfinite(k) else math.inf])
        if wrong or not worst <= maker.tolerance or set(g) != set(t):
            return "failed", wrong or "value %r and %r, by %s differences %s" % (j, k, first, {n: differ(t[n], g[n]) for n in t})
        return "ok", worst


def main():
    o = argparse.ArgumentParser(description=__doc__)
    o.add_argument("stc")
    o.add_argument("--device", help="both settings are of that device")
    o.add_argument("--programs", type=int, default=24)
    o.add_argument("--seed", type=int, default=1)
    o.add_argument("--seconds", type=float, default=1e9, help="begin no program after so long")
    o.add_argument("--kind", choices=list(MAKERS), help="programs of that kind alone")
    o.add_argument("--long", action="store_true", help="programs of 20 to 40 steps")
    o.add_argument("--print", type=int, dest="show")
    o.add_argument("--verbose", action="store_true", help="say why programs are refused")
    a = o.parse_args()
    random_programs.LONG = a.long
    count, worst, start, of = collections.Counter(), collections.Counter(), time.time(), collections.Counter()
    for seed in range(a.seed, a.seed + a.programs) if a.show is None else [a.show]:
        kind = a.kind or kind_of(seed)
        if a.show is not None:
            with tempfile.TemporaryDirectory() as at:
                case = Case(a.stc, at, seed, False, MAKERS[kind])
                print("// %s, %s\n%sgradient %s to %s;" % (kind, settings(seed, case.m.rank, case.m.members, a.device), case.text, case.terms, ", ".join(case.names)))
            return 0
        if time.time() - start > a.seconds:
            break
        what, told = check(a.stc, seed, kind, a.device)
        count[what] += 1
        of[kind] += what == "ok"
        worst[kind] = max(worst[kind], told) if what == "ok" else worst[kind]
        if what == "failed" or what == "refused" and a.verbose:
            print("seed %d, %s, %s: %s" % (seed, kind, what, told), flush=True)
        if what == "failed":
            print("  %s %s %s --seed=%d --programs=1%s%s" % (sys.executable, __file__, a.stc, seed, " --long" * a.long + (" --kind=" + a.kind if a.kind else ""), " --device=" + a.device if a.device else ""), flush=True)
    print("%d programs agree, %d refused, %d failed; by kind: %s" % (count["ok"], count["refused"], count["failed"], ", ".join("%d %s (%.2g)" % (of[k], k, worst[k]) for k in MAKERS)))
    for why, n in REASONS.most_common(6):
        print("%d settings refused: %s" % (n, why))
    return count["failed"] > 0 or count["refused"] * 4 > sum(count.values())


if __name__ == "__main__":
    sys.exit(main())
