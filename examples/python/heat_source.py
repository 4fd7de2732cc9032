"""Where is a plate heated, by what sixty thermometers have read? With SciPy's L-BFGS-B, which keeps the heat from being negative. Needs SciPy.

    python heat_source.py [--device=cuda] [--quick] [--out=source.npy]
"""
import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import stc

PROGRAM = Path(__file__).resolve().parents[1] / "inverse/heat_source.stn"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    run = stc.compile(PROGRAM, real="f64").plan(device=options.device)
    places = np.random.default_rng(1).choice(40 * 40, 60, replace=False)
    y, x = np.mgrid[0:40, 0:40]
    truth = 0.01 * np.exp(-((y - 12) ** 2 + (x - 25) ** 2) / 18)

    def begin(q, seen):
        run.restart()
        run["ry"], run["rx"], run["seen"], run["q"] = places // 40, places % 40, seen, q

    begin(truth, 0)
    run(200)
    seen = run.probes["read"].value                     # what the thermometers read

    def misfit(q):
        begin(q.reshape(40, 40), seen)
        value, by = run.gradient()
        return 1e4 * value, 1e4 * by["q"].reshape(-1)   # L-BFGS-B stops where numbers are small

    found = minimize(misfit, np.zeros(1600), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 1600, options=dict(maxiter=15 if options.quick else 60))
    q = found.x.reshape(40, 40)
    row, column = np.unravel_index(q.argmax(), q.shape)
    print(f"hottest at {row}, {column}, in truth at 12, 25; heat {q.sum():.3f} of {truth.sum():.3f}; misfit {found.fun:.3g} after {found.nfev} gradients")
    if options.out:
        np.save(options.out, q)


if __name__ == "__main__":
    main()
