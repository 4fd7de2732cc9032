"""What is in the ground between two boreholes, by what was heard in one of shots in the other: full waveform inversion with SciPy's L-BFGS-B. Needs
SciPy, and Pillow for a picture: the speeds that the search begins with, those that it finds, the true ones.

    python waveform_inversion.py [--device=cuda] [--quick] [--out=speeds.png]
"""
import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import stc

PROGRAM = Path(__file__).resolve().parents[1] / "inverse/waveform_inversion.stn"
N, M, STEPS = 40, 60, 260


def truth():
    """Even ground with a slow lens and a fast one in it."""
    z, x = np.mgrid[0:N, 0:M]
    lens = lambda z0, x0, by: by * np.exp(-((z - z0) / 4.0) ** 2 - ((x - x0) / 6.0) ** 2)      # noqa: E731
    return 2000.0 + lens(15, 24, -200) + lens(25, 36, 200)


class Survey:
    """A plan, and what was heard of each shot. shots: their depths."""

    def __init__(self, device, shots, true, guess):
        self.guess, self.run, self.shots = guess, stc.compile(PROGRAM, real="f64").plan(device=device), shots
        t = np.arange(STEPS) * 0.0015 - 0.1
        a = (np.pi * 12 * t) ** 2
        self.source, self.receivers = 1e3 * (1 - 2 * a) * np.exp(-a), np.arange(6, 36, 2)
        self.heard = [self.hear(z, true) for z in shots]

    def set(self, z, speeds, heard):
        self.run.restart()
        self.run["source"], self.run["rz"], self.run["sz"], self.run["seen"], self.run["v"] = self.source, self.receivers, [z], heard, speeds
        self.run["guess"] = self.guess

    def hear(self, z, speeds):
        """What is heard of a shot at depth z."""
        self.set(z, speeds, 0)
        self.run(STEPS)
        return self.run.probes["heard"].value.reshape(-1)

    def misfit(self, flat):
        """How far that of all shots is off, and its derivatives by the speeds."""
        value, slope = 0.0, np.zeros((N, M))
        for z, heard in zip(self.shots, self.heard):
            self.set(z, flat.reshape(N, M), heard)
            one, by = self.run.gradient(STEPS)
            value, slope = value + one, slope + by["v"]
        return value, slope.reshape(-1)


def draw(path, *speeds):
    """The speeds beside each other, from slow (dark) to fast."""
    from PIL import Image
    gap = np.full((N, 3), 255, np.uint8)
    tiles = [np.clip((v - 1750) * 255 / 500, 0, 255).astype(np.uint8) for v in speeds]
    rows = np.concatenate([tiles[0]] + [part for tile in tiles[1:] for part in (gap, tile)], axis=1)
    Image.fromarray(rows).resize((rows.shape[1] * 3, N * 3), Image.Resampling.NEAREST).save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    true, start = truth(), np.full((N, M), 2000.0)
    survey = Survey(options.device, [14, 26] if options.quick else [7, 12, 17, 22, 27, 32], true, start)
    first = survey.misfit(start.reshape(-1))[0]
    found = minimize(survey.misfit, start.reshape(-1), jac=True, method="L-BFGS-B", bounds=[(1500, 2500)] * (N * M),
                     options=dict(maxiter=4 if options.quick else 40))
    speeds = found.x.reshape(N, M)
    alike = np.corrcoef((speeds - start).reshape(-1), (true - start).reshape(-1))[0, 1]
    print(f"misfit {first:.4g} to {found.fun:.4g} in {found.nfev} gradients; the changes found correlate with the true ones by {alike:.2f}")
    if options.out:
        draw(options.out, start, speeds, true)


if __name__ == "__main__":
    main()
