"""Is the water behind the wave of dam_break.stn as deep as Stoker says, to a hundredth, and is none lost? Argument: the .npy of h, on 5 x 400 points after 60 s."""
import ast
import math
import struct
import sys

data = open(sys.argv[1], "rb").read()
size = struct.unpack("<H", data[8:10])[0]
head = ast.literal_eval(data[10:10 + size].decode())
assert head["shape"] == (5, 400) and head["descr"] == "<f8", head
h = struct.unpack("<2000d", data[10 + size:])

def mismatch(x, g=9.81, high=10.0, low=2.0):
    """How much faster water of depth x moves behind the bore than behind the wave that runs up the valley."""
    return (x - low) * math.sqrt(g / 2 * (1 / x + 1 / low)) - 2 * (math.sqrt(g * high) - math.sqrt(g * x))

lo, hi = 2.0, 10.0
for _ in range(60):
    middle = (lo + hi) / 2
    lo, hi = (middle, hi) if mismatch(middle) < 0 else (lo, middle)
row = h[800:1200]
for x in (205, 215, 225):
    assert abs(row[x] / lo - 1) < 0.01, (x, row[x], lo)
assert row[60] == 10 and row[390] == 2, "a wave got too far"
assert abs(sum(h) / 5 / 2400 - 1) < 1e-12, "water was lost"
front = next(x for x in range(399, 0, -1) if row[x] > (lo + 2) / 2)
speed = math.sqrt(9.81 * lo * (lo + 2) / 2 / 2)
assert abs((front - 199.5) * 10 / 60 / speed - 1) < 0.03, (front, speed)
print(f"depth {row[215]:.3f}, by Stoker {lo:.3f}")
