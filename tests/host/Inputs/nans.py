"""nans.py A.npy B.npy: files of 121 f32, all pairs of zeros, numbers, infinities and NaNs, signalling ones among them."""

import struct
import sys

WORDS = [0, 1 << 31, 0x3F800000, 0xC0000000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0xFFA00000, 0x7F800000, 0xFF800000, 1]
N = len(WORDS)
for name, words in zip(sys.argv[1:], ([w for w in WORDS for _ in WORDS], WORDS * N)):
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(words)
    head = head.ljust(117) + b"\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<%dI" % len(words), *words))
