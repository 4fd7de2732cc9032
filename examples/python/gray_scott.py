"""Two chemicals react and diffuse, as an animation: frames are taken from a view of the field between runs. Needs Pillow.

    python gray_scott.py [--device=cuda] [--quick] [--out=gray_scott.gif]
"""
import argparse
from pathlib import Path

import numpy as np
from PIL import Image

import stc

PROGRAM = Path(__file__).resolve().parents[1] / "gray_scott.stn"


def picture(v):
    """A frame: the field from dark blue to white."""
    x = np.clip(v / 0.4, 0, 1)[..., None]
    return Image.fromarray((255 * (x * [1, 1, 0.9] + (1 - x) * [0.02, 0.05, 0.25])).astype(np.uint8))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="gray_scott.gif")
    options = parser.parse_args()
    n, frames, steps = (64, 4, 50) if options.quick else (256, 60, 100)
    run = stc.compile(PROGRAM).plan(device=options.device, N=n, M=n)
    pictures = []
    for _ in range(frames):
        run(steps)
        pictures.append(picture(np.asarray(run["V"])))
    pictures[0].save(options.out, save_all=True, append_images=pictures[1:], duration=50, loop=0)
    print(f"{frames} frames of {n}x{n} in {options.out}")


if __name__ == "__main__":
    main()
