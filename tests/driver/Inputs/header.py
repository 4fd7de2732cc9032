"""header.py FILE.npy DESCR SHAPE BYTES: an array of zeros whose header says DESCR and SHAPE, with so many bytes of elements, whatever the header promises."""
import sys

path, descr, shape, size = sys.argv[1:]
header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
with open(path, "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(int(size)))
