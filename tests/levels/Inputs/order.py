"""order.py STC PROGRAM: solves Poisson's equation by capacitor.stn with a charge whose potential is known, u = sin(pi x) sin(2 pi y) sin(3 pi z), on 32 and 64 points a side. The error falls to a
quarter, the residual to 1e-9 in at most 12 V(2,2) cycles, each of which takes it to a sixth at least."""
import array
import csv
import math
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "packaging/site"))
import gallery


def potential(n):
    wave = [[math.sin(k * math.pi * (i + 0.5) / n) for i in range(n)] for k in (1, 2, 3)]
    return [x * y * z for x in wave[0] for y in wave[1] for z in wave[2]]


def rounds(log):
    return float(list(csv.DictReader(open(log)))[-1]["cycle.rounds"])


def error(stc, program, n):
    """The largest error on n points a side, and the cycles to two tolerances."""
    exact = potential(n)
    gallery.write_npy(Path("b.npy"), "<f8", (n, n, n), array.array("d", [-14 * math.pi ** 2 * u for u in exact]))
    cycles = []
    for tol in "1e-3", "1e-9":
        subprocess.run([stc, "run", "--quiet", "-O0", f"-DN={n}", f"-Dtol={tol}", "--in", "b(0)=b.npy", "--out", "u(0)=u.npy", "--log=log.csv", program], check=True)
        cycles.append(rounds("log.csv"))
    return max(abs(u - v) for u, v in zip(exact, gallery.read_npy(Path("u.npy")))), cycles


def main(stc, program):
    (coarse, few), (fine, many) = error(stc, program, 32), error(stc, program, 64)
    print(f"errors {coarse:.3e} {fine:.3e}, cycles {few} {many}")
    assert 3.9 < coarse / fine < 4.1 and max(few + many) <= 12
    assert all(1e6 ** (1 / (b - a)) > 6 for a, b in (few, many))


main(*sys.argv[1:])
