"""Tables and launch-time arrays of two indices, lookup in those of one and of two, and fields at offsets that depend on data: one random program in ten has a field that is made by
them, which nothing else reads."""
import random
import re

from tree import List, Node


class Looked:
    """What is looked up in, and the values that are, of the type `real`."""

    def __init__(self, own, rank, extent):
        self.own, self.rank, self.extent, self.real = own, rank, extent, own.choice(["f32", "f32", "f64"])
        self.sides, self.given, self.lines = {}, [], []
        self.far = [own.choice([0, 1, 1, 2, 3][:6 - self.rank - (self.rank > 2)]) for _ in range(self.rank)]
        for name in ("look7", "look8", "look9")[:own.choice([1, 2, 3])]:
            self.table(name)

    def table(self, name):
        """Declares a table or an array of one index or two."""
        own, wide = self.own, self.own.random() < 0.7
        sides = [own.choice([1, 2, 3, 5]) for _ in range(1 + wide)]
        type = self.real if own.random() < 0.8 else own.choice(["i64", "i32"])
        if own.random() < 0.5:
            typed = own.random() < 0.5 or type[0] == "i"
            values = [str(own.choice([1, -2, 3, 5, 0] if type[0] == "i" else [0.5, -1, 2, 0.1, -0.75])) for _ in range(sides[0] * sides[-1] if wide else sides[0])]
            rows = ["{" + ", ".join(values[i * sides[1]:(i + 1) * sides[1]]) + "}" for i in range(sides[0])] if wide and own.random() < 0.7 else values
            self.lines.append(Node(f"const {name}[{', '.join(map(str, sides))}]{f' : {type}' if typed else ''} = {{{', '.join(rows)}}};", declares=[name]))
        else:
            stored = own.choice(["f16", "bf16"]) if self.real == "f32" and type == "f32" and own.random() < 0.2 else type
            lengths = [own.choice([str(n), self.extent, f"{self.extent} + {n}", f"max({self.extent}, {n}) / 2 + 1"]) for n in sides]
            self.lines.append(Node(f"param {name}[{', '.join(lengths)}] : {stored};", declares=[name]))
            self.given.append((name, f"random:{own.randrange(99)}"))
        self.sides[name] = (1 + wide, type)

    def off(self):
        return "Z5[" + ", ".join(str(self.own.choice([0, 0, 1, -1])) for _ in range(self.rank)) + "]"

    def index(self, steps):
        d = self.own.randrange(self.rank)
        return self.own.choice(["0", f"idx({d})", f"idx({d}) % 4", f"idx({d}) - 2", f"i64(3 * {self.off()})"] + ["step", "step % 3"] * steps)

    def place(self):
        own, real = self.own, self.real
        return own.choice([self.off(), f"2.5 * {self.off()}", f"{real}(idx({own.randrange(self.rank)})) * 0.37 - 1", "0.75", "1", f"abs({self.off()}) - 0.5", f"moved5({self.off()})", f"{real}(0) / ({self.off()} - {self.off()})"])

    def within(self):
        """The words behind offsets that depend on data."""
        return "within " + (str(max(self.far)) if self.own.random() < 0.5 else f"[{', '.join(map(str, self.far))}]")

    def near(self, steps):
        """The field at such offsets, or between points."""
        own = self.own
        if own.random() < 0.5:
            return f"Z5[[{', '.join(self.index(steps) for _ in range(self.rank))}] {self.within()}]"
        of = own.choice(["Z5", self.off(), f"Z5 * {self.off()}"])
        return f"at({of}, {', '.join(self.place() for _ in range(self.rank))}, {self.within()})"

    def value(self, steps=True):
        own, real = self.own, self.real
        if own.random() < 0.3:
            return self.near(steps)
        name = own.choice(list(self.sides))
        n, type = self.sides[name]
        if type == real and own.random() < 0.6:
            return f"lookup({name}, {', '.join(self.place() for _ in range(n))})"
        value = f"{name}[{', '.join(self.index(steps) for _ in range(n))}]"
        return f"{real}({value})" if type != real else value


def with_looked(case, seed):
    """The case, or one in ten with such a field, its init, and a stencil of it."""
    own = random.Random(seed * 2 + 59)
    lines, text, rank = case.tree.parts[0], case.tree.text(), len(case.sizes)
    at = next((i for i, x in enumerate(lines.items) if x.form.startswith("grid G")), None)
    if own.random() > 0.1 or at is None:
        return case
    at += any(x.form.startswith("members") for x in lines.items[at + 1:at + 2])
    x = Looked(own, rank, "N" if re.search(r"\bparam N\b", text) else "4")
    x.lines.append(Node(f"op moved5(X) = {x.value(False)} + X;") if own.random() < 0.5 else Node("op moved5(X) = 0.5 * X;"))
    for line in x.lines[-1:]:
        line.form = line.form.replace("moved5(Z5", "(Z5")
    rule = own.choice(["clamp", "periodic", "0", "mirror", "mirror odd"])
    ready = [Node(f"field Z5 : {x.real} on G outside {rule};", declares=["Z5"])] + x.lines
    top = " + ".join(x.value() for _ in range(own.choice([1, 2, 3])))
    ready.append(Node(f"init zz5(Z5)[G] = 0.25 * {x.real}(idx(0) % 5) + 0.125 * {x.real}(idx({rank - 1}) % 7) - 0.5;"))
    behind = [Node(f"stencil zz6(Z5)[G] = 0.5 * Z5 + 0.0625 * ({top});")]
    tree = Node("$\n", List(lines.items[:at + 1] + ready + lines.items[at + 1:] + behind, lines.between, lines.least))
    runs = [[o for o in run if not re.match(r"-fuse=.*[+,]", o)] for run in case.runs]
    return case.changed(tree=tree, inputs=case.inputs + x.given, outputs=case.outputs + ["Z5"], runs=runs)
