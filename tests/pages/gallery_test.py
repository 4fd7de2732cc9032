"""gallery_test.py STC: the gallery's page is what its script writes, with a picture of modest size for each example; and the programs of
examples/sciences, on small grids, give what the reference gives and what their sciences say: what must stay stays, exact answers come out."""
import array
import csv
import importlib.util
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def stays(name, first, last, off):
    """`name` of the log is what it was, but for rounding."""
    assert abs(last[name] - first[name]) <= off * abs(first[name]), (name, first, last)


def near(value, wanted, off):
    assert abs(value - wanted) <= off, (value, wanted)


# Of each program: options of stc run, and what is asked of the first and the last row of its log.
CHECKS = {
    # beside what they are in between: 10 and 0.36; tests/absorb/reflection.test says what comes back
    "absorbed_shot": ("-DN=60 -DM=80 -Dsx=40 -Ddeep=15 --steps=1000", lambda a, b: near(b["loudest"], 0, 0.1)),
    "half_space": ("-DN=60 -DM=80 -Dsx=40 -Ddeep=15 -Dfrequency=40 --steps=600", lambda a, b: near(b["fastest"], 0, 1e-3)),
    # both members' fronts at 2 sqrt(r) t - 3 / (2 sqrt(r)) log t, by Bramson
    "advance": ("-Dnm=2 -Dslow=0.1 -DM=220 --steps=500", lambda a, b: (near(b["all[0]"] - 20, 101.4, 1), near(b["coast[0]"] == b["coast[1]"], True, 0))),
    "blast": ("-DN=100 -DM=160 --steps=60", lambda a, b: (stays("mass", a, b, 1e-5), stays("energy", a, b, 1e-5))),
    # Gardner's saturation above ground water; all rain is in the ground or has gone below
    "capillary_barrier": ("-freal=f64 -Dcolumn=true -DN=30 -DM=4 -Ddt=20 -Drain=3e-6 --steps=8000",
                          lambda a, b: (near(b["off"], 0, 0.0015), near(b["water"] + b["gone"] - a["water"], 8000 * 20 * 3e-6 * 4, 1e-9))),
    # as many cycles as on any grid
    "capacitor": ("-DN=32 -O0", lambda a, b: (near(b["cycle.rounds"], 8, 0), near(b["cycle.ended"], 1, 0), near(b["highest"], 0.07403, 1e-4))),
    # of first order in the distance of the points, and without new extremes
    "cold_front": ("-freal=f64 -DN=81 -Dh=0.1 -Ddt=0.18 --steps=20",
                   lambda a, b: (near(b["off"], 0.0101, 0.0002), near(b["warmest"] <= a["warmest"] and b["coldest"] >= a["coldest"], True, 0))),
    "epidemic": ("-DN=40 -DM=60 --steps=400", lambda a, b: (stays("people", a, b, 1e-5), near(b["ill"] / b["people"], 0, 0.5))),
    "ice_sheet": ("--steps=500", lambda a, b: (stays("volume", a, b, 1e-5), near(b["off"], 0, 3))),
    # Onsager's energy of a spin at T = 2, within three standard errors of a field of 64 by 64
    "ising": ("-DN=64 -DM=64 -Dordered=1 --steps=200", lambda a, b: (near(a["energy"], -2 * 64 * 64, 0), near(b["energy"] / (64 * 64), -1.7456, 0.06))),
    "lake": ("-DN=40 -DM=60 -Dsquare=true --steps=300", lambda a, b: (stays("volume", a, b, 1e-6), near(b["off"], 0, 0.003))),
    # half a period of sound at 1 / sqrt(2), which fades with half the viscosity at d = 0.2, 0.689, within four standard errors
    "lattice_gas": ("-Dplane=true -DN=32 -DM=128 --steps=90", lambda a, b: (near(b["particles_of_all"], a["particles_of_all"], 0), near(b["wave"] / a["wave"], -0.928, 0.02))),
    # the strongest flow against the lid's on the line through the centre, by Ghia, Ghia and Shin
    "lid_cavity": ("-freal=f64 -DN=32 --steps=4000", lambda a, b: (near(b["back"], -0.2109, 0.0025), near(b["lost"], 0, 1e-6), near(b["pressure.ended"], 1, 0))),
    "life": ("-DN=32 -DM=32 --steps=8 --in alive=GLIDER", lambda a, b: near(b["cells"], 5, 0)),
    # all of it leaks in the first step, and its centre moves as the wind does, which is the same everywhere
    "oil_spill": ("-DN=50 -DM=60 -Dspread=10 -Dleak=1 -freal=f64 --steps=540 --in wind=GUSTS",
                  lambda a, b: (near(b["amount"], 1, 1e-7), near(b["across"], drifted(540)[0], 1e-6), near(b["down"], drifted(540)[1], 1e-6))),
    "option_price": ("-freal=f64", lambda a, b: near(b["price"], 14.2313, 0.005)),
    "predators": ("-DN=16 -DM=16 -Dslope=0 --steps=50", None),
    "sandpile": ("-DN=33 -DM=33 -Dgrains0=1000", lambda a, b: near(b["grains"], 1000, 0)),
    "schroedinger": ("-DN=60 -DM=80 -Dwidth=8 --steps=100", lambda a, b: stays("total", a, b, 1e-3)),
    "ocean_mixing": ("-DK=12 -DN=20 -DM=30 --steps=100", lambda a, b: (stays("heat", a, b, 1e-12), near(b["warmest"] < a["warmest"], True, 0))),
    "shallow_water": ("-DN=40 -DM=60 --steps=200", lambda a, b: stays("volume", a, b, 1e-3)),
    "heart": ("-freal=f64 -Dstrip=true -Drest=0 -DN=20 -DM=120 --steps=1200",
              lambda a, b: (near((b["excited"] - a["excited"]) / (12 * 1200 * 0.05), 1.1314, 0.01), near(b["leaked"], 0, 0))),
    "snowflake": ("-DN=60 -DM=60 --steps=100", lambda a, b: (stays("heat", a, b, 1e-4), near(b["ice"] > a["ice"], True, 0))),
    "sphere": ("", lambda a, b: (stays("heat", a, b, 1e-5), near(b["off"], 0, 0.004), near(b["most"], 1.38, 0.01))),
    "spiral_waves": ("-DN=40 -DM=40 --steps=100", None),
    # a tide that stands in a channel with a closed end
    "tides": ("-freal=f64 -Dchannel=true -DN=12 --steps=900", lambda a, b: (near(b["off"], 0, 2e-4), near(b["highest"] > 0.2, True, 0))),
    "tunnel": ("-DN=40 -DM=160 --steps=300", lambda a, b: (stays("total", a, b, 1e-4), near(b["through"] > a["through"], True, 0))),
    # the parabola between two plates
    "vortex_street": ("-freal=f64 -Dchannel=true -DN=24 -DM=8 -Dnu=0.1 --steps=600", lambda a, b: near(b["off"], 0, 0.0025)),
    # the integral of Rayleigh and Sommerfeld, by tests/examples/zone_plate.py
    "zone_plate": ("-Dfar=100 -Dzones=5 -DN=151 -DM=261", lambda a, b: near(b["focus"], 3.272, 0.03)),
}
# The wind of three frames of 180 steps, each the same at all points, eastwards and northwards.
GUSTS = [(6.0, 1.0), (-2.0, 8.0), (5.0, 4.0)]


def drifted(steps):
    """How far a spill of the first step has drifted behind so many, in cells east and south: the sum over steps of the wind between two frames, turned."""
    east = south = 0.0
    for s in range(1, steps):
        now, then = GUSTS[s // 180], GUSTS[min(s // 180 + 1, len(GUSTS) - 1)]
        u, v = (a + s % 180 / 180 * (b - a) for a, b in zip(now, then))
        east += 0.03 * 60 / 500 * (0.9659258 * u + 0.2588190 * v)
        south += 0.03 * 60 / 500 * (0.2588190 * u - 0.9659258 * v)
    return east, south


SLOW_ON_REFERENCE = {"absorbed_shot", "capillary_barrier", "half_space", "option_price", "ice_sheet", "lid_cavity", "sandpile", "zone_plate"}    # the reference takes a few steps of these only
FIELDS = {"life": "alive", "predators": "lynx"}


def write_glider(path):
    """A glider of the game of life on 32 by 32 points, for .npy."""
    sys.path.insert(0, str(SOURCE / "packaging/site"))
    import gallery
    cells = array.array("B", bytes(32 * 32))
    for y, x in (0, 1), (1, 2), (2, 0), (2, 1), (2, 2):
        cells[32 * (y + 8) + x + 8] = 1
    gallery.write_npy(path, "|u1", (32, 32), cells)
    return cells


def run(stc, work, name):
    """Runs a program and checks its log, and beside it the reference."""
    options, check = CHECKS[name]
    words = options.replace("GLIDER", str(work / "glider.npy")).replace("GUSTS", str(work / "gusts.npy")).split()
    path, log = SOURCE / f"examples/sciences/{name}.stn", work / f"{name}.csv"
    command = [stc, "run", "--quiet", "--no-tune-db", "-schedule=naive", *words, *(["--log", str(log)] if check else []),
               *([] if name in SLOW_ON_REFERENCE else ["--check=1e-3"])]
    if name in FIELDS:
        command += ["--out", f"{FIELDS[name]}={work / name}.npy"]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, f"{name}: {done.stderr}{done.stdout}"
    if name in SLOW_ON_REFERENCE:
        subprocess.run([stc, "run", "--quiet", "--no-tune-db", "-schedule=naive", *[w for w in words if "steps" not in w], "--steps=3", "--check=1e-3", str(path)], check=True)
    if check:
        rows = [{k: float(v or "nan") for k, v in row.items()} for row in csv.DictReader(log.open())]
        check(rows[0], rows[-1])


def main(stc):
    spec = importlib.util.spec_from_file_location("gallery", SOURCE / "packaging/site/gallery.py")
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    gallery.check(SOURCE / "docs/pictures/gallery")
    assert gallery.page() == (SOURCE / "docs/gallery.md").read_text(), "docs/gallery.md: packaging/site/gallery.py STC --text writes it anew"
    for name in gallery.PICTURES:       # what runs from Python is what the command runs
        command, python = gallery.command(name), gallery.twin(name)
        assert re.findall(r"-D(\w+=\S+)", command) == re.findall(r"(\w+=[^,)]+)", python.split(".plan(")[1].split(")")[0])[1:], f"{name}: {python}"
        steps = re.search(r"--steps=(\d+)", command)
        assert sum(int(n or 0) * int(k or 1) for k, n in re.findall(r"(?:range\((\d+)\):\s+)?\brun\((\d*)\)", python)) == int(steps[1] if steps else 0), f"{name}: {python}"
    assert {p.stem for p in (SOURCE / "examples/sciences").glob("*.stn")} == set(CHECKS)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        work = Path(folder)
        cells = write_glider(work / "glider.npy")
        gallery.write_npy(work / "gusts.npy", "<f8", (3, 1, 60, 2), array.array("d", [v for frame in GUSTS for v in frame * 60]))
        list(pool.map(lambda name: run(stc, work, name), CHECKS))
        # A glider is where it was after four generations, one point further down and right.
        after = (work / "life.npy").read_bytes()[-1024:]
        assert all(after[32 * y + x] == cells[32 * (y - 2) + x - 2] for y in range(2, 32) for x in range(2, 32))
        lynx = gallery.read_npy(work / "predators.npy")
        assert max(abs(v - 0.473469) for v in lynx) < 1e-4, lynx[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
