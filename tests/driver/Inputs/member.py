"""member.py ALL.npy N ONE.npy [LOG.csv ONE.csv]: is member N of the array the other one, and are its columns of the log, which end in [N], the other log's?"""
import csv
import struct
import sys


def data(path):
    raw = open(path, "rb").read()
    return raw[10 + struct.unpack("<H", raw[8:10])[0]:]


def columns(path, end):
    rows = list(csv.reader(open(path)))
    return {name[:len(name) - len(end)]: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0]) if name.endswith(end)}


whole, one, n = data(sys.argv[1]), data(sys.argv[3]), int(sys.argv[2])
assert one and len(whole) % len(one) == 0 and whole[n * len(one):][:len(one)] == one, "another array"
if len(sys.argv) > 4:
    found, wanted = columns(sys.argv[4], f"[{n}]"), columns(sys.argv[5], "")
    assert found and all(wanted[name] == values for name, values in found.items()), (found, wanted)
