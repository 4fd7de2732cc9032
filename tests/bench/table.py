#!/usr/bin/env python3
"""The tables of docs/performance.md and of the README from files of `stc bench --json`.

  table.py FILE.json...            prints the table, then what it means for the goals
  table.py --page FILE.md...       writes the tables between `<!-- table NAME -->` and `<!-- end -->` anew, from docs/data/
  table.py --check FILE.md...      exits with 1 if one of them is not as docs/data/ says

What several files have of the same program, type, size and family counts as the last of them says it. "default" is the schedule that stc
takes by itself: the row that the file marks as chosen, else that of the family stream, or overlap where there is none; T, registers,
spilled bytes and what is behind them are of that. docs/data/targets.json has what others publish, as measured on the same card, and the
goals.
"""
import json
import math
import os
import re
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "data")
OF_NAIVE, OF_ARITHMETIC, OF_TUNED, LARGE = 2, 0.44, 0.8, 1 << 26
STRONG_LARGE = 1 << 29
ORDER = ("star2d1r star2d2r star2d4r box2d1r box2d2r gradient2d star3d1r star3d2r box3d1r star1d1r star1d3r fdtd2d gray_scott rician2d "
         "acoustic_wave anisotropic_diffusion").split()
HEAD = ("program type size naive overlap stream tuned default/naive default/tuned T registers spilled of_copying of_arithmetic expected "
        "published").split()
TOOLS = ("AN5D", "EBISU", "FastStencil")
# What the README shows: the title of a row, its program, type and size.
README = [("5-point star, f32", "star2d1r", "f32", "16384x16384"), ("5-point star, f64", "star2d1r", "f64", "16384x16384"),
          ("9-point box, f32", "box2d1r", "f32", "16384x16384"), ("9-point star of radius 2, f32", "star2d2r", "f32", "16384x16384"),
          ("9-point star of radius 2, f64", "star2d2r", "f64", "16384x16384"), ("7-point star in 3-D, f32", "star3d1r", "f32", "768x768x768"),
          ("27-point box in 3-D, f32", "box3d1r", "f32", "768x768x768")]


def data(name):
    """A file of docs/data/."""
    with open(os.path.join(DATA, name), encoding="utf-8") as f:
        return json.load(f)


def published(program, type, size, tool=None):
    """The best figure that others reach for a program, type and size (or one of them does), as a row of targets.json; None: there is none.
    In 3-D some were measured on grids of their own, which count for all."""
    rows = [row for row in data("targets.json")["published"]
            if (row["program"], row["type"]) == (program, type) and tool in (None, row["tool"]) and row["size"] != "one wave"
            and (row["size"] == size or row["tool"] != "FastStencil")]
    return max(rows, key=lambda row: row["gpts"], default=None)


class Entry:
    """What was measured of a program of a type and size: rows by family, and what was left out."""

    def __init__(self, program, type, size):
        self.program, self.type, self.size, self.rows = program, type, size, {}

    def gpts(self, family):
        """Its speed under a family; None: not measured."""
        return self.rows[family]["gpts"] if family in self.rows else None

    def default(self):
        """The row of what stc takes by itself; None: not measured."""
        chosen = [row for row in self.rows.values() if row.get("chosen") and row["family"] in ("naive", "overlap", "stream", "warps")]
        return chosen[0] if chosen else self.rows.get("stream", self.rows.get("overlap"))

    def ratio(self, family):
        """The default's speed to the family's; None: not known."""
        default = self.default()
        return default["gpts"] / self.gpts(family) if default and self.gpts(family) else None

    def best(self):
        """The speed of the default or of the tuned schedule, whichever is faster; 0: neither was measured."""
        return max((row["gpts"] for row in (self.default(), self.rows.get("tuned")) if row), default=0)

    def large(self):
        """Is the grid large, so that launches do not matter?"""
        return math.prod(int(n) for n in self.size.split("x")) >= LARGE

    def name(self):
        return "%s %s %s" % (self.program, self.type, short_size(self.size))

    def place(self):
        """Its place in the table."""
        return (ORDER.index(self.program) if self.program in ORDER else len(ORDER), self.program, [int(n) for n in self.size.split("x")], self.type)


def short_size(size):
    """16384x16384 as 16384^2, and 268435456 as 2^28."""
    extents = size.split("x")
    n = int(extents[0])
    if len(extents) == 1:
        return "2^%d" % (n.bit_length() - 1) if n & (n - 1) == 0 and n >= 1 << 20 else size
    return "%s^%d" % (extents[0], len(extents)) if len(set(extents)) == 1 else size


def read(paths):
    """The heads of the files, the entries, and the lines of what was left out."""
    heads, entries, left = [], {}, {}
    for path in paths:
        with open(path) as f:
            data = json.load(f)
        heads.append("%s on %s, %s; copying within its memory: %.0f GB/s read and written" % (data["version"], data["device"], data["date"], data["copy_gb_per_s"]))
        for row in data["rows"]:
            key = (row["program"], row["type"], row["size"])
            if "gpts" not in row:
                left[key + (row["family"],)] = "%s %s %s %s: %s" % (row["program"], row["type"], row["size"], row["family"], row["left_out"])
                continue
            entries.setdefault(key, Entry(*key)).rows[row["family"]] = row
    return list(dict.fromkeys(heads)), sorted(entries.values(), key=Entry.place), list(left.values())


def speed(gpts):
    """GPts/s in the table; nothing if not known."""
    return "" if gpts is None else "%.0f" % gpts if gpts >= 200 else "%.3g" % gpts


def line(entry):
    """An entry as a line of the table."""
    row = entry.default() or {}
    best = published(entry.program, entry.type, entry.size) if entry.large() else None
    percent = lambda key: "%.0f %%" % (100 * row[key]) if key in row else ""
    ratio = lambda family, digits: "%.*f" % (digits, entry.ratio(family)) if entry.ratio(family) else ""
    cells = [entry.program, entry.type, short_size(entry.size)] + [speed(entry.gpts(family)) for family in ("naive", "overlap", "stream", "tuned")]
    cells += [ratio("naive", 1), ratio("tuned", 2)] + [str(row.get(key, "")) for key in ("T", "registers", "local_bytes")]
    cells += [percent("of_copy_limit"), percent("of_arithmetic_limit"), speed(row.get("expected_gpts")), str(best["gpts"]) if best else ""]
    return "| %s |" % " | ".join(cells)


def print_table(entries):
    print("| %s |\n|%s" % (" | ".join(word.replace("_", " ") for word in HEAD), "---|" * len(HEAD)))
    print("\n".join(line(entry) for entry in entries))


def listed(what, entries, figure):
    """Prints a line that names entries with a figure each."""
    print("%s: %s" % (what, ", ".join("%s (%s)" % (entry.name(), figure(entry)) for entry in entries) or "none"))


def print_ratios(entries):
    """How the defaults do beside tuned and naive schedules, and in two dimensions beside the arithmetic."""
    tuned = [entry for entry in entries if entry.ratio("tuned")]
    if tuned:
        mean = math.exp(sum(math.log(entry.ratio("tuned")) for entry in tuned) / len(tuned))
        print("default over tuned, geometric mean of %d: %.3f (goal %.2f)" % (len(tuned), mean, OF_TUNED))
        listed("default below %.2f of tuned" % OF_TUNED, [e for e in tuned if e.ratio("tuned") < OF_TUNED], lambda e: "%.2f" % e.ratio("tuned"))
    naive = [entry for entry in entries if entry.ratio("naive")]
    best = lambda e: "%.2f, at best %.2f" % (e.ratio("naive"), e.best() / e.gpts("naive"))
    listed("default below naive", [e for e in naive if e.ratio("naive") < 1], best)
    listed("default below %d times naive on a large grid" % OF_NAIVE, [e for e in naive if e.large() and 1 <= e.ratio("naive") < OF_NAIVE], best)
    flat = [e for e in entries if e.large() and e.type == "f32" and e.size.count("x") == 1 and e.default() and "of_arithmetic_limit" in e.default()]
    share = lambda e: e.default()["of_arithmetic_limit"]
    listed("2-D f32 below %.0f %% of arithmetic on a large grid" % (100 * OF_ARITHMETIC), [e for e in flat if share(e) < OF_ARITHMETIC], lambda e: "%.0f %%" % (100 * share(e)))
    listed("not all values stayed finite", [e for e in entries if not all(row.get("finite", True) for row in e.rows.values())], lambda e: "see the file")


def goal_rows(entries):
    """Goal, default's speed and tuned speed for each goal of targets.json that was measured."""
    for goal in data("targets.json")["goals"]:
        for entry in entries:
            if (entry.program, entry.type, entry.size) == (goal["program"], goal["type"], goal["size"]) and (entry.default() or entry.gpts("tuned")):
                yield goal, entry.default()["gpts"] if entry.default() else None, entry.gpts("tuned")


def print_goals(entries):
    """The goals, and how far the defaults and the tuned schedules are."""
    print("\n| program | type | size | goal | default | tuned | |\n|---|---|---|---|---|---|---|")
    for goal, default, tuned in goal_rows(entries):
        best = max(default or 0, tuned or 0)
        verdict = ("met" if (default or 0) >= goal["gpts"] else "met when tuned" if best >= goal["gpts"]
                   else "missed, %.0f %%" % (100 * best / goal["gpts"]))
        print("| %s | %s | %s | %d | %s | %s | %s |" % (goal["program"], goal["type"], short_size(goal["size"]), goal["gpts"], speed(default), speed(tuned), verdict))


# ---------------------------------------------------------------- the pages


def entries_of(name):
    """The entries of a file of docs/data/."""
    return read([os.path.join(DATA, name)])[1]


def markdown(head, rows):
    """A table."""
    return ["| %s |" % " | ".join(head), "|" + "---|" * len(head)] + ["| %s |" % " | ".join(row) for row in rows]


def table_large():
    """All programs on large grids beside what others reach."""
    goals = {(goal["program"], goal["type"], goal["size"]): str(goal["gpts"]) for goal in data("targets.json")["goals"]}
    rows = []
    for e in entries_of("large.json"):
        row = e.default()
        rivals = [published(e.program, e.type, e.size, tool) for tool in TOOLS]
        rows.append([e.program, e.type, short_size(e.size)] + [speed(e.gpts(f)) for f in ("naive", "overlap", "stream", "warps")]
                    + ["%.1f" % e.ratio("naive"), str(row["T"]), str(row["registers"]), str(row["local_bytes"])]
                    + ["%.0f %%" % (100 * row[key]) for key in ("of_copy_limit", "of_arithmetic_limit")] + [speed(row["expected_gpts"])]
                    + [str(rival["gpts"]) if rival else "" for rival in rivals] + [goals.get((e.program, e.type, e.size), "")])
    head = "program,type,size,naive,overlap,stream,warps,of naive,T,registers,spilled,of copying,of arithmetic,expected".split(",")
    return markdown(head + list(TOOLS) + ["goal"], rows)


def table_small():
    """Small grids: the families, and what stc takes to naive; f32, then f64, in a line."""
    lines = {}
    for e in entries_of("small.json"):
        taken = [row for row in e.rows.values() if row.get("chosen")]
        ratio = "%s, %.1f" % (taken[0]["family"], taken[0]["gpts"] / e.gpts("naive")) if taken else "not measured"
        cells = [speed(e.gpts(f)) for f in ("naive", "overlap", "stream")] + [ratio]
        lines.setdefault((e.program, e.size), {})[e.type] = cells
    head = ["program", "size"] + ["%s %s" % (type, what) for type in ("f32", "f64") for what in ("naive", "overlap", "stream", "taken, to naive")]
    return markdown(head, [[program, short_size(size)] + pair["f32"] + pair["f64"] for (program, size), pair in lines.items()])


def table_searched(large=True):
    """The default beside the best of a search on large grids, or on the sizes that people have; f32, then f64, in a line."""
    lines = {}
    for r in data("searched.json")["rows"]:
        extents = [int(n) for n in r["size"].split("x")]
        if (math.prod(extents) > LARGE) == large:
            cells = [speed(r.get("naive"))] * (not large) + [speed(r["gpts"]), speed(r["best_gpts"]), "%.2f" % (r["gpts"] / r["best_gpts"])]
            lines.setdefault((len(extents), () if large else tuple(extents), ORDER.index(r["program"]), r["program"], r["size"]), {})[r["type"]] = cells
    head = ["program", "size"] + ["%s %s" % (type, what) for type in ("f32", "f64") for what in ("naive", "default", "best", "ratio")[large:]]
    none = [""] * (4 - large)
    rows = [[*key[3:4], short_size(key[4]), *pair.get("f32", none), *pair.get("f64", none)] for key, pair in sorted(lines.items())]
    return markdown(head, rows)


def table_sizes():
    """The same on the sizes that people have."""
    return table_searched(False)


def cpu_speeds(case):
    """GPts/s of each peer of a case of peers/peers.py, and stc's over the best of the others, as it is and without time tiles."""
    gpts = {p: found["gpts"] for p, found in case["peers"].items()}
    best = max(g for p, g in gpts.items() if p not in ("stc", "t1"))
    return gpts, gpts["stc"] / best


def table_cpu():
    """The CPU beside its peers, from what peers/peers.py wrote on many cores; columns of peers that were not there are left out. Behind them what it wrote on two."""
    titles = {"c": "C loops", "tiles": "C tiles", "halide": "Halide", "devito": "Devito", "stc": "stc"}
    cases, two = data("cpu.json")["cases"], {c["case"]: c for c in data("cpu2.json")["cases"]}
    there = [p for p in titles if any(p in c["peers"] for c in cases)]
    rows = []
    for c in cases:
        gpts, ratio = cpu_speeds(c)
        line = c["case"].rsplit("-", 1) + ["x".join(map(str, c["shape"]))] + ["%.2f" % gpts[p] if p in gpts else "" for p in there] + ["%.2f" % ratio]
        if c["case"] in two:
            gpts, ratio = cpu_speeds(two[c["case"]])
            line += ["%.2f" % gpts[p] for p in ("c", "tiles", "stc")] + ["%.2f" % ratio, "%.2f" % (gpts["t1"] / gpts["c"]) if "t1" in gpts else ""]
        else:
            line += [""] * 5
        rows.append(line)
    return markdown(["program", "type", "points"] + [titles[p] for p in there] + ["stc / best", "2 cores: loops", "tiles", "stc", "/ best", "T=1 / loops"], rows)


def amd_lines(part, keys):
    """What the kernels for `part` of the tiles take on AMD processors, before > after: by processor the figures `keys`, each with its form."""
    file, lines = data("amd.json"), {}
    for r in file["rows"]:
        both = [r[when][part] for when in ("before", "after") if part in r[when]]
        spilled = [{**b, "spills": b["vgpr_spills"] + b["sgpr_spills"], "kib": b["lds"] / 1024} for b in both]
        cells = [" > ".join(dict.fromkeys(form % b[key] for b in spilled)) for key, form in keys]
        lines.setdefault((r["program"], r["type"]), {})[r["cpu"]] = "; ".join(cells)
    return markdown(["program", "type"] + file["cpus"], [[*program] + [cells.get(cpu, "") for cpu in file["cpus"]] for program, cells in lines.items()])


def table_amd():
    """Walks away from edges on AMD processors: a thread's vector registers, spilled ones, a block's KiB of LDS, a SIMD's waves, instructions a point."""
    return amd_lines("inner", (("vgprs", "%d"), ("spills", "%d"), ("kib", "%g"), ("waves", "%g"), ("point", "%.1f")))


def table_amd_edges():
    """The same at edges: a thread's vector registers, spilled ones, instructions a point."""
    return amd_lines("edges", (("vgprs", "%d"), ("spills", "%d"), ("point", "%.1f")))


def mean(values):
    """The geometric mean."""
    return math.exp(sum(math.log(v) for v in values) / len(values))


def table_amd_means():
    """All of these walks together, a line for tiles away from edges and one for those at edges: before > after."""
    file, lines = data("amd.json"), []
    for part, title in (("inner", "away from edges"), ("edges", "at edges")):
        cells = []
        for cpu in file["cpus"]:
            pairs = [(r["before"][part], r["after"][part]) for r in file["rows"] if r["cpu"] == cpu and part in r["before"] and part in r["after"]]
            both = list(zip(*pairs))
            figures = [("%.0f", lambda k: mean([r["vgprs"] for r in k])), ("%d", lambda k: sum(r["vgpr_spills"] + r["sgpr_spills"] for r in k)),
                       ("%.0f", lambda k: sum(r["lds"] for r in k) / len(k) / 1024), ("%.1f", lambda k: sum(r["waves"] for r in k) / len(k)),
                       ("%.1f", lambda k: mean([r["point"] for r in k]))]
            cells.append("; ".join(" > ".join(dict.fromkeys(form % of(k) for k in both)) for form, of in figures))
        lines.append([title] + cells)
    return markdown(["tiles"] + file["cpus"], lines)


def table_parts(name="parts.json"):
    """Weak and strong scaling, from what tests/gpu/scaling.py wrote: speeds, and what they are of as many times one card."""
    file, lines = data(name), {}
    for r in file["rows"]:
        lines.setdefault((r["scaling"], r["program"], r["size"]), {})[r["way"]] = r
    shown = [way for way in ("peer", "nccl", "mpi", "naive") if any(way in ways for ways in lines.values())]
    rows = []
    for (scaling, program, size), ways in sorted(lines.items(), key=lambda line: line[0][0] == "strong"):
        goal = 98 if scaling == "weak" else 95 if math.prod(map(int, size.split("x"))) >= STRONG_LARGE else 80
        cells = [scaling, program, short_size(size), speed(ways["one"]["gpts"])]
        for way in shown:
            r = ways[way]
            share = ", %.0f %%" % (100 * r["gpts"] / file["cards"] / ways["one"]["gpts"]) if way != "naive" and "gpts" in r else ""
            cells.append(speed(r.get("gpts")) + share + (", %d" % r["every"] if "every" in r and way != "naive" else ""))
        rows.append(cells + ["%d %%" % goal])
    return markdown(["scaling", "program", "grid", "one card"] + ["`%s`" % way if way != "naive" else way for way in shown] + ["goal"], rows)


def table_parts4():
    """The same of four cards."""
    return table_parts("parts4.json")


def table_readme():
    """The few lines of the README."""
    entries = {(e.program, e.type, e.size): e for e in entries_of("large.json")}
    rows = []
    for title, program, type, size in README:
        best = published(program, type, size)
        entry = entries[program, type, size]
        rows.append([title, speed(entry.gpts("naive")), speed(entry.default()["gpts"]), "%d (%s)" % (best["gpts"], best["tool"])])
    return markdown(["", "one step at a time", "stc", "best of others"], rows)


TABLES = {"large": table_large, "small": table_small, "cpu": table_cpu, "amd": table_amd, "amd_edges": table_amd_edges, "amd_means": table_amd_means,
          "readme": table_readme, "searched": table_searched, "sizes": table_sizes, "parts": table_parts, "parts4": table_parts4}
MARKED = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.S)


def filled(text):
    """A page with its tables as docs/data/ says."""
    return MARKED.sub(lambda m: m.group(1) + "\n".join(TABLES[m.group(2)]()) + "\n" + m.group(3), text)


def pages(paths, check):
    """Writes the tables of pages, or says which are not as they should be; the exit status."""
    status = 0
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        new = filled(text)
        if new != text and check:
            print("%s: its tables are not those of docs/data/: run tests/bench/table.py --page %s" % (path, path))
            status = 1
        elif new != text:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
    return status


def main():
    paths = [a for a in sys.argv[1:] if not a.startswith("-")]
    if not paths:
        sys.exit(__doc__)
    if "--page" in sys.argv or "--check" in sys.argv:
        return pages(paths, "--check" in sys.argv)
    heads, entries, left = read(paths)
    print("\n".join(heads) + "\n")
    print_table(entries)
    print()
    print_ratios(entries)
    print_goals(entries)
    if left:
        print("\nleft out:\n" + "\n".join("- " + text for text in left))
    return 0


if __name__ == "__main__":
    sys.exit(main())
