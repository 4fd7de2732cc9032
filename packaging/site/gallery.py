"""gallery.py STC EXAMPLES OUT: draws a picture of every example into the folder OUT, NAME.png, by running it on this CPU for some seconds in all,
and prints what it made. Programs that start from noise are given a drawing; those of one dimension are drawn as rows, a step below the other.
Needs Python alone."""
import argparse
import array
import subprocess
import sys
import zlib
from pathlib import Path

DRAWN = "drawn.npy"
# For each example: its field, options of stc run; "rows" for those of one dimension.
PICTURES = {
    "acoustic_wave": ("p", "-DN=301 -DM=401 --steps=450 --colors=bluered --in source=EXAMPLES/inputs/ricker.npy"),
    "anisotropic_diffusion": ("u", "-DN=24 -DM=48 -DL=48 --steps=2 --slice=0:12 --colors=hot"),
    "borders": ("A", "-DN=160 -DM=240 --steps=300 --in A=DRAWN --colors=hot"),
    "fdtd2d": ("Hz", "-DN=160 -DM=240 --steps=90 --in Hz=DRAWN --in Ex=0 --in Ey=0 --colors=coolwarm"),
    "figure5": ("A", "rows 24"),
    "frozen_ground": ("T", "--steps=3000 --colors=bluered --in z=EXAMPLES/inputs/depths.npy"),
    "gradient2d": ("A", "-DN=160 -DM=240 --steps=20 --in A=DRAWN"),
    "allen_cahn": ("u", "-DN=256 -DM=256 --steps=1000"),
    "gray_scott": ("V", "-DN=256 -DM=256 --steps=5000"),
    "heat_until": ("cooled", "-DN=160 -DM=160 --steps=600 --colors=hot"),
    "image_smoothing": ("u", "-DN=256 -DM=256 --colors=gray"),
    "j1d3pt": ("A", "rows 120"),
    "j1d5pt": ("A", "rows 120"),
    "j1d7pt": ("A", "rows 120"),
    "j2d5pt": ("A", "-DN=160 -DM=240 --steps=300 --in A=DRAWN --colors=hot"),
    "j3d7pt": ("A", "-DN=40 -DM=60 -DL=60 --steps=8 --slice=0:20"),
    "poisson2d": ("A", "-DN=160 -DM=240 --steps=100 --in A=DRAWN"),
    "rician2d": ("u", "-DN=160 -DM=240 --steps=32 --colors=gray"),
    "shot": ("p", "-DN=301 -DM=401 --steps=420 --colors=bluered --in source=EXAMPLES/inputs/ricker.npy --in sz=sz.npy --in sx=sx.npy --in rx=rx.npy"),
    "staggered_sound": ("p", "--steps=500 --colors=bluered"),
    "sum1d": ("A", "rows 10"),
    "tv2d": ("A", "-DN=160 -DM=240 --steps=32 --in A=DRAWN --colors=gray"),
    "vector_diffusion": ("gas.0", "-DN=128 -DM=256 --steps=2000"),
}
HEIGHT, WIDTH, CELLS = 160, 240, 240


def write_npy(path, descr, shape, values):
    """A .npy file of these values."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes())


def read_npy(path):
    """The values of a .npy file of f32 or i32."""
    data = path.read_bytes()
    at = 10 + int.from_bytes(data[8:10], "little")
    return array.array("f" if b"<f4" in data[:at] else "i", data[at:])


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


def run(stc, *words, cwd):
    done = subprocess.run([stc, "run", "--quiet", "--no-tune-db", *words], capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")


def draw_rows(stc, source, field, steps, out, work):
    """A program of one dimension: its field after each of so many steps, below one another, each as large as the others."""
    run(stc, f"-DN={CELLS}", f"--steps={steps}", "--every=1", "--out", f"{field}=row_%06d.npy", str(source), cwd=work)
    rows = [list(read_npy(p)) for p in sorted(work.glob("row_*.npy"))]
    for p in work.glob("row_*.npy"):
        p.unlink()
    scaled = [[v / (max(map(abs, row)) or 1) for v in row] for row in rows]
    write_png(out, CELLS, [row for row in scaled for _ in range(max(1, 120 // steps))])


def draw(stc, examples, name, out, work):
    """The picture of one example."""
    field, options = PICTURES[name]
    source = examples / f"{name}.stn"
    if options.startswith("rows"):
        draw_rows(stc, source, field, int(options.split()[1]), out, work)
        return
    words = options.replace("EXAMPLES", str(examples)).replace("DRAWN", DRAWN).split()
    run(stc, *words, "--png", f"{field}={out}", str(source), cwd=work)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stc", type=lambda s: str(Path(s).resolve()))
    parser.add_argument("examples", type=lambda s: Path(s).resolve())
    parser.add_argument("out", type=lambda s: Path(s).resolve())
    parser.add_argument("--only", default="", help="these examples, with commas between them")
    options = parser.parse_args()
    have, known = {p.stem for p in options.examples.glob("*.stn")}, set(PICTURES)
    if have != known:
        sys.exit(f"the gallery and the examples differ: {', '.join(sorted(have ^ known))}")
    options.out.mkdir(parents=True, exist_ok=True)
    draw_inputs(options.out)
    for name in options.only.split(",") if options.only else sorted(PICTURES):
        draw(options.stc, options.examples, name, options.out / f"{name}.png", options.out)
        print(options.out / f"{name}.png")
    for p in options.out.glob("*.npy"):
        p.unlink()


if __name__ == "__main__":
    main()
