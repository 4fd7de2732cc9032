"""wheel_test.py SOURCE LIBSTC.SO STANDIN: the wheel, made of the source distribution, made from a clean clone of the sources into a folder outside it,
works in an environment in which no compiler and no library of LLVM is to be found, and passes the package's own tests. LIBSTC.SO is what the
build made. STANDIN is the folder of the stand-ins for GPUs' drivers. Run by the Python of the environment that tests/data/readers.py makes, whose
packages, NumPy and JAX among them, the wheel's environment sees, too. packaging/smoke.py tries a wheel with NumPy alone."""
import base64
import hashlib
import json
import os
import sys
import sysconfig
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

from commands import run


def environment(folder, wheel):
    """A virtual environment with the wheel, which sees the packages of this one; its Python."""
    venv.create(folder)
    python = folder / "bin/python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check", "--no-deps", wheel)
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def check_metadata(python):
    """What PyPI and type checkers look for."""
    run(python, "-c", "import importlib.metadata as m; d = m.metadata('stc-stencil'); assert d['Summary'] and d['License-Expression']; "
        "assert len(d.get_all('License-File')) > 9 and 'numpy>=1.20' in d.get_all('Requires-Dist'); assert d['Requires-Python'] == '>=3.9'; import stc; assert stc.__version__ == d['Version']; "
        "import pathlib; assert pathlib.Path(stc.__file__).with_name('py.typed').exists()")


def check_files(wheel):
    """The sums in RECORD are right, and there are the licences of all that is inside the library, and the module's source."""
    with zipfile.ZipFile(wheel) as z:
        record = next(n for n in z.namelist() if n.endswith("/RECORD"))
        rows = dict(line.split(",", 1) for line in z.read(record).decode().split())
        files = {name for name in z.namelist() if not name.endswith("/")}
        assert set(rows) == files, set(rows) ^ files
        for name, row in rows.items():
            total, size = row.split(",")
            if name != record:
                data = z.read(name)
                assert total == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() and int(size) == len(data), name
        about = z.read(next(n for n in z.namelist() if n.endswith(".dist-info/WHEEL"))).decode()
        assert about.count("Tag: ") == 1 and "Tag: py3-none-manylinux_2_34_x86_64\n" in about, about
        licences = {n.rsplit("/", 1)[1]: z.read(n) for n in files if "/licenses/" in n}
        assert b"MIT" in licences["LICENSE"] and b"Apache License" in licences["Apache-2.0.txt"] and b"GNU" in licences["GPL-3.txt"]
        assert b"Lesser General Public License" in licences["LGPL-2.1.txt"]
        assert b"Unicode, Inc." in licences["LLVM-parts.txt"]
        for name, package in (("LLVM", "llvm-22-dev"), ("LLVM", "libclc-22"), ("HDF5", "libhdf5-dev"), ("libpng", "libpng-dev"), ("zlib", "zlib1g-dev"),
                              ("jansson", "libjansson-dev"), ("libaec", "libaec-dev"), ("zstd", "libzstd-dev"), ("libstdc++", "libstdc++6"),
                              ("libmicrohttpd", "libmicrohttpd-dev")):
            theirs = Path(f"/usr/share/doc/{package}/copyright")
            assert f"{name}.txt" in licences and (not theirs.exists() or theirs.read_bytes() == licences[f"{name}.txt"]), f"{name}.txt is not {package}'s"
        assert {"stc/mpi/stc-mpi.c", "stc/mpi/net.h"} <= set(rows)
        sbom, = (name for name in files if ".dist-info/sboms/" in name)
        assert {"llvm", "zlib", "hdf5"} <= {part["name"] for part in json.loads(z.read(sbom))["components"]}


def check_dates(clone, wheel, source):
    """What the archives hold has the commit's date, so that another build of it has the same bytes."""
    date = int(run("git", "-C", clone, "log", "-1", "--format=%ct"))
    with zipfile.ZipFile(wheel) as z, tarfile.open(source) as t:
        assert {info.date_time for info in z.infolist()} == {time.gmtime(date - date % 2)[:6]}, {info.date_time for info in z.infolist()}
        assert {info.mtime for info in t} == {date}, {info.mtime for info in t}


def check_conda(python, clone, wheel, work):
    """The conda package that the recipe makes of the wheel works where its files are, in place of the wheel's."""
    run(sys.executable, Path(__file__).with_name("conda_build.py"), clone / "packaging/conda/recipe.yaml", work / "conda",
        env=dict(os.environ, STC_WHEEL=str(wheel)), cwd=work)
    files = work / "conda/files"
    assert '"stc = stc.__main__:main"' in (files / "info/link.json").read_text() and (files / "info/licenses/LICENSE").exists()
    assert list((files / "info/licenses").rglob("HDF5.txt")), "the package lacks the licences of what is inside"
    program = "grid G = [0 .. 9], 3;\nfield A : f32 on G;\ninit a(A)[G] = 1;\nstencil s(A)[G] = A + 1;\n"
    told = run(python, "-c", f"import stc; r = stc.compile({program!r}).plan(device='host:1'); r(); print(stc.__file__, r['A'][9])",
               env=dict(PATH=f"{work}/user/bin", HOME=str(work), PYTHONPATH=str(files / "site-packages")), cwd=work)
    assert told == f"{files}/site-packages/stc/__init__.py 4.0\n", told


def main(checkout, library, standin):
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        clone = work / "clone"
        run("git", "clone", "-q", "--depth=1", f"file://{Path(checkout).resolve()}", clone)
        source, wheel = map(Path, run(sys.executable, clone / "python/make_wheel.py", work / "out", "--prebuilt", library).split())
        assert wheel.name.endswith("-py3-none-manylinux_2_34_x86_64.whl") and wheel.stat().st_size < 60e6 and source.stat().st_size < 10e6, wheel
        assert run("git", "-C", clone, "status", "--porcelain", "--ignored") == "", "the build left something in the sources"
        check_files(wheel)
        check_dates(clone, wheel, source)
        python = environment(work / "user", wheel)
        check_metadata(python)
        assert ".symtab" not in run("readelf", "-S", next((work / "user").rglob("libstc.so.0.2"))), "the library is not stripped"
        check_conda(python, clone, wheel, work)
        bare = dict(PATH=f"{work}/user/bin", HOME=folder, STC_STANDIN_DIR=standin)
        assert run(work / "user/bin/stc", "--version", env=bare).startswith("stc ")
        print(run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", clone / "python/tests", env=bare, cwd=folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
