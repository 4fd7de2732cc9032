"""wheel_test.py SOURCE LIBSTC.SO STANDIN: the wheel, made from a clean clone of the sources into a folder outside it, works in an empty virtual
environment in which no compiler and no library of LLVM is to be found, and passes the package's own tests. LIBSTC.SO is what the build made.
STANDIN is the folder of the stand-ins for GPUs' drivers. Needs PyPI for scikit-build-core, NumPy, pytest, JAX and others: without a network the test is
skipped (exit code 77)."""
import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def run(*words, **options):
    """Runs a program that must succeed; its output."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def environment(folder, *packages):
    """A virtual environment with these packages of PyPI; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin/python"
    done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], capture_output=True, text=True)
    if done.returncode and "No matching distribution" in done.stderr + done.stdout:
        print("skipped: PyPI is not to be reached")
        sys.exit(77)
    assert done.returncode == 0, done.stderr
    return python


def check_metadata(python):
    """What PyPI and type checkers look for."""
    run(python, "-c", "import importlib.metadata as m; d = m.metadata('stc-stencil'); assert d['Summary'] and d['License'] or "
        "d['License-Expression']; assert d['Requires-Python'] == '>=3.9'; import stc; assert stc.__version__ == d['Version']; "
        "import pathlib; assert pathlib.Path(stc.__file__).with_name('py.typed').exists()")


def check_files(wheel):
    """The sums in RECORD are right, and there are the licences of all that is inside the library, and the module's source."""
    with zipfile.ZipFile(wheel) as z:
        record = next(n for n in z.namelist() if n.endswith("/RECORD"))
        rows = dict(line.split(",", 1) for line in z.read(record).decode().split())
        assert set(rows) == set(z.namelist()), set(rows) ^ set(z.namelist())
        for name, row in rows.items():
            total, size = row.split(",")
            if name != record:
                data = z.read(name)
                assert total == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() and int(size) == len(data), name
        about = z.read(next(n for n in z.namelist() if n.endswith(".dist-info/WHEEL"))).decode()
        assert about.count("Tag: ") == 1 and "Tag: py3-none-manylinux_2_36_x86_64\n" in about, about
        licences = {n.split("/licenses/")[1]: z.read(n).decode() for n in z.namelist() if "/licenses/" in n}
        for name, words in (("LICENSE", "MIT"), ("Apache-2.0.txt", "Apache License"), ("llvm-22-dev.txt", "LLVM"), ("libhdf5-dev.txt", "HDF5"),
                            ("libpng-dev.txt", "libpng"), ("zlib1g-dev.txt", "Gailly"), ("libjansson-dev.txt", "Lehtinen"), ("libaec-dev.txt", "Rosenhauer"),
                            ("libzstd-dev.txt", "Facebook"), ("libstdc++6.txt", "Runtime Library Exception")):
            assert words.lower() in licences[name].lower(), name
        assert {"stc/mpi/stc-mpi.c", "stc/mpi/net.h"} <= set(rows)


def check_conda(maker, python, clone, wheel, work):
    """The conda package that the recipe makes of the wheel works where its files are, in place of the wheel's."""
    run(maker, Path(__file__).with_name("conda_build.py"), clone / "packaging/conda/recipe.yaml", work / "conda",
        env=dict(os.environ, STC_WHEEL=str(wheel)), cwd=work)
    files = work / "conda/files"
    assert '"stc = stc.__main__:main"' in (files / "info/link.json").read_text() and (files / "info/licenses/LICENSE").exists()
    program = "grid G = [0 .. 9], 3;\nfield A : f32 on G;\ninit a(A)[G] = 1;\nstencil s(A)[G] = A + 1;\n"
    told = run(python, "-c", f"import stc; r = stc.compile({program!r}).plan(device='host:1'); r(); print(stc.__file__, r['A'][9])",
               env=dict(PATH=f"{work}/user/bin", HOME=str(work), PYTHONPATH=str(files / "site-packages")), cwd=work)
    assert told == f"{files}/site-packages/stc/__init__.py 4.0\n", told


def main(source, library, standin):
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        clone = work / "clone"
        run("git", "clone", "-q", "--depth=1", f"file://{Path(source).resolve()}", clone)
        users = ThreadPoolExecutor(1).submit(environment, work / "user", "numpy", "pytest", "pillow", "ipython", "jax")
        maker = environment(work / "maker", "scikit-build-core", "py-rattler-build", "zstandard")
        wheel = Path(run(maker, clone / "python/make_wheel.py", work / "out", "--prebuilt", library).split()[-1])
        assert wheel.name.endswith("-py3-none-manylinux_2_36_x86_64.whl") and wheel.stat().st_size < 60e6, wheel
        assert run("git", "-C", clone, "status", "--porcelain", "--ignored") == "", "the build left something in the sources"
        check_files(wheel)
        python = users.result()
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", wheel)
        check_metadata(python)
        check_conda(maker, python, clone, wheel, work)
        bare = dict(PATH=f"{work}/user/bin", HOME=folder, STC_STANDIN_DIR=standin, PYTHONDONTWRITEBYTECODE="1")
        assert run(work / "user/bin/stc", "--version", env=bare).startswith("stc ")
        print(run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", clone / "python/tests", env=bare, cwd=folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
