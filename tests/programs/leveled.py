"""Levels of the grid: fields and stencils on each, and values of the next finer and the next coarser one. One program in six has them, behind its other stencils. Their chances are of their own, so that all other programs stay what they are."""
import random

from model import Place
from swept import one_step_a_launch
from tree import Node

RULES = ["", " outside mirror half odd", " outside mirror half odd", " outside mirror odd about 2", " outside clamp", " outside mirror", " outside mirror half", " outside periodic", " outside 2", " outside 2", " outside clamp"]


class Leveled:
    """The part of the Generator that makes them. self.leveled: the chances; self.has_levels: has the program any? self.deepest: the last of them."""

    def start_levels(self, seed):
        self.leveled = random.Random(seed * 2 + 39)
        self.has_levels = self.leveled.random() < 1 / 6 and not (self.plain or self.layered or self.absorbing)
        self.deepest = self.leveled.choice([1, 1, 2])
        if self.has_levels:
            self.origin = [0] * self.rank

    def level_lines(self):
        """The levels, their fields and inits."""
        if not self.has_levels:
            return
        own = self.leveled
        self.level_type, self.level_rule = own.choice(["f32", "f32", "f64", "i32", "i64"]), own.choice(RULES)
        t, last = self.level_type, self.deepest
        yield Node(f"levels LL = 0 .. {last} of G;", declares=["LL"])
        yield Node(f"field LX, LY : {t} on LL{self.level_rule};", declares=["LX", "LY"])
        small = "0.125 * " if t[0] == "f" else ""
        yield Node(f"each (l in 0 .. {last}) {{ init lvi(LX(l), LY(l))[LL(l)] {{ LX(l) = {small}{t}(idx(0) % 7 + l); LY(l) = {small}{t}(3 - idx({self.rank - 1}) % 5); }} }}", declares=["lvi"])

    def level_offset(self, lo, hi, inside):
        """An offset in brackets, by which reads stay in the field if its rule asks for that: from `inside` then."""
        free = self.level_rule
        return "[" + ", ".join(str(self.leveled.randint(lo, hi) if free else self.leveled.choice(inside)) for _ in range(self.rank)) + "]"

    def level_sum(self, *terms):
        """A sum of some of the terms that stays small."""
        t = self.level_type
        if t[0] == "f":
            return f"max({t}(-4.0), min({t}(4.0), " + " + ".join(f"{t}({w}) * {x}" for w, x in zip(["0.5", "-0.25", "0.375"], terms)) + "))"
        return " - ".join(f"{x} / {t}(2)" for x in terms)

    def fine(self, x):
        return f"fine({x}){self.level_offset(-2, 3, [0, 1])}"

    def coarse(self, x):
        return f"coarse({x}){self.level_offset(-1, 1, [0])}"

    def beside_level(self, x):
        return x + (self.level_offset(-1, 1, [0]) if self.level_rule else "")

    def level_stencils(self):
        """The stencils: to the coarsest level, rounds there, and back."""
        if not self.has_levels:
            return
        own, t, last = self.leveled, self.level_type, self.deepest
        e = self.value(t, Place([("all", 0, 0)] * self.rank, fields=False, arrays=False), 1)
        clip = f"max({t}(-4.0), min({t}(4.0), $))" if t[0] == "f" else "$"
        yield Node(f"stencil lvf(LX(0))[G] = {clip};", e, declares=["lvf"])
        both, apart = "", self.beside_level("LY(l)")
        if own.random() < 0.5 and self.level_rule:
            both = f" stencil lve(LX(l+1))[LL(l+1)] = {self.level_sum(f'fine(LX(l) - {apart})' + self.level_offset(-1, 1, [0]), 'LY(l+1)')};"
        every = " every 2" if own.random() < 0.2 else ""
        yield Node(f"each (l in 0 .. {last} - 1) {{ stencil lvd(LY(l+1))[LL(l+1)]{every} = {self.level_sum(self.beside_level('LY(l+1)'), self.fine('LX(l)'), self.fine('LX(l)'))};{both} }}", declares=["lvd"])
        if own.random() < 0.7:
            level, rounds = own.choice([last, last, 1]), own.choice([1, 2, 3, 9])
            beside = [self.beside_level(f"LX({level})") for _ in range(2)] + [self.fine(f"LY({level - 1})") if own.random() < 0.4 else f"LY({level})"]
            yield Node(f"repeat lvr up to {rounds} {{ stencil lvs(LX({level}))[LL({level})] = {self.level_sum(*beside)}; }}", declares=["lvr"])
            self.repeats += 1
        yield Node(f"each (l in {last} - 1 .. 0 by -1) {{ stencil lvp(LX(l))[LL(l)] = {self.level_sum(self.beside_level('LX(l)'), self.coarse(own.choice(['LX(l+1)', 'LY(l+1)'])), self.coarse('LY(l+1)'))}; }}", declares=["lvp"])

    def level_sizes(self, sizes):
        """The sizes, multiples of what the levels need; the coarsest has as many points as reads that mirror reach."""
        by = 2 ** self.deepest
        least = 3 * by if self.has_levels and "odd" in self.level_rule else 1
        return [max(size + -size % by, least) for size in sizes] if self.has_levels else sizes

    def level_fields(self):
        return [f"{x}({l})" for x in ("LX", "LY") for l in range(self.deepest + 1)] if self.has_levels else []

    def leveled_runs(self, runs):
        """The runs, of a program with levels: none whose parts take turns, none under a schedule with streamed tiles or of several steps a tile."""
        if not self.has_levels:
            yield from runs
            return
        for run in runs:
            left, words, _ = one_step_a_launch(run, self.leveled, self.rank)
            if not any(o.startswith("--memory=") for o in run):
                yield left + words
