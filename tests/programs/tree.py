"""Program text as trees, so that it can be cut down piece by piece."""


class Node:
    """A piece of text. form: the text, with `$` where a part goes; parts: Nodes and Lists. type: of an expression, else None. smaller: Nodes that may stand in its place.
    declares: names that are known because this piece is there."""
    __slots__ = ("form", "parts", "type", "smaller", "declares")

    def __init__(self, form, *parts, type=None, smaller=(), declares=()):
        self.form, self.parts, self.type, self.smaller, self.declares = form, list(parts), type, list(smaller), tuple(declares)
        assert form.count("$") == len(parts), (form, len(parts))

    def text(self):
        pieces = self.form.split("$")
        return pieces[0] + "".join(part.text() + piece for part, piece in zip(self.parts, pieces[1:]))


class List:
    """Pieces of text that may be left out, but for the last `least` that are left; `between` stands between them."""
    __slots__ = ("items", "between", "least")

    def __init__(self, items, between=" ", least=0):
        self.items, self.between, self.least = list(items), between, least

    def text(self):
        return self.between.join(item.text() for item in self.items)


def copy(tree):
    """The tree again, sharing nothing that may be changed."""
    if isinstance(tree, List):
        return List([copy(i) for i in tree.items], tree.between, tree.least)
    return Node(tree.form, *[copy(p) for p in tree.parts], type=tree.type, smaller=tree.smaller, declares=tree.declares)


def declared(tree):
    """All names that the tree declares."""
    parts = tree.items if isinstance(tree, List) else tree.parts
    names = set() if isinstance(tree, List) else set(tree.declares)
    return names.union(*(declared(p) for p in parts))


def below(tree):
    """All Nodes in the tree but itself, outermost first."""
    level = [tree]
    while level:
        level = [p for t in level for p in (t.items if isinstance(t, List) else t.parts)]
        yield from (p for p in level if isinstance(p, Node))


def substitutes(node, literals):
    """Smaller pieces of text that may stand in place of `node`, least first; `literals`: the simplest expression of each type."""
    if node.type is not None:
        text = node.text()
        if literals.get(node.type) not in (None, text):
            yield Node(literals[node.type], type=node.type)
        yield from sorted((copy(n) for n in below(node) if n.type == node.type), key=lambda n: len(n.text()))
    yield from (copy(s) for s in node.smaller)


def edits(tree, literals):
    """All smaller trees that one edit makes of `tree`, those that leave out most first: lists without some items, nodes with a substitute."""
    found = []

    def visit(t, rebuild):
        if isinstance(t, List):
            n, size = len(t.items), len(t.items) // 2
            while size >= 1:
                for i in range(0, n, size):
                    rest = t.items[:i] + t.items[i + size:]
                    if len(rest) >= t.least:
                        found.append((sum(len(x.text()) for x in t.items[i:i + size]) + 1, lambda rest=rest: rebuild(List(rest, t.between, t.least))))
                size //= 2
            for i, item in enumerate(t.items):
                visit(item, lambda x, i=i: rebuild(List(t.items[:i] + [x] + t.items[i + 1:], t.between, t.least)))
            return
        length = len(t.text())
        for s in substitutes(t, literals):
            gain = length - len(s.text())
            if gain > 0 or (gain == 0 and s.text() < t.text() and t.type is None):
                found.append((gain, lambda s=s: rebuild(s)))
        for i, part in enumerate(t.parts):
            def put(x, i=i):
                return rebuild(Node(t.form, *t.parts[:i], x, *t.parts[i + 1:], type=t.type, smaller=t.smaller, declares=t.declares))
            visit(part, put)

    visit(tree, lambda x: x)
    found.sort(key=lambda f: -f[0])
    return [make for _, make in found]
