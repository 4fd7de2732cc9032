"""choices.py STC ROOT: does stc, left to choose, take the fastest family of schedules for every program, type and size that
ROOT/docs/data/large.json has measured, or one within 5 % of it? A step that is cut into launches counts as overlapped. Names the rows
where it does not; exit status 1 if there are any, or no rows. The planner was fitted to these rows, so this is no test of how well it
chooses: it shows what a change of the planner loses of what was known (docs/retune.md)."""
import json
import os
import subprocess
import sys

stc, root = sys.argv[1:]
NEAR = 0.95


def rows():
    """Program, type, size and the speed of each family."""
    with open(os.path.join(root, "docs", "data", "large.json")) as f:
        measured = json.load(f)["rows"]
    speeds = {}
    for row in measured:
        if "gpts" in row:
            speeds.setdefault((row["program"], row["type"], row["size"]), {})[row["family"]] = row["gpts"]
    for (name, real, size), speed in speeds.items():
        yield name, real, size, speed


def program(name):
    """The file of a program of the bench."""
    own = os.path.join(root, "driver", "bench", name + ".stn")
    return own if os.path.exists(own) else os.path.join(root, "examples", name + ".stn")


def choice(name, real, size):
    """The family that stc comes to."""
    command = [stc, "-march=nvptx", "-mcpu=sm_90a", "--no-tune-db", "-freal=" + real, "-for-grid=" + size, "-emit=manifest", program(name)]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    return text.split('"schedule": "')[1].split()[0]


bad, n = [], 0
for name, real, size, speed in rows():
    took, n = choice(name, real, size), n + 1
    if speed.get(took, 0) < NEAR * max(speed.values()):
        bad.append("%s %s %s: %s, %g of %g GPts/s" % (name, real, size, took, speed.get(took, 0), max(speed.values())))
print("\n".join(bad + ["%d rows, %d chosen badly" % (n, len(bad))]))
sys.exit(1 if bad or not n else 0)
