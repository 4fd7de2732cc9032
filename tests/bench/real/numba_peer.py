"""The steps of the programs beside it with Numba, as one would write them: loops over rows by prange, buffers that are swapped, f32. real.py calls them."""

import numpy as np
from numba import njit, prange

F = np.float32
f0 = F(0)
f1 = F(1)
f2 = F(2)
f3 = F(3)
f4 = F(4)
f15 = F(1.5)
h5 = F(0.5)
opt = dict(parallel=True, fastmath=False, error_model="numpy")
w0 = F(4 / 9)
w1 = F(1 / 9)
w2 = F(1 / 36)


@njit(**opt)
def lbm(f, n, solid, prof, steps, om):
    N, M = solid.shape
    for s in range(steps):
        for i in prange(N):
            a = i - 1 if i > 0 else N - 1
            b = i + 1 if i < N - 1 else 0
            for j in range(1, M - 1):
                g0 = f[0, i, j]
                g1 = f[1, i, j - 1]
                g2 = f[2, a, j]
                g3 = f[3, i, j + 1]
                g4 = f[4, b, j]
                g5 = f[5, a, j - 1]
                g6 = f[6, a, j + 1]
                g7 = f[7, b, j + 1]
                g8 = f[8, b, j - 1]
                if solid[i, j]:
                    n[0, i, j] = g0
                    n[1, i, j] = g3
                    n[2, i, j] = g4
                    n[3, i, j] = g1
                    n[4, i, j] = g2
                    n[5, i, j] = g7
                    n[6, i, j] = g8
                    n[7, i, j] = g5
                    n[8, i, j] = g6
                else:
                    rho = g0 + g1 + g2 + g3 + g4 + g5 + g6 + g7 + g8
                    ux = (g1 + g5 + g8 - g3 - g6 - g7) / rho
                    uy = (g2 + g5 + g6 - g4 - g7 - g8) / rho
                    u2 = f1 - f15 * (ux * ux + uy * uy)
                    n[0, i, j] = g0 - om * (g0 - w0 * rho * u2)
                    c = f3 * ux
                    n[1, i, j] = g1 - om * (g1 - w1 * rho * (u2 + c + h5 * c * c))
                    n[3, i, j] = g3 - om * (g3 - w1 * rho * (u2 - c + h5 * c * c))
                    c = f3 * uy
                    n[2, i, j] = g2 - om * (g2 - w1 * rho * (u2 + c + h5 * c * c))
                    n[4, i, j] = g4 - om * (g4 - w1 * rho * (u2 - c + h5 * c * c))
                    c = f3 * (ux + uy)
                    n[5, i, j] = g5 - om * (g5 - w2 * rho * (u2 + c + h5 * c * c))
                    n[7, i, j] = g7 - om * (g7 - w2 * rho * (u2 - c + h5 * c * c))
                    c = f3 * (uy - ux)
                    n[6, i, j] = g6 - om * (g6 - w2 * rho * (u2 + c + h5 * c * c))
                    n[8, i, j] = g8 - om * (g8 - w2 * rho * (u2 - c + h5 * c * c))
            for q in range(9):
                n[q, i, 0] = prof[q, i]
                n[q, i, M - 1] = f[q, i, M - 2]
        f, n = n, f
    return f


@njit(**opt)
def srad(J, K, c, steps, k):
    N, M = J.shape
    q25 = F(0.25)
    q16 = F(1 / 16)
    for s in range(steps):
        s1 = 0.0
        s2 = 0.0
        for i in range(2, 18):
            for j in range(3, 19):
                s1 += J[i, j]
                s2 += J[i, j] * J[i, j]
        mean = s1 / 256
        q0 = F((s2 / 256 - mean * mean) / (mean * mean))
        qq = q0 * (f1 + q0)
        for i in prange(N):
            a = max(i - 1, 0)
            b = min(i + 1, N - 1)
            for j in range(M):
                l_ = max(j - 1, 0)
                r_ = min(j + 1, M - 1)
                x = J[i, j]
                dn = J[a, j] - x
                ds = J[b, j] - x
                dw = J[i, l_] - x
                de = J[i, r_] - x
                g2 = (dn * dn + ds * ds + dw * dw + de * de) / (x * x)
                l = (dn + ds + dw + de) / x
                num = h5 * g2 - q16 * (l * l)
                den = f1 + q25 * l
                q = num / (den * den)
                c[i, j] = min(f1, max(f0, f1 / (f1 + (q - q0) / qq)))
        for i in prange(N):
            a = max(i - 1, 0)
            b = min(i + 1, N - 1)
            for j in range(M):
                l_ = max(j - 1, 0)
                r_ = min(j + 1, M - 1)
                x = J[i, j]
                y = c[i, j]
                K[i, j] = x + k * (y * (J[a, j] - x) + c[b, j] * (J[b, j] - x) + y * (J[i, l_] - x) + c[i, r_] * (J[i, r_] - x))
        J, K = K, J
    return J


@njit(**opt)
def cahn(c, d, mu, steps, dt, kap, W):
    N, M = c.shape
    p1 = F(0.1)
    tot = 0.0
    for s in range(steps):
        for i in prange(N):
            a = max(i - 1, 0)
            b = min(i + 1, N - 1)
            for j in range(M):
                l = max(j - 1, 0)
                r = min(j + 1, M - 1)
                x = c[i, j]
                mu[i, j] = f2 * W * x * (f1 - x) * (f1 - f2 * x) * p1 - kap * p1 * (c[a, j] + c[b, j] + c[i, l] + c[i, r] - f4 * x)
        for i in prange(N):
            a = max(i - 1, 0)
            b = min(i + 1, N - 1)
            for j in range(M):
                l = max(j - 1, 0)
                r = min(j + 1, M - 1)
                x = c[i, j]
                m = f1 + h5 * x * (f1 - x)
                u = mu[i, j]
                xr = c[i, r]
                xl = c[i, l]
                xb = c[b, j]
                xa = c[a, j]
                d[i, j] = x + dt * (
                    h5 * (f1 + h5 * xr * (f1 - xr) + m) * (mu[i, r] - u)
                    - h5 * (m + f1 + h5 * xl * (f1 - xl)) * (u - mu[i, l])
                    + h5 * (f1 + h5 * xb * (f1 - xb) + m) * (mu[b, j] - u)
                    - h5 * (m + f1 + h5 * xa * (f1 - xa)) * (u - mu[a, j])
                )
        c, d = d, c
        if s % 50 == 49:
            tot = 0.0
            for i in prange(N):
                for j in range(M):
                    tot += c[i, j]
    return c, tot


@njit(error_model="numpy", inline="always")
def minmod(a, b):
    if a * b <= f0:
        return f0
    if abs(a) < abs(b):
        return a
    return b


g1 = F(0.4)
gam = F(1.4)
tiny = F(1e-12)


@njit(**opt)
def euler(U, Fl, steps, cfl):
    n = U.shape[1] - 4
    t = 0.0
    for s in range(steps):
        for q in range(3):
            U[q, 0] = U[q, 2]
            U[q, 1] = U[q, 2]
            U[q, n + 2] = U[q, n + 1]
            U[q, n + 3] = U[q, n + 1]
        sp = f0
        for i in prange(2, n + 2):
            v = U[1, i] / U[0, i]
            sp = max(sp, abs(v) + np.sqrt(gam * max(tiny, g1 * (U[2, i] - h5 * U[1, i] * v)) / U[0, i]))
        dt = cfl / sp
        for i in prange(1, n + 2):
            l0 = U[0, i] + h5 * minmod(U[0, i] - U[0, i - 1], U[0, i + 1] - U[0, i])
            r0 = U[0, i + 1] - h5 * minmod(U[0, i + 1] - U[0, i], U[0, i + 2] - U[0, i + 1])
            l1 = U[1, i] + h5 * minmod(U[1, i] - U[1, i - 1], U[1, i + 1] - U[1, i])
            r1 = U[1, i + 1] - h5 * minmod(U[1, i + 1] - U[1, i], U[1, i + 2] - U[1, i + 1])
            l2 = U[2, i] + h5 * minmod(U[2, i] - U[2, i - 1], U[2, i + 1] - U[2, i])
            r2 = U[2, i + 1] - h5 * minmod(U[2, i + 1] - U[2, i], U[2, i + 2] - U[2, i + 1])
            vl = l1 / l0
            vr = r1 / r0
            pl = g1 * (l2 - h5 * l1 * vl)
            pr = g1 * (r2 - h5 * r1 * vr)
            cl = np.sqrt(gam * max(tiny, pl) / l0)
            cr = np.sqrt(gam * max(tiny, pr) / r0)
            sl = min(f0, min(vl - cl, vr - cr))
            sr = max(f0, max(vl + cl, vr + cr))
            d = sr - sl
            p = sl * sr
            Fl[0, i] = (sr * l1 - sl * r1 + p * (r0 - l0)) / d
            Fl[1, i] = (sr * (l1 * vl + pl) - sl * (r1 * vr + pr) + p * (r1 - l1)) / d
            Fl[2, i] = (sr * ((l2 + pl) * vl) - sl * ((r2 + pr) * vr) + p * (r2 - l2)) / d
        for i in prange(2, n + 2):
            U[0, i] -= dt * (Fl[0, i] - Fl[0, i - 1])
            U[1, i] -= dt * (Fl[1, i] - Fl[1, i - 1])
            U[2, i] -= dt * (Fl[2, i] - Fl[2, i - 1])
        t += dt
    return t


grav = F(9.81)
dry = F(1e-3)


@njit(error_model="numpy")
def pair(hl, ql, tl, zl, hr, qr, tr, zr):
    zm = max(zl, zr)
    a = max(f0, hl + zl - zm)
    b = max(f0, hr + zr - zm)
    ul = ql / hl if hl > dry else f0
    ur = qr / hr if hr > dry else f0
    wl = tl / hl if hl > dry else f0
    wr = tr / hr if hr > dry else f0
    s = max(abs(ul) + np.sqrt(grav * a), abs(ur) + np.sqrt(grav * b))
    return (
        h5 * (a * ul + b * ur) - h5 * s * (b - a),
        h5 * (a * ul * ul + h5 * grav * a * a + b * ur * ur + h5 * grav * b * b) - h5 * s * (b * ur - a * ul),
        h5 * (a * ul * wl + b * ur * wr) - h5 * s * (b * wr - a * wl),
        h5 * grav * (hl * hl - a * a),
        h5 * grav * (hr * hr - b * b),
    )


@njit(**opt)
def wetdry(h, x, y, hn, xn, yn, z, steps, lam):
    N, M = h.shape
    mass = 0.0
    for s in range(steps):
        for j in prange(1, M - 1):
            h[0, j] = h[1, j]
            x[0, j] = x[1, j]
            y[0, j] = -y[1, j]
            h[N - 1, j] = h[N - 2, j]
            x[N - 1, j] = x[N - 2, j]
            y[N - 1, j] = -y[N - 2, j]
        for i in prange(1, N - 1):
            h[i, 0] = h[i, 1]
            x[i, 0] = -x[i, 1]
            y[i, 0] = y[i, 1]
            h[i, M - 1] = h[i, M - 2]
            x[i, M - 1] = -x[i, M - 2]
            y[i, M - 1] = y[i, M - 2]
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                e0, e1, e2, e3, e4 = pair(h[i, j], x[i, j], y[i, j], z[i, j], h[i, j + 1], x[i, j + 1], y[i, j + 1], z[i, j + 1])
                w0, w1, w2, w3, w4 = pair(h[i, j - 1], x[i, j - 1], y[i, j - 1], z[i, j - 1], h[i, j], x[i, j], y[i, j], z[i, j])
                n0, n1, n2, n3, n4 = pair(h[i, j], y[i, j], x[i, j], z[i, j], h[i + 1, j], y[i + 1, j], x[i + 1, j], z[i + 1, j])
                s0, s1, s2, s3, s4 = pair(h[i - 1, j], y[i - 1, j], x[i - 1, j], z[i - 1, j], h[i, j], y[i, j], x[i, j], z[i, j])
                hn[i, j] = h[i, j] - lam * (e0 - w0 + n0 - s0)
                xn[i, j] = x[i, j] - lam * (e1 + e3 - w1 - w4 + n2 - s2)
                yn[i, j] = y[i, j] - lam * (n1 + n3 - s1 - s4 + e2 - w2)
        h, hn = hn, h
        x, xn = xn, x
        y, yn = yn, y
        if s % 10 == 9:
            mass = 0.0
            for i in prange(1, N - 1):
                for j in range(1, M - 1):
                    mass += h[i, j]
    return h, x, y


@njit(**opt)
def heat(A, B, wet, steps, k):
    N, M = A.shape
    for s in range(steps):
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                a = A[i, j]
                r = f0
                if wet[i, j] == 1:
                    if wet[i, j + 1] == 1:
                        r += A[i, j + 1] - a
                    if wet[i, j - 1] == 1:
                        r += A[i, j - 1] - a
                    if wet[i + 1, j] == 1:
                        r += A[i + 1, j] - a
                    if wet[i - 1, j] == 1:
                        r += A[i - 1, j] - a
                B[i, j] = a + k * r
        A, B = B, A
    return A


c0 = F(9 / 8)
c1 = F(-1 / 24)


@njit(**opt)
def elastic(vz, vx, szz, sxx, szx, lam, mu, muzx, bz, bx, src, rx, rec, steps, h, shot):
    N, M = lam.shape
    for s in range(steps):
        for i0 in prange(N):
            i = i0 + 2
            for j in range(2, M + 2):
                vz[i, j] += bz[i0, j - 2] * (
                    c0 * (szz[i + 1, j] - szz[i, j])
                    + c1 * (szz[i + 2, j] - szz[i - 1, j])
                    + c0 * (szx[i, j] - szx[i, j - 1])
                    + c1 * (szx[i, j + 1] - szx[i, j - 2])
                )
                vx[i, j] += bx[i0, j - 2] * (
                    c0 * (szx[i, j] - szx[i - 1, j])
                    + c1 * (szx[i + 1, j] - szx[i - 2, j])
                    + c0 * (sxx[i, j + 1] - sxx[i, j])
                    + c1 * (sxx[i, j + 2] - sxx[i, j - 1])
                )
        if shot and s < src.size:
            vz[42, M // 2 + 2] += h * bz[40, M // 2] * src[s]
        for i0 in prange(N):
            i = i0 + 2
            for j in range(2, M + 2):
                l = lam[i0, j - 2]
                m = mu[i0, j - 2]
                ez = c0 * (vz[i, j] - vz[i - 1, j]) + c1 * (vz[i + 1, j] - vz[i - 2, j])
                ex = c0 * (vx[i, j] - vx[i, j - 1]) + c1 * (vx[i, j + 1] - vx[i, j - 2])
                szz[i, j] += (l + f2 * m) * ez + l * ex
                sxx[i, j] += (l + f2 * m) * ex + l * ez
                szx[i, j] += muzx[i0, j - 2] * (
                    c0 * (vx[i + 1, j] - vx[i, j]) + c1 * (vx[i + 2, j] - vx[i - 1, j]) + c0 * (vz[i, j + 1] - vz[i, j]) + c1 * (vz[i, j + 2] - vz[i, j - 1])
                )
        if shot:
            for r in range(rx.size):
                rec[s, r] = vz[22, rx[r] + 2]


p8 = F(8)
p01 = F(0.01)
p1 = F(0.1)
p3 = F(0.3)
p11 = F(1.1)


@njit(error_model="numpy")
def at(T, v, i, j, x):
    return v[i, j] if T[i, j] > 0 else x


@njit(**opt)
def heart(v, r, vn, rn, T, cx, cy, cd, steps, h):
    N, M = v.shape
    for s in range(steps):
        for i in prange(1, N - 1):
            for j in range(1, M - 1):
                if T[i, j] > 0:
                    x = v[i, j]
                    d = (
                        h5 * (cx[i, j] + cx[i, j + 1]) * (at(T, v, i, j + 1, x) - x)
                        + h5 * (cx[i, j] + cx[i, j - 1]) * (at(T, v, i, j - 1, x) - x)
                        + h5 * (cy[i, j] + cy[i + 1, j]) * (at(T, v, i + 1, j, x) - x)
                        + h5 * (cy[i, j] + cy[i - 1, j]) * (at(T, v, i - 1, j, x) - x)
                        + h5 * cd[i, j] * (at(T, v, i + 1, j + 1, x) - at(T, v, i + 1, j - 1, x) - at(T, v, i - 1, j + 1, x) + at(T, v, i - 1, j - 1, x))
                    )
                    a = x
                    b = r[i, j]
                    for k in range(5):
                        da = d + p8 * a * (f1 - a) * (a - p1) - a * b
                        db = (p01 + p1 * b / (p3 + a)) * (-b - p8 * a * (a - p11))
                        a = a + h * da
                        b = b + h * db
                    vn[i, j] = a
                    rn[i, j] = b
        v, vn = vn, v
        r, rn = rn, r
    return v, r
