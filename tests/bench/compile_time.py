#!/usr/bin/env python3
"""Compile time of every example for NVIDIA: seconds of processor time of the whole process, which other work on the machine hardly changes, least of several.

  compile_time.py [--check] STC

The passes are what writing kernel IR takes beyond writing the program's syntax tree: 25 ms at most, but for anisotropic_diffusion.

Behind the examples come programs of many fields and of many stencils, for NVIDIA and for this CPU, with the memory that they take, too.

Prints a markdown table. --check fails if a program takes longer than its limit: 0.3 s, or 0.6 s with mathematical functions from libclc, doubled to leave room for slow and busy machines.
Many fields and stencils have 5 s and 1 GB, and 160 fields no more than 8 times the time and the memory of 40, at which those with the square would be 16.
"""
import glob
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = sorted(glob.glob(os.path.join(HERE, "..", "..", "examples", "*.stn"))) + [os.path.join(HERE, "..", "programs", "functions.stn")]
MANY = os.path.join(HERE, "..", "driver", "Inputs", "many.py")
SLACK = 2.0


def limit(path):
    """Seconds allowed for the program at `path`."""
    return {"functions.stn": 0.6}.get(os.path.basename(path), 0.3)


def processor_time():
    """Seconds of processor time that the processes started so far have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def passes_limit(path):
    """Seconds allowed for the passes of the program at `path`."""
    return 1 if os.path.basename(path) == "anisotropic_diffusion.stn" else 0.025


def seconds(stc, path, out, repeat, enough, options=()):
    """The least processor time of `repeat` compilations, or of fewer if that is `enough`."""
    best = 1e9
    for _ in range(repeat):
        start = processor_time()
        subprocess.run([stc, "-march=nvptx", *options, "-o", out, path], check=True)
        best = min(best, processor_time() - start)
        if best <= enough:
            break
    return best


def measure(stc, arch, path, folder):
    """Seconds of processor time and MB at most that a compilation takes."""
    process = subprocess.Popen([stc, "-march=" + arch, "-o", os.path.join(folder, "out.bin"), path])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: stc failed for %s" % (path, arch))
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def check_many(stc, folder):
    """Prints the rows of programs of many fields and stencils, and returns those that take too much."""
    slow, took = [], {}
    print("\n| program | target | seconds | MB |\n|---|---|---|---|")
    for kind, n, arch in (("fields", 40, "nvptx"), ("fields", 160, "nvptx"), ("fields", 20, "host"),
                          ("stencils", 1000, "nvptx"), ("stencils", 1000, "host")):
        path = os.path.join(folder, "%s%d.stn" % (kind, n))
        with open(path, "w") as f:
            subprocess.run([sys.executable, MANY, kind, str(n)], stdout=f, check=True)
        seconds, megabytes = took[kind, n, arch] = measure(stc, arch, path, folder)
        print("| %d %s | %s | %.2f | %.0f |" % (n, kind, arch, seconds, megabytes), flush=True)
        if seconds > SLACK * 5 or megabytes > 1024:
            slow.append("%d %s, %s" % (n, kind, arch))
    if any(more > 8 * few for more, few in zip(took["fields", 160, "nvptx"], took["fields", 40, "nvptx"])):
        slow.append("160 fields against 40")
    return slow


def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    stc = [a for a in sys.argv[1:] if not a.startswith("--")][0]
    slow = []
    print("| program | seconds | limit | of them passes |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        out, check = os.path.join(folder, "out.ptx"), "--check" in flags
        start = seconds(stc, PROGRAMS[0], out, 10, 0, ["-emit=ast"])
        for path in PROGRAMS:
            took = seconds(stc, path, out, 5, limit(path) if check else 0)
            passes = seconds(stc, path, out, 10, passes_limit(path) + start if check else 0, ["-emit=kir"]) - start
            name = os.path.splitext(os.path.basename(path))[0]
            print("| %s | %.3f | %.1f | %.3f |" % (name, took, limit(path), passes), flush=True)
            if took > SLACK * limit(path) or passes > SLACK * passes_limit(path):
                slow.append(name)
        slow += check_many(stc, folder)
    if slow:
        print("too slow: " + ", ".join(slow))
    return 1 if slow and "--check" in flags else 0


if __name__ == "__main__":
    sys.exit(main())
