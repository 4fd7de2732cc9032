"""Inits: of single fields, or in chains, each of which may read what was given or set before."""
import random


class Inits:
    """The part of the Generator that makes them."""

    def init_lines(self):
        """Inits of some of the fields. In two programs of five they read others; the choices of those are of their own, so that the rest of the program stays what it is."""
        r, chances = self.r, random.Random(self.seed * 2 + 11)
        for f in self.fields.values():
            f.readable = False
        if chances.random() < 0.4:
            self.r = chances
            lines = list(self.chain_lines())
            self.r = r
        else:
            lines = [self.init([f], r.random() < 0.5) for f in self.fields.values() if f.kind != "temp" and r.random() < 0.25]
        for f in self.fields.values():
            f.readable = f.kind != "temp"
        return lines

    def init(self, targets, whole):
        """An init, behind which its targets can be read."""
        line = self.stencil(self.new_name("n"), targets, whole, "init")
        for f in targets:
            f.readable = not f.masked
        return line

    def chain_lines(self):
        """Inits of most fields, in any order, some of two, some again of a field that is set. They may read fields that have none, which are given, and those that are set by then."""
        r, kept = self.r, [f for f in self.fields.values() if f.kind != "temp"]
        chosen = [f for f in kept if r.random() < 0.65] or kept[:1]
        r.shuffle(chosen)
        for f in kept:
            f.readable = f not in chosen and f.kind != "past" and not f.masked
        chosen += [r.choice(chosen) for _ in range(r.choice([0, 0, 1, 2]))]
        while chosen:
            pair = len(chosen) > 1 and chosen[0] is not chosen[1] and r.random() < 0.2
            targets, chosen = (chosen[:2], chosen[2:]) if pair else (chosen[:1], chosen[1:])
            yield self.init(targets, r.random() < 0.6)
