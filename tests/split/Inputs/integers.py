"""integers.py FILE.npy i4|i8 NUMBER...: writes an array of integers."""
import struct
import sys

path, kind, *numbers = sys.argv[1:]
header = ("{'descr': '<%s', 'fortran_order': False, 'shape': (%d,), }" % (kind, len(numbers))).ljust(117) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack("<%d%s" % (len(numbers), "i" if kind == "i4" else "q"), *map(int, numbers)))
