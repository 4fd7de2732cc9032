#!/usr/bin/env python3
"""Programs on a GPU against the reference, bit for bit (-fno-contract), under many schedules (a record of one day:
docs/lab/checking.md).

  check.py [--budget=SECONDS] [--device=cuda] [--jobs=N] [--only=REGEX] [--stages=LIST] [--list] STC [HARNESS]

The programs are those of examples/, driver/bench/ and tests/programs/, and tests/nvptx/negations.stn, where ptxas once forgot a minus. HARNESS is the executable of tests/programs/differential.c, by default `differential` beside STC or in tests/ beside it: one process makes all
runs of a program, type and size, and the reference once for them. The stages, in the order in which they are run:

  defaults   examples and bench programs under what stc chooses for a large grid and for the grid at hand, overlap and naive, on small, odd and large grids
  edges      their defaults with -edges=apart and along and what stc chooses for grids of a middling size, on rows that are multiples of 8, too; 200 steps, whose launches become a graph; the test programs (f16, bf16, integers, structs, older levels, reductions)
  shapes     many T, blocks and elements of overlapped and of walked tiles
  memcheck, racecheck, synccheck   compute-sanitizer, if --stages names them

Lines tell how far all is. After --budget seconds everything is ended, and the totals say what was not run. Exit status 1 if anything failed. --only: what the labels must match, as "j2d5pt f32 small".
"""
import concurrent.futures
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "programs"))

from batch import Group, Result, run_groups
from words import option

TELL = 5          # seconds between lines that tell how far all is
LIMIT = 60        # seconds that a run may take
SANITIZERS = ("memcheck", "racecheck", "synccheck")
TOGETHER = 10     # runs that a process makes after one reference
# Extents by rank. Rows of "lanes" are multiples of 8; "large" has several tiles and walks in each dimension that touch no edge.
SIZES = {
    "small": [(1000,), (100, 130), (33, 30, 45)],
    "lanes": [(1024,), (37, 264), (21, 18, 64)],
    "odd": [(257,), (3, 71), (5, 2, 40)],
    "large": [(2000001,), (1300, 1501), (130, 140, 257)],
}
# What else some take: those need more points, a step of these takes the reference long.
OWN_SIZES = {"edges2d": {"odd": (5, 71)}, "shot": {"odd": (5, 71)}, "anisotropic_diffusion": {"small": (20, 17, 23), "large": (40, 50, 70)}}
SLOW = {"anisotropic_diffusion"}
# Steps: more than two tiles of the default T, and a rest.
STEPS, SLOW_STEPS = [35, 27, 11], 3
LARGE_GRID = ["268435456", "16384x16384", "768x768x768"]
# For these stc chooses otherwise.
SMALLER_GRIDS = [["65536", "1048576"], ["512x512", "2048x2048"], ["128x128x128", "256x256x256"]]
# Programs with functions whose last bits differ from device to device: free_surface begins with exponentials and cosines (on an H200 in vx, from 544 columns on).
NOT_EXACT = {"functions", "free_surface"}
# Blocks and elements of overlapped tiles; block, elements, rows and rows ahead of walked ones.
TILES = [["128:4", "256:2", "96:3"], ["8x32:8x2", "16x16:3x3", "4x32:12x1"], ["4x4x32:6x6x1", "4x8x16:5x3x2", "8x8x8:3x3x3"]]
WALKS = [["128:16:0:1", "32:1:0:1", "64:5:0:1"], ["4x32:1x4:64:4", "1x32:1x2:7:1", "2x32:1x1:16:6", "4x32:1x8:32:2"],
         ["1x16x32:1x2x4:32:3", "1x4x32:1x2x2:5:1", "1x8x32:1x3x1:16:4"]]
# Blocks, elements and blocks of a cluster of streamed planes, which cards without clusters take one by one.
CLUSTERS = ["1x2x32:1x3x4:2", "1x4x32:1x4x2:4", "1x8x32:1x3x4:8"]


class Program:
    """A program: its name, path, text and manifest."""

    def __init__(self, path, manifest):
        self.name, self.path, self.rank = os.path.splitext(os.path.basename(path))[0], path, manifest["rank"]
        with open(path) as f:
            self.text = f.read()
        self.fields = list(dict.fromkeys(re.split("[.@]", f["name"])[0] for f in manifest["fields"] if not f["temp"] and not f["input"] and not f.get("once")))
        self.reduces = re.search(r"^\s*(reduce|until)\b", self.text, re.M)
        self.inputs = ["--in source=" + os.path.join(os.path.dirname(path), "inputs", "ricker.npy")] if self.name in ("acoustic_wave", "shot") else []
        self.inputs += ["--in sz=4 --in sx=random:1 --in rx=random:2"] if self.name == "shot" else []
        self.inputs += ["--in %s=random:1" % at["array"] for at in manifest["grid"].get("spacing", []) if isinstance(at, dict)]
        self.inputs += ["--in %s=random:%d" % (f["name"], i) for i, f in enumerate(manifest["fields"]) if not f["temp"] and not f["init"] and not f.get("level") and not f.get("derived") and not f.get("once")]

    def types(self):
        """Types for `real`; f32 alone where the program has none."""
        return ["f32", "f64"] if re.search(r"\breal\b", self.text) else ["f32"]

    def extents(self, size):
        """Its extents of a size."""
        return OWN_SIZES.get(self.name, {}).get(size, SIZES[size][self.rank - 1])

    def steps(self):
        return SLOW_STEPS if self.name in SLOW else STEPS[self.rank - 1]

    def options(self, real, size, steps):
        """What all runs of a type, size and number of steps share."""
        return " ".join(["-D%s=%d" % pair for pair in zip("NML", self.extents(size))] + ["-freal=" + real, "--steps=%d" % steps] + self.inputs)

    def outputs(self):
        """The options that write what is compared."""
        return " ".join(["--out %s=%%%s.npy" % (f, f) for f in self.fields] + (["--log %series.csv"] if self.reduces else []))


class Run:
    """A run: a stage, a program, type, size and number of steps, and the options of its schedule. must: to be refused would be wrong. result: what came of it, None while it has not run."""

    def __init__(self, stage, program, real, size, schedule, must=False, steps=None):
        self.stage, self.program, self.real, self.size, self.schedule, self.must, self.result = stage, program, real, size, schedule, must, None
        self.steps = program.steps() if steps is None else steps

    def label(self):
        return " ".join(w for w in (self.program.name, self.real, self.size, "" if self.steps == self.program.steps() else "%d steps" % self.steps, self.schedule) if w)

    def command(self, device):
        """The command that shows it."""
        return "stc run --device=%s -fno-contract --check=0 %s %s %s" % (device, self.program.options(self.real, self.size, self.steps), self.schedule, self.program.path)

    def failed(self):
        return self.result is not None and (self.result.failed() or (self.must and self.result.what == "refused"))


def large_grid(program):
    """The option that makes stc choose as for a large grid."""
    return "-for-grid=" + LARGE_GRID[program.rank - 1]


def defaults(program):
    """The runs of the stage "defaults" of a program."""
    for size in ("large", "small", "odd"):
        for real in program.types():
            for schedule in (large_grid(program), "", "-schedule=overlap", "-schedule=naive"):
                yield Run("defaults", program, real, size, schedule, must=True)


def edges(program):
    """Those of the stage "edges"."""
    for size in ("large", "small", "lanes", "odd"):
        for real in program.types():
            for word in ("apart", "along"):
                yield Run("edges", program, real, size, "%s -edges=%s" % (large_grid(program), word), must=True)
            for grid in SMALLER_GRIDS[program.rank - 1]:
                yield Run("edges", program, real, size, "-for-grid=" + grid, must=True)
            if size == "small" and program.name not in SLOW:
                yield Run("edges", program, real, size, "", True, 200)
                yield Run("edges", program, real, size, large_grid(program), True, 200)


def small_programs(program):
    """Those of a test program."""
    for real in program.types():
        for size in ("small", "odd"):
            for schedule in ("", large_grid(program), "-schedule=naive"):
                yield Run("edges", program, real, size, schedule, True, 7)
            for T in (1, 2, 3):
                yield Run("edges", program, real, size, "-schedule=stream -T=%d" % T, steps=7)
            yield Run("edges", program, real, size, "-schedule=overlap -T=2", steps=7)


def shapes(program):
    """Those of the stage "shapes"."""
    for size in ("small", "lanes", "odd"):
        for real in program.types():
            for T in (1, 2, 3, 5, 8):
                for block, elems in (s.split(":") for s in TILES[program.rank - 1]):
                    yield Run("shapes", program, real, size, "-schedule=overlap -T=%d -block=%s -elems=%s" % (T, block, elems))
                for block, elems, chunk, ahead in (s.split(":") for s in WALKS[program.rank - 1]):
                    yield Run("shapes", program, real, size, "-schedule=stream -T=%d -block=%s -elems=%s%s -ahead=%s" % (T, block, elems, "" if chunk == "0" else " -chunk=" + chunk, ahead))
                for block, elems, cluster in (s.split(":") for s in CLUSTERS if program.rank == 3):
                    yield Run("shapes", program, real, size, "-schedule=stream -T=%d -block=%s -elems=%s -cluster=%s" % (T, block, elems, cluster))


def sanitized(tool, program):
    """Those of compute-sanitizer's tool."""
    for schedule in (large_grid(program), "-schedule=stream -T=2", "-schedule=overlap -T=3", "-schedule=naive"):
        yield Run(tool, program, "f32", "small", schedule)


def read_programs(stc, folder, jobs):
    """All programs: those of the examples and the bench, and those of the tests. `folder`: for files."""
    places = [os.path.join(ROOT, *where) for where in (("examples",), ("driver", "bench"), ("tests", "programs"))]
    paths = [[p for p in sorted(glob.glob(os.path.join(place, "*.stn"))) if os.path.basename(p)[:-4] not in NOT_EXACT] for place in places]

    paths[2].append(os.path.join(ROOT, "tests", "nvptx", "negations.stn"))

    def read(path):
        name = os.path.join(folder, os.path.basename(path)[:-4])
        subprocess.run([stc, "-march=nvptx", "-O0", "-schedule=naive", "-o", name + ".ptx", path], check=True, stderr=subprocess.DEVNULL)
        with open(name + ".json") as f:
            return Program(path, json.load(f))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(read, paths[0] + paths[1])), list(pool.map(read, paths[2]))


def all_runs(programs, tests):
    """All runs of the stages asked for that --only names, the most telling first."""
    makers = {"defaults": defaults, "edges": edges, "shapes": shapes, **{tool: lambda p, tool=tool: sanitized(tool, p) for tool in SANITIZERS}}
    runs, only = [], re.compile(option("only", "."))
    for stage in option("stages", "defaults,edges,shapes").split(","):
        mine = [run for program in programs for run in makers[stage](program)]
        if stage == "edges":
            mine += [run for program in tests for run in small_programs(program)]
        sizes = list(dict.fromkeys(run.size for run in mine))
        runs += sorted(mine, key=lambda run: sizes.index(run.size))
    return [run for run in runs if only.search(run.label())]


def pieces(runs):
    """The runs in lists that share a reference, of at most TOGETHER; in the order of their first runs, but those of "shapes" in any order, so that each part of them has some of everything."""
    found = {}
    for run in runs:
        found.setdefault((run.stage, run.program.name, run.real, run.size, run.steps), []).append(run)
    lists = [group[i:i + TOGETHER] for group in found.values() for i in range(0, len(group), TOGETHER)]
    some = [piece for piece in lists if piece[0].stage == "shapes"]
    random.Random(1).shuffle(some)
    return [piece for piece in lists if piece[0].stage != "shapes"] + some


class Check:
    """All runs, and how far they are. device: options that name it."""

    def __init__(self, stc, harness, runs):
        self.stc, self.harness, self.runs, self.start, self.told, self.done = stc, harness, runs, time.time(), 0, 0
        self.device = option("device", "cuda")
        self.jobs = int(option("jobs", os.cpu_count()))
        budget = float(option("budget", 0))
        self.end = self.start + budget if budget else None
        self.sanitizer = shutil.which("compute-sanitizer") or next(iter(glob.glob("/usr/local/cuda*/bin/compute-sanitizer")), None)

    def device_options(self):
        return "--device=" + self.device + (" -march=nvptx -mcpu=sm_90" if self.device == "sim" else "")

    def compare(self, piece):
        """Runs a piece by the harness."""
        first = piece[0]
        group = Group(first.program.text, first.program.outputs(), first.program.options(first.real, first.size, first.steps), [self.device_options() + " " + run.schedule for run in piece])
        results = run_groups(self.harness, [group], self.end, LIMIT)[0]
        if results and results[0].what != "ok":
            results = results[:1] * (1 + len(piece))
        for run, result in zip(piece, results[1:]):
            run.result = Result("error", "of the reference: " + result.text) if results[0].what != "ok" else result
        return piece

    def sanitize(self, run):
        """A run under compute-sanitizer."""
        words = [self.sanitizer, "--tool", run.stage, "--error-exitcode", "9", self.stc, "run", "--quiet"] + self.device_options().split()
        words += run.program.options(run.real, run.size, run.steps).split() + run.schedule.split() + [run.program.path]
        try:
            left = LIMIT * 2 if self.end is None else min(LIMIT * 2, max(0.1, self.end - time.time()))
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=left)
        except subprocess.TimeoutExpired:
            return
        found = re.search(r"(ERROR SUMMARY: |SUMMARY: )[1-9]", done.stdout)
        refused = done.returncode and not found and re.search("legal|share a launch|go one a launch|use -schedule=overlap|take fewer time steps|take a smaller|leave -cluster out", done.stderr)
        run.result = Result("refused" if refused else "ok" if done.returncode == 0 else "error", (done.stdout + done.stderr)[-3000:])

    def one(self, piece):
        """Runs a piece, unless it is too late."""
        if self.end is not None and time.time() > self.end:
            return piece
        if piece[0].stage not in SANITIZERS:
            return self.compare(piece)
        for run in piece if self.sanitizer else []:
            self.sanitize(run)
        return piece

    def take(self, piece):
        """Counts what was run, and prints what failed."""
        for run in piece:
            self.done += run.result is not None
            if run.failed():
                print("FAIL %s: %s %s\n  %s" % (run.label(), run.result.what, run.result.text[:1500], run.command(self.device)), flush=True)

    def tell(self):
        """Prints how far all is, when it is time to."""
        now = time.time()
        if now - self.told >= TELL:
            self.told = now
            print("%.0f s: %d of %d runs done, %d failed" % (now - self.start, self.done, len(self.runs), sum(run.failed() for run in self.runs)), flush=True)

    def run_all(self):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            waiting = {pool.submit(self.one, piece) for piece in pieces(self.runs)}
            while waiting:
                try:
                    done, waiting = concurrent.futures.wait(waiting, timeout=TELL, return_when=concurrent.futures.FIRST_COMPLETED)
                except KeyboardInterrupt:
                    self.end, done = time.time(), []
                for future in done:
                    self.take(future.result())
                self.tell()

    def report(self):
        """Prints the totals; the exit status."""
        for stage in dict.fromkeys(run.stage for run in self.runs):
            mine = [run for run in self.runs if run.stage == stage]
            count = lambda what: sum(run.result is not None and not run.failed() and run.result.what == what for run in mine)
            print("%s: %d runs, %d as the reference, %d refused as illegal, %d failed, %d not run"
                  % (stage, len(mine), count("ok") + count("same-error"), count("refused"), sum(run.failed() for run in mine), sum(run.result is None for run in mine)))
        if self.done < len(self.runs):
            print("cut by the budget: %d of %d not run" % (len(self.runs) - self.done, len(self.runs)) if self.end else "%d of %d not run" % (len(self.runs) - self.done, len(self.runs)))
        refused, failed = sum(run.result is not None and run.result.what == "refused" for run in self.runs), sum(run.failed() for run in self.runs)
        vain = 2 * refused > self.done or not self.done
        if vain:
            print("FAIL: too many were refused, or nothing was run")
        print("%d of %d runs done, %d failed, %.0f s" % (self.done, len(self.runs), failed, time.time() - self.start), flush=True)
        return 1 if failed or vain else 0


def find_harness(stc):
    """The harness beside stc."""
    for path in ("differential", "tests/differential"):
        path = os.path.join(os.path.dirname(stc), path)
        if os.path.exists(path):
            return path
    sys.exit("check.py: there is no `differential` beside %s; name it behind it" % stc)


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not names:
        sys.exit(__doc__)
    stc = os.path.abspath(names[0])
    harness = os.path.abspath(names[1]) if len(names) > 1 else find_harness(stc)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("CUDA_CACHE_PATH", os.path.join(folder, "cache"))    # what the driver compiles for one size serves the next
        programs, tests = read_programs(stc, folder, os.cpu_count())
        check = Check(stc, harness, all_runs(programs, tests))
        if "--list" in sys.argv:
            print("\n".join("%s: %s" % (run.stage, run.label()) for run in check.runs))
            return 0
        print("%d runs, %d at a time" % (len(check.runs), check.jobs), flush=True)
        check.run_all()
        return check.report()


if __name__ == "__main__":
    sys.exit(main())
