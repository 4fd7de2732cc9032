"""The cases of peers.py as the peers in Python need them: tables of weights (offsets, slowest dimension first, and the weight), and the start."""
import numpy as np

STARS = {
    "star2d1r": [(-1, 0, .16228), (0, -1, .16439), (0, 0, .33300), (0, 1, .16861), (1, 0, .17072)],
    "box2d1r": [(-1, -1, .07305), (-1, 0, .11100), (-1, 1, .07495), (0, -1, .11384), (0, 0, .23054), (0, 1, .11669), (1, -1, .07875), (1, 0, .11954), (1, 1, .08064)],
    "star2d4r": [(-4, 0, .01200), (-3, 0, .02067), (-2, 0, .04187), (-1, 0, .10599), (0, -4, .01263), (0, -3, .02173), (0, -2, .04399), (0, -1, .11129), (0, 0, .22524),
                 (0, 1, .11395), (0, 2, .04611), (0, 3, .02332), (0, 4, .01387), (1, 0, .11925), (2, 0, .04823), (3, 0, .02438), (4, 0, .01450)],
    "star3d1r": [(-1, 0, 0, .12019), (0, -1, 0, .12175), (0, 0, -1, .12331), (0, 0, 0, .24975), (0, 0, 1, .12644), (0, 1, 0, .12800), (1, 0, 0, .12956)],
}
RADIUS = {"star2d4r": 4, "acoustic3d": 4}
# Of the second derivative, eighth order.
C = [-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]


def start(case, kind, shape):
    """The arrays that the case starts from: its fields; of the wave the pressure twice, and what its points are like."""
    factors = (37, 101) if len(shape) == 2 else (37, 101, 211)
    total = sum(np.arange(n).reshape([-1 if e == d else 1 for e in range(len(shape))]) * factors[d] for d, n in enumerate(shape))
    s = (total % 1009).astype(kind) * kind(0.001)
    if case == "gray_scott":
        return [kind(1) - kind(.3) * s, kind(.25) * s]
    if case == "acoustic3d":
        return [s, s.copy(), kind(.05) + kind(.1) * s]
    return [s]
