"""eigen.py EIGENVALUES.npy RESIDUALS.npy: are these, at every point, the eigenvalues of a matrix that has them in closed form, and are no residuals left?"""
import struct
import sys


def values(path):
    """The doubles of a .npy file."""
    data = open(path, "rb").read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack("<%dd" % ((len(data) - begin) // 8), data[begin:])


KNOWN = [2 - 2 ** 0.5, 2, 2 + 2 ** 0.5]
found = values(sys.argv[1])
for point in range(0, len(found), 3):
    error = max(abs(x - y) for x, y in zip(sorted(found[point:point + 3]), KNOWN))
    assert error < 1e-14, found[point:point + 3]
left = values(sys.argv[2])
assert found and left and not any(left), left
print("%d points" % len(left))
