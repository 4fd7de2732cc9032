#!/usr/bin/env python3
"""registers.py STC [--only=REGEX] [--jobs=N] [--worst=N] [--card=h200]

Registers as stc counts them against those that ptxas takes, for kernels of the examples and of the bench's programs under what stc chooses on
several grids and under other schedules: tiles in lanes and in shared memory, walks, naive kernels; f32 and f64; of the main kernels and of those
at edges. A kernel that spills wants what it takes and the spilled words. Prints for each kind the geometric mean of counted by wanted, the error
(of the ratio or its inverse), and the worst cases. No device is needed; exit status 2 if there is no ptxas, 1 if nothing was compiled.
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

from words import option


TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
STC = next((a for a in sys.argv[1:] if not a.startswith("--")), None)
SIZES = {1: ("1000000", "100000000"), 2: ("1024x1024", "4096x4096", "16384x16384"), 3: ("128x128x128", "512x512x512")}
OTHERS = {1: ("-schedule=overlap -T=8 -block=256 -elems=8", "-schedule=naive"),
          2: ("-schedule=overlap -tiles=lanes -T=4 -block=8x32 -elems=6x2", "-schedule=overlap -T=3 -block=8x64 -elems=6x1", "-schedule=stream -block=1x32",
              "-schedule=naive"),
          3: ("-schedule=overlap -T=2 -block=4x8x32 -elems=3x2x1", "-schedule=stream -T=2 -block=1x8x32 -elems=1x3x2 -chunk=64", "-schedule=naive")}


def programs():
    """{name: (file, rank)} of the examples and the bench."""
    found = {}
    for folder in (os.path.join(TOP, "examples"), os.path.join(TOP, "driver", "bench")):
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") if name.endswith(".stn") else open(os.devnull, encoding="utf-8") as f:
                grid = re.search(r"^grid\s+\w+ = \[(.*?)\]", f.read(), re.M)
            if grid:
                found[name[:-4]] = (os.path.join(folder, name), grid.group(1).count(".."))
    return found


def cases():
    """(name, file, type, options) of all that is compiled."""
    for name, (path, rank) in programs().items():
        for real in ("f32", "f64"):
            for o in ["-for-grid=" + s for s in SIZES[rank]] + ["-for-grid=%s %s" % (SIZES[rank][0], o) for o in OTHERS[rank]]:
                if re.search(option("only", ""), "%s %s %s" % (name, real, o)):
                    yield name, path, real, o


def kernels(case):
    """A row for each kernel of a case: (kind, ratio, text)."""
    name, path, real, o = case
    done = subprocess.run([STC, "explain", "--card=" + option("card", "h200"), "--format=json", "-freal=" + real, *o.split(), path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    what, rows = json.loads(done.stdout) if done.returncode == 0 else {"kernels": [], "schedule": ""}, []
    for k in what["kernels"]:
        taken, spilled = k.get("ptxas_registers", 0), k.get("ptxas_spilled_bytes", 0)
        if taken:
            kind = " ".join([what["schedule"].split()[0]] + ["lanes"] * ("tiles=lanes" in what["schedule"]) + [real] + ["edge"] * k["name"].endswith("_edge"))
            ratio = (k["registers"] + k["registers_missing"]) / (taken + spilled / 4)
            rows.append((kind, ratio, "%.2f %s %s %s: %d and %d more counted, %d taken and %d bytes spilled (%s)" %
                         (ratio, name, real, k["name"], k["registers"], k["registers_missing"], taken, spilled, what["schedule"])))
    return bool(what["kernels"]), rows


def line(name, ratios):
    """The line of a kind."""
    logs = [math.log(r) for r in ratios]
    return "%-22s %4d kernels, mean ratio %.2f, error %.3f, from %.2f to %.2f" % (
        name, len(ratios), math.exp(statistics.mean(logs)), math.exp(statistics.mean(map(abs, logs))), min(ratios), max(ratios))


def main():
    if not STC:
        sys.exit(__doc__)
    with concurrent.futures.ThreadPoolExecutor(int(option("jobs", "2"))) as pool:
        done = list(pool.map(kernels, cases()))
    rows = [r for _, some in done for r in some]
    if not rows:
        any_kernel = any(compiled for compiled, _ in done)
        print("registers.py: ptxas was not found, or takes none of the kernels" if any_kernel else "registers.py: nothing was compiled")
        return 2 if any_kernel else 1
    kinds = collections.defaultdict(list)
    for kind, ratio, _ in rows:
        kinds[kind].append(ratio)
    for kind in sorted(kinds):
        print(line(kind, kinds[kind]))
    print(line("all", [r for _, r, _ in rows]))
    print("\n".join(text for _, _, text in sorted(rows, key=lambda r: -abs(math.log(r[1])))[:int(option("worst", "10"))]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
