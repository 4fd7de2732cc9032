#!/usr/bin/env python3
"""golden.py STC [--jobs=N] [--only=REGEX] [--sample | --write | --against=OTHER [--show=CASE]]: does stc make the kernels that it made?

Compiles the examples and the bench's programs in f32 and f64, under every family of schedules and what stc chooses, for three targets and two
sizes of grid, and compares the sha256 of the kernel IR, for a part of the cases that of the assembly, too, with tests/golden/sums.txt.
A line there is a case: its name, PROGRAM/TARGET/REAL/SCHEDULE/GRID; the sum of the kernel IR; that of the assembly, or -; the plan. Or it
says `refused` and has the sum of the message. The sums of the assembly are those of one version of LLVM, which the first line names: with
another version they are not compared. What is chosen for a host depends on its caches and cores, so a host's kernels are those of the plan
in the line; the other targets choose their plans anew, and kernels of plans that changed are compared, too.

  golden.py STC                            compares all; prints each case that differs, and how; exits with 1 if any does
  golden.py STC --sample                   compares a fixed sample of some seconds (the test `golden`)
  golden.py STC --write                    makes all sums anew; with --only=REGEX those of the cases whose names it finds
  golden.py STC --against=OTHER            compares two builds with each other, without the sums
  golden.py STC --against=OTHER --show=CASE   prints how the kernel IR of a case, and its assembly if it has a sum, differ
"""
import argparse
import collections
import concurrent.futures
import difflib
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[1]
SUMS = TOP / "tests/golden/sums.txt"
PROGRAMS = ["examples/*.stn", "driver/bench/*.stn", "tests/bench/peers/*.stn"]
TARGETS = {"sm_90a": "nvptx", "gfx90a": "amdgpu", "x86-64-v3": "host"}
SCHEDULES = {"auto": [], "naive": ["-schedule=naive"], "overlap": ["-schedule=overlap", "-tiles=even"],
             "lanes": ["-schedule=overlap", "-tiles=lanes"], "stream": ["-schedule=stream"], "warps": ["-schedule=warps"]}
# Extents by rank: a grid that fills a card, and one that is smaller than tiles like it and comes out even with none.
LARGE = {1: [1 << 24], 2: [8192, 8192], 3: [512, 512, 512]}
SMALL = {1: [1009], 2: [61, 83], 3: [29, 31, 37]}
PARAMS = ["N", "M", "L"]
SAMPLE, ASSEMBLY = 24, {"sm_90a": 6, "gfx90a": 8, "x86-64-v3": 16}  # one case in so many

Case = collections.namedtuple("Case", "name path target options")
# What stc makes of a case. `refused` is its message, or None; `assembly` None if it is not asked for.
Outcome = collections.namedtuple("Outcome", "plan kernels assembly refused", defaults=[None] * 4)
# A line of the sums. `refused` says that `kernels` is the sum of a message.
Line = collections.namedtuple("Line", "kernels assembly plan refused", defaults=["-", "", False])


def rank_of(text):
    """The rank of a program: the commas within its grid's brackets, and one."""
    grid = re.search(r"^grid[^\[]*\[([^\]]*)\]", text, re.M).group(1)
    return grid.count("..")


def cases():
    """All cases, in the order of their names."""
    found = []
    for path in sorted(path for pattern in PROGRAMS for path in TOP.glob(pattern)):
        rank = rank_of(path.read_text(encoding="utf-8"))
        grids = {"large": ["-for-grid=" + "x".join(map(str, LARGE[rank]))],
                 "small": [f"-D{name}={size}" for name, size in zip(PARAMS, SMALL[rank])]}
        for target, arch in TARGETS.items():
            for schedule, words in SCHEDULES.items():
                for real in ["f32", "f64"]:
                    for grid, size in grids.items():
                        if (target, schedule) != ("x86-64-v3", "auto"):
                            found.append(Case(f"{path.stem}/{target}/{real}/{schedule}/{grid}", str(path.relative_to(TOP)), target,
                                              ([f"-march={arch}", f"-mcpu={target}", f"-freal={real}", *size], words)))
    return sorted(found)


def number(name):
    """A number that a case always has, to take samples by."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def has_assembly(case):
    return number(case.name) // SAMPLE % ASSEMBLY[case.target] == 0


def run(stc, case, options):
    """stc on a case: nothing of this machine and this user may be seen in what it makes."""
    keep = {name: value for name, value in os.environ.items() if not re.match("STC_|XDG_|LANG|LC_", name)}
    done = subprocess.run([stc, "--no-tune-db", *case.options[0], *options, case.path], capture_output=True, text=True, cwd=TOP,
                          env={**keep, "LC_ALL": "C", "HOME": "/nonexistent"})
    if done.returncode not in (0, 2, 3):
        raise SystemExit(f"golden.py: {case.name}: stc ended with {done.returncode}\n{done.stderr[-2000:]}")
    return done


def plan_in(text):
    """The plan in the text of a module, its lines with a | between."""
    found = re.search(r"^  (plan .*(?:\n    (?:launch|rest) .*)*)", text, re.M)
    return re.sub(r"\n\s*", " | ", found.group(1)) if found else ""


def compiled(stc, case, plan):
    """What stc makes of a case, by a plan if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        how = case.options[1]
        if plan:
            file = pathlib.Path(folder) / "plan"
            file.write_text(plan.replace(" | ", "\n  ") + "\n", encoding="utf-8")
            how = [f"-plan={file}"]
        kernels = run(stc, case, [*how, "-print-after=plan", "-emit=kir", "-o", "-"])
        if kernels.returncode:
            return Outcome(refused=kernels.stderr)
        assembly = run(stc, case, [*how, "-emit=asm", "-o", "-"]).stdout if has_assembly(case) else None
        return Outcome(plan or plan_in(kernels.stderr), kernels.stdout, assembly)


def outcome(stc, case, line):
    """What stc makes of a case: by the plan of its line for a host, else by its own choice."""
    return compiled(stc, case, line.plan if line and case.target == "x86-64-v3" else None)


def short_sum(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text is not None else "-"


def line_of(made):
    if made.refused:
        return Line(short_sum(made.refused), refused=True)
    return Line(short_sum(made.kernels), short_sum(made.assembly), made.plan)


def read_sums():
    """The version of LLVM and the lines by the names of cases."""
    if not SUMS.exists():
        return None, {}
    head, *rest = SUMS.read_text(encoding="utf-8").splitlines()
    lines = {}
    for text in rest:
        name, first, second, *plan = text.split(" ", 3)
        lines[name] = Line(second, refused=True) if first == "refused" else Line(first, second, *plan)
    return head.split()[-1], lines


def write_sums(version, lines):
    text = "".join(f"{name} refused {line.kernels}\n" if line.refused else f"{name} {line.kernels} {line.assembly} {line.plan}\n"
                   for name, line in sorted(lines.items()))
    SUMS.parent.mkdir(exist_ok=True)
    SUMS.write_text(f"# made by tests/golden.py --write; the assembly is that of LLVM {version}\n{text}", encoding="utf-8")


def same_assembly(one, other):
    return one == other or None in (one, other) or "-" in (one, other)


def change(stc, case, line, with_assembly):
    """How a case differs from its line, in words; None if it does not."""
    if not line:
        return "a new case: --write it"
    made = outcome(stc, case, line)
    now = line_of(made)
    if now.refused:
        words = "another message" if line.refused else "refused now"
        return None if now == line else f"{words}: {made.refused.strip()}"
    if line.refused:
        return f"no longer refused: {made.plan}"
    if now.plan != line.plan:
        given = compiled(stc, case, line.plan)
        same = "is refused" if given.refused else "has the same kernels" if short_sum(given.kernels) == line.kernels else "has other kernels"
        return f"another choice: {now.plan}; the plan before, {line.plan}, {same}"
    if now.kernels != line.kernels:
        return f"other kernels of the same plan, {now.plan}"
    if with_assembly and not same_assembly(now.assembly, line.assembly):
        return "other assembly of the same kernel IR"
    return None


def difference(stc, other, case):
    """How two builds differ in a case, in words; None if they do not."""
    one, two = outcome(stc, case, None), outcome(other, case, None)
    if one == two:
        return None
    parts = [name for name in Outcome._fields if getattr(one, name) != getattr(two, name)]
    return "differs in " + ", ".join(parts)


def show(stc, other, case):
    """Prints how two builds differ in a case: the way from the other's text to this one's."""
    one, two = outcome(other, case, None), outcome(stc, case, None)
    for field in Outcome._fields:
        before, after = (getattr(made, field) or "" for made in (one, two))
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"{field} of {other}", f"{field} of {stc}"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("stc", type=lambda path: str(pathlib.Path(path).resolve()))
    p.add_argument("--jobs", type=int, default=2, help="cases that are compiled at a time")
    p.add_argument("--only", default="", metavar="REGEX", help="only cases whose names it finds")
    p.add_argument("--sample", action="store_true", help="only a fixed sample")
    p.add_argument("--write", action="store_true", help="make the sums anew")
    p.add_argument("--against", metavar="OTHER", type=lambda path: str(pathlib.Path(path).resolve()), help="another stc to compare with")
    p.add_argument("--show", metavar="CASE", help="with --against: print the difference")
    p.add_argument("--plant", action="store_true", help="take all sums of kernel IR for others than they are: to see the test fail")
    o = p.parse_args()
    every = {case.name: case for case in cases()}
    if o.show:
        if not o.against or o.show not in every:
            p.error("--show wants --against=OTHER, and the name of a case" + (f", not {o.show}" if o.show not in every else ""))
        return show(o.stc, o.against, every[o.show])
    todo = [case for case in every.values() if re.search(o.only, case.name) and (not o.sample or number(case.name) % SAMPLE == 0)]
    version = re.search(r"LLVM ([\w.]+)", subprocess.run([o.stc, "--version"], capture_output=True, text=True, check=True).stdout).group(1)
    recorded, lines = read_sums()
    if o.plant:
        lines = {name: line._replace(kernels=line.kernels[::-1]) for name, line in lines.items()}
    if o.write:
        make = lambda case: line_of(outcome(o.stc, case, lines.get(case.name)))
    elif o.against:
        make = lambda case: difference(o.stc, o.against, case)
    else:
        make = lambda case: change(o.stc, case, lines.get(case.name), version == recorded)
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        made = dict(zip([case.name for case in todo], pool.map(make, todo)))
    if o.write:
        write_sums(version, {**{name: line for name, line in lines.items() if name in every}, **made})
        print(f"{len(made)} cases written to {SUMS.relative_to(TOP)}")
        return 0
    found = {name: words for name, words in made.items() if words}
    found.update({name: "is no case any more: --write" for name in lines if name not in every and not o.against})
    for name, words in sorted(found.items()):
        print(f"{name}: {words}")
    if not o.against and version != recorded:
        print(f"assembly is not compared: the sums are those of LLVM {recorded}, this is {version}")
    print(f"{len(todo)} cases, {len(found)} differ")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
