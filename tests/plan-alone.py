#!/usr/bin/env python3
"""plan-alone.py STC EMPTIED [--only=REGEX] [--sample]: does the text of a plan alone give the kernels?

For the cases of golden.py, each program, family, type, target and size of grid: the plan that STC prints is read back by EMPTIED, an stc
without the numbers that only choose among plans (tests/emptied.c). The kernel IR must be the same, for a part of the cases the assembly,
too, and the plan that it prints. --sample: a fixed sample of some seconds (the test `plan-alone`).
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import tempfile

import golden

SAMPLE = 30


def outcome(stc, case, how):
    kernels = golden.run(stc, case, [*how, "-emit=kir", "-o", "-"])
    if kernels.returncode:
        return kernels.stderr
    assembly = golden.run(stc, case, [*how, "-emit=asm", "-o", "-"]).stdout if golden.has_assembly(case) else ""
    return kernels.stdout, assembly, golden.run(stc, case, [*how, "-emit=plan", "-o", "-"]).stdout


def difference(stc, emptied, case):
    """What differs for a case, in words; None if nothing does, or stc refuses it."""
    before = outcome(stc, case, case.options[1])
    if isinstance(before, str):
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan"
        file.write_text(before[2], encoding="utf-8")
        after = outcome(emptied, case, [f"-plan={file}"])
    if isinstance(after, str):
        return f"{case.name}: the plan is refused: {after.strip()}\n{before[2]}"
    wrong = [what for what, one, other in zip(["kernel IR", "assembly", "plan"], before, after) if one != other]
    return f"{case.name}: another {', '.join(wrong)}\n{before[2]}" if wrong else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stc")
    parser.add_argument("emptied")
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    cases = [c for c in golden.cases() if re.search(args.only, c.name) and (not args.sample or golden.number(c.name) % SAMPLE == 1)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = [text for text in pool.map(lambda c: difference(args.stc, args.emptied, c), cases) if text]
    print("\n".join([*found, f"{len(cases)} cases, {len(found)} differ"]))
    raise SystemExit(bool(found) or not cases)


if __name__ == "__main__":
    main()
