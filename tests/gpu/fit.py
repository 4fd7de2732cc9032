#!/usr/bin/env python3
"""fit.py STC FILE.json... [--card=h200] [--write] [--keep=FILE.json]: fits the numbers of ir/measured.def that are marked for it to what was measured.

The files are of `stc bench --json` or sweep.py, of one card, and should hold many schedules (--also) of several programs on small and large
grids. For each row `stc explain --format=json` says what the model is told of its kernels, and of its tiles as they are counted before they are
lowered; the model is computed here as passes/plan/cost/model.c does, which is checked on every row. The column for finished kernels is fitted so that
the times agree; the one for counted tiles so that the fastest schedule of each program and grid is found: by their times relative to each other,
those near the best first. Prints for both the error before and after (the geometric mean of the ratio of expected and measured time, or its
inverse, by its square), and for the second what the choices make of the best; and both for programs that nothing was fitted to: for each half of
them by a fit to the other half. With --write the record is written anew; rebuild then, and see with tests/golden.py --against which choices it
changes. With --keep what was read is written to a file that this script reads, too, in few bytes, and nothing is fitted: of each program and
grid the best schedules, each once.
"""
import collections
import concurrent.futures
import json
import math
import os
import re
import statistics
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RECORD = os.path.join(TOP, "ir", "measured.def")
MODEL_ROW = re.compile(r'^MEASURED_MODEL\((\w+), ([^,]+), ([^,]+), (FITTED|FINISHED|COUNTED|SET), ', re.M)
PLAIN_ROW = re.compile(r'^MEASURED\((\w+), ([^,]+), ', re.M)
COLUMNS = ("finished", "counted")
BOUNDS = 7
LATENCY, MEMORY, CACHE = 4, 5, 6
KNOBS = ("T", "block", "elems", "chunk", "ahead")
KEPT = 15


def record():
    """For each column the numbers of the record, and the names of those that are to be fitted."""
    with open(RECORD, encoding="utf-8") as f:
        text = f.read()
    plain = {name: float(value) for name, value in PLAIN_ROW.findall(text)}
    rows = MODEL_ROW.findall(text)
    values = {c: {**plain, **{r[0]: float(r[1 + i]) for r in rows}} for i, c in enumerate(COLUMNS)}
    return values, {c: [r[0] for r in rows if r[3] in ("FITTED", c.upper())] for c in COLUMNS}


def write(values, names):
    """Writes the fitted numbers into the record."""
    with open(RECORD, encoding="utf-8") as f:
        text = f.read()
    for i, c in enumerate(COLUMNS):
        for name in names[c]:
            text = re.sub(r"^(MEASURED_MODEL\(%s,(?: [^,]+,){%d}) [^,]+," % (name, i), lambda m, v=values[c][name]: "%s %.3g," % (m[1], v), text, flags=re.M)
    with open(RECORD, "w", encoding="utf-8") as f:
        f.write(text)


def options(words):
    """The options of a schedule as docs/data/schedules.json has it, "overlap 8 8x32 6x1": its family and what its knobs are."""
    family, *values = words.split()
    knobs = {"naive": ("block",), "warps": tuple(k for k in KNOBS if k != "chunk")}.get(family, KNOBS)
    return " ".join(["-schedule=" + family] + ["-%s=%s" % pair for pair in zip(knobs, values)])


def rows_of(path):
    """The rows of a file, each with program, type, size, schedule and GPts/s; those of a program and grid may stand together in it."""
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    if "rows" in data:
        return data["rows"]
    return [{"program": program, "type": kind, "size": size, "schedule": options(words), "gpts": gpts} for program, kinds in data["programs"].items()
            for kind, sizes in kinds.items() for size, made in sizes.items() for words, gpts in made.items()]


def words_of(schedule):
    """The other way round; None if it does not say all knobs, or says more."""
    said = dict(re.findall(r"-(\w+)=(\S+)", schedule))
    family = said.pop("schedule", None)
    for name, usual in (("edges", None), ("barriers", None), ("chunk", "1"), ("ahead", "1")):
        if usual in (None, said.get(name)):
            said.pop(name, None)
    wanted = [k for k in KNOBS if k in said] if family != "naive" else ["block"]
    if not family or set(said) != set(wanted) or "block" not in said or (family != "naive" and list(wanted[:3]) != list(KNOBS[:3])):
        return None
    return " ".join([family] + [said[k] for k in wanted])


def keep(path, rows):
    """Writes the best rows of each program and grid."""
    cases, kept = collections.defaultdict(lambda: collections.defaultdict(list)), {}
    for r in rows:
        words = words_of(r.get("schedule") or "")
        if words and r.get("gpts") and r["size"] != "-":
            cases[r["program"], r["type"], r["size"]][words].append(r["gpts"])
    for (program, kind, size), made in sorted(cases.items()):
        best = {w: float("%.4g" % statistics.median(g)) for w, g in made.items()}
        first = sorted(best, key=lambda w: -best[w])[:KEPT]
        kept.setdefault(program, {}).setdefault(kind, {})[size] = {w: best[w] for w in first}
    text = json.dumps({"programs": kept}, separators=(",", ":"))
    with open(path, "w", encoding="utf-8") as f:
        f.write(re.sub(r'("\d+(?:x\d+)*":\{)', r"\n\1", text) + "\n")


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
    return {"row": row, "case": (row["program"], row["type"], row["size"]), "target": e["target"], "kernels": e["kernels"],
            "counted": e.get("counted"), "steps": e["steps"], "seconds": points * e["steps"] / row["gpts"] * 1e-9}


def blocks_a_core(blocks, cores, at_once, v):
    """Blocks that the core with the most of them runs."""
    each, rounds = blocks / cores, math.ceil(blocks / (cores * at_once))
    if rounds <= 1:
        return math.ceil(each)
    return (each + v["places_lost"] * (rounds * at_once - each) / at_once + 0.5 * v["last_round"] * (at_once - 1) + v["rounds_begun"] +
            v["rounds_late"] * (1 - 1 / at_once))


def cycles(w, rounds, v):
    """Cycles that the blocks of a core wait, so many rounds of them."""
    one = (v["result_wait"] * w["instructions"] + v["fetch_wait"] * w["fetched"] + v["f64_wait"] * w["f64"] + v["chain_wait"] * w["chained"] +
           v["memory_wait"] * w["waits"] + v["copy_wait"] * w["copies"] + v["barrier_wait"] * w["barriers"])
    edge = one + v["turn_wait" if w["turned"] else "edge_wait"] * w["at_edge"] - v["result_wait"] * w["instructions"]
    return max(max(rounds, 1) * one, max(rounds - 1, 0) * one + edge if w["at_edge"] > 0 else 0)


def terms(t, w, at_once, v, counted):
    """How long each bound takes alone for the load `w`, and which parts of these are left beside another one (launch_seconds)."""
    blocks, cores, clock = w["blocks"], t["cores"], t["clock"] * t["kept_clock"] * 1e9
    issue, f64, shared = (t[k] * t["kept_clock"] * 1e9 for k in ("issue_rate", "f64_rate", "shared_rate"))
    most, rounds = blocks_a_core(blocks, cores, at_once, v), blocks / (cores * at_once)
    threads = most * cores * w["threads"]
    warps = max(1, min(at_once, math.ceil(blocks / cores))) * math.ceil(w["threads"] / t["lanes"])
    issued = threads * math.ceil(warps / t["schedulers"]) * t["schedulers"] / warps
    words = (v["shared_word"] * (w["shared"] - w["exchanges"]) + v["exchanged_word"] * w["exchanges"] + v["global_word"] * w["global"] +
             v["spilled_word"] * w["spilled"] * w["rounds"])
    cached = w["memory_bytes"] < t["kept_cache"]
    missed = max(0, min(1, w["memory_bytes"] / t["kept_cache"] - 1)) if t["kept_cache"] else 1  # of a finished kernel's bytes
    cache = t["core_cache_bytes"] * cores * t["clock"] if counted else t["cache_bandwidth"]
    fetched = 1 + v["straight_lost"] * max(0, min(1, w["straight"] / v["straight_held"] - 1))
    alone = [fetched * w["instructions"] * issued / issue, w["f64"] * issued / f64, w["special"] * threads * t["special_slots"] / issue,
             words * threads / shared, cycles(w, rounds, v) / clock,
             w["memory_bytes"] * 1e-9 * (1 / cache if counted and cached else (1 if counted else missed) / (t["bandwidth"] * t["kept_bandwidth"])),
             w["cache_bytes"] * 1e-9 / cache]
    left = [blocks / (cores * most) if blocks > 0 else 1] * BOUNDS
    left[LATENCY] = left[MEMORY] = left[CACHE] = 1
    return alone, left


def blend(t, alone, v, by=None):
    """What the times of the bounds come to together, by the exponent `by`, or the column's own."""
    by = by or v["blend"]
    return sum(a**by for a in alone)**(1 / by) + v["launch_gap"] + 1e-6 * v["launch_part"] * t["launch_us"]


def exponent(t, k, v):
    """The exponent by which the bounds of a finished kernel come together: blocks with barriers and no loop do one thing after the other."""
    beside = max(1, min(k["blocks_a_core"], math.ceil(k["load"]["blocks"] / t["cores"])))
    return v["phases_blend"] - 1 / beside if k["load"]["barriers"] > 0 and k["load"]["rounds"] <= 1 else v["blend"]


def expected_finished(x, v):
    """Seconds that the model expects of the kernels of a row."""
    total, alone, by = 0, None, None
    for k in x["kernels"]:
        mine, left = terms(x["target"], k["load"], k["blocks_a_core"], v, False)
        if k["beside"] and alone:
            alone = [a + b * c for a, b, c in zip(alone, mine, left)]
            continue
        total += blend(x["target"], alone, v, by) if alone else 0
        alone, by = mine, exponent(x["target"], k, v)
    return total + (blend(x["target"], alone, v, by) if alone else 0)


def expected_counted(x, v):
    """The same of its launch as it is counted before it is lowered."""
    k = x["counted"]
    return blend(x["target"], terms(x["target"], k["load"], k["blocks_a_core"], v, True)[0], v)


EXPECTED = {"finished": expected_finished, "counted": expected_counted}


def check(rows, values):
    """Ends the script if it and stc do not have the same model."""
    for x in rows:
        told = [("finished", k["name"], k, k["seconds"]) for k in x["kernels"]]
        if x["counted"]:
            told.append(("counted", "%s %s %s" % x["case"], x["counted"], x["counted"]["seconds"]))
        for column, name, k, seconds in told:
            by = exponent(x["target"], k, values[column]) if column == "finished" else None
            own = blend(x["target"], terms(x["target"], k["load"], k["blocks_a_core"], values[column], column == "counted")[0], values[column], by)
            if abs(math.log(own / seconds)) > 0.01:
                sys.exit("fit.py: %s (%s) expects %g s where stc explain says %g: passes/plan/cost/model.c has changed, and this script has not" %
                         (name, column, own, seconds))


def error(rows, v, column):
    """The mean ratio of expected and measured time, or its inverse."""
    return math.exp(math.sqrt(sum(math.log(EXPECTED[column](x, v) / x["seconds"])**2 for x in rows) / len(rows)))


def cases_of(rows):
    """The rows of each program, type and grid that has several."""
    cases = collections.defaultdict(list)
    for x in rows:
        cases[x["case"]].append(x)
    return [c for c in cases.values() if len(c) > 2]


def step_seconds(x):
    """Seconds that were measured for a time step."""
    return x["seconds"] / x["steps"]


def chosen(rows, v):
    """What the schedules that are expected to be fastest make of the best, by geometric mean of all cases; 1 if there are none."""
    cases = cases_of(rows)
    made = [math.log(min(map(step_seconds, c)) / step_seconds(min(c, key=lambda x: expected_counted(x, v) / x["steps"]))) for c in cases]
    return math.exp(sum(made) / len(made)) if made else 1


def finished_loss(rows, v):
    """What is made least: errors, those beyond a factor of two no more than that."""
    return sum(min(abs(math.log(expected_finished(x, v) / x["seconds"])), 0.7)**1.5 for x in rows) / len(rows)


def counted_loss(rows, v):
    """The same for choices: how far the rows of a case differ from each other otherwise than measured, those near the best first; a little by
    how far they are off together; and what is lost by the ones that are expected to be among the fastest."""
    total = 0
    cases = cases_of(rows)
    for c in cases:
        best = min(map(step_seconds, c))
        weight = [(best / step_seconds(x))**4 for x in c]
        off = [math.log(expected_counted(x, v) / x["seconds"]) for x in c]
        mean = sum(w * o for w, o in zip(weight, off)) / sum(weight)
        total += sum(w * min(abs(o - mean), 0.7)**1.5 for w, o in zip(weight, off)) / sum(weight) + 0.2 * min(abs(mean), 0.7)**1.5
        times = [math.log(expected_counted(x, v) / x["steps"]) for x in c]
        near = [math.exp((min(times) - s) / 0.05) for s in times]
        total += sum(n * math.log(step_seconds(x) / best) for n, x in zip(near, c)) / sum(near)
    return total / max(1, len(cases))


LOSS = {"finished": finished_loss, "counted": counted_loss}


def fitted(rows, start, names, column, rounds=12):
    """The numbers of a column that fit the rows best, found one after the other; a little is lost by how far they have moved."""
    v, step = dict(start), {n: 0.3 for n in names if start[n] > 0}

    def loss(trial):
        far = sum(math.log(trial[n] / start[n])**2 for n in step) / max(1, len(step))
        return (LOSS[column](rows, trial) if trial["blend"] > 1.5 else math.inf) + 0.002 * far

    least = loss(v)
    for _ in range(rounds):
        for n in step:
            better = False
            for factor in (math.exp(step[n]), math.exp(-step[n])):
                trial = {**v, n: v[n] * factor}
                mine = loss(trial)
                if mine < least:
                    v, least, better = trial, mine, True
                    break
            step[n] *= 1.2 if better else 0.5
    return v


def report(rows, start, names, column):
    """Fits a column, says how well, and gives its numbers."""
    v = fitted(rows, start, names, column)
    programs = sorted({x["row"]["program"] for x in rows})
    print("%s: %d rows of %d programs: error %.3f, fitted %.3f" % (column, len(rows), len(programs), error(rows, start, column), error(rows, v, column)))
    if column == "counted":
        print("counted: choices make %.3f of the best, fitted %.3f" % (chosen(rows, start), chosen(rows, v)))
    halves = [[x for x in rows if programs.index(x["row"]["program"]) % 2 == k] for k in range(2)]
    if all(halves):
        own = [fitted(halves[k], start, names, column) for k in range(2)]
        out = [error(halves[1 - k], own[k], column) for k in range(2)]
        print("%s: programs that nothing was fitted to: error %.3f" % (column, math.sqrt(out[0] * out[1])))
        if column == "counted":
            out = [(chosen(halves[1 - k], own[k]), len(cases_of(halves[1 - k]))) for k in range(2)]
            print("counted: choices for them make %.3f of the best" % math.exp(sum(n * math.log(c) for c, n in out) / max(1, sum(n for _, n in out))))
    for n in names:
        print("  %-16s %10.4g  was %.4g" % (n, v[n], start[n]))
    return v


def main():
    files = [a for a in sys.argv[1:] if not a.startswith("--")]
    card = ([a[7:] for a in sys.argv if a.startswith("--card=")] or ["h200"])[-1]
    if len(files) < 2:
        sys.exit(__doc__)
    stc, rows = files[0], []
    for path in files[1:]:
        rows += rows_of(path)
    kept = [a[7:] for a in sys.argv if a.startswith("--keep=")]
    if kept:
        keep(kept[-1], rows)
        return
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [x for x in pool.map(lambda r: explained(stc, card, r), rows) if x]
    if not rows:
        sys.exit("fit.py: no row of these files has a schedule and a program that is known")
    start, names = record()
    check(rows, start)
    of = {"finished": rows, "counted": [x for x in rows if x["counted"]]}
    v = {c: report(of[c], start[c], names[c], c) if of[c] else start[c] for c in COLUMNS}
    if "--write" in sys.argv:
        write(v, names)


if __name__ == "__main__":
    main()
