"""same_series.py LOG.csv LAUNCHED: does LAUNCHED, lines "PROBE STEP VALUE...", have what the log has of each probe, to the bit of an f32?"""
import csv
import struct
import sys

rows = list(csv.reader(open(sys.argv[1])))
f32 = lambda text: struct.pack("f", float(text))
logged = {}
for row in rows[1:]:
    for name, value in zip(rows[0][1:], row[1:]):
        if value:
            logged.setdefault((name.split("[")[0], int(row[0])), []).append(f32(value))
launched = {}
for line in open(sys.argv[2]):
    name, *words = line.split()
    if name != "steps":
        launched[name, int(words[0])] = [f32(w) for w in words[1:]]
assert logged == launched and len(logged) > 10, [k for k in {*logged, *launched} if logged.get(k) != launched.get(k)]
