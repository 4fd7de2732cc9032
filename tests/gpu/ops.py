#!/usr/bin/env python3
"""Every op on every type on a device against the simulator, whose arithmetic is the definition: edge values in all pairs.

  ops.py STC [DEVICE]

DEVICE is cuda (the default), hip or host. Correctly rounded ops must agree bit for bit (a NaN with any NaN), mathematical functions within 4 units in the
last place. Prints a line for each op that differs and the totals; exit status 1 if one differs.
"""
import array
import math
import os
import struct
import subprocess
import sys
import tempfile

REALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.75, 2.0, 3.0, -7.0, 10.0, 1e-3, -1e-5, 100.25, -1234.5, 65504.0, 1e10, -1e20, 3e38, 1e-40, -1e-42, 4.9e-324, 1.7e308,
         math.inf, -math.inf, math.nan, 0.1]
INTS = [0, 1, -1, 2, -2, 3, -3, 7, 10, 63, 64, 100, -100, 127, -128, 255, 32767, -32768, 65535, 2**31 - 1, -2**31, 1000000007, 2**63 - 1, -2**63, 2**40, -2**53 - 1]
COUNT = len(REALS) ** 2
CODE = {"bool": "b", "i32": "i", "i64": "q", "f32": "f", "f64": "d"}
NPY = {"bool": "|b1", "i32": "<i4", "i64": "<i8", "f32": "<f4", "f64": "<f8"}
BINARY, UNARY = "add sub mul div rem min max".split(), "neg abs".split()
COMPARISONS = "eq ne lt le gt ge".split()
FUNCTIONS = "exp log sin cos tan tanh pow".split()


def ops_of(t):
    """(name, operand types, result type) of all ops on type `t`."""
    ops = [("convert", [t], u) for u in CODE] + [("select", ["bool", t, t], t)]
    if t == "bool":
        return ops + [(o, [t, t], t) for o in ("and", "or", "eq", "ne")] + [("not", [t], t)]
    ops += [(o, [t, t], t) for o in BINARY] + [(o, [t], t) for o in UNARY] + [(o, [t, t], "bool") for o in COMPARISONS]
    if t[0] == "f":
        ops += [(o, [t], t) for o in "sqrt rsqrt floor ceil exp log sin cos tan tanh".split()]
        ops += [(o, [t, t], t) for o in ("pow", "copysign")] + [("fma", [t, t, t], t)]
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
    bits = {"bool": 1, "i32": 32, "i64": 64}[t]
    x &= (1 << bits) - 1
    return x - (1 << bits) if bits > 1 and x >> (bits - 1) else x


def operands(t, which):
    """Operand array number `which` of type `t`: together the first two hold all pairs of values."""
    values, n = (REALS if t[0] == "f" else INTS), len(REALS)
    pick = [lambda i: i % n, lambda i: i // n, lambda i: (7 * i + i // n) % n][which]
    return array.array(CODE[t], [rounded(values[pick(i)], t) for i in range(COUNT)])


def write_npy(path, t, values):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (NPY[t], COUNT)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


def read_npy(path, t):
    with open(path, "rb") as f:
        data = f.read()
    values = array.array(CODE[t])
    values.frombytes(data[10 + struct.unpack("<H", data[8:10])[0]:])
    return values


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
        write_npy(os.path.join(folder, name + ".npy"), t, operands(t, which))
    write_npy(os.path.join(folder, "Q.npy"), "bool", operands("bool", 2))
    for name in "ABCQ":
        command += ["--in", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    for i in range(len(ops)):
        command += ["--in", "R%d=zero" % i, "--out", "R%d=%s" % (i, os.path.join(folder, "R%d.npy" % i))]
    subprocess.run(command + [path], check=True)
    return [read_npy(os.path.join(folder, "R%d.npy" % i), op[2]) for i, op in enumerate(ops)]


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
    print("%d ops on %s, %d differ" % (count, device, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
