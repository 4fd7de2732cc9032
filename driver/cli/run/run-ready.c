/* driver/cli/run/run-ready.c: `stc run`: checks params, input fields and the checkpoint before code is made. It reads
 * only the headers of files. */
#include "driver/data/writer.h"

#include <string.h>

/* Type and shape of a target under the job's params. */
static StcFieldInfo place_info(const Job *j, FieldPlace at) {
  const StcProgram *p = j->program;
  StcFieldInfo f;
  if (at.array >= 0) {
    array_info(&p->module->param_arrays[at.array], j->scalars, &f);
    return f;
  }
  const Declared *d = &p->declared[at.field];
  declared_info(p, at.field, p->module, d->field, j->scalars, &f);
  if (at.component >= 0)
    component_info(d, at.component, &f);
  return f;
}

/* Checks the file of one --in. Files that are not regular are left to the run, which can read them only once. */
static StcStatus check_file(const Job *j, const char *path, const char *what, const StcFieldInfo *f) {
  if (path_is_special(path))
    return STC_OK;
  return is_picture(path)        ? png_check_field(j->c->context, path, what, f)
         : frames_are_hdf5(path) ? hdf5_read_field(j->c->context, path, what, f, NULL)
                                 : npy_check(j->c->context, path, what, f, NULL);
}

/* Does `o` name a component of the field `at`.field, for which a series of frames is also given? Reports an error then.
 */
static bool is_beside_series(const Job *j, const FieldOption *o, FieldPlace at) {
  for (int i = 0; i < j->c->nin && at.component >= 0; i++) {
    FieldPlace other;
    StcFieldInfo f;
    if (&j->c->in[i] == o || !find_place(j, "--in", j->c->in[i].field, true, &other) || other.field != at.field ||
        other.component >= 0)
      continue;
    f = place_info(j, other);
    if (!frames_are_wanted(&j->c->in[i], other, &f))
      continue;
    context_error(j->c->context, "--in %s: field %s has a series of frames, all of whose components come from there",
                  o->field, f.name);
    return true;
  }
  return false;
}

/* Checks one --in for one target, and records in `given`, for the target's field or array, that it has values. */
static StcStatus check_place(const Job *j, const FieldOption *o, FieldPlace at) {
  StcFieldInfo f = place_info(j, at);
  if (f.temp)
    return context_error(j->c->context, "--in %s: field %s is temp, it holds nothing before the first step", o->field,
                         f.name),
           STC_USAGE;
  if (f.frames && is_beside_series(j, o, at))
    return STC_USAGE;
  if (!is_file(o->value))
    return check_in_value(j->c, &f, o->value);
  if (frames_are_wanted(o, at, &f))
    return frames_check(j, o, &f);
  if (o->whole)
    f = whole_info(o, &f);
  return check_file(j, o->value,
                    arena_printf(j->c->arena, "%s %s", at.array >= 0 ? "launch-time array" : "field", f.name), &f);
}

/* Checks one --in, and records which components, or which array, then have values. */
static StcStatus check_in(const Job *j, const FieldOption *o, bool *components, bool *arrays) {
  FieldPlace at;
  if (!find_place(j, "--in", o->field, true, &at))
    return STC_USAGE;
  const Declared *d = at.array >= 0 ? NULL : &j->program->declared[at.field];
  bool parts = d && at.component < 0 && declared_has_parts(d) && !is_file(o->value);
  StcStatus s = STC_OK;
  if (at.array >= 0)
    arrays[at.array] = true;
  int next = d ? program_next_frame(j->program, at.field) : -1;
  for (int c = 0; d && c < d->ncomponents && !s; c++) {
    components[d->first + c] |= at.component < 0 || at.component == c;
    if (next >= 0)
      components[d[1].first + c] |= components[d->first + c];
    if (parts)
      s = check_place(j, o, (FieldPlace){at.field, c, -1, false});
  }
  return s || parts ? s : check_place(j, o, at);
}

/* The number of components of the program's fields. */
static int count_components(const StcProgram *p) {
  int n = 0;
  for (int f = 0; f < p->ndeclared; f++)
    n += p->declared[f].ncomponents;
  return n;
}

/* Checks that there is memory for the reference of --check, beside the run's own memory if that is on this computer. */
static StcStatus check_reference_room(const Job *j) {
  const StcProgram *p = j->program;
  const char *device = j->c->device ? j->c->device : "host";
  bool here = strncmp(device, "cuda", 4) != 0 && strncmp(device, "hip", 3) != 0;
  Device d = {.kind = &device_ref, .w = &j->program->w};
  Need *needs;
  int n = program_needs(p, j->c->arena, j->scalars, &needs);
  for (int i = 0; i < n && here; i++)
    needs[i] = (Need){arena_printf(j->c->arena, "%s and its copy for --check", needs[i].what), 2 * needs[i].bytes};
  return needs_check(&d, n, needs);
}

/* Does --in name a field with frames? */
static bool names_frames(const Job *j, const FieldOption *o) {
  FieldPlace at;
  return find_place(j, "--in", o->field, true, &at) && at.array < 0 && declared_has_frames(j->program, at.field);
}

/* Records which components and arrays have values from a checkpoint: all but frames. */
static void mark_restored(const StcProgram *p, bool *components, bool *arrays) {
  for (int f = 0; f < p->ndeclared; f++)
    for (int c = 0; c < p->declared[f].ncomponents && !declared_has_frames(p, f); c++)
      components[p->declared[f].first + c] = true;
  for (int i = 0; i < p->module->nparam_arrays; i++)
    arrays[i] = true;
}

StcStatus ready_check(Job *j) {
  const StcProgram *p = j->program;
  const Command *c = j->c;
  j->scalars = program_bind(p, p->module, c->arena, p->w.diags, 0, NULL);
  if (!j->scalars)
    return STC_INPUT;
  const Facts *facts = outputs_facts(j);
  bool *components = ARENA_ARRAY(c->arena, bool, count_components(p) + 1),
       *arrays = ARENA_ARRAY(c->arena, bool, p->module->nparam_arrays + 1);
  StcStatus s = c->check ? check_reference_room(j) : STC_OK;
  if (c->restart && !s)
    s = restart_check(j, c->restart, facts);
  for (int i = 0; i < c->nin && !s; i++)
    s = c->restart && !names_frames(j, &c->in[i]) ? STC_OK : check_in(j, &c->in[i], components, arrays);
  if (c->restart)
    mark_restored(p, components, arrays);
  return s ? s : program_check_given(p, c->arena, p->w.diags, j->scalars, components, arrays, true);
}
