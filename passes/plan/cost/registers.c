/* registers.c: the registers that a thread takes: one estimate for all callers, from the live words that are counted in
 * a finished kernel (kernel-live.c) or before there is one (tile-work.c, stream-work.c). */
#include "passes/plan/cost/estimate.h"
#include "passes/base/tuning.h"

int32_t registers_limit(const TargetInfo *t, int64_t threads) {
  int64_t limit = t->most_registers > 0 ? t->most_registers : MOST_REGISTERS;
  if (t->registers_per_core > 0 && t->registers_per_core / threads < limit)
    limit = t->registers_per_core / threads / 8 * 8;
  return (int32_t)limit;
}

double registers_wanted(const RegisterNeed *n) {
  if (n->rounds)
    return n->addresses + measured.stream_live * n->live + (n->early - n->live);
  if (n->exchanged)
    return measured.exchanged_live * n->live;
  return n->several ? measured.cells_base + measured.cells_live * n->live : measured.point_base + n->live;
}

/* The registers that a word of a thread takes, relative to NVIDIA's. */
static double word_registers(const TargetInfo *t, const RegisterNeed *n) {
  if (n->pairs)
    return 1;
  return t->word_registers > 0 ? t->word_registers : 1;
}

/* Registers for conditions beyond those for which a thread has predicates: streamed tiles keep the conditions of a row
 * for all time steps; straight code compares again. */
static double condition_registers(const TargetInfo *t, const RegisterNeed *n) {
  int32_t beyond = t->conditions && n->rounds ? n->conditions - t->conditions : 0;
  return beyond > 0 ? beyond : 0;
}

int32_t model_registers(const TargetInfo *t, int64_t threads, const RegisterNeed *n, int32_t *spilled) {
  int32_t limit = registers_limit(t, threads);
  double wanted = word_registers(t, n) * registers_wanted(n) + condition_registers(t, n),
         lacking = (n->exchanged ? wanted : n->live) - limit - measured.saved_words;
  *spilled = lacking > 0 ? (int32_t)lacking : 0;
  return wanted < limit ? (int32_t)wanted : limit;
}
