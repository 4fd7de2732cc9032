#!/usr/bin/env python3
"""GPts/s of naive and overlap for the ten programs of the paper's table on a CUDA device, beside the measured copy limit, as markdown.

  bench.py [--budget=SECONDS] [--programs=A,B] [--reals=f32,f64] [--long] [--device=cuda] [--extents=N1,N2,N3] [--steps=N] STC

Each configuration is run once to be ranked, the best again twice; the largest value counts, kernels only (stc run --time). The copy limit is what copying
takes (the driver's copy, or tests/gpu/copy.stn if that is faster), scaled to the values that a program must read and write for each point and step at T = 1.
"""
import ctypes
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
# name, rank, fields read and written in a step when nothing is kept
PROGRAMS = [("j1d3pt", 1, 2), ("j1d5pt", 1, 2), ("j1d7pt", 1, 2), ("j2d5pt", 2, 2), ("j3d7pt", 3, 2), ("poisson2d", 2, 2), ("fdtd2d", 2, 6),
            ("rician2d", 2, 3), ("gradient2d", 2, 2), ("tv2d", 2, 2)]
EXTENTS = "268435456,16384,768"
# T, block, elements
CONFIGS = {
    1: [(4, "256", "4"), (8, "256", "4"), (16, "256", "4"), (16, "256", "8"), (32, "256", "8"), (8, "128", "8")],
    2: [(2, "8x32", "4x1"), (4, "8x32", "8x1"), (4, "8x64", "8x1"), (4, "4x64", "8x1"), (6, "8x64", "8x1"), (4, "8x32", "8x2"), (8, "8x64", "8x1"), (2, "4x64", "8x1"), (8, "4x64", "16x1"), (6, "4x64", "8x1")],
    3: [(1, "4x4x64", "4x1x1"), (2, "4x4x32", "4x4x1"), (2, "4x8x32", "6x3x1"), (2, "4x4x64", "6x4x1"), (3, "4x8x32", "6x4x1"), (2, "8x4x32", "3x6x1")],
}
LONGER = {
    1: [(64, "256", "8"), (32, "512", "4"), (16, "128", "16")],
    2: [(t, b, e) for t in (2, 3, 4, 6, 8, 10) for b in ("4x32", "8x32", "16x32", "8x64", "4x128", "16x64") for e in ("4x1", "6x1", "8x1", "4x2")],
    3: [(t, b, e) for t in (1, 2, 3) for b in ("4x4x32", "8x4x32", "4x8x32", "8x8x16", "4x4x64") for e in ("2x2x1", "4x4x1", "3x3x1", "6x3x1")],
}


def option(name, default):
    """The value of --name=VALUE on the command line."""
    found = [a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--%s=" % name)]
    return found[-1] if found else default


def grid(rank):
    """The -D options of the grid for programs of a rank."""
    extent = option("extents", EXTENTS).split(",")[rank - 1]
    return ["-D%s=%s" % (name, extent) for name in "NML"[:rank]]


def stc_time(stc, path, arguments):
    """What `stc run --time` says, as a dictionary; None if the schedule is refused or fails."""
    done = subprocess.run([stc, "run", "--device=" + option("device", "cuda"), "--time", *arguments, path], capture_output=True, text=True)
    lines = [l for l in done.stdout.splitlines() if l.startswith("{")]
    if done.returncode or not lines:
        message = [l for l in done.stderr.splitlines() if "error" in l]
        print("#   %s: %s" % (" ".join(arguments), message[0] if message else "status %d" % done.returncode), file=sys.stderr, flush=True)
        return None
    return json.loads(lines[-1])


def memcpy_bandwidth(size=4 << 30, copies=20):
    """Bytes a second of the driver's own copy within the device, read and written both counted; 0 where there is no CUDA driver."""
    try:
        cu = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    context, start, stop, ms = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
    a, b, n, best = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_size_t(size), 0
    bad = cu.cuInit(0) or cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or cu.cuCtxSetCurrent(context)
    bad = bad or cu.cuMemAlloc_v2(ctypes.byref(a), n) or cu.cuMemAlloc_v2(ctypes.byref(b), n) or cu.cuMemsetD32_v2(a, 0x3f8ccccd, n.value // 4)
    bad = bad or cu.cuEventCreate(ctypes.byref(start), 0) or cu.cuEventCreate(ctypes.byref(stop), 0)
    for _ in range(5):
        if bad:
            break
        cu.cuEventRecord(start, None)
        for _ in range(copies):
            bad = bad or cu.cuMemcpyDtoDAsync_v2(b, a, n, None)
        cu.cuEventRecord(stop, None)
        bad = bad or cu.cuEventSynchronize(stop) or cu.cuEventElapsedTime(ctypes.byref(ms), start, stop)
        best = max(best, 2 * size * copies / (ms.value / 1e3)) if not bad else best
    cu.cuMemFree_v2(a)
    cu.cuMemFree_v2(b)
    cu.cuDevicePrimaryCtxRelease_v2(0)
    return 0 if bad else best


def copy_bandwidth(stc, real):
    """Bytes a second of copying, read and written both counted: the best of the driver's copy and of stc's."""
    best = memcpy_bandwidth() / 1e9 / (2 * (4 if real == "f32" else 8))
    for _ in range(3):
        got = stc_time(stc, os.path.join(HERE, "copy.stn"), grid(2) + ["-freal=" + real, "-schedule=naive", "--steps=" + option("steps", "200")])
        best = max(best, got["gpts"] if got else 0)
    return best * 2 * (4 if real == "f32" else 8)


def best_overlap(stc, path, rank, common, configs):
    """The best overlap configuration: (GPts/s, T, block, elements); T 0 if none runs."""
    ranked = []
    for t, block, elems in configs:
        got = stc_time(stc, path, common + ["-schedule=overlap", "-T=%d" % t, "-block=" + block, "-elems=" + elems])
        if got:
            ranked.append((got["gpts"], t, block, elems))
    if not ranked:
        return (0, 0, "", "")
    g, t, block, elems = max(ranked)
    for _ in range(2):
        got = stc_time(stc, path, common + ["-schedule=overlap", "-T=%d" % t, "-block=" + block, "-elems=" + elems])
        g = max(g, got["gpts"] if got else 0)
    return (g, t, block, elems)


def main():
    stc = os.path.abspath([a for a in sys.argv[1:] if not a.startswith("--")][0])
    budget, start = float(option("budget", "520")), time.time()
    names = option("programs", ",".join(p[0] for p in PROGRAMS)).split(",")
    print("| program | type | copy limit at T=1 | naive | overlap default | overlap best | of it | T, block, elements |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for real in option("reals", "f32,f64").split(","):
        bandwidth = copy_bandwidth(stc, real)
        print("# copy %s: %.0f GB/s" % (real, bandwidth), file=sys.stderr, flush=True)
        for name, rank, traffic in PROGRAMS:
            if name not in names:
                continue
            if time.time() - start > budget:
                print("# out of time before %s %s" % (name, real), file=sys.stderr)
                continue
            path = os.path.join(EXAMPLES, name + ".stn")
            common = grid(rank) + ["-freal=" + real, "--steps=" + option("steps", "240" if rank < 3 else "120")]
            naive = max((stc_time(stc, path, common + ["-schedule=naive"]) or {"gpts": 0})["gpts"] for _ in range(2))
            default = (stc_time(stc, path, common) or {"gpts": 0})["gpts"]
            g, t, block, elems = best_overlap(stc, path, rank, common, LONGER[rank] if "--long" in sys.argv else CONFIGS[rank])
            limit = bandwidth / (traffic * (4 if real == "f32" else 8))
            print("| %s | %s | %.0f | %.0f | %.0f | %.0f | %.1f x naive | %d, %s, %s |"
                  % (name, real, limit, naive, default, g, g / naive if naive else 0, t, block, elems), flush=True)


if __name__ == "__main__":
    sys.exit(main())
