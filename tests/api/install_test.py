"""install_test.py BUILD SOURCE CMAKE: what is installed is enough for a project that knows of stc by find_package, by pkg-config or by hand.
The tree is moved after it was installed: nothing in it may name the place where it was built or installed first."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commands import run

PROJECT = Path(__file__).resolve().parent / "project"


def check_find_package(cmake, prefix, work):
    build = work / "cmake build"
    run(cmake, "-G", "Ninja", "-S", work / "project", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", build)
    heat = work / "project/heat.stn"
    for name in "heat", "baseline":
        assert run(build / f"artifact-{name}") == "right\n"
    assert '"cpu": "x86-64-v2"' in (build / "baseline/heat.json").read_text()
    for name in "shared", "static":
        assert run(build / name, heat) == "right\n", name
    artifacts = (build / "artifacts.txt").read_text().split(";")
    assert [Path(a).name for a in artifacts] == ["heat.o", "heat-sm_90.ptx", "heat.json", "heat-sm_90.json"], artifacts
    assert ".target sm_90" in Path(artifacts[1]).read_text()
    before = [Path(a).stat().st_mtime_ns for a in artifacts]
    assert "no work to do" in run(cmake, "--build", build), "a second build makes things again"
    time.sleep(0.01)
    heat.write_text(heat.read_text().replace("0.2", "0.1 + 0.1"))
    run(cmake, "--build", build)
    assert all(Path(a).stat().st_mtime_ns > b for a, b in zip(artifacts, before)), "not made again"
    wrong, text = work / "project/CMakeLists.txt", (work / "project/CMakeLists.txt").read_text()
    for before, after, message in (("ARCH host", "ARCH vax", "ARCH vax: expected host, a CPU such"), ("ARCH host", "ARCH host x86-64", "host and x86-64 are both CPUs"),
                                   ("VERSION 3.22", "VERSION 3.19", "needs files that are seen in all folders")):
        wrong.write_text(text.replace(before, after))
        done = subprocess.run([cmake, "-S", work / "project", "-B", build], capture_output=True, text=True)
        assert done.returncode and message in " ".join(done.stderr.split()), done.stderr


def check_absolute_folders(cmake, source, work):
    """Folders that distributions give absolutely: within the prefix they may be moved with it."""
    script = work / "pc.cmake"
    script.write_text(f"include({source}/driver/shared/pc.cmake)\nset(PROJECT_VERSION 1)\nconfigure_file({source}/driver/shared/stc.pc.in {work}/stc.pc @ONLY)\n")
    for lib, include, expected in (("/opt/stc/lib64", "include", "-I{up}/include -L{up}/lib64 -lstc"), ("/lib64", "/include", "-I/include -L/lib64 -lstc")):
        run(cmake, "-DCMAKE_INSTALL_PREFIX=/opt/stc", f"-DCMAKE_INSTALL_LIBDIR={lib}", f"-DCMAKE_INSTALL_INCLUDEDIR={include}", "-P", script)
        told = run("pkg-config", "--cflags", "--libs", work / "stc.pc", env=dict(os.environ, PKG_CONFIG_ALLOW_SYSTEM_CFLAGS="1", PKG_CONFIG_ALLOW_SYSTEM_LIBS="1"))
        assert " ".join(told.split()) == expected.format(up=f"{work}/../.."), told


def check_pkg_config(prefix, work):
    environment = dict(os.environ, PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig:{prefix}/lib/x86_64-linux-gnu/pkgconfig")
    for package, needs in ("stc", "libstc.so.0.2"), ("stc-static", "libLLVM"):
        words = run("pkg-config", "--cflags", "--libs", package, env=environment).split()
        program = work / package
        run("cc", PROJECT / "library.c", *words, "-o", program)
        paths = dict(os.environ, LD_LIBRARY_PATH=next(str(p.parent) for p in prefix.rglob("libstc.so")))
        assert needs in run("readelf", "-d", program), package
        assert run(program, PROJECT / "heat.stn", env=paths) == "right\n", package


def check_documents(prefix):
    """Licences, the list of what is inside, and pages whose links all lead to what is there."""
    doc = prefix / "share/doc/stc"
    assert {"LICENSE", "sbom.cdx.json", "licenses", "README.md", "docs", "examples"} <= {path.name for path in doc.iterdir()}
    parts = {part["name"]: part["version"] for part in json.loads((doc / "sbom.cdx.json").read_text())["components"]}
    assert parts["llvm"].startswith("22.") and all(parts.values()) and {"zlib", "zstd", "libpng", "hdf5", "jansson"} <= set(parts), parts
    dead = [(page, link) for page in doc.rglob("*.md") for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
            if not (page.parent / link).exists()]
    assert not dead, dead


def check_habits(prefix):
    """The manual page and the completion of bash, where man and bash look for them."""
    assert ".TH STC 1" in (prefix / "share/man/man1/stc.1").read_text()
    assert "complete -F _stc stc" in (prefix / "share/bash-completion/completions/stc").read_text()
    assert (prefix / "share/zsh/site-functions/_stc").exists() and (prefix / "share/fish/vendor_completions.d/stc.fish").exists()


def check_depfile(prefix, work):
    """Rules for make: of what is read alone, where the user has no database of schedules."""
    stc = prefix / "bin/stc"
    alone = dict(os.environ, XDG_CACHE_HOME=str(work / "none"))
    source = work / "a b.stn"
    source.write_text((PROJECT / "heat.stn").read_text())
    run(stc, "-MD", "-march=nvptx", "-o", work / "x.ptx", source, env=alone)
    assert (work / "x.d").read_text() == f"{work}/x.ptx {work}/x.json: \\\n  {work}/a\\ b.stn\n", (work / "x.d").read_text()
    run(stc, "-MF", work / "y.rule", "-emit=sir", "-o", work / "y.sir", source)
    assert (work / "y.rule").read_text().startswith(f"{work}/y.sir: \\\n")
    done = subprocess.run([stc, "-MD", "-emit=sir", source], capture_output=True, text=True)
    assert done.returncode == 2 and "use -o FILE" in done.stderr
    done = subprocess.run([stc, "-MF", work / "z.o", "-o", work / "z.o", source], capture_output=True, text=True)
    assert done.returncode == 2 and "give each a file of its own" in done.stderr
    database = work / "db.json"
    database.write_text('{"schema": "stc-tune", "schema_version": 1, "entries": []}')
    done = subprocess.run([stc, "-MD", "-emit=sir", "-o", work / "w.sir", "--db", database, source], capture_output=True, text=True)
    if done.returncode == 0:
        assert str(database) in (work / "w.d").read_text()


def main(build, source, cmake):
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run(cmake, "--install", build, "--prefix", work / "first", "--strip")
        prefix = (work / "first").rename(work / "moved")
        run("cp", "-r", PROJECT, work / "project")
        check_habits(prefix)
        check_documents(prefix)
        check_pkg_config(prefix, work)
        check_depfile(prefix, work)
        # By a link to where it is, as /lib leads to /usr/lib.
        (work / "root").mkdir()
        (work / "root/lib").symlink_to(prefix / "lib")
        check_find_package(cmake, work / "root", work)
        check_absolute_folders(cmake, source, work)
        for text in list(prefix.rglob("*.pc")) + list(prefix.rglob("*.cmake")):
            assert str(source) not in text.read_text() and "first" not in text.read_text(), text


if __name__ == "__main__":
    main(*sys.argv[1:])
