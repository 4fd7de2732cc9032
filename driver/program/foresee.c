/* driver/program/foresee.c: what a caller says about a program's runs before a plan is made, such as where a mask is
 * true, so that schedules can be chosen for it. A field's values are kept only at as many points as choices use. */
#include "driver/program/program.h"

#include <math.h>
#include <string.h>

/* The approximate number of values of a field that are kept at most. */
enum { MOST_KEPT = 1 << 18 };

/* The arguments of the guarded function. */
typedef struct ForeseeArgs {
  StcProgram *p;
  const Field *f;
  const StcArray *values;
} ForeseeArgs;

/* Selects the values of `k` from those at `x`: of each group of neighbouring values, the one in the middle. */
static void thin_out(Arena *a, const StcArray *x, ForeseenField *k) {
  size_t size = (size_t)type_size(k->type);
  int64_t all = 1;
  for (int d = 0; d < x->rank; d++)
    all *= k->n[d];
  char *kept = arena_alloc(a, (size_t)all * size + 1);
  for (int64_t i = 0; i < all; i++) {
    int64_t rest = i, from = 0, dense = 1;
    for (int d = x->rank - 1; d >= 0; dense *= x->shape[d], rest /= k->n[d], d--)
      from += (x->strides ? x->strides[d] : dense) * ((2 * (rest % k->n[d]) + 1) * x->shape[d] / (2 * k->n[d]));
    memcpy(kept + (size_t)i * size, (const char *)x->data + from * (int64_t)size, size);
  }
  k->values = kept;
}

/* Is `k` equal to what `known` contains for that field? Then existing plans remain valid. */
static bool is_known(const Foreseen *known, const ForeseenField *k) {
  for (int i = 0; known && i < known->nfields; i++) {
    const ForeseenField *old = &known->fields[i];
    int64_t all = type_size(k->type);
    for (int d = 0; d < GRID_RANK; d++)
      all *= k->n[d] ? k->n[d] : 1;
    if (strcmp(old->name, k->name) == 0)
      return old->type == k->type && memcmp(old->n, k->n, sizeof k->n) == 0 &&
             memcmp(old->values, k->values, (size_t)all) == 0;
  }
  return false;
}

/* stc_program_foresee; frees everything if memory runs out. */
static StcStatus foresee(void *arg) {
  ForeseeArgs *a = arg;
  StcProgram *p = a->p;
  const StcArray *x = a->values;
  ForeseenField k = {.name = a->f->name, .type = (Type)x->type}, *fields = NULL;
  Foreseen *known = ARENA_NEW(p->w.arena, Foreseen);
  double all = 1;
  for (int d = 0; d < x->rank; d++)
    all *= (double)x->shape[d];
  double step = fmax(1, pow(all / MOST_KEPT, 1.0 / x->rank));
  for (int d = 0; d < x->rank; d++)
    k.n[d] = (int64_t)fmax(1, floor((double)x->shape[d] / step));
  thin_out(p->w.arena, x, &k);
  if (is_known(p->known, &k))
    return STC_OK;
  for (int i = 0; p->known && i < p->known->nfields; i++)
    if (strcmp(p->known->fields[i].name, k.name) != 0)
      ARENA_PUSH(p->w.arena, fields, known->nfields, p->known->fields[i]);
  ARENA_PUSH(p->w.arena, fields, known->nfields, k);
  known->fields = fields;
  p->known = known;
  return STC_OK;
}

StcStatus stc_program_foresee(StcProgram *p, const char *field, const StcArray *values) {
  const Module *m = p->module;
  ForeseeArgs a = {p, NULL, values};
  bool fits = values->rank == m->grid.rank && values->rank <= GRID_RANK && type_is_scalar((Type)values->type);
  for (int f = 0; f < m->nfields; f++)
    if (strcmp(m->fields[f].name, field) == 0 && type_is_scalar(m->fields[f].type))
      a.f = &m->fields[f];
  for (int d = 0; d < values->rank && fits; d++)
    fits = values->shape[d] > 0;
  if (a.f && fits)
    return workspace_guard(&p->w, foresee, &a);
  if (stc_program_find_field(p, field) >= 0)
    return STC_OK;
  context_error(p->w.context, "there is no field '%s', of which values are told", field);
  return STC_USAGE;
}

const Foreseen *program_known(const StcProgram *p, Arena *a, Extra extra, int n, const char *const *texts) {
  static const Foreseen nothing = {0};
  bool skips = extra == EXTRA_TESTS || extra >= EXTRA_TESTS_PITCH;
  Foreseen *known = ARENA_NEW(a, Foreseen);
  Define *defines = ARENA_ARRAY(a, Define, p->options.ndefines + n + 1);
  *known = p->known ? *p->known : nothing;
  for (int i = 0; i < p->options.ndefines; i++)
    defines[known->ndefines++] = p->defines[i];
  for (int i = 0; i < n; i++)
    if (define_parse(a, texts[i], &defines[known->ndefines]))
      known->ndefines++;
  known->defines = defines;
  return skips ? known : NULL;
}
