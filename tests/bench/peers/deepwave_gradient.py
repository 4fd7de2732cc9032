#!/usr/bin/env python3
"""A gradient beside Deepwave's on the CPU: acoustic waves in 2-D, order 8, f64 and f32, half the sum of squares at receivers by the speed at each point.
`deepwave_gradient.py [N] [STEPS]`: needs the packages deepwave (0.1.0), torch and stc. Neither has a layer, and waves do not come back from an edge within
the steps: where Deepwave's edges lie differs from stc's."""
import math, sys, warnings

import numpy as np
import deepwave, torch
import stc

warnings.filterwarnings("ignore", message="deepwave: zero-width")      # its edges reflect, as those of a field that is 0 beyond them do
N, STEPS = (int(a) for a in (sys.argv[1:] + ["160", "300"][len(sys.argv) - 1:]))
H, DT, FREQUENCY, RECEIVERS = 10.0, 0.001, 25.0, 40

PROGRAM = """
param N, steps, nt = steps, nr, sz, sx, h : real = 10, dt : real = 0.001;
param source[nt] : real, rz[nr] : i32, rx[nr] : i32;
grid  G = [0 .. N-1, 0 .. N-1], steps;
field p : real on G outside 0 history 1;
field v : real on G input;
const c[5] = {-205.0/72, 8.0/5, -1.0/5, 8.0/315, -1.0/560};
op lap(X) = 2 * c[0] * X + sum(r in 1 .. 4) c[r] * (X[-r,0] + X[r,0] + X[0,-r] + X[0,r]);
init still(p)[G] = 0;
stencil wave(p)[G] = 2 * p - p@1 + (v * dt / h) * (v * dt / h) * lap(p);
inject shot(p) += v * dt * (v * dt) * (if step < nt then source[step] else 0) at [sz, sx];
loss j += 0.5 * p * p at [rz, rx] every 1;
gradient j to v;
"""


def speeds():
    z, x = np.mgrid[0:N, 0:N]
    return np.where(2 * z < N + x // 4, 1500.0, 2500.0)


def places():
    return N // 2, N // 2, np.full(RECEIVERS, N // 2 - 20), N // 2 - RECEIVERS // 2 + np.arange(RECEIVERS)


def wavelet():
    a = (math.pi * FREQUENCY * (np.arange(STEPS) * DT - 1.5 / FREQUENCY)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def by_deepwave(real):
    sz, sx, rz, rx = places()
    v = torch.tensor(speeds(), dtype=getattr(torch, "float64" if real == "f64" else "float32"), requires_grad=True)
    w = torch.tensor(wavelet(), dtype=v.dtype)[None, None, :]
    seen = deepwave.scalar(v, H, DT, source_amplitudes=w, source_locations=torch.tensor([[[sz, sx]]]), accuracy=8, pml_width=0, pml_freq=FREQUENCY, max_vel=2500.0,
                           receiver_locations=torch.tensor(np.stack([rz, rx], 1)[None]))[-1]
    j = 0.5 * (seen ** 2).sum()
    j.backward()
    return j.item(), v.grad.numpy().astype(np.float64), seen.detach().numpy()[0].T


def by_stc(real):
    """Deepwave sees what is there before each of its steps."""
    sz, sx, rz, rx = places()
    run = stc.compile(PROGRAM, real=real).plan(device="host", N=N, steps=STEPS - 1, nt=STEPS, nr=RECEIVERS, sz=sz, sx=sx)
    run["source"], run["rz"], run["rx"], run["v"] = wavelet(), rz, rx, speeds()
    j, g = run.gradient()
    return j, g["v"].astype(np.float64)


def main():
    print(f"deepwave {deepwave.__version__}, torch {torch.__version__}, {N} x {N}, {STEPS} steps, {RECEIVERS} receivers")
    worst = 0.0
    for real in "f64", "f32":
        (j, g, seen), (k, s) = by_deepwave(real), by_stc(real)
        value, norm = abs(k / j - 1), np.linalg.norm(s - g) / np.linalg.norm(g)
        most = abs(s - g).max() / abs(g).max()
        worst = max(worst, value, norm, most)
        print(f"{real}: value {j:.9g} and {k:.9g}, relative difference {value:.2g}; gradient {norm:.2g} in the 2-norm, {most:.2g} at the worst point", flush=True)
    return int(worst > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
