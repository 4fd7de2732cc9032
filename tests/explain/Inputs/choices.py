"""choices.py STC ROOT: does stc, left to choose, take the fastest family of schedules for every program, type and size of the table in ROOT/docs/performance.md that `stc bench` measured, or one within
5 % of it? A step that is cut into launches counts as overlapped. Names the rows where it does not; exit status 1 if there are any, or no rows."""
import os
import subprocess
import sys

stc, root = sys.argv[1:]
NEAR = 0.95


def rows():
    """Program, type, size and the speed of each family, from the table."""
    with open(os.path.join(root, "docs", "performance.md")) as f:
        section = f.read().split("### The families of schedules")[1].split("\n### ")[0]
    for line in section.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) > 6 and cells[1] in ("f32", "f64"):
            yield cells[0], cells[1], cells[2], {family: float(cell) for family, cell in zip(("naive", "overlap", "stream"), cells[3:6]) if cell}


def extents(size):
    """"512^3" as "512x512x512"; "2^28" is a number of points."""
    base, power = size.split("^")
    return str(2**28) if size == "2^28" else "x".join([base] * int(power))


def program(name):
    """The file of a program of the bench."""
    own = os.path.join(root, "driver", "bench", name + ".stn")
    return own if os.path.exists(own) else os.path.join(root, "examples", name + ".stn")


def choice(name, real, size):
    """The family that stc comes to."""
    command = [stc, "-march=nvptx", "-mcpu=sm_90", "--no-tune-db", "-freal=" + real, "-for-grid=" + extents(size), "-emit=manifest", program(name)]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    return text.split('"schedule": "')[1].split()[0]


bad, n = [], 0
for name, real, size, speed in rows():
    took, n = choice(name, real, size), n + 1
    if speed.get(took, 0) < NEAR * max(speed.values()):
        bad.append("%s %s %s: %s, %g of %g GPts/s" % (name, real, size, took, speed.get(took, 0), max(speed.values())))
print("\n".join(bad + ["%d rows, %d chosen badly" % (n, len(bad))]))
sys.exit(1 if bad or not n else 0)
