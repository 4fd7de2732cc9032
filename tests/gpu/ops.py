#!/usr/bin/env python3
"""Every op on every type on a device against the simulator, whose arithmetic is the definition: edge values in all pairs.

  ops.py STC [DEVICE]

DEVICE is cuda (the default), hip or host. Correctly rounded ops must agree bit for bit (a NaN with any NaN), mathematical functions within 4 units in the
last place. Then conversions to f16 and bf16, of the numbers in the middle of two of them and beside these, where a second rounding shows: against the
nearest as integer arithmetic gives it, on the simulator and on the device. Prints a line for each op that differs and the totals; exit status 1 if one differs.
"""
import array
import fractions
import math
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from optable import arithmetic, inexact

REALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.75, 2.0, 3.0, -7.0, 10.0, 1e-3, -1e-5, 100.25, -1234.5, 65504.0, 1e10, -1e20, 3e38, 1e-40, -1e-42, 4.9e-324, 1.7e308,
         math.inf, -math.inf, math.nan, 0.1, -87.5, -90.0, -103.9, -740.0]
INTS = [0, 1, -1, 2, -2, 3, -3, 7, 10, 63, 64, 100, -100, 127, -128, 255, 32767, -32768, 65535, 2**31 - 1, -2**31, 1000000007, 2**63 - 1, -2**63, 2**40, -2**53 - 1, 5, -6, 1 << 20, -(1 << 52)]
COUNT = len(REALS) ** 2
CODE = {"bool": "b", "i32": "i", "u32": "I", "i64": "q", "f32": "f", "f64": "d"}
NPY = {"bool": "|b1", "i32": "<i4", "u32": "<u4", "i64": "<i8", "f32": "<f4", "f64": "<f8"}
# Of f16 and bf16: binary digits, the exponent of the least number, bits of the fraction, all as bits of the exponent and none of the fraction.
NARROW = {"f16": (11, -24, 10, 0x7c00), "bf16": (8, -133, 7, 0x7f80)}
WIDE = {"bool": "b", "i8": "b", "i16": "h", "u8": "B", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "f32": "f", "f64": "d"}
FUNCTIONS = inexact()


def ops_of(t):
    """(name, operand types, result type) of all ops on type `t`."""
    ops = [("convert", [t], u) for u in CODE] + [("select", ["bool", t, t], t)]
    if t == "bool":
        return ops + [(o, [t] * n, t) for o, n in arithmetic("BOOLS", True) + arithmetic("ALIKE", True)]
    ops += [(o, [t] * n, t) for o, n in arithmetic("NUMBERS")]
    ops += [(o, [t] * n, "bool") for o, n in arithmetic("ALIKE", True) + arithmetic("NUMBERS", True)]
    ops += [(o, [t] * n, t) for o, n in arithmetic("FLOATS" if t[0] == "f" else "INTEGERS")]
    return ops


def rounded(x, t):
    """The value `x` as one of type `t`."""
    if t == "f32":
        try:
            return struct.unpack("f", struct.pack("f", x))[0]
        except OverflowError:
            return math.copysign(math.inf, x)
    if t == "f64":
        return x
    bits = {"bool": 1, "i32": 32, "u32": 32, "i64": 64}[t]
    x &= (1 << bits) - 1
    return x - (1 << bits) if bits > 1 and t[0] == "i" and x >> (bits - 1) else x


def operands(t, which):
    """Operand array number `which` of type `t`: together the first two hold all pairs of values."""
    values, n = (REALS if t[0] == "f" else INTS), len(REALS)
    pick = [lambda i: i % n, lambda i: i // n, lambda i: (7 * i + i // n) % n][which]
    return array.array(CODE[t], [rounded(values[pick(i)], t) for i in range(COUNT)])


def write_npy(path, values, descr):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (descr, len(values))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


def read_npy(path, code):
    with open(path, "rb") as f:
        data = f.read()
    values = array.array(code)
    values.frombytes(data[10 + struct.unpack("<H", data[8:10])[0]:])
    return values


def narrow_value(bits, u):
    """The positive number of the narrow type `u` with these bits, infinity as what would come behind the greatest."""
    digits, least, fraction, _ = NARROW[u]
    e, m = bits >> fraction, bits & ((1 << fraction) - 1)
    return fractions.Fraction(m if e == 0 else m | 1 << fraction) * fractions.Fraction(2) ** (least + max(e - 1, 0))


def narrow_bits(x, u):
    """The bits of the number of type `u` that is nearest to the int or float `x`, of two the even one; NaN: None."""
    digits, least, fraction, infinity = NARROW[u]
    sign = 0x8000 if x < 0 or isinstance(x, float) and math.copysign(1, x) < 0 else 0
    if x != x or math.isinf(x):
        return None if x != x else sign | infinity
    up, down = abs(x).as_integer_ratio()
    e = max(up.bit_length() - down.bit_length() - digits, least)
    while e > least and up << max(-e, 0) < down << (digits - 1 + max(e, 0)):
        e -= 1
    while up << max(-e, 0) >= down << (digits + max(e, 0)):
        e += 1
    q, rest = divmod(up << max(-e, 0), down << max(e, 0))
    unit = down << max(e, 0)
    q += 2 * rest > unit or 2 * rest == unit and q & 1
    return sign | min(((e - least) << fraction) + q, infinity)


def as_type(x, t):
    """The fraction `x` as a number of type `t` and, if it is none, those on both sides of it; none that overflow."""
    if t[0] != "f":
        bits, low = 1 if t == "bool" else int(t[1:]), math.floor(x)
        low_end, high_end = (0, (1 << bits) - 1) if t[0] in "bu" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        return [n for n in (low - 1, low, low + 1, low + 2) if low_end <= n <= high_end]
    try:
        near = rounded(float(x), t)
    except OverflowError:
        return []
    if math.isinf(near):
        return []
    code, whole = ("f", "i") if t == "f32" else ("d", "q")
    bits = struct.unpack(whole, struct.pack(code, near))[0]
    around = [struct.unpack(code, struct.pack(whole, bits + k))[0] for k in (-1, 0, 1) if bits & 0x7fffffff or k >= 0]
    return [v for v in around if v == v]


def narrow_operands(t, u):
    """Numbers of type `t` to convert to `u`: all of the small integer types; else edges, and what is about the middles of neighbours of type `u`."""
    if t in ("bool", "i8", "i16", "u8", "u16"):
        low, high = (0, 2) if t == "bool" else (0, 1 << int(t[1:])) if t[0] == "u" else (-(1 << int(t[1:]) - 1), 1 << int(t[1:]) - 1)
        return array.array(WIDE[t], range(low, high))
    values = [rounded(v, t) for v in (REALS if t[0] == "f" else INTS)]
    for bits in range(0, NARROW[u][3], 3 if t[0] == "f" else 1):
        low, high = narrow_value(bits, u), narrow_value(bits + 1, u)
        middle = (low + high) / 2 * (-1) ** (bits // 2)
        if t[0] == "f" or abs(middle) >= 1:
            values += as_type(middle, t)
            if t == "f64":
                values += [float(middle) * (1 + s * 2.0 ** -k) for s, k in ((1, 26 + bits % 25), (-1, 26 + bits % 25))]
    return array.array(WIDE[t], values)


def narrow_program(t, u, count, threads):
    """Kernel IR that converts field A of type `t` to field R of type `u`, and gives R's bits to none but the file."""
    return """kernel module "narrow" {
  grid [0 .. %(last)d] steps 1
  field @A : %(t)s on [0 .. %(last)d] input
  field @R : %(u)s on [0 .. %(last)d]
  buffer @A : @A copy 0
  buffer @R : @R copy 0
  kernel @k threads [%(threads)d] covers [%(count)d] by [%(threads)d] steps 1 {
    args (reads @A, writes @R)
    %%t = thread 0 : i32
    %%w = convert %%t : i64
    %%b = block 0 : i64
    %%s = const %(threads)d : i64
    %%m = mul %%b, %%s : i64
    %%g = add %%m, %%w : i64
    %%in = inside %%g in [0 .. %(last)d] : bool
    if %%in {
      %%x = load @A[%%g] : %(t)s
      %%r = convert %%x : %(u)s
      store %%r, @R[%%g]
    } else {
    }
  }
  host {
    steps 1 { launch @k }
  }
}
""" % {"t": t, "u": u, "count": count, "last": count - 1, "threads": threads}


def check_narrow(stc, device, folder, t, u, threads):
    """Converts from `t` to `u` on `device`; prints the first that is wrong. Are there any?"""
    values, descr = narrow_operands(t, u), {"i8": "|i1", "i16": "<i2", "u8": "|u1", "u16": "<u2"}
    want = [narrow_bits(v, u) for v in values]
    path, source, result = (os.path.join(folder, name) for name in ("narrow.kir", "A.npy", "R.npy"))
    with open(path, "w") as f:
        f.write(narrow_program(t, u, len(values), threads))
    write_npy(source, values, descr.get(t) or NPY[t])
    command = [stc, "run", "--quiet", "--device=" + device, "--steps=1", "--in", "A=" + source, "--in", "R=zero", "--out", "R=" + result, path]
    subprocess.run(command + (["-march=" + ("nvptx" if threads > 1 else "host")] if device == "sim" else []), check=True)
    got, infinity = read_npy(result, "H"), NARROW[u][3]
    wrong = [i for i in range(len(values)) if (got[i] != want[i] if want[i] is not None else got[i] & 0x7fff <= infinity)]
    if wrong:
        i = wrong[0]
        print("convert %s -> %s on %s: %d of %d wrong, first on %r: 0x%04x, expected 0x%04x" % (t, u, device, len(wrong), len(values), values[i], got[i], want[i] or 0))
    return bool(wrong)


def program(t, threads):
    """Kernel IR that applies every op of type `t` to inputs A, B, C (and Q of bool) and stores the results in fields R0, R1, ..."""
    inputs = [("A", t), ("B", t), ("C", t), ("Q", "bool")]
    ops = ops_of(t)
    fields = inputs + [("R%d" % i, op[2]) for i, op in enumerate(ops)]
    text = 'kernel module "ops" {\n  grid [0 .. %d] steps 1\n' % (COUNT - 1)
    for i, (name, u) in enumerate(fields):
        text += "  field @%s : %s on [0 .. %d]%s\n" % (name, u, COUNT - 1, " input" if i < 4 else "")
    text += "".join("  buffer @%s : @%s copy 0\n" % (name, name) for name, _ in fields)
    for i, (op, types, result) in enumerate(ops):
        names = ["Q", "A", "B"] if op == "select" else ["A", "B", "C"][:len(types)]
        reads = ", ".join("reads @" + n for n in sorted(names))
        text += "  kernel @k%d threads [%d] covers [%d] by [%d] steps 1 {\n    args (%s, writes @R%d)\n" % (i, threads, COUNT, threads, reads, i)
        text += "    %%t = thread 0 : i32\n    %%w = convert %%t : i64\n    %%b = block 0 : i64\n    %%s = const %d : i64\n" % threads
        text += "    %%m = mul %%b, %%s : i64\n    %%g = add %%m, %%w : i64\n    %%in = inside %%g in [0 .. %d] : bool\n    if %%in {\n" % (COUNT - 1)
        for n, u in zip(names, types):
            text += "      %%%s = load @%s[%%g] : %s\n" % (n, n, u)
        text += "      %%r = %s %s : %s\n      store %%r, @R%d[%%g]\n    } else {\n    }\n  }\n" % (op, ", ".join("%" + n for n in names), result, i)
    launches = "".join(" launch @k%d" % i for i in range(len(ops)))
    return text + "  host {\n    steps 1 {%s }\n  }\n}\n" % launches


def ulps(x, y, t):
    """Distance of two floats of type `t` in units in the last place of `y`."""
    if math.isnan(x) or math.isnan(y):
        return 0 if math.isnan(x) and math.isnan(y) else math.inf
    if x == y:
        return 0
    if math.isinf(x) or math.isinf(y):
        return math.inf
    digits, lowest = (24, -125) if t == "f32" else (53, -1021)
    return abs(x - y) / math.ldexp(1, max(math.frexp(y)[1], lowest) - digits)


def same(op, t, got, want):
    if t[0] != "f":
        return got == want
    if op in FUNCTIONS:
        return ulps(got, want, t) <= 4
    return math.isnan(got) and math.isnan(want) or struct.pack("d", got) == struct.pack("d", want)


def run(stc, device, folder, t, threads):
    """Runs the program of type `t`; the results of its ops."""
    path, ops = os.path.join(folder, "ops.kir"), ops_of(t)
    with open(path, "w") as f:
        f.write(program(t, threads))
    command = [stc, "run", "--quiet", "--device=" + device, "--steps=1"]
    if device == "sim":
        command.append("-march=" + ("nvptx" if threads > 1 else "host"))
    for which, name in enumerate("ABC"):
        write_npy(os.path.join(folder, name + ".npy"), operands(t, which), NPY[t])
    write_npy(os.path.join(folder, "Q.npy"), operands("bool", 2), NPY["bool"])
    for name in "ABCQ":
        command += ["--in", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    for i in range(len(ops)):
        command += ["--in", "R%d=zero" % i, "--out", "R%d=%s" % (i, os.path.join(folder, "R%d.npy" % i))]
    subprocess.run(command + [path], check=True)
    return [read_npy(os.path.join(folder, "R%d.npy" % i), CODE[op[2]]) for i, op in enumerate(ops)]


def compare(t, got, want):
    """Prints the first difference of each op; how many ops differ."""
    bad = 0
    for (op, types, result), g, w in zip(ops_of(t), got, want):
        wrong = [i for i in range(COUNT) if not same(op, result, g[i], w[i])]
        if wrong:
            i = wrong[0]
            x = [operands(u, n)[i] for n, u in enumerate(types)]
            print("%s %s -> %s: %d wrong, first on %s: %r, expected %r" % (op, t, result, len(wrong), x, g[i], w[i]))
        bad += bool(wrong)
    return bad


def main():
    stc, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cuda"
    threads, bad, count = (1 if device == "host" else 64), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for t in CODE:
            want = run(stc, "sim", folder, t, threads)
            bad += compare(t, run(stc, device, folder, t, threads), want)
            count += len(want)
        for t, u in ((t, u) for u in NARROW for t in WIDE):
            bad += any([check_narrow(stc, d, folder, t, u, threads) for d in ("sim", device)])
            count += 1
    print("%d ops on %s, %d differ" % (count, device, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
