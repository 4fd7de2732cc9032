"""Weights of differences on points that lie unevenly, as docs/manifest.md says."""
from __future__ import annotations

import numpy as np


def _beyond(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The coordinates at places, which go on beyond both ends by the distance of the last two points."""
    n = len(x)
    below, above = (x[0] - x[1], x[-1] - x[-2]) if n > 1 else (-1.0, 1.0)
    inside = x[np.clip(at, 0, n - 1)]
    return np.where(at < 0, x[0] + (-at).astype(np.float64) * below, np.where(at >= n, x[-1] + (at - (n - 1)).astype(np.float64) * above, inside))


def weights(x: np.ndarray, derivative: int, points: int, side: int) -> np.ndarray:
    """For each of the coordinates the weights of so many points about it in a derivative, one after the other."""
    here = np.arange(len(x))
    far = [side * j if side else (j + 1) // 2 if j % 2 else -(j // 2) for j in range(points)]
    d = [_beyond(x, here + k) - x for k in far]
    w = [[np.full(len(x), float(j == 0 and k == 0)) for k in range(derivative + 1)] for j in range(points)]
    before = np.ones(len(x))
    for j in range(1, points):
        product = np.ones(len(x))
        for l in range(j):
            product = product * (d[j] - d[l])
        for k in reversed(range(derivative + 1)):
            w[j][k] = before / product * ((k * w[j - 1][k - 1] if k else 0.0) - d[j - 1] * w[j - 1][k])
        for l in range(j):
            for k in reversed(range(derivative + 1)):
                w[l][k] = (d[j] * w[l][k] - (k * w[l][k - 1] if k else 0.0)) / (d[j] - d[l])
        before = product
    return np.stack([w[j][derivative] for j in range(points)], 1).reshape(-1)
