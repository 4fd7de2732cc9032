"""loaded.py STC EXAMPLES LOG: one step of each example on the stand-in for CUDA's driver, which writes LOG: how much PTX is compiled before it."""
import glob
import os
import re
import struct
import subprocess
import sys

stc, examples, log = sys.argv[1:]
depths = log + ".npy"
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (65,), }"
with open(depths, "wb") as f:
    f.write(b"\x93NUMPY\x01\x00\x76\x00" + header.ljust(117) + b"\n" + struct.pack("<65f", *range(65)))
ricker = ["--in", "source=%s/inputs/ricker.npy" % examples]
given = {
    "acoustic_wave": ricker,
    "frozen_ground": ["--in", "z=" + depths],
    "shot": ricker + ["--in", "sz=4", "--in", "sx=4", "--in", "rx=5"],
}
for path in sorted(glob.glob(examples + "/*.stn")):
    name = os.path.basename(path)[:-4]
    if os.path.exists(log):
        os.remove(log)
    subprocess.run([stc, "run", "--quiet", "--no-tune-db", "--device=cuda", "--steps=1", path] + given.get(name, []), check=True)
    sizes = [int(n) for n in re.findall(r"cuModuleLoadDataEx: (\d+) bytes", open(log).read())]
    print("%s: %d modules of %d bytes, %s" % (name, len(sizes), sum(sizes), "short" if 0 < len(sizes) <= 5 and sum(sizes) <= 450000 else "TOO LONG"))
