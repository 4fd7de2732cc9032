"""columns.py STC: random tridiagonal systems, diagonally dominant, in the columns of every dimension of grids of every rank, solved by a sweep up and one down, or the other way round, in f32 and f64.

The oracle is the system itself: each row of it is met by what was solved for, to a few roundings of its terms, in Python's floats; and by a solution made beforehand, to what the
system's dominance allows. The devices agree with the reference to the bit.
"""
import os
import random
import struct
import subprocess
import sys

STC, EXTENT = sys.argv[1], "KNM"


def save(path, values, shape, code):
    head = f"{{'descr': '<f{8 if code == 'd' else 4}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{code}", *values))


def load(path, n, code):
    with open(path, "rb") as f:
        data = f.read()
    return struct.unpack(f"<{n}{code}", data[10 + struct.unpack("<H", data[8:10])[0]:])


def program(rank, d, sign, type):
    """Thomas's algorithm: `out` goes along dimension d and eliminates, `home` comes back and solves."""
    at = lambda o: "[" + ", ".join(str(o if e == d else 0) for e in range(rank)) + "]"
    out, home = ("up", "down") if sign > 0 else ("down", "up")
    region = ", ".join(f"0 .. {EXTENT[e]}-1" for e in range(rank))
    return f"""param {", ".join(EXTENT[:rank])};
grid G = [{region}], 1;
field near, mid, far : {type} on G input;   // the factors of the unknown behind, at and ahead of the point, as `out` goes
field x : {type} on G;
field c, y : {type} temp on G;
sweep out(c, y)[G] along {d} {out} {{
  first {{ c = far / mid; y = x / mid; }}
  next {{
    let m = mid - near * c{at(-sign)};
    c = far / m;
    y = (x - near * y{at(-sign)}) / m;
  }}
}}
sweep home(x)[G] along {d} {home} {{ first = y; next = y - c * x{at(sign)}; }}
"""


def system(r, sizes, d, code):
    """Factors, right side and solution, rounded to the type, by point."""
    n = 1
    for s in sizes:
        n *= s
    narrow = (lambda v: v) if code == "d" else lambda v: struct.unpack("<f", struct.pack("<f", v))[0]
    near, far = ([narrow(r.uniform(-1, 1)) for _ in range(n)] for _ in range(2))
    mid = [narrow(r.choice([-1, 1]) * (abs(a) + abs(b) + r.uniform(0.5, 2))) for a, b in zip(near, far)]
    return n, near, mid, far, [narrow(r.uniform(-3, 3)) for _ in range(n)]


def solve(seed, rank, d, sign, type, layers):
    r, code = random.Random(seed), "d" if type == "f64" else "f"
    sizes = [layers if e == d else r.choice([1, 2, 3, 5]) for e in range(rank)]
    stride = 1
    for s in sizes[d + 1:]:
        stride *= s
    n, near, mid, far, rhs = system(r, sizes, d, code)
    with open("solve.stn", "w") as f:
        f.write(program(rank, d, sign, type))
    for name, values in ("near", near), ("mid", mid), ("far", far), ("x", rhs):
        save(f"{name}.npy", values, sizes, code)
    given = [w for name in ("near", "mid", "far", "x") for w in ("--in", f"{name}={name}.npy")] + [f"-D{EXTENT[e]}={sizes[e]}" for e in range(rank)]
    devices = [["--device=ref"], ["--device=host", "-O0"]] + [["--device=sim", "-march=nvptx", "-mcpu=sm_90a"]] * (n < 2000)
    for k, device in enumerate(devices):
        subprocess.run([STC, "run", "--quiet", "-fno-contract", *device, *given, "--out", f"x=out{k}.npy", "solve.stn"], check=True)
        with open("out0.npy", "rb") as f, open(f"out{k}.npy", "rb") as g:
            assert f.read() == g.read(), (device, seed, rank, d, sign, type, layers)
    x, eps = load("out0.npy", n, code), 2.0 ** (-52 if code == "d" else -23)
    for i in range(n):
        k = i // stride % layers
        behind, ahead = k - sign, k + sign
        terms = [mid[i] * x[i], -rhs[i]]
        terms += [near[i] * x[i - sign * stride]] if 0 <= behind < layers else []
        terms += [far[i] * x[i + sign * stride]] if 0 <= ahead < layers else []
        assert abs(sum(terms)) <= 16 * eps * (sum(map(abs, terms)) + 1), (i, sum(terms), rank, d, sign, type, layers)


count = 0
for rank in (1, 2, 3):
    for d in range(rank):
        for sign in (1, -1):
            for type in ("f32", "f64") if rank == 2 else (("f32", "f64")[count % 2],):
                count += 1
                solve(count, rank, d, sign, type, [1, 2, 300, 3, 41, 97, 8][count % 7])
print(f"{count} systems")
