#!/usr/bin/env python3
"""Speed of the host target beside the same loops in C (gcc -O3 -march=native -fopenmp), on grids that outgrow the caches.

  host_speed.py [--check] [--quick] STC

Prints a markdown table: GPts/s of the C loops, of naive, of overlap with T = 1, of overlap with the best T > 1 of those tried, and of walked tiles as stc chooses them, and how many times as fast
as the loops these are; best of three runs each, all of them in turn. --check fails unless overlap is at least as fast as C, and faster with T > 1, and walked tiles are 3 times as fast as C in
2-D f32 and 1.5 times in 3-D f32. --quick takes smaller grids and one run.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
# program, rank, type, extent, steps
CASES = [("j2d5pt", 2, "f32", 8192, 16), ("j2d5pt", 2, "f64", 6144, 16), ("j3d7pt", 3, "f32", 400, 16), ("j3d7pt", 3, "f64", 320, 16)]
QUICK = [("j2d5pt", 2, "f32", 4096, 16), ("j2d5pt", 2, "f64", 4096, 8), ("j3d7pt", 3, "f32", 256, 8), ("j3d7pt", 3, "f64", 256, 8)]
# By rank and type: so many times as fast as C must walked tiles be, else as fast.
WALKED = {(2, "f32"): 3.0, (3, "f32"): 1.5}


def build_loops(folder, real):
    """Builds loops.c for one type; the path of the program."""
    exe = os.path.join(folder, "loops-" + real)
    c_type = {"f32": "float", "f64": "double"}[real]
    subprocess.run(["gcc", "-O3", "-march=native", "-fopenmp", "-DREAL=" + c_type, os.path.join(HERE, "loops.c"), "-o", exe], check=True)
    return exe


def time_loops(exe, rank, n, steps):
    """GPts/s of the C loops."""
    out = subprocess.run([exe, str(rank), str(n), str(steps)], check=True, capture_output=True, text=True).stdout
    return n**rank * steps / float(out.split()[0]) / 1e9


def time_stc(stc, program, rank, real, n, steps, options):
    """GPts/s of `stc run --device=host`, 0 if the schedule is illegal."""
    defines = ["-D%s=%d" % (name, n) for name in "NML"[:rank]]
    command = [stc, "run", "--device=host", "--time", "--steps=%d" % steps, "-freal=" + real, *defines, *options, os.path.join(EXAMPLES, program + ".stn")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write("%s\n%s" % (" ".join(command), done.stderr))
        return 0.0
    line = [l for l in done.stdout.splitlines() if l.startswith("{")][-1]
    return json.loads(line)["gpts"]


def measure(stc, exe, case, repeat):
    """One row: GPts/s of C, naive, overlap T = 1, the best T > 1, walked tiles, and that T."""
    program, rank, real, n, steps = case
    best = {}
    for _ in range(repeat):
        runs = {"c": lambda: time_loops(exe, rank, n, steps), "naive": lambda: time_stc(stc, program, rank, real, n, steps, ["-schedule=naive"])}
        for t in (1, 2, 4, 8):
            runs[t] = lambda t=t: time_stc(stc, program, rank, real, n, steps, ["-schedule=overlap", "-T=%d" % t])
        runs["stream"] = lambda: time_stc(stc, program, rank, real, n, steps, ["-schedule=stream"])
        for name, run in runs.items():
            best[name] = max(best.get(name, 0), run())
    top = max((2, 4, 8), key=lambda t: best[t])
    return best["c"], best["naive"], best[1], best[top], best["stream"], top


def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    stc = [a for a in sys.argv[1:] if not a.startswith("--")][0]
    ok = True
    print("| program | type | points | C, -O3 -march=native -fopenmp | naive | overlap T=1 | overlap T>1 | stream | stream / C |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        exes = {real: build_loops(folder, real) for real in ("f32", "f64")}
        for case in QUICK if "--quick" in flags else CASES:
            c, naive, one, more, walked, t = measure(stc, exes[case[2]], case, 1 if "--quick" in flags else 3)
            shape = "x".join([str(case[3])] * case[1])
            print("| %s | %s | %s | %.2f | %.2f | %.2f | %.2f (T=%d) | %.2f | %.2f |" % (case[0], case[2], shape, c, naive, one, more, t, walked, walked / c), flush=True)
            ok = ok and one >= 0.98 * c and more > c and more > one and walked >= WALKED.get(case[1:3], 1) * c
    print("all are as fast as they should be" if ok else "something is slower than it should be")
    return 0 if ok or "--check" not in flags else 1


if __name__ == "__main__":
    sys.exit(main())
