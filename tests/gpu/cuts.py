#!/usr/bin/env python3
"""The four stages of examples/anisotropic_diffusion.stn cut into launches in every way of the literature and as -fuse=auto does, as markdown.

  cuts.py [--device=cuda] [--sizes=128,256,512] [--steps=400,100,20] [--repeat=2] [--all] STC

First each cut runs --check on a small volume; a wrong one is a failure (exit status 1). Then for each size and cut: the time a step and GPts/s (stc run --time, the best of
--repeat runs of a fixed number of steps), then what each kernel takes by itself, its registers, bytes of local memory a thread (arrays and spilled registers), and shared bytes
(stc run --time=kernels). --all adds the two cuts that are not in the paper. The last table says how far auto is from the best.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

from words import option

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "..", "examples", "anisotropic_diffusion.stn")
# The paper's six cuts by its names, auto, and what is left.
CUTS = [("1", "all"), ("2", "gauss+st+dt,pde"), ("2'", "gauss+st,dt+pde"), ("3", "gauss+st,dt,pde"), ("3'", "gauss,st+dt,pde"), ("4", "none"), ("auto", "auto")]
OTHERS = [("2''", "gauss,st+dt+pde"), ("3''", "gauss,st,dt+pde")]


def run(stc, size, cut, steps, *arguments):
    """The standard output of `stc run` on a cube of `size` points a side, None after a failure, which is printed."""
    command = [stc, "run", "--device=" + option("device", "cuda"), "-fuse=" + cut, "-DN=%d" % size, "-DM=%d" % size, "-DL=%d" % size, "--steps=%d" % steps, *arguments, PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print("FAIL %s: status %d\n%s%s" % (" ".join(command[1:]), done.returncode, done.stdout, done.stderr), flush=True)
        return None
    return done.stdout


def json_line(text):
    """The object that `stc run --time` printed in `text`; None if there is none."""
    lines = [line for line in (text or "").splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def check(stc, cuts):
    """Does every cut give the reference's bits on a small volume?"""
    return all([run(stc, 21, cut, 3, "--check=0", "-fno-contract", "--quiet") is not None for _, cut in cuts])


def measure(stc, size, cut, steps):
    """The best run as `--time` says it, and one with each kernel timed; (None, None) after a failure."""
    runs = [json_line(run(stc, size, cut, steps, "--time")) for _ in range(int(option("repeat", "2")))]
    kernels = json_line(run(stc, size, cut, steps, "--time=kernels"))
    return (None, None) if kernels is None or None in runs else (min(runs, key=lambda r: r["seconds"]), kernels)


def stage(name):
    """A kernel's stages, from its name: "gauss_st"; "all" where the whole step is one launch."""
    part = name.replace("anisotropic_diffusion_overlap_", "")
    return "all" if part.startswith("t") and part[1:].isdigit() else part


def print_size(stc, size, steps, cuts):
    """The table of one size. Returns the seconds a step by cut; empty after a failure."""
    seconds = {}
    print("\n%d x %d x %d, %d steps:\n" % (size, size, size, steps))
    print("| passes | cut | ms a step | GPts/s | kernel | ms | registers | local bytes | shared bytes |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for name, cut in cuts:
        best, each = measure(stc, size, cut, steps)
        if best is None:
            return {}
        seconds[name] = best["seconds"] / best["steps"]
        if cut == "auto":
            cut = next((w[5:] for w in best["schedule"].split() if w.startswith("fuse=")), "all")
        head = "| %s | %s | %.4f | %.2f " % (name, cut, 1e3 * seconds[name], best["gpts"])
        for k in each["kernels"]:
            if "_init_" in k["name"]:
                continue
            print("%s| %s | %.4f | %d | %d | %d |" % (head, stage(k["name"]), 1e3 * k["seconds"] / k["launches"], k["registers"], k["local_bytes"], k["shared_bytes"]), flush=True)
            head = "| | | | "
    return seconds


def measure_all(stc):
    """Everything; the exit status."""
    start, cuts = time.time(), CUTS + (OTHERS if "--all" in sys.argv else [])
    sizes = [int(n) for n in option("sizes", "128,256,512").split(",")]
    steps = [int(n) for n in option("steps", "400,100,20").split(",")]
    if not check(stc, cuts):
        return 1
    print("All %d cuts give the reference's bits on a cube of 21 points a side." % len(cuts), flush=True)
    tables = [(size, print_size(stc, size, n, cuts)) for size, n in zip(sizes, steps)]
    if not all(seconds for _, seconds in tables):
        return 1
    print("\n| size | best | ms a step | auto, ms a step | auto / best |\n|---|---|---|---|---|")
    for size, seconds in tables:
        best = min((name for name in seconds if name != "auto"), key=seconds.get)
        print("| %d | %s | %.4f | %.4f | %.3f |" % (size, best, 1e3 * seconds[best], 1e3 * seconds["auto"], seconds["auto"] / seconds[best]))
    print("\n%.0f s in all" % (time.time() - start))
    return 0


def main():
    stc = os.path.abspath([a for a in sys.argv[1:] if not a.startswith("--")][0])
    with tempfile.TemporaryDirectory() as cache:
        os.environ["CUDA_CACHE_PATH"] = cache    # the driver compiles each cut once, not in each run
        return measure_all(stc)


if __name__ == "__main__":
    sys.exit(main())
