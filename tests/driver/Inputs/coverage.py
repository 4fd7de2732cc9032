"""coverage.py FOLDER MANIFEST STC PROGRAM: the standard input is what coverage.c prints; says whether the manifest's checks, as launch.py makes them, and runs of
some of these params agree with it."""
import json
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
import launch  # noqa: E402

manifest, stc, program = json.load(open(sys.argv[2])), sys.argv[3], sys.argv[4]
cases = [line.rstrip("\n").split(" ", 3) for line in sys.stdin]
for n, k, r, why in cases:
    try:
        launch.bind(manifest, {"N": n, "K": k, "R": r})
        says = "fits"
    except AssertionError as e:
        says = str(e)
    assert says == why, (n, k, r, says, why)
temp = [c for c in cases if "temp field" in c[3]]
print(len(cases), "params,", sum(c[3] == "fits" for c in cases), "fit,", len(temp), "fail because of a temp field, all as the manifest says")
some = temp[:: len(temp) // 10][:10] + [c for c in cases if c[3] == "fits"][::9]
for n, k, r, why in some:
    p = subprocess.run([stc, "run", "--device=ref", "--quiet", f"-DN={n}", f"-DK={k}", f"-DR={r}", program], capture_output=True, text=True)
    assert (p.returncode == 0) == (why == "fits") and (why == "fits" or why in p.stderr), (n, k, r, why, p.stderr)
print(len(some), "of them run: as the header says")
