/* driver/tune/tune-model.c: the notes of the search on the cost model: for which schedules its prediction was far off,
 * and the likely reason. Nothing is fitted (docs/retune.md). */
#include "driver/tune/tune.h"

#include <math.h>

/* The model counts as off if measured and predicted speeds differ by more than this factor. */
static const double OFF = 1.3;

/* The ratio of measured to predicted speed of `k`; 0 if one of them is not known. */
static double made_of_expected(const Candidate *k) {
  return k->gpts > 0 && k->expected.gpts > 0 ? k->gpts / k->expected.gpts : 0;
}

/* Is a known ratio larger than OFF, or less than its inverse? */
static bool is_off(double ratio) { return ratio > 0 && fabs(log(ratio)) > log(OFF); }

/* A property of candidate `k`, with this ratio of measured to predicted speed, in which the compiled code differs from
 * the prediction in the same direction as the ratio; NULL if none is known. */
static const char *compiled_otherwise(Arena *a, const Candidate *k, double ratio) {
  const Expected *e = &k->expected;
  int bytes = (int)sizeof(int32_t) * e->spilled;
  if (ratio < 1 ? k->kernel.local > bytes : k->kernel.registers > 0 && k->kernel.local < bytes)
    return arena_printf(a, "%d bytes a thread do not fit the registers, %d were expected", k->kernel.local, bytes);
  if (ratio < 1 && e->most_registers > 0 && k->kernel.registers > e->most_registers)
    return arena_printf(a, "%d registers a thread leave a core fewer blocks than %d, which %d were expected to",
                        k->kernel.registers, e->blocks, e->registers);
  return NULL;
}

/* The most likely reason: a property of the compiled code, or the resource that bounds the candidate according to the
 * model. */
static const char *reason(Arena *a, const Candidate *k, double ratio) {
  const char *compiled = compiled_otherwise(a, k, ratio);
  if (compiled)
    return compiled;
  if (!k->expected.bound)
    return "it goes by a time a point for this kind of tiles as a whole";
  return arena_printf(a, "it takes %s to bind it, for %.0f %% of the time", k->expected.bound, 100 * k->expected.share);
}

/* The median ratio of measured to predicted speeds; *n is set to the number of measured candidates. */
static double middle_ratio(const SearchSpace *s, int *n) {
  double *all = ARENA_ARRAY(s->arena, double, s->n + 1);
  *n = 0;
  for (int i = 0; i < s->n; i++)
    if (made_of_expected(&s->all[i]) > 0)
      all[(*n)++] = made_of_expected(&s->all[i]);
  return median(all, *n);
}

/* The text for this: was the model off by `ratio` for the whole program, or only for this schedule? */
static const char *others(const SearchSpace *s, double ratio) {
  int n;
  double middle = middle_ratio(s, &n);
  bool alike = is_off(middle) && (middle > 1) == (ratio > 1);
  if (n < 3)
    return "";
  return arena_printf(s->arena, "; the middle one of all %d made %.2f times as much as expected, so it is off of %s", n,
                      middle, alike ? "the whole program" : "this schedule");
}

const char *tune_model_note(const SearchSpace *s, const Candidate *k, const char *name) {
  double ratio = made_of_expected(k);
  if (!is_off(ratio))
    return NULL;
  return arena_printf(s->arena,
                      "the model was off: of %s it expected %.4g GPts/s, and that made %.4g, %.2f times: %s%s", name,
                      k->expected.gpts, k->gpts, ratio, reason(s->arena, k, ratio), others(s, ratio));
}
