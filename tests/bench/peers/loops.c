/* tests/bench/peers/loops.c: stencils as one writes them in C with OpenMP, and the same in tiles of several time steps
 * (overlapped: each tile computes its halo itself, in memory of its thread). peers.py builds it once for a case and a
 * type, with REAL and one of the names below:
 *
 *   loops STEPS REPEAT T LINES COLUMNS OUT N M [L]
 *
 * runs STEPS time steps REPEAT times from the same start, in tiles of T steps (0: no tiles) that give out LINES of the
 * second dimension from behind and COLUMNS of the last (0: all), writes the fields' raw values to the file OUT ("-":
 * nowhere), and prints the least seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef REAL
#define REAL float
#endif
#define R(x) ((REAL)(x))

/* The first cells of a line in arrays that are read beside their point, sy and sz cells from line to line and from
 * plane to plane, and in arrays that are read or written at the point alone. */
typedef struct Line {
  const REAL *in[2];
  REAL *out[2];
  const REAL *at;
  long sy, sz;
} Line;

/* The new values of cells x0 to before x1 of a line; of second order in time: over the older ones. */
static inline void compute(Line l, long x0, long x1);

#if defined(star2d1r)
enum { RANK = 2, RADIUS = 1, FIELDS = 1, ORDER = 1 };
static inline void compute(Line l, long x0, long x1) {
  const REAL *a = l.in[0];
  REAL *b = l.out[0];
  long y = l.sy;
#pragma omp simd
  for (long x = x0; x < x1; x++)
    b[x] = R(0.16228) * a[x - y] + R(0.16439) * a[x - 1] + R(0.33300) * a[x] + R(0.16861) * a[x + 1] +
           R(0.17072) * a[x + y];
}
#elif defined(box2d1r)
enum { RANK = 2, RADIUS = 1, FIELDS = 1, ORDER = 1 };
static inline void compute(Line l, long x0, long x1) {
  const REAL *a = l.in[0];
  REAL *b = l.out[0];
  long y = l.sy;
#pragma omp simd
  for (long x = x0; x < x1; x++)
    b[x] = R(0.07305) * a[x - y - 1] + R(0.11100) * a[x - y] + R(0.07495) * a[x - y + 1] + R(0.11384) * a[x - 1] +
           R(0.23054) * a[x] + R(0.11669) * a[x + 1] + R(0.07875) * a[x + y - 1] + R(0.11954) * a[x + y] +
           R(0.08064) * a[x + y + 1];
}
#elif defined(star2d4r)
enum { RANK = 2, RADIUS = 4, FIELDS = 1, ORDER = 1 };
static inline void compute(Line l, long x0, long x1) {
  const REAL *a = l.in[0];
  REAL *b = l.out[0];
  long y = l.sy;
#pragma omp simd
  for (long x = x0; x < x1; x++)
    b[x] = R(0.01200) * a[x - 4 * y] + R(0.02067) * a[x - 3 * y] + R(0.04187) * a[x - 2 * y] + R(0.10599) * a[x - y] +
           R(0.01263) * a[x - 4] + R(0.02173) * a[x - 3] + R(0.04399) * a[x - 2] + R(0.11129) * a[x - 1] +
           R(0.22524) * a[x] + R(0.11395) * a[x + 1] + R(0.04611) * a[x + 2] + R(0.02332) * a[x + 3] +
           R(0.01387) * a[x + 4] + R(0.11925) * a[x + y] + R(0.04823) * a[x + 2 * y] + R(0.02438) * a[x + 3 * y] +
           R(0.01450) * a[x + 4 * y];
}
#elif defined(star3d1r)
enum { RANK = 3, RADIUS = 1, FIELDS = 1, ORDER = 1 };
static inline void compute(Line l, long x0, long x1) {
  const REAL *a = l.in[0];
  REAL *b = l.out[0];
  long y = l.sy, z = l.sz;
#pragma omp simd
  for (long x = x0; x < x1; x++)
    b[x] = R(0.12019) * a[x - z] + R(0.12175) * a[x - y] + R(0.12331) * a[x - 1] + R(0.24975) * a[x] +
           R(0.12644) * a[x + 1] + R(0.12800) * a[x + y] + R(0.12956) * a[x + z];
}
#elif defined(gray_scott)
enum { RANK = 2, RADIUS = 1, FIELDS = 2, ORDER = 1 };
static inline void compute(Line l, long x0, long x1) {
  const REAL *u = l.in[0], *v = l.in[1];
  REAL *p = l.out[0], *q = l.out[1];
  long y = l.sy;
#pragma omp simd
  for (long x = x0; x < x1; x++) {
    REAL uvv = u[x] * v[x] * v[x];
    p[x] = u[x] + R(0.16) * (u[x - y] + u[x + y] + u[x - 1] + u[x + 1] - 4 * u[x]) - uvv + R(0.037) * (1 - u[x]);
    q[x] = v[x] + R(0.08) * (v[x - y] + v[x + y] + v[x - 1] + v[x + 1] - 4 * v[x]) + uvv - R(0.097) * v[x];
  }
}
#elif defined(acoustic3d)
enum { RANK = 3, RADIUS = 4, FIELDS = 1, ORDER = 2 };
static inline void compute(Line l, long x0, long x1) {
  const REAL *p = l.in[0], *k = l.at;
  REAL *q = l.out[0];
  long y = l.sy, z = l.sz;
#define RING(r) (p[x - r * z] + p[x + r * z] + p[x - r * y] + p[x + r * y] + p[x - r] + p[x + r])
#pragma omp simd
  for (long x = x0; x < x1; x++)
    q[x] = 2 * p[x] - q[x] +
           k[x] * (R(3 * -205.0 / 72) * p[x] + R(8.0 / 5) * RING(1) + R(-1.0 / 5) * RING(2) + R(8.0 / 315) * RING(3) +
                   R(-1.0 / 560) * RING(4));
}
#else
#error "name a case"
#endif

/* The grid, slowest dimension first (rank 2: one plane), and its fields: `now` and `next`, for each of FIELDS; of
 * second order `next` holds the older level. `to` and `older` are where tiles leave their last levels. */
typedef struct Grid {
  long n[3];
  REAL *now[FIELDS], *next[FIELDS], *to[FIELDS], *older[FIELDS], *at;
} Grid;

static long min(long a, long b) { return a < b ? a : b; }
static long max(long a, long b) { return a > b ? a : b; }
static long points(const Grid *g) { return g->n[0] * g->n[1] * g->n[2]; }

/* Seconds on a clock that only goes forward. */
static double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The number that all fields start from, at point (z, y, x). */
static REAL seed(long z, long y, long x) {
  long sum = RANK == 2 ? y * 37 + x * 101 : z * 37 + y * 101 + x * 211;
  return R(sum % 1009) * R(0.001);
}

/* Fills all arrays with the start, each by the threads that will compute it. */
static void start(Grid *g) {
#pragma omp parallel for collapse(2)
  for (long z = 0; z < g->n[0]; z++)
    for (long y = 0; y < g->n[1]; y++)
      for (long x = 0; x < g->n[2]; x++) {
        long i = (z * g->n[1] + y) * g->n[2] + x;
        REAL s = seed(z, y, x);
        for (int f = 0; f < FIELDS; f++) {
          REAL v = FIELDS == 1 ? s : f == 0 ? 1 - R(0.3) * s : R(0.25) * s;
          g->now[f][i] = g->next[f][i] = g->to[f][i] = g->older[f][i] = v;
        }
        if (g->at)
          g->at[i] = R(0.05) + R(0.1) * s;
      }
}

static void swap(REAL **a, REAL **b) {
  REAL *c = *a;
  *a = *b;
  *b = c;
}

/* One step of the whole grid. */
static void step(const Grid *g) {
  long z0 = RANK == 3 ? RADIUS : 0, sy = g->n[2], sz = g->n[1] * sy;
#pragma omp parallel for collapse(2)
  for (long z = z0; z < g->n[0] - z0; z++)
    for (long y = RADIUS; y < g->n[1] - RADIUS; y++) {
      long i = z * sz + y * sy;
      Line l = {.at = g->at ? g->at + i : NULL, .sy = sy, .sz = sz};
      for (int f = 0; f < FIELDS; f++) {
        l.in[f] = g->now[f] + i;
        l.out[f] = g->next[f] + i;
      }
      compute(l, RADIUS, g->n[2] - RADIUS);
    }
}

/* A tile: what it gives out (lo to before hi), the box that its memory holds, and that memory. */
typedef struct TimeTile {
  long lo[3], hi[3], from[3], size[3];
  REAL *now[FIELDS], *next[FIELDS];
} TimeTile;

/* Copies the tile's box from `from` (an array of the grid) to `to`. */
static void load(const Grid *g, const TimeTile *t, const REAL *from, REAL *to) {
  for (long z = 0; z < t->size[0]; z++)
    for (long y = 0; y < t->size[1]; y++)
      memcpy(to + (z * t->size[1] + y) * t->size[2],
             from + ((t->from[0] + z) * g->n[1] + t->from[1] + y) * g->n[2] + t->from[2],
             sizeof(REAL) * (size_t)t->size[2]);
}

/* Copies what the tile gives out from `from`, its memory, to the array `to` of the grid. */
static void store(const Grid *g, const TimeTile *t, const REAL *from, REAL *to) {
  for (long z = t->lo[0]; z < t->hi[0]; z++)
    for (long y = t->lo[1]; y < t->hi[1]; y++)
      memcpy(to + (z * g->n[1] + y) * g->n[2] + t->lo[2],
             from + ((z - t->from[0]) * t->size[1] + y - t->from[1]) * t->size[2] + t->lo[2] - t->from[2],
             sizeof(REAL) * (size_t)(t->hi[2] - t->lo[2]));
}

/* One step of the tile on what it gives out and `halo` cells about that. */
static void tile_step(const Grid *g, TimeTile *t, long halo) {
  long lo[3], hi[3], sy = t->size[2], sz = t->size[1] * sy;
  for (int d = 0; d < 3; d++) {
    long rim = d < 3 - RANK ? 0 : RADIUS, more = d < 3 - RANK ? 0 : halo;
    lo[d] = max(t->lo[d] - more, rim);
    hi[d] = min(t->hi[d] + more, g->n[d] - rim);
  }
  for (long z = lo[0]; z < hi[0]; z++)
    for (long y = lo[1]; y < hi[1]; y++) {
      long i = (z - t->from[0]) * sz + (y - t->from[1]) * sy;
      Line l = {.at = g->at ? g->at + (z * g->n[1] + y) * g->n[2] + t->from[2] : NULL, .sy = sy, .sz = sz};
      for (int f = 0; f < FIELDS; f++) {
        l.in[f] = t->now[f] + i;
        l.out[f] = t->next[f] + i;
      }
      compute(l, lo[2] - t->from[2], hi[2] - t->from[2]);
    }
  for (int f = 0; f < FIELDS; f++)
    swap(&t->now[f], &t->next[f]);
}

/* Must the tile's `next` hold what the grid's does: the older level, or a rim, which no step writes? */
static int needs_next(const Grid *g, const TimeTile *t) {
  int rim = ORDER == 2;
  for (int d = 3 - RANK; d < 3; d++)
    rim |= t->from[d] < RADIUS || t->from[d] + t->size[d] > g->n[d] - RADIUS;
  return rim;
}

/* Runs the tile, whose lo and hi are set, for `levels` steps. */
static void run_tile(const Grid *g, TimeTile *t, long levels) {
  for (int d = 0; d < 3; d++) {
    long halo = d < 3 - RANK ? 0 : levels * RADIUS;
    t->from[d] = max(t->lo[d] - halo, 0);
    t->size[d] = min(t->hi[d] + halo, g->n[d]) - t->from[d];
  }
  for (int f = 0; f < FIELDS; f++) {
    load(g, t, g->now[f], t->now[f]);
    if (needs_next(g, t))
      load(g, t, g->next[f], t->next[f]);
  }
  for (long s = levels - 1; s >= 0; s--)
    tile_step(g, t, s * RADIUS);
  for (int f = 0; f < FIELDS; f++) {
    store(g, t, t->now[f], g->to[f]);
    if (ORDER == 2)
      store(g, t, t->next[f], g->older[f]);
  }
}

/* `levels` steps of the whole grid in tiles that give out `tile` points a dimension. */
static void step_tiles(const Grid *g, long levels, const long *tile) {
  long count[3], cells = 1;
  for (int d = 0; d < 3; d++) {
    count[d] = (g->n[d] + tile[d] - 1) / tile[d];
    cells *= min(tile[d] + 2 * (d < 3 - RANK ? 0 : levels * RADIUS), g->n[d]);
  }
#pragma omp parallel
  {
    REAL *memory = aligned_alloc(64, (sizeof(REAL) * (size_t)(2 * FIELDS * cells) / 64 + 1) * 64);
#pragma omp for schedule(dynamic)
    for (long i = 0; i < count[0] * count[1] * count[2]; i++) {
      long at[3] = {i / (count[1] * count[2]), i / count[2] % count[1], i % count[2]};
      TimeTile t;
      for (int d = 0; d < 3; d++) {
        t.lo[d] = at[d] * tile[d];
        t.hi[d] = min(t.lo[d] + tile[d], g->n[d]);
      }
      for (int f = 0; f < FIELDS; f++) {
        t.now[f] = memory + 2 * f * cells;
        t.next[f] = memory + (2 * f + 1) * cells;
      }
      run_tile(g, &t, levels);
    }
    free(memory);
  }
}

/* All steps. */
static void run(Grid *g, long steps, long levels, const long *tile) {
  for (long s = 0; s < steps; s += levels ? min(levels, steps - s) : 1) {
    if (levels)
      step_tiles(g, min(levels, steps - s), tile);
    else
      step(g);
    for (int f = 0; f < FIELDS; f++) {
      swap(&g->now[f], levels ? &g->to[f] : &g->next[f]);
      if (levels && ORDER == 2)
        swap(&g->next[f], &g->older[f]);
    }
  }
}

/* An array of the grid; ends the program where there is no memory. */
static REAL *array(const Grid *g) {
  REAL *a = aligned_alloc(64, (sizeof(REAL) * (size_t)points(g) / 64 + 1) * 64);
  if (!a) {
    fprintf(stderr, "loops: no memory for %ld points\n", points(g));
    exit(1);
  }
  return a;
}

/* Writes the fields to the file at `path`. False if that fails. */
static int save(const Grid *g, const char *path) {
  FILE *to = fopen(path, "wb");
  int ok = to != NULL;
  for (int f = 0; ok && f < FIELDS; f++)
    ok = fwrite(g->now[f], sizeof(REAL), (size_t)points(g), to) == (size_t)points(g);
  return to && fclose(to) == 0 && ok;
}

int main(int argc, char **argv) {
  if (argc != 7 + RANK) {
    fprintf(stderr, "usage: loops STEPS REPEAT T LINES COLUMNS OUT N M [L]\n");
    return 2;
  }
  Grid g = {.n = {1, 1, 1}};
  long steps = atol(argv[1]), repeat = atol(argv[2]), levels = atol(argv[3]);
  for (int d = 0; d < RANK; d++)
    g.n[3 - RANK + d] = atol(argv[7 + d]);
  long lines = atol(argv[4]), columns = atol(argv[5]),
       tile[3] = {RANK == 3 && lines ? lines : g.n[0], lines ? lines : g.n[1], columns ? columns : g.n[2]};
  for (int f = 0; f < FIELDS; f++) {
    g.now[f] = array(&g);
    g.next[f] = array(&g);
    g.to[f] = levels ? array(&g) : g.next[f];
    g.older[f] = levels && ORDER == 2 ? array(&g) : g.next[f];
  }
  g.at = ORDER == 2 ? array(&g) : NULL;
  double best = 1e30;
  for (long i = 0; i < repeat; i++) {
    start(&g);
    double begin = now_seconds(), seconds = (run(&g, steps, levels, tile), now_seconds() - begin);
    best = seconds < best ? seconds : best;
  }
  printf("%.9f\n", best);
  if (strcmp(argv[6], "-") != 0 && !save(&g, argv[6])) {
    fprintf(stderr, "loops: %s cannot be written\n", argv[6]);
    return 1;
  }
  return 0;
}
