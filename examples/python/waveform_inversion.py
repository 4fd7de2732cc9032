"""What is in the ground between two boreholes, by what was heard in one of shots in the other: full waveform inversion with SciPy's L-BFGS-B, or
with PyTorch's L-BFGS. Needs one of them, and Pillow for a picture: the speeds that the search begins with, those that it finds, the true ones.

    python waveform_inversion.py [--torch] [--device=cuda] [--quick] [--out=speeds.png]
"""
import argparse
from pathlib import Path

import numpy as np

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


def search(survey, start, rounds):
    """The speeds with SciPy's L-BFGS-B, their misfit, how many gradients that took."""
    from scipy.optimize import minimize
    found = minimize(survey.misfit, start.reshape(-1), jac=True, method="L-BFGS-B", bounds=[(1500, 2500)] * (N * M), options=dict(maxiter=rounds))
    return found.x.reshape(N, M), found.fun, found.nfev


def search_by_torch(survey, start, rounds):
    """The same with torch.optim: the misfit is a function that autograd knows, beside which others may be computed in torch."""
    import torch

    class Misfit(torch.autograd.Function):
        @staticmethod
        def forward(ctx, speeds):
            value, slope = survey.misfit(speeds.detach().numpy().reshape(-1))
            ctx.save_for_backward(torch.from_numpy(slope.reshape(N, M)))
            return speeds.new_tensor(value)

        @staticmethod
        def backward(ctx, by):
            return by * ctx.saved_tensors[0]

    speeds, calls = torch.tensor(start, requires_grad=True), []
    first = Misfit.apply(speeds).item()
    optimizer = torch.optim.LBFGS([speeds], max_iter=rounds, max_eval=4 * rounds, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        value = Misfit.apply(speeds) / first                # of the size of 1, as the optimiser's tolerances want it
        value.backward()
        calls.append(value.item())
        return value

    optimizer.step(closure)
    return speeds.detach().numpy(), survey.misfit(speeds.detach().numpy().reshape(-1))[0], len(calls)


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
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    true, start = truth(), np.full((N, M), 2000.0)
    survey = Survey(options.device, [14, 26] if options.quick else [7, 12, 17, 22, 27, 32], true, start)
    first = survey.misfit(start.reshape(-1))[0]
    speeds, last, gradients = (search_by_torch if options.torch else search)(survey, start, 4 if options.quick else 40)
    alike = np.corrcoef((speeds - start).reshape(-1), (true - start).reshape(-1))[0, 1]
    print(f"misfit {first:.4g} to {last:.4g} in {gradients} gradients; the changes found correlate with the true ones by {alike:.2f}")
    if options.out:
        draw(options.out, start, speeds, true)


if __name__ == "__main__":
    main()
