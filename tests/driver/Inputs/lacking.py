"""Files of a row and of a column, with the dimension of one point and without it: FOLDER."""
import struct
import sys


def save(name, shape, numbers):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(numbers)}f", *numbers))


row, column = [0.5 + k / 8 for k in range(9)], [1.5 - k / 4 for k in range(6)]
save("row", (1, 9), row)
save("line", (9,), row)
save("columns", (6, 1), column)
save("numbers", (6,), column)
