#!/usr/bin/env python3
"""Weak and strong scaling over the GPUs of one machine, as docs/data/parts.json keeps it.

  scaling.py STC OUT.json [--cards=2] [--only=TEXT] [--ways=one,peer] [--divide=N] [--batch=4] [--patience=30] [--device=NAME]

Each row is a program on a grid, on one card and on all of them by `peer` (one process), `nccl` and `mpi` (a process a card, started by
mpirun), and with kernels of one step that exchange one-cell halos after each (`naive`, by nccl). Speeds are those of `stc run --time` with
its defaults. Kernels take longer to make than to run: so some rows are begun at the same time, and wait when theirs are made; each
is let go on when the one before has ended, and they are ready for at most --patience seconds. $STC_MPI names stc-mpi.so of the mpirun that
is found. --divide has extents and steps divided, for trying it. tests/bench/table.py makes the table of docs/cluster.md of it.
"""
import datetime
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time

from words import option

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FILES = {"star2d1r": ["driver/bench/star2d1r.stn"], "star3d1r": ["driver/bench/star3d1r.stn"], "gray_scott": ["examples/gray_scott.stn"],
         "acoustic_wave": ["--in", "source=examples/inputs/ricker.npy", "examples/acoustic_wave.stn"]}
# Program, scaling, extent, rank, steps, steps of naive kernels.
ROWS = [("star3d1r", "strong", 512, 3, 4000, 800), ("star2d1r", "strong", 8192, 2, 19200, 1500), ("star3d1r", "strong", 1024, 3, 400, 100),
        ("star2d1r", "strong", 32768, 2, 1920, 120), ("star2d1r", "weak", 16384, 2, 3840, 300), ("star3d1r", "weak", 768, 3, 800, 160),
        ("gray_scott", "weak", 16384, 2, 1200, 160), ("acoustic_wave", "weak", 16384, 2, 300, 100)]
WAYS = ("one", "peer", "nccl", "mpi", "naive")


def command(stc, row, way, cards):
    """How it is run."""
    program, scaling, n, rank, many, few = row
    first = n * cards if scaling == "weak" and way != "one" else n
    run = [stc, "run", "-v", "--quiet", "--time", "-DN=%d" % first] + ["-D%s=%d" % (name, n) for name in "ML"[:rank - 1]]
    run += ["--steps=%d" % (few if way == "naive" else many), *FILES[program]]
    if way == "one":
        return run + ["--device=cuda:0"]
    if way == "peer":
        return run + ["--device=cuda:0-%d" % (cards - 1), "--split=:peer"]
    split = ["--split=%d/1:nccl" % cards, "-schedule=naive"] if way == "naive" else ["--split=:" + way]
    return ["mpirun", "-n", str(cards), "--bind-to", "none"] + run + ["--device=cuda"] + split


class Run:
    """A run that waits, when its kernels are made, until it is let go on: it cannot write more of what -v says to a pipe that is full."""

    def __init__(self, stc, row, way, cards):
        self.row, self.way, self.reader = row, way, None
        self.hear, self.tell = os.pipe()
        room = fcntl.fcntl(self.tell, fcntl.F_SETPIPE_SZ, 4096)
        first = len("stc: remark: %s (LLVM 22.1.8)\n" % VERSION.split(" (")[0]) + 24
        os.write(self.tell, b"-" * (room - first - 1) + b"\n")
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        words = command(stc, row, way, cards)
        at = words.index(stc)
        shell = "exec \"$@\" 2>/proc/%d/fd/%d" % (os.getpid(), self.tell)
        self.process = subprocess.Popen(words[:at] + ["sh", "-c", shell, "sh"] + words[at:], env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)

    def end(self, patience):
        """Lets it go on, for at most so many seconds; what it printed."""
        os.close(self.tell)
        drain = threading.Thread(target=self.drain, daemon=True)
        drain.start()
        try:
            out = self.process.communicate(timeout=patience)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            out = self.process.communicate()[0] + "timed out"
        drain.join(1)
        return out + "".join(line for line in self.said.split("\n") if "rror" in line or "arning" in line)

    def drain(self):
        """Reads what it says."""
        self.said = ""
        while True:
            data = os.read(self.hear, 65536)
            if not data:
                return
            self.said += data.decode()


def waiting(stc):
    """How many runs wait."""
    n = 0
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % pid) as f:
                words = f.read().split("\0")
            with open("/proc/%s/wchan" % pid) as f:
                n += words[0] == stc and "pipe" in f.read()
        except OSError:
            continue
    return n


def measured(row, way, text):
    """The row of the file."""
    found = re.search(r"^\{.*\}$", text, re.M)
    out = {"program": row[0], "scaling": row[1], "size": "x".join([str(row[2])] * row[3]), "way": way}
    if not found:
        return {**out, "left_out": text.strip()[-300:]}
    result = json.loads(found.group(0))
    out.update({key: result[key] for key in ("gpts", "seconds", "exchange_seconds") if key in result})
    every = re.search(r"after (\d+) step", result["schedule"])
    return {**out, "schedule": result["schedule"].split(",")[0], **({"every": int(every.group(1))} if every else {})}


def main():
    global VERSION
    stc, out = [a for a in sys.argv[1:] if not a.startswith("--")]
    cards, patience, only, batch = int(option("cards", "2")), float(option("patience", "30")), option("only", ""), int(option("batch", "4"))
    divide, ways = int(option("divide", "1")), option("ways", ",".join(WAYS)).split(",")
    begin, rows = time.time(), [row for row in ROWS if only in "%s %s %d" % row[:3]]
    rows = [(p, s, n // divide, rank, max(many // divide, 4), max(few // divide, 4)) for p, s, n, rank, many, few in rows]
    VERSION = subprocess.run([stc, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[0]
    file = {"device": option("device", ""), "cards": cards, "date": datetime.date.today().isoformat(), "version": VERSION, "rows": []}
    for i in range(0, len(rows), batch):
        runs = [Run(stc, row, way, cards) for row in rows[i:i + batch] for way in ways]
        end = time.time() + patience
        while waiting(stc) + sum(run.process.poll() is not None for run in runs) < len(runs) and time.time() < end:
            time.sleep(0.2)
        print("%5.1f %d of %d are ready" % (time.time() - begin, waiting(stc), len(runs)), flush=True)
        for run in runs:
            result = measured(run.row, run.way, run.end(max(12, patience)))
            file["rows"].append(result)
            print("%5.1f %s" % (time.time() - begin, " ".join("%s" % v for v in result.values())), flush=True)
            with open(out, "w", encoding="utf-8") as f:
                f.write(json.dumps(file).replace('"rows": [', '"rows": [\n').replace("}, {", "},\n{").replace("}]}", "}\n]}\n"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
