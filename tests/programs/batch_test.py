"""batch_test.py HARNESS: tests of batch.py with a harness that does what the options of a run say: "die", "hang", or else "ok"; "leak" makes the process fail at its end. Of HARNESS itself, which differential.c
makes: what it takes for equal, and how it ends runs. And of the runs that generate.py asks for."""
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from batch import Group, run_groups
from generate import Generator

HARNESS = """#!%s
import os, signal, sys, time
batch, results, folder, limit = sys.argv[1:]
status = 0
with open(results, "w") as out:
    for line in open(batch):
        kind, _, rest = line.strip().partition(" ")
        if kind not in ("reference", "run"):
            continue
        print("start", file=out, flush=True)
        if rest == "die":
            sys.exit("died")
        if rest == "hang":
            signal.alarm(int(limit))
            time.sleep(100)
        status = 1 if rest == "leak" else status
        print("ok " + rest, file=out, flush=True)
sys.exit(status)
"""


class Test(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.harness = os.path.join(self.folder.name, "harness")
        with open(self.harness, "w") as f:
            f.write(HARNESS % sys.executable)
        os.chmod(self.harness, stat.S_IRWXU)

    def tearDown(self):
        self.folder.cleanup()

    def run_all(self, *groups, **options):
        """What came of the groups, each a list of the reference and the runs."""
        results = run_groups(self.harness, [Group("program", "", group[0], group[1:]) for group in groups], **options)
        return [[r.text if r.what == "ok" else r.what for r in group] for group in results]

    def test_all_well(self):
        self.assertEqual(self.run_all(["r", "a", "b"], ["s"], ["t", "c"]), [["r", "a", "b"], ["s"], ["t", "c"]])

    def test_goes_on_behind_a_crash(self):
        self.assertEqual(self.run_all(["r", "a", "die", "b", "die", "c"], ["s", "d"]), [["r", "a", "crash", "b", "crash", "c"], ["s", "d"]])

    def test_goes_on_behind_the_last_run_of_a_group(self):
        self.assertEqual(self.run_all(["r", "die"], ["s", "d"]), [["r", "crash"], ["s", "d"]])

    def test_leaves_a_group_whose_reference_crashes(self):
        self.assertEqual(self.run_all(["die", "a"], ["s", "d"]), [["crash"], ["s", "d"]])

    def test_finds_whose_end_fails(self):
        self.assertEqual(self.run_all(["r", "a"], ["s", "leak"], ["t", "c"]), [["r", "a"], ["s", "crash"], ["t", "c"]])

    def test_ends_a_run_that_hangs(self):
        self.assertEqual(self.run_all(["r", "hang", "b"], limit=1), [["r", "crash", "b"]])
        self.assertIn("no end after 10 s", run_groups(self.harness, [Group("", "", "r", ["hang"])], limit=1)[0][1].text)

    def test_ends_in_time(self):
        def ended(seconds):
            start = time.time()
            results = self.run_all(["r", "a", "hang", "b"], ["s"], end=start + seconds, limit=90)
            self.assertLess(time.time() - start, seconds + 30)
            return results
        self.assertEqual(next((r for r in map(ended, (1.5, 6, 24)) if len(r[0]) == 2), None), [["r", "a"], []])

    def test_asks_for_clusters_of_streamed_tiles_alone(self):
        """Other schedules refuse -cluster, and a run that is given another one must lose it."""
        runs = [run for seed in range(1, 160) for run in Generator(seed).case(None).runs if any(word.startswith("-cluster") for word in run)]
        self.assertTrue(runs)
        self.assertEqual([run for run in runs if "-schedule=stream" not in run], [])


class Real(unittest.TestCase):
    """The harness of differential.c."""
    TEXT = "param N = 4, k = 0;\nparam z : f32 = 0;\nlet n = z / z;\ngrid G = [0 .. N - 1], 1;\nfield A : f32 on G;\ninit i(A)[G] = 0;\nstencil s(A)[G] = if k == 0 then n else if k == 1 then -n else if k == 2 then z else if k == 3 then -z else 1;\n"

    def what(self, *groups, **options):
        """What came of the runs of the groups."""
        return [[r.what for r in group[1:]] for group in run_groups(REAL, [Group(self.TEXT, "--out A=%A.npy", f"-Dk={ref}", runs) for ref, runs in groups], **options)]

    def test_takes_what_is_no_number_for_equal_alone(self):
        host = [f"--device=host:1 -O0 -Dk={k}" for k in range(5)]
        self.assertEqual(self.what((0, host), (2, host)), [["ok", "ok", "differs", "differs", "differs"], ["differs", "differs", "ok", "differs", "differs"]])

    def test_counts_processors_time(self):
        """A run is not ended because the process waits, but one that computes for too long."""
        with tempfile.TemporaryDirectory() as folder:
            names = {name: os.path.join(folder, name) for name in ("p.stn", "batch", "results")}
            with open(names["p.stn"], "w") as f:
                f.write(self.TEXT)
            with open(names["batch"], "w") as f:
                f.write("\n".join(Group("", "", "-Dk=4 --steps=100000", []).lines(names["p.stn"])) + "\n")
            process = subprocess.Popen([REAL, names["batch"], names["results"], folder, "1"])
            while process.poll() is None and not (os.path.exists(names["results"]) and os.path.getsize(names["results"])):
                time.sleep(0.001)
            process.send_signal(signal.SIGSTOP)
            time.sleep(1.2)
            process.send_signal(signal.SIGCONT)
            self.assertEqual(process.wait(), 0)
        endless = run_groups(REAL, [Group(self.TEXT, "", "-Dk=4 --steps=1000000000", [])], limit=1)
        timed = run_groups(REAL, [Group(self.TEXT, "", "-Dk=4 --steps=1000000", [])])[0][0]
        self.assertTrue(timed.what == "ok" and timed.seconds > 0, vars(timed))
        self.assertIn("no end after 1 s of processors' time", endless[0][0].text)


if __name__ == "__main__":
    REAL = sys.argv.pop()
    unittest.main()
