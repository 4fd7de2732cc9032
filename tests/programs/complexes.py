"""Complex fields: one in fourteen random programs has one or two, which nothing else reads. Only operations that all devices round alike."""
import random
import re

from tree import List, Node


def with_complex(case, seed):
    """The case, or one in fourteen with a field of complex numbers, its init, and a stencil, an inject and a reduction of it."""
    own = random.Random(seed * 2 + 57)
    lines, text, rank = case.tree.parts[0], case.tree.text(), len(case.sizes)
    at = next((i for i, x in enumerate(lines.items) if x.form.startswith("grid G")), None)
    if own.random() > 1 / 14  or at is None:
        return case
    at += any(x.form.startswith("members") for x in lines.items[at + 1:at + 2])
    type, real = own.choice([("c64", "f32"), ("c64", "f32"), ("c128", "f64")])
    rule = own.choice(["clamp", "periodic", "0", "mirror", "mirror odd"])
    past = own.random() < 0.3
    low = [x.split(" .. ")[0] for x in re.search(r"grid G = \[([^\]]*)\]", text).group(1).split(", ")]
    off = lambda: "Z0[" + ", ".join(str(own.choice([0, 0, 1, -1])) for _ in range(rank)) + "]"
    part = lambda: own.choice(["Z0", off(), "conj(Z0)", f"{own.choice(['0.25', '2', '1'])}i", "0.5", f"{real}(0.75)", f"{type}(0.5, -0.25)", "(1 - 0.5i)", "ZK", f"sqrt({off()})", f"complexes({off()})"] + ["Z0@1"] * past)
    top = f"{part()} {own.choice('+-*')} {part()} {own.choice('+-*')} {part()}"
    ready = [Node(f"field Z0 : {type} on G outside {rule}{' history 1' * past};", declares=["Z0"]), Node(f"param ZK : {type} = 0.5 - 0.25i;", declares=["ZK"]), Node(f"op complexes(X) = X * X - {own.choice(['2i', '0.5i'])} * abs(X);"),
             Node(f"init zz1(Z0)[G] = {type}(0.25 * {real}(idx(0) % 5), 0.5) + {real}(idx({rank - 1}) % 3) * 0.125i;")]
    new = f"({top}) / ({own.choice(['2', '(2 + 1i)', '(1 - 2i)'])} + 8 * abs2(Z0) + abs2({off()}) + 4 * abs2(complexes(Z0)))"
    bounded = [f"max({real}(-4.0), min({real}(4.0), {part}(zz)))" for part in ("re", "im")]   # values that grow would come to infinities, and these to no numbers
    behind = [Node(f"stencil zz2(Z0)[G] {{ let zz = {new}; Z0 = {type}({', '.join(bounded)}); }}")]
    behind += [Node(f"inject zz3(Z0) += 0.5 - 0.25i at [{', '.join(low)}];")] if own.random() < 0.4 else []
    plain = not any(x.form.startswith(("repeat", "update")) for x in lines.items)
    behind += [Node(f"probe zz4 = re({off()} * Z0) at [{', '.join(low)}] every 1;")] if own.random() < 0.3 and plain and rule != "0" else []
    tree = Node("$\n", List(lines.items[:at + 1] + ready + lines.items[at + 1:] + behind, lines.between, lines.least))
    runs = [[o for o in run if not re.match(r"-fuse=.*[+,]", o)] for run in case.runs]
    return case.changed(tree=tree, outputs=case.outputs + ["Z0"], runs=runs)
