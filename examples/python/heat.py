"""Heat in a plate with a hot edge: a program as text, a plan, views without copies.

    python heat.py [--device=cuda] [--quick] [--out=heat.npy]
"""
import argparse

import numpy as np

import stc

PROGRAM = """
param N = 512, M = 512;
grid  G = [0 .. N-1, 0 .. M-1], 1000;
field A : f32 on G;
reduce mean = sum(A) over G every 100;
stencil relax(A)[1 .. N-2, 1 .. M-2] = 0.25 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1]);
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    n = 64 if options.quick else 1024
    plate = np.zeros((n, n), np.float32)
    plate[0] = 100
    run = stc.compile(PROGRAM).plan(device=options.device, N=n, M=n)
    run["A"] = plate
    info = run(200 if options.quick else 20000, progress=not options.quick)
    result = np.asarray(run["A"])
    print(f"{run.schedule}: {info.gpts:.2f} GPts/s")
    for step, total in run.reductions["mean"][-3:]:
        print(f"step {step}: mean {total / n**2:.3f} degrees")
    if options.out:
        np.save(options.out, result)


if __name__ == "__main__":
    main()
