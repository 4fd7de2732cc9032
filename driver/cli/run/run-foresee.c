/* run-foresee.c: reads values that --in gives to masks, or to fields from which masks are computed, before the plan is
 * made, whose schedule then suits the part of the grid where the masks are true. The run reads these values again. */
#include "driver/cli/run/job.h"
#include "driver/cli/used/used.h"
#include "driver/split/split.h"
#include "driver/instance/runner.h"
#include "driver/data/writer.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* Sets `wanted` for the fields that the bodies of `st` read. Returns true if it has set any that were not set. */
static bool note_reads(const Stencil *st, bool *wanted) {
  bool more = false;
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next)
      if (op->code == OP_ACCESS && !wanted[op->sym])
        more = wanted[op->sym] = true;
  return more;
}

/* Sets `wanted` for the fields of `m` that conditions may read and no step changes. Returns true if there are some. */
static bool find_tested(const Module *m, bool *wanted) {
  bool any = false;
  for (int f = 0; f < m->nfields; f++)
    any |= wanted[f] = m->fields[f].input &&
                       (m->fields[f].type == TY_BOOL || m->fields[f].type == TY_U8 || m->fields[f].type == TY_I8);
  return any;
}

/* Finds these fields, and those from which they are computed. */
static const bool *find_wanted(const Module *m, Arena *a) {
  bool *wanted = ARENA_ARRAY(a, bool, m->nfields + 1);
  find_tested(m, wanted);
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < m->ninits; i++)
      for (int t = 0; t < m->inits[i].ntargets; t++)
        if (wanted[m->inits[i].targets[t]] && note_reads(&m->inits[i], wanted))
          more = true;
  }
  return wanted;
}

/* Can the whole field be read, although only choices depend on it? A rank may have memory only for its parts. */
static bool has_room(StcPlan *plan, int field, StcStatus *s) {
  StcFieldInfo f;
  double left = 0, total;
  *s = stc_plan_field(plan, field, &f);
  computer_room(&left, &total);
  return !*s && 4 * (double)f.bytes < left;
}

/* Tells the program the values of one --in. `plan`: one with the program's sizes. */
static StcStatus foresee(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at) {
  const Declared *d = at.array >= 0 ? NULL : &j->program->declared[at.field];
  const bool *wanted = find_wanted(j->program->module, j->c->arena);
  StcFieldInfo f;
  void *data = NULL;
  if (!d || at.component >= 0 || d->ncomponents != 1 || declared_has_parts(d) || !wanted[d->field] ||
      declared_has_frames(j->program, at.field) || (is_file(o->value) && path_is_special(o->value)))
    return STC_OK;
  StcStatus s;
  if (!has_room(plan, at.field, &s))
    return s;
  s = read_place(j, plan, o, at, &f, &data);
  StcArray values = {data, f.type, f.rank, f.shape, NULL};
  if (!s)
    s = stc_program_foresee(j->program, o->field, &values);
  free(data);
  return s;
}

/* Do choices on `device` depend on masks: on one GPU the schedule, of a program whose kernels are not made yet; for a
 * cut grid the cut, which rank 0 chooses? */
static bool depends(const Job *j, const char *device) {
  const Module *m = j->program->module;
  bool gpu = strncmp(device, "host", 4) != 0 && strcmp(device, "ref") != 0;
  return m->level == LEVEL_SIR && find_tested(m, ARENA_ARRAY(j->c->arena, bool, m->nfields + 1)) && j->c->nin &&
         (j->net ? !j->net->rank && !j->c->memory : gpu);
}

/* Does the work of foresee_fields, if choices depend on masks. */
static StcStatus foresee_here(const Job *j) {
  StcPlan *sizes = NULL;
  StcStatus s = plan_new(j->program, "ref", true, false, 0, NULL, &sizes);
  if (!s)
    plan_warned(sizes);
  if (!s)
    s = give_in_order(j, sizes, false, foresee);
  if (sizes)
    stc_plan_free(sizes);
  return s;
}

StcStatus foresee_fields(const Job *j, const char *device) {
  StcStatus s = depends(j, device) ? foresee_here(j) : STC_OK;
  return j->net ? net_agree(j->net, s, &(int){0}) : s;
}
