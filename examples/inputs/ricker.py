"""ricker.py [FILE.npy]: what a small charge does over time, for acoustic_wave.stn: a Ricker wavelet of 12 Hz, 300 values a thousandth of a second apart, f32."""
import math
import os
import sys

import npy

VALUES, SECONDS, HERTZ = 300, 0.001, 12


def ricker(t):
    """The second derivative of a Gauss curve, upside down, with its peak, 1, at t = 0."""
    a = (math.pi * HERTZ * t) ** 2
    return (1 - 2 * a) * math.exp(-a)


wavelet = [ricker(i * SECONDS - 1.2 / HERTZ) for i in range(VALUES)]
npy.write(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "ricker.npy"), [VALUES], wavelet)
