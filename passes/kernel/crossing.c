/* crossing.c: decides whether two threads of a block can touch the same cell of an array by two given accesses.
 *
 * Thread t touches cell a·t + r, and thread t' touches cell a·t' + r', where r and r' consist of constants and loop
 * counters. The cells are equal if a·(t' - t) = r - r' in each dimension of the array. r - r' lies in an interval, and
 * equals a constant modulo g, the common divisor of the coefficients of the counters. The analysis tries all distances
 * t' - t with components in [1 - B_d, B_d - 1], where B_d is the number of threads along dimension d.
 *
 * Example: cells of the overlap schedule have the index thread + B * e + c in the last dimension, so g = B. With equal
 * c the only distance is 0, which is the thread itself; with c' = c + 1 the distances ±1 are possible, too. In the
 * other dimensions the index is E * thread + c, and the distances are multiples of E.
 *
 * Arrays of different shapes in one storage always cross, and so does an access whose index has no linear form. */
#include "passes/kernel/crossing.h"

/* Blocks with more than MAX_THREADS threads along a dimension are not analysed: all accesses cross. Answers are cached
 * for at most MAX_KINDS kinds of accesses. */
enum { MAX_THREADS = 4096, MAX_KINDS = 512 };

/* Cell numbers and their parts are smaller than this. */
static const int64_t MAX_CELL = (int64_t)1 << 40;

/* The equation of one dimension of the array: sum of coef[d] * distance_d + rest = 0, where rest lies in [lo, hi] and
 * rest = c modulo `divisor` (divisor 0: rest = c). */
typedef struct Equation {
  int64_t coef[MAX_RANK], lo, hi, c, divisor;
} Equation;

/* See crossing.h. */
Crossing *crossing_new(Arena *a, Ranges *r) {
  Crossing *c = ARENA_NEW(a, Crossing);
  c->ranges = r;
  c->known = ARENA_ARRAY(a, uint8_t *, MAX_KINDS);
  for (int d = 0; d < r->k->rank; d++)
    c->step[d] = ARENA_ARRAY(a, bool, r->k->threads[d] <= MAX_THREADS ? 2 * r->k->threads[d] + 1 : 1);
  return c;
}

/* Do the linear forms have the same terms, in the same order? */
static bool same_form(const Linear *x, const Linear *y) {
  bool same = x->c == y->c && x->n == y->n;
  for (int i = 0; i < x->n && same; i++)
    same = x->t[i].coef == y->t[i].coef && x->t[i].atom.kind == y->t[i].atom.kind &&
           x->t[i].atom.index == y->t[i].atom.index && x->t[i].atom.v == y->t[i].atom.v;
  return same;
}

/* Do both accesses obviously touch the same cells in the same way? */
static bool same_cells(const Access *x, const Access *y, int rank) {
  bool same = x->array == y->array && x->root == y->root && x->write == y->write && x->cells == y->cells;
  for (int d = rank - 1; d >= 0 && same; d--)
    same = x->exact[d] == y->exact[d] && same_form(&x->index[d], &y->index[d]);
  return same;
}

/* The kind of access `x` to an array of rank `rank`. */
static int32_t kind_of(Crossing *c, const Access *x, int rank) {
  for (int32_t i = 0; i < c->nkinds; i++)
    if (same_cells(c->kinds[i], x, rank))
      return i;
  if (c->nkinds == MAX_KINDS)
    return -1;
  ARENA_PUSH(c->ranges->arena, c->kinds, c->nkinds, x);
  return c->nkinds - 1;
}

/* See crossing.h. */
Access *access_new(Crossing *c, const Op *op, bool looped) {
  Ranges *r = c->ranges;
  Access *x = ARENA_NEW(r->arena, Access);
  *x = (Access){.op = op,
                .array = op->sym,
                .root = kernel_storage(r->k, op->sym),
                .write = op_array_written(op) >= 0,
                .looped = looped,
                .cells = op_elements(op)};
  for (int d = 0; d < r->k->arrays[op->sym].rank; d++) {
    const Value *v = op->operands[d + op_first_index(op)];
    x->index[d] = linear_of(r, v);
    Interval form = linear_interval(r, x->index[d]), value = value_interval(r, v);
    x->exact[d] = form.known && value.known && form.lo == value.lo && form.hi == value.hi;
    x->exact[d] &= !__builtin_add_overflow(x->index[d].c, op->off[d], &x->index[d].c);
  }
  x->kind = kind_of(c, x, r->k->arrays[op->sym].rank);
  return x;
}

static int64_t gcd(int64_t x, int64_t y) {
  while (y) {
    int64_t z = x % y;
    x = y;
    y = z;
  }
  return x < 0 ? -x : x;
}

/* The coefficient of thread `d` in `x`. */
static int64_t thread_coef(Linear x, int d) {
  for (int i = 0; i < x.n; i++)
    if (x.t[i].atom.kind == ATOM_THREAD && x.t[i].atom.index == d)
      return x.t[i].coef;
  return 0;
}

/* Does term `t` have the same value in all threads at all times, and the same coefficient in `y`, so that it
 * cancels? */
static bool term_cancels(LinearTerm t, Linear y) {
  if (t.atom.kind != ATOM_SCALAR && t.atom.kind != ATOM_BLOCK && t.atom.kind != ATOM_RANK)
    return false;
  for (int i = 0; i < y.n; i++)
    if (y.t[i].atom.kind == t.atom.kind && y.t[i].atom.index == t.atom.index)
      return y.t[i].coef == t.coef;
  return false;
}

/* Adds to the rest of `e` sign * the terms of `x` that are not in e->coef and do not cancel against `y`. False if a
 * bound is not known. */
static bool add_rest(Crossing *c, Equation *e, Linear x, Linear y, int64_t sign) {
  Linear rest = {x.c, 0, NULL};
  LinearTerm *t = ARENA_ARRAY(c->ranges->arena, LinearTerm, x.n);
  for (int i = 0; i < x.n; i++)
    if (!(x.t[i].atom.kind == ATOM_THREAD && e->coef[x.t[i].atom.index]) && !term_cancels(x.t[i], y))
      t[rest.n++] = x.t[i];
  rest.t = t;
  Interval r = linear_interval(c->ranges, rest);
  if (!r.known || r.lo <= -MAX_CELL || r.hi >= MAX_CELL || x.c <= -MAX_CELL || x.c >= MAX_CELL)
    return false;
  for (int i = 0; i < rest.n; i++) {
    if (t[i].coef <= -MAX_CELL || t[i].coef >= MAX_CELL)
      return false;
    e->divisor = gcd(e->divisor, t[i].coef);
  }
  e->lo += sign < 0 ? -r.hi : r.lo;
  e->hi += sign < 0 ? -r.lo : r.hi;
  e->c += sign * x.c;
  return true;
}

/* The equation index_y - index_x = 0 of one dimension of the array; false if nothing is known about it. */
static bool make_equation(Crossing *c, Linear x, Linear y, Equation *e) {
  *e = (Equation){0};
  for (int d = 0; d < c->ranges->k->rank; d++) {
    int64_t a = thread_coef(x, d);
    e->coef[d] = a == thread_coef(y, d) ? a : 0;
    if (e->coef[d] > INT32_MAX || e->coef[d] < INT32_MIN)
      return false;
  }
  return add_rest(c, e, x, y, -1) && add_rest(c, e, y, x, 1);
}

/* Can the rest of `e` be -v? */
static bool rest_can_be(const Equation *e, int64_t v) {
  int64_t r = -v;
  if (r < e->lo || r > e->hi)
    return false;
  return e->divisor ? (r - e->c) % e->divisor == 0 : r == e->c;
}

/* The number of thread dimensions in `e`; *last is the last of them. */
static int count_dims(const Equation *e, int *last) {
  int n = 0;
  *last = -1;
  for (int d = 0; d < MAX_RANK; d++)
    if (e->coef[d]) {
      *last = d;
      n++;
    }
  return n;
}

/* Sets c->step[d][distance + threads] for the distances along each dimension d that satisfy all equations in which d is
 * the only thread dimension. False if some dimension has no such distance, or an equation without threads cannot
 * hold. */
static bool single_solutions(Crossing *c, int n, const Equation *e) {
  const Kernel *k = c->ranges->k;
  int dims[MAX_RANK], last[MAX_RANK];
  for (int i = 0; i < n; i++)
    dims[i] = count_dims(&e[i], &last[i]);
  for (int d = 0; d < k->rank; d++) {
    bool any = false;
    for (int64_t s = 1 - k->threads[d]; s < k->threads[d]; s++) {
      bool ok = true;
      for (int i = 0; i < n && ok; i++)
        ok = dims[i] != 1 || last[i] != d || rest_can_be(&e[i], e[i].coef[d] * s);
      c->step[d][s + k->threads[d]] = ok;
      any |= ok;
    }
    if (!any)
      return false;
  }
  for (int i = 0; i < n; i++)
    if (dims[i] == 0 && !rest_can_be(&e[i], 0))
      return false;
  return true;
}

/* Do the equations with several thread dimensions hold for the distances `s`? */
static bool joint_solution(int n, const Equation *e, const int64_t *s) {
  for (int i = 0, last; i < n; i++)
    if (count_dims(&e[i], &last) > 1 &&
        !rest_can_be(&e[i], e[i].coef[0] * s[0] + e[i].coef[1] * s[1] + e[i].coef[2] * s[2] + e[i].coef[3] * s[3]))
      return false;
  return true;
}

/* The most warps between two threads at the distances `s`, if a row of threads consists of whole warps or a warp of
 * whole rows, and threads are numbered row by row. */
static int64_t warps_apart(const Kernel *k, const int64_t *s) {
  int last = k->rank > 1 ? k->rank - 1 : 0;
  int64_t warp = kernel_warp(k), rows = 0, row = k->threads[last] / warp, far = s[last] < 0 ? -s[last] : s[last],
          along = (far + warp - 1) / warp;
  for (int d = 0; d < last; d++)
    rows = rows * k->threads[d] + s[d];
  rows = rows < 0 ? -rows : rows;
  if (row == 0)
    return (rows * k->threads[last] + warp - 1) / warp;
  return rows * row + (along < row ? along : row - 1);
}

/* Is there a distance other than 0 (`far`: one between warps that are no neighbours) that solves the equations with
 * several dimensions? s[0 .. d - 1] are given; the other components come from c->step. */
static bool other_solution(Crossing *c, int n, const Equation *e, bool far, int d, int64_t *s) {
  const Kernel *k = c->ranges->k;
  if (d == MAX_RANK || d == k->rank)
    return (far ? warps_apart(k, s) > 1 : s[0] || s[1] || s[2] || s[3]) && joint_solution(n, e, s);
  for (s[d] = 1 - k->threads[d]; s[d] < k->threads[d]; s[d]++)
    if (c->step[d][s[d] + k->threads[d]] && other_solution(c, n, e, far, d + 1, s))
      return true;
  s[d] = 0;
  return false;
}

/* Widens the equation of the last dimension to all cells that `x` and `y` touch. */
static void add_cells(Equation *e, const Access *x, const Access *y) {
  e->lo -= x->cells - 1;
  e->hi += y->cells - 1;
  if (x->cells > 1 || y->cells > 1)
    e->divisor = 1;
}

/* May different threads (`far`: threads of warps that are no neighbours) touch the same memory by x and y? Computes the
 * answer. */
static bool find_cross(Crossing *c, const Access *x, const Access *y, bool far) {
  const Kernel *k = c->ranges->k;
  Equation e[MAX_RANK];
  int n = 0, rank = k->arrays[x->array].rank;
  if (x->root != y->root || (!x->write && !y->write))
    return false;
  if (!array_same_layout(&k->arrays[x->array], &k->arrays[y->array]))
    return true;
  for (int d = 0; d < k->rank; d++)
    if (k->threads[d] > MAX_THREADS)
      return true;
  for (int d = 0; d < rank; d++)
    if (x->exact[d] && y->exact[d] && make_equation(c, x->index[d], y->index[d], &e[n])) {
      if (d == rank - 1)
        add_cells(&e[n], x, y);
      n++;
    }
  return single_solutions(c, n, e) && other_solution(c, n, e, far, 0, (int64_t[MAX_RANK]){0});
}

/* The same question; looks the answer up if it was computed for these two kinds of accesses before. */
static bool cross(Crossing *c, const Access *x, const Access *y, bool far) {
  if (x->kind < 0 || y->kind < 0)
    return find_cross(c, x, y, far);
  uint8_t **row = &c->known[x->kind], asked = far ? 1 : 2, yes = far ? 4 : 8;
  if (!*row)
    *row = ARENA_ARRAY(c->ranges->arena, uint8_t, MAX_KINDS);
  uint8_t *known = *row + y->kind;
  if (!(*known & asked))
    *known |= find_cross(c, x, y, far) ? asked | yes : asked;
  return *known & yes;
}

bool accesses_cross(Crossing *c, const Access *x, const Access *y) { return cross(c, x, y, false); }
bool accesses_cross_far(Crossing *c, const Access *x, const Access *y) { return cross(c, x, y, true); }
