"""foreign.py WAVE.so: runs the shared object that -emit=so made of foreign.stn by ctypes alone."""
import ctypes as c
import struct
import sys


class Params(c.Structure):
    _fields_ = [("N", c.c_int64), ("n", c.c_int64), ("total", c.c_double), ("until", c.c_double)]


library = c.CDLL(sys.argv[1])
library.foreign_defaults.restype = Params
for name in "foreign_size_U", "foreign_extent_U", "foreign_length_src":
    getattr(library, name).restype = c.c_int64
library.foreign_init.restype = library.foreign_run.restype = c.c_char_p
p = library.foreign_defaults()
at = c.byref(p)
print(library.foreign_extent_U(at, 0), library.foreign_length_src(at))
p.N = 30
size = library.foreign_size_U(at)
u, past, done = (c.c_double * size)(), (c.c_double * size)(), c.c_int64()
src = (c.c_double * 6)(*(0.5 * i for i in range(6)))
assert library.foreign_init(at, u, past, src) is None
assert library.foreign_run(at, c.c_int64(0), c.c_int64(20), u, past, src, c.byref(done)) is None
before = bytes(u) + bytes(past)
for first, steps in (-1, 20), (-5, 0), (0, -1), (40, -(1 << 63)), (1, (1 << 63) - 1), ((1 << 63) - 1, 1):
    answer = library.foreign_run(at, c.c_int64(first), c.c_int64(steps), u, past, src, c.byref(done))
    want = b"first_step is negative" if first < 0 else b"steps is negative" if steps < 0 else b"first_step + steps is too large"
    assert answer and answer.startswith(want), (first, steps, answer)
assert bytes(u) + bytes(past) == before
print(done.value, struct.unpack("q", struct.pack("d", p.total))[0], struct.unpack("q", struct.pack("d", u[3 * 30 + 5]))[0])
