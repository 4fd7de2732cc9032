#!/usr/bin/env python3
"""chosen.py STC [--card=h200] [--programs=FOLDER] [--only=REGEX] [--all | --choices] [--out=FILE] [--against=FILE]: what stc's choices make of the
best that was measured, and how far its expectations are off, by kept measurements.

The measurements are docs/data/schedules.json, cost.json, sweep.json, tuned.json and searched.json, all of one NVIDIA H200. For each program, type and grid
stc is asked for its choice, without a device. If that schedule was timed, its speed over the best one's is the case's ratio; if not, the
case has none and is named apart: nothing is known of it. A schedule that was timed several times has the median of these. Programs that are
not in this repository (users' cases) are looked for in --programs, and left out without that.
Expected over measured is asked of the chosen and the best schedule of each case, with --all of every one, with --choices of none.
Prints both as geometric means, with the worst cases; --out writes the choices, with --against those of another build are compared: each case
whose choice differs, and what is known of both. No device is needed, and nothing here is a new measurement.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import re
import statistics
import subprocess
import sys

import fit

DATA = os.path.join(fit.TOP, "docs", "data")
FILES = ("schedules.json", "cost.json", "sweep.json", "tuned.json", "searched.json")
DEFAULTS = {"chunk": "1", "ahead": "1", "tiles": "even"}


def knobs_of(text):
    """The knobs of a schedule, in options' words (-T=4) or in a plan's (T=4); where code tests for edges is left out."""
    words = text.split()
    knobs = dict(w.lstrip("-").split("=") for w in words if "=" in w)
    knobs.setdefault("schedule", words[0])
    for name in ("edges", "barriers"):
        knobs.pop(name, None)
    return {**DEFAULTS, **knobs} if knobs["schedule"] != "naive" else {k: knobs.get(k) for k in ("schedule", "block")}


def same(one, other):
    """Are two schedules the same, as far as both say?"""
    return one["schedule"] == other["schedule"] and all(one[k] == other[k] for k in one.keys() & other.keys())


def text_of(options):
    """A schedule in options' words, whatever the file had."""
    if options.startswith("-"):
        return options
    family, *rest = options.split()
    return " ".join(["-schedule=" + family] + ["-" + w for w in rest])


def measured():
    """For each program, type and grid the schedules that were timed, and their speeds."""
    cases = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in FILES:
        for r in fit.rows_of(os.path.join(DATA, name)):
            if not r["size"][:1].isdigit():
                continue
            for words, gpts in ((r.get("schedule") or r.get("choice"), r.get("gpts")), (r.get("best"), r.get("best_gpts"))):
                if words and gpts and "knobs" not in words:
                    cases[r["program"], r["type"], r["size"]][text_of(words)].append(gpts)
    return {case: {w: statistics.median(g) for w, g in made.items()} for case, made in cases.items()}


def command(stc, args, case, words):
    """How stc is asked about a case; None if its program is not here."""
    program, real, size = case
    path = fit.source(program) or (args.programs and os.path.join(args.programs, program + ".stn"))
    if not path or not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        params = re.findall(r"\b(\w+)\s*=\s*\d+", re.split(r"^grid", f.read(), flags=re.M)[0])
    return [*words, "--no-tune-db", "-freal=" + real, *("-D%s=%s" % pair for pair in zip(params, size.split("x"))), path]


def choice(args, case):
    """What stc chooses for a case."""
    words = command(args.stc, args, case, ["-mcpu=" + args.card, "-march=nvptx", "-emit=plan", "-o", "-"])
    done = words and subprocess.run([args.stc, *words], capture_output=True, text=True, check=False)
    plans = re.findall(r"^plan (.*)$", done.stdout, re.M) if done and not done.returncode else []
    return "; ".join(plans) or None


def expected(args, case, schedule):
    """The GPts/s that stc expects of a schedule; None if it is no longer legal."""
    words = command(args.stc, args, case, ["explain", "--format=json", "--no-ptxas", "--card=" + args.card, *schedule.split()])
    done = words and subprocess.run([args.stc, *words], capture_output=True, text=True, check=False)
    if not done or done.returncode:
        return None
    e = json.loads(done.stdout)
    return e.get("expected_gpts")


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def speed_of(plan, made):
    """What was measured of a plan, or None; of a step cut into several launches nothing is known."""
    if not plan or ";" in plan:
        return None
    found = [g for w, g in made.items() if same(knobs_of(w), knobs_of(plan))]
    return max(found) if found else None


def compare(before, now, cases):
    """Prints the cases whose choices differ."""
    ratios, unknown = [], 0
    for case in sorted(cases):
        key = " ".join(case)
        if before.get(key) == now.get(key):
            continue
        old, new = (speed_of(plans.get(key), cases[case]) for plans in (before, now))
        if old and new:
            ratios.append(new / old)
        else:
            unknown += 1
        print("  %-36s %s (%s) -> %s (%s)" % (key, before.get(key), old, now.get(key), new))
    print("changed: %d measured, new/old %.3f, least %.3f; %d not measured" % (len(ratios), mean(ratios), min(ratios, default=math.nan), unknown))


def report(chosen, cases):
    """Prints what choices make of the best."""
    speeds = {case: speed_of(plan, cases[case]) for case, plan in chosen.items()}
    ratio = {case: s / max(cases[case].values()) for case, s in speeds.items() if s}
    print("%d cases, the choice of %d was measured: chosen/best %.3f, worst %.3f; %d at least 0.95, %d below 0.85" %
          (len(chosen), len(ratio), mean(list(ratio.values())), min(ratio.values(), default=math.nan), sum(r >= 0.95 for r in ratio.values()),
           sum(r < 0.85 for r in ratio.values())))
    for case, r in sorted(ratio.items(), key=lambda p: p[1])[:12]:
        print("  %.3f  %-36s %s (%g), best %s (%g)" % (r, " ".join(case), chosen[case], speeds[case],
                                                       max(cases[case], key=cases[case].get), max(cases[case].values())))
    print("not measured: " + ", ".join(" ".join(c) for c in sorted(chosen) if c not in ratio))


def report_expected(chosen, cases, args, pool):
    """Prints how far what is expected is off."""
    asked = [(c, w) for c in chosen for w, g in cases[c].items()
             if args.all or g == max(cases[c].values()) or (chosen[c] and same(knobs_of(w), knobs_of(chosen[c].split(";")[0])))]
    off = [(e / cases[c][w], c, w) for (c, w), e in zip(asked, pool.map(lambda a: expected(args, *a), asked)) if e]
    if off:
        print("expected/measured of %d schedules: %.3f, error %.3f, least %.3f, most %.3f" %
              (len(off), mean([o[0] for o in off]), math.exp(math.sqrt(statistics.mean(math.log(o[0])**2 for o in off))), min(off)[0], max(off)[0]))
        for o, c, w in sorted(off, key=lambda o: -abs(math.log(o[0])))[:12]:
            print("  %.3f  %-36s %s (%g)" % (o, " ".join(c), w, cases[c][w]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stc")
    parser.add_argument("--card", default="h200")
    parser.add_argument("--programs")
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--choices", action="store_true", help="ask nothing of what is expected")
    parser.add_argument("--out")
    parser.add_argument("--against")
    args = parser.parse_args()
    cases = {c: m for c, m in measured().items() if re.search(args.only, " ".join(c)) and command(args.stc, args, c, [])}
    if not cases:
        sys.exit("chosen.py: no case is known")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        chosen = dict(zip(cases, pool.map(lambda c: choice(args, c), cases)))
        now = {" ".join(c): plan for c, plan in chosen.items()}
        if args.out:
            with open(args.out, "w", encoding="utf-8") as f:
                json.dump(now, f, indent=0, sort_keys=True)
        if args.against:
            with open(args.against, encoding="utf-8") as f:
                compare(json.load(f), now, cases)
        report(chosen, cases)
        if not args.choices:
            report_expected(chosen, cases, args, pool)


if __name__ == "__main__":
    main()
