"""Does what a step of ocean_mixing.stn makes of the columns solve the implicit system? Arguments: the .npy files of T before and behind a step without currents, the seconds of the step; K x N x M points. The residual of each layer is a few roundings of its terms."""
import ast
import math
import struct
import sys


def load(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    shape = ast.literal_eval(data[10:10 + size].decode())["shape"]
    return shape, struct.unpack(f"<{math.prod(shape)}d", data[10 + size:])


(K, N, M), old = load(sys.argv[1])
new, dt = load(sys.argv[2])[1], float(sys.argv[3])
thick = [2 + 0.5 * k for k in range(K + 1)]
depth = [k * (2 + 0.25 * (k - 1)) + thick[k] / 2 for k in range(K)]
worst = moved = 0
for i in range(N):
    for j in range(M):
        swirl = math.exp(-((i - N // 2) ** 2 + (j - M // 3) ** 2) / 150)
        kv = [0] + [0.02 if depth[k] < 25 + 40 * swirl else 2e-5 for k in range(1, K)] + [0]
        column = [(new[(k * N + i) * M + j], old[(k * N + i) * M + j]) for k in range(K)]
        for k, (t, was) in enumerate(column):
            terms = [t, -was]
            for o in (k - 1, k + 1):
                if 0 <= o < K:
                    factor = dt * kv[max(k, o)] / (thick[k] * 0.5 * (thick[k] + thick[o]))
                    terms += [factor * t, -factor * column[o][0]]
            worst, moved = max(worst, abs(sum(terms)) / sum(map(abs, terms))), max(moved, abs(t - was))
assert worst < 1e-15 and moved > 0.1, (worst, moved)
print("solved")
