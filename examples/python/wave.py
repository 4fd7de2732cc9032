"""A wave from a source whose signal NumPy makes, recorded at a line of receivers: launch-time arrays, older levels of a field.

    python wave.py [--device=cuda] [--quick] [--out=seismogram.npy]
"""
import argparse

import numpy as np

import stc

PROGRAM = """
param N = 256, M = 256, steps = 1000, at = 32;
param src[steps] : f32;
grid  G = [0 .. N-1, 0 .. M-1], 1000;
field u : f32 on G outside 0 history 1;
field c2 : f32 on G input;
op lap(X) = X[-1,0] + X[1,0] + X[0,-1] + X[0,1] - 4 * X;
stencil wave(u)[G] = 2 * u - u@1 + c2 * lap(u) + (if idx(0) == at && idx(1) == M / 2 then src[step] else 0);
"""


def ricker(n, frequency):
    """A Ricker wavelet of n samples, its peak after 1 / frequency of them."""
    t = np.pi * frequency * (np.arange(n) - 1.5 / frequency)
    return (1 - 2 * t**2) * np.exp(-t**2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    n, steps, every = (96, 120, 4) if options.quick else (512, 1600, 4)
    speed2 = np.full((n, n), 0.1, np.float32)
    speed2[n // 2:] = 0.3
    run = stc.compile(PROGRAM).plan(device=options.device, N=n, M=n, steps=steps, at=n // 8)
    run["src"] = ricker(steps, 0.04)
    run["c2"], run["u"], run["u@1"] = speed2, 0, 0
    seismogram = []
    for _ in range(steps // every):
        run(every)
        seismogram.append(np.asarray(run["u"])[n // 8].copy())
    seismogram = np.array(seismogram)
    print(f"{seismogram.shape[0]} samples at {seismogram.shape[1]} receivers, largest {np.abs(seismogram).max():.3f}")
    if options.out:
        np.save(options.out, seismogram)


if __name__ == "__main__":
    main()
