"""deb_test.py BUILD SOURCE CPACK: the Debian package, made from a build that has libstc.so: lintian finds nothing that is not overridden; its
Installed-Size is what its files take; it has the documentation, and the source of the module for several processes; unpacked
beside the files of the packages that it depends on (libc6) and nothing else, it compiles and runs programs there, in a chroot where this user
may have one, and writes what it should."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commands import run

HEAT = """param N = 64;
grid  G = [0 .. N-1, 0 .. N-1], 20;
field A : f32 on G;
init a(A)[G] = f32(idx(0));
stencil relax(A)[1 .. N-2, 1 .. N-2] = 0.25 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1]);
"""


def bare_root(deb, root):
    """A folder with the package and with the libraries of libc6, as its Depends says."""
    assert run("dpkg-deb", "-f", deb, "Depends") == "libc6 (>= 2.34)\n"
    for file in run("dpkg", "-L", "libc6").splitlines():
        path = Path(file)
        if ".so" in path.name and path.is_file():
            to = root / file.lstrip("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
    if Path("/lib").is_symlink():
        for name in "lib", "lib64":
            if (root / name).exists():
                shutil.copytree(root / name, root / "usr" / name, dirs_exist_ok=True)
                shutil.rmtree(root / name)
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(f"usr/{name}")
    run("dpkg-deb", "-x", deb, root)
    (root / "tmp").mkdir()
    (root / "tmp/heat.stn").write_text(HEAT)


def check_files(deb, root):
    """Sizes, links of the documentation, and the module for several processes."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    size, told = sum(path.stat().st_size for path in files) / 1024, int(run("dpkg-deb", "-f", deb, "Installed-Size"))
    assert size <= told < size + 1024, (size, told)
    docs = root / "usr/share/doc/stc"
    linked = {page.parent / name for page in docs.rglob("*.md") for name in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())}
    assert len(linked) > 100 and all(path.exists() for path in linked), [path for path in linked if not path.exists()]
    assert (docs / "README.md").exists() and (docs / "examples/gray_scott.stn").exists() and (docs / "sbom.cdx.json").exists()
    patterns = re.findall(r"^Files: (.*)", (docs / "copyright").read_text(), re.M)
    assert len(patterns) > 1 and all(any(root.glob(pattern)) for pattern in patterns), patterns
    if shutil.which("mpicc"):
        run("mpicc", "-std=c11", "-shared", "-fPIC", "-o", root / "stc-mpi.so", root / "usr/share/stc/stc-mpi.c")


def check_dates(deb, source):
    """Both archives have the commit's date, so that another build of it has the same bytes."""
    date = int(run("git", "-C", source, "log", "-1", "--format=%ct"))
    told = {line.split()[3] + " " + line.split()[4][:5] for part in ("--ctrl-tarfile", "--fsys-tarfile")
            for line in run("sh", "-c", f"dpkg-deb {part} {deb} | TZ=UTC tar -tv").splitlines()}
    assert told == {time.strftime("%Y-%m-%d %H:%M", time.gmtime(date))}, told


def inside(root):
    """The words that begin a command in there."""
    enter = ["chroot", root] if os.geteuid() == 0 else ["unshare", "-r", "chroot", root]
    run(*enter, "/usr/bin/stc", "--version")
    return enter


def check_runs(root, version):
    stc = [*inside(root), "/usr/bin/stc"]
    bare = dict(PATH="/usr/sbin:/usr/bin", HOME="/tmp")
    assert run(*stc, "--version", env=bare).startswith(f"stc {version} (LLVM 22.")
    run(*stc, "run", "--quiet", "--check=1e-5", "--out", "A=/tmp/a.npy", "--png", "A=/tmp/a.png", "/tmp/heat.stn", env=bare)
    assert (root / "tmp/a.npy").stat().st_size == 128 + 4 * 64 * 64 and (root / "tmp/a.png").exists()
    run(*stc, "-march=nvptx", "-mcpu=sm_90", "-o", "/tmp/heat.ptx", "/tmp/heat.stn", env=bare)
    assert ".target sm_90" in (root / "tmp/heat.ptx").read_text()
    run(*stc, "-o", "/tmp/host.o", "/tmp/heat.stn", env=bare)
    assert "complete -F _stc stc" in (root / "usr/share/bash-completion/completions/stc").read_text()


def main(build, source, cpack):
    version = next(line.split()[2] for line in (Path(source) / "CMakeLists.txt").read_text().splitlines() if line.startswith("project(stc"))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run(cpack, "-G", "DEB", "--config", Path(build) / "CPackConfig.cmake", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", "-B", work / "out")
        deb, = (work / "out").glob("*.deb")
        assert deb.name == f"stc_{version}_amd64.deb", deb
        told = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", "--suppress-tags", "uses-no-compression-for-data-tarball", deb], capture_output=True, text=True)
        assert told.returncode == 0 and not told.stdout, told.stdout + told.stderr
        (work / "files").mkdir()
        run("dpkg-deb", "-x", deb, work / "files")
        check_files(deb, work / "files")
        check_dates(deb, source)
        (work / "root").mkdir()
        bare_root(deb, work / "root")
        check_runs(work / "root", version)


if __name__ == "__main__":
    main(*sys.argv[1:])
