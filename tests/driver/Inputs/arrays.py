"""arrays.py [FILE.npy TYPE VALUE...]...: writes arrays of one dimension of type i2, i4, i8, f4 or f8."""
import struct
import sys

CODES = {"i2": "h", "i4": "i", "i8": "q", "f4": "f", "f8": "d"}


def write(path, type, values):
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': (%d,), }" % (type, len(values))
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%d%s" % (len(values), CODES[type]), *values))


words = sys.argv[1:]
while words:
    end = next((i for i in range(1, len(words)) if words[i].endswith(".npy")), len(words))
    write(words[0], words[1], [float(v) if words[1][0] == "f" else int(v) for v in words[2:end]])
    words = words[end:]
