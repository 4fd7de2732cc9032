#!/usr/bin/env python3
"""Compile time of every example for NVIDIA: seconds of processor time of the whole process, which other work on the machine hardly changes, least of several.

  compile_time.py [--check] [--only=whole|passes|many] STC

The passes are what writing kernel IR takes beyond writing the program's syntax tree: 25 ms at most, but for anisotropic_diffusion.

Behind the examples come programs of many fields, of many stencils and of many layers, which stop at kernel IR, for NVIDIA and for this CPU, with
the memory that they take, too. --only measures the whole of the examples, their passes, or those programs.

Prints a markdown table. --check fails if a program takes longer than its limit: 0.3 s, or 0.6 s with mathematical functions from libclc, doubled to leave room for busy machines,
and times what this machine takes longer than a quiet one for a loop of Python. Each is measured once; who is beyond that again and again, as is the loop.
They have 5 s and 1 GB, and four times as many fields, stencils or layers no more than 8 times the time and the memory, at which those with the square would be 16.
"""
import glob
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = sorted(glob.glob(os.path.join(HERE, "..", "..", "examples", "*.stn"))) + [os.path.join(HERE, "..", "programs", "functions.stn")]
MANY = os.path.join(HERE, "..", "driver", "Inputs", "many.py")
SLACK = 2.0
TRIES = 16  # of three compilations more each, before a program is too slow: for seconds at a time virtual machines are half as fast as they were
LOOP = 0.02  # seconds that slowness() takes for its loop where nothing else runs


def limit(path):
    """Seconds allowed for the program at `path`."""
    return {"functions.stn": 0.6}.get(os.path.basename(path), 0.3)


def name_of(path):
    """The name of the program at `path`."""
    return os.path.splitext(os.path.basename(path))[0]


def processor_time():
    """Seconds of processor time that the processes started so far have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def passes_limit(path):
    """Seconds allowed for the passes of the program at `path`."""
    return 1 if os.path.basename(path) == "anisotropic_diffusion.stn" else 0.025


def slowness():
    """How many times longer than on a quiet machine things take here and now, as far as a loop tells; at least 1."""
    took = []
    for _ in range(9):
        start, n = time.process_time(), 0
        for i in range(400000):
            n += i * i % 7
        took.append(time.process_time() - start)
    return max(1, statistics.median(took) / LOOP)


def seconds(stc, path, out, repeat, enough, options=()):
    """The least processor time of `repeat` compilations, of fewer if that is `enough`."""
    best = 1e9
    for _ in range(repeat):
        start = processor_time()
        subprocess.run([stc, "-march=nvptx", *options, "-o", out, path], check=True)
        best = min(best, processor_time() - start)
        if best <= enough:
            break
    return best


class Judge:
    """What is allowed here and now. check: is a measurement to end as soon as it is below its limit?"""

    def __init__(self, check):
        self.check, self.slack = check, SLACK * slowness()

    def least(self, most, measure):
        """The least of what measure(repeat, enough) gives, which is asked again while it is beyond `most` seconds on a quiet machine, and whether it is."""
        if not self.check:
            took = measure(10, 0)
            return took, took > self.slack * most
        took = measure(1, self.slack * most)
        for _ in range(TRIES):
            if took <= self.slack * most:
                break
            self.slack = max(self.slack, SLACK * slowness())
            took = min(took, measure(3, self.slack * most))
        return took, took > self.slack * most


def measure(stc, kind, arch, path, folder):
    """Seconds of processor time and MB at most that a compilation takes."""
    stage = ["-emit=kir"] if kind == "layers" else []
    process = subprocess.Popen([stc, "-march=" + arch, *stage, "-o", os.path.join(folder, "large.bin"), path])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: stc failed for %s" % (path, arch))
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def check_many(stc, folder, judge):
    """Prints the rows of programs of many fields and stencils, and returns those that take too much."""
    slow, took = [], {}
    print("\n| program | target | seconds | MB |\n|---|---|---|---|")
    for kind, n, arch in (("fields", 40, "nvptx"), ("fields", 160, "nvptx"), ("fields", 20, "host"),
                          ("stencils", 250, "nvptx"), ("stencils", 1000, "nvptx"), ("stencils", 125, "host"), ("stencils", 500, "host"),
                          ("layers", 12, "nvptx"), ("layers", 48, "nvptx"), ("layers", 12, "host"), ("layers", 48, "host")):
        path = os.path.join(folder, "%s%d.stn" % (kind, n))
        with open(path, "w") as f:
            subprocess.run([sys.executable, MANY, kind, str(n)], stdout=f, check=True)
        most = took[kind, n, arch] = [1e9, 0]

        def once(_repeat, _enough):
            most[:] = map(min, most, measure(stc, kind, arch, path, folder)) if most[1] else measure(stc, kind, arch, path, folder)
            return most[0]

        _, late = judge.least(5, once)
        few = took.get((kind, n // 4, arch))
        for _ in range(4 if few else 0):
            if most[0] <= 8 * few[0] and most[1] <= 8 * few[1]:
                break
            once(1, 0)
        print("| %d %s | %s | %.2f | %.0f |" % (n, kind, arch, *most), flush=True)
        if late or most[1] > 1024 or few and (most[0] > 8 * few[0] or most[1] > 8 * few[1]):
            slow.append("%d %s, %s" % (n, kind, arch))
    return slow


def check_whole(stc, folder, judge):
    """Prints the rows of the examples, from text to PTX, and returns those that take too long."""
    slow, out = [], os.path.join(folder, "out.ptx")
    print("| program | seconds | limit |\n|---|---|---|")
    for path in PROGRAMS:
        took, late = judge.least(limit(path), lambda *how: seconds(stc, path, out, *how))
        print("| %s | %.3f | %.1f |" % (name_of(path), took, limit(path)), flush=True)
        slow += [name_of(path)] if late else []
    return slow


def check_passes(stc, folder, judge):
    """Prints what the passes of the examples take, and returns those that take too long."""
    slow, out = [], os.path.join(folder, "out.kir")
    print("| program | seconds of passes | limit |\n|---|---|---|")
    start = seconds(stc, PROGRAMS[0], out, 10, 0, ["-emit=ast"])
    for path in PROGRAMS:
        took, late = judge.least(passes_limit(path), lambda n, enough: seconds(stc, path, out, n, enough + start, ["-emit=kir"]) - start)
        print("| %s | %.3f | %.3f |" % (name_of(path), took, passes_limit(path)), flush=True)
        slow += [name_of(path) + " (passes)"] if late else []
    return slow


def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    stc = [a for a in sys.argv[1:] if not a.startswith("--")][0]
    only, slow = next((a.partition("=")[2] for a in flags if a.startswith("--only=")), ""), []
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge("--check" in flags)
        for part, check in (("whole", check_whole), ("passes", check_passes), ("many", check_many)):
            if only in ("", part):
                slow += check(stc, folder, judge)
    if slow:
        print("too slow: " + ", ".join(slow))
    return 1 if slow and "--check" in flags else 0


if __name__ == "__main__":
    sys.exit(main())
