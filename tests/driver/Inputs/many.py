#!/usr/bin/env python3
"""A program of N stencils: many.py fields|stencils|layers|fluxes N. Each is on a field of its own, or all are on one; or each is on a layer of its own
along the edge of a field, which another stencil reads all of; or each sums up differences of 120 fluxes to the right and to the left."""
import sys

kind, n = sys.argv[1], int(sys.argv[2])


def layers():
    """The program of many layers."""
    print("param N = 1000, M = 1000, W = 8;\ngrid G = [0 .. N-1, 0 .. M-1], 20;\nfield a : f32 on G outside 0;\nfield b : f32 on G outside 0;")
    for i in range(n):
        print("field l%d : f32 on [0 .. W+%d, 0 .. M-1] outside 0;" % (i, i))
    print("init z(a)[G] = 1.0;")
    for i in range(n):
        print("stencil st%d(l%d)[0 .. W+%d, 0 .. M-1] = 0.5 * l%d + a[1,0] - a[0,-1];" % (i, i, i, i))
    print("stencil sb(b)[G] = 0.25 * (a[1,0] + a[-1,0] + a[0,1] + a[0,-1]);")
    print("stencil sa(a) {\n  [0 .. W, 0 .. M-1] = b[1,0] + %s;\n  [W+1 .. N-1, 0 .. M-1] = b[-1,0];\n}" % " + ".join("l%d[0,1]" % i for i in range(n)))


def fluxes():
    """The program of stencils with many fluxes."""
    print("param N = 64;\ngrid G = [0 .. N-1, 0 .. N-1], 40;\nfield u, r : real on G outside clamp;")
    for i in range(n):
        flux = ["sqrt(u%s + %d.5) / (u%s + 3)" % ("%s", i * 120 + k, "%s") for k in range(120)]
        print("stencil st%d(r)[G] = r + %s;" % (i, " + ".join("(%s - %s)" % (f % ("[0,1]", "[0,1]"), f % ("", "")) for f in flux)))


if kind in ("layers", "fluxes"):
    layers() if kind == "layers" else fluxes()
    sys.exit()
fields = n if kind == "fields" else 1
print("param N = 1024, M = 1024;\ngrid G = [0 .. N-1, 0 .. M-1], 100;")
for i in range(fields):
    print("field a%d : f32 on G; init z%d(a%d)[G] = %d.0;" % (i, i, i, i))
for i in range(n):
    a = "a%d" % (i if fields > 1 else 0)
    print("stencil st%d(%s)[1 .. N-2, 1 .. M-2] = 0.25 * (%s[-1,0] + %s[1,0] + %s[0,-1] + %s[0,1]) + %d.0;" % (i, a, a, a, a, a, i % 7))
