"""Repeats: rounds of some of the stencils, sweeps, injects and updates of a step; one program in four has them, but for those that suit pipelines of warps, and those with layers. Their chances are of their own, so that all other programs stay what they are."""
import random
import re

from tree import List, Node


def written(line):
    """The fields that a line of the step writes."""
    found = re.match(r"(?:stencil|sweep|inject) \w+\(([^)]*)\)", line.text())
    return set(re.findall(r"\w+", found[1])) if found else set()


def mentions(line, name):
    return re.search(rf"\b{name}\b", line.text()) is not None


class Rounds:
    """The part of the Generator that makes them. self.rounding: the chances."""

    def start_rounds(self, seed):
        self.rounding = random.Random(seed * 2 + 31)
        self.has_rounds, self.repeats = self.rounding.random() < 1 / 4 and not self.plain, 0

    def rounded(self, lines):
        """The lines of a step, some of which are rounds of a repeat, or two."""
        lines = list(lines)
        if not self.has_rounds or self.layered or self.absorbing or any(re.search("@[1-9]", line.text()) for line in lines):
            return lines
        older = [name for name, _, _, steps in self.macros if steps]
        if any(mentions(line, name) for name in older for line in lines):
            return lines
        for _ in range(self.rounding.choice([1, 1, 2])):
            lines = self.wrapped(lines, lines, 1)
        order = [name for line in lines for name in re.findall(r"(?:stencil|sweep|inject) (\w+)\(", line.text())]
        self.names = [name for name in order if name in self.names] if self.repeats else self.names
        return lines

    def suits(self, some, lines):
        """Can these of the lines be rounds? Temp fields that they write belong to them."""
        if not all(line.text().startswith(("stencil", "sweep", "inject", "update")) for line in some):
            return False
        temps = {n for line in some for n in written(line) if n not in self.fields or self.fields[n].kind == "temp"}
        return not any(mentions(line, t) for t in temps for line in lines if not any(line is s for s in some))

    def wrapped(self, lines, all_lines, depth):
        """The lines, some of them in a repeat, if that can be."""
        own = self.rounding
        for _ in range(6):
            i = own.randrange(len(lines))
            j = own.randint(i + 1, len(lines))
            some = lines[i:j]
            if self.suits(some, all_lines):
                return lines[:i] + [self.repeat(some, all_lines, depth)] + lines[j:]
        return lines

    def repeat(self, some, all_lines, depth):
        own, name = self.rounding, self.new_name("o")
        self.repeats += 1
        if depth < 2 and own.random() < 0.4:
            some = self.wrapped(some, all_lines, depth + 1)
        some = some + list(self.of_rounds(some))
        most = own.choice(["0", "1", "1", "2", "3", "3", "5", "min(N, 2)"])
        between = "\n" + "  " * depth
        return Node(f"repeat {name} up to {most} {{{between}${between[:-2]}}}", List(some, between, 1), declares=[name])

    def of_rounds(self, some):
        """What reads the number of the round, and looks at what the rounds have made."""
        own = self.rounding
        names = sorted({n for line in some for n in written(line) if n in self.fields and self.fields[n].kind == "" and str(self.fields[n].type) in ("f32", "f64")})
        names = [n for n in names if not self.fields[n].thin]
        if self.kept and own.random() < 0.4:
            kept, type = own.choice(self.kept)
            yield Node(f"update {kept} = min(max({kept} + {type}(round), {type}(-50)), {type}(50));")
        if not names:
            return
        name = own.choice(names)
        type = str(self.fields[name].type)
        if own.random() < 0.4:
            self.names.append(self.new_name("s"))
            yield Node(f"stencil {self.names[-1]}({name})[{name}] = 0.5 * {name} + {type}(round);", declares=[self.names[-1]])
        if own.random() < 0.3:
            yield Node(f"reduce {self.new_name('t')} = sum({name}) over {name} every {own.choice([1, 2])};")
        if own.random() < 0.6:
            yield Node(f"until {own.choice(['max', 'min'])}({name}) over {name} {own.choice(['<', '>'])} {own.choice(['0.5', '-1.0', '3.0'])} every {own.choice([1, 1, 2, 3])};")
