#!/usr/bin/env python3
"""Stands in for ffmpeg: writes its words and the number of frames to the file named last. ENDS: it ends at once; FAILS: behind all frames."""
import os
import sys

if "ENDS" in os.environ:
    sys.exit(1)
data = sys.stdin.buffer.read()
width, height = map(int, sys.argv[sys.argv.index("-video_size") + 1].split("x"))
with open(sys.argv[-1], "w") as f:
    f.write(" ".join(sys.argv[1:]) + f" frames {len(data) / (3 * width * height)}\n")
sys.exit("FAILS" in os.environ)
