"""overwrite.py STC: in a folder with p.stn, files of its bytes under names that outputs would get, and links to it: each command ends with
exit code 2 and an error that names the file and who reads or writes it, and all files of the folder are what they were."""
import pathlib
import subprocess
import sys

STC = sys.argv[1]
HERE = pathlib.Path(".")
PROGRAM, INCLUDED = "is the program, and", "is included by the program, and"
RUN = ["run", "-O0", "--quiet", "--no-tune-db"]
OUT = ["--out", "A=z.h5"]
# The words, and what the error says.
CASES = [
    (["-o", "p.stn", "p.stn"], "p.stn is the program, and -o would replace it"),
    (["-o", "./p.stn", "p.stn"], PROGRAM), (["-o", "sub/up/p.stn", "p.stn"], PROGRAM), (["-o", "link.o", "p.stn"], PROGRAM),
    (["-emit=sir", "-o", "p.stn", "p.stn"], PROGRAM), (["-emit=llvm", "-o", "hard.ll", "p.stn"], PROGRAM), (["-emit=so", "-o", "p.stn", "p.stn"], PROGRAM),
    (["-o", "p.ptx", "-march=nvptx", "p.json"], "p.json is the program, and the manifest beside the artifact would replace it"),
    (["-o", "p.o", "p.h"], "p.h is the program, and the header beside the artifact would replace it"),
    (["-o", "q.o", "-MF", "p.stn", "p.stn"], "and -MF would replace it"), (["-o", "p.o", "-MD", "p.d"], "p.d is the program, and -MD"),
    (["-o", "q.o", "-MF", "q.json", "p.stn"], "q.json is written twice, by the manifest beside the artifact and by -MF"),
    (["-o", "p.plan", "-plan", "p.plan", "p.stn"], "p.plan is the plan of -plan, and -o would replace it"),
    (["-o", "p.tune.o", "p.stn"], "p.tune.json is a database of schedules, and the manifest"),
    (["-emit=kir", "-o", "one.o", "-MF", "two.json", "p.stn"], "two.json is written twice, by -o and by -MF"),
    ([*RUN, "--checkpoint=p.stn", "p.stn"], PROGRAM), ([*RUN, "--log", "p.stn", "p.stn"], "and --log would replace it"),
    ([*RUN, "--log", "link.o", "p.stn"], PROGRAM), ([*RUN, "--checkpoint", "hard.ll", "p.stn"], PROGRAM),
    ([*RUN, *OUT, "--checkpoint=z.h5.part", "p.stn"], "z.h5.part is written twice, by an output and by --checkpoint"),
    ([*RUN, *OUT, "--log", "z.xmf", "p.stn"], "z.xmf is written twice, by an output and by --log"),
    ([*RUN, "--checkpoint=z", "--log", "sub/../z.part", "p.stn"], "z.part is written twice, by --checkpoint and by --log"),
    ([*RUN, "--log", "z.h5", "--checkpoint=z.h5.part", "p.stn"], "is written twice, by --checkpoint and by --log"),
    ([*RUN, "--in", "A=a.npy", "--log", "a.npy", "p.stn"], "a.npy is read by --in, and --log would replace it"),
    ([*RUN, "--in", "A=a.npy", "--checkpoint=a.npy", "p.stn"], "a.npy is read by --in, and --checkpoint would replace it"),
    ([*RUN, "--restart=c", "--log", "c", "p.stn"], "c is the checkpoint of --restart, and --log would replace it"),
    (["run", "-O0", "--db", "d", "--checkpoint=d", "p.stn"], "d is a database of schedules, and --checkpoint would replace it"),
    (["tune", "--device=host:1", "--log", "p.stn", "p.stn"], "and --log would replace it"), (["tune", "--device=host:1", "--plot", "p.stn", "p.stn"], "and --plot would"),
    (["tune", "--device=host:1", "--db", "p.stn", "p.stn"], "and the database of schedules would replace it"),
    (["tune", "--device=host:1", "--log", "l", "--plot", "l", "p.stn"], "l is written twice, by --log and by --plot"),
    (["explain", "--plot", "p.stn", "p.stn"], "and the drawing would replace it"), (["bench", "--device=host:1", "--tune=1", "--db", "b", "--json", "b"], "b is written twice"),
    # A file that the program includes is read, too.
    (["-o", "ops.stn", "with.stn"], "ops.stn is included by the program, and -o would replace it"), (["-emit=sir", "-o", "sub/../ops.stn", "with.stn"], INCLUDED),
    (["-o", "q.o", "-MF", "ops.stn", "with.stn"], "and -MF would replace it"), (["-o", "ops.o", "q.stn"], "ops.h is included by the program, and the header"),
    ([*RUN, "--log", "more.ll", "with.stn"], INCLUDED), ([*RUN, "--checkpoint=ops.stn", "with.stn"], INCLUDED), (["explain", "--no-ptxas", "--plot", "ops.svg", "drawn.stn"], INCLUDED),
    (["tune", "--device=host:1", "--log", "ops.stn", "with.stn"], INCLUDED),
]


def state():
    return {str(p): p.read_bytes() for p in sorted(HERE.rglob("*")) if p.is_file() and "up" not in p.parts}


before = state()
for words, error in CASES:
    done = subprocess.run([STC, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and error in done.stderr, (words, done)
    assert done.stderr.count("error: ") == 1 and state() == before, (words, done.stderr, state().keys() ^ before.keys())
