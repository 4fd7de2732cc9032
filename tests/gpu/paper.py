#!/usr/bin/env python3
"""The evaluation of J. Holewinski, L.-N. Pouchet, P. Sadayappan, "High-performance code generation for stencil computations
on GPU architectures", ICS 2012, repeated on the card at hand.

  paper.py [--figures=6,7,8] [--seconds=N] [--device=cuda] [--small] [--ncu=COMMAND] --json=FILE STC     measures
  paper.py --draw=FOLDER [--json=FILE]                                                                    draws, as SVG
  paper.py --page=FILE.md | --check=FILE.md [--json=FILE]               writes the page's tables, or says whether they are right

Figure 6: the ten programs of the paper's table, GPts/s and GFlop/s, under each family of schedules, f32 and f64; a figure is the
median of up to three runs of `stc run --time`. GFlop/s counts the operations of the paper's table, so a point costs the same whatever the
compiler makes of it. Figure 7: Jacobi in two dimensions over time tile and elements, at a fixed block. Figure 8: what the profiler (ncu)
counts over the time tile: warps' instructions of each kind for 1000 points of the grid and steps. --small: grids that a processor
manages, for tests. After --seconds (300) nothing more is begun. Without --json, --draw and the pages take docs/data/paper.json. Drawing needs matplotlib (PyPI).
"""
import glob
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "bench")]
import counters  # noqa: E402
import table     # noqa: E402
from words import option  # noqa: E402

# The paper's table: a program, its rank, operations a point and step.
PROGRAMS = [("j1d3pt", 1, 3), ("j1d5pt", 1, 5), ("j1d7pt", 1, 7), ("j2d5pt", 2, 5), ("j3d7pt", 3, 7), ("poisson2d", 2, 9), ("fdtd2d", 2, 11), ("rician2d", 2, 44),
            ("gradient2d", 2, 18), ("tv2d", 2, 59)]
EXTENTS = {False: {1: [1 << 26], 2: [8192, 8192], 3: [512, 512, 512]}, True: {1: [4096], 2: [64, 64], 3: [24, 24, 24]}}
FAMILIES = ("naive", "overlap", "stream")
TYPES = ("f32", "f64")
# Figure 7: the block is fixed; its threads have 1 to 16 elements along y.
BLOCK, TILES, ELEMENTS = "8x32", range(1, 11), (1, 2, 4, 6, 8, 10, 12, 16)
# Figure 8: what is counted, and by which of the profiler's metrics, summed.
COUNTS = {"instructions": ["smsp__inst_executed.sum"], "branches": ["smsp__inst_executed_op_branch.sum"],
          "global loads": ["smsp__inst_executed_op_global_ld.sum", "smsp__inst_executed_op_ldgsts.sum"],
          "shared accesses": ["smsp__inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_st.sum"]}
COUNT_ELEMENTS, COUNT_STEPS = 8, 8


SMALL = "--small" in sys.argv


def path_of(program):
    """Where a program of the paper is."""
    return os.path.join(ROOT, "examples", program + ".stn")


def product(extents):
    result = 1
    for n in extents:
        result *= n
    return result


# ---------------------------------------------------------------- measuring


def command(stc, program, extents, real, steps, options):
    """The command line that runs a program."""
    sizes = ["-D%s=%d" % pair for pair in zip("NML", extents)]
    random = ["--in", "f=random:2"] if program == "rician2d" else []
    return [stc, "run", "--no-tune-db", "--quiet", "--device=" + option("device", "cuda"), "-freal=" + real, "--steps=%d" % steps] + sizes + random + options + [path_of(program)]


def timed(stc, program, extents, real, steps, options):
    """What `stc run --time` says of a run, as a dictionary, or the last line of its refusal."""
    done = subprocess.run(command(stc, program, extents, real, steps, options) + ["--time"], capture_output=True, text=True)
    lines = [l for l in done.stdout.splitlines() if l.startswith("{")]
    said = [l for l in done.stderr.splitlines() if "error:" in l]
    return json.loads(lines[-1]) if done.returncode == 0 and lines else (said or ["stc printed nothing"])[-1].split("error: ")[-1]


def figure6(stc, end):
    """A row for each program, type and family: GPts/s, the spread of up to three runs, GFlop/s, schedule. A round runs each once."""
    rows = [{"program": program, "type": real, "size": "x".join(map(str, EXTENTS[SMALL][rank])), "family": family, "operations": flops}
            for (program, rank, flops), real, family in itertools.product(PROGRAMS, TYPES, FAMILIES)]
    samples = [[] for _ in rows]
    for _ in range(3):
        for row, mine in zip(rows, samples):
            if "left_out" not in row and time.time() < end:
                extents, steps = [int(n) for n in row["size"].split("x")], 8 if SMALL else 240
                said = timed(stc, row["program"], extents, row["type"], steps, ["-schedule=" + row["family"]])
                mine.append(said["gpts"]) if isinstance(said, dict) else row.update(left_out=said)
                row.update({"schedule": said["schedule"]} if isinstance(said, dict) else {})
    for row, mine in zip(rows, samples):
        speed = statistics.median(mine) if mine else 0
        row.update({"gpts": speed, "samples": len(mine), "spread": (max(mine) - min(mine)) / max(mine), "gflops": row["operations"] * speed} if mine else {"left_out": row.get("left_out", "the time was up")})
        print("figure 6: %s %s %s: %s" % (row["program"], row["type"], row["family"], "%.4g GPts/s" % speed if mine else row["left_out"]), flush=True)
    return rows


def figure7(stc, end):
    """A row for each time tile and number of elements: GPts/s."""
    rows = []
    for T, elements in itertools.product(TILES, ELEMENTS):
        row = {"T": T, "elements": elements}
        options = ["-schedule=overlap", "-T=%d" % T, "-block=" + BLOCK, "-elems=%dx1" % elements]
        said = timed(stc, "j2d5pt", EXTENTS[SMALL][2], "f32", 2 * T if SMALL else 240, options) if time.time() < end else "the time was up"
        row.update({"gpts": said["gpts"]} if isinstance(said, dict) else {"left_out": said})
        rows.append(row)
    best = max((r for r in rows if "gpts" in r), key=lambda r: r["gpts"], default=None)
    print("figure 7: the best of %d: %s" % (sum("gpts" in r for r in rows), best), flush=True)
    return rows


def figure8(stc, end):
    """A row for each time tile: the warps' instructions of each kind for 1000 points and steps. None without the profiler."""
    ncu = option("ncu") or shutil.which("ncu") or next(iter(glob.glob("/usr/local/cuda*/bin/ncu")), None)
    if not ncu:
        print("figure 8: there is no ncu", flush=True)
        return []
    rows, extents = [], EXTENTS[SMALL][2]
    for T in (1, 2, 4, 8):
        metrics = sorted(set(itertools.chain(*COUNTS.values())))
        options = ["-schedule=overlap", "-T=%d" % T, "-block=" + BLOCK, "-elems=%dx1" % COUNT_ELEMENTS]
        if time.time() > end:
            rows.append({"T": T, "left_out": "the time was up"})
            continue
        text, _ = counters.run_profiler(ncu, metrics, command(stc, "j2d5pt", extents, "f32", COUNT_STEPS, options), max(10, end - time.time()))
        launches = [l for l in counters.read_csv(text) if "_init_" not in l["name"]]
        points = product(extents) * COUNT_STEPS / 1000
        row = {"T": T, "launches": len(launches)}
        for what, names in COUNTS.items():
            row[what] = sum(l.get(name, 0) for l in launches for name in names) / points
        rows.append(row)
        print("figure 8: %s" % row, flush=True)
    return rows


def card():
    """The card's name and driver, or the processor's."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return option("device", "cuda")


def measure(stc):
    """Measures what is asked for, and writes the file after each figure."""
    end = time.time() + float(option("seconds", "300"))
    result = {"card": card(), "date": time.strftime("%Y-%m-%d"), "block": BLOCK}
    for number, figure in (("8", figure8), ("7", figure7), ("6", figure6)):
        if number in option("figures", "6,7,8").split(","):
            result["figure" + number] = figure(stc, end)
            with open(option("json"), "w", encoding="utf-8") as f:
                json.dump(result, f, indent=1)
                f.write("\n")
    return 0 if any("gpts" in r or "instructions" in r for k in result if k.startswith("figure") for r in result[k]) else 1


# ---------------------------------------------------------------- the page


def data():
    """What was measured."""
    with open(option("json", os.path.join(table.DATA, "paper.json")), encoding="utf-8") as f:
        return json.load(f)


def table_figure6():
    """The ten programs: GPts/s of each family, GFlop/s of the best."""
    lines = []
    for program, _, flops in PROGRAMS:
        row = [program, str(flops)]
        for real in TYPES:
            mine = {r["family"]: r for r in data()["figure6"] if r["program"] == program and r["type"] == real}
            best = max((r["gpts"] for r in mine.values() if "gpts" in r), default=0)
            row += [table.speed(mine[f]["gpts"]) if "gpts" in mine[f] else "" for f in FAMILIES] + ["%.0f" % (best * flops)]
        lines.append(row)
    return table.markdown(["program", "operations"] + ["%s %s" % pair for pair in itertools.product(TYPES, FAMILIES + ("GFlop/s",))], lines)


def table_figure7():
    """Time tiles down, elements across."""
    found = {(r["T"], r["elements"]): r for r in data()["figure7"]}
    speeds = lambda T: [table.speed(found[T, e]["gpts"]) if "gpts" in found[T, e] else "" for e in ELEMENTS]
    return table.markdown(["T"] + ["%d elements" % e for e in ELEMENTS], [[str(T)] + speeds(T) for T in TILES])


def table_figure8():
    """Instructions of each kind over the time tile."""
    return table.markdown(["T", "launches"] + list(COUNTS), [[str(r["T"]), str(r["launches"])] + ["%.2f" % r[c] for c in COUNTS] for r in data()["figure8"] if "launches" in r])


def page(path, check):
    """Writes the page's tables, or says whether they are right."""
    table.TABLES.update(figure6=table_figure6, figure7=table_figure7, figure8=table_figure8)
    status = table.pages([path], check)
    if status:
        print("that is: tests/gpu/paper.py --page=%s" % path)
    return status


# ---------------------------------------------------------------- drawing


def draw(folder):
    """The three figures, each as an SVG."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "stc", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    from matplotlib import pyplot
    for name, paint in (("figure6", draw_figure6), ("figure7", draw_figure7), ("figure8", draw_figure8)):
        if data().get(name):
            figure = paint(pyplot, data()[name])
            figure.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None}, bbox_inches="tight")
    return 0


def draw_figure6(pyplot, rows):
    """Bars: the families of each program, a type a panel, on a logarithmic scale."""
    figure, panels = pyplot.subplots(2, 1, figsize=(8, 6), sharex=True)
    for panel, real in zip(panels, TYPES):
        for i, family in enumerate(FAMILIES):
            mine = {r["program"]: r.get("gflops", 0) for r in rows if r["type"] == real and r["family"] == family}
            panel.bar([x + 0.27 * (i - 1) for x in range(len(PROGRAMS))], [mine.get(p, 0) for p, _, _ in PROGRAMS], 0.25, label=family)
        panel.set_yscale("log")
        panel.set_ylabel("GFlop/s, " + real)
        panel.set_xticks(range(len(PROGRAMS)), [p for p, _, _ in PROGRAMS], rotation=30, ha="right")
    panels[0].legend(frameon=False, ncols=3)
    return figure


def draw_figure7(pyplot, rows):
    """A line for each number of elements, over the time tile."""
    figure, panel = pyplot.subplots(figsize=(6, 4))
    for elements in ELEMENTS:
        mine = [(r["T"], r["gpts"]) for r in rows if r["elements"] == elements and "gpts" in r]
        panel.plot(*zip(*mine), marker="o", markersize=3, label=str(elements)) if mine else None
    panel.set_xlabel("time tile T")
    panel.set_ylabel("GPts/s")
    panel.set_ylim(bottom=0)
    panel.legend(title="elements", frameon=False)
    return figure


def draw_figure8(pyplot, rows):
    """A panel for each count, over the time tile."""
    figure, panels = pyplot.subplots(1, len(COUNTS), figsize=(9, 2.6))
    for panel, what in zip(panels, COUNTS):
        mine = [r for r in rows if what in r]
        panel.bar([str(r["T"]) for r in mine], [r[what] for r in mine], color="tab:gray")
        panel.set_title(what)
        panel.set_xlabel("time tile T")
    panels[0].set_ylabel("for 1000 points and steps")
    return figure


def main():
    stc = [a for a in sys.argv[1:] if not a.startswith("--")]
    if option("draw"):
        os.makedirs(option("draw"), exist_ok=True)
        return draw(option("draw"))
    if option("page") or option("check"):
        return page(option("page") or option("check"), bool(option("check")))
    if len(stc) != 1 or not option("json"):
        sys.exit(__doc__)
    return measure(stc[0])


if __name__ == "__main__":
    sys.exit(main())
