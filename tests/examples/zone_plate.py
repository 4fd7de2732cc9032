"""Is the light of zone_plate.stn along the row of the focus what the integral of Rayleigh and Sommerfeld makes of the open zones, with the wavelengths of the grid? Arguments: the .npy file of `light`, M, far, zones. On a grid waves are a little longer or shorter by the way they go: sin(kx / 2)^2 + sin(kz / 2)^2 = (sin(w / 2) / 0.7)^2 for the difference equation."""
import ast
import cmath
import math
import struct
import sys


def load(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - 10 - size) // 8}d", data[10 + size:])


def wave_number(across, along):
    """The k of a wave that goes in this direction, by Newton's method."""
    k = 0.374
    for _ in range(9):
        off = math.sin(k * along / 2) ** 2 + math.sin(k * across / 2) ** 2 - (math.sin(math.pi / 24) / 0.7) ** 2
        k -= off / (0.5 * along * math.sin(k * along) + 0.5 * across * math.sin(k * across))
    return k


def wave(x, far):
    """What a point of the plate sends to one that is `x` beside it in the row of the focus: Hankel's function of order 1, far from 0."""
    r = math.hypot(far, x)
    a = wave_number(x / r, far / r) * r
    return 0.5j * a * far / r ** 2 * cmath.sqrt(2 / (math.pi * a)) * cmath.exp(1j * (a - 0.75 * math.pi)) * (1 + 3j / (8 * a) + 15 / (128 * a * a))


M, far, zones = map(int, sys.argv[2:])
row = load(sys.argv[1])[far * M:(far + 1) * M]
plate = [(math.sqrt(x * x + far * far) - far) / 8.4 for x in range(-(M // 2), M // 2 + 1)]
shone = [x - M // 2 for x, zone in enumerate(plate) if zone < zones and int(zone) % 2 == 0]
exact = [abs(sum(wave(x - o, far) for o in shone)) ** 2 for x in range(-60, 61)]
off = max(abs(row[x + M // 2] - e) for x, e in zip(range(-60, 61), exact))
print(f"focus {row[M // 2]:.4f} for {exact[60]:.4f}, off {off:.4f}")
assert off < 0.015 * max(exact) and row[M // 2] == max(row) and row[M // 2] > 3, (off, max(exact))
print("shines")
