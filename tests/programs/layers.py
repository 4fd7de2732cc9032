"""Layers at the edges of the grid, such as absorbing ones: fields on a thin region along a side, written in place, which pieces along that side read. Tiles of several steps leave them to a frame. Their
chances are of their own."""
import random

from model import Field, Place
from tree import List, Node

WIDE, THIN = "AB", "DEFH"   # names of fields


class Layers:
    """The part of the Generator that makes programs of them. self.edges are the chances; self.layered: is this one?"""

    def layered_field(self, name, rule, attributes, thin=None):
        """Declares a field."""
        own = self.edges
        type = own.choice([t for t in self.mix if t != "bool"])
        self.fields[name] = f = Field(name, type, [(0, 0)] * self.rank, rule, "")
        f.thin = thin
        attributes = [Node(f"outside {own.choice(self.constants_of(type))}" if rule == "constant" else f"outside {rule}")] * bool(rule) + attributes
        attributes += [self.history(f, own.choice([1, 1, 1, 2]))] if not thin and own.random() < 0.4 else []
        attributes += [Node("on $", self.region(self.points_of(f), False))] if thin else []
        return Node(f"field {name} : {type} $;", List(attributes), declares=[name])

    def layered_fields(self):
        """One or two fields on the grid, an input field now and then, and a field for each layer."""
        own = self.edges
        lines = [self.layered_field(name, own.choice(["", "constant", "constant", "clamp", "mirror"]), []) for name in WIDE[:own.choice([1, 1, 2])]]
        if own.random() < 0.4:
            lines.append(Node("field C : f32 input;", declares=["C"]))
            self.fields["C"] = Field("C", "f32", [(0, 0)] * self.rank, "", "input")
        sides = [(d, end) for d in range(self.rank) for end in ("low", "high")]
        for name, (d, end) in zip(THIN, own.sample(sides, min(len(sides), own.choice([1, 2, 2, 3, 4])))):
            n = own.choice([1, 2, 2, 3, 4])
            self.demand(d, n)
            lines.append(self.layered_field(name, own.choice(["", "constant"]), [], (d, end, n)))
        return lines

    def hide_layers(self):
        """Has what is not along a side seldom read the fields of layers from here on, for tiles inside cannot."""
        for name in THIN:
            if self.layered and name in self.fields:
                self.fields[name].readable = self.edges.random() < 0.1

    def eased(self, field, e):
        """What `field` gets of its own value and of `e`."""
        t = field.type
        form = f"max({t}(-4.0), min({t}(4.0), {t}(0.5) * {field.name} + {t}(0.25) * $))" if t[0] == "f" else f"{field.name} / {t}(2) + $"
        return Node(form, e, type=t)

    def layer_piece(self, target, layer, e):
        """The piece along the layer's side that sets `target`, whose value is at this point alone, with e(place), which does not read it."""
        box = self.points_of(layer)
        before, target.readable = target.readable, False
        value = self.eased(target, e(Place(box)))
        target.readable = before
        return Node("$ { $ }", self.region(box), Node(f"{target.name} = $;", value))

    def layer_stencils(self, layers, targets, e):
        """Stencils that set the target of each layer, those of two sides now and then one stencil."""
        own, layers = self.edges, list(zip(layers, targets))
        while layers:
            (layer, target), *layers = layers
            pieces, names = [self.layer_piece(target, layer, lambda place: e(place, layer, target))], [target.name]
            for other, its in list(layers):
                if len(pieces) == 1 and other.thin[0] == layer.thin[0] and own.random() < 0.5:
                    self.demand(layer.thin[0], layer.thin[2] + other.thin[2])
                    pieces.append(self.layer_piece(its, other, lambda place: e(place, other, its)))
                    names += [its.name] if its.name not in names else []
                    layers.remove((other, its))
            self.names.append(self.new_name("s"))
            head = List([Node(n) for n in sorted(names)], ", ", 1)
            form = f"stencil {self.names[-1]}($) " + "{\n  $\n}" * (len(pieces) > 1) + "$" * (len(pieces) == 1)
            yield Node(form, head, List(pieces, "\n  ", 1) if len(pieces) > 1 else pieces[0], declares=[self.names[-1]])

    def wide_stencil(self, f):
        """A stencil of `f` at all points that may read one beside them in each dimension, which it does."""
        own, edge = self.edges, 0 if f.rule else 1
        place = Place([("all", edge, edge)] * self.rank)
        for d in range(self.rank):
            self.demand(d, 2 * edge + 1)
        at = lambda d, o: f"{f.name}[" + ", ".join(str(o) if e == d else "0" for e in range(self.rank)) + "]"
        beside = " + ".join(at(d, o) for d in range(self.rank) for o in own.choice([(-1, 1), (-1, 1), (-1, 1), (1,)]))
        t = f.type
        form = f"max({t}(-4.0), min({t}(4.0), {t}(0.25) * ({beside}) - $))" if t[0] == "f" else f"({beside}) / {t}(4) - $"
        self.names.append(self.new_name("s"))
        return Node(f"stencil {self.names[-1]}({f.name})$ = $;", self.region(place.box), Node(form, self.value(t, place, own.choice([0, 1, 2])), type=t), declares=[self.names[-1]])

    def layered_stencils(self):
        """What makes the layers of the fields on the grid, and for each of these what makes it and what the layers change of it."""
        own = self.edges
        wide = [self.fields[name] for name in WIDE if name in self.fields]
        layers = [self.fields[name] for name in THIN if name in self.fields]
        yield from self.layer_stencils(layers, layers, lambda place, layer, target: self.value(target.type, place, 2))
        for f in wide:
            yield self.wide_stencil(f) if own.random() < 0.7 else self.named_stencil([f], f.rule != "" or own.random() < 0.3)
            if own.random() < 0.3:
                yield from self.inject_lines([f])
            chosen = layers if own.random() < 0.7 else [l for l in layers if own.random() < 0.7] or layers
            yield from self.layer_stencils(chosen, [f] * len(chosen), lambda place, layer, target: Node(f"{target.type}($)", self.access_to(layer, place) or Node(layer.name)))
            if own.random() < 0.5:
                yield from self.inject_lines([f])


def framed(runs, seed, layered):
    """Has runs whose tiles make several steps, on a GPU's kernels, make what layers reach step by step: most where there are layers, else a few, some of which have pieces at edges."""
    r = random.Random(seed * 2 + 23)
    tiled = lambda run: any(o.startswith("-T=") and o != "-T=1" for o in run) and not any(o.startswith(("--split=", "-march=host", "--device=host")) for o in run)
    return [[o for o in run if o != "-edges=apart"] + ["-edges=steps"] if tiled(run) and r.random() < (0.7 if layered else 0.1) else run for run in runs]
