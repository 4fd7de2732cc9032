"""Programs from equations of SymPy's: against programs by hand, to the bit where they have the same terms in the same order, else to rounding."""
from pathlib import Path

import numpy as np
import pytest

sp = pytest.importorskip("sympy")

import stc
from stc.sympy import Absorb, Field, Grid, Series, Source, Tensor, Vector, curl, diff, div, grad, laplace, mean, program

SCIENCES = Path(__file__).resolve().parents[2] / "examples/sciences"
checkout = pytest.mark.skipif(not SCIENCES.exists(), reason="not in a checkout")




def plan(text, **params):
    return stc.compile(text, real="f64", contract=False).plan(device="host:1", **params)


def example(name):
    return (SCIENCES / f"{name}.stn").read_text()


def close(a, b):
    """Whether two programs agree but for the rounding of terms in another order."""
    return abs(a - b).max() <= 1e-11 * abs(b).max() > 0


@checkout
def test_acoustic():
    grid = Grid((60, 80), spacing=10, step=0.001, steps=1500, names=("z", "x"))
    z, x = grid.x
    p = Field("p", grid, outside=[("mirror odd", 0), 0], keep=[(1, 0), 0])
    v = Field("v", grid, input=True)
    ground = sp.Piecewise((1500, (z < 150) | (x > 600) & (z < 250)), (2500, True))
    made = program({p.dt2: v**2 * laplace(p)}, grid=grid, order=8, initial={p: 0, v: ground}, absorb=Absorb(12, 2500, 15, but=["z lower"]),
                   sources=[Source(p, Series("pulse", 60), at=(4, 40))])
    assert "next_p(p)[1 .. N-1, 0 .. M-1] absorb border = 2 * p - p@1\n    + dt * dt * v * v * (diff(p, 0, 2, order 8) + diff(p, 1, 2, order 8));" in made
    hand = example("absorbed_shot")
    start = hand.index("inject charge")
    hand = hand[:start] + "param n = 60, pulse[n] : real;\ninject charge(p) += dt * dt * (if step < n then pulse[step] else 0) at [4, 40];"
    hand = hand.replace("absorb border = 20", "absorb border = 12").replace("idx(1) > sx + 12 && idx(0) < deep + 20", "idx(1) > 60 && idx(0) < 25")
    a, b = plan(made), plan(hand, N=60, M=80, deep=15)
    for run in a, b:
        run["pulse"] = 1e6 * np.sin(np.arange(60) / 9)
        run(100)
    assert np.array_equal(a["v"], b["v"]) and np.array_equal(a["p"], b["p"]) and abs(b["p"]).max() > 0.1


@checkout
def test_elastic():
    """Three terms of a stress are added in another order."""
    grid = Grid((60, 80), spacing=5, step=0.0005, names=("z", "x"))
    z, x = grid.x
    v = Vector("v", grid, at="faces", outside={"z": [("mirror half", 0), 0], "x": [("mirror", 0), 0]})
    s = Tensor("s", grid, at="faces", outside={"zz": [("mirror odd", 0), 0], "xx": 0, "zx": [("mirror half odd", 0), 0]})
    lam, mu = (Field(name, grid, input=True, at="any") for name in ("lambda", "mu"))
    along = diff(v.x.forward, x)
    across = sp.Piecewise((-lam / (lam + 2 * mu) * along, sp.Eq(z, 0)), (diff(v.z.forward, z), True))       # the surface is free
    made = program({v.dt: div(s), s.xx.dt: (lam + 2 * mu) * along + lam * across, s.zz.dt: lam * along + (lam + 2 * mu) * across,
                    s.zx.dt: mu * (diff(v.z.forward, x) + diff(v.x.forward, z))}, grid=grid, order=8, initial={v: 0, s: 0},
                   absorb=Absorb(12, 4500, 15, but=["z lower"]), sources=[Source(v.z, Series("pulse", 40), at=(6, 40))])
    assert "vz = vz + dt * (diff(szz, 0, order 8, at 1/2) + diff(szx, 1, order 8, at -1/2));" in made
    hand = example("half_space").replace("absorb border = 20", "absorb border = 12")
    start = hand.index("inject blow")
    blow = "param n = 40, pulse[n] : real;\ninject blow(vz) += dt * (if step < n then pulse[step] else 0) at [6, 40];\n"
    hand = hand[:start].replace("stencil stress", blow + "stencil stress")
    a, b = plan(made), plan(hand, N=60, M=80, deep=30)
    a["pulse"] = b["pulse"] = np.sin(np.arange(40) / 6)
    b(0)
    a["lambda"], a["mu"] = b["lambda"], b["mu"]
    a(80), b(80)
    for mine, theirs in ("vz", "vz"), ("vx", "vx"), ("szz", "zz"), ("sxx", "xx"), ("szx", "xz"):
        assert close(a[mine], b[theirs]), mine


YEE = """
param L = 9, N = 10, M = 11, dt : real = 0.3;
grid G = [0 .. L-1, 0 .. N-1, 0 .. M-1], 20;
field Ez, Ey, Ex, Hz, Hy, Hx : real on G outside 0;
field eps : real on G input;
stencil magnetic(Hz, Hy, Hx)[G] {
  Hz = Hz + dt * (Ex - Ex[0,-1,0] - (Ey - Ey[0,0,-1]));
  Hy = Hy + dt * (Ez - Ez[0,0,-1] - (Ex - Ex[-1,0,0]));
  Hx = Hx + dt * (Ey - Ey[-1,0,0] - (Ez - Ez[0,-1,0]));
}
stencil electric(Ez, Ey, Ex)[G] {
  Ez = Ez + dt * (Hy[0,0,1] - Hy - (Hx[0,1,0] - Hx)) / eps;
  Ey = Ey + dt * (Hx[1,0,0] - Hx - (Hz[0,0,1] - Hz)) / eps;
  Ex = Ex + dt * (Hz[0,1,0] - Hz - (Hy[1,0,0] - Hy)) / eps;
}
"""


def test_maxwell():
    """Magnetic fields on the faces of cells, electric ones on their edges."""
    grid = Grid((9, 10, 11), spacing=1, step=0.3, steps=20)
    e, h = Vector("E", grid, at="edges", outside=0), Vector("H", grid, at="faces", outside=0)
    eps = Field("eps", grid, input=True, at="any")
    a, b = plan(program({h.dt: -curl(e), e.dt: curl(h.forward) / eps}, grid=grid)), plan(YEE)
    rng = np.random.default_rng(1)
    for name in a.fields:
        a[name] = b[name] = 1 + rng.random((9, 10, 11))
    a(), b()
    assert all(np.array_equal(a[name], b[name]) for name in b.fields)


@checkout
def test_schroedinger():
    """The weights of second derivatives stand before their points in the example."""
    grid = Grid((40, 60), spacing=1, step=0.2)
    re, im, V = Field("re", grid, outside=0), Field("im", grid, outside=0), Field("V", grid, input=True)
    H = lambda psi: -laplace(psi) / 2 + V * psi
    a = plan(program([sp.Eq(re.dt, H(im)), sp.Eq(im.dt, -H(re.forward))], grid=grid))
    b = plan(example("schroedinger"), N=40, M=60, width=6)
    b(0)
    for name in a.fields:
        a[name] = b[name]
    a(100), b(100)
    assert close(a["re"], b["re"]) and close(a["im"], b["im"])


@checkout
def test_shallow_water():
    """The example divides by the spacing, where `diff` multiplies; its currents lie half a point behind."""
    grid = Grid((40, 60), spacing=2000, step=4)
    y, x = grid.x
    eta, d = Field("eta", grid, outside="clamp"), Field("d", grid, input=True, outside="clamp")
    q = Vector("q", grid, at="faces", outside=0, keep={"y": [(0, 1), 0], "x": [0, (0, 1)]})       # nothing flows through the last faces
    g = sp.Symbol("g")
    made = program({q.dt: -g * grad(eta), eta.dt: -diff(mean(d, y) * q.y.forward, y) - diff(mean(d, x) * q.x.forward, x)}, grid=grid,
                   params={g: 9.81}, initial={q: 0})
    a, b = plan(made), plan(example("shallow_water"), N=40, M=60)
    b(0)
    a["eta"], a["d"] = b["eta"], b["d"]
    a(150), b(150)
    assert close(a["eta"], b["eta"]) and close(a["qy"][:-1], b["v"][1:-1]) and close(a["qx"][:, :-1], b["u"][:, 1:-1])


def lap(u):
    return sum(np.roll(u, k, d) for d in (0, 1) for k in (-1, 1)) - 4 * u


def test_levels():
    """All equations see the old levels, if they do not ask for new ones; damping is solved for the newest level; temp fields; older levels."""
    grid = Grid((12, 10), spacing=0.5, step=0.01)
    u, w, m = (Field(name, grid, outside="periodic", temp=name == "m") for name in "uwm")
    F, b, rho = sp.symbols("F b rho")
    made = program({rho * u.dt2 + b * u.dt: laplace(u) - w, w.dt: F * (u - w) + laplace(m), m: sp.sin(u) - w**3}, grid=grid, params={F: 0.3, b: None, "rho": 2})
    run, rng = plan(made, b=1.5), np.random.default_rng(2)
    u0, u1, w0 = (rng.random((12, 10)) for _ in range(3))
    run["u"], run["u@1"], run["w"] = u0, u1, w0
    run(5)
    for _ in range(5):
        old = u0
        m0 = np.sin(u0) - w0**3
        u0 = ((lap(u0) / 0.25 - w0) + 2 / 1e-4 * (2 * u0 - u1) + 1.5 / 0.02 * u1) / (2 / 1e-4 + 1.5 / 0.02)
        w0, u1 = w0 + 0.01 * (0.3 * (old - w0) + lap(m0) / 0.25), old
    assert close(run["u"], u0) and close(run["w"], w0)



def test_order_of_a_step():
    """Older levels; what reads a new level comes behind it, and what reads an old one, and has other points, before it; a temp field keeps an old
    one for later."""
    grid = Grid((12, 10), spacing=1, step=0.1)
    u, w, old = (Field(name, grid, outside=0, temp=name == "old", keep=int(name == "w")) for name in ("u", "w", "old"))
    made = program({u.dt: laplace(u), w.dt: u.later(-3) + u}, grid=grid)
    assert made.index("stencil next_w(w)[1 .. N-2, 1 .. M-2] = w + dt * (u + u@3);") < made.index("next_u(u)[G]") and "history 3" in made
    run, rng = plan(program({w.forward: 2 * u.forward - old + w.shift(grid.x[1], 2), old: u, u.dt: 1}, grid=grid)), np.random.default_rng(3)
    u0, w0 = rng.random((12, 10)), rng.random((12, 10))
    run["u"], run["w"] = u0, w0
    run(1)
    want = w0.copy()
    want[1:-1, 1:-1] = (2 * (u0 + 0.1) - u0 + np.pad(w0, 2)[2:-2, 4:])[1:-1, 1:-1]
    assert np.allclose(run["w"], want, rtol=1e-14)


def test_functions_and_brackets():
    """What is written means what SymPy means, whatever the brackets."""
    grid = Grid((37,), spacing=0.25, step=1)
    x, = grid.x
    a, n = sp.Symbol("a"), sp.Symbol("n", integer=True)
    written = [sp.sin(x) - (a - x) - (x - 2), -(x + 1)**2 / (3 * a) - sp.Rational(1, 3), sp.exp(-x**2) / (1 + x) / (2 + x), 2**-x * x**-2 + (-x)**3, sp.sqrt(x + 1)**-1,
               (x + a)**5 + x**4 + x**7, sp.Piecewise((x, x < 3), (a, (x > 5) & ~sp.Eq(x, 6) | sp.Ne(x, 4)), (-x, True)), sp.sign(x - 4) * sp.Abs(x - 4),
               sp.Min(x, 3, a) + sp.Max(4, x), sp.tan(x) / sp.cosh(x), sp.floor(x / 2) + sp.ceiling(x / 2), sp.atan2(x, a), sp.log(x + 1, 2), sp.pi * x + sp.E,
               (x + 1) * (x - a) * sp.Rational(-2, 7), n * x / a**2, sp.Float("1e-20") * x, sp.Rational(1, 2) * (x + a) - 3 * (x - a), x**sp.Rational(3, 2),
               a - sp.Piecewise((1, x > 2), (2, True)) * 3, sp.sqrt(2) * x / sp.sqrt(3), -x / (-a - x), sp.erf(x), 1 / (x + 1) - 1 / a / (x + 2),
               sp.sign(sp.Piecewise((2, x < 1), (sp.Rational(-5, 7), True)))]
    fields = [Field(f"q{i}", grid) for i in range(len(written))]
    run = plan(program({f.dt: 0 for f in fields}, grid=grid, params={a: 1.5, n: 3}, initial=dict(zip(fields, written))))
    run(0)
    for f, e in zip(fields, written):
        values = [sp.N(sp.sympify(e).subs({a: sp.Rational(3, 2), n: 3, x: sp.Rational(i, 4)})) for i in range(37)]
        want = np.array([float(v) if v.is_finite and v.is_real else np.nan for v in values])
        here = np.isfinite(want)
        assert here.any() and np.allclose(run[str(f)][here], want[here], rtol=1e-14, atol=1e-14), e


def test_names():
    """What the program names itself keeps away from names of the equations'."""
    grid = Grid((9, 10), spacing=sp.Symbol("dx"), step=1)
    y, x = grid.x
    u, G = Field("source", grid, outside=0), sp.Symbol("G")
    twice = [Source(u, 1, at=("where", 2), count=2), Source(u, 2, at=("where", 3), count=2)]
    made = program({u.dt: G * laplace(u)}, grid=grid, params={G: 0.1, "dx": 2, "next_source": 0}, sources=twice)
    assert "grid G_ = [" in made and "on G_ outside 0" in made and "stencil next_source_(source)[G_]" in made and "inject source_(source)" in made
    assert made.count("where[nwhere] : i32") == 1 and "spacing [dx, dx]" in made
    run = plan(made)
    run["source"], run["where"] = 0, [1, 2]
    run(1)


def test_places():
    """Where fields lie decides which derivatives are taken, and coordinates are those of the place."""
    grid = Grid((8, 9), spacing=(0.5, 0.25), step=0.1)
    y, x = grid.x
    u, k, q = Field("u", grid, outside=0), Field("K", grid, input=True, outside="clamp"), Field("q", grid, at=(0, sp.Rational(1, 2)), outside=0)
    made = program({u.dt: mean(q, x) + div(grad(u)) + diff(mean(k, x) * diff(u, x), x) + diff(k * diff(u, y), y), q.dt: x * diff(u, x) + mean(diff(u, y), x)}, grid=grid, order=4,
                   initial={q: x * y})
    assert "spacing [hy, hx] step dt" in made and "param hy : real = 0.5, hx : real = 0.25, dt : real = 0.1;" in made
    assert "diff(diff(u, 0, order 4, at 1/2), 0, order 4, at -1/2)" in made
    assert "diff(0.5 * (K + K[0,1]) * diff(u, 1, order 4, at 1/2), 1, order 4, at -1/2)" in made
    assert "diff(K * diff(u, 0, order 4), 0, order 4)" in made and "0.5 * (q[0,-1] + q)" in made
    assert "(coord(1) + 0.5 * hx) * diff(u, 1, order 4, at 1/2)" in made and "0.5 * (diff(u, 0, order 4) + diff(u[0,1], 0, order 4))" in made
    run = plan(made)
    run["u"], run["K"] = 0, 1
    run(0)
    assert np.allclose(run["q"], np.outer(np.arange(8) * 0.5, (np.arange(9) + 0.5) * 0.25))
    run(1)

    grid = Grid((9,), spacing="at z", step=0.1, names=["z"])
    T = Field("T", grid, outside="mirror")
    run = plan(program({T.dt: T.diff(grid.x[0], 2)}, grid=grid, initial={T: sp.exp(-grid.x[0])}))
    run["z"] = np.linspace(0, 1, 9)**2
    run(2)


def test_sources():
    """A source is a term of the right side, with all that the left side divides by."""
    grid = Grid((10, 12), spacing=1, step=0.5)
    u, m = Field("u", grid, outside=0), Field("m", grid, input=True)
    N, M = grid.shape
    run = plan(program({m * u.dt: 0}, grid=grid, initial={u: 0, m: 4}, sources=[Source(u, 3 * grid.t + 1, at=(N / 2, M - 3)),
               Source(u, 8, at=["sy", 2], name="more", count=3, up_to=2)]))
    run["sy"] = [1, 1, 5]
    run(3)
    want = np.zeros((10, 12))
    want[5, 9] = 0.5 / 4 * (1 + 2.5 + 4)
    want[1, 2], want[5, 2] = 2 * 0.5 / 4 * 8 * 3, 0.5 / 4 * 8 * 3
    assert np.allclose(run["u"], want, rtol=1e-15)


grid = Grid((20, 30), spacing=1, step=0.1, names=("y", "x"))
y, x = grid.x
u, w, c = Field("u", grid, outside=0), Field("w", grid, outside=0), Field("c", grid, input=True)
q = Field("q", grid, at=sp.Rational(1, 2))
f, k = sp.Function("f"), sp.Symbol("k")


@pytest.mark.parametrize("equations, said", [
    ({u.dt: k * u}, r"in the equation u_t = k\*u: the symbol k is not known: params=\{k: VALUE\}"),
    ({u.dt: f(x) * u}, r"f\(x\) is a function that nothing is known of: Field\('f', grid"),
    ({u.dt: sp.gamma(u)}, "gamma in gamma.u. has no counterpart .* atan2"),
    ({u.dt: w}, "w has no equation: give it one, or declare it with input=True"),
    ({u.dt * u.dt: laplace(u)}, r"in the equation u_t\*\*2 = u_xx \+ u_yy: it is not linear in u's newest level: .*u.dt\*\*2"),
    ({u.dt: laplace(u.forward)}, r"it is implicit: diff\(u.forward, ., 2\) takes u's newest level at neighbours"),
    ({u.dt2: laplace(u.dt)}, "it is implicit: .*u.dt, ., 2"),
    ({u.dt: u.forward.shift(x, 1)}, "it is implicit: it takes u"),
    ({u.dt: diff(u, x, 5)}, "a derivative of degree 5, and `diff` goes up to 4: nest two"),
    ({u.diff(grid.t, 3): u}, "a derivative by time of degree 3; .*give u.dt a field"),
    ({u: laplace(u)}, "nothing at the left changes in time"),
    ({u.dt + w.dt: 0}, "both u and w change in time"),
    ({u.dt: u.dt2}, "u is derived 2 times by time here, and its own equation has 1"),
    ({u.dt: w.forward, w.dt: u.forward}, "closes a circle"),
    ({u.dt: sp.Derivative(u * w, grid.t), w.dt: 0}, "only fields as they are can be derived by time"),
    ([sp.Eq(u.dt, 1), sp.Eq(2 * u.dt, 1)], "u has another equation, u_t = 1"),
    ({u.dt: q, q.dt: 0}, r"q lies half a point ahead along y, and is wanted at whole points there: take mean\(q, y\)"),
    ({u.dt: diff(q + w, x), q.dt: 0, w.dt: 0}, r"in q \+ w, . lies .* along y and what it is combined with does not"),
    ({u.dt: sp.I * laplace(u)}, "write the real and the imaginary part"),
    ({u.dt: sp.Piecewise((1, x > 2))}, "where none of its conditions holds"),
    ({u.dt: u.later(-17)}, "17 steps old: a program keeps 16"),
    ({u.dt: u.subs(x, x + 1.5)}, "only whole points from x can be read"),
    ({u.dt: u.subs(grid.t, 0)}, "only whole steps from t"),
    ({u.dt: diff(u, x, order=3)}, "order 3 of .*: it is even, from 2 to 16"),
    ({u.dt: diff(u, sp.Symbol("z"))}, "z is no coordinate of the grid, which has y, x"),
    ({c.shift(x, 1): 1}, "nothing at the left changes"),
    ({u.dt: sp.oo}, "no finite number"),
    ([u.dt], "is no equation: a dictionary"),
    ({u.dt: Field("N", grid, input=True)}, r"the name N stands for a size of the grid, which Grid\(..., sizes=...\) names, and for a field"),
    ({u.dt: Field("c", grid, input=True) + c}, "the name c stands for"),
    ({u.dt: Field("v", Grid((3, 3)), input=True)}, "v is a field on another grid"),
    ({u.dt: 0, Vector("v", grid).dt: sp.Matrix([1, 2, 3])}, "are 2 components, and .* are 3"),
])
def test_errors(equations, said):
    with pytest.raises(stc.InputError, match=said):
        program(equations, grid=grid)


@pytest.mark.parametrize("do, said", [
    (lambda: program({u.dt: 0}, grid=grid, sources=[Source(u, u, at=(1, 1))]), "in the source source: its value, u, takes u, which the step has changed"),
    (lambda: program({u.dt: 0}, grid=grid, sources=[Source(w, 1, at=(1, 1))]), "w has no equation to add to"),
    (lambda: program({u.dt: 0}, grid=grid, sources=[Source(u, 1, at=(1,))]), "are 1 coordinates, and the grid has 2"),
    (lambda: program({u.dt: 0}, grid=grid, sources=[Source(u, 1, at=(1.5, 1))]), "is no coordinate"),
    (lambda: program({u.dt: 0}, grid=grid, initial={u: k}), "in the initial value of u: the symbol k is not known"),
    (lambda: program({u.dt: 0}, grid=grid, absorb=Absorb(9, 1, 1, but=["z lower"])), "z is no coordinate"),
    (lambda: program({u.dt: 0}, grid=grid, absorb=Absorb(9, 1, 1, but=["x left"])), "'y lower'"),
    (lambda: program({u.dt: k}, grid=grid, params={k: 1, x: 2}), "x is no param: it is the grid's coordinate"),
    (lambda: program({u.dt: k}, grid=grid, params={k: 1, "h": 2}), "h is no param: it is the grid's spacing or step"),
    (lambda: program({u.dt: Field("h", grid, input=True)}, grid=grid), r"the name h stands for the grid's spacing or step, .* and for a field"),
    (lambda: Field("a'", grid), "is no name"), (lambda: Field("a", 3), "its grid"), (lambda: Field("a", grid, at=0.3), "at=0.3"),
    (lambda: Field("a", grid, keep=-1), "keep=-1"), (lambda: Field("a", grid, input=True, temp=True), "cannot be"), (lambda: Grid((1, 1, 1, 1)), "one to three"),
    (lambda: Grid((3, 3), spacing=[1]), "has 1 entries"), (lambda: Grid((3,), spacing="z"), "at NAME"), (lambda: c.dt, "does not change in time"),
    (lambda: div(u), "a vector or a tensor"), (lambda: laplace(k), "there is no field in k"),
    (lambda: Vector("v", grid, outside={"y": 0}), "the component x is missing"),
])
def test_wrong_words(do, said):
    with pytest.raises(stc.InputError, match=said):
        do()


def test_what_grids_lack():
    bare = Grid((20, 30))
    v = Field("v", bare, outside=0)
    with pytest.raises(stc.InputError, match=r"takes the time of a step, and the grid has none: Grid\(..., step=...\)"):
        program({v.dt: 1}, grid=bare)
    with pytest.raises(stc.InputError, match=r"takes the distance between points, and the grid has none: Grid\(..., spacing=...\)"):
        program({v.forward: laplace(v)}, grid=bare)
    with pytest.raises(stc.InputError, match="y is a place, and the grid has no distance"):
        program({v.forward: bare.x[0]}, grid=bare)
    with pytest.raises(stc.InputError, match="t is a time, and the grid does not say"):
        program({v.forward: bare.t}, grid=bare)
    plan(program({v.forward: v.shift(bare.x[0], 1) / 2}, grid=bare, initial={v: 1}))(2)


@pytest.mark.parametrize("name", ["diff", "coord"])
def test_names_of_functions(name):
    grid = Grid((9,), spacing=0.5, step=0.1)
    u = Field("u", grid, outside=0)
    with pytest.raises(stc.InputError, match=f"'{name}' is a function"):
        program({u.dt: sp.Symbol(name) * laplace(u)}, grid=grid, params={name: 0.5})
