"""packed.py FOLDER: S.npy there holds packed points whose component c.1 is what c1.npy holds, and V.npy vectors whose component 0 is what v0.npy holds."""
import struct
import sys


def elements(name):
    b = open(sys.argv[1] + "/" + name, "rb").read()
    return b[10 + struct.unpack("<H", b[8:10])[0]:]


s, c1 = elements("S.npy"), elements("c1.npy")
assert len(s) == 30 * 22 and len(c1) == 30 * 8
points = [struct.unpack_from("<fddh", s, 22 * i) for i in range(30)]
assert [p[2] for p in points] == list(struct.unpack("<30d", c1))
assert all(0 <= p[0] < 1 and 0 <= p[1] < 1 and 0 <= p[3] < 100 for p in points) and len({p[1] for p in points}) == 30
v, v0 = elements("V.npy"), elements("v0.npy")
assert struct.unpack("<75f", v)[::3] == struct.unpack("<25f", v0)
assert all(0 <= x < 1 for x in struct.unpack("<30e", elements("H.npy")))
