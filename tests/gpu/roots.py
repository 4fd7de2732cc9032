#!/usr/bin/env python3
"""Roots and quotients on a device against the CPU's, which round correctly (IEEE 754), bit for bit.

  roots.py STC [--device=DEV] [--seconds=N]

Needs numpy. f32: sqrt of all mantissas with both parities of the exponent, reciprocals of all of them and of their roots, quotients of random ones; f64: random ones; of both those hardest to round: roots, quotients, quotients by
roots and reciprocals of roots as near as can be to the middle between two numbers. Small, large and special values too (pass range-guards takes them another way). Takes --seconds (default 20), at least one round; exit status 1 if one differs.
"""
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

TEXT = """param N = 1000;
grid G = [0 .. N-1], 1;
field X, Y : real on G input;
field R, Q, I, S, T : real on G;
init zero(R, Q, I, S, T)[G] { R = 0.0; Q = 0.0; I = 0.0; S = 0.0; T = 0.0; }
stencil s(R, Q, I, S, T)[G] { R = sqrt(X); Q = Y / X; I = 1.0 / X; S = rsqrt(X); T = Y / sqrt(X); }
"""
RESULTS = {"R": "sqrt(x)", "Q": "y / x", "I": "1 / x", "S": "1 / sqrt(x)", "T": "y / sqrt(x)"}
ROUND = 1 << 22
BITS = {np.float32: np.uint32, np.float64: np.uint64}


def bits(x):
    """The bits of an array, those of all NaNs alike."""
    return np.where(np.isnan(x), np.nan, x).astype(x.dtype).view(BITS[x.dtype.type])


def run(stc, device, x, y):
    """What the device makes of arrays x and y of one type."""
    real = "f32" if x.dtype == np.float32 else "f64"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "roots.stn"), "w") as f:
            f.write(TEXT)
        np.save(os.path.join(folder, "x.npy"), x)
        np.save(os.path.join(folder, "y.npy"), y)
        command = [stc, "run", "--quiet", "--no-tune-db", "--device=" + device, "-fno-contract", "-schedule=naive", "-freal=" + real, "-DN=%d" % len(x), "--in", "X=x.npy", "--in", "Y=y.npy"]
        for name in RESULTS:
            command += ["--out", "%s=%s.npy" % (name, name)]
        subprocess.run(command + ["roots.stn"], cwd=folder, check=True)
        return [np.load(os.path.join(folder, name + ".npy")) for name in RESULTS]


def compare(stc, device, what, x, y):
    """How many results differ; the first of each kind is printed."""
    one, wrong = x.dtype.type(1), 0
    with np.errstate(all="ignore"):
        wanted = [np.sqrt(x), y / x, one / x, one / np.sqrt(x), y / np.sqrt(x)]
    for name, got, want in zip(RESULTS.values(), run(stc, device, x, y), wanted):
        differ = np.nonzero(bits(got) != bits(want))[0]
        wrong += len(differ)
        if len(differ):
            i = differ[0]
            print("%s: %s of x = %s, y = %s is %s, not %s; %d differ" % (what, name, float(x[i]).hex(), float(y[i]).hex(), float(got[i]).hex(), float(want[i]).hex(), len(differ)), flush=True)
    return wrong


def mantissas(random, t, n, exponents):
    """`n` random numbers of either sign with exponents in a range."""
    x = random.random(n).astype(t) + t(1)
    low = random.integers(0, 2, n).astype(t) * np.finfo(t).eps
    return np.ldexp(np.minimum(x + low, np.nextafter(t(2), t(1))), random.integers(*exponents, n)).astype(t) * np.where(random.random(n) < 0.5, t(1), t(-1))


def square_roots_of(c, k):
    """All odd m below 2^k with m^2 = c modulo 2^k, for c = 1 modulo 8, bit by bit."""
    roots = {1, 3, 5, 7}
    for bit in range(4, k + 1):
        roots = {r for m in roots for r in (m, m + (1 << (bit - 2)), m + (1 << (bit - 1))) if (r * r - c) % (1 << bit) == 0 and r < 1 << bit}
    return roots


def hard_roots():
    """f64 whose roots are as near as can be to the middle between two: m^2 = X 2^k + c with small c, for middles m of 54 bits."""
    out = []
    for c in range(-1023, 1024, 8):
        for k in (54, 55):
            for m in square_roots_of(c, k):
                for m in (m, m + (1 << k)):
                    x = (m * m - c) >> k
                    if 1 << 53 <= m < 1 << 54 and 1 << 52 <= x < 1 << 53:
                        out.append(float(x) * (2.0 if k == 55 else 1.0))
    return np.array(out)


def hard_numerator(random, x, p):
    """The numerator of p bits whose quotient by the odd x of p bits is so: y 2^k = m x + c, m of p + 1 bits; None if there is none for c that is drawn."""
    k = int(random.integers(p, p + 2))
    c = int(random.integers(0, 32)) * 2 + 1
    c = c if random.random() < 0.5 else -c
    m = (-c * pow(x, -1, 1 << k)) % (1 << k)
    m += (1 << p) if k == p else 0
    y = (m * x + c) >> k
    return y if m >> p and m & 1 and 1 << (p - 1) <= y < 1 << p else None


def hard_quotients(random, n):
    """Pairs x, y of f64 whose quotients y / x are so."""
    pairs = []
    while len(pairs) < n:
        x = int(random.integers(1 << 52, 1 << 53)) | 1
        y = hard_numerator(random, x, 53)
        if y:
            pairs.append((float(x), float(y)))
    return np.array(pairs).T


def hard_quotients_by_roots(random, n, t):
    """Pairs x, y of type t whose quotients y / sqrt(x) are so, the root being rounded."""
    p = np.finfo(t).nmant + 1
    pairs = []
    x = np.abs(mantissas(random, t, 6 * n, (0, 2)))
    roots = np.frexp(np.sqrt(x))[0]
    for x, g in zip(x, roots):
        g = int(np.ldexp(np.float64(g), p))
        y = hard_numerator(random, g, p) if g & 1 else None
        if y:
            pairs.append((x, t(y)))
    return np.array(pairs[:n], t).T


# The factors of 2^106 + k. For precision 53, g m = 2^106 + k with m of 54 bits is a g whose reciprocal is k / (g 2^53) from the middle m / 2^54 between two numbers.
FACTORS = {-2: (2, 7, 7, 31, 71, 127, 151, 337, 29191, 106681, 122921, 152041), -1: (3, 107, 6361, 69431, 20394401, 28059810762433), 1: (5, 15358129, 586477649, 1801439824104653),
           2: (2, 3, 3, 11, 43, 211, 281, 331, 5419, 86171, 664441, 1564921)}


def hard_reciprocals_of_roots():
    """f64 whose roots, rounded, have reciprocals that are so: all there are for |k| <= 2."""
    out = []
    for k, factors in FACTORS.items():
        divisors = {1}
        for f in factors:
            divisors |= {d * f for d in divisors}
        for g in divisors:
            if g >> 52 == 1 and ((1 << 106) + k) // g & 1:
                root = float(g)
                for x in (root * root, np.nextafter(root * root, 0), np.nextafter(root * root, np.inf)):
                    out += [x] if np.sqrt(x) == root else []
    return np.array(out)


def special(t):
    """All pairs of numbers at the ends and outside of what short paths take."""
    tiny, huge = np.finfo(t).smallest_subnormal, np.finfo(t).max
    ends = [t(2.0) ** e for e in ((-62, 62, -63, 61, -126, -125, 127) if t == np.float32 else (-500, 500, -501, 499, -1022, -1021, 1023))]
    plain = [t(v) for v in (0, 1, 2, 3, 0.1, 10, np.inf, np.nan)] + [tiny, huge, np.finfo(t).tiny, np.nextafter(t(1), t(0)), np.nextafter(t(1), t(2)), np.nextafter(t(2), t(1))]
    values = np.array(ends + [np.nextafter(e, t(0)) for e in ends] + plain, t)
    values = np.concatenate([values, -values])
    return np.repeat(values, len(values)), np.tile(values, len(values))


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    files = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(files) != 1 or set(options) - {"device", "seconds"}:
        sys.exit(__doc__)
    stc, device, start = os.path.abspath(files[0]), options.get("device", "cuda"), time.time()
    random, wrong, count = np.random.default_rng(int(start)), 0, 0

    def check(what, x, y):
        nonlocal wrong, count
        wrong += compare(stc, device, what, x, y)
        count += len(RESULTS) * len(x)

    for t in (np.float32, np.float64):
        check("special", *special(t))
    all_f32 = np.arange(0x3F800000, 0x40800000, dtype=np.uint32).view(np.float32)
    check("all mantissas", all_f32, random.permutation(all_f32))
    roots, (xs, ys) = hard_roots(), hard_quotients(random, 100000)
    check("hard roots", roots, np.ones_like(roots))
    check("hard quotients", xs, ys)
    for t in (np.float32, np.float64):
        check("hard quotients by roots", *hard_quotients_by_roots(random, 20000, t))
    inverse = hard_reciprocals_of_roots()
    check("hard reciprocals of roots", inverse, np.ones_like(inverse))
    while True:
        check("random", mantissas(random, np.float32, ROUND, (-70, 70)), mantissas(random, np.float32, ROUND, (-70, 70)))
        check("random", mantissas(random, np.float64, ROUND, (-520, 520)), mantissas(random, np.float64, ROUND, (-520, 520)))
        if time.time() - start > float(options.get("seconds", 20)):
            break
    print("%d roots and quotients on %s, %d differ" % (count, device, wrong))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
