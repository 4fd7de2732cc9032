"""without.py BEHIND WHAT N FROM TO: copies kernel IR without the N-th line that has WHAT behind the first that has BEHIND."""
import sys

behind, what, n, source, target = sys.argv[1:]
lines = open(source).read().split("\n")
first = next(i for i, line in enumerate(lines) if behind in line)
found = [i for i, line in enumerate(lines) if i > first and what in line][int(n) - 1]
open(target, "w").write("\n".join(lines[:found] + lines[found + 1 :]))
