/* sim-fault.c: the messages of the simulator's faults. */
#include "ir/sim/simulate.h"

/* The `n` coordinates at `p` as "[1, 2]". */
static const char *coords_text(Sim *s, int n, const int64_t *p) {
  Str t = {s->arena, NULL, 0, 0};
  str_add(&t, "[");
  for (int k = 0; k < n; k++)
    str_addf(&t, "%s%lld", k ? ", " : "", (long long)p[k]);
  str_add(&t, "]");
  return t.s;
}

const char *sim_place_text(Sim *s, const SimThread *t, const SimInsn *i) {
  int64_t at[MAX_RANK] = {0};
  for (int k = 0; k < i->place->rank; k++)
    at[k] = t->slot[i->place->idx[k]].i + i->place->off[k];
  return coords_text(s, i->place->rank, at);
}

const char *sim_warp_text(Sim *s, uint32_t number) {
  uint32_t warps = (uint32_t)(s->k->nwarps / s->k->cluster), warp = number >> s->k->lane_bits;
  if (s->k->cluster == 1)
    return arena_printf(s->arena, "warp %u", warp);
  return arena_printf(s->arena, "warp %u of rank %u", warp % warps, warp / warps);
}

const char *sim_thread_text(Sim *s, uint32_t number) {
  int64_t at[MAX_RANK] = {0}, left = number;
  for (int k = s->k->kernel->rank - 1; k >= 0; k--) {
    at[k] = left % s->k->kernel->threads[k];
    left /= s->k->kernel->threads[k];
  }
  return coords_text(s, s->k->kernel->rank, at);
}

const char *sim_block_text(Sim *s, int64_t number) {
  int64_t at[MAX_RANK] = {0};
  for (int k = s->k->kernel->rank - 1; k >= 0; k--) {
    at[k] = number % s->k->blocks[k];
    number /= s->k->blocks[k];
  }
  return coords_text(s, s->k->kernel->rank, at);
}

/* " (line 12)" for an op with a place in the source; else "". */
static const char *line_text(Sim *s, const Op *op) {
  return op->loc.line ? arena_printf(s->arena, " (line %d)", op->loc.line) : "";
}

/* Does the kernel store values of a sweep to buffer `buffer`? */
static bool is_swept(const Sim *s, int buffer) {
  for (int n = 0; n < s->k->ninsns; n++)
    if (s->k->insns[n].code == SIM_STORE && s->k->insns[n].op->ver && s->k->insns[n].op->sym == buffer)
      return true;
  return false;
}

const char *sim_origin_text(Sim *s, uint32_t origin) {
  if (origin & SIM_GHOST)
    return sim_ghost_text(s, origin);
  const SimInsn *i = &s->k->insns[origin - 1];
  const Op *op = i->op;
  if (i->code == SIM_MAP)
    return arena_printf(
        s->arena,
        "the region computed from was too small: idx.guard%s had to move a coordinate that no rule brings inside",
        line_text(s, op));
  if (i->code == SIM_SLOAD || i->code == SIM_PLOAD)
    return arena_printf(s->arena, "the region computed by version %d of array '%s' was too small for the %s%s", op->ver,
                        s->k->kernel->arrays[op->sym].name, op_info[op->code].name, line_text(s, op));
  if (i->code == SIM_LOAD && op->ver && op_info[op->code].form == FORM_GLOBAL)
    return arena_printf(s->arena, "the sweep has given nothing where the load of '%s'%s looks for it",
                        s->m->buffers[i->place->sym].name, line_text(s, op));
  if (i->code == SIM_LOAD && is_swept(s, op->sym))
    return arena_printf(s->arena, "the load of '%s'%s found what the sweep has given, not what was before it",
                        s->m->buffers[i->place->sym].name, line_text(s, op));
  if (i->code == SIM_LOAD)
    return arena_printf(s->arena, "nobody wrote what the %s of '%s'%s found", op_info[op->code].name,
                        s->m->buffers[i->place->sym].name, line_text(s, op));
  if (i->code == SIM_SHUFFLE)
    return arena_printf(s->arena, "the lane has no partner for the %s%s", op_info[op->code].name, line_text(s, op));
  return arena_printf(s->arena, "the region computed before the %s%s was too small", op_info[op->code].name,
                      line_text(s, op));
}

/* The whole message of a fault. */
static const char *fault_text(Sim *s, const SimThread *t, const char *fmt, va_list ap) {
  Str text = {s->arena, NULL, 0, 0};
  str_addv(&text, fmt, ap);
  const char *rank =
      s->k->cluster == 1 ? "" : arena_printf(s->arena, "rank %d, ", (int)t->number / s->k->block_threads);
  return arena_printf(s->arena, "kernel '%s': %s (block %s, %sthread %s)", s->k->kernel->name, text.s,
                      sim_block_text(s, s->block_number), rank, sim_thread_text(s, t->number));
}

/* Reports one fault, unless the allowed number of reports has been reached. */
static void report(Sim *s, Loc loc, const char *text) {
  if (s->stop)
    return;
  diag_error(s->d, loc, "%s", text);
  s->faults++;
  s->stop = s->faults >= s->max_faults;
}

void sim_race(Sim *s, const SimThread *t, const SimInsn *i, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  report(s, i->op->loc, fault_text(s, t, fmt, ap));
  va_end(ap);
  s->raced = true;
}

void sim_fault(Sim *s, const SimThread *t, const SimInsn *i, const char *fmt, ...) {
  if (s->faults + s->npending >= s->max_faults)
    return;
  va_list ap;
  va_start(ap, fmt);
  SimPending pending = {i->op->loc, fault_text(s, t, fmt, ap)};
  va_end(ap);
  ARENA_PUSH(s->arena, s->pending, s->npending, pending);
}

void sim_settle(Sim *s) {
  for (int n = 0; n < s->npending && !s->raced; n++)
    report(s, s->pending[n].loc, s->pending[n].text);
  s->npending = 0;
  s->raced = false;
}
