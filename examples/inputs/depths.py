"""depths.py [FILE.npy]: depths below the ground for frozen_ground.stn: 65 points, at the surface 0.2 m apart, and 6 % further from each to the next, f32."""
import os
import sys

import npy

POINTS, FIRST, GROWTH = 65, 0.2, 1.06

depths = [FIRST * (GROWTH ** i - 1) / (GROWTH - 1) for i in range(POINTS)]
npy.write(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "depths.npy"), [POINTS], depths)
