#!/usr/bin/env python3
"""A field of more than 2^31 elements on a CUDA device: j2d5pt in f32 on 50000 x 50000.

  large.py [--device=cuda] [--extent=50000] STC

The initial values repeat every 1009 points, so after k steps the four corners of the large grid equal the corners of a small one whose extent is less by
a multiple of 1009, bit for bit; the small one is run by the reference. Naive, overlapped tiles, and what stc chooses. Exit status 1 if a value differs.
"""
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from batch import memory_folder
from words import option


BIG, CORNER, STEPS = int(option("extent", "50000")), 500, 27
SMALL = BIG - (BIG - 1500) // 1009 * 1009
EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "j2d5pt.stn")


def run(stc, device, n, out, options):
    """Runs the example on n x n points and writes its field."""
    command = [stc, "run", "--device=" + device, "--time", "-fno-contract", "-DN=%d" % n, "-DM=%d" % n, "--steps=%d" % STEPS, "--out", "A=" + out, *options, EXAMPLE]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    print(n, device, *options, done.stdout.strip(), flush=True)


def rows(path, n, first_row, first_column):
    """CORNER rows of CORNER values of an n x n float32 .npy file."""
    with open(path, "rb") as f:
        f.seek(8)
        start = 10 + struct.unpack("<H", f.read(2))[0]
        for i in range(CORNER):
            f.seek(start + 4 * ((first_row + i) * n + first_column))
            yield f.read(4 * CORNER)


def compare(big, small):
    """The number of corners that differ."""
    wrong = 0
    for bottom in (0, 1):
        for right in (0, 1):
            b = list(rows(big, BIG, bottom * (BIG - CORNER), right * (BIG - CORNER)))
            s = list(rows(small, SMALL, bottom * (SMALL - CORNER), right * (SMALL - CORNER)))
            same = b == s
            print("corner %s %s: %s" % ("bottom" if bottom else "top", "right" if right else "left", "equal" if same else "DIFFERS"))
            wrong += not same
    return wrong


def main():
    stc = [a for a in sys.argv[1:] if not a.startswith("--")][0]
    wrong = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", memory_folder(5 * BIG * BIG))) as folder:
        small, big = os.path.join(folder, "small.npy"), os.path.join(folder, "big.npy")
        run(stc, "ref", SMALL, small, [])
        for options in ([], ["-schedule=overlap", "-T=4"], ["-schedule=naive"]):
            run(stc, option("device", "cuda"), BIG, big, options)
            wrong += compare(big, small)
            os.remove(big)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
