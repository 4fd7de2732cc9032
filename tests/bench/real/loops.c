/* loops.c: the steps of the programs beside it in plain C with OpenMP, as one would write them by hand: an array for
 * each field (of vectors one for each component), two where old values are read beside the point, which are swapped.
 * real.py compiles and calls it. */
#include <math.h>
#include <stdint.h>
#include <stddef.h>
#define SWAP(a, b) \
  do { \
    float *t_ = a; \
    a = b; \
    b = t_; \
  } while (0)
typedef float *restrict R;
static inline float mx(float a, float b) { return a > b ? a : b; }
static inline float mn(float a, float b) { return a < b ? a : b; }
/* A channel with an obstacle, D2Q9: f has nine arrays, solid is where no fluid is, prof what flows in at the left. */
void lbm(float *f, float *n, const uint8_t *solid, const float *prof, int N, int M, int steps, float om) {
  size_t P = (size_t)N * M;
  const float w0 = 4.f / 9, w1 = 1.f / 9, w2 = 1.f / 36;
  for (int s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
      int a = i > 0 ? i - 1 : N - 1, b = i < N - 1 ? i + 1 : 0;
      size_t o = (size_t)i * M, oa = (size_t)a * M, ob = (size_t)b * M;
      const float *F0 = f + o, *F1 = f + P + o - 1, *F2 = f + 2 * P + oa, *F3 = f + 3 * P + o + 1, *F4 = f + 4 * P + ob,
                  *F5 = f + 5 * P + oa - 1, *F6 = f + 6 * P + oa + 1, *F7 = f + 7 * P + ob + 1,
                  *F8 = f + 8 * P + ob - 1;
      float *n0 = n + o, *n1 = n0 + P, *n2 = n1 + P, *n3 = n2 + P, *n4 = n3 + P, *n5 = n4 + P, *n6 = n5 + P,
            *n7 = n6 + P, *n8 = n7 + P;
      const uint8_t *so = solid + o;
#pragma omp simd
      for (int j = 1; j < M - 1; j++) {
        float g0 = F0[j], g1 = F1[j], g2 = F2[j], g3 = F3[j], g4 = F4[j], g5 = F5[j], g6 = F6[j], g7 = F7[j],
              g8 = F8[j];
        float rho = g0 + g1 + g2 + g3 + g4 + g5 + g6 + g7 + g8, ux = (g1 + g5 + g8 - g3 - g6 - g7) / rho,
              uy = (g2 + g5 + g6 - g4 - g7 - g8) / rho, u2 = 1 - 1.5f * (ux * ux + uy * uy), c;
        int S = so[j];
        n0[j] = S ? g0 : g0 - om * (g0 - w0 * rho * u2);
        c = 3 * ux;
        n1[j] = S ? g3 : g1 - om * (g1 - w1 * rho * (u2 + c + .5f * c * c));
        n3[j] = S ? g1 : g3 - om * (g3 - w1 * rho * (u2 - c + .5f * c * c));
        c = 3 * uy;
        n2[j] = S ? g4 : g2 - om * (g2 - w1 * rho * (u2 + c + .5f * c * c));
        n4[j] = S ? g2 : g4 - om * (g4 - w1 * rho * (u2 - c + .5f * c * c));
        c = 3 * (ux + uy);
        n5[j] = S ? g7 : g5 - om * (g5 - w2 * rho * (u2 + c + .5f * c * c));
        n7[j] = S ? g5 : g7 - om * (g7 - w2 * rho * (u2 - c + .5f * c * c));
        c = 3 * (uy - ux);
        n6[j] = S ? g8 : g6 - om * (g6 - w2 * rho * (u2 + c + .5f * c * c));
        n8[j] = S ? g6 : g8 - om * (g8 - w2 * rho * (u2 - c + .5f * c * c));
      }
      for (int q = 0; q < 9; q++) {
        n[q * P + o] = prof[q * N + i];
        n[q * P + o + M - 1] = f[q * P + o + M - 2];
      }
    }
    SWAP(f, n);
  }
}
/* Speckle reducing anisotropic diffusion; c: how fast, K: the new picture. */
void srad(float *J, float *K, float *c, int N, int M, int steps, float k) {
  for (int s = 0; s < steps; s++) {
    double s1 = 0, s2 = 0;
    for (int i = 2; i < 18; i++)
      for (int j = 3; j < 19; j++) {
        double v = J[i * M + j];
        s1 += v;
        s2 += v * v;
      }
    double mean = s1 / 256;
    float q0 = (s2 / 256 - mean * mean) / (mean * mean), qq = q0 * (1 + q0);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
      const float *x = J + i * M, *a = J + (i > 0 ? i - 1 : 0) * M, *b = J + (i < N - 1 ? i + 1 : N - 1) * M;
      float *C = c + i * M;
#define CO(j, l, r) \
  { \
    float v = x[j], dn = a[j] - v, ds = b[j] - v, dw = x[l] - v, de = x[r] - v, \
          g2 = (dn * dn + ds * ds + dw * dw + de * de) / (v * v), L = (dn + ds + dw + de) / v, \
          num = .5f * g2 - L * L / 16, den = 1 + .25f * L, q = num / (den * den); \
    C[j] = mn(1, mx(0, 1 / (1 + (q - q0) / qq))); \
  }
      CO(0, 0, 1)
#pragma omp simd
      for (int j = 1; j < M - 1; j++)
        CO(j, j - 1, j + 1)
      CO(M - 1, M - 2, M - 1)
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
      const float *x = J + i * M, *a = J + (i > 0 ? i - 1 : 0) * M, *b = J + (i < N - 1 ? i + 1 : N - 1) * M,
                  *C = c + i * M, *D = c + (i < N - 1 ? i + 1 : N - 1) * M;
      float *y = K + i * M;
#define DI(j, l, r) \
  { \
    float v = x[j], u = C[j]; \
    y[j] = v + k * (u * (a[j] - v) + D[j] * (b[j] - v) + u * (x[l] - v) + C[r] * (x[r] - v)); \
  }
      DI(0, 0, 1)
#pragma omp simd
      for (int j = 1; j < M - 1; j++)
        DI(j, j - 1, j + 1)
      DI(M - 1, M - 2, M - 1)
    }
    SWAP(J, K);
  }
}
/* The Cahn-Hilliard equation; the total amount at last. */
double cahn(float *c, float *d, float *mu, int N, int M, int steps, float dt, float kap, float W) {
  double tot = 0;
  for (int s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
      const float *x = c + i * M, *a = c + (i > 0 ? i - 1 : 0) * M, *b = c + (i < N - 1 ? i + 1 : N - 1) * M;
      float *m = mu + i * M;
#define PO(j, l, r) \
  { \
    float v = x[j]; \
    m[j] = 2 * W * v * (1 - v) * (1 - 2 * v) * .1f - kap * .1f * (a[j] + b[j] + x[l] + x[r] - 4 * v); \
  }
      PO(0, 0, 1)
#pragma omp simd
      for (int j = 1; j < M - 1; j++)
        PO(j, j - 1, j + 1)
      PO(M - 1, M - 2, M - 1)
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
      int ia = (i > 0 ? i - 1 : 0) * M, ib = (i < N - 1 ? i + 1 : N - 1) * M;
      const float *x = c + i * M, *a = c + ia, *b = c + ib, *m = mu + i * M, *ma = mu + ia, *mb = mu + ib;
      float *y = d + i * M;
#define MOB(v) (1 + .5f * (v) * (1 - (v)))
#define MV(j, l, r) \
  { \
    float v = x[j], u = m[j], p = MOB(v); \
    y[j] = v + dt * (.5f * (MOB(x[r]) + p) * (m[r] - u) - .5f * (p + MOB(x[l])) * (u - m[l]) + \
                     .5f * (MOB(b[j]) + p) * (mb[j] - u) - .5f * (p + MOB(a[j])) * (u - ma[j])); \
  }
      MV(0, 0, 1)
#pragma omp simd
      for (int j = 1; j < M - 1; j++)
        MV(j, j - 1, j + 1)
      MV(M - 1, M - 2, M - 1)
    }
    SWAP(c, d);
    if (s % 50 == 49) {
      tot = 0;
#pragma omp parallel for reduction(+ : tot)
      for (int i = 0; i < N * M; i++)
        tot += c[i];
    }
  }
  return tot;
}
static inline float minmod(float a, float b) {
  float m = fabsf(a) < fabsf(b) ? a : b;
  return a * b <= 0 ? 0 : m;
}
/* Gas dynamics in one dimension: U has three rows of n inner points and two more at each end, Fl is for the fluxes. */
void euler(float *U, float *Fl, int n, int steps, float cfl) {
  float *u0 = U, *u1 = u0 + n + 4, *u2 = u1 + n + 4, *f0 = Fl, *f1 = f0 + n + 4, *f2 = f1 + n + 4;
  const float g1 = .4f, gam = 1.4f, tiny = 1e-12f;
  float *u[3] = {u0, u1, u2};
  for (int s = 0; s < steps; s++) {
    for (int q = 0; q < 3; q++) {
      u[q][0] = u[q][1] = u[q][2];
      u[q][n + 2] = u[q][n + 3] = u[q][n + 1];
    }
    float sp = 0;
#pragma omp parallel for simd schedule(static) reduction(max : sp)
    for (int i = 2; i < n + 2; i++) {
      float v = u1[i] / u0[i], x = fabsf(v) + sqrtf(gam * mx(tiny, g1 * (u2[i] - .5f * u1[i] * v)) / u0[i]);
      sp = x > sp ? x : sp;
    }
    float dt = cfl / sp;
#pragma omp parallel for simd schedule(static)
    for (int i = 1; i < n + 2; i++) {
#define LR(k, l, r) \
  float l = u##k[i] + .5f * minmod(u##k[i] - u##k[i - 1], u##k[i + 1] - u##k[i]), \
        r = u##k[i + 1] - .5f * minmod(u##k[i + 1] - u##k[i], u##k[i + 2] - u##k[i + 1]);
      LR(0, l0, r0)
      LR(1, l1, r1)
      LR(2, l2, r2)
      float vl = l1 / l0, vr = r1 / r0, pl = g1 * (l2 - .5f * l1 * vl), pr = g1 * (r2 - .5f * r1 * vr),
            cl = sqrtf(gam * mx(tiny, pl) / l0), cr = sqrtf(gam * mx(tiny, pr) / r0);
      float sl = mn(0, mn(vl - cl, vr - cr)), sr = mx(0, mx(vl + cl, vr + cr)), d = sr - sl, p = sl * sr;
      f0[i] = (sr * l1 - sl * r1 + p * (r0 - l0)) / d;
      f1[i] = (sr * (l1 * vl + pl) - sl * (r1 * vr + pr) + p * (r1 - l1)) / d;
      f2[i] = (sr * ((l2 + pl) * vl) - sl * ((r2 + pr) * vr) + p * (r2 - l2)) / d;
    }
#pragma omp parallel for simd schedule(static)
    for (int i = 2; i < n + 2; i++) {
      u0[i] -= dt * (f0[i] - f0[i - 1]);
      u1[i] -= dt * (f1[i] - f1[i - 1]);
      u2[i] -= dt * (f2[i] - f2[i - 1]);
    }
  }
}
typedef struct {
  float a, b, c, d, e;
} P5;
static inline __attribute__((always_inline)) P5 pair(float hl, float ql, float tl, float zl, float hr, float qr,
                                                     float tr, float zr) {
  const float g = 9.81f, dry = 1e-3f;
  float zm = mx(zl, zr), a = mx(0, hl + zl - zm), b = mx(0, hr + zr - zm), dl = mx(hl, dry), dr = mx(hr, dry),
        ul = hl > dry ? ql / dl : 0, ur = hr > dry ? qr / dr : 0, wl = hl > dry ? tl / dl : 0,
        wr = hr > dry ? tr / dr : 0;
  float s = mx(fabsf(ul) + sqrtf(g * a), fabsf(ur) + sqrtf(g * b));
  return (P5){.5f * (a * ul + b * ur) - .5f * s * (b - a),
              .5f * (a * ul * ul + .5f * g * a * a + b * ur * ur + .5f * g * b * b) - .5f * s * (b * ur - a * ul),
              .5f * (a * ul * wl + b * ur * wr) - .5f * s * (b * wr - a * wl), .5f * g * (hl * hl - a * a),
              .5f * g * (hr * hr - b * b)};
}
/* The water there is, at some steps. */
double wet_mass;
/* Shallow water on a bed z that is dry in places, ghost points around. */
void wetdry(float *h, float *x, float *y, float *hn, float *xn, float *yn, const float *z, int N, int M, int steps,
            float lam) {
  for (int s = 0; s < steps; s++) {
    for (int j = 1; j < M - 1; j++) {
      size_t k = (size_t)(N - 1) * M + j;
      h[j] = h[M + j];
      x[j] = x[M + j];
      y[j] = -y[M + j];
      h[k] = h[k - M];
      x[k] = x[k - M];
      y[k] = -y[k - M];
    }
#pragma omp parallel for schedule(static)
    for (int i = 1; i < N - 1; i++) {
      size_t a = (size_t)i * M, b = a + M - 1;
      h[a] = h[a + 1];
      x[a] = -x[a + 1];
      y[a] = y[a + 1];
      h[b] = h[b - 1];
      x[b] = -x[b - 1];
      y[b] = y[b - 1];
    }
#pragma omp parallel for schedule(static)
    for (int i = 1; i < N - 1; i++) {
      size_t o = (size_t)i * M;
#pragma omp simd
      for (size_t k = o + 1; k < o + M - 1; k++) {
        P5 e = pair(h[k], x[k], y[k], z[k], h[k + 1], x[k + 1], y[k + 1], z[k + 1]),
           w = pair(h[k - 1], x[k - 1], y[k - 1], z[k - 1], h[k], x[k], y[k], z[k]);
        P5 n = pair(h[k], y[k], x[k], z[k], h[k + M], y[k + M], x[k + M], z[k + M]),
           q = pair(h[k - M], y[k - M], x[k - M], z[k - M], h[k], y[k], x[k], z[k]);
        hn[k] = h[k] - lam * (e.a - w.a + n.a - q.a);
        xn[k] = x[k] - lam * (e.b + e.d - w.b - w.e + n.c - q.c);
        yn[k] = y[k] - lam * (n.b + n.d - q.b - q.e + e.c - w.c);
      }
    }
    SWAP(h, hn);
    SWAP(x, xn);
    SWAP(y, yn);
    if (s % 10 == 9) {
      double m = 0;
#pragma omp parallel for reduction(+ : m)
      for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < M - 1; j++)
          m += h[(size_t)i * M + j];
      wet_mass = m;
    }
  }
}
/* Heat around obstacles, which are where wet is 0. */
void heat(float *A, float *B, const uint8_t *wet, int N, int M, int steps, float k) {
  for (int s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
    for (int i = 1; i < N - 1; i++) {
      const float *x = A + i * M, *a = x - M, *b = x + M;
      const uint8_t *w = wet + i * M, *wa = w - M, *wb = w + M;
      float *y = B + i * M;
#pragma omp simd
      for (int j = 1; j < M - 1; j++) {
        float v = x[j], r = 0;
        int c = w[j];
        r += (c & w[j + 1]) == 1 ? x[j + 1] - v : 0;
        r += (c & w[j - 1]) == 1 ? x[j - 1] - v : 0;
        r += (c & wb[j]) == 1 ? b[j] - v : 0;
        r += (c & wa[j]) == 1 ? a[j] - v : 0;
        y[j] = v + k * r;
      }
    }
    SWAP(A, B);
  }
}
/* Elastic waves with a source and receivers at rx, if `shot`; fields have two points of zeros around. */
void elastic(R vz, R vx, R szz, R sxx, R szx, const float *restrict lam, const float *restrict mu,
             const float *restrict muzx, const float *restrict bz, const float *restrict bx, const float *src,
             const int *rx, float *rec, int ns, int nr, int N, int M, int steps, float hh, int shot) {
  const float c0 = 9.f / 8, c1 = -1.f / 24;
  const int W = M + 4;
  for (int s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
      size_t o = (size_t)(i + 2) * W + 2, p = (size_t)i * M;
#pragma omp simd
      for (int j = 0; j < M; j++) {
        size_t k = o + j;
        vz[k] += bz[p + j] * (c0 * (szz[k + W] - szz[k]) + c1 * (szz[k + 2 * W] - szz[k - W]) +
                              c0 * (szx[k] - szx[k - 1]) + c1 * (szx[k + 1] - szx[k - 2]));
        vx[k] += bx[p + j] * (c0 * (szx[k] - szx[k - W]) + c1 * (szx[k + W] - szx[k - 2 * W]) +
                              c0 * (sxx[k + 1] - sxx[k]) + c1 * (sxx[k + 2] - sxx[k - 1]));
      }
    }
    if (shot && s < ns)
      vz[(size_t)42 * W + M / 2 + 2] += hh * bz[(size_t)40 * M + M / 2] * src[s];
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
      size_t o = (size_t)(i + 2) * W + 2, p = (size_t)i * M;
#pragma omp simd
      for (int j = 0; j < M; j++) {
        size_t k = o + j;
        float l = lam[p + j], m = mu[p + j];
        float ez = c0 * (vz[k] - vz[k - W]) + c1 * (vz[k + W] - vz[k - 2 * W]),
              ex = c0 * (vx[k] - vx[k - 1]) + c1 * (vx[k + 1] - vx[k - 2]);
        szz[k] += (l + 2 * m) * ez + l * ex;
        sxx[k] += (l + 2 * m) * ex + l * ez;
        szx[k] += muzx[p + j] * (c0 * (vx[k + W] - vx[k]) + c1 * (vx[k + 2 * W] - vx[k - W]) +
                                 c0 * (vz[k + 1] - vz[k]) + c1 * (vz[k + 2] - vz[k - 1]));
      }
    }
    if (shot)
      for (int r = 0; r < nr; r++)
        rec[(size_t)s * nr + r] = vz[(size_t)22 * W + 2 + rx[r]];
  }
}
/* Excitable tissue, fields with a point of zeros around, coefficients at all points. */
void heart(float *v, float *r, float *vn, float *rn, const uint8_t *T, const float *cx, const float *cy,
           const float *cd, int N, int M, int steps, float h) {
  for (int s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
    for (int i = 1; i < N - 1; i++) {
      size_t o = (size_t)i * M;
#pragma omp simd
      for (size_t k = o + 1; k < o + M - 1; k++) {
        float x = v[k];
#define AT(q) (T[q] ? v[q] : x)
        float d = .5f * (cx[k] + cx[k + 1]) * (AT(k + 1) - x) + .5f * (cx[k] + cx[k - 1]) * (AT(k - 1) - x) +
                  .5f * (cy[k] + cy[k + M]) * (AT(k + M) - x) + .5f * (cy[k] + cy[k - M]) * (AT(k - M) - x) +
                  .5f * cd[k] * (AT(k + M + 1) - AT(k + M - 1) - AT(k - M + 1) + AT(k - M - 1));
        float a = x, b = r[k], r0 = b;
        for (int q = 0; q < 5; q++) {
          float da = d + 8 * a * (1 - a) * (a - .1f) - a * b,
                db = (.01f + .1f * b / (.3f + a)) * (-b - 8 * a * (a - 1.1f));
          a += h * da;
          b += h * db;
        }
        vn[k] = T[k] ? a : x;
        rn[k] = T[k] ? b : r0;
      }
    }
    SWAP(v, vn);
    SWAP(r, rn);
  }
}
