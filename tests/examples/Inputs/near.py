"""near.py A.npy B.npy: fails unless both hold the same number of f32 values, and these differ by less than 1e-5 (the mathematical functions differ between machines)."""
import array
import sys


def read(path):
    """Header and values of a .npy file of version 1."""
    with open(path, "rb") as f:
        bytes = f.read()
    start = 10 + int.from_bytes(bytes[8:10], "little")
    return bytes[:start], array.array("f", bytes[start:])


(header_a, a), (header_b, b) = read(sys.argv[1]), read(sys.argv[2])
if header_a != header_b or len(a) != len(b) or not all(abs(x - y) < 1e-5 for x, y in zip(a, b)):
    sys.exit("%s and %s differ" % (sys.argv[1], sys.argv[2]))
