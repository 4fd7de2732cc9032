"""scene.py [FILE.npy]: a picture to smooth, 256 x 256, f32 from 0 to 1: three balls on a chequered floor, seen through noise, as from a camera in the dark."""
import math
import os
import random
import sys

import npy

SIZE = 256
BALLS = [((-0.8, 0.0, 4.0), 1.0, 0.9), ((1.1, -0.3, 3.2), 0.7, 0.6), ((0.5, 0.75, 6.0), 1.75, 0.75)]
LIGHT = (-0.48, 0.72, -0.5)


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def meet(eye, ray, ball):
    """How far along the ray it meets the ball; None if it does not."""
    between = [e - c for e, c in zip(eye, ball[0])]
    b, c = dot(between, ray), dot(between, between) - ball[1] ** 2
    t = -b - math.sqrt(b * b - c) if b * b > c else -1
    return t if t > 1e-4 else None


def light_at(point, normal, colour):
    """What the eye sees of a surface: some light from everywhere, and the lamp's unless a ball is before it."""
    shadow = any(meet(point, LIGHT, ball) for ball in BALLS)
    return colour * (0.25 + (0 if shadow else 0.75 * max(0.0, dot(normal, LIGHT))))


def brightness(x, y):
    length = math.sqrt(x * x + y * y + 1)
    eye, ray = (0.0, 0.2, 0.0), (x / length, y / length, 1 / length)
    hits = [(t, ball) for ball in BALLS if (t := meet(eye, ray, ball))]
    if hits:
        t, ball = min(hits)
        point = [e + t * r for e, r in zip(eye, ray)]
        return light_at(point, [(p - c) / ball[1] for p, c in zip(point, ball[0])], ball[2])
    if ray[1] < -0.02:
        t = (-1.0 - eye[1]) / ray[1]
        point = [e + t * r for e, r in zip(eye, ray)]
        return light_at(point, (0, 1, 0), 0.9 if (math.floor(point[0]) + math.floor(point[2])) % 2 else 0.35)
    return 0.55 - 0.4 * ray[1]


random.seed(1)
picture = [min(1.0, max(0.0, brightness((j + 0.5) / SIZE * 1.3 - 0.65, 0.65 - (i + 0.5) / SIZE * 1.3) + random.gauss(0, 0.06))) for i in range(SIZE) for j in range(SIZE)]
npy.write(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "scene.npy"), [SIZE, SIZE], picture)
