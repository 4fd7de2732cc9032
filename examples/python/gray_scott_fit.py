"""Which rates made a pattern of two chemicals? Four params of a reaction are fitted to what was seen at the end, with SciPy's L-BFGS-B. Needs SciPy.

    python gray_scott_fit.py [--device=cuda] [--quick]
"""
import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import stc

PROGRAM = Path(__file__).resolve().parents[1] / "inverse/gray_scott_fit.stn"
NAMES, TRUTH, START = ("feed", "kill", "Du", "Dv"), (0.037, 0.06, 0.19, 0.09), (0.03, 0.055, 0.16, 0.08)
SCALE = np.array([0.01, 0.01, 0.1, 0.1])                # of each param, so that steps of all are alike


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    program, steps = stc.compile(PROGRAM, real="f64"), 60 if options.quick else 200
    n = program.plan(device=options.device).shape("U")[0]
    rng = np.random.default_rng(2)
    U, V = np.ones((n, n)), np.zeros((n, n))
    for row, column in rng.integers(4, n - 4, (8, 2)):
        U[row - 3:row + 3, column - 3:column + 3], V[row - 3:row + 3, column - 3:column + 3] = 0.5, 0.25

    def plan(values):
        run = program.plan(device=options.device, **dict(zip(NAMES, values)))
        run["U"], run["V"] = U, V
        return run

    run = plan(TRUTH)
    run["Useen"], run["Vseen"] = 0, 0
    run(steps)
    seen = run["U"].copy(), run["V"].copy()

    def off(x):
        run = plan(x * SCALE)
        run["Useen"], run["Vseen"] = seen
        value, by = run.gradient(steps)
        return value, np.array([by[name] for name in NAMES]) * SCALE

    found = minimize(off, np.array(START) / SCALE, jac=True, method="L-BFGS-B", bounds=[(0.1, 10), (0.1, 10), (0.1, 2.4), (0.1, 2.4)],
                     options=dict(maxiter=15 if options.quick else 60, ftol=1e-14))
    for name, value, true in zip(NAMES, found.x * SCALE, TRUTH):
        print(f"{name}: {value:.5f}, in truth {true}")
    print(f"off by {found.fun:.3g} after {found.nfev} gradients")


if __name__ == "__main__":
    main()
