/* places.c: finds the scalars that determine sizes, coordinates and numbers of steps, and not only values. */
#include "ir/ir.h"

/* Marks the scalars in `x`. */
static void mark_affine(Affine x, bool *placed) {
  for (int i = 0; i < x.n; i++)
    placed[x.t[i].scalar] = true;
}

/* Marks the scalars in the bounds of `b` (NULL: none). */
static void mark_box(const Box *b, bool *placed) {
  for (int d = 0; b && d < b->rank; d++) {
    mark_affine(b->lo[d], placed);
    mark_affine(b->hi[d], placed);
  }
}

/* Marks the scalars in the box of `op` (a block_walk callback). */
static void mark_op(void *user, Op *op) { mark_box(op->box, user); }

/* Marks the scalars in the boxes of ops of `b` (NULL: none). */
static void mark_body(Block *b, bool *placed) {
  if (b)
    block_walk(b, mark_op, placed);
}

static void mark_stencils(int n, const Stencil *s, bool *placed) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < s[i].npieces; k++) {
      mark_box(&s[i].pieces[k].box, placed);
      mark_body(s[i].pieces[k].body, placed);
    }
}

static void mark_kernel(const Kernel *k, bool *placed) {
  for (int d = 0; d < k->rank; d++) {
    mark_affine(k->extent[d], placed);
    mark_affine(k->without[d], placed);
    mark_affine(k->idle_lo[d], placed);
    mark_affine(k->idle_hi[d], placed);
  }
  for (int d = 0; d < k->rank && k->tests; d++) {
    mark_affine(k->tests->lo[d], placed);
    mark_affine(k->tests->first[d], placed);
  }
  for (int i = 0; i < k->nmultiples; i++)
    mark_affine(k->multiples[i].value, placed);
  mark_body(k->body, placed);
}

/* Marks the scalars in the regions and extents of fields, launch-time arrays, lists of points and parts. */
static void mark_declared(const Module *m, bool *placed) {
  mark_box(&m->grid, placed);
  for (int i = 0; i < m->nfields; i++) {
    mark_box(&m->fields[i].box, placed);
    mark_box(m->fields[i].whole, placed);
    if (m->fields[i].pitch)
      placed[m->fields[i].pitch - 1] = true;
  }
  for (int i = 0; i < m->nparam_arrays; i++) {
    mark_affine(m->param_arrays[i].extent, placed);
    mark_affine(m->param_arrays[i].rows, placed);
    mark_affine(m->param_arrays[i].columns, placed);
  }
  for (int i = 0; i < m->nlists; i++) {
    mark_box(&m->lists[i].box, placed);
    for (int d = 0; d < m->grid.rank; d++)
      mark_affine(m->lists[i].at[d], placed);
  }
  if (m->part) {
    mark_box(&m->part->own, placed);
    mark_box(&m->part->whole, placed);
    mark_box(&m->part->gives, placed);
  }
  if (m->steps_by)
    placed[m->steps_by - 1] = true;
}

/* Marks the scalars in the regions of reductions, probes and updates. */
static void mark_observers(const Module *m, bool *placed) {
  for (int i = 0; i < m->nreductions; i++) {
    mark_box(&m->reductions[i].over, placed);
    mark_body(m->reductions[i].body, placed);
  }
  for (int i = 0; i < m->nprobes; i++) {
    mark_box(&m->probes[i].box, placed);
    mark_body(m->probes[i].body, placed);
  }
  for (int i = 0; i < m->nupdates; i++) {
    mark_box(&m->updates[i].over, placed);
    mark_body(m->updates[i].body, placed);
  }
  for (int i = 0; i < m->nlosses; i++) {
    mark_box(&m->losses[i].over, placed);
    mark_body(m->losses[i].body, placed);
  }
  for (int i = 0; i < m->nrepeats; i++)
    mark_affine(m->repeats[i].most, placed);
  for (int i = 0; i < m->host.nloops; i++)
    mark_affine(m->host.loops[i].most, placed);
}

void scalars_placed(const Module *m, bool *placed) {
  mark_declared(m, placed);
  mark_observers(m, placed);
  mark_stencils(m->ninits, m->inits, placed);
  mark_stencils(m->nstencils, m->stencils, placed);
  for (int i = 0; i < m->nkernels; i++)
    mark_kernel(&m->kernels[i], placed);
}
