"""Weights of differences on points that lie unevenly, as docs/manifest.md says."""
from __future__ import annotations

import numpy as np


def _places(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The coordinates at places, which go on beyond both ends as their mirror image there; one alone has others 1 apart."""
    n, total, sign = len(x), np.zeros(len(at)), np.ones(len(at))
    if n == 1:
        return x[0] + at.astype(np.float64)
    while np.any(out := (at < 0) | (at >= n)):
        total = np.where(out, total + sign * 2 * np.where(at < 0, x[0], x[-1]), total)
        at = np.where(at < 0, -at, np.where(at >= n, 2 * n - 2 - at, at))
        sign = np.where(out, -sign, sign)
    return total + sign * x[at]


def _halves(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Those half way from places to the next ones."""
    return (_places(x, at) + _places(x, at + 1)) / 2


def weights(x: np.ndarray, derivative: int, points: int, side: int, beyond: int, half: int = 0) -> np.ndarray:
    """For each of the coordinates, and for so many beyond each end, the weights of so many points about it in a derivative, one after the other;
    of derivative 0 the coordinates themselves. half 1: the derivative is half way to the next point; -1: the values are."""
    here = np.arange(-beyond, len(x) + beyond)
    middle = _halves(x, here) if half > 0 else _places(x, here)
    if derivative == 0:
        return middle
    far = [side * j if side else (j + 1) // 2 if j % 2 else -(j // 2) for j in range(points)]
    if half and not side:
        far = [-((j + (half < 0)) // 2) if j % 2 else j // 2 + (half > 0) for j in range(points)]
    d = [(_halves if half < 0 else _places)(x, here + k) - middle for k in far]
    w = [[np.full(len(here), float(j == 0 and k == 0)) for k in range(derivative + 1)] for j in range(points)]
    before = np.ones(len(here))
    for j in range(1, points):
        product = np.ones(len(here))
        for l in range(j):
            product = product * (d[j] - d[l])
        for k in reversed(range(derivative + 1)):
            w[j][k] = before / product * ((k * w[j - 1][k - 1] if k else 0.0) - d[j - 1] * w[j - 1][k])
        for l in range(j):
            for k in reversed(range(derivative + 1)):
                w[l][k] = (d[j] * w[l][k] - (k * w[l][k - 1] if k else 0.0)) / (d[j] - d[l])
        before = product
    return np.stack([w[j][derivative] for j in range(points)], 1).reshape(-1)
