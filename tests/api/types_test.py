"""types_test.py SOURCE LIBSTC.SO KNOBS: type checkers see of the package what it has, and nothing more: stubtest finds no difference, and mypy the
mistakes of a script and none else. KNOBS is the build's _knob_types.pyi. Run by the Python of the environment that tests/data/readers.py makes."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """import stc
plan = stc.compile("heat.stn", T=4).plan(device="host", N=64)
plan.stream = 0
print(plan(10).gpts, plan["u"].max(), plan.params["N"])
plan.nonsense()
plan.nonsense = 1
stc.compile("heat.stn", Q=3)
stc.compile("heat.stn", T="a")
"""
WRONG = (5, 6, 7, 8)


def mypy(folder, *words):
    """What mypy or one of its tools says, with the package in `folder`."""
    env = {**os.environ, "PYTHONPATH": str(folder), "STC_LIBRARY": LIBRARY}
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, env=env, cwd=folder)
    return done.returncode, done.stdout + done.stderr


SOURCE, LIBRARY, KNOBS = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    shutil.copytree(SOURCE / "python/stc", folder / "stc")
    shutil.copy(KNOBS, folder / "stc")
    allowed = folder / "allowed"
    allowed.write_text((SOURCE / "packaging/stubtest.txt").read_text() + "stc.torch\nstc.jax\n")      # which import what may be absent
    status, said = mypy(folder, "mypy.stubtest", "stc", "--mypy-config-file", str(SOURCE / "pyproject.toml"), "--allowlist", str(allowed),
                        "--ignore-unused-allowlist")
    assert status == 0, said
    (folder / "script.py").write_text(SCRIPT)
    status, said = mypy(folder, "mypy", "--strict", "--config-file", str(SOURCE / "pyproject.toml"), "script.py")
    found = [line for line in said.splitlines() if ": error: " in line]
    assert tuple(int(line.split(":")[1]) for line in found) == WRONG, said
