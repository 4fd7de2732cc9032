#!/usr/bin/env python3
"""What writing a field while a program runs costs: examples/j2d5pt.stn alone, and with its field written every N steps, in turns.

  writing.py STC [--device=host] [--size=4096] [--steps=8000] [--every=100,400] [--folder=.] [--turns=3] [--name=a_%06d.npy]

Prints, of the least of all turns: seconds of the time loop and of the whole process, and by how much of the loop's both grow; the rate at which
the disk would have to take the fields for the run not to wait, and the rate at which dd writes there, past the page cache and into it. The
process ends when all is written. Compression is off. Files are removed.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/j2d5pt.stn")


def disk_speed(folder, flags, megabytes):
    """What dd says of writing so much."""
    path = os.path.join(folder, "dd")
    words = ["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={megabytes}", *flags]
    done = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
    if os.path.exists(path):
        os.unlink(path)
    return done.stderr.strip().split(",")[-1].strip() if done.returncode == 0 else "not possible"


def run(options, every):
    """Seconds of the process and of its time loop; every: None to write nothing."""
    words = [options.stc, "run", "--time", "--no-tune-db", f"--device={options.device}", f"--steps={options.steps}",
             f"-DN={options.size}", f"-DM={options.size}", PROGRAM]
    with tempfile.TemporaryDirectory(dir=options.folder) as work:
        if every:
            words += [f"--every={every}", "--compress=0", "--out", f"A={work}/{options.name}"]
        start = time.time()
        done = subprocess.run(words, capture_output=True, text=True)
        took = time.time() - start
    if done.returncode:
        sys.exit(done.stderr)
    return took, json.loads(done.stdout)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stc", type=os.path.abspath)
    for name, value in ("device", "host"), ("size", 4096), ("steps", 8000), ("every", "100,400"), ("folder", "."), ("turns", 3), ("name", "a_%06d.npy"):
        parser.add_argument(f"--{name}", type=type(value), default=value)
    options = parser.parse_args()
    field = 4 * options.size ** 2
    megabytes = max(1, 24 * field >> 20)
    print(f"{os.cpu_count()} cores; dd past the page cache: {disk_speed(options.folder, ['oflag=direct'], megabytes)}, into it: "
          f"{disk_speed(options.folder, [], megabytes)}")
    periods, best = [None] + [int(n) for n in options.every.split(",")], {}
    for _ in range(options.turns):
        for every in periods:
            took = run(options, every)
            best[every] = tuple(map(min, best.get(every, took), took))
    process, loop = best[None]
    print(f"{options.device}, {options.size}^2, {options.steps} steps alone: loop {loop:.3f} s, process {process:.3f} s")
    for every in periods[1:]:
        n = options.steps // every + 1
        print(f"  every {every}: {n} fields of {field / 2**20:g} MiB, {n * field / loop / 1e9:.2f} GB/s; loop {best[every][1]:.3f} s "
              f"({100 * (best[every][1] / loop - 1):+.1f} %), process {best[every][0]:.3f} s ({100 * (best[every][0] - process) / loop:+.1f} % of the loop)")


if __name__ == "__main__":
    main()
