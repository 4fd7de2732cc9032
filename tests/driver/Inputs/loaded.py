"""loaded.py STC EXAMPLES LOG: one step of each example on the stand-in for CUDA's driver, which writes LOG: how much PTX is compiled
before it, and which kernels are compiled that it does not launch."""
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
for path in sorted(glob.glob(examples + "/*.stn")) + [examples + "/sciences/blast.stn", examples + "/sciences/capacitor.stn"]:
    name = os.path.basename(path)[:-4]
    if os.path.exists(log):
        os.remove(log)
    subprocess.run([stc, "run", "--quiet", "--no-tune-db", "--device=cuda", "--steps=1", path] + given.get(name, []), check=True)
    said = open(log).read()
    sizes = [int(n) for n in re.findall(r"cuLibraryLoadData: (\d+) bytes", said)]
    idle = set(re.findall(r"^loads (\S+)", said, re.M)) - set(re.findall(r"launch (\S+) grid", said))
    short = 0 < len(sizes) <= 9 and sum(sizes) <= (480000 if name == "capacitor" else 140000)
    print("%s: %d modules of %d bytes, %s, not launched: %s" % (name, len(sizes), sum(sizes), "short" if short else "TOO LONG", " ".join(sorted(idle)) or "none"))
