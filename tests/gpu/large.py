#!/usr/bin/env python3
"""A field of more than 2^31 elements on a CUDA device: j2d5pt in f32 on 50000 x 50000.

  large.py STC

The initial values repeat every 1009 points, so after k steps the four corners of the large grid equal the corners of a small one whose extent is 50000
less a multiple of 1009, bit for bit; the small one is run by the reference. Exit status 1 if a value differs.
"""
import os
import struct
import subprocess
import sys
import tempfile

BIG, SMALL, CORNER, STEPS = 50000, 50000 - 47 * 1009, 500, 5
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
    stc = sys.argv[1]
    wrong = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as folder:
        small, big = os.path.join(folder, "small.npy"), os.path.join(folder, "big.npy")
        run(stc, "ref", SMALL, small, [])
        for options in (["-schedule=naive"], ["-schedule=overlap", "-T=4"]):
            run(stc, "cuda", BIG, big, options)
            wrong += compare(big, small)
            os.remove(big)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
