/* driver/explain/explain-gradient.c: the bytes that the program's gradient keeps of each step, and the number of steps
 * that are repeated with a given memory. */
#include "driver/explain/explain.h"
#include "passes/transpose/transpose.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of field `f` of `m`, with these scalars. */
static double bytes_of(const Module *m, int f, const Const *scalars) {
  int64_t shape[MAX_RANK];
  return (double)field_shape(&m->fields[f], scalars, shape) * (double)type_bytes(m, m->fields[f].type);
}

/* Is `name` among the fields from which the `n` fields of `list` are filled? */
static bool is_there(int n, const AdjointField *list, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(list[i].from, name) == 0)
      return true;
  return false;
}

void explain_gradient(Explanation *e) {
  StcProgram *p = e->program;
  AdjointFacts facts;
  if (p->source->level != LEVEL_SIR || !p->source->nby)
    return;
  PassContext c = {.arena = e->arena, .diags = diags_quiet(e->arena), .loaded = p->loaded, .run = passes_run};
  if (!transpose_module(&c, p->source, 0, NULL, &facts))
    return;
  const Module *m = c.run(&c, NULL, "scalarize,every,sides", module_copy(e->arena, p->source));
  if (!m)
    return;
  ExplainedGradient *g = e->gradient = arena_alloc(e->arena, sizeof *g);
  Str names = {.arena = e->arena};
  *g = (ExplainedGradient){.memory = e->memory, .ahead = facts.nafter > 0};
  for (int f = 0; f < m->nfields; f++) {
    const char *name = m->fields[f].name;
    if (!m->fields[f].input && !m->fields[f].temp)
      g->state += bytes_of(m, f, e->scalars);
    if (!is_there(facts.nsaved, facts.saved, name) && !is_there(facts.nafter, facts.after, name))
      continue;
    g->row += bytes_of(m, f, e->scalars);
    str_addf(&names, "%s%s", names.n ? ", " : "", name);
  }
  g->names = names.s;
  g->steps = module_steps(m, e->scalars);
  double all = g->row * (double)(g->steps + 1);
  g->fits = saved_choose(g->row, g->state, g->ahead, g->steps, g->memory > 0 ? g->memory : all, &g->choice);
}

/* The text of a number of bytes, "1.29 MB". */
static const char *amount(const Explanation *e, double bytes) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
    bytes /= 1000;
    unit++;
  }
  return arena_printf(e->arena, "%.3g %s", bytes, units[unit]);
}

void explain_print_gradient(FILE *to, const Explanation *e) {
  const ExplainedGradient *g = e->gradient;
  fprintf(to, "gradient: ");
  if (g->row == 0) {
    fprintf(to, "nothing of the steps is kept\n");
    return;
  }
  fprintf(to, "%.0f bytes of each step are kept (%s), %s of %" PRId64 " steps; a snapshot has %.0f bytes\n", g->row,
          g->names, amount(e, g->row * (double)(g->steps + 1)), g->steps, g->state);
  if (g->memory > 0 && !g->fits)
    fprintf(to, "  in %s there is not room for a step and a snapshot\n", amount(e, g->memory));
  else if (g->memory > 0)
    fprintf(to, "  in %s: %" PRId64 " steps at a time, %" PRId64 " snapshots; each step is made %.2f times\n",
            amount(e, g->memory), g->choice.length, g->choice.snapshots,
            1 + (g->steps ? g->choice.again / (double)g->steps : 0));
}
