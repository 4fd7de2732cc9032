"""Long runs with many stops, and such that go on behind many steps: what is made of some cases. Their chances are of their own, so that all other cases stay what they are."""
import random
import re


def longer(case, least, seed, device):
    """The case, or one in twenty with many steps, on few points (at least `least` in each dimension), and a file for each or for every few of them: a run of many stops. On the
    simulator of GPUs reductions would take too long."""
    r = random.Random(seed * 2 + 5)
    if r.random() > 0.05:
        return case
    sizes = [max(low, min(size, [60, 9, 4][len(case.sizes) - 1])) for size, low in zip(case.sizes, least)]
    slow = any(i.form.startswith(("reduce", "until", "update")) for i in case.tree.parts[0].items) or any("-fcheck" in o for o in case.options)
    runs = [run for run in case.runs if not slow or "--device=sim" not in run or "-march=host" in run][-3:] or [["--device=host:2", "-O0"]]
    runs += [] if device or re.search("(?m)^scalar", case.tree.text()) else [["--device=ref", "--split=" + "x".join(str(min(size, 2)) for size in sizes)]]
    runs.sort(key=lambda run: (any(word.startswith("--split=") for word in run), "--device=ref" not in run))
    return case.changed(sizes=sizes, steps=r.choice([65, 70, 100, 131]), runs=[fitting(run, sizes) for run in runs], every=r.choice([1, 1, 1, 2, 3]))


def fitting(run, sizes):
    """The options of the run, with no more parts than the grid has points."""
    def fewer(word):
        parts, slash, every = word[8:].partition("/")
        return "--split=" + "x".join(str(min(int(n), size)) for n, size in zip(parts.split("x"), sizes)) + slash + every
    return [fewer(word) if word.startswith("--split=") else word for word in run]


def dense(runs, seed):
    """Has one run on a GPU's kernels in three have dense rows, by naming the passes: then nothing pads them, and other kernels are launched. It has chances of its own."""
    r, passes = random.Random(seed * 2 + 13), "-passes=scalarize,every,sides,history,probes,random,simplify,plan,planned"
    return [run + [passes] if "-march=host" not in run and not run[0].startswith(("--device=host", "--device=ref")) and r.random() < 0.33 else run for run in runs]


def later(case, seed):
    """The case, or one in thirty as the continuation of a run of many steps."""
    r = random.Random(seed * 2 + 9)
    if r.random() > 1 / 30:
        return case
    return case.changed(options=case.options + [f"--first-step={30 * r.choice([1, 71582788, 300239975158033, 153722867280912930])}"])
