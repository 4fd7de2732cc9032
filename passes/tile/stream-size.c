/* stream-size.c: what streamed tiles of a schedule come to: points given out, shared memory, registers for windows,
 * code that is written out. */
#include "passes/base/tuning.h"
#include "passes/tile/size.h"

/* Registers of a core. */
enum { ALL_REGISTERS = 65536 };

int64_t stream_width(const Stream *p, const Schedule *s, int d) {
  int rank = p->l->m->grid.rank;
  const Extent *h = &p->halo;
  if (d == 0 && rank > 1)
    return s->chunk;
  int64_t V = s->elems[d];
  if (d < rank - 1)
    return s->block[d] * V - h->lo[d] - h->hi[d];
  int64_t halo = (h->lo[d] + V - 1) / V + (h->hi[d] + V - 1) / V, warps = rank == 1
                                                                              ? s->block[0] / stream_lanes(s, rank)
                                                                          : rank == 2 ? s->block[0]
                                                                                      : 1;
  return (stream_lanes(s, rank) - halo) * V * warps;
}

/* Bytes of shared memory a block takes; with `rings`, those of direct windows, too. */
static int64_t bytes_with(const Stream *p, const Schedule *s, bool rings) {
  const Module *m = p->l->m;
  int64_t threads = (int64_t)s->block[0] * s->block[1] * s->block[2], sum = 0;
  int x = m->grid.rank - 1, V = s->elems[x], E = m->grid.rank > 2 ? s->elems[1] : 1,
      lanes = stream_lanes(s, m->grid.rank);
  for (int f = 0; f < m->nfields; f++)
    for (int v = 0; v <= p->l->use[f].versions; v++) {
      const Window *w = &p->w[f][v];
      int64_t bytes = type_size(m->fields[f].type), slots = w->across + 1;
      while (p->unroll % slots)
        slots++;
      if (v == 0 && w->used && (rings || !w->direct) && s->ahead > 1)
        sum += stream_slots(p, s->ahead + w->behind) * threads * E * V * bytes;
      if (w->used && w->across)
        sum += slots * (threads / lanes * stream_shared_lines(w, E) + w->reach_lo + w->reach_hi) * lanes * V * bytes;
    }
  return sum;
}

/* Is there a direct window? */
static bool any_direct(const Stream *p) {
  bool any = false;
  for (int f = 0; f < p->l->m->nfields; f++)
    any |= p->w[f][0].used && p->w[f][0].direct;
  return any;
}

bool stream_keeps_ring(const TargetInfo *t, const Stream *p, const Schedule *s) {
  return s->ahead > 1 && any_direct(p) && 2 * bytes_with(p, s, true) <= t->max_shared_bytes;
}

int64_t stream_shared_bytes(const TargetInfo *t, const Stream *p, const Schedule *s) {
  return bytes_with(p, s, stream_keeps_ring(t, p, s));
}

int64_t stream_thread_words(const Stream *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  return stream_words(p) * s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1);
}

bool stream_fits(const TargetInfo *t, const Stream *p, const Schedule *s) {
  if (!t->simt)
    return walk_fits(t, p, s);
  for (int d = 0; d < p->l->m->grid.rank; d++)
    if (stream_width(p, s, d) < 1)
      return false;
  return stream_shared_bytes(t, p, s) <= t->max_shared_bytes && stream_thread_words(p, s) <= tuning.legal_words;
}

double stream_redundancy(const Stream *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  double product = rank > 1 ? (double)(s->chunk + p->halo.lo[0] + p->last) / s->chunk : 1;
  for (int d = rank > 1; d < rank; d++) {
    double cells = (double)s->elems[d] * (d < rank - 1 ? s->block[d] : stream_lanes(s, rank));
    double warps = d < rank - 1 ? 1 : rank == 1 ? s->block[0] / stream_lanes(s, rank) : rank == 2 ? s->block[0] : 1;
    product *= cells * warps / (double)stream_width(p, s, d);
  }
  return product;
}

int64_t stream_thread_code(const Stream *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  return stream_code(p->l) * p->unroll * s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1);
}

int64_t stream_good_words(const Schedule *s, int rank) {
  int64_t threads = (int64_t)s->block[0] * s->block[1] * s->block[2], share = tuning.schedulers * WARP_LANES,
          each = ALL_REGISTERS / ((threads + share - 1) / share * share) - tuning.plane_registers;
  if (rank < 3 || each < tuning.good_words[rank - 1])
    return tuning.good_words[rank - 1];
  return each < tuning.most_words ? each : tuning.most_words;
}

bool stream_begins_slowly(const Stream *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  return rank == MAX_RANK && s->block[0] * s->block[1] * s->block[2] <= tuning.fewest_threads &&
         s->elems[rank - 1] >= tuning.wide_cells;
}

/* Instructions of the steps written out that walk `s` may have at most. Few warps have registers to begin early what
 * takes long; and lanes of four cells share more of what is counted of each. */
static double most_code(const Stream *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  int64_t threads = (int64_t)s->block[0] * s->block[1] * s->block[2];
  if (rank < MAX_RANK || threads > tuning.few_threads)
    return tuning.good_code[rank - 1];
  return stream_begins_slowly(p, s) ? tuning.good_code_of_wide : tuning.good_code_of_few;
}

bool stream_code_is_short(const Stream *p, const Schedule *s) {
  return (double)stream_thread_code(p, s) <= most_code(p, s);
}

bool stream_is_comfortable(const Stream *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  int64_t cells = s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1),
          equation = stream_thread_code(p, s) / (p->unroll * cells * (s->T > 0 ? s->T : 1));
  return stream_thread_words(p, s) <= stream_good_words(s, rank) && stream_code_is_short(p, s) &&
         (rank < 3 || equation <= tuning.long_equation);
}
