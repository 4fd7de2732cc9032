"""Functions, and the statements of their blocks and of stencils': var, for, if."""
from model import SCALARS, Place, Struct, Vector, components, computed, is_plain
from tree import List, Node


class Statements:
    """The part of the Generator that makes them."""

    def function(self):
        """A function, which is known from then on."""
        r, name = self.r, self.new_name("g")
        types = SCALARS + [computed(t) for t in self.types] * 2
        parameters = [(self.new_name("x"), r.choice(types)) for _ in range(r.choice([1, 2, 2, 3]))]
        result, place = r.choice(types), Place([("all", 0, 0)] * self.rank, values=parameters, fixed=True, macros=False, step=False, points=False, fields=False)
        head = f"fn {name}({', '.join(f'{n} : {t}' for n, t in parameters)}) : {result} "
        if r.random() < 0.3:
            node = Node(head + "= $;", self.value(result, place, 3), declares=[name])
        else:
            lines = self.statements(place, r.choice([1, 2, 3]))
            node = Node(head + "{ $ return $; }", List(lines), self.value(result, place, 2), declares=[name])
        self.functions.append((name, [t for _, t in parameters], result))
        return node

    def call(self, type, place, depth):
        """A call of a function that gives a value of that type; None if there is none, or by chance."""
        found = [f for f in self.functions if f[2] == type]
        if not found or self.r.random() > 0.15:
            return None
        name, types, _ = self.r.choice(found)
        arguments = [self.any_value(t, place, min(depth - 1, 2)) for t in types]
        return Node(f"{name}({', '.join('$' * len(types))})", *arguments, type=type)

    def any_value(self, type, place, depth):
        """An expression of any type."""
        return self.vector(type, place, depth) if isinstance(type, (Vector, Struct)) else self.expr(type, place, depth)

    def statements(self, place, n, depth=2):
        """n statements, which may add names to `place`; blocks nest to `depth`."""
        return [self.statement(place, depth) for _ in range(n)]

    def statement(self, place, depth):
        k = self.r.random()
        if not place.vars or k < 0.15:
            return self.var(place)
        if k < 0.25:
            return self.let(self.some_type(), place)
        if k < 0.4 and depth > 0 and len(place.loops) < 2:
            return self.loop(place, depth)
        if k < 0.6 and depth > 0:
            return self.branch(place, depth)
        return self.assign(place)

    def some_type(self):
        return self.r.choice(SCALARS + [computed(t) for t in self.types] * 2)

    def var(self, place):
        """A var. From there on lets may hang on it, so that they do not move."""
        name, type = self.new_name("y"), self.some_type()
        if self.r.random() < 0.1 and "bool" not in type and (not isinstance(type, (Struct, Vector)) or is_plain(type)):
            node = Node(f"var {name} : {type};", declares=[name])
        else:
            node = Node(f"var {name} : {type} = $;", self.value(type, place, 2), declares=[name])
        place.values.append((name, type))
        place.vars.append((name, type))
        place.fixed = True
        return node

    def assign(self, place):
        """A new value of a var, or of a component of one."""
        name, type = self.r.choice(place.vars)
        path, part = self.r.choice([("", type)] + components(type))
        if path and is_plain(type) and place.loops:
            path = self.running_path(type, place) or path
        return Node(f"{name}{path} = $;", self.value(part, place, 2))

    def loop(self, place, depth):
        """A for; its variable is a constant in the block."""
        r, name, first = self.r, self.new_name("j"), self.r.choice([-1, 0, 0, 1])
        last = first + r.choice([-1, 0, 1, 1, 2])
        inner = place.within(loops=place.loops + [(name, first, max(first, last))], fixed=True)
        lines = self.statements(inner, r.choice([1, 2]), depth - 1)
        return Node(f"for ({name} in {first} .. {last}) {{ $ }}", List(lines), declares=[name], smaller=[Node("$", List(lines))])

    def branch(self, place, depth):
        """An if, with else or without. Where there is a variable of a loop it may be decided when compiling."""
        r = self.r
        block = lambda: List(self.statements(place.within(fixed=True), r.choice([1, 2]), depth - 1))
        condition = Node(f"{r.choice(place.loops)[0]} == {r.choice([0, 1])}") if place.loops and r.random() < 0.4 else self.expr("bool", place, 1)
        blocks = [block()]
        form = "if $ { $ }"
        if r.random() < 0.5:
            blocks.append(block())
            form += " else { $ }"
        if r.random() < 0.2 and len(blocks) == 2:
            return Node("if $ { $ } else if $ { $ }", condition, blocks[0], self.expr("bool", place, 1), blocks[1], smaller=[Node("$", b) for b in blocks])
        return Node(form, condition, *blocks, smaller=[Node("$", b) for b in blocks])
