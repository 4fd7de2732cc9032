"""differential.py HARNESS [--seed=N] [--programs=N] [--device=DEV] [--jobs=N] [--seconds=S] [--batch=N] [--keep=FOLDER]
                         [--print=SEED] [--no-shrink] [--points] [--splits] [--turns] [--by=NAME] [--runs=N]
                         [--layers] [--masks] [--family=NAME] [--mix]

Random programs (generate.py) on sim and host, or on DEV, a GPU, under random schedules, compared with the reference interpreter byte for byte. HARNESS is the executable of
differential.c, which runs a batch of them in one process. A program that fails, or ends the process, is made as small as it can be (shrink.py), and printed with the command that
shows it; --keep writes it to a folder. Programs that stc refuses are counted by reason; if they are more than one in twenty, that is a failure too. So it is if a feature of
features.py never occurs, in a run of at least 300 programs on sim and host. --points: all programs have probes, and most have injects. --splits: each has one run, whose grid is cut into parts, on DEV, which may be several such as cuda:0-1; --by: by that transport, such as nccl. --turns: the same with parts that take turns on the device. --layers: of these seeds only those whose programs have layers at edges in two dimensions or three, and each has two more runs with several points a thread. --masks: of these seeds only those whose programs have masks; --runs: each has no more runs than that, which chance chooses, one of --layers two more. --family: runs of that family of schedules alone, such as warps. --mix: of ten programs one is as with --splits, one as with --turns, one as with --points, and of the others those that have layers as with --layers. --jobs processes, two or on a GPU as many as there are cores, take --batch programs each, 40 or on a GPU 8;
a line every ten seconds tells how far they are. After --seconds all are ended: programs some of whose runs have no result then do not count. With --runs=3 a program takes some 0.15 s of a processor's time.
"""
import collections
import concurrent.futures
import itertools
import os
import random
import signal
import sys
import time

from batch import Group, Result, plain, run_groups
from features import FEATURES, family, features_of
from generate import Generator
from model import EXTENT
from shrink import shrink
from tree import declared


ENOUGH = 300   # programs that must have every feature
TURNS = 0.3    # of runs whose grid is cut so many are by parts that take turns
FEW = 40       # programs, of which one in twenty may be refused: of fewer as many
TELL = 10      # seconds between lines that tell how far all is


def base_options(case):
    """Options that all runs of the case share. What the program no longer declares is left out."""
    names = declared(case.tree)
    options = [f"-D{EXTENT[d]}={size}" for d, size in enumerate(case.sizes) if not case.constant] + [f"--steps={case.steps}"]
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
    """What a run writes; where it does so at many steps, a file for each."""
    names = declared(case.tree)
    step = "_%d" if case.every else ""
    words = [word for name in case.outputs if name in names for word in ("--out", f"{name}=%{name}{step}.npy")]
    words += [f"--every={case.every}"] if words and case.every else []
    return words + (["--log", "%series.csv"] if any(n.startswith(("reduce ", "until ", "probe ")) for n in (i.form for i in case.tree.parts[0].items)) else [])


def group_of(case):
    """The case as a group for the harness."""
    return Group(case.tree.text(), " ".join(output_options(case)), " ".join(base_options(case)), [" ".join(run_options(case, run)) for run in case.runs])


def run_batch(harness, cases, end=None):
    """The results of each case: a list with the reference's and then the runs'; fewer where the time `end` came first."""
    return run_groups(harness, [group_of(case) for case in cases], end)


def same_failure(harness, kind, cases, end=None):
    """For each of the cases, of one run each: does it fail in that way?"""
    return [bool(results) and results[0].what != "refused" and any(r.failed() and r.kind() == kind for r in results) for results in run_batch(harness, cases, end)]


def describe(case, result, seed):
    """A report of the failure that can be read and repeated."""
    options = " ".join(base_options(case) + list(run_options(case, case.runs[0])))
    return (f"FAIL seed {seed}: {result.what} {result.text[:3000]}\n"
            f"stc run --quiet -fno-contract --check=0 {options} random{seed}.stn\n{case.tree.text()}")


def asks_nothing(run):
    """Does the run say where it is and no more, so that all else is stc's own choice?"""
    return all(word.startswith(("--device=", "-march=", "-mcpu=", "-O")) for word in run)


class Outcome:
    """What the counts need of a case that was run: its seed, its runs, all results, and what of features.py and which families the runs that did well have."""

    def __init__(self, seed, case, results):
        done = [(run, result.text) for run, result in zip(case.runs, results[1:]) if result.what in ("ok", "same-error")]
        self.seed, self.runs, self.results = seed, case.runs, results[:1] + [self.judged(run, result) for run, result in zip(case.runs, results[1:])]
        self.features = features_of(case, [case.options + run for run, _ in done], [text for _, text in done]) if done else []
        self.families = [family(run) for run, _ in done]

    @staticmethod
    def judged(run, result):
        """The result, which is an error where stc refuses what nobody asked for."""
        wrong = result.what == "refused" and asks_nothing(run)
        return Result("error", "stc refuses what it chooses itself: " + result.text, result.seconds) if wrong else result


def begin_worker(harness, options, start):
    """Makes the campaign of a process that makes programs. Ctrl-C ends what it has begun there."""
    global own
    own = Campaign(harness, options, start)
    signal.signal(signal.SIGINT, lambda *_: setattr(own, "end", time.time()))


def make_and_run(first, last):
    """Campaign.make_and_run in such a process."""
    return own.make_and_run(first, last)


class Campaign:
    """The counts of a whole run. start: when it began."""

    def __init__(self, harness, options, start):
        self.harness, self.options, self.start = harness, options, start
        self.end = self.told = None
        if options["seconds"]:
            self.end = self.start + options["seconds"]
        self.count, self.reasons, self.schedules, self.kinds, self.features, self.families = *(collections.Counter() for _ in range(3)), {}, collections.Counter(), collections.Counter()
        self.mixed, self.seconds = collections.Counter(), collections.Counter()

    def failure(self, seed, case, run, result):
        """Shrinks and prints one failure; of each kind the first three alone."""
        self.count["failures"] += 1
        kind = result.kind()
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if self.kinds[kind] > 3:
            print(f"FAIL seed {seed}: one more of: {kind}", flush=True)
            return
        case.runs = [run]
        if not self.options["no-shrink"]:
            seconds = 120 if self.end is None else min(120, self.end - time.time())
            if seconds < 5:
                print(f"seed {seed}: no time to make it smaller")
            elif not same_failure(self.harness, kind, [case], self.end)[0]:
                print(f"seed {seed}: fails only behind other programs")
            else:
                case = shrink(case, lambda cases: same_failure(self.harness, kind, cases, self.end), seconds=seconds)
        text = describe(case, result, seed)
        print(text, flush=True)
        if self.options["keep"]:
            os.makedirs(self.options["keep"], exist_ok=True)
            with open(os.path.join(self.options["keep"], f"random{seed}.txt"), "w") as f:
                f.write(text)

    def take(self, outcome):
        """Counts what came of a case. A program that the end came upon is none."""
        results = outcome.results
        if not results:
            return
        ended = len(results) <= len(outcome.runs) and results[0].what != "refused"
        self.count["programs that the end came upon" if ended else "programs"] += 1
        self.mixed[self.kind(outcome.seed)] += not ended
        if results[0].what == "refused":
            self.count["refused programs"] += 1
            self.reasons[plain(results[0].text)[:110]] += 1
            return
        self.features.update(outcome.features)
        self.families.update(outcome.families)
        for run, result in zip([["--device=ref"]] + outcome.runs, results):
            self.count["runs"] += 1
            self.seconds["reference" if run == ["--device=ref"] else family(run)] += result.seconds
            if result.what == "refused":
                self.count["refused schedules"] += 1
                self.schedules[plain(result.text)[:110]] += 1
            if result.failed():
                self.failure(outcome.seed, self.fewer(self.case(outcome.seed), outcome.seed), run, result)
                return

    def tell(self):
        """Prints how far all is, when it is time to."""
        now = time.time()
        if self.told is None or now - self.told >= TELL:
            self.told = now
            print(f"{now - self.start:.0f} s: {self.count['programs']} of {self.options['programs']} programs, {self.count['runs']} runs, {self.count['failures']} failures", flush=True)

    def kind(self, seed):
        """What the program of the seed is made for: an option's name, or "plain"."""
        named = next((name for name in ("splits", "turns", "layers", "points") if self.options[name]), "plain")
        if named != "plain" or not self.options["mix"] or self.options["device"]:
            return named
        return {0: "splits", 1: "turns", 2: "points"}.get(seed % 10) or ("layers" if Generator(seed).has_edges() else "plain")

    def case(self, seed):
        """The case of the seed, for --splits or --turns nothing of it but runs whose grid is cut."""
        kind, device = self.kind(seed), self.options["device"]
        if kind not in ("splits", "turns"):
            maker = Generator(seed, self.options["points"] or kind == "points", TURNS)
            case = maker.case(device)
            return case.changed(runs=case.runs + maker.several_runs(device)) if kind == "layers" else case
        case = Generator(seed, self.options["points"], 1 if kind == "turns" else 0).case(device, 1)
        by = ":" + self.options["by"] if self.options["by"] else ""
        case.runs = [[word + by if word.startswith("--split=") else word for word in run] for run in case.runs[-1:]]
        return case

    def fewer(self, case, seed):
        """The case with as many runs as --runs allows: in parts and whole, of as many families of schedules as can be."""
        most, wanted = self.options["runs"], self.options["family"]
        if wanted:
            case = case.changed(runs=[run for run in case.runs if family(run) == wanted])
        most += 2 if most and self.kind(seed) == "layers" else 0
        if not most or len(case.runs) <= most:
            return case
        runs = random.Random(seed).sample(case.runs, len(case.runs))
        kinds = [(family(run), any(word.startswith("--split=") for word in run)) for run in runs]
        runs = [run for _, run in sorted(enumerate(runs), key=lambda one: kinds.index(kinds[one[0]]) != one[0])]
        return case.changed(runs=runs[:most])

    def is_wanted(self, seed):
        """Is the program of that seed one of those asked for?"""
        maker = Generator(seed) if self.options["layers"] or self.options["masks"] else None
        return not maker or ((maker.has_edges() or not self.options["layers"]) and (maker.has_masks() or not self.options["masks"]))

    def make_and_run(self, first, last):
        """Makes the cases of the seeds from `first` up to `last`, which is not one of them, and runs them. None after the end."""
        if self.end and time.time() > self.end:
            return []
        seeds = [seed for seed in range(first, last) if self.is_wanted(seed)]
        pairs = [(seed, case) for seed in seeds for case in [self.fewer(self.case(seed), seed)] if case.runs]
        cases = [case for _, case in pairs]
        return [Outcome(seed, case, results) for (seed, case), results in zip(pairs, run_batch(self.harness, cases, self.end))]

    def run(self):
        """Runs all programs, and counts what comes of them. Processes of their own make them, for a single one would make some sixty a second."""
        first, size = self.options["seed"], self.options["batch"]
        last = first + self.options["programs"]
        starts = iter(range(first, last, size))
        with concurrent.futures.ProcessPoolExecutor(self.options["jobs"], initializer=begin_worker, initargs=(self.harness, self.options, self.start)) as pool:
            batch = lambda seed: pool.submit(make_and_run, seed, min(last, seed + size))
            waiting = {batch(seed) for seed in itertools.islice(starts, 2 * self.options["jobs"])}
            while waiting:
                try:
                    done, waiting = concurrent.futures.wait(waiting, timeout=TELL, return_when=concurrent.futures.FIRST_COMPLETED)
                    waiting |= {batch(seed) for seed in itertools.islice(starts, len(done)) if not self.end or time.time() < self.end}
                except KeyboardInterrupt:
                    self.end, done = time.time(), []
                for outcome in (one for future in done for one in future.result()):
                    self.take(outcome)
                self.tell()

    def report(self):
        """Prints the counts; True if all is well."""
        refused, illegal = self.count["refused programs"], self.count["refused schedules"]
        for text, n in self.reasons.most_common(12):
            print(f"{n:6} refused: {text}")
        for text, n in self.schedules.most_common(6):
            print(f"{n:6} schedules refused: {text}")
        print("programs by kind: " + ", ".join(f"{n} {kind}" for kind, n in sorted(self.mixed.items())))
        print(f"processors' time: {sum(self.seconds.values()):.0f} s; " + ", ".join(f"{n:.0f} {name}" for name, n in self.seconds.most_common()))
        print("runs by family: " + ", ".join(f"{n} {name}" for name, n in sorted(self.families.items())))
        print(", ".join(f"{self.count[what]} {what}" for what in ("programs", "runs", "refused programs", "refused schedules", "programs that the end came upon", "failures")))
        wanted = self.options["family"]                 # of one family most are refused
        enough = self.families[wanted] > 0 if wanted else 20 * refused <= max(self.count["programs"], FEW) and 2 * illegal <= self.count["runs"]
        if not enough:
            print("FAIL: too many were refused")
        return self.all_features() and enough and not self.count["failures"]

    def all_features(self):
        """Did each feature occur? Prints those that did not, or the rarest; in a run of few programs, or of one that was cut short, some may be missing."""
        missing = [name for name in FEATURES if not self.features[name]]
        few = self.count["programs"] < ENOUGH or self.options["device"] or self.options["points"] or self.options["layers"] or self.options["masks"] or self.options["splits"] or self.options["turns"] or self.options["family"]
        print(f"{len(FEATURES)} features; " + ", ".join(f"{self.features[name]} {name}" for name in sorted(FEATURES, key=lambda name: self.features[name])[:12]))
        if missing and not few:
            print(f"FAIL: no program has: {', '.join(missing)}")
        return few or not missing


def parse(argv):
    options = {"seed": 1, "programs": 300, "device": None, "jobs": 0, "seconds": 0, "keep": None, "print": None, "no-shrink": False, "batch": 0, "points": False, "layers": False, "masks": False, "splits": False, "turns": False, "mix": False, "by": None, "runs": 0, "family": None}
    for word in argv:
        name, _, value = word.lstrip("-").partition("=")
        if name not in options:
            sys.exit(__doc__)
        options[name] = True if not value else int(value) if name in ("seed", "programs", "jobs", "seconds", "batch", "print", "runs") else value
    gpu = options["device"] and options["device"].split(":")[0] in ("cuda", "hip")
    options["jobs"] = options["jobs"] or (os.cpu_count() if gpu else 2)
    options["batch"] = options["batch"] or (8 if gpu else 40)
    return options


def main():
    harness, options = os.path.abspath(sys.argv[1]), parse(sys.argv[2:])
    if options["print"] is not None:
        case = Campaign(harness, options, time.time()).case(options["print"])
        print(case.tree.text() + "\n".join(" ".join(base_options(case) + run) for run in case.runs))
        return
    os.environ["STC_CACHE_DISABLE"] = "1"  # no program comes a second time
    campaign = Campaign(harness, options, time.time())
    campaign.run()
    ok = campaign.report()
    print(f"{time.time() - campaign.start:.0f} s")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
