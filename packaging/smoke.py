"""smoke.py WHEEL PYTHON...: the wheel in a bare environment of each of these Pythons, with NumPy of PyPI and nothing else: the command and the package
compile a program and run it, with the bits of NumPy. PATH leads to no compiler."""
import subprocess
import sys
import tempfile
from pathlib import Path

USED = """
import sys, numpy as np, stc
program = stc.compile("grid G = [0 .. 63, 0 .. 47], 10; field A : f32 on G; "
                      "stencil s(A)[1 .. 62, 1 .. 46] = 0.25 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1]);")
a = np.random.default_rng(1).random((64, 48), dtype=np.float32)
with program.plan(device="host") as run:
    run["A"] = a
    run(10)
    for _ in range(10):
        b = a.copy()
        b[1:-1, 1:-1] = np.float32(0.25) * (((a[:-2, 1:-1] + a[2:, 1:-1]) + a[1:-1, :-2]) + a[1:-1, 2:])
        a = b
    assert (run["A"] == a).all()
assert b".target sm_90" in stc.compile("grid G = [0 .. 9], 1; field A : f32 on G; stencil s(A)[G] = A + 1;", arch="sm_90").emit("obj")
print("Python", sys.version.split()[0], "NumPy", np.__version__, "stc", stc.__version__)
"""


def main(wheel, *pythons):
    for python in pythons:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([python, "-m", "venv", f"{folder}/v"], check=True)
            subprocess.run([f"{folder}/v/bin/pip", "install", "-q", "--disable-pip-version-check", "--only-binary=:all:", Path(wheel).resolve()], check=True)
            bare = dict(PATH=f"{folder}/v/bin", HOME=folder)
            subprocess.run(["stc", "--version"], check=True, env=bare, cwd=folder, executable=f"{folder}/v/bin/stc", stdout=subprocess.DEVNULL)
            subprocess.run([f"{folder}/v/bin/python", "-c", USED], check=True, env=bare, cwd=folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
