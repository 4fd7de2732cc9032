#!/usr/bin/env python3
"""ablate.py STC_ABLATE [--jobs=N] [--programs=FOLDER,...] [--cases=N] [--rows=REGEX] [--seconds=N] [--out=FILE]: which rows of tuning.def decide anything?

Each row by itself is set to twice and half of what it is, and to 0, 1 and 1e9, on a sample of cases: examples, the bench's programs and those
of other folders, in f32 and f64, on large, small and odd grids, for cards of both makers and hosts. A row is `live` if a plan or a kernel
changes by a factor of two, `rough` if only by a value that means nothing, `dead` if by none of them. No device is needed. Dead rows may be
so together only: `ablate set` tries several at once. The table is printed, a line each: row, verdict, setting and case that told it.
"""
import argparse
import concurrent.futures
import pathlib
import random
import re
import subprocess
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ["driver/bench", "examples", "examples/sciences", "tests/bench/peers"]
SIZES = {1: ["16777216", "1000001", "1009", "268435456"], 2: ["8192x8192", "4096x4096", "2048x2048", "1024x1024", "1001x2001", "61x83"],
         3: ["512x512x512", "256x256x256", "401x401x401", "128x128x128", "29x31x37"]}
TARGETS = ["nvptx h200", "nvptx h200", "nvptx h100", "nvptx sm_80", "nvptx sm_100", "amdgpu gfx90a", "amdgpu gfx942", "host x86-64-v4", "host x86-64-v3"]
SETTINGS = [("live", ["x2", "x0.5"]), ("rough", ["0", "1e9", "1"])]


def all_cases(folders):
    """A line each, always in the same order."""
    found = []
    for path in sorted(p for folder in folders for p in pathlib.Path(folder).glob("*.stn")):
        grid = re.search(r"^grid[^\[]*\[([^\]]*)\]", path.read_text(encoding="utf-8"), re.M)
        for size in SIZES.get(grid.group(1).count("..") if grid else 0, []):
            found += [f"{path} {target} {real} {size}" for target in TARGETS for real in ("f32", "f64")]
    random.Random(5).shuffle(found)
    return found


def run(words, text=""):
    return subprocess.run(words, input=text, capture_output=True, text=True, check=False).stdout


def judged(args, sums, row):
    """The verdict on a row, and what told it."""
    for verdict, values in SETTINGS:
        for value in values:
            if time.monotonic() > args.end:
                return "unknown", "", ""
            told = run([args.ablate, "set", sums], f"{row}={value}\n").split("\t")
            if told[1:] and told[1] != "0":
                return verdict, value, told[2] + " " + told[3].strip()
    return "dead", "", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ablate")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--programs", default="")
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--rows", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--out")
    args = parser.parse_args()
    args.end = time.monotonic() + args.seconds
    cases = all_cases([TOP / f for f in FOLDERS] + [f for f in args.programs.split(",") if f])[:args.cases]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, tempfile.TemporaryDirectory() as folder:
        parts = [pathlib.Path(folder) / str(i) for i in range(args.jobs)]
        for i, part in enumerate(parts):
            part.write_text("".join(c + "\n" for c in cases[i::args.jobs]))
        done = list(pool.map(lambda part: run([args.ablate, "sums", part]), parts))
        sums = pathlib.Path(folder) / "sums"
        lines = sorted("".join(done).splitlines(), key=lambda line: cases.index(line.split("\t")[0]))
        sums.write_text("\n".join(lines) + "\n")
        rows = [r for r in run([args.ablate, "rows"]).split() if re.search(args.rows, r)]
        out = open(args.out, "w", encoding="utf-8") if args.out else None
        for row, told in zip(rows, pool.map(lambda r: judged(args, sums, r), rows)):
            print(row, *told, sep="\t", file=out, flush=True)


if __name__ == "__main__":
    main()
