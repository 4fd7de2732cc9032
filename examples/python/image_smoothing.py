"""Takes the noise out of a photo and leaves its edges: the program examples/image_smoothing.stn on each colour. Needs Pillow for a photo;
without one a scene with noise is made.

    python image_smoothing.py [photo.jpg] [--device=cuda] [--steps=20] [--quick] [--out=smooth.png]
"""
import argparse
from pathlib import Path

import numpy as np

import stc

PROGRAM = Path(__file__).resolve().parents[1] / "image_smoothing.stn"


def scene(n):
    """A disc and a square with noise, and the same without."""
    y, x = np.mgrid[0:n, 0:n] / n
    clean = np.stack([0.2 + 0.6 * ((x - 0.4)**2 + (y - 0.4)**2 < 0.05), 0.3 + 0.4 * (abs(x - 0.7) < 0.15) * (abs(y - 0.7) < 0.15), 0.5 + 0 * x], -1)
    return np.clip(clean + np.random.default_rng(1).normal(0, 0.04, clean.shape), 0, 1), clean


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photo", nargs="?")
    parser.add_argument("--device", default="host")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    if options.photo:
        from PIL import Image
        noisy, clean = np.asarray(Image.open(options.photo).convert("RGB")) / 255, None
    else:
        noisy, clean = scene(64 if options.quick else 512)
    run = stc.compile(PROGRAM).plan(device=options.device, N=noisy.shape[0], M=noisy.shape[1])
    colours = []
    for c in range(3):
        run["u"] = noisy[..., c]
        run(options.steps)
        colours.append(np.asarray(run["u"]).copy())
    smooth = np.stack(colours, -1)
    if clean is not None:
        error = [float(np.sqrt(np.mean((a - clean)**2))) for a in (noisy, smooth)]
        print(f"noise {error[0]:.4f} before, {error[1]:.4f} after")
    if options.out:
        from PIL import Image
        Image.fromarray((np.clip(smooth, 0, 1) * 255).astype(np.uint8)).save(options.out)


if __name__ == "__main__":
    main()
