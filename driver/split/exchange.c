/* exchange.c: which cells go from which part to which. Each ghost cell comes from the one part that owns its point. A
 * box of ghost cells is divided into its intersections with all parts, so that corners come from the parts that own
 * them. */
#include "driver/split/split.h"

#include <string.h>

Runs runs_of(int rank, const int64_t *lo, const int64_t *hi, const CellArray *from, const CellArray *to) {
  int64_t step[2] = {1, 1};
  int level = 0;
  bool whole = true;
  Runs r = {.n = 1, .count = {1, 1, 1}};
  for (int d = rank - 1; d >= 0; d--) {
    int64_t n = hi[d] - lo[d] + 1, x = from->hi[d] - from->lo[d] + 1, y = to->hi[d] - to->lo[d] + 1;
    r.from += (lo[d] - from->shift[d] - from->lo[d]) * step[0];
    r.to += (lo[d] - to->shift[d] - to->lo[d]) * step[1];
    if (whole) {
      r.n *= n;
    } else {
      r.count[level] = n;
      r.from_stride[level] = step[0];
      r.to_stride[level++] = step[1];
    }
    whole = whole && n == x && n == y;
    step[0] *= x;
    step[1] *= y;
  }
  return r;
}

StcStatus runs_each(const Runs *r, StcStatus (*fn)(void *user, int64_t from, int64_t to, int64_t n), void *user) {
  StcStatus s = STC_OK;
  for (int64_t h = 0; h < r->count[2] && !s; h++)
    for (int64_t i = 0; i < r->count[1] && !s; i++)
      for (int64_t j = 0; j < r->count[0] && !s; j++)
        s = fn(user, r->from + h * r->from_stride[2] + i * r->from_stride[1] + j * r->from_stride[0],
               r->to + h * r->to_stride[2] + i * r->to_stride[1] + j * r->to_stride[0], r->n);
  return s;
}

StcStatus cells_copy(void *user, int64_t from, int64_t to, int64_t n) {
  const CellCopy *c = user;
  memcpy(c->to + to * c->size, c->from + from * c->size, (size_t)(n * c->size));
  return STC_OK;
}

/* The field's present memory in the part. */
static char *field_memory(const PartPlan *part, int field) { return field_slot(part->plan, field)->memory; }

Sending sending_of(const Runs *r, int64_t size, const char *from, char *to) {
  Sending s = {.from = from + r->from * size, .to = to + r->to * size, .n = r->n * size};
  for (int i = 0; i < MAX_RANK - 1; i++) {
    s.count[i] = r->count[i];
    s.from_stride[i] = r->from_stride[i] * size;
    s.to_stride[i] = r->to_stride[i] * size;
  }
  return s;
}

bool next_turns(int rank, const int *most, int *turns) {
  int d = rank - 1;
  while (d >= 0 && turns[d] == most[d]) {
    turns[d] = -most[d];
    d--;
  }
  if (d >= 0)
    turns[d]++;
  return d >= 0;
}

Sending split_sending(const StcPlan *p, const Transfer *t) {
  const PartPlan *x = &p->split->part[t->from], *y = &p->split->part[t->to];
  return sending_of(&t->whole, 1, field_memory(x, t->field), field_memory(y, t->field));
}

Sending side_sending(const StcPlan *p, const Transfer *t, bool sends, char *side) {
  char *memory = field_memory(&p->split->part[sends ? t->from : t->to], t->field);
  return sends ? sending_of(&t->out, 1, memory, side) : sending_of(&t->in, 1, side, memory);
}

char *transfer_cells(const StcPlan *p, const Transfer *t, bool sends) {
  return field_memory(&p->split->part[sends ? t->from : t->to], t->field) + (sends ? t->out.from : t->in.to);
}

/* The same runs in bytes, for cells of `size` bytes. */
static Runs runs_in_bytes(Runs r, int64_t size) {
  r.n *= size;
  r.from *= size;
  r.to *= size;
  for (int i = 0; i < MAX_RANK - 1; i++) {
    r.from_stride[i] *= size;
    r.to_stride[i] *= size;
  }
  return r;
}

/* Computes the addresses and runs of the transfer's cells. */
static void place_cells(const Split *s, Transfer *t) {
  const PartPlan *x = &s->part[t->from], *y = &s->part[t->to];
  int64_t size = type_bytes(y->module, y->module->fields[t->field].type), n = size;
  CellArray from = part_array(x, t->field), to = part_array(y, t->field), box = {0};
  memcpy(from.shift, t->shift, sizeof from.shift);
  memcpy(box.lo, t->lo, sizeof box.lo);
  memcpy(box.hi, t->hi, sizeof box.hi);
  for (int d = 0; d < s->rank; d++)
    n *= t->hi[d] - t->lo[d] + 1;
  t->bytes = (size_t)n;
  t->whole = runs_in_bytes(runs_of(s->rank, t->lo, t->hi, &from, &to), size);
  t->out = runs_in_bytes(runs_of(s->rank, t->lo, t->hi, &from, &box), size);
  t->in = runs_in_bytes(runs_of(s->rank, t->lo, t->hi, &box, &to), size);
}

/* Restricts the cells [lo .. hi] of part `y` to those that steps between two exchanges need; inits that read other
 * points may have needed more. */
static void cells_for_steps(const Split *s, const PartPlan *y, int64_t *lo, int64_t *hi) {
  const GridPart *part = y->module->part;
  for (int d = 0; d < s->rank; d++) {
    int64_t first = y->lo[d] - s->every * part->reach.lo[d], last = y->hi[d] + s->every * part->reach.hi[d];
    if (affine_equal(part->own.lo[d], part->whole.lo[d]))
      continue;
    lo[d] = lo[d] > first ? lo[d] : first;
    hi[d] = hi[d] < last ? hi[d] : last;
  }
}

/* The transfer of field `field` from part `from`, `turns` times around the rings, to part `to`: of the cells that
 * `steps` need, or of all. False if there are none. Parts that are neighbours in a dimension that the field lacks
 * exchange nothing there: each computes the cells itself. */
static bool find_transfer(const StcPlan *p, int from, int to, int field, bool steps, const int *turns, Transfer *out) {
  const Split *s = p->split;
  const PartPlan *x = &s->part[from], *y = &s->part[to];
  const Field *f = &y->module->fields[field];
  int64_t lo[MAX_RANK], hi[MAX_RANK];
  bool any = part_cells(y, field, lo, hi);
  *out = (Transfer){.from = from, .to = to, .field = field};
  if (steps && !f->share)
    cells_for_steps(s, y, lo, hi);
  for (int d = 0; d < s->rank && any; d++) {
    int64_t by = turns[d] * (s->hi[d] - s->lo[d] + 1), first = affine_eval(f->whole->lo[d], y->scalars, NULL),
            last = affine_eval(f->whole->hi[d], y->scalars, NULL);
    if (field_lacks(f, d)) {
      out->lo[d] = out->hi[d] = 0;
      any = x->at[d] == y->at[d] && !turns[d];
      continue;
    }
    int64_t given_first, given_last;
    part_gives(x, f, d, steps, &given_first, &given_last);
    first = (first > given_first ? first : given_first) + by;
    last = (last < given_last ? last : given_last) + by;
    out->lo[d] = lo[d] > first ? lo[d] : first;
    out->hi[d] = hi[d] < last ? hi[d] : last;
    out->shift[d] = by;
    any = out->lo[d] <= out->hi[d];
  }
  if (any)
    place_cells(s, out);
  return any;
}

/* Adds the transfers of field `field` from part `from` to part `to`, of the cells that `steps` need or of all, for each
 * number of turns around rings with which there are cells. */
static void add_transfers(StcPlan *p, int from, int to, int field, bool steps) {
  Split *s = p->split;
  bool ring = s->part[to].module->fields[field].ring;
  int most[MAX_RANK] = {0}, turns[MAX_RANK] = {0};
  Transfer t;
  for (int d = 0; d < s->rank; d++) {
    most[d] = ring ? 1 : 0;
    turns[d] = -most[d];
  }
  do {
    bool around = false;
    for (int d = 0; d < s->rank; d++)
      around |= turns[d] != 0;
    if ((from != to || around) && find_transfer(p, from, to, field, steps, turns, &t))
      ARENA_PUSH(p->w.arena, s->transfers, s->ntransfers, t);
  } while (next_turns(s->rank, most, turns));
}

const FieldTransfers *field_transfers(StcPlan *p, int field) {
  Split *s = p->split;
  FieldTransfers *f = &s->of_field[field];
  Transfer *all = s->transfers;
  int nall = s->ntransfers;
  if (f->known)
    return f;
  s->transfers = NULL;
  s->ntransfers = 0;
  for (int to = 0; to < s->nparts; to++)
    for (int from = 0; from < s->nparts; from++)
      add_transfers(p, from, to, field, false);
  *f = (FieldTransfers){true, s->ntransfers, s->transfers};
  s->transfers = all;
  s->ntransfers = nall;
  return f;
}

void split_find_transfers(StcPlan *p) {
  Split *s = p->split;
  const Module *m = s->part[0].module;
  s->of_field = ARENA_ARRAY(p->w.arena, FieldTransfers, m->nfields + 1);
  for (int f = 0; f < m->nfields; f++)
    for (int to = 0; to < s->nparts && m->fields[f].exchange == EXCHANGE_STEPS && m->fields[f].share != SHARE_ALL; to++)
      for (int from = 0; from < s->nparts; from++)
        add_transfers(p, from, to, f, true);
}
