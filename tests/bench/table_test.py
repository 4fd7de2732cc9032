"""table.py: files merged, what stc takes told from the rest, tables of pages made anew, pages that differ, what is slow or missing."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import table


def row(program, type, size, family, gpts, **more):
    """A row of the bench's file."""
    return {"program": program, "type": type, "size": size, "family": family, "schedule": "-schedule=" + family, "gpts": gpts, "T": 4, "registers": 100, "local_bytes": 0, "finite": True, **more}


class Test(unittest.TestCase):
    def table(self, *files):
        """What table.py prints for files of these rows."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, "%d.json" % i) for i in range(len(files))]
            for path, rows in zip(paths, files):
                with open(path, "w") as f:
                    json.dump({"version": "stc 1", "device": "a card", "date": "2026-01-02", "copy_gb_per_s": 4200.4, "rows": rows}, f)
            return subprocess.run([sys.executable, os.path.join(HERE, "table.py"), *paths], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    def test_merges(self):
        lines = self.table([row("star2d1r", "f32", "16384x16384", "naive", 280.4), row("star2d1r", "f32", "16384x16384", "stream", 2500, of_copy_limit=5.5, of_arithmetic_limit=0.5, expected_gpts=2600)],
                           [row("star2d1r", "f32", "16384x16384", "stream", 2700, of_copy_limit=6, of_arithmetic_limit=0.52), row("star2d1r", "f32", "16384x16384", "tuned", 4300)])
        self.assertEqual(lines[0], "stc 1 on a card, 2026-01-02; copying within its memory: 4200 GB/s read and written")
        self.assertIn("| star2d1r | f32 | 16384^2 | 280 |  | 2700 | 4300 | 9.6 | 0.63 | 4 | 100 | 0 | 600 % | 52 % |  | 3512 |", lines)
        self.assertIn("default over tuned, geometric mean of 1: 0.628 (goal 0.80)", lines)
        self.assertIn("| star2d1r | f32 | 16384^2 | 4200 | 2700 | 4300 | met when tuned |", lines)
        self.assertIn("2-D f32 below 44 % of arithmetic on a large grid: none", lines)

    def test_takes_what_stc_takes(self):
        lines = self.table([row("gradient2d", "f64", "16384x16384", "naive", 200), row("gradient2d", "f64", "16384x16384", "overlap", 340, chosen=True), row("gradient2d", "f64", "16384x16384", "stream", 209, chosen=False)])
        self.assertIn("| gradient2d | f64 | 16384^2 | 600 | 340 |  | missed, 57 % |", lines)
        self.assertIn("default below 2 times naive on a large grid: gradient2d f64 16384^2 (1.70, at best 1.70)", lines)

    def test_pages_are_as_the_data_says(self):
        pages = [os.path.join(HERE, "..", "..", name) for name in ("README.md", "docs/performance.md", "docs/lab/amd.md", "docs/cluster.md")]
        done = subprocess.run([sys.executable, os.path.join(HERE, "table.py"), "--check", *pages], stdout=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_pages_agree_on_who_is_ahead(self):
        """What README, compare.md and performance.md say in words of the others is what the data says, and the same of the power limit."""
        here = [os.path.join(HERE, "..", "..", name) for name in ("README.md", "docs/compare.md", "docs/performance.md")]
        texts = []
        for path in here:
            with open(path, encoding="utf-8") as f:
                texts.append(" ".join(f.read().split()))
        leads = {}
        for e in table.entries_of("large.json"):
            best = table.published(e.program, e.type, e.size)
            if best:
                leads[e.program, e.type, e.size] = e.default()["gpts"] / best["gpts"]
        self.assertGreater(min(leads.values()), 1, leads)
        for text, said in zip(texts, ("stc is ahead in all of these rows, and in the boxes in f64", "in single and in double precision stc is ahead of AN5D, EBISU and FastStencil",
                                      "stc is faster than the others in every row that has a figure of theirs")):
            self.assertIn(said, text)
        least = sorted((lead, program) for (program, type, _), lead in leads.items() if type == "f64")[:2]
        self.assertIn("The smallest leads are in f64: %s (%.2f times) and %s (%.2f times)" % (least[0][1], least[0][0], least[1][1], least[1][0]), texts[2])
        self.assertEqual([re.findall(r"(\d+ to \d+) % slower", text)[:1] for text in texts], [["14 to 27"]] * 3)

    def test_finds_a_page_that_is_not(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w") as f:
                f.write("before\n<!-- table cpu -->\n| old |\n<!-- end -->\nbehind\n")
            command = [sys.executable, os.path.join(HERE, "table.py")]
            self.assertEqual(subprocess.run([*command, "--check", path], stdout=subprocess.DEVNULL).returncode, 1)
            subprocess.run([*command, "--page", path], check=True)
            self.assertEqual(subprocess.run([*command, "--check", path]).returncode, 0)
            with open(path) as f:
                text = f.read()
            self.assertTrue(text.startswith("before\n<!-- table cpu -->\n| program | type | points | C loops |") and text.endswith("<!-- end -->\nbehind\n"))

    def test_says_what_is_slow_or_missing(self):
        lines = self.table([row("fdtd2d", "f32", "512x512", "naive", 100), row("fdtd2d", "f32", "512x512", "stream", 90), row("star3d1r", "f32", "512x512x512", "stream", 900), row("star3d1r", "f32", "768x768x768", "stream", 1650),
                            row("rician2d", "f32", "16384x16384", "stream", 9, of_arithmetic_limit=0.3, finite=False), {"program": "j", "type": "f32", "size": "-", "family": "stream", "left_out": "it spills"}])
        self.assertIn("default below naive: fdtd2d f32 512^2 (0.90, at best 0.90)", lines)
        self.assertIn("| star3d1r | f32 | 768^3 | 1600 | 1650 |  | met |", lines)
        self.assertIn("2-D f32 below 44 % of arithmetic on a large grid: rician2d f32 16384^2 (30 %)", lines)
        self.assertIn("not all values stayed finite: rician2d f32 16384^2 (see the file)", lines)
        self.assertIn("- j f32 - stream: it spills", lines)


if __name__ == "__main__":
    unittest.main()
