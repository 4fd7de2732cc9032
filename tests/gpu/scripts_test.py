"""scripts_test.py STC HARNESS STANDIN: tests of the scripts of this folder where there is no GPU, with the simulator, the CPU, or the libraries in the folder STANDIN, which stand in for a driver and compute nothing."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
STC, HARNESS, STANDIN = (os.path.abspath(a) for a in sys.argv[1:4])


def script(name, *arguments, **environment):
    """What a script of this folder prints, and its exit status."""
    done = subprocess.run([os.path.join(HERE, name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})
    return done.stdout, done.returncode


class Check(unittest.TestCase):
    def check(self, *arguments, **environment):
        return script("check.py", *arguments, STC, HARNESS, **environment)

    def test_all_well(self):
        text, status = self.check("--device=sim", "--jobs=2", "--only=^(star1d1r|storage) f32 odd")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"defaults: 4 runs, 4 as the reference, 0 refused as illegal, 0 failed, 0 not run")
        self.assertRegex(text, r"shapes: 30 runs, 30 as the reference")

    def test_says_what_fails(self):
        text, status = self.check("--device=cuda", "--jobs=2", "--stages=defaults", "--only=^star1d1r f32 odd", LD_LIBRARY_PATH=STANDIN)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"FAIL star1d1r f32 odd -schedule=naive: differs A.npy: byte \d+\n  stc run --device=cuda -fno-contract --check=0 -DN=257 -freal=f32 --steps=35 -schedule=naive ")
        self.assertRegex(text, r"4 of 4 runs done, 4 failed")

    def test_is_cut_by_the_budget(self):
        text, status = self.check("--device=sim", "--budget=2", "--jobs=2", "--stages=edges", "--only=^(star1d1r f32 (odd|large)|star3d2r f32 large)")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"cut by the budget: [1-6] of 6 not run")

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.check("--device=sim", "--only=no such run")[1], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
