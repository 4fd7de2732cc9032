#!/usr/bin/env python3
"""What NVIDIA's profiler (ncu) counts in the kernels of the bench's programs, as a table (Markdown).

  counters.py [--programs=A:f32,B:f64] [--options="-T=4 -edges=along"] [--budget=SECONDS] [--folder=FOLDER] [--ncu=COMMAND] STC
  counters.py --read=FILE.csv --points=N --steps=N

Each program is run for two launches of its T steps on a large grid. Of each kernel a line: the microseconds of a launch, the instructions of a thread for each point of the grid and step, in all and by pipe, over all launches;
then, of its longest launch, how busy the issue slots, shared memory, the second-level cache and the memory are, the warps on a multiprocessor, registers of a thread and bytes of shared memory of a block, and what
its warps wait for most, in cycles an instruction. --folder keeps ncu's own output; --read makes the table from such a file, --points and --steps being those of the run.
"""
import csv
import glob
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from words import option

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = "star3d1r:f32,star3d2r:f32,box3d1r:f32,star2d1r:f32,box2d1r:f32,gradient2d:f32,star3d1r:f64,gradient2d:f64,box3d1r:f64,star3d2r:f64,box2d2r:f32,star2d1r:f64"
EXTENTS = {1: [268435456], 2: [16384, 16384], 3: [768, 768, 768]}
PIPES = ["fma", "alu", "fp64", "xu", "lsu", "uniform", "cbu"]
STALLS = ["long_scoreboard", "short_scoreboard", "barrier", "mio_throttle", "lg_throttle", "math_pipe_throttle", "wait", "dispatch_stall", "no_instruction", "branch_resolve", "not_selected", "membar"]
DURATION, ALL = "gpu__time_duration.sum", "smsp__inst_executed.sum"
ISSUE, WARPS = "sm__inst_issued.avg.pct_of_peak_sustained_active", "sm__warps_active.avg.per_cycle_active"
SHARED = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
CACHE, MEMORY = "lts__throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed"
REGISTERS, SHARED_BYTES = "launch__registers_per_thread", "launch__shared_mem_per_block"


def pipe_metric(pipe):
    return "sm__inst_executed_pipe_%s.sum" % pipe


def stall_metric(stall):
    return "smsp__average_warps_issue_stalled_%s_per_issue_active.ratio" % stall


METRICS = [DURATION, ALL, ISSUE, WARPS, SHARED, CACHE, MEMORY, REGISTERS, SHARED_BYTES] + [pipe_metric(p) for p in PIPES] + [stall_metric(s) for s in STALLS]


# ---------------------------------------------------------------- reading

def number(text):
    """A number as ncu writes it, with commas perhaps; None if it is none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def read_csv(text):
    """The launches in ncu's output, each a dictionary of metrics and "name": of the form with a column for each metric (--page raw), or of that with a line for each."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    launches = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        if not (row["ID"] or "").isdigit():
            continue    # the units
        launch = launches.setdefault(row["ID"], {"name": row["Kernel Name"].split("(")[0]})
        pairs = [(row["Metric Name"], row["Metric Value"])] if "Metric Name" in row else row.items()
        launch.update({key: number(value) for key, value in pairs if key and "__" in key and value and number(value) is not None})
    return list(launches.values())


# ---------------------------------------------------------------- the table

HEAD = ["program", "kernel", "launches", "us", "inst a point"] + PIPES + ["issue", "shared", "L2", "memory", "warps", "registers", "shared bytes", "waits for"]


def print_head():
    print("| %s |\n|%s" % (" | ".join(HEAD), "---|" * len(HEAD)), flush=True)


def shown(value, form):
    return "" if value is None else form % value


def line(label, launches, work):
    """The line for the launches of a kernel; `work`: points times steps of the run."""
    longest = max(launches, key=lambda l: l.get(DURATION, 0))
    each = lambda metric: sum(l[metric] for l in launches) * 32 / work if all(metric in l for l in launches) else None
    stalls = sorted(((longest[stall_metric(s)], s) for s in STALLS if longest.get(stall_metric(s))), reverse=True)[:3]
    cells = [label, longest["name"], str(len(launches)), shown(longest.get(DURATION, 0) / 1000, "%.0f"), shown(each(ALL), "%.2f")] + [shown(each(pipe_metric(p)), "%.2f") for p in PIPES]
    cells += [shown(longest.get(m), "%.0f %%") for m in (ISSUE, SHARED, CACHE, MEMORY)] + [shown(longest.get(WARPS), "%.1f"), shown(longest.get(REGISTERS), "%.0f"), shown(longest.get(SHARED_BYTES), "%.0f")]
    return "| %s | %s |" % (" | ".join(cells), ", ".join("%s %.2f" % (s, v) for v, s in stalls))


def print_kernels(label, launches, work):
    """The lines for all kernels of a run, but those that give fields their first values."""
    names = dict.fromkeys(l["name"] for l in launches if "_init_" not in l["name"])
    for name in names:
        print(line(label, [l for l in launches if l["name"] == name], work), flush=True)
    return bool(names)


# ---------------------------------------------------------------- running

def find_ncu():
    """The profiler's command; None: there is none."""
    return option("ncu", None) or shutil.which("ncu") or next(iter(glob.glob("/usr/local/cuda*/bin/ncu") + glob.glob("/opt/nvidia/nsight-compute/*/ncu")), None)


def refused_metrics(said, metrics):
    """Those of the metrics that the profiler's messages name, because its card has none such."""
    errors = "\n".join(l for l in said.splitlines() if l.startswith(("==ERROR==", "==WARNING==")))
    return [m for m in metrics if m.split(".")[0] in errors]


def run_profiler(ncu, metrics, command, seconds):
    """The profiler's output for a command, again without the metrics that it does not know; those are left out of the list, too. Its exit status."""
    options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--kernel-name", "regex:_(warps|stream|overlap|naive)"]
    end = time.time() + seconds
    while True:
        done = subprocess.run([ncu] + options + ["--metrics", ",".join(metrics)] + command, capture_output=True, text=True, timeout=max(1, end - time.time()))
        unknown = [] if read_csv(done.stdout) else refused_metrics(done.stdout + "\n" + done.stderr, metrics)
        if not unknown or len(unknown) == len(metrics):
            return done.stdout + done.stderr, done.returncode
        print("# not known to this profiler: " + ", ".join(unknown), flush=True)
        metrics[:] = [m for m in metrics if m not in unknown]


def arguments(name, real, extents, steps):
    """Those of `stc run` for a program of the bench."""
    path = next(p for p in (os.path.join(ROOT, *where, name + ".stn") for where in (("driver", "bench"), ("examples",))) if os.path.exists(p))
    return ["run", "--device=cuda", "-freal=" + real, "--steps=%d" % steps] + ["-D%s=%d" % pair for pair in zip("NML", extents)] + option("options", "").split() + [path]


# What stc says of a program that is given an array at launch.
WANTED = re.compile(r"launch-time array (\w+) has no values: give it (\d+) of type (\w+)")
CODES = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "i32": "<i4", "i64": "<i8"}


def write_zeros(path, n, kind):
    """A file of NumPy's format with n zeros of that type."""
    code = CODES[kind]
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (code, n)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(n * int(code[2:])))


def first_run(stc, name, real, extents, folder):
    """Runs a step of the program, if it is given arrays at launch with zeros from files made in the folder. What came of it, and the options for those files."""
    inputs = []
    while True:
        done = subprocess.run([stc] + arguments(name, real, extents, 1) + inputs + ["--time"], capture_output=True, text=True)
        wanted = WANTED.search(done.stderr) if done.returncode else None
        path = os.path.join(folder, wanted.group(1) + ".npy") if wanted else ""
        if not wanted or os.path.exists(path):
            return done, inputs
        write_zeros(path, int(wanted.group(2)), wanted.group(3))
        inputs += ["--in", "%s=%s" % (wanted.group(1), path)]


def rank_of(name):
    return 3 if "3d" in name or name == "anisotropic_diffusion" else 1 if "1d" in name else 2


def profile(stc, ncu, metrics, name, real, seconds):
    """Profiles a program of a type, and prints its lines; False if that failed."""
    with tempfile.TemporaryDirectory() as folder:
        return profile_in(folder, stc, ncu, metrics, name, real, seconds)


def profile_in(folder, stc, ncu, metrics, name, real, seconds):
    """The same with a folder for the program's inputs."""
    extents = [int(n) for n in option("extents", "").split("x")] if option("extents", "") else EXTENTS[rank_of(name)]
    points, label = 1, name + " " + real
    for n in extents:
        points *= n
    first, inputs = first_run(stc, name, real, extents, folder)
    said = [l for l in first.stdout.splitlines() if l.startswith("{")]
    if not said:
        print("# %s: %s" % (label, (first.stderr or "stc printed nothing").strip()[-300:]), flush=True)
        return False
    words = json.loads(said[-1])["schedule"].split()
    T = next((int(w[2:]) for w in words if w.startswith("T=")), 1)
    print("# %s: %s" % (label, " ".join(words)), file=sys.stderr, flush=True)
    try:
        output, status = run_profiler(ncu, metrics, [stc] + arguments(name, real, extents, 2 * T) + inputs, seconds)
    except subprocess.TimeoutExpired:
        print("# %s: the profiler did not end in %.0f s" % (label, seconds), flush=True)
        return False
    if option("folder", ""):
        with open(os.path.join(option("folder", ""), "ncu-%s-%s.csv" % (name, real)), "w") as f:
            f.write("# points %d steps %d\n%s" % (points, 2 * T, output))
    if not print_kernels(label, read_csv(output), points * 2 * T):
        print("# %s: the profiler gave nothing, status %d: %s" % (label, status, output.strip()[-600:]), flush=True)
        return False
    return True


def main():
    if option("read", ""):
        with open(option("read", "")) as f:
            launches = read_csv(f.read())
        print_head()
        return 0 if print_kernels(os.path.basename(option("read", "")), launches, float(option("points", 1)) * float(option("steps", 1))) else 1
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not names:
        sys.exit(__doc__)
    stc, ncu, budget, start, good = os.path.abspath(names[0]), find_ncu(), float(option("budget", 0)), time.time(), True
    if not ncu:
        sys.exit("counters.py: there is no ncu; name it with --ncu=")
    metrics = list(METRICS)
    print_head()
    for name, real in (p.split(":") for p in option("programs", PROGRAMS).split(",")):
        left = budget - (time.time() - start) if budget else 300
        if left < 5:
            print("# out of time before %s %s" % (name, real), flush=True)
            continue
        good = profile(stc, ncu, metrics, name, real, left) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
