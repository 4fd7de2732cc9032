"""pictures.py FILE.png WIDTH HEIGHT grey|colours [interlaced]: writes a picture, grey of 16 bits or colours of 8, whose pixels all differ a little; interlaced by Adam7."""
import struct
import sys
import zlib

path, width, height, kind, *interlaced = sys.argv[1:]
width, height = int(width), int(height)
passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)] if interlaced else [(0, 0, 1, 1)]


def pixel(x, y):
    return struct.pack(">H", (x * 977 + y * 31) % 65536) if kind == "grey" else bytes(((x * 7 + y) % 256, (x + y * 5) % 256, x * y % 256))


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(x0, width, dx)) for x0, y0, dx, dy in passes for y in range(y0, height, dy) if x0 < width)
head = struct.pack(">IIBBBBB", width, height, 16 if kind == "grey" else 8, 0 if kind == "grey" else 2, 0, 0, len(passes) > 1)
with open(path, "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
