"""fit_test.py STC: fit.py has the model that stc has, fits it to measured rows, and writes the record."""
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
STC = os.path.abspath(sys.argv[1])
sys.path.insert(0, HERE)
import fit  # noqa: E402

# Measured on one H200.
ROWS = [("star2d1r", "f32", "2048x2048", "-schedule=stream -T=5 -block=1x32 -elems=1x2 -chunk=32 -ahead=4", 1613),
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
            own = os.path.join(folder, "tuning.def")
            shutil.copy(fit.RECORD, own)
            old, fit.RECORD = fit.RECORD, own
            before, names = fit.record()
            text = self.run_on(folder, "--write")
            after, again = fit.record()
            fit.RECORD = old
        self.assertRegex(text, r"^5 rows of 4 programs: error 1\.\d+, fitted 1\.\d+\nprograms that nothing was fitted to: error \d")
        self.assertEqual(names, again)
        self.assertIn("result_wait", names)
        self.assertTrue(any(before[n] != after[n] for n in names))
        self.assertTrue(all(before[n] == after[n] for n in before if n not in names))

    def test_notices_another_model(self):
        with tempfile.TemporaryDirectory() as folder:
            own = os.path.join(folder, "tuning.def")
            with open(fit.RECORD, encoding="utf-8") as f:
                text = f.read()
            with open(own, "w", encoding="utf-8") as f:
                f.write(text.replace("TUNING(kept_clock, 0.96,", "TUNING(kept_clock, 0.5,"))
            old, fit.RECORD = fit.RECORD, own
            with self.assertRaisesRegex(SystemExit, "model.c has changed, and this script has not"):
                self.run_on(folder)
            fit.RECORD = old


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
