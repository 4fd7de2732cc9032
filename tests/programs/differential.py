"""differential.py HARNESS [--seed=N] [--programs=N] [--device=DEV] [--jobs=N] [--seconds=S] [--keep=FOLDER]
                         [--print=SEED] [--no-shrink]

Random programs (generate.py) on sim and host, or on DEV, a GPU, under random schedules, compared with the reference interpreter byte for byte. HARNESS is the executable of
differential.c, which runs a batch of them in one process. A program that fails, or ends the process, is made as small as it can be (shrink.py), and printed with the command that
shows it; --keep writes it to a folder. Programs that stc refuses are counted by reason; if they are more than one in twenty, that is a failure too. So it is if a feature of
features.py never occurs, in a run of at least 300 programs on sim and host. After --seconds no further program is begun.
"""
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from features import FEATURES, features_of
from generate import Generator
from model import EXTENT
from shrink import shrink
from tree import declared


ENOUGH = 300  # programs that must have every feature


def plain(message):
    """The message without what differs from program to program: names and numbers."""
    return re.sub(r"[`'][^`' ]*[`']|\b[A-Za-z]*\d+\b|0x[0-9a-f]+|\b[A-E](@\d)?\b", "_", message)


class Result:
    """What came of a reference or run. what: ok, ended, refused, same-error, error, differs or crash; text: the rest of the line, or what the process said at its end."""

    def __init__(self, what, text):
        self.what, self.text = what, text

    def failed(self):
        return self.what in ("error", "differs", "crash")

    def kind(self):
        """Equal for failures that are the same as far as can be told."""
        if self.what == "differs":
            return "differs"
        found = re.search(r"SUMMARY: .*|runtime error: .*|Assertion.*", self.text)
        text = found.group(0) if found else self.text.split("\n")[0]
        return self.what + " " + plain(text)[:60]


def base_options(case):
    """Options that all runs of the case share. What the program no longer declares is left out."""
    names = declared(case.tree)
    options = [f"-D{EXTENT[d]}={size}" for d, size in enumerate(case.sizes)] + [f"--steps={case.steps}"]
    options += [o for o in case.options if not o.startswith("-D") or o[2:].split("=")[0] in names]
    for name, value in case.inputs:
        if name.split(".")[0] in names:
            options += ["--in", f"{name}={value}"]
    return options


def run_options(case, run):
    """Options of one run. What the program no longer has is left out of the list for -fuse."""
    names = declared(case.tree)
    for option in run:
        if option.startswith("-fuse=") and option[6:] not in ("all", "none"):
            groups = [[name for name in group.split("+") if name in names] for group in option[6:].split(",")]
            option = "-fuse=" + ",".join("+".join(group) for group in groups if group)
        yield option


def output_options(case):
    names = declared(case.tree)
    words = [word for name in case.outputs if name in names for word in ("--out", f"{name}=%{name}.npy")]
    return words + (["--log", "%series.csv"] if any(n.startswith(("reduce ", "until ")) for n in (i.form for i in case.tree.parts[0].items)) else [])


def run_batch(harness, cases):
    """The results of each case: a list with the reference's and then the runs'. One process; when it ends early, the case at hand has a crash."""
    folder = tempfile.mkdtemp(prefix="stc-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    lines, owners = [], []
    for i, case in enumerate(cases):
        path = os.path.join(folder, f"p{i}.stn")
        with open(path, "w") as f:
            f.write(case.tree.text())
        lines += [f"program {path}", "outputs " + " ".join(output_options(case)), "reference " + " ".join(base_options(case))]
        lines += ["run " + " ".join(run_options(case, run)) for run in case.runs]
        owners += [i] * (1 + len(case.runs))
    with open(os.path.join(folder, "batch"), "w") as f:
        f.write("\n".join(lines) + "\n")
    process = subprocess.run([harness, os.path.join(folder, "batch"), os.path.join(folder, "results"), folder], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    results = read_results(os.path.join(folder, "results"), process, len(owners))
    shutil.rmtree(folder)
    by_case = [[r for r, owner in zip(results, owners) if owner == i] for i in range(len(cases))]
    crashed = next((i for i, results in enumerate(by_case) if any(r.what == "crash" for r in results)), len(cases))
    if len(results) < len(owners) and crashed < len(cases):
        return by_case[:crashed + 1] + (run_batch(harness, cases[crashed + 1:]) if crashed + 1 < len(cases) else [])
    if process.returncode and len(cases) > 1:
        return [run_batch(harness, [case])[0] for case in cases]
    return by_case


def read_results(path, process, expected):
    """The Results in the file; the last one is a crash if the process ended in its midst, or at the end with an error."""
    results = []
    for line in open(path, errors="replace") if os.path.exists(path) else []:
        what, _, text = line.rstrip("\n").partition(" ")
        if what != "start":
            results.append(Result(what, text))
    if process.returncode:
        crash = Result("crash", f"exit {process.returncode}\n{process.stderr[-6000:]}")
        results = results + [crash] if len(results) < expected else results[:-1] + [crash]
    return results


def same_failure(harness, kind, cases):
    """For each of the cases, of one run each: does it fail in that way?"""
    return [results[0].what != "refused" and any(r.failed() and r.kind() == kind for r in results) for results in run_batch(harness, cases)]


def describe(case, result, seed):
    """A report of the failure that can be read and repeated."""
    options = " ".join(base_options(case) + list(run_options(case, case.runs[0])))
    return (f"FAIL seed {seed}: {result.what} {result.text[:3000]}\n"
            f"stc run --quiet -fno-contract --check=0 {options} random{seed}.stn\n{case.tree.text()}")


class Campaign:
    """The counts of a whole run."""

    def __init__(self, harness, options):
        self.harness, self.options, self.end = harness, options, time.time() + options["seconds"] if options["seconds"] else None
        self.count, self.reasons, self.schedules, self.kinds, self.features = *(collections.Counter() for _ in range(3)), {}, collections.Counter()

    def failure(self, seed, case, run, result):
        """Shrinks and prints one failure; of each kind the first three alone."""
        self.count["failures"] += 1
        kind = result.kind()
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if self.kinds[kind] > 3:
            return
        case.runs = [run]
        if not self.options["no-shrink"]:
            if not same_failure(self.harness, kind, [case])[0]:
                print(f"seed {seed}: fails only behind other programs")
            else:
                seconds = 120 if self.end is None else max(20, min(120, self.end - time.time()))
                case = shrink(case, lambda cases: same_failure(self.harness, kind, cases), seconds=seconds)
        text = describe(case, result, seed)
        print(text, flush=True)
        if self.options["keep"]:
            os.makedirs(self.options["keep"], exist_ok=True)
            with open(os.path.join(self.options["keep"], f"random{seed}.txt"), "w") as f:
                f.write(text)

    def take(self, seed, case, results):
        """Counts the results of the case."""
        self.count["programs"] += 1
        if self.count["programs"] % 1000 == 0:
            print(f"{self.count['programs']} programs, {self.count['runs']} runs, {self.count['failures']} failures up to seed {seed}", flush=True)
        if results[0].what == "refused":
            self.count["refused programs"] += 1
            self.reasons[plain(results[0].text)[:110]] += 1
            return
        done = [(run, result.text) for run, result in zip(case.runs, results[1:]) if result.what in ("ok", "same-error")]
        self.features.update(features_of(case, [case.options + run for run, _ in done], [text for _, text in done]))
        for run, result in zip([["--device=ref"]] + case.runs, results):
            self.count["runs"] += 1
            if result.what == "refused":
                self.count["refused schedules"] += 1
                self.schedules[plain(result.text)[:110]] += 1
            if result.failed():
                self.failure(seed, case, run, result)
                return

    def report(self):
        """Prints the counts; True if all is well."""
        refused, illegal = self.count["refused programs"], self.count["refused schedules"]
        for text, n in self.reasons.most_common(12):
            print(f"{n:6} refused: {text}")
        for text, n in self.schedules.most_common(6):
            print(f"{n:6} schedules refused: {text}")
        print(", ".join(f"{self.count[what]} {what}" for what in ("programs", "runs", "refused programs", "refused schedules", "failures")))
        enough = 20 * refused <= self.count["programs"] and 2 * illegal <= self.count["runs"]
        if not enough:
            print("FAIL: too many were refused")
        return self.all_features() and enough and not self.count["failures"]

    def all_features(self):
        """Did each feature occur? Prints those that did not, or the rarest; in a run of few programs, or of one that was cut short, some may be missing."""
        missing = [name for name in FEATURES if not self.features[name]]
        few = self.count["programs"] < ENOUGH or self.options["device"]
        print(f"{len(FEATURES)} features; " + ", ".join(f"{self.features[name]} {name}" for name in sorted(FEATURES, key=lambda name: self.features[name])[:12]))
        if missing and not few:
            print(f"FAIL: no program has: {', '.join(missing)}")
        return few or not missing


def parse(argv):
    options = {"seed": 1, "programs": 300, "device": None, "jobs": 2, "seconds": 0, "keep": None, "print": None, "no-shrink": False, "batch": 40}
    for word in argv:
        name, _, value = word.lstrip("-").partition("=")
        if name not in options:
            sys.exit(__doc__)
        options[name] = True if not value else int(value) if name in ("seed", "programs", "jobs", "seconds", "batch", "print") else value
    return options


def main():
    harness, options = sys.argv[1], parse(sys.argv[2:])
    make = lambda seed: Generator(seed).case(options["device"])
    if options["print"] is not None:
        case = make(options["print"])
        print(case.tree.text() + "\n".join(" ".join(base_options(case) + run) for run in case.runs))
        return
    campaign, start, last = Campaign(harness, options), time.time(), options["seed"] + options["programs"]
    with concurrent.futures.ThreadPoolExecutor(options["jobs"]) as pool:
        def one(first):
            if options["seconds"] and time.time() - start > options["seconds"]:
                return []
            seeds = range(first, min(last, first + options["batch"]))
            cases = [make(seed) for seed in seeds]
            return list(zip(seeds, cases, run_batch(harness, cases)))
        for done in pool.map(one, range(options["seed"], last, options["batch"])):
            for seed, case, results in done:
                campaign.take(seed, case, results)
    ok = campaign.report()
    print(f"{time.time() - start:.0f} s")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
