"""same_ops.py A.kir B.kir: have the kernels of A the same ops as those of these names in B, in any order of values? Prints their number."""
import collections
import re
import sys


def kernels(path):
    """The ops of each kernel, by name: how often each line occurs, without the numbers of values."""
    found, name = {}, None
    for line in open(path):
        start = re.match(r"  kernel @(\w+) ", line)
        name = start.group(1) if start else None if line == "  }\n" else name
        if start:
            found[name] = collections.Counter()
        elif name:
            found[name][re.sub(r"%\d+", "%", line.strip())] += 1
    return found


a, b = kernels(sys.argv[1]), kernels(sys.argv[2])
for name, ops in a.items():
    if ops != b[name]:
        sys.exit(f"{name}: {ops - b[name]} against {b[name] - ops}")
print(len(a))
