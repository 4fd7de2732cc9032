/* tune-entry.c: makes an entry of the database from the result of a search. */
#include "driver/tune/tune.h"

StcStatus tune_key(Workspace *w, const Subject *s, const Device *d, int64_t points, TuneKey *out) {
  const char *cpu = s->options.mcpu ? s->options.mcpu : d->cpu;
  const Target *t = target_find(w->arena, w->diags, d->kind->arch, cpu);
  if (!t)
    return STC_USAGE;
  *out = (TuneKey){tune_program_key(w->arena, s->program->module), tune_size_class(points),
                   tune_device_key(w->arena, d), target_arch(t), target_info(t)->cpu};
  return STC_OK;
}

/* The default is stored as the default, as its schedule depends on the size of the grid. */
TuneEntry tune_entry(Arena *a, const Subject *s, TuneKey key, const Candidate *best) {
  char date[16];
  time_t now = time(NULL);
  struct tm day;
  gmtime_r(&now, &day);
  strftime(date, sizeof date, "%Y-%m-%d", &day);
  return (TuneEntry){key,
                     stc_program_name(s->program),
                     s->options.real ? s->options.real : "f32",
                     stc_version(),
                     best->usual  ? best->options
                     : best->plan ? best->plan
                                  : best->schedule,
                     arena_strdup(a, date),
                     best->gpts};
}
