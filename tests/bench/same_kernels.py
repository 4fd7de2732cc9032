"""same_kernels.py STC-A STC-B [--jobs=N] [--only=TEXT]: do two builds of stc make the same kernels?

Compiles the examples and the bench's programs with both, in f32 and f64, for large and small grids and for three targets, and compares the
assembly and the manifest (which holds the schedule). For changes that are to leave the kernels alone: what this finds equal needs no GPU
to be known as fast and as right as before. Prints each case that differs, and the number of all; exits with 1 if any does.
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
TARGETS = [("nvptx", "sm_90"), ("nvptx", "sm_80"), ("amdgpu", "gfx90a"), ("host", "x86-64-v3")]
GRIDS = {1: ["1000000"], 2: ["512x512", "2048x2048"], 3: ["128x128x128", "512x512x512"]}


def rank_of(text):
    """The rank of a program: the commas within its grid's brackets, and one."""
    return text[text.index("["):text.index("]")].count(",") + 1


def cases():
    """(file, target, cpu, options) of every case."""
    for path in sorted([*TOP.glob("examples/*.stn"), *TOP.glob("driver/bench/*.stn")]):
        text = path.read_text()
        grid = text[text.index("\ngrid") if "\ngrid" in text else 0:]
        for target, cpu in TARGETS:
            for real in ["f32", "f64"]:
                sizes = [None] + (GRIDS[rank_of(grid)] if (target, cpu) == ("nvptx", "sm_90") else [])
                for size in sizes:
                    yield path, target, cpu, [f"-freal={real}"] + ([f"-for-grid={size}"] if size else [])


def plain_names(program, text):
    """The text with the names of inits and reductions as older builds gave them, without the program's name in front."""
    return text.replace(f"{program}_init_", "init_").replace(f"{program}_reduce_", "reduce_")


def outcome(stc, path, target, cpu, options):
    """What a build makes of a case: assembly and manifest, or its message."""
    done = subprocess.run([stc, f"-march={target}", f"-mcpu={cpu}", *options, "-emit=asm", "-o", "-", path], capture_output=True, text=True)
    manifest = subprocess.run([stc, f"-march={target}", f"-mcpu={cpu}", *options, "-emit=manifest", "-o", "-", path], capture_output=True,
                              text=True)
    return done.returncode, plain_names(path.stem, done.stdout), plain_names(path.stem, manifest.stdout)


def differs(arguments):
    """The case's name if the two builds differ in it, else None."""
    a, b, case = arguments
    one, two = outcome(a, *case), outcome(b, *case)
    if one == two:
        return None
    what = "code" if one[:2] != two[:2] else "manifest"
    return f"{case[0].stem} {case[1]} {case[2]} {' '.join(case[3])}: {what}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("a")
    p.add_argument("b")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--only", default="", help="cases whose file, target or options hold this text")
    o = p.parse_args()
    todo = [c for c in cases() if o.only in f"{c[0].stem} {c[1]} {c[2]} {' '.join(c[3])}"]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for name in pool.map(differs, [(o.a, o.b, c) for c in todo]):
            if name:
                print(name, flush=True)
                bad += 1
    print(f"{len(todo)} cases, {bad} differ")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
