"""Programs with members: one in fourteen random programs is several in one."""
import random
import re

from model import EXTENT
from tree import List, Node

# Options that say how many threads or points tiles have, which has one dimension more.
SHAPES = ("-block=", "-elems=")
# Schedules whose tiles are not those of a grid of one dimension more.
OTHERS = ("-schedule=stream", "-schedule=warps", "-tiles=lanes")


def in_members(run, own, rank):
    """The options of a run: where there may be tiles of one member, those that a run without members has, or else for a grid of one dimension more. Of three dimensions there are no others, and no parts."""
    if rank == 3:
        return [o for o in run if not re.match(r"-fuse=.*[+,]|--split=|--memory=|-edges=steps|-tiles=fitted", o)]
    sliced = rank == 2
    left = [o for o in run if not re.match(r"-fuse=.*[+,]", o)]
    if sliced and "-edges=steps" not in run and "-schedule=warps" not in run and own.random() < 0.7:
        return [re.sub("=", "=1x", o, count=1) if o.startswith("--split=") else o for o in left]
    taken = SHAPES + ("-chunk=", "-ahead=", "-edges=", "-tiles=") if any(o in run for o in OTHERS) else ()
    left = [o for o in run if not o.startswith(taken) and o != "-schedule=warps"] if taken else run
    left = [o for o in left if not re.match(r"-fuse=.*[+,]", o)]
    left = [re.sub("=", "=1x", o, count=1) if o.startswith(SHAPES) else o for o in left]
    return [re.sub("=", f"={own.choice([1, 1, 2])}x", o, count=1) if o.startswith("--split=") else o for o in left]


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
    behind = [Node(f"stencil e2(E0)[G] = 0.5 * E0 + ew[member] * E0[{offsets}] + 0.125 * f32(member){' * E1' * shared};")]
    places = ", ".join(low[:-1] + ["ep[member]"])
    behind += [Node(f"inject e3(E0) += 0.5 + f32(point) at [{places}];")] if own.random() < 0.7 else []
    behind += [Node(f"probe e4 = E0 at [{own.choice([here, places])}] every {own.choice([1, 2])};")] if own.random() < 0.5 else []
    behind += [Node(f"reduce e5 = {own.choice(['sum', 'max'])}(E0) over G every {own.choice([1, 2, 3])};")] if own.random() < 0.6 else []
    behind += [Node(f"until min(E0) over G > {own.choice(['0.5', '1.5'])} every 2;")] if own.random() < 0.2 else []
    items = lines.items[:at] + before + lines.items[at + 1:] + behind
    tree = Node("$\n", List(items, lines.between, lines.least))
    runs = [in_members(run, own, rank) for run in case.runs]
    return case.changed(tree=tree, outputs=case.outputs + ["E0"], inputs=case.inputs + [("ep", f"random:{seed}"), ("ew", f"random:{seed}")], runs=runs)
