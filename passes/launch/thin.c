/* thin.c: finds launches of a stencil that computes only few points of the grid, such as the points along its edges. */
#include "ir/run/run.h"
#include "passes/launch/launch.h"

/* If the grid's extent is known only at launch, pieces of at most this many points across are thin. Otherwise the
 * pieces of a stencil are thin if all together have at most one of THIN_SHARE of the grid's points. */
enum { THIN_POINTS = 32 };

/* The most parts of a stencil with kernels of their own. */
enum { MOST_PARTS = 4 };

/* An upper limit of the share of the points of `grid` that are in `box`. The grid's extent may be a param or a
 * constant. */
static double share_of(Arena *a, const Box *box, const Box *grid) {
  double least = 1;
  for (int d = 0; d < box->rank; d++) {
    Affine piece = box_extent(a, box, d), all = box_extent(a, grid, d);
    double share = piece.n                  ? 1
                   : !all.n && all.c > 0    ? (double)piece.c / (double)all.c
                   : piece.c <= THIN_POINTS ? 1.0 / (THIN_SHARE * THIN_POINTS)
                                            : 1;
    least = share < least ? share : least;
  }
  return least;
}

bool stencil_is_thin(const Module *m, const Stencil *st) {
  double sum = 0;
  for (int i = 0; i < st->npieces; i++)
    sum += share_of(m->arena, &st->pieces[i].box, &m->grid);
  return sum * THIN_SHARE <= 1;
}

/* Has the launch one instance, which computes the output tile alone, and do no buffers of its fields rotate? */
static bool is_plain(const Launch *l) {
  bool plain = l->n == 1;
  for (int d = 0; d < l->m->grid.rank; d++)
    plain = plain && !l->hull.lo[d] && !l->hull.hi[d] && !l->wraps[d];
  for (int k = 0; k < l->nuses; k++)
    plain = plain && l->uses[k].from < 0 && l->uses[k].into < 0;
  return plain;
}

void launch_copy_back(Launch *l) {
  l->thin = is_plain(l) && !l->st->sweep && !stencil_is_scaled(l->st) && stencil_is_thin(l->m, l->st);
  if (!l->thin)
    return;
  for (int t = 0; t < l->st->ntargets; t++) {
    FieldUse *u = launch_use(l, l->st->targets[t]);
    u->back = u->paired && stencil_keeps(l->m, l->st, l->st->targets[t]);
  }
}

/* ---- parts */

/* The cached values of the scalars, and the size of the module when they were found. */
struct Defaults {
  int32_t nscalars, nfields, nchecks, nkernels;
  const Const *values;
};

/* Finds the values; errors in the params' defaults are not reported. */
static const Const *bind_defaults(const Module *m) {
  Const *scalars = ARENA_ARRAY(m->arena, Const, m->nscalars + 1);
  return module_bind(m, 0, NULL, scalars, diags_quiet(m->arena)) ? scalars : NULL;
}

const Const *default_scalars(const Module *m) {
  const Defaults *d = m->defaults;
  bool same = d && d->nscalars == m->nscalars && d->nfields == m->nfields && d->nchecks == m->nchecks &&
              d->nkernels == m->nkernels;
  return same ? d->values : bind_defaults(m);
}

void keep_defaults(Module *m) {
  Defaults *d = ARENA_NEW(m->arena, Defaults);
  *d = (Defaults){m->nscalars, m->nfields, m->nchecks, m->nkernels, bind_defaults(m)};
  m->defaults = d;
}

double box_share(const Module *m, const Box *box, const Const *scalars) {
  double share = 1;
  if (!scalars)
    return 1;
  for (int d = 0; d < box->rank; d++) {
    bool overflow = false;
    double piece = (double)affine_eval(box_extent(m->arena, box, d), scalars, &overflow),
           all = (double)affine_eval(box_extent(m->arena, &m->grid, d), scalars, &overflow);
    if (overflow || all <= 0)
      return 1;
    share *= piece <= 0 ? 0 : piece < all ? piece / all : 1;
  }
  return share;
}

/* The lower (or higher) one of bounds x and y; `bound`, a limit of both, if params decide which one that is. */
static Affine outer_bound(Affine x, Affine y, Affine bound, bool lower) {
  int64_t diff;
  return !affine_diff(x, y, &diff) ? bound : (diff < 0) == lower ? x : y;
}

/* A box that contains `x` and `y`. */
static Box hull_of(const Module *m, const Box *x, const Box *y) {
  Box hull = *x;
  for (int d = 0; d < x->rank; d++) {
    hull.lo[d] = outer_bound(x->lo[d], y->lo[d], m->grid.lo[d], true);
    hull.hi[d] = outer_bound(x->hi[d], y->hi[d], m->grid.hi[d], false);
  }
  return hull;
}

/* Does `box` have few points of the grid? */
static bool is_few(const Module *m, const Box *box, const Const *scalars) {
  return box_share(m, box, scalars) * THIN_SHARE <= 1;
}

bool box_is_few(const Module *m, const Box *box) {
  const Const *scalars = default_scalars(m);
  return scalars && is_few(m, box, scalars);
}

const bool *rare_pieces(const Module *m, const Stencil *st) {
  bool *rare = ARENA_ARRAY(m->arena, bool, st->npieces + 1), all = true;
  const Const *scalars = st->npieces > 1 ? default_scalars(m) : NULL;
  for (int i = 0; i < st->npieces && scalars; i++) {
    rare[i] = is_few(m, &st->pieces[i].box, scalars);
    all = all && rare[i];
  }
  for (int i = 0; i < st->npieces; i++)
    rare[i] = rare[i] && !all;
  return rare;
}

bool is_rare_field(const Module *m, int field) {
  const Box *box = &m->fields[field].box;
  return !m->fields[field].series && !box_equal(box, &m->grid) && is_few(m, box, default_scalars(m));
}

bool launch_copies_rest(const Launch *l) {
  bool copies = false;
  for (int t = 0; t < l->st->ntargets; t++) {
    int f = l->st->targets[t];
    copies = copies || (launch_use(l, f)->paired && launch_use(l, f)->stored && stencil_keeps(l->m, l->st, f));
  }
  return copies;
}

int launch_thin_parts(const Launch *l, const Const *scalars, ThinPart **parts) {
  const Module *m = l->m;
  int n = 0;
  *parts = NULL;
  if (!scalars || l->n != 1 || (m->part && !part_is_whole(m)) || l->st->npieces < 1 || launch_copies_rest(l))
    return 0;
  for (int i = 0; i < l->st->npieces; i++) {
    const Box *box = &l->st->pieces[i].box;
    int k = 0;
    for (; k < n; k++) {
      Box both = hull_of(m, &(*parts)[k].box, box);
      if (is_few(m, &both, scalars)) {
        (*parts)[k].box = both;
        break;
      }
    }
    if (k == n && !is_few(m, box, scalars))
      return 0;
    if (k == n)
      ARENA_PUSH(m->arena, *parts, n, ((ThinPart){*box, ARENA_ARRAY(m->arena, bool, l->st->npieces)}));
    (*parts)[k].has[i] = true;
  }
  return n > MOST_PARTS ? 0 : n;
}

/* ---- concurrent launches */

/* Does launch `a` write what launch `b` reads or writes? */
static bool writes_for(const Launch *a, const Launch *b) {
  bool writes = false;
  for (int i = 0; i < a->n; i++)
    for (int t = 0; t < a->st[i].ntargets; t++) {
      const FieldUse *u = launch_use(b, a->st[i].targets[t]);
      writes = writes || u->loaded || u->versions || u->from >= 0;
    }
  return writes;
}

bool launch_is_independent(const Launch *l, int n, Launch *const *others) {
  bool independent = true;
  for (int i = 0; i < n; i++)
    independent = independent && !writes_for(l, others[i]) && !writes_for(others[i], l);
  return independent;
}

bool boxes_apart(const Box *x, const Box *y) {
  int64_t above, below;
  bool are = false;
  for (int d = 0; d < x->rank; d++)
    are = are || (affine_diff(y->lo[d], x->hi[d], &above) && above > 0) ||
          (affine_diff(y->hi[d], x->lo[d], &below) && below < 0);
  return are;
}
