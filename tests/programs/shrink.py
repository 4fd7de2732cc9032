"""Makes a failing case as small as it can be while it still fails in the same way."""
from generate import SIMPLEST, Case
from tree import edits


def with_tree(case, tree):
    return Case(tree, case.sizes, case.steps, case.inputs, case.outputs, case.runs)


def simpler_runs(case):
    """The case with one option of its only run left out or made smaller."""
    run = case.runs[0]
    for i, option in enumerate(run):
        if i > 0 and not option.startswith("-march"):
            yield Case(case.tree, case.sizes, case.steps, case.inputs, case.outputs, [run[:i] + run[i + 1:]])
    if any(o.startswith("-march=amdgpu") for o in run):
        yield Case(case.tree, case.sizes, case.steps, case.inputs, case.outputs, [["-march=nvptx" if o.startswith("-march") else o for o in run]])
    for i, option in enumerate(run):
        name, _, value = option.partition("=")
        if name == "-T" and int(value) > 2:
            yield Case(case.tree, case.sizes, case.steps, case.inputs, case.outputs, [run[:i] + [f"-T={int(value) - 1}"] + run[i + 1:]])


def simpler_numbers(case):
    """The case with fewer steps, or a smaller grid."""
    for steps in sorted({1, 2, case.steps // 2, case.steps - 1}):
        if 0 <= steps < case.steps:
            yield Case(case.tree, case.sizes, steps, case.inputs, case.outputs, case.runs)
    for d, size in enumerate(case.sizes):
        for less in sorted({1, 2, size // 2, size - 1}):
            if 0 < less < size:
                yield Case(case.tree, case.sizes[:d] + [less] + case.sizes[d + 1:], case.steps, case.inputs, case.outputs, case.runs)
    for i, (name, value) in enumerate(case.inputs):
        if value.startswith("random:") and value != "random:1":
            yield Case(case.tree, case.sizes, case.steps, case.inputs[:i] + [(name, "random:1")] + case.inputs[i + 1:], case.outputs, case.runs)


def candidates(case):
    """Functions that make smaller cases, the most promising first."""
    for c in list(simpler_runs(case)) + list(simpler_numbers(case)):
        yield lambda c=c: c
    for make in edits(case.tree, SIMPLEST):
        yield lambda make=make: with_tree(case, make())


def shrink(case, fails, batch=24, limit=4000):
    """The least case found for which fails(cases) -> list of bool still says so. Tries at most `limit` cases."""
    tried, start = 0, 0
    while tried < limit:
        makers = list(candidates(case))
        order = list(range(start, len(makers))) + list(range(min(start, len(makers))))
        for i in range(0, len(order), batch):
            group = order[i:i + batch]
            cases = [makers[k]() for k in group]
            tried += len(cases)
            good = [k for k, failed in enumerate(fails(cases)) if failed]
            if good:
                case, start = cases[good[0]], group[good[0]]
                break
            if tried >= limit:
                return case
        else:
            return case
    return case
