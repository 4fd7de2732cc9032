"""Sweeps: stencils whose points have an order along a dimension. One program in five has them, between its stencils and behind them. Their chances are of their own, so that all other programs stay what they are."""
import random

from model import Place, Struct, Vector, components, computed
from tree import List, Node

SCHEDULE = ("-T=", "-schedule=", "-block=", "-elems=", "-chunk=", "-ahead=", "-tiles=", "-edges=", "-fuse=", "-barriers=", "-cluster=")


def one_step_a_launch(run, own, rank):
    """What is left of the run without its schedule, and one of one step a launch, by the chances `own`; does a GPU's code run?"""
    left = [o for o in run if not o.startswith(SCHEDULE)]
    gpu = "-march=host" not in run and not run[0].startswith(("--device=host", "--device=ref"))
    shape = lambda choices: "x".join(str(own.choice(choices)) for _ in range(rank))
    words = own.choice([[], [], ["-schedule=naive"], ["-schedule=overlap"], ["-fuse=none"]] + [["-schedule=stream"]] * gpu)
    if "-schedule=stream" in words:  # blocks and elements of such tiles are 1 where they walk
        return left, words + [f"-chunk={own.choice([1, 2, 3, 5, 8, 16])}"] * (own.random() < 0.95), gpu  # the default walks 128 rows, most of them beyond the grid
    words = words + ["-block=" + shape([4, 8] if gpu else [5, 9, 16])] * (own.random() < 0.4)
    return left, words + ["-elems=" + shape([1, 1, 2])] * (gpu and own.random() < 0.3), gpu


class Swept:
    """The part of the Generator that makes them. self.sweeps: the chances; self.has_sweeps: has the program any?"""

    def start_sweeps(self, seed):
        self.sweeps = random.Random(seed * 2 + 37)
        self.nsweeps, self.swept_dims, self.swept_pair = 0, set(), None
        self.has_sweeps = self.sweeps.random() < 1 / 5 and not (self.plain or self.layered or self.absorbing)

    def swept_lines(self):
        """The declaration of a temp field that only sweeps in pairs set and read: one goes along and sets it, the other comes back, or goes along behind it, and reads it."""
        own = self.sweeps
        whole = [f for f in self.fields.values() if f.kind == "" and not f.thin and not any(map(any, f.box)) and f.type in ("f32", "f64", "i32", "i64")]
        if self.has_sweeps and whole and own.random() < 0.6:
            self.swept_pair = own.choice(whole)
            yield Node(f"field Z : {self.swept_pair.type} temp;", declares=["Z"])

    def pair(self):
        """Those two sweeps."""
        own, t, d = self.sweeps, self.swept_pair, self.sweeps.randrange(self.rank)
        ways, box = own.choice([(1, -1), (-1, 1), (1, 1)]), [("all", 0, 0)] * self.rank
        self.swept_dims.add(d)
        clip = (lambda form: f"max({t.type}(-4.0), min({t.type}(4.0), {form}))") if t.type[0] == "f" else (lambda form: form)
        half = "0.5 *" if t.type[0] == "f" else "3 *"
        for target, other, sign in (("Z", t.name, ways[0]), (t.name, "Z", ways[1])):
            name, at = f"sw{self.nsweeps}", self.offset_along(d, -sign)
            self.nsweeps += 1
            self.names.append(name)
            e = [self.value(t.type, Place(box, fields=False, arrays=False), 1) for _ in range(2)]
            bodies = [Node(f"= {clip(f'{other} - $')};", e[0]), Node(f"= {clip(f'{half} {target}{at} - {other} + $')};", e[1])]
            yield Node(f"sweep {name}({target})$ along {d} {'up' if sign > 0 else 'down'} {{\n  first $\n  next $\n}}", self.region(box, False), *bodies, declares=[name])

    def swept(self, lines):
        """The stencils with sweeps between and behind them."""
        own, plain = self.sweeps, [f for f in self.fields.values() if f.kind == "" and not f.thin]
        for line in lines:
            yield line
            if self.has_sweeps and plain and line.form.startswith(("stencil", "inject")) and own.random() < 0.4:
                yield from self.with_beside(self.sweep(own.sample(plain, 2) if len(plain) > 1 and own.random() < 0.4 else [own.choice(plain)]))
        if self.swept_pair:
            yield from self.pair()
        if self.has_sweeps and plain:
            yield from self.with_beside(self.sweep([own.choice(plain)]))

    def with_beside(self, sweep):
        """The sweep, now and then with stencils before and behind it, on its points, that look only at the point."""
        for line in [None, sweep, None]:
            if line or self.sweeps.random() < 0.4:
                line = line or self.here(self.swept_box)
            if line:
                yield line

    def here(self, box):
        """A stencil that looks only at the point, on these points; None if there is no field for it."""
        own, inside = self.sweeps, lambda f: not f.thin and not f.lacks and all(f.box[e][end] <= box[e][end + 1] for e in range(self.rank) for end in (0, 1))
        targets = [f for f in self.fields.values() if f.kind == "" and inside(f) and f.type not in ("bool", "f16", "bf16", "i8", "i16", "u8", "u16") and not isinstance(f.type, (Vector, Struct))]
        if not targets:
            return None
        t = own.choice(targets)
        others = [f for f in self.fields.values() if f.type == t.type and f.readable and inside(f) and not f.written]
        other, name = own.choice(others), f"sw{self.nsweeps}"
        self.nsweeps += 1
        self.names.append(name)
        e = self.value(t.type, Place(box, fields=False, arrays=False), 1)
        form = f"max({t.type}(-4.0), min({t.type}(4.0), {t.type}(0.5) * {t.name} - {t.type}(0.25) * {other.name} + $))" if t.type[0] == "f" else f"{t.name} / {t.type}(2) - {other.name} + $"
        return Node(f"stencil {name}({t.name})$ = $;", self.region(box, False), Node(form, e, type=t.type), declares=[name])

    def sweep(self, targets, whole=False):
        """A sweep of these targets along some dimension; `whole`: every target gets a value at all of its points."""
        own, name, d = self.sweeps, f"sw{self.nsweeps}", self.sweeps.randrange(self.rank)
        self.nsweeps += 1
        self.swept_dims.add(d)
        targets = sorted(targets, key=lambda f: f.name)
        sign, first = own.choice([1, -1]), own.choice([1, 1, 1, 2, 3, 4])
        edge = lambda e, end: max(t.box[e][end] for t in targets) + (0 if whole else own.choice([0, 0, 0, 1]))
        box = [("all", edge(e, 0), edge(e, 1)) for e in range(self.rank)]
        self.demand(d, box[d][1] + box[d][2] + first)
        self.swept_box = box
        before, depth = [t.readable for t in targets], own.choice([0, 1, 2])
        for t in targets:
            t.readable = False
        begins = self.sweep_body(targets, box, depth, lambda t, e: e)
        back = lambda: self.offset_along(d, -sign * own.randint(1, first))
        beside = lambda t: self.beside(t, d, sign) if not whole and t.rule and own.random() < 0.6 else None
        goes_on = self.sweep_body(targets, box, depth, lambda t, e: self.joined(t, e, f"{own.choice(targets if own.random() < 0.3 else [t]).name}", back(), beside(t)))
        for t, was in zip(targets, before):
            t.readable = was
        self.names.append(name)
        region = self.at_wet(self.region(box), targets) if not whole else self.region(box)
        number = f"first {first} " if first > 1 else "first "
        head = f"sweep {name}({', '.join(t.name for t in targets)})$ along {d} {'up' if sign > 0 else 'down'} {{\n  {number}$\n  next $\n}}"
        return Node(head, region, begins, goes_on, declares=[name])

    def sweep_body(self, targets, box, depth, of):
        """The block, or the one value, of some layers: each target gets of(target, a value that reads none of them)."""
        place = Place(box)
        values = [(t, of(t, self.value(t.type, place, depth))) for t in targets]
        if len(values) == 1 and self.sweeps.random() < 0.5:
            return Node("= $;", values[0][1])
        return Node("{ $ }", List([Node(f"{t.name} = $;", e) for t, e in values], " ", 1))

    def offset_along(self, d, o):
        return "[" + ", ".join(str(o if e == d else 0) for e in range(self.rank)) + "]"

    def beside(self, t, d, sign):
        """A read of target `t` that is not behind: ahead, or beside the point."""
        own = self.sweeps
        offsets = [sign * own.choice([0, 1, 1, 2]) if e == d else own.choice([0, 0, 1, -1]) for e in range(self.rank)]
        return f"{t.name}[{', '.join(map(str, offsets))}]"

    def joined(self, t, e, other, back, beside):
        """What target `t` becomes of the value `e`, of what the sweep left behind of the target called `other`, and of what was before it at `beside` (None: nothing)."""
        if self.fields[other].type != t.type:
            other = t.name
        behind, type = other + back, computed(t.type)
        if type != t.type and isinstance(t.type, Vector):
            return Node(behind, type=t.type)
        if isinstance(t.type, (Vector, Struct)) or t.type in ("bool", "f16", "bf16", "i8", "i16", "u8", "u16") or self.sweeps.random() < 0.2:
            condition = f"idx({self.sweeps.randrange(self.rank)}) % 3 {self.sweeps.choice(['==', '!='])} {self.sweeps.choice([0, 1])}"
            least = f"if {condition} then {behind} else "
            return Node(least + (f"if idx(0) % 2 == 0 then {beside} else $" if beside else "$"), e, type=t.type)
        more = f" + {type}({'0.25' if type[0] == 'f' else '2'}) * {beside}" if beside else ""
        if type[0] == "f":
            return Node(f"max({type}(-4.0), min({type}(4.0), {type}(0.5) * {behind}{more} + {type}(0.25) * $))", e, type=type)
        return Node(f"{behind} / {type}(2){more} + $", e, type=type)

    def split_beside(self, option):
        """The option, which says in how many parts the grid is cut, for a cut that leaves sweeps whole; "" if none is left."""
        parts, slash, every = option[8:].partition("/")
        parts = ["1" if d in self.swept_dims else n for d, n in enumerate(parts.split("x"))]
        return "" if set(parts) == {"1"} else "--split=" + "x".join(parts) + slash + every

    def swept_runs(self, runs):
        """The runs, of a program with sweeps: none under a schedule with streamed tiles or of several steps a tile, none whose grid is cut along a sweep."""
        if not self.has_sweeps:
            yield from runs
            return
        own = self.sweeps
        for run in runs:
            left, words, gpu = one_step_a_launch(run, own, self.rank)
            words += ["-edges=apart"] * (gpu and "naive" not in " ".join(words) and own.random() < 0.3)
            left = [self.split_beside(o) if o.startswith("--split=") else o for o in left]
            if "" not in left:
                yield left + words
