"""ranks.py STC [--mpirun=COMMAND] [--module=FILE] [--seed=N] [--programs=N] [--seconds=S] [--device=DEV] [--by=NAME] [--ranks=N]

Random programs (generate.py) on several processes: each is run by 2 to 6 of them, or as many as --ranks says, cut as chance has it, on ref, sim or host, or on DEV, by the transport
that is named or that stc chooses, and must give the files, the values of reductions and probes, and the exit code that one process gives on ref, byte for byte. What cannot be cut is
counted. A failure is printed with its commands, and its folder is kept.
"""
import collections
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time

from differential import base_options, declared, run_options
from generate import Generator

options = {"mpirun": "mpirun --oversubscribe", "module": "", "seed": 1, "programs": 20, "seconds": 0, "device": "", "by": "", "ranks": 0}
REFUSED = ("legal", "share a launch", "one time step a tile", "cannot be cut", "cannot yet be cut", "exchange after fewer steps", "are to work on", "kernel IR", "ends inside", "around a grid", "use -schedule=", "go one a launch", "take fewer time steps", "take a smaller -T", "the grid is in parts", "use -edges=apart")
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")


def outputs(case, name, seed):
    """The options for files that are to be the same, called after `name`: of all ranks, or for one seed in four of rank 0, every other step."""
    names = declared(case.tree)
    series = any(item.form.startswith(("reduce ", "until ", "probe ")) for item in case.tree.parts[0].items)
    ending = ".npy" if random.Random(seed * 3 + 1).random() < 0.75 else "_%d.vti"
    words = [word for field in case.outputs if field in names for word in ("--out", f"{field}={name}.{field}{ending}")]
    return words + (["--every=2"] if words and ending != ".npy" else []) + (["--log", f"{name}.csv"] if series else [])


def run(command, folder):
    """Runs it; exit code and what it said."""
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr + done.stdout


def files(folder, name):
    """The bytes of all files called after `name`."""
    found = {}
    for path in sorted(os.listdir(folder)):
        if path.startswith(name + "."):
            with open(os.path.join(folder, path), "rb") as file:
                found[path[len(name):]] = file.read()
    return found


def try_program(stc, seed):
    """One program: "ok", "refused", or what went wrong."""
    r = random.Random(seed)
    case = Generator(seed).case(options["device"] or None, 1.0)
    cut = [words for words in case.runs if any(word.startswith("--split=") for word in words)]
    words = list(run_options(case, r.choice(cut))) if cut else ["--device=ref"]
    parts = 1
    for word in words:
        for n in word[8:].split("/")[0].split("x") if word.startswith("--split=") else []:
            parts *= int(n)
    ranks = options["ranks"] or r.randint(2, max(2, min(6, parts)))
    if parts < ranks:
        words = [word for word in words if not word.startswith("--split=")] + (["--split="] if options["by"] else [])
    if options["by"]:
        words = [f"{word}:{options['by']}" if word.startswith("--split=") else word for word in words]
    folder = tempfile.mkdtemp(prefix=f"ranks{seed}-")
    with open(os.path.join(folder, "p.stn"), "w") as file:
        file.write(case.tree.text())
    shared = [stc, "run", "--quiet", "-fno-contract", "p.stn"] + base_options(case)
    one = shared + ["--device=ref"] + outputs(case, "one", seed)
    many = shlex.split(options["mpirun"]) + ["-n", str(ranks)] + shared + words + outputs(case, "many", seed)
    if options["module"]:
        many += [f"--mpi={options['module']}"]
    want, told = run(one, folder)
    got, said = run(many, folder)
    wrong = None
    if got and any(text in said for text in REFUSED):
        wrong = "refused"
    elif want != got:
        wrong = f"exit code {got}, not {want}: {said[:2000]}\n{told[:500]}"
    elif files(folder, "one") != files(folder, "many"):
        wrong = "files differ"
    if wrong in (None, "refused"):
        subprocess.run(["rm", "-rf", folder], check=True)
        return wrong or "ok"
    print(f"FAIL seed {seed} in {folder}: {wrong}\n{shlex.join(one)}\n{shlex.join(many)}", flush=True)
    return "failed"


def main():
    stc = os.path.abspath(sys.argv[1])
    for word in sys.argv[2:]:
        name, value = word[2:].split("=", 1)
        options[name] = type(options[name])(value)
    end = time.time() + options["seconds"] if options["seconds"] else None
    count = collections.Counter()
    for seed in range(options["seed"], options["seed"] + options["programs"]):
        if end is None or time.time() < end:
            count[try_program(stc, seed)] += 1
    print(", ".join(f"{n} {what}" for what, n in sorted(count.items())))
    sys.exit(count["failed"] > 0 or not count["ok"])


if __name__ == "__main__":
    main()
