/* driver/instance/plan-edges.c: reads beyond edges that depend on a mask: a hidden field NAME.where, which an init
 * computes, determines them (frontend/check/check_mask.c). This file answers which masks these are, and when the fields
 * must be computed again. */
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <string.h>

bool field_is_edges(const Module *m, int f) {
  const char *end = strrchr(m->fields[f].name, '.');
  return end && strcmp(end, ".where") == 0;
}

const char *plan_looked_at(const StcPlan *p, const char *mask) {
  const Module *m = p->program->source;
  for (int i = 0; m && i < m->ninits; i++) {
    const char *name = m->inits[i].ntargets == 1 ? m->fields[m->inits[i].targets[0]].name : "",
               *end = strrchr(name, '.');
    if (!end || strcmp(end, ".where") != 0)
      continue;
    for (int k = 0; k < m->inits[i].npieces; k++)
      for (const Op *op = m->inits[i].pieces[k].body->first; op; op = op->next)
        if (op->code == OP_ACCESS && !strcmp(m->fields[op->sym].name, mask))
          return arena_printf(p->w.arena, "%.*s", (int)(end - name), name);
  }
  return NULL;
}

StcStatus plan_check_mask_set(StcPlan *p, int field) {
  const char *name = p->program->declared[field].name, *of = p->run.inits_done ? plan_looked_at(p, name) : NULL;
  if (!of)
    return STC_OK;
  return context_error(p->w.context,
                       "mask '%s' has been run with, and what is beyond the edges of '%s' goes by it as it was: set it "
                       "before the first step, or begin anew (stc_plan_restart) first",
                       name, of),
         STC_USAGE;
}

const bool *plan_edges_given(const StcPlan *p) {
  bool exposed = false;
  for (int i = 0; i < p->program->ndeclared && !exposed; i++) {
    const Slot *slot = field_slot(p, p->bound.homes[i].field);
    exposed = slot && (slot->foreign || slot->shown || slot->handed) && plan_looked_at(p, p->program->declared[i].name);
  }
  bool *given = exposed ? p->bound.with_init : NULL;
  for (int f = 0; f < p->module->nfields && given; f++)
    given[f] = !field_is_edges(p->module, f);
  return given;
}
