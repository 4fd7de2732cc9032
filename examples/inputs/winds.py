"""winds.py [FILE.npy]: the wind for oil_spill.stn while a cold front goes by: 13 frames, three hours apart, of 192 points eastwards, each with the speeds eastwards and
northwards in metres a second, f32."""
import math
import os
import sys

import npy

FRAMES, POINTS = 13, 192
BEFORE, BEHIND = (7.0, 8.0), (9.0, -10.0)       # from the south-west, and then from the north-west


def wind(frame, x):
    """At a time and place: the front crosses the sea in the time of all frames, and is some 20 points wide."""
    front = POINTS * (1.4 * frame / (FRAMES - 1) - 0.3)
    part = 0.5 - 0.5 * math.tanh((x - front) / 10)
    return [a + part * (b - a) for a, b in zip(BEFORE, BEHIND)]


values = [v for frame in range(FRAMES) for x in range(POINTS) for v in wind(frame, x)]
npy.write(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "winds.npy"), [FRAMES, 1, POINTS, 2], values)
