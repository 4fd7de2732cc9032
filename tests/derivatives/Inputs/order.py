"""order.py STC: on grids that are refined by two, derivatives of a sine differ from its derivatives by what their order says, and staggered sound waves from the standing wave that they are.

Each case of a program is a reduction, which the log has: the largest difference from the formula. Between the grids it falls by two to the power of the order."""
import csv
import math
import subprocess
import sys
import tempfile

# Each derivative: its number, order, place in halves, side, and the points of the coarse grid: few enough that what the weights leave out is more than what f64 rounds.
DERIVATIVES = [(n, order, half, side) for n in (1, 2, 3, 4) for order in (2, 4, 8) for half, side in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))]
DERIVATIVES += [(1, 16, 0, 0), (2, 16, 0, 0), (1, 16, 1, 0), (1, 12, 0, 1), (1, 4, 1, -1), (2, 4, -1, 1)]
FORMULA = ["sin", "cos", "-sin", "-cos", "sin"]


def derivatives(points):
    """A program in which the field D<i> is derivative <i> of a sine of period 1, and the reduction e<i> its largest error."""
    lines = [f"param N = {points};", "const tau = 6.283185307179586;", "let h : f64 = 1.0 / f64(N);", "grid G = [0 .. N-1], 1 spacing [h];",
             "field A : f64 on G input outside periodic;", "init a(A)[G] = sin(tau * coord(0));"]
    for i, (n, order, half, side) in enumerate(DERIVATIVES):
        where = (f", at {half}/2" if half else "") + (f", side {side}" if side else "")
        sign, name = ("-" if FORMULA[n][0] == "-" else ""), FORMULA[n].lstrip("-")
        lines += [f"field D{i} : f64 on G;", f"init z{i}(D{i})[G] = 0;", f"stencil d{i}(D{i})[G] = diff(A, 0, {n}, order {order}{where});",
                  f"reduce e{i} = max(abs(D{i} - ({sign}{math.tau ** n} * {name}(tau * (coord(0) + {half} * h / 2))))) over G every 1;"]
    return "\n".join(lines) + "\n"


def sound(points, order):
    """Pressure and velocity at staggered points and times, a standing wave in a periodic box; steps so short that only space counts."""
    return f"""
param N = {points};
let h : f64 = 1.0 / f64(N), k : f64 = 6.283185307179586, w : f64 = k * sqrt(f64(2));
const dt = 5e-5;
grid G = [0 .. N-1, 0 .. N-1], 1000 spacing [h, h] step dt;
field p, vx, vz : f64 on G outside periodic;
init start(p, vx, vz)[G] {{
  p = cos(k * coord(0)) * cos(k * coord(1));
  vz = -k / w * sin(k * (coord(0) + h / 2)) * cos(k * coord(1)) * sin(w * dt / 2);
  vx = -k / w * cos(k * coord(0)) * sin(k * (coord(1) + h / 2)) * sin(w * dt / 2);
}}
stencil velocity(vx, vz)[G] {{
  vz = vz - dt * diff(p, 0, order {order}, at 1/2);
  vx = vx - dt * diff(p, 1, order {order}, at 1/2);
}}
stencil pressure(p)[G] = p - dt * (diff(vz, 0, order {order}, at -1/2) + diff(vx, 1, order {order}, at -1/2));
reduce error = max(abs(p - cos(k * coord(0)) * cos(k * coord(1)) * cos(w * f64(step) * dt))) over G every 1000;
"""


def last_values(stc, text):
    """The values of all reductions when a program has run."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/p.stn", "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run([stc, "run", "-O0", "-freal=f64", "--quiet", f"--log={folder}/log.csv", f"{folder}/p.stn"], check=True)
        with open(f"{folder}/log.csv", encoding="utf-8") as f:
            return {name: float(value) for name, value in list(csv.DictReader(f))[-1].items() if name != "step"}


def check(name, coarse, fine, order):
    seen = math.log2(coarse / fine)
    print(f"{name}: {coarse:.2e} {fine:.2e}, order {seen:.2f}")
    if not order - 0.5 < seen < order + 0.9:
        sys.exit(f"{name} is of order {order}, but its error falls by two to the power {seen:.2f}")


def coarse_points(n, order, side):
    """Points of a period of which twice as many make an error that is still more than what f64 rounds."""
    if order > 8:
        return 8 if not side else 24
    if order > 4:
        return 24 if not side or n > 2 else 48
    return 96 if order == 2 or side else 48


def main(stc):
    grids = {points: last_values(stc, derivatives(points)) for points in (8, 16, 24, 48, 96, 192)}
    for i, (n, order, half, side) in enumerate(DERIVATIVES):
        points = coarse_points(n, order, side)
        coarse, fine = grids[points][f"e{i}"], grids[2 * points][f"e{i}"]
        check(f"derivative {n}, order {order}, at {half}/2, side {side}", coarse, fine, order)
    for order, points in ((2, 8), (4, 8), (6, 8), (8, 6)):
        coarse, fine = (last_values(stc, sound(n, order))["error"] for n in (points, 2 * points))
        check(f"sound, order {order}", coarse, fine, order)


main(sys.argv[1])
