/* driver/program/settings.c: checks StcOptions and copies them into a program. */
#include "driver/program/program.h"

#include <string.h>

/* A copy of `s` in `a`; NULL of NULL. */
static const char *keep(Arena *a, const char *s) { return s ? arena_strdup(a, s) : NULL; }

/* Copies of the `n` strings. */
static const char *const *keep_list(Arena *a, int n, const char *const *list) {
  const char **copy = ARENA_ARRAY(a, const char *, n + 1);
  for (int i = 0; i < n; i++)
    copy[i] = arena_strdup(a, list[i]);
  return copy;
}

StcOptions options_copy(Arena *a, const StcOptions *o) {
  StcOptions c = o ? *o : (StcOptions){0};
  c.march = keep(a, c.march);
  c.mcpu = keep(a, c.mcpu);
  c.real = keep(a, c.real);
  c.schedule = keep(a, c.schedule);
  options_keep_knobs(a, &c);
  c.passes = keep(a, c.passes);
  c.print_before = keep(a, c.print_before);
  c.print_after = keep(a, c.print_after);
  c.defines = keep_list(a, c.ndefines, c.defines);
  c.load_passes = keep_list(a, c.nload, c.load_passes);
  return c;
}

/* Is `s` (NULL: yes) one of the two names? */
static bool one_of(const char *s, const char *x, const char *y) { return !s || strcmp(s, x) == 0 || strcmp(s, y) == 0; }

/* The family of schedules: the requested one, the one to which the given knobs belong, or open. */
static FamilyId family_of(const StcOptions *o) {
  FamilyId asked = family_find(o->schedule), knobs = options_knobs_family(o);
  return asked > FAMILY_AUTO ? asked : knobs == FAMILY_AUTO && o->passes ? FAMILY_NONE : knobs;
}

/* If there is a text of a plan, takes the whole schedule from it. */
static StcStatus plan_take(StcProgram *p) {
  const StcOptions *o = &p->options;
  if (!plan_is_text(o->schedule))
    return STC_OK;
  if (options_say_knobs(o) || o->passes || p->kind == SOURCE_KIR)
    return context_error(p->w.context, "%s: %s", option_name(p->w.context, "-plan", "schedule"),
                         p->kind == SOURCE_KIR ? "this is kernel IR, which was made by a plan already"
                                               : "the plan says all of the schedule; leave -schedule, -T, "
                                                 "-block and other options about it and -passes out"),
           STC_USAGE;
  const char *file = p->w.context->plan_file;
  const Schedule *s = plan_parse(p->w.arena, p->w.diags, file ? file : "plan", o->schedule);
  if (!s)
    return STC_INPUT;
  p->schedule = *s;
  return STC_OK;
}

/* Checks the options of language, checks and optimisation. */
static StcStatus check_language(const StcProgram *p) {
  const StcOptions *o = &p->options;
  StcContext *c = p->w.context;
  if (!one_of(o->real, "f32", "f64"))
    return context_error(c, "%s=%s: `real` is f32 or f64", option_name(c, "-freal", "real"), o->real), STC_USAGE;
  if (o->members < 0 || (o->members && p->kind != SOURCE_STN))
    return context_error(c, "%s=%lld: %s", option_name(c, "-members", "members"), (long long)o->members,
                         o->members < 0 ? "the number is that of members, from 1"
                                        : "members are declared behind the grid of a program, and this is IR"),
           STC_USAGE;
  if (o->check_finite < 0)
    return context_error(c, "%s=%lld: the number is that of steps, from 1",
                         option_name(c, "-fcheck=finite", "check_finite"), (long long)o->check_finite),
           STC_USAGE;
  if ((o->check_finite || o->check_bounds) && (p->kind == SOURCE_KIR || o->passes))
    return context_error(c,
                         "%s: the checks are passes on stencil IR, %s; put check-finite or check-bounds in front "
                         "of the passes",
                         option_name(c, "-fcheck", "check_finite or check_bounds"),
                         o->passes ? option_name(c, "and -passes runs what it names and nothing else",
                                                 "and `passes` is run and nothing else")
                                   : "and this is kernel IR"),
           STC_USAGE;
  if (o->opt_level < 0 || o->opt_level > 4)
    return context_error(c, "there is no such optimisation level; %s",
                         option_name(c, "-O0 to -O3 are there", "opt_level is 0 to 4")),
           STC_USAGE;
  return STC_OK;
}

/* Checks the options of the family of schedules and its time steps. */
static StcStatus check_family(const StcProgram *p) {
  const StcOptions *o = &p->options;
  StcContext *c = p->w.context;
  const char *schedule = option_name(c, "-schedule", "schedule");
  if (o->schedule && !plan_is_text(o->schedule) && !family_find(o->schedule))
    return context_error(c, "%s=%s: the schedules are auto, %s", schedule, o->schedule, family_names(p->w.arena)),
           STC_USAGE;
  if (o->T > 1 && !family_has(family_of(o), KNOB_T) && family_of(o) > FAMILY_AUTO)
    return context_error(c, "%s=%d with %s=%s: %s makes one step a launch; use %s=overlap, or leave %s out",
                         option_name(c, "-T", "T"), o->T, schedule, o->schedule, o->schedule, schedule,
                         option_name(c, "-T", "T")),
           STC_USAGE;
  return STC_OK;
}

/* Sets the program's defines from the options. */
static StcStatus defines_take(StcProgram *p) {
  const StcOptions *o = &p->options;
  StcContext *c = p->w.context;
  p->defines = ARENA_ARRAY(p->w.arena, Define, o->ndefines + 1);
  for (int i = 0; i < o->ndefines; i++)
    if (!define_parse(p->w.arena, o->defines[i], &p->defines[i]))
      return context_error(c, c->command ? "-D%s: write -DNAME=VALUE" : "\"%s\" in defines: write NAME=VALUE",
                           o->defines[i]),
             STC_USAGE;
  return STC_OK;
}

StcStatus options_take(StcProgram *p) {
  const StcOptions *o = &p->options;
  StcStatus s = check_language(p);
  s = s ? s : options_check_knobs(p->w.context, o);
  s = s ? s : check_family(p);
  if (s)
    return s;
  p->language = (FrontendOptions){o->real && strcmp(o->real, "f64") == 0 ? TY_F64 : TY_F32, !o->no_contract,
                                  o->fast_math, o->members};
  p->schedule = (Schedule){.family = family_of(o)};
  options_take_knobs(o, &p->schedule);
  s = plan_take(p);
  return s ? s : defines_take(p);
}
