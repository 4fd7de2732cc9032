"""classic.py A.npy FOLDER: the frames of A.npy, f8, as array A of netCDF files of the formats before netCDF-4: with records, among other
arrays that have some, and alone (1.nc), (alone.nc); without (2.nc, 5.nc); as i2 (short.nc); without a number of records (streamed.nc);
packed (packed.nc); cut off (cut.nc); with a header of too few bytes (head.nc) and of text in place of A (text.nc)."""
import pathlib
import struct
import sys

raw = pathlib.Path(sys.argv[1]).read_bytes()
count, n = 4, 7
values = struct.unpack(f"<{count * n}d", raw[-8 * count * n:])
folder = pathlib.Path(sys.argv[2])
SIZES = {2: ("c", 1), 3: ("h", 2), 5: ("f", 4), 6: ("d", 8)}


def classic(version, records, code=6, others=True, numrecs=count, attributes=()):
    """Bytes of such a file; code: the type of A."""
    length = (lambda x: struct.pack(">q", x)) if version == 5 else (lambda x: struct.pack(">i", x))
    name = lambda s: length(len(s)) + s.encode() + bytes(-len(s) % 4)
    listed = lambda tag, items: struct.pack(">i", tag) + length(len(items)) + b"".join(items) if items else bytes(4) + length(0)
    letter, size = SIZES[code]
    text = listed(12, [name("title") + struct.pack(">i", 2) + length(5) + b"a b c\0\0\0"])
    own = listed(12, [name(a) + struct.pack(">i", 5) + length(1) + struct.pack(">f", 2) for a in attributes])
    arrays = [("before", 3, [0, 2], 3, 2)] if others else []
    arrays += [("A", code, [0, 1], n, size)] + ([("alone", 5, [2], 3, 4), ("after", 5, [0], 1, 4)] if others else [])
    each = lambda k, s: (k * s + 3) // 4 * 4 if others else k * s       # bytes of a record
    total = sum(each(k, s) for _, _, d, k, s in arrays if d[0] == 0)

    def header(begins):
        lengths = [0 if records else count, n, 3]
        h = b"CDF" + bytes([version]) + (struct.pack(">q", numrecs) if version == 5 else struct.pack(">I", numrecs & 0xffffffff))
        h += listed(10, [name(x) + length(k) for x, k in zip(("time", "x", "three"), lengths)]) + text
        place = lambda at: struct.pack(">i" if version == 1 else ">q", at)
        return h + listed(11, [name(x) + length(len(d)) + b"".join(map(length, d)) + (own if x == "A" else listed(12, [])) +
                               struct.pack(">i", c) + length(each(k, s)) + place(at) for (x, c, d, k, s), at in zip(arrays, begins)])

    at, begins = len(header([0] * len(arrays))), []
    for x, _, d, k, s in arrays:                        # what has no records comes first
        if d[0] != 0 or not records:
            begins.append(at)
            at += (k * s * (count if d[0] == 0 else 1) + 3) // 4 * 4
        else:
            begins.append(None)
    first = at
    for i, (_, _, _, k, s) in enumerate(arrays):
        if begins[i] is None:
            begins[i] = at
            at += each(k, s)
    out = bytearray(header(begins)) + bytes(first + total * count * records - len(header(begins)))
    for (x, _, d, k, s), at in zip(arrays, begins):
        for j in range(count if x == "A" else 0):
            here = [int(v) if code == 3 else v for v in values[j * n:(j + 1) * n]]
            place = at + j * (total if records else k * s)
            out[place:place + k * s] = struct.pack(f">{n}{letter}", *here) if code != 2 else bytes(n)
    return bytes(out)


for name, bytes_ in (("1", classic(1, True)), ("alone", classic(1, True, others=False)), ("2", classic(2, False)), ("5", classic(5, False)),
                     ("rec5", classic(5, True)), ("short", classic(2, True, code=3, others=False)), ("streamed", classic(2, True, numrecs=-1)),
                     ("packed", classic(1, False, attributes=("scale_factor",))), ("cut", classic(2, True)[:-20]),
                     ("head", classic(2, True)[:100]), ("text", classic(1, True, code=2))):
    (folder / f"{name}.nc").write_bytes(bytes_)
