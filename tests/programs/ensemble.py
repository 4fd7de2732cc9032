"""Programs with members: one in fourteen random programs is several in one."""
import random
import re

from model import EXTENT
from tree import List, Node

# Options that say how many threads or points tiles have, which has one dimension more.
SHAPES = ("-block=", "-elems=")
# Schedules whose tiles are not those of a grid of one dimension more.
OTHERS = ("-schedule=stream", "-schedule=warps", "-tiles=lanes")


def in_members(run, own, rank, whole):
    """The options of a run: where there may be tiles of one member, those that a run without members has, or else for a grid of one dimension more. Of three dimensions there are no others. Parts are cut by members alone where the rest is to be `whole`, or parts of three dimensions take turns."""
    members_alone = lambda options: [re.sub(r"=[\dx]*", f"={own.choice([1, 2, 3])}", o, count=1) if o.startswith("--split=") else o for o in options]
    if rank == 3:
        left = [o for o in run if not re.match(r"-fuse=.*[+,]|-edges=steps|-tiles=fitted", o)]
        if whole or any(o.startswith("--memory=") for o in run):
            return members_alone(left)
        return [re.sub("=", f"={own.choice([1, 1, 2])}x", o, count=1) if o.startswith("--split=") else o for o in left]
    if whole:
        return in_members([o for o in run if not o.startswith("--split=")], own, rank, False) + members_alone([o for o in run if o.startswith("--split=")])
    sliced = rank == 2
    left = [o for o in run if not re.match(r"-fuse=.*[+,]", o)]
    if sliced and "-edges=steps" not in run and "-schedule=warps" not in run and own.random() < 0.7:
        return [re.sub("=", "=1x", o, count=1) if o.startswith("--split=") else o for o in left]
    taken = SHAPES + ("-ahead=", "-edges=", "-tiles=") if any(o in run for o in OTHERS) else ()
    left = [o for o in run if not o.startswith(taken) and o != "-schedule=warps"] if taken else run
    left = [o for o in left if not re.match(r"-fuse=.*[+,]", o)]
    left = [re.sub("=", "=1x", o, count=1) if o.startswith(SHAPES) else o for o in left]
    return [re.sub("=", f"={own.choice([1, 1, 2])}x", o, count=1) if o.startswith("--split=") else o for o in left]


def numbers(own):
    """A scalar of each member, and one of all, with updates."""
    yield Node(f"scalar e6 : f64 = {own.choice(['0.5', '-1.0'])};", declares=["e6"])
    yield Node("scalar e8 : f64 shared = 0.25;", declares=["e8"])
    yield Node(f"update e6 = {own.choice(['0.25 * e6 + ', '0.5 * f64(ew[member]) - '])}({own.choice(['max', 'min', 'sum'])}({own.choice(['E0', 'f32(e6) * E0', 'f32(idx(0) + member)'])}) over G){own.choice([' / 64.0', ' * e8', ''])};")
    yield Node(f"update e8 = {own.choice(['max(f32(e6) * E0)', 'sum(e6)', 'min(E0)'])} over G;") if own.random() < 0.7 else Node("update e8 = 0.5 * e8 + 1.0;")
    yield Node("update e6 = min(max(e6, -50.0), 50.0);")
    yield Node("update e8 = min(max(e8, -50.0), 50.0);")


def shared_scalars(tree):
    """The tree with the program's scalars as numbers of all members."""
    if isinstance(tree, List):
        return List([shared_scalars(i) for i in tree.items], tree.between, tree.least)
    form = re.sub(r"^(scalar k\w+( : \w+)?) =", r"\1 shared =", tree.form)
    return Node(form, *[shared_scalars(p) for p in tree.parts], type=tree.type, smaller=tree.smaller, declares=tree.declares)


def with_members(case, seed):
    """The case, or one in fourteen with members, which have a field of their own, its number in it, and points by member. Not where a list of points is seen by a probe, or what is reduced is read."""
    own = random.Random(seed * 2 + 53)
    lines, text, rank = case.tree.parts[0], case.tree.text(), len(case.sizes)
    at = next((i for i, x in enumerate(lines.items) if x.form.startswith("grid G")), None)
    if own.random() > 1 / 14 or at is None or any(len(re.findall(rf"\b{name}\b", text)) > 1 for name in re.findall(r"(?m)^reduce (\w+) =", text)) or re.search(r"(?m)^probe .* at \[[^\]]*\bc\d", text):
        return case
    n = own.choice([1, 2, 3, 3])
    low = re.search(r"grid G = \[([^\]]*)\]", text).group(1).split(", ")
    low = [x.split(" .. ")[0] for x in low]
    shared = own.random() < 0.5
    offsets = ", ".join(["1", "-1", "0"][:rank])
    here = ", ".join(low)
    count = own.choice(["nm", str(n)])
    ints = own.choice(["i32", "i64"])
    before = [Node(f"param nm = {n};", declares=["nm"])] if count == "nm" else []
    before += [Node(f"param ep[{count}] : {ints}, ew[{count}] : f32;", declares=["ep", "ew"])]
    before += [lines.items[at], Node(f"members {count};"), Node(f"field E0 : f32 on G outside {own.choice(['clamp', 'periodic', '0', 'mirror'])};", declares=["E0"])]
    before += [Node("field E1 : f32 on G shared;", declares=["E1"]), Node("init e1(E1)[G] = 0.5 * f32(idx(0) % 5);")] if shared else []
    before += [Node("init e0(E0)[G] = f32(member) + 0.25 * f32(idx(0) % 3);")]
    kept = own.random() < 0.4 and "-schedule=warps" not in str(case.runs)
    behind = list(numbers(own)) if kept else []
    behind += [Node(f"stencil e2(E0)[G] = 0.5 * E0 + ew[member] * E0[{offsets}] + 0.125 * f32({'e6' if kept else 'member'}){' * E1' * shared};")]
    behind += [Node(f"update e6 = e6 + {own.choice(['0.5', 'f64(ew[member])', 'e8'])};")] * (kept and own.random() < 0.5)
    behind += [Node(f"reduce e9 = {own.choice(['e6', 'e6 * 2.0 + e8', 'e8'])} every {own.choice([1, 2])};")] * (kept and own.random() < 0.5)
    behind += [Node(f"until e6 > {own.choice(['1.5', '4.0'])};")] * (kept and own.random() < 0.3)
    places = ", ".join(low[:-1] + ["ep[member]"])
    behind += [Node(f"inject e3(E0) += 0.5 + f32(point) at [{places}];")] if own.random() < 0.7 else []
    behind += [Node(f"probe e4 = E0 at [{own.choice([here, places])}] every {own.choice([1, 2])};")] if own.random() < 0.5 else []
    behind += [Node(f"reduce e5 = {own.choice(['sum', 'max'])}(E0) over G every {own.choice([1, 2, 3])};")] if own.random() < 0.6 else []
    behind += [Node(f"until min(E0) over G > {own.choice(['0.5', '1.5'])} every 2;")] if own.random() < 0.2 else []
    items = lines.items[:at] + before + lines.items[at + 1:] + behind
    tree = Node("$\n", List(items, lines.between, lines.least))
    own_scalars = kept or "\nscalar " in text
    if own_scalars and own.random() < 0.3:
        tree, own_scalars = shared_scalars(tree), kept
    runs = [[o for o in in_members(run, own, rank, re.search(r"(?m)^levels ", text)) if not (own_scalars and o.startswith("--memory="))] for run in case.runs]
    return case.changed(tree=tree, outputs=case.outputs + ["E0"], inputs=case.inputs + [("ep", f"random:{seed}"), ("ew", f"random:{seed}")], runs=runs)
