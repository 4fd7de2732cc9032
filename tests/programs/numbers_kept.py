"""Scalars that are kept from step to step, and their updates between stencils: one program in six has them, but for those that suit pipelines of warps, which updates would end. Their chances are of their own, so that all other programs stay what they are."""
import random

from model import Place
from tree import Node

CLIPPED = {"f64": "min(max($, -50.0), 50.0)", "i64": "min(max($, -1000), 1000)"}


class Numbers:
    """The part of the Generator that makes them. self.numbers: the chances; self.kept: names and types of the scalars."""

    def start_numbers(self, seed):
        self.numbers = random.Random(seed * 2 + 27)
        self.has_kept, self.kept = self.numbers.random() < 1 / 6 and not self.plain, []

    def kept_lines(self):
        """Their declarations, behind all that cannot read them."""
        own = self.numbers
        for _ in range(own.choice([1, 2, 2, 3]) if self.has_kept else 0):
            name, type = self.new_name("k"), own.choice(["f64", "f64", "i64"])
            first = own.choice(["0.5", "-1.0", "3"] if type == "f64" else ["0", "7", "-2"])
            written = f" : {type}" if type == "f64" and "." not in first or own.random() < 0.7 else ""
            yield Node(f"scalar {name}{written} = {first};", declares=[name])
            self.kept.append((name, type))
        self.params += self.kept

    def numbered(self, lines):
        """The stencils with updates before, between and behind them."""
        own = self.numbers
        for line in lines:
            if self.kept and own.random() < 0.35:
                yield from self.updates()
            yield line
        if self.kept and own.random() < 0.6:
            yield from self.updates()

    def updates(self):
        """One or a few updates."""
        own = self.numbers
        for _ in range(own.choice([1, 1, 2])):
            name, type = own.choice(self.kept)
            kind = own.random()
            if kind < 0.4:
                alone = Place([("all", 0, 0)] * self.rank, macros=False, points=False, fields=False, arrays=False)
                yield Node(f"update {name} = {CLIPPED[type]};", self.expr(type, alone, own.choice([1, 2, 3])), smaller=[Node(f"update {name} = {name} + 1;")])
            elif kind < 0.7:
                other = own.choice(["0.25 * ", "1.0 / (2.0 + ", "-"]) if type == "f64" else own.choice(["2 * ", "3 - ", "-"])
                part = Node("$" + ")" * other.count("("), self.over_fields(type))
                yield Node(f"update {name} = {CLIPPED[type]};", Node(f"{other}($)", part), smaller=[Node(f"update {name} = {name} + 1;")])
            else:
                yield Node(f"update {name} = $;", self.over_fields(type))
                yield Node(f"update {name} = {CLIPPED[type].replace('$', name)};")

    def over_fields(self, type):
        """OP(...) over REGION of what fields are within the step."""
        fields, macros = self.fields, self.macros
        self.fields = {n: f for n, f in fields.items() if f.kind not in ("temp", "past") and not f.series}
        self.macros = []
        part = self.over_region(type if self.numbers.random() < 0.5 else {"f64": "f32", "i64": "i32"}[type])
        self.fields, self.macros = fields, macros
        return part

    def ends_of_kept(self):
        """What is looked at of them after steps."""
        own = self.numbers
        if not self.kept:
            return
        every = lambda: own.choice(["", f" every {own.choice([1, 2, 3])}"])
        if own.random() < 0.4:
            name, type = own.choice(self.kept)
            yield Node(f"reduce {self.new_name('t')} = {name} every {own.choice([1, 2, 3])};")
        if own.random() < 0.4:
            name, type = own.choice(self.kept)
            limit = own.choice(["20.0", "-3.0", "1.5"] if type == "f64" else ["30", "-4", "9"])
            more = f" || {own.choice(self.kept)[0]} == 7" if own.random() < 0.3 else ""
            yield Node(f"until {name} {own.choice(['<', '<=', '>', '>=', '=='])} {limit}{more}{every()};", smaller=[Node(f"until {name} > {limit};")])
