#!/usr/bin/env python3
"""fit.py STC FILE.json... [--card=h200] [--write]: fits the numbers of passes/plan/tuning.def that are marked FITTED to what was measured.

The files are of `stc bench --json`, of one card, and should hold many schedules (--also) of several programs on small and large grids. For
each row `stc explain --format=json` says what the model is told of its kernels; the model is computed here as passes/plan/model.c does, which
is checked on every kernel. Prints the error before and after (the geometric mean of the ratio of expected and measured time, or its inverse,
by its square), and that of programs that nothing was fitted to: of each half of them by a fit to the other half. With --write the record is
written anew; rebuild then, and see with tests/bench/same_kernels.py which choices it changes.
"""
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RECORD = os.path.join(TOP, "passes", "plan", "tuning.def")
ROW = re.compile(r'^TUNING(?:_MODEL)?\((\w+), ([^,]+),(?: [^,]+,)? (FITTED|SET), ', re.M)
BOUNDS = 7
LATENCY, MEMORY, CACHE = 4, 5, 6


def record():
    """The numbers of the record, and the names of those that are to be fitted."""
    with open(RECORD, encoding="utf-8") as f:
        rows = ROW.findall(f.read())
    return {name: float(value) for name, value, _ in rows}, [name for name, _, fit in rows if fit == "FITTED"]


def write(values, names):
    """Writes the fitted numbers into the record."""
    with open(RECORD, encoding="utf-8") as f:
        text = f.read()
    for name in names:
        text = re.sub(r"^(TUNING(?:_MODEL)?\(%s), [^,]+," % name, r"\1, %.3g," % values[name], text, flags=re.M)
    with open(RECORD, "w", encoding="utf-8") as f:
        f.write(text)


def source(program):
    """The file of a program of the bench."""
    for folder in ("driver/bench", "examples"):
        path = os.path.join(TOP, folder, program + ".stn")
        if os.path.exists(path):
            return path
    return None


def explained(stc, card, row):
    """What the model is told of the kernels of a measured row; None if it has no schedule, or is no longer legal."""
    path = source(row["program"])
    if not path or not row.get("gpts") or not row.get("schedule") or row["size"] == "-":
        return None
    with open(path, encoding="utf-8") as f:
        params = re.findall(r"\b(\w+)\s*=\s*\d+", re.split(r"^grid", f.read(), flags=re.M)[0])
    sizes = row["size"].split("x")
    defines = ["-D%s=%s" % pair for pair in zip(params, sizes)]
    done = subprocess.run([stc, "explain", "--format=json", "--no-ptxas", "--no-tune-db", "--card=" + card, "-freal=" + row["type"],
                           *defines, *row["schedule"].split(), path], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    e = json.loads(done.stdout)
    if "x".join(str(n) for n in e["extents"]) != row["size"]:
        return None
    points = math.prod(e["extents"])
    return {"row": row, "target": e["target"], "kernels": e["kernels"], "steps": e["steps"],
            "seconds": points * e["steps"] / row["gpts"] * 1e-9}


def terms(t, kernel, v):
    """How long each bound takes alone for a kernel, and which parts of these are left beside another one (model_launch)."""
    w, at_once, blocks = kernel["load"], kernel["blocks_a_core"], kernel["load"]["blocks"]
    cores, clock = t["cores"], t["clock"] * v["kept_clock"] * 1e9
    issue, f64, shared = (t[k] * v["kept_clock"] * 1e9 for k in ("issue_rate", "f64_rate", "shared_rate"))
    each, rounds = blocks / cores, math.ceil(blocks / (cores * at_once))
    empty = rounds * at_once - each
    most = math.ceil(each) if rounds <= 1 else each + 0.5 * (empty / at_once + v["last_round"] * (at_once - 1))
    threads = most * cores * w["threads"]
    warps = max(1, min(at_once, math.ceil(each))) * math.ceil(w["threads"] / t["lanes"])
    issued = threads * math.ceil(warps / v["schedulers"]) * v["schedulers"] / warps
    words = (v["shared_word"] * (w["shared"] - w["exchanges"]) + v["exchanged_word"] * w["exchanges"] + v["global_word"] * w["global"] +
             v["spilled_word"] * w["spilled"] * w["rounds"])
    waits = (v["result_wait"] * w["instructions"] + v["chain_wait"] * w["chained"] + v["memory_wait"] * w["waits"] +
             v["barrier_wait"] * w["barriers"])
    cached = 0 < w["memory_bytes"] < t["cache_bytes"] / 2
    alone = [w["instructions"] * issued / issue, w["f64"] * issued / f64, w["special"] * threads * v["special_slots"] / issue,
             words * threads / shared, max(1, blocks / (cores * at_once)) * waits / clock,
             w["memory_bytes"] * 1e-9 / (t["cache_bandwidth"] if cached else t["bandwidth"] * v["kept_bandwidth"]),
             w["cache_bytes"] * 1e-9 / t["cache_bandwidth"]]
    left = [blocks / (cores * most) if blocks > 0 else 1] * BOUNDS
    left[LATENCY] = min(1, blocks / (cores * at_once))
    left[MEMORY] = left[CACHE] = 1
    return alone, left


def blend(alone, v):
    """What the times of the bounds come to together."""
    return sum(a**v["blend"] for a in alone)**(1 / v["blend"]) + v["launch_gap"]


def expected(x, v):
    """Seconds that the model expects of the kernels of a row."""
    total, alone = 0, None
    for k in x["kernels"]:
        mine, left = terms(x["target"], k, v)
        if k["beside"] and alone:
            alone = [a + b * c for a, b, c in zip(alone, mine, left)]
            continue
        total += blend(alone, v) if alone else 0
        alone = mine
    return total + (blend(alone, v) if alone else 0)


def check(rows, v):
    """Ends the script if it and stc do not have the same model."""
    for x in rows:
        for k in x["kernels"]:
            if abs(math.log(blend(terms(x["target"], k, v)[0], v) / k["seconds"])) > 0.01:
                sys.exit("fit.py: %s expects %g s where stc explain says %g: passes/plan/model.c has changed, and this script has not" %
                         (k["name"], blend(terms(x["target"], k, v)[0], v), k["seconds"]))


def error(rows, v):
    """The mean ratio of expected and measured time, or its inverse."""
    return math.exp(math.sqrt(sum(math.log(expected(x, v) / x["seconds"])**2 for x in rows) / len(rows)))


def loss(rows, v, start, names):
    """What is made least: errors, those beyond a factor of two no more than that; and a little of how far numbers have moved."""
    far = sum(math.log(v[n] / start[n])**2 for n in names) / len(names)
    return sum(min(abs(math.log(expected(x, v) / x["seconds"])), 0.7)**1.5 for x in rows) / len(rows) + 0.002 * far


def fitted(rows, start, names, rounds=12):
    """The numbers that fit the rows best, found one after the other."""
    v, step = dict(start), {n: 0.3 for n in names}
    least = loss(rows, v, start, names)
    for _ in range(rounds):
        for n in names:
            better = False
            for factor in (math.exp(step[n]), math.exp(-step[n])):
                trial = {**v, n: v[n] * factor}
                mine = loss(rows, trial, start, names) if trial["blend"] > 1.5 else math.inf
                if mine < least:
                    v, least, better = trial, mine, True
                    break
            step[n] *= 1.2 if better else 0.5
    return v


def main():
    files = [a for a in sys.argv[1:] if not a.startswith("--")]
    card = ([a[7:] for a in sys.argv if a.startswith("--card=")] or ["h200"])[-1]
    if len(files) < 2:
        sys.exit(__doc__)
    stc, rows = files[0], []
    for path in files[1:]:
        with open(path, encoding="utf-8") as f:
            rows += json.load(f)["rows"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [x for x in pool.map(lambda r: explained(stc, card, r), rows) if x]
    if not rows:
        sys.exit("fit.py: no row of these files has a schedule and a program that is known")
    start, names = record()
    check(rows, start)
    v = fitted(rows, start, names)
    print("%d rows of %d programs: error %.3f, fitted %.3f" % (len(rows), len({x["row"]["program"] for x in rows}), error(rows, start),
                                                              error(rows, v)))
    programs = sorted({x["row"]["program"] for x in rows})
    halves = [[x for x in rows if programs.index(x["row"]["program"]) % 2 == k] for k in range(2)]
    if all(halves):
        out = [error(halves[1 - k], fitted(halves[k], start, names)) for k in range(2)]
        print("programs that nothing was fitted to: error %.3f" % math.sqrt(out[0] * out[1]))
    for n in names:
        print("  %-16s %10.4g  was %.4g" % (n, v[n], start[n]))
    if "--write" in sys.argv:
        write(v, names)


if __name__ == "__main__":
    main()
