/* driver/cli/run/run-data.c: `stc run`: finds fields, components and launch-time arrays by the names in options, and
 * reads their values from files. */
#include "driver/cli/options/command.h"
#include "driver/cli/run/job.h"
#include "driver/cli/used/used.h"
#include "driver/data/data.h"
#include "driver/data/writer.h"
#include "driver/device/device.h"
#include "driver/files/files.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- names */

/* Finds a component called `name`, "v.0". */
static bool find_component(const StcProgram *p, const char *name, FieldPlace *out) {
  for (int f = 0; f < p->ndeclared; f++)
    for (int c = 0; c < p->declared[f].ncomponents; c++)
      if (declared_has_parts(&p->declared[f]) && strcmp(p->declared[f].names[c], name) == 0)
        return *out = (FieldPlace){f, c, -1, false}, true;
  return false;
}

/* The first component whose path begins with `name`: S.c.0 for S.c. NULL if there is none. */
static const char *first_below(const StcProgram *p, const char *name) {
  size_t n = strlen(name);
  for (int f = 0; f < p->ndeclared; f++)
    for (int c = 0; c < p->declared[f].ncomponents; c++)
      if (strncmp(p->declared[f].names[c], name, n) == 0 && p->declared[f].names[c][n] == '.')
        return p->declared[f].names[c];
  return NULL;
}

/* The text "u, u@1, v" for a NULL-terminated list of names; only the first of many. */
static const char *names_text(Arena *a, const char *const *names) {
  enum { MOST = 12 };
  Str text = {.arena = a};
  for (int i = 0; names[i] && i <= MOST; i++)
    str_addf(&text, "%s%s", i ? ", " : "", i < MOST ? names[i] : "...");
  return text.s ? text.s : "none";
}

/* Reports that `option` names nothing that exists, with the nearest name. */
static void unknown_name(const Job *j, const char *option, const char *name, bool arrays) {
  const StcProgram *p = j->program;
  const char **names = NULL;
  int n = 0;
  Arena *a = j->c->arena;
  if (first_below(p, name)) {
    context_error(j->c->context, "%s %s: that has components of its own; name one of them, such as %s", option, name,
                  first_below(p, name));
    return;
  }
  for (int f = 0; f < p->ndeclared; f++) {
    if (strchr(p->declared[f].name, '.')) /* made by the compiler */
      continue;
    ARENA_PUSH(a, names, n, p->declared[f].name);
    for (int c = 0; c < p->declared[f].ncomponents && declared_has_parts(&p->declared[f]); c++)
      ARENA_PUSH(a, names, n, p->declared[f].names[c]);
  }
  for (int i = 0; i < stc_program_array_count(p) && arrays; i++)
    ARENA_PUSH(a, names, n, stc_program_array_name(p, i));
  ARENA_PUSH(a, names, n, (const char *)NULL);
  const char *near = near_match(name, names);
  context_error(j->c->context, "%s %s: the program has no field%s '%s'; there are %s%s%s%s", option, name,
                arrays ? " or launch-time array" : "", name, names_text(a, names), near ? "; is '" : "",
                near ? near : "", near ? "' meant?" : "");
}

bool find_place(const Job *j, const char *option, const char *name, bool arrays, FieldPlace *out) {
  const StcProgram *p = j->program;
  *out = (FieldPlace){stc_program_find_field(p, name), -1, -1, false};
  if (out->field >= 0 || find_component(p, name, out))
    return true;
  out->array = stc_program_find_array(p, name);
  if (out->array >= 0 && arrays)
    return true;
  if (out->array >= 0)
    context_error(j->c->context, "%s %s: %s is a launch-time array, which only --in takes", option, name, name);
  else
    unknown_name(j, option, name, arrays && stc_program_array_count(p) > 0);
  return false;
}

/* Finds type and shape of a target, and memory for its elements: if `straight` and the plan has them in a file, that
 * memory, else new memory (malloc). */
static StcStatus place_memory(const Job *j, StcPlan *plan, FieldPlace at, bool straight, StcFieldInfo *f, void **data) {
  *data = NULL;
  StcStatus s = at.array >= 0       ? stc_plan_array(plan, at.array, f)
                : at.component >= 0 ? stc_plan_component(plan, at.field, at.component, f)
                                    : stc_plan_field(plan, at.field, f);
  if (s)
    return s;
  *data = straight && at.array < 0 ? plan_in_file(plan, at.field, at.component) : NULL;
  if (!*data)
    *data = malloc((size_t)f->bytes + 1);
  if (*data)
    return STC_OK;
  return computer_no_room(j->c->context, "the values of", f->name, (double)f->bytes);
}

/* ---------------------------------------------------------------- reading */

bool parse_seed(const char *text, uint64_t *seed) {
  char *end;
  errno = 0;
  *seed = strtoull(text, &end, 10);
  return end != text && !*end && !errno && *text != '-';
}

bool is_picture(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && strcmp(dot, ".png") == 0;
}

/* The number of elements that are made between two checks whether the run should stop. */
enum { MADE_AT_ONCE = 1 << 16 };

/* Fills the field with random numbers; STC_INTERRUPTED if the command is stopped meanwhile. */
static StcStatus fill_random(const Command *c, const StcFieldInfo *f, uint64_t seed, char *data) {
  int64_t size = type_size((Type)f->type), n = size ? f->bytes / size : 0;
  for (int64_t i = 0; i < n; i += MADE_AT_ONCE) {
    if (context_stopped(c->context))
      return STC_INTERRUPTED;
    random_range(f, seed, i, n - i < MADE_AT_ONCE ? n - i : MADE_AT_ONCE, data + i * size);
  }
  return STC_OK;
}

/* Fills `data` with random numbers or with the value of --in. */
StcStatus fill_value(const Command *c, const StcFieldInfo *f, const char *value, void *data) {
  uint64_t seed = 0;
  bool random = strncmp(value, "random:", 7) == 0;
  if (random && !parse_seed(value + 7, &seed))
    return context_error(c->context, "--in %s=%s: write random:SEED with a number, such as random:1", f->name, value),
           STC_USAGE;
  if (random)
    return fill_random(c, f, seed, data);
  if (value_fill(f, value, data))
    return STC_OK;
  return context_error(c->context, "--in %s=%s: that is no value of type %s", f->name, value, type_name((Type)f->type)),
         STC_USAGE;
}

const char *place_value(const FieldOption *o, FieldPlace at) {
  return at.part && strncmp(o->value, "random:", 7) != 0 ? "0" : o->value;
}

StcStatus check_in_value(const Command *c, const StcFieldInfo *f, const char *value) {
  StcFieldInfo one = *f;
  char room[16];
  one.rank = 1;
  one.shape[0] = 1;
  one.bytes = type_size((Type)f->type);
  return fill_value(c, &one, value, room);
}

/* Fills `data` according to the value of --in; `what` is "field" or "array", for messages. */
static StcStatus fill(const Command *c, const char *what, const StcFieldInfo *f, const char *value, void *data) {
  if (!is_file(value))
    return fill_value(c, f, value, data);
  what = arena_printf(c->arena, "%s %s", what, f->name);
  context_remark(c->context, "read: %s, for %s", value, what);
  return is_picture(value)        ? png_read_field(c->context, value, what, f, data)
         : frames_are_hdf5(value) ? hdf5_read_field(c->context, value, what, f, data)
                                  : npy_read(c->context, value, what, f, data);
}

/* Copies the elements of a target to the plan. */
static StcStatus put(StcPlan *plan, FieldPlace at, const void *data, size_t bytes) {
  if (at.array >= 0)
    return stc_plan_set_array(plan, at.array, data, bytes);
  return at.component >= 0 ? stc_plan_set_component(plan, at.field, at.component, data, bytes)
                           : stc_plan_set(plan, at.field, data, bytes);
}

StcFieldInfo whole_info(const FieldOption *o, const StcFieldInfo *f) {
  StcFieldInfo whole = *f;
  whole.name = o->whole;
  whole.dtype = f->type == STC_F32 ? "'<c8'" : "'<c16'";
  whole.bytes *= 2;
  return whole;
}

/* Reads the file of complex numbers, of which the array `f` has the real or imaginary parts. */
static StcStatus fill_part(const Command *c, const FieldOption *o, const StcFieldInfo *f, void *data) {
  StcFieldInfo whole = whole_info(o, f);
  char *pairs = malloc((size_t)whole.bytes + 1);
  if (!pairs)
    return computer_no_room(c->context, "the values of", o->whole, (double)whole.bytes);
  StcStatus s = fill(c, "launch-time array", &whole, o->value, pairs);
  size_t size = (size_t)type_size((Type)f->type);
  for (size_t i = 0; i < (size_t)f->bytes / size && !s; i++)
    memcpy((char *)data + i * size, pairs + (2 * i + o->imaginary) * size, size);
  free(pairs);
  return s;
}

/* Does what read_place does; straight: as for place_memory. */
static StcStatus read_to(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, bool straight,
                         StcFieldInfo *f, void **data) {
  char *room;
  StcStatus s = place_memory(j, plan, at, straight, f, data);
  if (s || kept_get(j, o, f, *data))
    return s;
  s = o->whole && is_file(o->value)
          ? fill_part(j->c, o, f, *data)
          : fill(j->c, at.array >= 0 ? "launch-time array" : "field", f, place_value(o, at), *data);
  if (!s && !(s = kept_room(j, o, f, &room)) && room)
    memcpy(room, *data, (size_t)f->bytes);
  if (!s && at.array >= 0 && strncmp(o->value, "random:", 7) == 0)
    plan_random_points(plan, at.array, strtoull(o->value + 7, NULL, 10), *data);
  return s;
}

StcStatus read_place(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, StcFieldInfo *f, void **data) {
  return read_to(j, plan, o, at, false, f, data);
}

/* Sets the values of one --in for one target. */
static StcStatus give_place(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at) {
  StcFieldInfo f;
  void *data;
  StcStatus s = read_to(j, plan, o, at, true, &f, &data);
  bool straight = at.array < 0 && data && data == plan_in_file(plan, at.field, at.component);
  if (!s)
    s = put(plan, at, data, (size_t)f.bytes);
  if (!straight)
    free(data);
  return s;
}

/* Sets the values of one --in: random numbers and single values for a field of vectors or structs are set component by
 * component. */
static StcStatus give(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at) {
  const Declared *d = at.array >= 0 || at.component >= 0 ? NULL : &j->program->declared[at.field];
  StcFieldInfo f;
  StcStatus found = d ? stc_plan_field(plan, at.field, &f) : STC_OK;
  if (found || (d && frames_are_wanted(o, at, &f)))
    return found ? found : frames_give(j, plan, o, at, &f);
  if (!d || !declared_has_parts(d) || is_file(o->value))
    return give_place(j, plan, o, at);
  StcStatus s = STC_OK;
  for (int c = 0; c < d->ncomponents && !s; c++)
    s = give_place(j, plan, o, (FieldPlace){at.field, c, -1, d->imaginary[c]});
  return s;
}

/* Is --in number `i` a file with values of a field that steps change? */
static bool continues(const Job *j, int i) {
  const FieldOption *o = &j->c->in[i];
  FieldPlace at;
  if (!is_file(o->value) || !find_place(j, "--in", o->field, true, &at) || at.array >= 0)
    return false;
  return !j->program->module->fields[j->program->declared[at.field].field].input;
}

/* Warns if fields are read that an earlier run may have written, and the stencils depend on the step number. */
static void warn_of_first_step(const Job *j) {
  const char *what;
  for (int i = 0; i < j->c->nin && j->c->first_step < 0; i++)
    if (continues(j, i) && program_counts_steps(j->program, &what)) {
      diag_warning(j->program->w.diags, no_loc(),
                   "the program uses `%s`, and %s is read from a file: if an earlier run wrote it after N steps, go on "
                   "with --first-step=N; --first-step=0 says that it is a start",
                   what, j->c->in[i].field);
      return;
    }
}

StcStatus give_in_order(const Job *j, StcPlan *plan, bool frames, GiveFn give) {
  StcStatus s = STC_OK;
  for (int components = 0; components < 2; components++)
    for (int i = 0; i < j->c->nin && !s; i++) {
      FieldPlace at;
      if (!find_place(j, "--in", j->c->in[i].field, true, &at))
        return STC_USAGE;
      bool wanted = !frames || (at.array < 0 && declared_has_frames(j->program, at.field));
      if (wanted && (at.component >= 0) == components)
        s = give(j, plan, &j->c->in[i], at);
    }
  return s;
}

StcStatus give_frames(const Job *j, StcPlan *plan) { return give_in_order(j, plan, true, give); }

StcStatus give_fields(const Job *j, StcPlan *plan) { return give_in_order(j, plan, false, give); }

/* ---------------------------------------------------------------- checks before the run */

/* Reports the first field that is named twice in the `n` options. */
static bool named_once(const Job *j, const char *option, const FieldOption *o, int n) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      if (strcmp(o[i].field, o[k].field) == 0)
        return context_error(j->c->context, "%s %s is given twice, as %s and as %s", option, o[i].field, o[k].value,
                             o[i].value),
               false;
  return true;
}

StcStatus split_options(Job *j) {
  Command *c = ARENA_NEW(j->c->arena, Command);
  *c = *j->c;
  const StcProgram *p = j->program;
  FieldOption *all = NULL;
  int n = 0;
  for (int i = 0; i < c->nin; i++) {
    FieldOption o = c->in[i], parts[2] = {o, o};
    for (int k = 0; k < 2; k++) {
      parts[k].field = arena_printf(c->arena, "%s_%s", o.field, k ? "im" : "re");
      parts[k].whole = o.field;
      parts[k].imaginary = k == 1;
    }
    FieldPlace at;
    if (stc_program_find_field(p, o.field) >= 0 || find_component(p, o.field, &at) ||
        stc_program_find_array(p, o.field) >= 0 || stc_program_find_array(p, parts[0].field) < 0 ||
        stc_program_find_array(p, parts[1].field) < 0) {
      ARENA_PUSH(c->arena, all, n, o);
      continue;
    }
    if (is_file(o.value) && path_is_special(o.value))
      return context_error(c->context,
                           "--in %s=%s: its numbers are complex, whose parts are read one after the other, and that "
                           "can be read but once: give a file",
                           o.field, o.value),
             STC_USAGE;
    if (!is_file(o.value) && strncmp(o.value, "random:", 7) != 0)
      parts[1].value = "0";
    ARENA_PUSH(c->arena, all, n, parts[0]);
    ARENA_PUSH(c->arena, all, n, parts[1]);
  }
  c->in = all;
  c->nin = n;
  j->c = c;
  return STC_OK;
}

StcStatus check_names(const Job *j) {
  const Command *c = j->c;
  FieldPlace at;
  for (int i = 0; i < c->nin; i++)
    if (!find_place(j, "--in", c->in[i].field, true, &at))
      return STC_USAGE;
  if (c->log && j->program->module->nreductions + j->program->module->nprobes == 0)
    return context_error(
               c->context,
               "--log %s: the program has neither `reduce` nor `until` nor `probe`, so there is nothing to save",
               c->log),
           STC_USAGE;
  const char *dot = c->log ? strrchr(c->log, '.') : NULL;
  bool hdf5 = dot && strcmp(dot, ".h5") == 0;
  if (c->log && !(hdf5 ? file_probe_regular : file_probe)(c->context, c->log))
    return STC_IO;
  if (!named_once(j, "--in", c->in, c->nin))
    return STC_USAGE;
  if (!c->restart)
    warn_of_first_step(j);
  return STC_OK;
}
