/* driver/artifact/backward.c: the program that computes an artifact's gradient backwards (passes/transpose), for the
 * same target: an artifact of its own, which the manifest of the first one describes. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/manifest.h"
#include "driver/program/program.h"

#include <string.h>

/* The arguments: the program, and its backward program as text. all: the backward program is made for launches that get
 * every field with a derivative, not only older levels. */
typedef struct BackwardArgs {
  StcProgram *p;
  bool all;
  BackwardFacts *out;
  const char *text;
} BackwardArgs;

/* Does each repeat of `m` have a constant number of rounds? Then these are unrolled. */
static bool rounds_are_known(const Module *m) {
  for (int i = 0; i < m->nrepeats; i++)
    if (m->repeats[i].most.n)
      return false;
  return true;
}

/* Makes the text of the backward program. */
static StcStatus make_text(void *arg) {
  BackwardArgs *a = arg;
  StcProgram *p = a->p;
  const Module *m = p->source;
  PassContext c = {.arena = p->w.arena, .diags = p->w.diags, .loaded = p->loaded, .run = passes_run};
  const char **given = ARENA_ARRAY(p->w.arena, const char *, m->nby + 1);
  int n = 0;
  for (int i = 0; i < m->nby; i++)
    if (m->by[i].kind == BY_FIELD && (a->all || m->fields[m->by[i].index].past))
      given[n++] = m->fields[m->by[i].index].name;
  *a->out = (BackwardFacts){.ngiven = n, .given = given};
  Module *b = transpose_module(&c, module_copy(p->w.arena, m), n, given, &a->out->facts);
  a->text = b ? module_print(b) : NULL;
  return b ? STC_OK : STC_INPUT;
}

/* The reason why options or repeats of the program rule out an artifact with a gradient; NULL if none does. */
static const char *wrong_from_the_start(const StcProgram *p) {
  const StcOptions *o = &p->options;
  return o->check_finite || o->check_bounds ? "the program is compiled with checks"
         : o->passes                        ? "the program has a pipeline of its own"
         : !rounds_are_known(p->source)     ? "a param says how many rounds a repeat has, and rounds are written out"
                                            : NULL;
}

/* Does this status end the work, whatever the program is? */
static bool is_final(StcStatus s) { return s == STC_MEMORY || s == STC_INTERRUPTED; }

/* Makes a->text, the backward program. *why: the reason why the program's artifact cannot have a gradient; NULL if it
 * can. */
static StcStatus make_or_say(BackwardArgs *a, const char **why) {
  StcProgram *p = a->p;
  *why = wrong_from_the_start(p);
  if (*why)
    return STC_OK;
  bool silent = p->w.silent;
  p->w.silent = true;
  StcStatus s = workspace_guard(&p->w, make_text, a);
  bool starts = !s && a->out->facts.starts;
  if (!is_final(s) && (s || starts)) {
    a->all = true;
    s = workspace_guard(&p->w, make_text, a);
  }
  p->w.silent = silent;
  if (is_final(s))
    return s;
  if (s ? starts : a->out->facts.starts)
    *why = "an init makes a field of what it is to, and undoing inits is for runs";
  else if (s)
    *why = "'stc run --gradient' says why";
  return STC_OK;
}

/* The program's defines and, if known, the default number of steps: the schedule is chosen for these. */
static void add_defines(StcProgram *p, StcOptions *o) {
  const Module *m = p->source;
  Const *values = ARENA_ARRAY(p->w.arena, Const, m->nscalars + 1);
  bool *known = ARENA_ARRAY(p->w.arena, bool, m->nscalars + 1);
  const char **defines = ARENA_ARRAY(p->w.arena, const char *, o->ndefines + 2);
  int n = 0;
  scalar_defaults(p, m, values, known);
  while (n < o->ndefines) {
    defines[n] = o->defines[n];
    n++;
  }
  if (!m->steps_by || known[m->steps_by - 1])
    defines[n++] = arena_printf(p->w.arena, "%s=%lld", ADJOINT_LAST, (long long)module_steps(m, values));
  o->defines = defines;
  o->ndefines = n;
}

/* Compiles the text, and makes its kernels. Nothing is computed once where fields are new in each step, though none of
 * its own steps changes them. */
static StcStatus compile_text(void *arg) {
  BackwardArgs *a = arg;
  StcProgram *p = a->p;
  StcOptions o = p->options;
  const char *bytes;
  options_open_knobs(&o);
  o.schedule = o.schedule && strcmp(o.schedule, "naive") == 0 ? "naive" : NULL;
  o.members = 0; /* the text has them */
  o.no_hoist |= a->out->facts.nsaved > 0 || a->out->facts.nafter > 0;
  o.print_before = o.print_after = NULL;
  o.print_all = o.time_passes = o.stats = o.remarks = false;
  add_defines(p, &o);
  const char *name = arena_printf(p->w.arena, "%s.back.sir", p->name);
  StcStatus s = stc_compile_string(p->w.context, name, a->text, &o, &p->backward);
  if (!s)
    p->backward->forward = p;
  return s ? s : stc_program_emit(p->backward, STC_EMIT_OBJ, &bytes, NULL);
}

/* Compiles the text, or says in a warning why that cannot be done: the artifact itself needs none of it. */
static StcStatus compile_or_say(BackwardArgs *a) {
  StcProgram *p = a->p;
  StcContext *c = p->w.context;
  char why[WITHHELD] = "", *before = c->withheld;
  c->withheld = why;
  StcStatus s = workspace_guard(&p->w, compile_text, a);
  c->withheld = before;
  if (!s)
    return STC_OK;
  stc_program_free(p->backward);
  p->backward = NULL;
  if (!is_final(s))
    context_warning(c, "the artifact has no gradient: its kernels cannot be made: %s", why);
  else if (*why)
    context_error(c, "%s", why);
  return is_final(s) ? s : STC_OK;
}

StcStatus stc_program_backward(StcProgram *p, StcProgram **backward) {
  BackwardArgs a = {.p = p};
  StcStatus s = STC_OK;
  const char *why = NULL;
  if (!p->tried_backward && !p->cut && p->source->level == LEVEL_SIR && p->source->nby) {
    a.out = ARENA_ARRAY(p->w.arena, BackwardFacts, 1);
    s = make_or_say(&a, &why);
    if (why)
      context_warning(p->w.context, "the artifact has no gradient: %s", why);
    else if (!s)
      s = compile_or_say(&a);
    p->adjoint = a.out;
  }
  p->tried_backward = !s;
  *backward = p->backward;
  return s;
}
