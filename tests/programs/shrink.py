"""Makes a failing case as small as it can be while it still fails in the same way."""
import time

from model import SIMPLEST
from tree import edits


def without(items, i):
    return items[:i] + items[i + 1:]


def simpler_runs(case):
    """The case with one option of its only run, or of all runs, left out or made smaller."""
    run = case.runs[0]
    for i in range(len(case.options)):
        yield case.changed(options=without(case.options, i))
    for i, option in enumerate(run):
        if i > 0 and not option.startswith("-march"):
            yield case.changed(runs=[without(run, i)])
    if any(o.startswith("-march=amdgpu") for o in run):
        yield case.changed(runs=[["-march=nvptx" if o.startswith("-march") else o for o in run]])
    for i, option in enumerate(run):
        name, _, value = option.partition("=")
        if name == "-T" and int(value) > 2:
            yield case.changed(runs=[run[:i] + [f"-T={int(value) - 1}"] + run[i + 1:]])


def simpler_numbers(case):
    """The case with fewer steps, a smaller grid, or fewer or simpler inputs."""
    for steps in sorted({1, 2, case.steps // 2, case.steps - 1}):
        if 0 <= steps < case.steps:
            yield case.changed(steps=steps)
    for d, size in enumerate([] if case.constant else case.sizes):
        for less in sorted({1, 2, size // 2, size - 1}):
            if 0 < less < size:
                yield case.changed(sizes=case.sizes[:d] + [less] + case.sizes[d + 1:])
    for i, (name, value) in enumerate(case.inputs):
        if "." in name or "@" in name:
            yield case.changed(inputs=without(case.inputs, i))
        if value.startswith("random:") and value != "random:1":
            yield case.changed(inputs=case.inputs[:i] + [(name, "random:1")] + case.inputs[i + 1:])


def candidates(case):
    """Functions that make smaller cases, the most promising first."""
    for c in list(simpler_runs(case)) + list(simpler_numbers(case)):
        yield lambda c=c: c
    for make in edits(case.tree, SIMPLEST):
        yield lambda make=make: case.changed(tree=make())


def shrink(case, fails, batch=24, limit=4000, seconds=120):
    """The least case found for which fails(cases) -> list of bool still says so. Tries at most `limit` cases, and starts none after so many seconds."""
    tried, start, end = 0, 0, time.time() + seconds
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
            if tried >= limit or time.time() > end:
                return case
        else:
            return case
    return case
