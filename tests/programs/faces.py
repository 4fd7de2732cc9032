"""Values that take long and are needed at points beside each other, such as fluxes at the faces of a cell, which passes compute once. Their chances are of their own."""
from model import computed
from tree import Node


class Faces:
    """The part of the Generator that makes them. self.chances are of its own; self.faces: the macros, each with how far it moves its argument down and up in each dimension."""

    def at(self, off):
        """The offset in brackets."""
        return "[" + ", ".join(map(str, off)) + "]"

    def face_lines(self):
        """Macros of a value at a point, of one between it and the next along some dimension, and of differences of these; in four of ten programs, if it has floats to put them in."""
        own, name = self.chances, lambda: self.new_name("m")
        if not {"f32", "f64"} & set(map(computed, self.mix)) or own.random() > 0.4:
            return
        cell, flux = name(), name()
        of_cell, far = f"sqrt(abs(X)) / (1.0 + abs(X)) * (0.5 + X * X) / (3.0 + abs(X))", own.choice([1, 1, 1, 2])
        yield Node(f"op {cell}(X) = {of_cell};", declares=[cell], smaller=[Node(f"op {cell}(X) = X;", declares=[cell])])
        d = own.randrange(self.rank)
        e = [own.choice([1, 1, -1]) if k == d else own.choice([0, 0, 0, 1]) for k in range(self.rank)]
        x = f"X{self.at(e)}"
        between = own.choice([f"({cell}(X) - {cell}({x})) / (2.0 + abs(X - {x}))", f"(X - {x}) / (2.0 + abs(X)) * sqrt(abs({x})) / (1.0 + abs(X - {x}))", f"{cell}(X) * {x}"])
        yield Node(f"op {flux}(X) = {between};", declares=[flux], smaller=[Node(f"op {flux}(X) = X - {x};", declares=[flux])])
        for _ in range(own.choice([1, 1, 2])):
            both, moved = name(), [-far * k for k in e]
            body = own.choice([f"{flux}(X) - {flux}(X){self.at(moved)}", f"{flux}(X) - {flux}(X{self.at(moved)})", f"{cell}({x}) * X - {cell}(X) + {cell}(X{self.at(moved)})"])
            reach = [(max(0, -k, far * k), max(0, k, -far * k)) for k in e]
            self.faces.append((both, reach))
            yield Node(f"op {both}(X) = {body};", declares=[both], smaller=[Node(f"op {both}(X) = X;", declares=[both])])

    def assigned(self, target, place, depth):
        """What the target gets; mostly with such a difference, if it is a float and there are some."""
        own, type = self.chances, computed(target.type)
        if not self.faces or type not in ("f32", "f64") or target.type != type or own.random() < 0.2:
            return self.value(target.type, place, depth)
        e = self.value(target.type, place, min(depth, 2))
        for name, reach in own.sample(self.faces, own.choice([1, len(self.faces)])):
            argument = self.argument(place, reach, 0)
            x = self.access(type, argument) if own.random() < 0.7 else None
            x = x or self.expr(type, argument, 1)
            e = Node(f"($ + {own.choice(['0.1', '0.5', '-0.3'])} * {name}($))", e, x, type=type)
        return Node("max(-4.0, min(4.0, $))", e, type=type)
