"""fit_test.py STC: fit.py has the model that stc has, fits it to measured rows, and writes the record; which holds all numbers that code reads."""
import contextlib
import glob
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
STC = os.path.abspath(sys.argv[1])
sys.path.insert(0, HERE)
import chosen  # noqa: E402
import fit  # noqa: E402

# Measured on one H200.
ROWS = [("star2d1r", "f32", "2048x2048", "-schedule=stream -T=5 -block=1x32 -elems=1x2 -chunk=32 -ahead=4", 1613),
        ("star2d1r", "f32", "2048x2048", "-schedule=stream -T=10 -block=1x32 -elems=1x2 -chunk=64 -ahead=4", 1368),
        ("star2d1r", "f32", "2048x2048", "-schedule=overlap -T=6 -block=8x64 -elems=8x1", 1144),
        ("star2d1r", "f64", "4096x4096", "-schedule=stream -T=8 -block=1x32 -elems=1x2 -chunk=128 -ahead=6", 1281),
        ("star1d1r", "f32", "16777216", "-schedule=stream -T=32 -block=128 -elems=16", 7951),
        ("gray_scott", "f32", "4096x4096", "-schedule=overlap -T=4 -block=8x32 -elems=8x1", 556),
        ("star3d1r", "f32", "512x512x512", "-schedule=naive -block=4x4x32", 231)]


class Fit(unittest.TestCase):
    def run_on(self, folder, *options):
        """What the script prints for ROWS, with a record of its own."""
        rows = [dict(zip(("program", "type", "size", "schedule", "gpts"), r)) for r in ROWS]
        rows.append({"program": "star2d1r", "type": "f32", "size": "-", "schedule": "", "gpts": 1})
        path = os.path.join(folder, "rows.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"rows": rows}, f)
        sys.argv[1:] = [STC, path, *options]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            fit.main()
        return out.getvalue()

    def test_fits_and_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            own = os.path.join(folder, "measured.def")
            shutil.copy(fit.RECORD, own)
            old, fit.RECORD = fit.RECORD, own
            before, names = fit.record()
            text = self.run_on(folder, "--write")
            after, again = fit.record()
            fit.RECORD = old
        self.assertRegex(text, r"^finished: 7 rows of 4 programs: error 1\.\d+, fitted 1\.\d+\nfinished: programs that nothing was fitted to: error \d")
        self.assertRegex(text, r"\ncounted: 6 rows of 3 programs: error 1\.\d+, fitted 1\.\d+\n"
                         r"counted: choices make [01]\.\d+ of the best, fitted [01]\.\d+\ncounted: programs that nothing was fitted to: error \d")
        self.assertEqual(names, again)
        for column, own, other in (("finished", "launch_gap", "turn_wait"), ("counted", "edge_wait", "launch_gap")):
            self.assertIn("result_wait", names[column])
            self.assertIn(own, names[column])
            self.assertNotIn(other, names[column])
            self.assertTrue(any(before[column][n] != after[column][n] for n in names[column]))
            self.assertTrue(all(before[column][n] == after[column][n] for n in before[column] if n not in names[column]))

    def test_keeps_the_best_rows_in_few_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            kept, again = os.path.join(folder, "kept.json"), os.path.join(folder, "again.json")
            self.run_on(folder, "--keep=" + kept)
            rows = fit.rows_of(kept)
            sys.argv[1:] = [STC, kept, "--keep=" + again]
            fit.main()
            with open(kept, encoding="utf-8") as x, open(again, encoding="utf-8") as y:
                self.assertEqual(x.read(), y.read())
        wanted = {(p, t, s, o.replace(" -chunk=1 -ahead=1", ""), g) for p, t, s, o, g in ROWS}
        self.assertEqual({(r["program"], r["type"], r["size"], r["schedule"], r["gpts"]) for r in rows}, wanted)

    def test_notices_another_model(self):
        with tempfile.TemporaryDirectory() as folder:
            own = os.path.join(folder, "measured.def")
            with open(fit.RECORD, encoding="utf-8") as f:
                text = f.read()
            with open(own, "w", encoding="utf-8") as f:
                f.write(re.sub(r"MEASURED_MODEL\(blend, [^,]+, [^,]+,", "MEASURED_MODEL(blend, 1.6, 1.6,", text))
            old, fit.RECORD = fit.RECORD, own
            with self.assertRaisesRegex(SystemExit, "model.c has changed, and this script has not"):
                self.run_on(folder)
            fit.RECORD = old


class Chosen(unittest.TestCase):
    """What choices make of the best, by kept measurements (chosen.py)."""

    def test_same(self):
        plan = chosen.knobs_of("stream T=2 block=1x32 elems=1x2 chunk=64 ahead=4 edges=apart barriers=neighbours")
        self.assertTrue(chosen.same(chosen.knobs_of("-schedule=stream -T=2 -block=1x32 -elems=1x2 -chunk=64 -ahead=4"), plan))
        self.assertFalse(chosen.same(chosen.knobs_of("-schedule=stream -T=2 -block=1x32 -elems=1x2 -chunk=64 -ahead=4 -tiles=fitted"), plan))
        self.assertFalse(chosen.same(chosen.knobs_of("-schedule=stream -T=2 -block=1x32 -elems=1x4 -chunk=64 -ahead=4"), plan))
        self.assertTrue(chosen.same(chosen.knobs_of(chosen.text_of("naive block=8x32")), chosen.knobs_of("naive block=8x32 edges=along")))

    def test_speeds(self):
        made = {"-schedule=naive -block=8x32": 5, "-schedule=overlap -T=2 -block=8x32 -elems=4x1": 10}
        self.assertEqual(chosen.speed_of("overlap T=2 block=8x32 elems=4x1 edges=along", made), 10)
        self.assertIsNone(chosen.speed_of("overlap T=3 block=8x32 elems=4x1 edges=along", made))
        self.assertIsNone(chosen.speed_of("naive block=8x32; naive block=8x32", made))

    def test_report(self):
        done = subprocess.run([sys.executable, chosen.__file__, STC, "--only=^star1d3r f32 65536$", "--all"], capture_output=True,
                              text=True, check=True)
        self.assertRegex(done.stdout, r"^\d+ cases, the choice of \d+ was measured: chosen/best [01]\.\d+, worst [01]\.\d+;")
        self.assertRegex(done.stdout, r"expected/measured of \d+ schedules: \d\.\d+, error 1\.\d+,")


class Record(unittest.TestCase):
    """The record is whole, and holds nothing else. What a test may name stands without comments and texts."""
    ROW = re.compile(r"^(?:TUNING|MEASURED)(_\w+)?\((\w+), ", re.M)
    RECORDS = [os.path.join(fit.TOP, *path) for path in (("passes", "base", "tuning.def"), ("ir", "measured.def"))]
    FACTS = {0.5, 1, 2}
    PARTS = ["passes/plan", "passes/launch", "passes/tile", "passes/lower", "passes/kernel"]
    DRIVER = [f"driver/{name}" for name in ["program", "files", "artifact", "instance", "split", "cli"]]
    # What targets and cards can do, arithmetic of the language, shares of waiting and of progress bars, layout of a page.
    OTHERS = {"nvptx.c", "amdgpu.c", "host.c", "cards.c", "emit-ranged.c", "plan-run.c", "run-check.c", "run.c", "split.c", "sha256.c"}

    def sources(self, *folders):
        """The code of these folders and those in them, but for the record itself: (file, text)."""
        for folder in folders:
            for path in sorted(glob.glob(os.path.join(fit.TOP, folder, "**", "*.[ch]"), recursive=True)):
                if not os.path.basename(path).startswith(("tuning.", "measured.")):
                    with open(path, encoding="utf-8") as f:
                        yield path, re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', " ", f.read(), flags=re.S)

    def test_every_number_is_read(self):
        rows = []
        for record in self.RECORDS:
            with open(record, encoding="utf-8") as f:
                rows += self.ROW.findall(f.read())
        text = " ".join(t for _, t in self.sources("passes", *self.DRIVER))
        reads = {"_OP": r"\bw->", "_MODEL": r"\bm->"}
        unread = [name for kind, name in rows if not re.search(reads.get(kind, r"\b(?:tuning|measured)\.") + name + r"\b", text)]
        self.assertGreater(len(rows), 90)
        self.assertEqual(unread, [])

    def test_code_has_no_measured_numbers(self):
        found = []
        for path, text in self.sources(*self.PARTS, "backend", *self.DRIVER):
            if os.path.basename(path) in self.OTHERS:
                continue
            for number in re.findall(r"(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.])", text):
                known = float(number) in self.FACTS or math.log10(float(number) or 1) % 1 == 0
                if not number.isdigit() and not known:
                    found.append((os.path.basename(path), number))
            found += [(os.path.basename(path), t) for t in re.findall(r"\bstatic const (?:double|u?int\w*) \w+(?:\[\w*\])+ = \{+\s*(?!0\})\d", text)]
        self.assertEqual(found, [], "numbers that were found by measuring stand in passes/base/tuning.def or ir/measured.def, with unit and meaning")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
