"""gallery.py STC [--only=A,B] [--text]: draws a picture or a film of every example of examples/ and examples/sciences/ into docs/pictures/gallery, by
running it on this CPU, which takes some minutes, and writes docs/gallery.md, which shows them. --only: these examples alone; --text: no
pictures, only the page.

gallery.py STC --speeds [--only=A,B]: measures how many points of each example one core computes in a second, into docs/data/gallery.json,
and writes the page anew.

gallery.py --inputs: writes the arrays that some examples are given, drawn.npy and others, into this folder.

Programs that start from noise are given a drawing; those of one dimension are drawn as rows, a step below the other. Needs Python alone.
"""
import argparse
import array
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
DRAWN = "drawn.npy"
# For each example: its science; what is drawn, the option of stc run that draws it being --png, or `film` with the steps from one picture to the
# next; options of stc run; "rows" for programs of one dimension.
PICTURES = {
    "acoustic_wave": ("acoustics", "p", "-DN=301 -DM=401 --steps=450 --colors=bluered --limits=-4,4 --in source=EXAMPLES/inputs/ricker.npy"),
    "allen_cahn": ("phase separation", "u", "-DN=256 -DM=256 --steps=1000"),
    "anisotropic_diffusion": ("electron tomography", "u", "-DN=24 -DM=48 -DL=48 --steps=2 --slice=0:12 --colors=hot"),
    "borders": ("heat engineering", "A", "-DN=160 -DM=240 --steps=300 --in A=DRAWN --colors=hot"),
    "dam_break": ("hydraulics", "h", "-DN=120 -DM=300 --steps=160"),
    "fdtd2d": ("electromagnetics", "Hz", "-DN=160 -DM=240 --steps=90 --in Hz=DRAWN --in Ex=0 --in Ey=0 --colors=coolwarm"),
    "figure5": ("numerical methods", "A", "rows 24"),
    "frozen_ground": ("soil science", "T", "--steps=3000 --colors=bluered --in z=EXAMPLES/inputs/depths.npy"),
    "gradient2d": ("plasma physics", "A", "-DN=160 -DM=240 --steps=20 --in A=DRAWN"),
    "free_surface": ("seismology", "vz", "-DN=240 -DM=120 --steps=96 --colors=bluered"),
    "gray_scott": ("chemistry", "V film 800", "-DN=80 -DM=120 --steps=5600"),
    "heat_until": ("heat engineering", "cooled", "-DN=160 -DM=160 --steps=600 --colors=hot"),
    "image_smoothing": ("image processing", "u", "-DN=256 -DM=256 --colors=gray --in u=EXAMPLES/inputs/scene.npy"),
    "j1d3pt": ("numerical methods", "A", "rows 120"),
    "j1d5pt": ("numerical methods", "A", "rows 120"),
    "j1d7pt": ("numerical methods", "A", "rows 120"),
    "j2d5pt": ("heat engineering", "A", "-DN=160 -DM=240 --steps=300 --in A=DRAWN --colors=hot"),
    "j3d7pt": ("heat engineering", "A", "-DN=40 -DM=60 -DL=60 --steps=8 --slice=0:20"),
    "poisson2d": ("electrostatics", "A", "-DN=160 -DM=240 --steps=100 --in A=DRAWN"),
    "rician2d": ("medical imaging", "u", "-DN=160 -DM=240 --steps=32 --colors=gray"),
    "shot": ("seismology", "p", "-DN=301 -DM=401 --steps=420 --colors=bluered --limits=-4,4 --in source=EXAMPLES/inputs/ricker.npy --in sz=sz.npy --in sx=sx.npy "
             "--in rx=rx.npy"),
    "staggered_sound": ("acoustics", "p", "--steps=500 --colors=bluered --limits=-3,3"),
    "sum1d": ("numerical methods", "A", "rows 10"),
    "tv2d": ("image processing", "A", "-DN=160 -DM=240 --steps=32 --in A=DRAWN --colors=gray"),
    "vector_diffusion": ("chemical engineering", "gas.0", "-DN=128 -DM=256 --steps=2000"),
    "absorbed_shot": ("seismology", "p", "--steps=1250 --colors=bluered --limits=-1,1"),
    "half_space": ("seismology", "vz", "--steps=700 --colors=bluered --limits=-0.03,0.03"),
    "advance": ("genetics", "u", ""),
    "blast": ("astrophysics", "light film 75", "-DN=100 -DM=150 --steps=900"),
    "capillary_barrier": ("hydrology", "full", "--colors=hot --limits=0,1"),
    "capacitor": ("electrostatics", "u(0)", "--slice=0:64 --colors=bluered"),
    "cold_front": ("meteorology", "warm", "--colors=coolwarm"),
    "epidemic": ("epidemiology", "I", "--steps=1900 --colors=hot"),
    "ice_sheet": ("glaciology", "H", "--colors=gray"),
    "heart": ("cardiology", "u", "--steps=1400 --colors=hot --limits=0,1"),
    "ising": ("magnetism", "s", "--colors=gray"),
    "lake": ("limnology", "eta", "--steps=180 --colors=bluered --limits=-0.9,0.9"),
    "lattice_gas": ("statistical physics", "seen", "--colors=bluered --limits=30,48"),
    "lid_cavity": ("fluid dynamics", "u", "-DN=160 -DRe=400 -Ddt=0.003 --steps=5000 --colors=bluered --limits=-1,1"),
    "life": ("cellular automata", "age film 8", "-DN=64 -DM=96 --steps=240 --colors=gray"),
    "ocean_mixing": ("oceanography", "T", "--steps=300 --slice=0:0 --colors=coolwarm"),
    "oil_spill": ("marine science", "oil", "--steps=2100 --colors=hot --limits=0,1 --in wind=EXAMPLES/inputs/winds.npy"),
    "option_price": ("finance", "V", "rows 0"),
    "predators": ("ecology", "hare", ""),
    "sandpile": ("complexity", "s", ""),
    "schroedinger": ("quantum mechanics", "seen film 70", "-DN=100 -DM=180 --steps=700"),
    "shallow_water": ("oceanography", "eta", "--steps=420 --colors=bluered --limits=-0.2,0.2"),
    "snowflake": ("materials science", "phi", "--colors=gray"),
    "sphere": ("planetary science", "T", "-DN=60 -DM=120 --steps=3000 --colors=hot"),
    "spiral_waves": ("cardiology", "u film 320", "-DN=112 -DM=112 -Dh=0.45 --steps=3840 --colors=hot"),
    "tides": ("oceanography", "eta", "--steps=700 --colors=bluered --limits=-1.6,1.6 --in chart=EXAMPLES/inputs/coast.png"),
    "tunnel": ("quantum mechanics", "seen", ""),
    "vortex_street": ("fluid dynamics", "curl", "--steps=18000 --colors=bluered --limits=-0.02,0.02"),
    "zone_plate": ("optics", "light", "--colors=hot --limits=0,3"),
}
MOST, MOST_OF_ALL = 150_000, 3_000_000      # bytes of a picture, and of all
HEIGHT, WIDTH, CELLS = 160, 240, 240
SPEEDS = SOURCE / "docs/data/gallery.json"
MEASURED = """The text of each program ends with its speed on one core: points of the grid times steps, divided by the time of the core. The
size is the size of the command (in one dimension: of the program), the precision is the default, and nothing was tuned ({machine}, {date}{note}). `packaging/site/gallery.py STC --speeds` measures
the speeds. The page on [performance](performance.md) has speeds of GPUs."""
# matplotlib's names for the maps of colours; those of the option --colors have the same names but for this one.
MAPS = {"bluered": "seismic"}


def write_npy(path, descr, shape, values):
    """A .npy file of these values."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes())


def read_npy(path):
    """The values of a .npy file of f32, f64 or i32."""
    data = path.read_bytes()
    at = 10 + int.from_bytes(data[8:10], "little")
    return array.array("f" if b"<f4" in data[:at] else "d" if b"<f8" in data[:at] else "i", data[at:])


def draw_inputs(work):
    """A disk, a square and a bar for programs of two dimensions; charges and receivers for the shot."""
    values = array.array("f", (0.2 for _ in range(HEIGHT * WIDTH)))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            disk = (y - 80) ** 2 + (x - 70) ** 2 < 40 ** 2
            square = 40 < y < 100 and 140 < x < 200
            bar = 120 < y < 130 and 130 < x < 220
            values[y * WIDTH + x] = 1 if disk or bar else 0.7 if square else 0.2
    write_npy(work / DRAWN, "<f4", (HEIGHT, WIDTH), values)
    for name, places in ("sz", [30, 150]), ("sx", [100, 290]), ("rx", range(10, 400, 16)[:24]):
        write_npy(work / f"{name}.npy", "<i4", (len(places),), array.array("i", places))


def write_png(path, width, rows):
    """A picture of rows of numbers, from dark blue to yellow."""
    flat = [v for row in rows for v in row]
    lo, span = min(flat), (max(flat) - min(flat)) or 1
    colors = []
    for i in range(256):
        t = i / 255
        colors.append(bytes((int(255 * min(1, 1.6 * t)), int(255 * t ** 1.3), int(60 + 120 * t * (1 - t) * 2))))
    lines = b"".join(b"\0" + b"".join(colors[int(255 * (v - lo) / span)] for v in row) for row in rows)

    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
    head = width.to_bytes(4, "big") + len(rows).to_bytes(4, "big") + bytes((8, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def draw_curve(stc, source, field, out, work):
    """A program of one dimension: its field before the first step and after the last, as two curves."""
    curves = []
    for words in ["--steps=0"], []:
        run(stc, *words, "--out", f"{field}=curve.npy", str(source), cwd=work)
        curves.append(list(read_npy(work / "curve.npy")))
    lo, hi = min(map(min, curves)), max(map(max, curves))
    rows = [[0.0] * WIDTH for _ in range(HEIGHT)]
    for curve, shade in zip(curves, (0.5, 1.0)):
        for x in range(WIDTH):
            a, b = (int((HEIGHT - 1) * (hi - curve[min(len(curve) - 1, (x + i) * len(curve) // WIDTH)]) / (hi - lo)) for i in (0, 1))
            for y in range(min(a, b), max(a, b) + 1):
                rows[y][x] = shade
    write_png(out, WIDTH, rows)


def run(stc, *words, cwd):
    done = subprocess.run([stc, "run", "--quiet", "--no-tune-db", *words], capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")


def draw_rows(stc, source, field, steps, out, work):
    """A program of one dimension: its field after each of so many steps, below one another, each as large as the others."""
    if steps == 0:
        draw_curve(stc, source, field, out, work)
        return
    run(stc, f"-DN={CELLS}", f"--steps={steps}", "--every=1", "--out", f"{field}=row_%06d.npy", str(source), cwd=work)
    rows = [list(read_npy(p)) for p in sorted(work.glob("row_*.npy"))]
    for p in work.glob("row_*.npy"):
        p.unlink()
    scaled = [[v / (max(map(abs, row)) or 1) for v in row] for row in rows]
    write_png(out, CELLS, [row for row in scaled for _ in range(max(1, 120 // steps))])


def source_of(name):
    """The file of an example."""
    path = SOURCE / "examples" / f"{name}.stn"
    return path if path.exists() else SOURCE / "examples/sciences" / f"{name}.stn"


def plotted(name):
    """Of an example: the field that is drawn, the steps from one picture to the next of a film or 0, and the options of stc run."""
    field, *film = PICTURES[name][1].split()
    return field, int(film[1]) if film else 0, PICTURES[name][2]


def draw(stc, name, out, work):
    """The picture or film of an example."""
    field, every, options = plotted(name)
    if options.startswith("rows"):
        draw_rows(stc, source_of(name), field, int(options.split()[1]), out / f"{name}.png", work)
        return
    words = options.replace("EXAMPLES", str(SOURCE / "examples")).replace("DRAWN", DRAWN).split()
    drawn = work / (f"{name}.apng" if every else f"{name}.png")
    run(stc, *words, *([f"--every={every}"] if every else []), "--png", f"{field}={drawn}", str(source_of(name)), cwd=work)
    drawn.replace(out / f"{name}.png")      # browsers know films by what is inside, and not all servers know the other name


def words_of(name):
    """The options of the command that say what is run, without those of pictures: of programs of one dimension those that `draw_rows` gives."""
    options = plotted(name)[2]
    if options.startswith("rows"):
        return f"-DN={CELLS} --steps={options.split()[1]}" if options != "rows 0" else ""
    return options


def drawn_as(options):
    """What imshow takes for the colours and limits of a command."""
    colors, limits = re.search(r"--colors=(\w+)", options), re.search(r"--limits=([-.\d]+),([-.\d]+)", options)
    words = [f"cmap=\"{MAPS.get(colors[1], colors[1])}\""] if colors else []
    return "".join(f", {w}" for w in words + ([f"vmin={limits[1]}", f"vmax={limits[2]}"] if limits else []))


def twin_rows(field, steps):
    """How Python makes the picture of a program of one dimension."""
    if not steps:
        return ["run(0)", f"plt.plot(run[\"{field}\"].copy())", "run()", f"plt.plot(run[\"{field}\"])"]
    return ["rows = []", f"for _ in range({steps}):", "    run(1)", f"    rows.append(run[\"{field}\"] / abs(run[\"{field}\"]).max())", "plt.imshow(rows, aspect=\"auto\")"]


def twin(name):
    """The same run from Python."""
    field, every, options = plotted(name)
    given = dict(re.findall(r"-D(\w+)=(\S+)", words_of(name)))
    arrays = re.findall(r"--in (\w+)=(\S+)", options)
    steps = re.search(r"--steps=(\d+)", words_of(name))
    steps = steps[1] if steps else ""
    words = ["device=\"host\""] + [f"{k}={v}" for k, v in given.items()]
    lines = [f"run = stc.compile(\"{source_of(name).relative_to(SOURCE)}\").plan({', '.join(words)})"]
    for field_in, file in arrays:
        path = file.replace("EXAMPLES", "examples").replace("DRAWN", DRAWN)
        read = f"(255 * plt.imread(\"{path}\")).astype(\"u1\")" if path.endswith(".png") else f"np.load(\"{path}\")"
        value = file if re.fullmatch(r"[\d.]+", file) else read
        lines.append(f"run[\"{field_in}\"] = {value}")
    cut = re.search(r"--slice=0:(\d+)", options)
    shown = (f"np.moveaxis(run[\"{field.split('.')[0]}\"], -1, 0)[{field.split('.')[1]}]" if "." in field else f"run[\"{field}\"]") + (f"[{cut[1]}]" if cut else "")
    if options.startswith("rows"):
        lines += twin_rows(field, int(steps or 0))
    elif every:
        lines += ["frames = []", f"for _ in range({int(steps) // every}):", f"    run({every})", f"    frames.append({shown}.copy())", f"plt.imshow(frames[-1]{drawn_as(options)})"]
    else:
        lines += [f"run({steps})", f"plt.imshow({shown}{drawn_as(options)})"]
    return "\n".join(lines)


def command(name):
    """How stc run draws it."""
    field, every, options = plotted(name)
    if options.startswith("rows"):
        words = f"{words_of(name)} --every=1 --out {field}={field}_%03d.npy" if words_of(name) else f"--out {field}={field}.npy"
        return f"stc run {words} {source_of(name).relative_to(SOURCE)}"
    words = [options.replace("EXAMPLES", "examples").replace("DRAWN", DRAWN)] if options else []
    film = [f"--every={every}"] if every else []
    field = f"'{field}'" if "(" in field else field          # a shell's bracket
    return " ".join(["stc run", *words, *film, f"--png {field}={name}.{'apng' if every else 'png'}", str(source_of(name).relative_to(SOURCE))])


def cpu_seconds(stc, name, steps, work):
    """What so many steps of an example take of one core, with all that is before and behind them, and what --time tells of the run."""
    options = plotted(name)[2].replace("EXAMPLES", str(SOURCE / "examples")).replace("DRAWN", DRAWN)
    words = [] if options.startswith("rows") else re.sub(r"--(steps|colors|limits|slice)=\S+", "", options).split()
    with subprocess.Popen([stc, "run", "--quiet", "--no-tune-db", "--time", "--device=host:1", *words, f"--steps={steps}", str(source_of(name))],
                          stdout=subprocess.PIPE, text=True, cwd=work) as run:
        told = run.stdout.read()
        _, run.returncode, used = os.wait4(run.pid, 0)
    if run.returncode:
        sys.exit(f"{name}: stc run failed")
    return used.ru_utime, json.loads(told.splitlines()[-1])


def speed(stc, name, work):
    """Points of an example that one core computes in a second: by its time, not the clock's, which others that use the machine have a part in.
    A first run compiles, and tells how many steps take a second. A short run goes by the clock."""
    told = cpu_seconds(stc, name, 32, work)[1]
    steps = 1 + max(32, int(told["steps"] / max(told["seconds"], 1e-5)))
    own = re.search(r"--steps=(\d+)", plotted(name)[2]) or re.search(r"^grid .*\], *(\d+)", source_of(name).read_text(), re.M)
    steps = min(steps, int(own[1]) if own else steps)       # no more: there may be no more frames, and what has died down is slow
    nothing = cpu_seconds(stc, name, 1, work)[0]
    seconds, told = cpu_seconds(stc, name, steps, work)
    if told["compile_seconds"] > 0.3:       # for so many steps there were other kernels
        seconds, told = min((seconds, told), cpu_seconds(stc, name, steps, work), key=lambda x: x[0])
    took, made = (seconds - nothing, told["steps"] - 1) if seconds - nothing > 0.1 else (told["seconds"], told["steps"])
    return float(f"{told['points'] * made / took:.2g}")


def measure(stc, names, work):
    """Writes docs/data/gallery.json: a quarter of the cores measure at once."""
    known = json.loads(SPEEDS.read_text()) if SPEEDS.exists() else {"points_a_second": {}}
    note = "" if os.getloadavg()[0] < 1 else "; other programs ran on the machine at the same time; alone the speeds are higher"
    model = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 4)) as pool:
        for name, found in zip(names, pool.map(lambda name: speed(stc, name, work), names)):
            known["points_a_second"][name] = found
            known |= {"date": datetime.date.today().isoformat(), "machine": model[1] if model else "unknown", "note": note}
            SPEEDS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
            print(name, found, flush=True)


def page():
    """The text of docs/gallery.md."""
    speeds = json.loads(SPEEDS.read_text())
    of = speeds["points_a_second"]
    table = (SOURCE / "examples/README.md").read_text()
    about = {m[1]: m[2] for m in re.finditer(r"^\| \[(\w+)\]\([\w/]+\.stn\) \| (.*?) \|", table, re.M)}
    sciences = {}
    for name in sorted(PICTURES):
        sciences.setdefault(PICTURES[name][0], []).append(name)
    out = [f"""# Gallery

{len(PICTURES)} programs of {len(sciences)} subjects. Each has a picture after some steps on a CPU, the command that drew the picture, and the same in Python.
`packaging/site/gallery.py STC` draws all pictures and writes this page. The Python snippets need `import numpy as np, stc` and
`import matplotlib.pyplot as plt` before them, and `plt.show()` after them. Some programs read the arrays `{DRAWN}`, `sz.npy`, `sx.npy`
and `rx.npy`; `python3 packaging/site/gallery.py --inputs` writes these arrays.

For a program of one dimension the command writes the values, and the Python code draws the picture: a row for each step, the first row at
the top.

{textwrap.fill(MEASURED.format(**({"note": ""} | speeds)), 138, break_long_words=False, break_on_hyphens=False)}
"""]
    out.append("\n".join(f"- {science}: " + ", ".join(f"[{n}](#{n})" for n in names) for science, names in sorted(sciences.items())) + "\n")
    for science, names in sorted(sciences.items()):
        for name in names:
            path = source_of(name).relative_to(SOURCE)
            text = about[name][0].upper() + about[name][1:]
            pace = f"{of[name] / 1e6:.1f}" if of[name] < 1e7 else f"{of[name] / 1e6:.0f}"
            lines = textwrap.fill(f"*{science.capitalize()}.* {text}. The program is [{name}.stn](../{path}). It computes {pace} million points a second on one core.",
                                  138, break_long_words=False, break_on_hyphens=False)
            out.append(f"## {name}\n\n{lines}\n\n![{name}](pictures/gallery/{name}.png)\n\n```\n{command(name)}\n```\n\n```python\n{twin(name)}\n```\n")
    return "\n".join(out)


def check(out):
    """Ends with a message if an example has no picture or a picture no example, or if pictures are larger than they may be."""
    have = {p.stem for folder in (SOURCE / "examples", SOURCE / "examples/sciences") for p in folder.glob("*.stn")}
    drawn = {p.stem: p.stat().st_size for p in out.glob("*.png")}
    if have != set(PICTURES) or set(drawn) != have:
        sys.exit(f"the gallery, its pictures and the examples differ: {', '.join(sorted((have ^ set(PICTURES)) | (have ^ set(drawn))))}")
    without = sorted(have ^ set(json.loads(SPEEDS.read_text())["points_a_second"]))
    if without:
        sys.exit(f"docs/data/gallery.json and the examples differ: {', '.join(without)}; gallery.py STC --speeds --only={','.join(without)}")
    if max(drawn.values()) > MOST or sum(drawn.values()) > MOST_OF_ALL:
        sys.exit(f"{max(drawn, key=drawn.get)} has {max(drawn.values())} bytes, all have {sum(drawn.values())}: at most {MOST}, and {MOST_OF_ALL}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stc", nargs="?", type=lambda s: str(Path(s).resolve()))
    parser.add_argument("--inputs", action="store_true", help="write what some examples are given into this folder, and nothing else")
    parser.add_argument("--only", help="these examples, with commas between them")
    parser.add_argument("--speeds", action="store_true", help="no pictures, but measure how fast each is")
    parser.add_argument("--text", action="store_true", help="no pictures, only the page")
    options = parser.parse_args()
    if options.inputs:
        draw_inputs(Path())
        return
    if options.stc is None:
        parser.error("which stc? build/stc, for example")
    out = SOURCE / "docs/pictures/gallery"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        draw_inputs(Path(folder))
        names = options.only.split(",") if options.only else sorted(PICTURES)
        if options.speeds:
            measure(options.stc, names, Path(folder))
        for name in [] if options.text or options.speeds else names:
            draw(options.stc, name, out, Path(folder))
            print(out / f"{name}.png", (out / f"{name}.png").stat().st_size)
    check(out)
    (SOURCE / "docs/gallery.md").write_text(page())


if __name__ == "__main__":
    main()
