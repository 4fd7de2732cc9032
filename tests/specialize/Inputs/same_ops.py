"""same_ops.py A.kir B.kir: are the bodies of A's kernels the same as those of these names in B, but for what their values are called? Prints
how many kernels they are."""
import re
import sys


def kernels(path):
    """The lines of each kernel's body, by name, its values numbered in the order in which they come."""
    found, name, numbers = {}, None, {}
    for line in open(path):
        start = re.match(r"  kernel @(\w+) ", line)
        name = start.group(1) if start else None if line == "  }\n" else name
        if start:
            found[name], numbers = [], {}
        elif name:
            found[name].append(re.sub(r"%\d+", lambda v: f"%{numbers.setdefault(v.group(), len(numbers))}", line.strip()))
    return found


a, b = kernels(sys.argv[1]), kernels(sys.argv[2])
for name, ops in a.items():
    other = b.get(name, [])
    if ops != other:
        at = next((i for i, (x, y) in enumerate(zip(ops, other)) if x != y), min(len(ops), len(other)))
        sys.exit(f"{name}, line {at + 1}: {ops[at:at + 1]} against {other[at:at + 1]}")
print(len(a))
