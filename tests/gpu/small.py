#!/usr/bin/env python3
"""GPts/s of many schedules on small grids, where launches and latency rule, on a CUDA device: a table of stc's own choice beside the best, and all of it as CSV.

  small.py [--csv=FILE] [--budget=SECONDS] [--ranks=2,3,1] [--programs=A,B] [--types=f32,f64] [--sizes=S,S] [--device=cuda] STC

Each rank is one run of `stc bench`, which verifies every schedule and takes samples of all of them in turns; 170 seconds in all by default.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

from words import option

PROGRAMS = {1: "star1d1r,star1d3r", 2: "star2d1r,box2d2r,fdtd2d", 3: "star3d1r,star3d2r"}
SIZES = {1: "65536,262144,1048576", 2: "256x256,512x512,1024x1024,2048x2048", 3: "64x64x64,128x128x128,256x256x256"}
# part of the time
SHARE = {1: 0.22, 2: 0.48, 3: 0.30}
# T, block, elements
OVERLAP = {
    1: [(8, "256", "1"), (16, "256", "2"), (16, "512", "1"), (32, "256", "2"), (32, "512", "2"), (32, "1024", "1"), (64, "512", "2"), (64, "1024", "1")],
    2: [(1, "8x32", "1x1"), (2, "8x32", "2x1"), (2, "16x32", "2x1"), (3, "16x32", "2x1"), (4, "16x32", "2x1"), (4, "32x32", "1x1"), (4, "16x32", "3x1"), (4, "16x64", "2x1"),
        (4, "32x32", "2x1"), (6, "16x64", "3x1"), (6, "16x64", "4x1"), (8, "16x64", "3x1"), (8, "16x64", "4x1"), (8, "32x32", "2x2"), (12, "16x64", "4x1"), (12, "8x128", "8x1"),
        (12, "8x32", "6x1"), (8, "8x64", "8x1"), (6, "8x32", "8x1"), (6, "8x64", "6x1")],
    3: [(1, "4x4x32", "1x1x1"), (1, "4x4x32", "2x1x1"), (2, "4x8x32", "2x1x1"), (2, "4x8x32", "3x1x1"), (2, "4x8x32", "4x2x1"), (2, "8x4x32", "2x3x1"), (3, "4x8x32", "4x2x1")],
}
# T, block, elements, rows, rows ahead
STREAM = {
    1: [(8, "32", "4", 1, 1), (16, "32", "4", 1, 1), (16, "32", "8", 1, 1), (32, "32", "8", 1, 1), (32, "32", "16", 1, 1), (16, "128", "8", 1, 1)],
    2: [(2, "1x32", "1x2", 8, 1), (2, "1x32", "1x4", 8, 4), (4, "1x32", "1x2", 8, 4), (4, "1x32", "1x4", 8, 4), (4, "1x32", "1x4", 16, 4), (4, "1x32", "1x4", 32, 4), (6, "1x32", "1x4", 16, 4),
        (8, "1x32", "1x4", 32, 4), (8, "2x32", "1x4", 64, 4)],
    3: [(1, "1x8x32", "1x1x2", 16, 3), (2, "1x8x32", "1x1x2", 16, 3), (2, "1x8x32", "1x2x2", 16, 3), (2, "1x8x32", "1x2x4", 16, 3), (2, "1x8x32", "1x2x4", 32, 3), (2, "1x16x32", "1x1x2", 32, 3),
        (3, "1x16x32", "1x2x2", 32, 3), (4, "1x16x32", "1x2x4", 64, 3)],
}


def schedules(rank):
    """The schedules to be measured beside each family's default, as options; the first is stc's choice."""
    overlap = ["-schedule=overlap -T=%d -block=%s -elems=%s" % c for c in OVERLAP[rank]]
    stream = ["-schedule=stream -T=%d -block=%s -elems=%s -chunk=%d -ahead=%d" % c for c in STREAM[rank]]
    return ["-schedule=auto"] + overlap + [s.replace(" -chunk=1 -ahead=1", "") for s in stream]


def sizes_of(rank):
    """The sizes for programs of a rank, with commas between them."""
    return ",".join(s for s in option("sizes", SIZES[rank]).split(",") if s.count("x") == rank - 1)


def measure(stc, rank, seconds):
    """The rows of one run of the bench, each with the options that were asked for."""
    asked = schedules(rank)
    path = tempfile.mktemp(suffix=".json")
    command = [stc, "bench", "--device=" + option("device", "cuda"), "--quick", "--quiet", "--no-tune-db", "--types=" + option("types", "f32,f64"), "--size=" + sizes_of(rank)]
    command += ["--programs=" + option("programs", PROGRAMS[rank]), "--seconds=%d" % max(1, seconds), "--json=" + path]
    for s in asked:
        command += ["--also", s]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        said = "status %d and no figures\n%s" % (done.returncode, done.stdout)
    except KeyboardInterrupt:
        said = "no figures before it was ended"
    if not os.path.exists(path):
        print("small.py: stc bench gave " + said, flush=True)
        return []
    with open(path) as f:
        rows = json.load(f)["rows"]
    os.remove(path)
    for r in rows:
        words = r["family"].split()
        r["asked"] = asked[int(words[1]) - 1] if words[0] == "also" else "-schedule=" + words[0]
    return rows


def cell(row):
    """The GPts/s of a row, or nothing."""
    return "%.4g" % row["gpts"] if row else ""


def report(rows):
    """A line for each program, type and size."""
    print("| program | type | size | naive | overlap | stream | stc's choice | of the best | with | best | with |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    logs = []
    for key in dict.fromkeys((r["program"], r["type"], r["size"]) for r in rows if "gpts" in r):
        mine = [r for r in rows if (r["program"], r["type"], r["size"]) == key and "gpts" in r]
        best = max(mine, key=lambda r: r["gpts"])
        named = {r["asked"]: r for r in mine}
        choice = named.get("-schedule=auto")
        part = choice["gpts"] / best["gpts"] if choice else 0
        logs += [part] if part else []
        own = [cell(named.get("-schedule=" + f)) for f in ("naive", "overlap", "stream", "auto")]
        print("| %s | %s | %s | %s | %.0f %% | `%s` | %.4g | `%s` |" % (*key, " | ".join(own), 100 * part, choice["schedule"] if choice else "", best["gpts"], best["schedule"]))
    product = 1.0
    for part in logs:
        product *= part ** (1 / len(logs))
    print("\ngeometric mean of stc's choice to the best: %.2f of %d" % (product, len(logs)))


def write_csv(rows):
    """Writes all rows to the file that --csv names."""
    if not option("csv", ""):
        return
    with open(option("csv", ""), "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["program", "type", "size", "asked", "schedule", "T", "gpts", "spread", "registers", "local_bytes", "shared_bytes", "left_out"])
        for r in rows:
            table.writerow([r["program"], r["type"], r["size"], r["asked"], r["schedule"]] + [r.get(k, "") for k in ("T", "gpts", "spread", "registers", "local_bytes", "shared_bytes", "left_out")])


def main():
    stc = [a for a in sys.argv[1:] if not a.startswith("--")][0]
    budget, start, rows = float(option("budget", "170")), time.time(), []
    ranks = [int(r) for r in option("ranks", "2,3,1").split(",") if sizes_of(int(r))]
    for i, rank in enumerate(ranks):
        share = SHARE[rank] / sum(SHARE[r] for r in ranks[i:])
        left = budget - (time.time() - start)
        if left > 1:
            rows += measure(stc, rank, share * left)
            write_csv(rows)
    report(rows)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
