"""Tests of batch.py with a harness that does what the options of a run say: "die", "hang", or else "ok"; "leak" makes the process fail at its end. And of the runs that generate.py asks for."""
import os
import stat
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
        self.assertIn("no end after 1 s", run_groups(self.harness, [Group("", "", "r", ["hang"])], limit=1)[0][1].text)

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


if __name__ == "__main__":
    unittest.main()
