"""Batches of runs for differential.c: programs, each on the reference and then with other options, in one process."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT = 120  # seconds of processors' time that a run may take; ten times as many in all


def plain(message):
    """The message without what differs from program to program: names and numbers."""
    return re.sub(r"[`'][^`' ]*[`']|\b[A-Za-z]*\d+\b|0x[0-9a-f]+|\b[A-E](@\d)?\b", "_", message)


class Result:
    """What came of a reference or run. what: ok, ended, refused, same-error, error, differs or crash; text: the rest of the line, or what the process said at its end; seconds of
    processors' time, 0 where the process does not say them."""

    def __init__(self, what, text, seconds=0.0):
        self.what, self.text, self.seconds = what, text, seconds

    def failed(self):
        return self.what in ("error", "differs", "crash")

    def kind(self):
        """Equal for failures that are the same as far as can be told."""
        if self.what == "differs":
            return "differs"
        found = re.search(r"SUMMARY: .*|runtime error: .*|Assertion.*", self.text)
        text = found.group(0) if found else self.text.split("\n")[0]
        return self.what + " " + plain(text)[:60]


class Group:
    """A program's text, the options of what its runs write (`%` stands for a place of the run's own), those of the reference, and those that each run has behind them, as strings."""

    def __init__(self, text, outputs, reference, runs):
        self.text, self.outputs, self.reference, self.runs = text, outputs, reference, runs

    def behind(self, n):
        """The group without its first `n` runs."""
        return Group(self.text, self.outputs, self.reference, self.runs[n:])

    def lines(self, path):
        """The lines of the batch, for the text in that file."""
        return [f"program {path}", f"outputs {self.outputs}", f"reference {self.reference}"] + [f"run {run}" for run in self.runs]


def run_groups(harness, groups, end=None, limit=LIMIT):
    """The results of each group: a list with the reference's and then the runs'. What ends the process, be it a crash or a run of more than `limit` seconds of processors' time, is the result "crash" of the run at hand, and
    another process goes on behind it. At the time `end` all is ended: what has no result then is missing."""
    results = [[] for _ in groups]
    todo = list(enumerate(groups))
    while todo and (end is None or time.time() < end):
        found, status, complete = run_once(harness, [group for _, group in todo], end, limit)
        if status and complete and len(todo) > 1:
            found, complete = [run_groups(harness, [group], end, limit)[0] for _, group in todo], True
        for (i, _), got in zip(todo, found):
            results[i] += got[1:] if results[i] else got
        todo = [] if complete or status is None else rest(todo, found)
    return results


def rest(todo, found):
    """What is left to do of groups with their numbers after the process broke off with the results `found`. A group whose reference ended it is done."""
    left = []
    for (i, group), got in zip(todo, found):
        if not got:
            left.append((i, group))
        elif 1 < len(got) <= len(group.runs):
            left.append((i, group.behind(len(got) - 1)))
    return left


def memory_folder(need=8 << 30):
    """Where files stay in memory, if there is such a place with room for so many bytes; else None."""
    return "/dev/shm" if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free >= need else None


def run_once(harness, groups, end, limit):
    """One process: the results by group, its exit status (None if it was ended because of the time, or by the user), and whether all runs have a result."""
    folder = tempfile.mkdtemp(prefix="stc-", dir=memory_folder())
    batch, path, lines = os.path.join(folder, "batch"), os.path.join(folder, "results"), []
    for i, group in enumerate(groups):
        program = os.path.join(folder, f"p{i}.stn")
        with open(program, "w") as f:
            f.write(group.text)
        lines += group.lines(program)
    with open(batch, "w") as f:
        f.write("\n".join(lines) + "\n")
    try:
        done = subprocess.run([harness, batch, path, folder, str(limit)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=None if end is None else max(0.1, end - time.time()))
        status, said = None if done.returncode in (-signal.SIGINT, -signal.SIGTERM) else done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        status, said = None, ""
    results = read_results(path)
    shutil.rmtree(folder)
    counts = [1 + len(group.runs) for group in groups]
    complete = len(results) == sum(counts)
    if status:
        ends = {-signal.SIGPROF: f"no end after {limit} s of processors' time", -signal.SIGALRM: f"no end after {10 * limit} s"}
        why = ends.get(status, f"exit {status}")
        results = results[:-1 if complete else None] + [Result("crash", f"{why}\n{said[-6000:]}")]
    starts = [sum(counts[:i]) for i in range(len(counts))]
    return [results[start:start + n] for start, n in zip(starts, counts)], status, complete


def read_results(path):
    """The Results in the file, as far as they were written."""
    if not os.path.exists(path):
        return []
    with open(path, errors="replace") as f:
        lines = [line for line in f if line.endswith("\n")]
    results = []
    for what, _, text in (line.rstrip("\n").partition(" ") for line in lines):
        if what == "took" and results:
            results[-1].seconds = float(text)
        elif what != "start":
            results.append(Result(what, text))
    return results
