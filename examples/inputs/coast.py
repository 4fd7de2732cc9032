"""coast.py [FILE.png]: the chart for tides.stn, a grey picture of 200 by 120 points: white is water. The sea is on the left; a bay narrows to the right, with two
inlets that wind, and an island."""
import math
import os
import struct
import sys
import zlib

HEIGHT, WIDTH = 120, 200


def water(y, x):
    """Whether a point is water: between two shores that come nearer to each other, not on the island, or in one of the inlets."""
    upper = 8 + 3 * math.sin(x / 7) + 0.00055 * max(0, x - 30) ** 2
    lower = 112 + 3 * math.sin(x / 9 + 1) - 0.0004 * max(0, x - 20) ** 2
    bay = upper < y < lower and x < 165 + 8 * math.sin(y / 6)
    island = ((y - 48) / 9) ** 2 + ((x - 95) / 16) ** 2 < 1 + 0.2 * math.sin(y) * math.sin(x / 3)
    north = 90 < x < 150 and abs(y - (14 - 9 * math.sin(x / 11))) < 4 and y > 2
    south = 130 <= x < 190 and abs(y - (78 + 14 * math.sin((x - 130) / 14))) < 5
    return bay and not island or north or south


def chunk(kind, data):
    """A part of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


rows = b"".join(b"\0" + bytes(255 if water(y, x) else 0 for x in range(WIDTH)) for y in range(HEIGHT))
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "coast.png")
with open(path, "wb") as f:
    f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))
