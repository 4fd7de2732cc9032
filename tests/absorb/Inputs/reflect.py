"""reflect.py STC PROGRAM FIELD SPEED STEPS PEAK BOUND N=n,M=m,...,sz=z,...,W=w[,surface] [OPTION...]: what comes back from layers of w points. The program has extents N, M, L and a
source at sz, sy, sx (in order of dimensions: as many as there are extents). Its field between the layers is compared with that on a grid so wide that nothing comes back in STEPS
steps, SPEED being in points a step; surface: dimension 0 has no layer at its lower side, and is not made wider there. The largest difference must be below BOUND dB of the largest
value after PEAK steps, and that of layers which do nothing, -Dreflection=1 and -Dkappa=1, above -40 dB, so that the bound says something."""
import itertools
import math
import struct
import subprocess
import sys

stc, program, field, speed, steps, peak, bound = *sys.argv[1:4], float(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]), float(sys.argv[7])
words, options = sys.argv[8].split(","), sys.argv[9:]
surface = "surface" in words
given = {name: int(value) for name, value in (w.split("=") for w in words if "=" in w)}
axes, W = [a for a in "NML" if a in given], given["W"]
sources = [s for s in given if s[0] == "s"]


def values(n, more, *others):
    """The field behind n steps, on a grid that is `more` points wider at each side: its values between the layers of the narrow grid."""
    below = [0 if surface and d == 0 else more for d in range(len(axes))]
    sizes = [given[a] + b + more for a, b in zip(axes, below)]
    defines = [f"-D{a}={n}" for a, n in zip(axes, sizes)] + [f"-D{s}={given[s] + b}" for s, b in zip(sources, below)]
    subprocess.run([stc, "run", "--quiet", "--device=host", "-O1", *defines, *others, f"--steps={n}", "--out", f"{field}=f.npy", *options, program], check=True)
    data = open("f.npy", "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    first = [b if surface and d == 0 else b + W for d, b in enumerate(below)]
    end = [size - more - W for size in sizes]
    found = []
    for row in itertools.product(*[range(a, b) for a, b in zip(first[:-1], end[:-1])]):
        at = 0
        for i, size in zip(row + (first[-1],), sizes):
            at = at * size + i
        found += struct.unpack_from(f"<{end[-1] - first[-1]}f", data, start + 4 * at)
    return found


wide = int(math.ceil(speed * steps / 2)) + 8
most = max(map(abs, values(peak, 0)))
narrow, far, hard = values(steps, 0), values(steps, wide), values(steps, 0, "-Dreflection=1", *["-Dkappa=1"] * ("param kappa" in open(program).read()))
back, undamped = (20 * math.log10(max(abs(x - y) for x, y in zip(f, far)) / most) for f in (narrow, hard))
print(f"{program}: {back:.1f} dB of the largest value come back, {undamped:.1f} without damping")
assert back < bound and undamped > -40, (back, undamped)
