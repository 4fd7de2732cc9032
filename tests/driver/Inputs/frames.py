"""frames.py FOLDER: the series of frames.stn as .npy files, whole (w.npy) and a file for each frame (w0.npy)."""
import pathlib
import random
import struct
import sys


def save(path, kind, shape, values):
    text = f"{{'descr': '{kind[0]}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}{kind[1]}", *values))


folder = pathlib.Path(sys.argv[1])
chance = random.Random(7)
kinds = {"f4": ("<f4", "f"), "i4": ("<i4", "i"), "f2": ("<f2", "e")}
for name, count, kind, shape in (("w", 4, "f4", (13, 11, 2)), ("q", 2, "i4", (12, 11)), ("r", 3, "f4", (1, 11)), ("h", 3, "f2", (13, 11))):
    n = 1
    for k in shape:
        n *= k
    frames = [[chance.randrange(100) if kind == "i4" else chance.randrange(-1000, 1000) / 1024 for _ in range(n)] for _ in range(count)]
    save(folder / f"{name}.npy", kinds[kind], (count, *shape), sum(frames, []))
    for c in range(2) if name == "w" else ():
        save(folder / f"w.{c}.npy", kinds[kind], (count, *shape[:2]), [v for frame in frames for v in frame[c::2]])
    for i, frame in enumerate(frames):
        save(folder / f"{name}{i}.npy", kinds[kind], shape, frame)
