#!/usr/bin/env python3
"""The tables of docs/performance.md from files of `stc bench --json`.

  table.py FILE.json...

What several files have of the same program, type, size and family counts as the last of them says it. "default" is the schedule that stc takes by itself: the row that the file marks as chosen, else that of the family
stream, or overlap where there is none; T, registers, spilled bytes and what is behind them are of that. Prints the table, then what it means for the goals.
"""
import json
import math
import re
import sys

# GPts/s on one H200, on grids of at least LARGE points: the best of AN5D and EBISU, as measured for this project, and what this project set itself.
PUBLISHED = {"star2d1r": (1598, 877), "star2d2r": (764, 524), "box2d1r": (1065, 680), "box2d2r": (543, 340), "gradient2d": (1059, 258), "star3d1r": (704, 352), "star3d2r": (257, 117), "box3d1r": (377, 182)}
GOALS = {"star2d1r": (2800, 1500), "box2d1r": (2000, 1000), "star2d2r": (1650, 750), "box2d2r": (900, 430), "gradient2d": (1600, 600), "star3d1r": (1200, 600), "star3d2r": (600, 300), "box3d1r": (650, 300)}
OF_NAIVE, OF_ARITHMETIC, OF_TUNED, LARGE = 2, 0.44, 0.8, 1 << 26
ORDER = "star2d1r star2d2r star2d4r box2d1r box2d2r gradient2d star3d1r star3d2r box3d1r star1d1r star1d3r fdtd2d gray_scott rician2d acoustic_wave anisotropic_diffusion".split()
HEAD = "program type size naive overlap stream tuned default/naive default/tuned T registers spilled of_copying of_arithmetic expected published".split()


class Entry:
    """What was measured of a program of a type and size: rows by family, and what was left out."""

    def __init__(self, program, type, size):
        self.program, self.type, self.size, self.rows = program, type, size, {}

    def gpts(self, family):
        """Its speed under a family; None: not measured."""
        return self.rows[family]["gpts"] if family in self.rows else None

    def default(self):
        """The row of what stc takes by itself; None: not measured."""
        chosen = [row for row in self.rows.values() if row.get("chosen") and row["family"] in ("naive", "overlap", "stream")]
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
    pair = PUBLISHED.get(entry.program) if entry.large() else None
    percent = lambda key: "%.0f %%" % (100 * row[key]) if key in row else ""
    ratio = lambda family, digits: "%.*f" % (digits, entry.ratio(family)) if entry.ratio(family) else ""
    cells = [entry.program, entry.type, short_size(entry.size)] + [speed(entry.gpts(family)) for family in ("naive", "overlap", "stream", "tuned")]
    cells += [ratio("naive", 1), ratio("tuned", 2)] + [str(row.get(key, "")) for key in ("T", "registers", "local_bytes")]
    cells += [percent("of_copy_limit"), percent("of_arithmetic_limit"), speed(row.get("expected_gpts")), str(pair[entry.type == "f64"]) if pair else ""]
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


def print_goals(entries):
    """The goals, and the best of all large sizes for each."""
    print("\n| program | type | goal | default | tuned | |\n|---|---|---|---|---|---|")
    for program, pair in GOALS.items():
        for type, goal in zip(("f32", "f64"), pair):
            mine = [e for e in entries if e.large() and (e.program, e.type) == (program, type)]
            if not mine:
                continue
            default = max((e.default()["gpts"] for e in mine if e.default()), default=None)
            tuned = max((e.gpts("tuned") for e in mine if e.gpts("tuned")), default=None)
            best = max(default or 0, tuned or 0)
            verdict = "met" if (default or 0) >= goal else "met when tuned" if best >= goal else "missed, %.0f %%" % (100 * best / goal)
            print("| %s | %s | %d | %s | %s | %s |" % (program, type, goal, speed(default), speed(tuned), verdict))


def main():
    paths = [a for a in sys.argv[1:] if not a.startswith("-")]
    if not paths:
        sys.exit(__doc__)
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
