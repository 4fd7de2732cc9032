#!/usr/bin/env python3
"""A program of N five-point stencils: many.py fields|stencils N. Each is on a field of its own, or all are on one."""
import sys

kind, n = sys.argv[1], int(sys.argv[2])
fields = n if kind == "fields" else 1
print("param N = 1024, M = 1024;\ngrid G = [0 .. N-1, 0 .. M-1], 100;")
for i in range(fields):
    print("field a%d : f32 on G; init z%d(a%d)[G] = %d.0;" % (i, i, i, i))
for i in range(n):
    a = "a%d" % (i if fields > 1 else 0)
    print("stencil st%d(%s)[1 .. N-2, 1 .. M-2] = 0.25 * (%s[-1,0] + %s[1,0] + %s[0,-1] + %s[0,1]) + %d.0;" % (i, a, a, a, a, a, i % 7))
