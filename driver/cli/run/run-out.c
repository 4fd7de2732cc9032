/* driver/cli/run/run-out.c: `stc run`: writes fields to files, after the last step and while the program runs. */
#include "driver/cli/used/used.h"
#include "driver/data/writer.h"
#include "driver/split/split.h"
#include "driver/tune/tune.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Outputs {
  int nwriters, nsources;
  Writer *writers;
  Source *sources;
  Facts facts;
  Feed *feed;
  const Job *job;
  bool lean;    /* no rank has the whole grid */
  int nsent;    /* lean: the first `nsent` writers are rank 0's, which has the feed and gets their fields */
  int nperiods; /* of observers: of the files, and of the checkpoint if that differs */
  struct Period {
    struct Outputs *out;
    int64_t every;
  } periods[2];
};

/* Output number i of the command: those of --out, then those of --png; the other function: the name of the option. */
static const FieldOption *output(const Command *c, int i) { return i < c->nout ? &c->outs[i] : &c->pngs[i - c->nout]; }
static const char *option_of(const Command *c, int i) { return i < c->nout ? "--out" : "--png"; }

/* ---------------------------------------------------------------- checks before the run */

/* Checks that the field of `o` has values after a step, and that format `f` supports them. */
static bool check_field(const Job *j, const char *option, const FieldOption *o, const Format *f, FieldPlace *at) {
  if (!find_place(j, option, o->field, false, at))
    return false;
  const Declared *d = &j->program->declared[at->field];
  if (j->program->module->fields[d->field].temp) {
    context_error(j->c->context, "%s %s: field %s is temp, it holds nothing after the last step", option, o->field,
                  d->name);
    return false;
  }
  if (j->program->module->fields[d->field].box.rank > GRID_RANK && (f->scalars || strcmp(f->ending, ".vti") == 0)) {
    context_error(j->c->context,
                  "%s %s: field %s has four dimensions, one of them that of members, which a %s file has no place for: "
                  "write .npy or .h5",
                  option, o->field, d->name, f->ending);
    return false;
  }
  if (f->scalars && at->component < 0 && declared_has_parts(d)) {
    context_error(j->c->context, "%s %s: the values of field %s have %d component%s; draw one of them, such as %s",
                  option, o->field, d->name, d->ncomponents, d->ncomponents > 1 ? "s" : "", d->names[0]);
    return false;
  }
  return true;
}

/* Reports that the step's number is in the name of a folder. */
static StcStatus number_in_folder(const Job *j, const char *option, const FieldOption *o) {
  const char *name = strrchr(o->value, '/') + 1, *dot = strrchr(name, '.');
  int stem = (int)(dot ? dot - name : (ptrdiff_t)strlen(name));
  return context_error(j->c->context,
                       "%s %s=%s: the step's number stands in the name of a folder, and the files of all steps go into "
                       "one; put it into the name of the file, such as %.*s_%%06d%s",
                       option, o->field, o->value, stem, name, dot ? dot : ""),
         STC_USAGE;
}

/* Checks the name: it must have a placeholder for the step if each step has a file, and none if one file holds all; and
 * that such a file can be written. */
static StcStatus check_path(const Job *j, const char *option, const FieldOption *o, const Format *f) {
  int n;
  const char *number = path_number(o->value, &n);
  StcContext *c = j->c->context;
  if (!number && !f->series && j->c->every) {
    const char *dot = strrchr(o->value, '.'), *stem = dot ? o->value : o->field;
    int n_stem = dot ? (int)(dot - o->value) : (int)strlen(stem);
    return context_error(c,
                         "%s %s=%s --every=%" PRId64 ": the file holds one step; give it a name with a place for the "
                         "step's number, such as %.*s_%%06d%s",
                         option, o->field, o->value, j->c->every, n_stem, stem, dot ? dot : f->ending),
           STC_USAGE;
  }
  if (number && (f->series || path_number(number + n, &n)))
    return context_error(c,
                         f->series ? "%s %s=%s: the file holds all steps; leave %%d out of its name"
                                   : "%s %s=%s: the name has two places for the step's number",
                         option, o->field, o->value),
           STC_USAGE;
  if (number && strchr(number, '/'))
    return number_in_folder(j, option, o);
  if (j->c->restart && f->series && !f->continues && access(o->value, F_OK) == 0)
    return context_error(c,
                         "%s %s=%s: the file is there, and a run that goes on would replace it; give this part of the "
                         "film another name",
                         option, o->field, o->value),
           STC_USAGE;
  return file_probe(c, path_of_step(j->c->arena, o->value, 0)) ? STC_OK : STC_IO;
}

/* The picture format of the file `path`; NULL after an error. */
static const Format *picture_format(const Command *c, const char *path) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  if (dot && (strcmp(dot, ".png") == 0 || strcmp(dot, ".apng") == 0 || strcmp(dot, ".mp4") == 0))
    return format_of(dot);
  if (path_is_special(path))
    return format_of(".png");
  context_error(
      c->context,
      "--png %s: a picture's name ends in .png, a film's in .apng or .mp4; --out takes names of other formats", path);
  return NULL;
}

/* The format of output `i`; NULL after an error. */
static const Format *output_format(const Command *c, int i) {
  const char *path = output(c, i)->value;
  return i < c->nout ? format_find(c->context, "--out", path) : picture_format(c, path);
}

/* The writer of output `i`, whose format is `f`: a new one, or the existing one of a file that holds many fields. NULL
 * after an error. */
static Writer *writer_for(const Job *j, int i, const Format *f) {
  const Command *c = j->c;
  Outputs *out = j->outputs;
  const char *path = output(c, i)->value;
  for (int k = 0; k < i && strcmp(path, "-") != 0; k++) {
    if (strcmp(output(c, k)->value, path) != 0)
      continue;
    for (int w = 0; w < out->nwriters && !f->fields; w++)
      if (strcmp(out->writers[w].path, file_behind(c->arena, path)) == 0)
        return &out->writers[w];
    context_error(c->context, "%s is written twice, for fields %s and %s: give each a file of its own", path,
                  output(c, k)->field, output(c, i)->field);
    return NULL;
  }
  Writer *w = &out->writers[out->nwriters++];
  *w = (Writer){.format = f,
                .path = file_behind(c->arena, path),
                .facts = &out->facts,
                .every = c->every,
                .from = -1,
                .last = true};
  w->sources = ARENA_ARRAY(c->arena, const Source *, c->nout + c->npng + 1);
  return w;
}

/* The source for the target of an option, made when first needed. */
static const Source *source_for(Outputs *out, FieldPlace at) {
  for (int i = 0; i < out->nsources; i++)
    if (out->sources[i].at.field == at.field && out->sources[i].at.component == at.component)
      return &out->sources[i];
  out->sources[out->nsources] = (Source){.at = at};
  return &out->sources[out->nsources++];
}

/* Adds the field of --mask to a writer of pictures, of format `f`. False after an error. */
static bool add_mask(Job *j, Writer *w, const Format *f) {
  const FieldOption o = {.field = j->c->mask + (*j->c->mask == '!'), .value = ""};
  FieldPlace at;
  if (!check_field(j, "--mask", &o, f, &at))
    return false;
  w->sources[w->nsources++] = source_for(j->outputs, at);
  return true;
}

/* Checks output `i` and adds it to the writers. */
static StcStatus add_output(Job *j, int i) {
  const FieldOption *o = output(j->c, i);
  const char *option = option_of(j->c, i);
  FieldPlace at;
  const Format *f = output_format(j->c, i);
  if (!f || !check_field(j, option, o, f, &at))
    return STC_USAGE;
  Writer *w = writer_for(j, i, f);
  if (!w)
    return STC_USAGE;
  const Source *s = source_for(j->outputs, at);
  for (int k = 0; k < w->nsources; k++)
    if (w->sources[k] == s)
      return context_error(j->c->context, "%s %s=%s is given twice", option, o->field, o->value), STC_USAGE;
  w->sources[w->nsources++] = s;
  if (f->scalars && j->c->mask && !add_mask(j, w, f))
    return STC_USAGE;
  return check_path(j, option, o, f);
}

/* ---------------------------------------------------------------- the checkpoint */

/* The largest number of sources of a checkpoint: the state of the run, components of fields, launch-time arrays. */
static int state_sources(const StcProgram *p) {
  int n = 1 + stc_program_array_count(p);
  for (int f = 0; f < p->ndeclared; f++)
    n += p->declared[f].ncomponents;
  return n;
}

/* Adds a source to the outputs and to writer `w`. */
static void add_source(Outputs *out, Writer *w, Source s) {
  out->sources[out->nsources] = s;
  w->sources[w->nsources++] = &out->sources[out->nsources++];
}

/* Adds the writer of the checkpoint, if one is requested. */
static StcStatus add_checkpoint(Job *j) {
  const Command *c = j->c;
  const StcProgram *p = j->program;
  Outputs *out = j->outputs;
  if (!c->checkpoint && c->checkpoint_every)
    return context_error(c->context, "--checkpoint-every: there is no --checkpoint=FILE"), STC_USAGE;
  if (!c->checkpoint)
    return STC_OK;
  if (strcmp(c->checkpoint, "-") == 0)
    return context_error(c->context, "--checkpoint=-: a checkpoint is a file of its own"), STC_USAGE;
  if (!file_probe_regular(c->context, c->checkpoint))
    return STC_IO;
  Writer *w = &out->writers[out->nwriters++];
  *w = (Writer){.format = &checkpoint_format,
                .path = file_behind(c->arena, c->checkpoint),
                .facts = &out->facts,
                .from = -1,
                .last = true,
                .stopped = true};
  w->every = c->checkpoint_every ? c->checkpoint_every : c->every;
  w->sources = ARENA_ARRAY(c->arena, const Source *, state_sources(p));
  add_source(out, w, (Source){.at = {-1, -1, -1}, .copy = checkpoint_copy, .user = j});
  for (int f = 0; f < p->ndeclared; f++)
    for (int k = 0;
         k < p->declared[f].ncomponents && !p->module->fields[p->declared[f].field].temp && !declared_has_frames(p, f);
         k++)
      add_source(out, w, (Source){.at = {f, k, -1}});
  for (int i = 0; i < stc_program_array_count(p); i++)
    add_source(out, w, (Source){.at = {-1, -1, i}});
  return STC_OK;
}

/* ---------------------------------------------------------------- the facts about the run in files */

/* Reads spacing and origin: one number for each dimension, or one spacing for all. */
static StcStatus take_place(const Command *c, int rank, Facts *f) {
  if (c->nspacing > 1 && c->nspacing != rank)
    return context_error(c->context,
                         "--spacing has %d numbers, but the grid has rank %d: give it one, or one for each "
                         "dimension",
                         c->nspacing, rank),
           STC_USAGE;
  if (c->norigin && c->norigin != rank)
    return context_error(c->context,
                         "--origin has %d number%s, but the grid has rank %d: give it one for each dimension",
                         c->norigin, c->norigin > 1 ? "s" : "", rank),
           STC_USAGE;
  for (int d = 0; d < rank; d++) {
    f->spacing[d] = c->nspacing ? c->spacing[c->nspacing > 1 ? d : 0] : 1; /* until the program's is known */
    f->origin[d] = c->norigin ? c->origin[d] : 0;
  }
  f->rank = rank;
  f->compress = c->compress;
  f->lasting = c->checkpoint || c->restart;
  return STC_OK;
}

/* Reads the options for drawing pictures. */
static StcStatus take_look(const Job *j, Look *look) {
  const Command *c = j->c;
  Str names = {.arena = c->arena};
  *look = (Look){.limited = c->limited, .least = c->limits[0], .most = c->limits[1], .contours = c->contours};
  look->masked = c->mask != NULL;
  look->negated = c->mask && *c->mask == '!';
  look->map = c->colors ? color_map(c->colors) : 0;
  for (int i = 0; color_map_name(i); i++)
    str_addf(&names, "%s%s", i ? ", " : "", color_map_name(i));
  if (look->map < 0)
    return context_error(c->context, "--colors=%s: there is no such map of colours; there are %s", c->colors, names.s),
           STC_USAGE;
  if (!c->slice)
    return STC_OK;
  look->sliced = true;
  look->slice = c->slice[0] - '0';
  look->slice_at = strtoll(c->slice + 2, NULL, 10);
  if (stc_program_rank(j->program) != 3)
    return context_error(c->context, "--slice=%s: only pictures of three dimensions are slices", c->slice), STC_USAGE;
  return STC_OK;
}

/* Reads --unit for the grid and for the sources whose fields it names. */
static StcStatus take_units(const Job *j, Outputs *out) {
  for (int i = 0; i < j->c->nunit; i++) {
    const FieldOption *o = &j->c->units[i];
    FieldPlace at;
    if (strcmp(o->field, "grid") == 0) {
      out->facts.length_unit = o->value;
      continue;
    }
    if (!find_place(j, "--unit", o->field, false, &at))
      return STC_USAGE;
    for (int k = 0; k < out->nsources; k++)
      if (out->sources[k].at.field == at.field && (at.component < 0 || out->sources[k].at.component == at.component))
        out->sources[k].unit = o->value;
  }
  return STC_OK;
}

/* Records the params, and the versions and device of the run. */
static void take_params(const Job *j, Facts *f) {
  const Module *m = j->program->module;
  ParamFact *params = NULL;
  f->nparams = 0;
  for (int i = 0; i < m->nscalars; i++) {
    if (!m->scalars[i].is_param)
      continue;
    Const v = j->scalars[i];
    bool real = type_is_float(m->scalars[i].type);
    ParamFact p = {m->scalars[i].name, real ? STC_F64 : STC_I64, real ? 0 : v.i, real ? v.f : 0};
    ARENA_PUSH(j->c->arena, params, f->nparams, p);
  }
  f->params = params;
  for (int d = 0; d < m->grid.rank && !j->c->nspacing; d++)
    f->spacing[d] = m->metric.spacing[d] ? j->scalars[m->metric.spacing[d] - 1].f : 1;
  if (j->c->checkpoint || j->c->restart)
    f->key = tune_program_key(j->c->arena, j->program->module);
  f->program = stc_program_name(j->program);
  f->text = j->program->text;
  f->version = stc_version();
  f->device = j->plan ? stc_plan_device(j->plan) : NULL;
  f->schedule = j->plan ? stc_plan_schedule(j->plan) : NULL;
}

/* Does the scalar `name` have a value for each member? */
static bool is_scalar_of_each(const Module *m, const char *name) {
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].each && !strcmp(m->param_arrays[i].name, name))
      return true;
  return false;
}

/* Adds the files for derivatives of --gradient, which are written when all is computed; false after a message that one
 * of them cannot be written. The derivative with respect to a param, or to a scalar that all members share, is only
 * printed. */
static bool add_gradient(const Job *j, UsedFiles *used) {
  const StcProgram *p = j->program;
  bool ok = true;
  for (int i = 0; j->c->gradient && i < stc_program_gradient_count(p) && ok; i++) {
    const char *name = stc_program_gradient_name(p, i);
    const char *path = arena_printf(j->c->arena, "%s/%s.npy", j->c->gradient, name);
    if (stc_program_find_field(p, name) < 0 && stc_program_find_array(p, name) < 0 &&
        !is_scalar_of_each(p->module, name))
      continue;
    used_add(used, USE_WRITE, path, "a derivative of --gradient");
    ok = file_probe(j->c->context, path);
  }
  return ok;
}

/* Checks that all files of the run have different names, including those beside an output and the log. */
static StcStatus check_written(const Job *j) {
  const Command *c = j->c;
  const Outputs *out = j->outputs;
  UsedFiles used = {.arena = c->arena};
  used_add_inputs(&used, c);
  used_add_included(&used, j->program);
  for (int i = 0; i < out->nwriters; i++) {
    bool state = out->writers[i].format == &checkpoint_format;
    used_add_output(&used, state ? USE_WRITE_STATE : USE_WRITE_VALUES, out->writers[i].path,
                    state ? "--checkpoint" : "an output");
  }
  if (c->log)
    used_add_output(&used, USE_WRITE, c->log, "--log");
  if (!add_gradient(j, &used))
    return STC_IO;
  return used_check(c, &used);
}

/* Does the format write under another name until the file is complete? */
static bool grows_beside(const Format *f) {
  return f == &checkpoint_format || f->open == hdf5_open || f->open == movie_open;
}

/* Prevents other runs from writing the files that grow, or are replaced repeatedly, until this run has ended. */
static StcStatus claim_files(Job *j) {
  const Outputs *out = j->outputs;
  bool ok = true;
  hold_begin();
  for (int i = 0; i < out->nwriters && ok && job_leads(j); i++)
    if (grows_beside(out->writers[i].format))
      ok = claim_take(j->c->context, out->writers[i].path, &j->claims);
  const char *dot = j->c->log ? strrchr(j->c->log, '.') : NULL;
  if (ok && dot && strcmp(dot, ".h5") == 0 && job_leads(j))
    ok = claim_take(j->c->context, file_behind(j->c->arena, j->c->log), &j->claims);
  hold_end();
  return ok ? STC_OK : STC_IO;
}

StcStatus outputs_check(Job *j) {
  const Command *c = j->c;
  int n = c->nout + c->npng;
  Outputs *out = j->outputs = ARENA_NEW(c->arena, Outputs);
  out->writers = ARENA_ARRAY(c->arena, Writer, n + 2);
  out->sources = ARENA_ARRAY(c->arena, Source, 2 * (n + 1) + 1 + state_sources(j->program));
  if (c->every && !n && !c->checkpoint)
    return context_error(c->context, "--every=%" PRId64 ": there is nothing to write; name a field with --out",
                         c->every),
           STC_USAGE;
  StcStatus s = STC_OK;
  for (int i = 0; i < n && !s; i++)
    s = add_output(j, i);
  if (!s)
    s = add_checkpoint(j);
  if (!s)
    s = check_written(j);
  if (!s)
    s = claim_files(j);
  if (!s)
    s = take_place(c, stc_program_rank(j->program), &out->facts);
  if (!s)
    s = take_look(j, &out->facts.look);
  return s ? s : take_units(j, out);
}

/* ---------------------------------------------------------------- the start */

/* Has the plan continue from the checkpoint, up to the requested total number of steps. */
static StcStatus restart(const Job *j, StcPlan *plan, Series *series, int64_t *steps) {
  Restart from = {0, ""};
  int64_t all = j->c->steps < 0 ? stc_program_steps(j->program) : j->c->steps;
  context_remark(j->c->context, "read: %s, the state of the run", j->c->restart);
  StcStatus s = restart_read(j, j->c->restart, plan, &j->outputs->facts, series, &from);
  if (s)
    return s;
  if (from.step > all && !from.until[0])
    return context_error(j->c->context,
                         "--restart=%s: %" PRId64 " steps are done there, more than the %" PRId64
                         " asked for; say --steps=N with all that are to be done in the end",
                         j->c->restart, from.step, all),
           STC_USAGE;
  *steps = from.until[0] ? 0 : all - from.step;
  j->outputs->facts.until = from.until;
  for (int i = 0; i < j->outputs->nwriters && plan == j->plan; i++)
    j->outputs->writers[i].from = from.step;
  return STC_OK;
}

StcStatus start_plan(const Job *j, StcPlan *plan, Series *series, int64_t *steps) {
  *steps = j->c->steps;
  if (!j->c->restart)
    return give_fields(j, plan);
  StcStatus s = restart(j, plan, series, steps);
  return s ? s : split_is_lean(plan) ? give_parts_frames(j) : give_frames(j, plan);
}

/* ---------------------------------------------------------------- the run */

/* Collects the values of a source on rank 0 if no rank has the whole grid (Source.copy). */
static StcStatus take_sent(const Source *from, StcPlan *plan, void **data) {
  if (!*data)
    *data = malloc((size_t)from->info.bytes + 1);
  if (!*data)
    return computer_no_room(plan->w.context, "a copy of", from->info.name, (double)from->info.bytes);
  return gather_ask(plan, from->at.field, from->at.component, &from->info, *data);
}

/* The same for a source of pictures: the values that they show of the field, and the summary over all ranks. */
static StcStatus take_shown(const Source *from, StcPlan *plan, void **data) {
  size_t behind = source_sight(from);
  if (!*data)
    *data = malloc(behind + sizeof(Sight));
  if (!*data)
    return computer_no_room(plan->w.context, "a picture of", from->info.name, (double)from->info.bytes);
  return gather_shown(plan, from->at.field, from->at.component, &from->all, &from->info, *data,
                      (void *)((char *)*data + behind));
}

/* The source for the values of `whole` that pictures show. */
static Source *shown_source(Outputs *out, const Source *whole) {
  for (int i = 0; i < out->nsources; i++)
    if (memcmp(&out->sources[i].at, &whole->at, sizeof whole->at) == 0 && out->sources[i].sampled)
      return &out->sources[i];
  Source *shown = &out->sources[out->nsources++];
  *shown = *whole;
  picture_narrow(&out->facts.look, &shown->info);
  shown->all = shown->info;
  picture_sample(&shown->info);
  shown->sampled = true;
  shown->copy = take_shown;
  return shown;
}

/* Has the writer's sources sent to rank 0; of pictures only what they show. */
static void take_from_all(Outputs *out, Writer *w) {
  for (int k = 0; k < w->nsources; k++) {
    Source *from = &out->sources[w->sources[k] - out->sources];
    if (w->format->scalars)
      w->sources[k] = shown_source(out, from);
    else
      from->copy = take_sent;
  }
}

/* Moves rank 0's writers to the front, has it receive their fields from all ranks, and has all ranks open the others.
 */
static StcStatus part_writers(Outputs *out) {
  const Job *j = out->job;
  Writer *sorted = ARENA_ARRAY(j->c->arena, Writer, out->nwriters + 1);
  bool *joint = ARENA_ARRAY(j->c->arena, bool, 4 * out->nwriters + 1), *named = joint + out->nwriters,
       *named_sorted = named + out->nwriters;
  StcStatus s = STC_OK;
  int n = 0;
  for (int i = 0; i < out->nwriters && !s; i++)
    s = joint_can(j, &out->writers[i], &joint[i], &named[i]);
  for (int turn = 0; turn < 2 && !s; turn++) {
    for (int i = 0; i < out->nwriters; i++)
      if ((joint[i] || out->writers[i].format == &checkpoint_format) == turn) {
        named_sorted[n] = named[i];
        sorted[n++] = out->writers[i];
      }
    out->nsent = turn ? out->nsent : n;
  }
  if (s)
    return s;
  out->writers = sorted;
  for (int i = 0; i < out->nsent; i++)
    take_from_all(out, &sorted[i]);
  int cores = net_cores(j->net);
  for (int i = out->nsent; i < out->nwriters && !s; i++)
    if (sorted[i].format != &checkpoint_format)
      s = joint_open(j, &sorted[i], named_sorted[i], cores);
  return s;
}

/* Writes the outputs of rank 0 that are due if no rank has the whole grid. All ranks call it. */
static StcStatus write_sent(const Outputs *out, int64_t step, int64_t every) {
  StcPlan *plan = out->job->plan;
  StcStatus s = STC_OK;
  if (!job_leads(out->job))
    gather_serve(plan);
  else {
    s = feed_step(out->feed, plan, step, every);
    gather_end(plan);
  }
  return net_agree(out->job->net, s, &(int){0});
}

/* Finishes the steps that all ranks write beside the run. All ranks call it. */
static StcStatus finish_joint(const Outputs *out) {
  StcStatus s = STC_OK;
  for (int i = out->nsent; i < out->nwriters; i++) {
    StcStatus now = out->writers[i].joint ? joint_finish(out->writers[i].joint) : STC_OK;
    s = s ? s : now;
  }
  return s;
}

/* Writes what is due after `step` steps if no rank has the whole grid (`every` as for feed_step). First finishes steps
 * that were written beside the run until now, so that files to which a checkpoint refers, and those of one name, are
 * complete. */
static StcStatus write_due(Outputs *out, int64_t step, int64_t every) {
  StcStatus s = finish_joint(out);
  if (!s && out->nsent)
    s = write_sent(out, step, every);
  for (int i = out->nsent; i < out->nwriters && !s; i++) {
    Writer *w = &out->writers[i];
    bool due = every > 0 ? w->every == every : every == EVERY_LAST ? w->last : w->stopped;
    if (!due || w->written == step)
      continue;
    w->written = step;
    if (w->format != &checkpoint_format) {
      s = joint_step(w->joint, step, every > 0);
      continue;
    }
    s = finish_joint(out);
    if (!s)
      s = checkpoint_write_parts(out->job, w, step);
    w->steps += !s;
  }
  return s;
}

/* The observer: writes the outputs that are due. */
static StcStatus outputs_step(void *user, StcPlan *plan, int64_t step) {
  const struct Period *p = user;
  if (p->out->lean)
    return write_due(p->out, step, p->every);
  if (!p->out->feed) /* all is written; the plan goes on only for its page (run-view.c) */
    return STC_OK;
  return feed_step(p->out->feed, plan, step, p->every);
}

/* Do all writers with period `every` write only fields? A checkpoint also contains reductions and probes. */
static bool takes_fields(const Outputs *out, int64_t every) {
  for (int i = 0; i < out->nwriters; i++)
    if (out->writers[i].every == every && out->writers[i].format == &checkpoint_format)
      return false;
  return true;
}

/* Has the plan call the observer at the period of each writer. */
static StcStatus watch(const Job *j, Outputs *out) {
  StcStatus s = STC_OK;
  for (int i = 0; i < out->nwriters && !s; i++) {
    int64_t every = out->writers[i].every;
    bool known = every == 0;
    for (int k = 0; k < out->nperiods; k++)
      known |= out->periods[k].every == every;
    if (known)
      continue;
    struct Period *p = &out->periods[out->nperiods++];
    *p = (struct Period){out, every};
    s = plan_watch(j->plan, every, !j->plan->split && takes_fields(out, every), outputs_step, p);
  }
  return s;
}

const Facts *outputs_facts(Job *j) {
  take_params(j, &j->outputs->facts);
  return &j->outputs->facts;
}

StcStatus outputs_open(Job *j) {
  Outputs *out = j->outputs;
  StcStatus s = STC_OK;
  out->job = j;
  out->lean = j->plan->split && j->plan->split->lean;
  for (int i = 0; i < out->nwriters; i++)
    out->writers[i].written = -1;
  for (int i = 0; i < out->nsources && !s; i++) {
    Source *from = &out->sources[i];
    s = from->copy                ? STC_OK
        : from->at.array >= 0     ? stc_plan_array(j->plan, from->at.array, &from->info)
        : from->at.component >= 0 ? stc_plan_component(j->plan, from->at.field, from->at.component, &from->info)
                                  : stc_plan_field(j->plan, from->at.field, &from->info);
  }
  if (out->lean && !s)
    s = part_writers(out);
  int n = !out->lean ? out->nwriters : job_leads(j) ? out->nsent : 0;
  if (!s && n)
    s = feed_open(j->plan, n, out->writers, out->nsources, out->sources, &out->feed);
  return s || !out->nwriters ? s : watch(j, out);
}

/* Writes the outputs of the last step after a run that ended with `s`, or of the step at which it was stopped. Returns
 * `s`, or the error of this function. */
static StcStatus write_last(Job *j, StcStatus s, int64_t *written) {
  Outputs *out = j->outputs;
  if (!out->lean && out->feed && !s && stop_asked(j->progress.stop))
    s = STC_INTERRUPTED;
  int64_t every = s ? EVERY_STOPPED : EVERY_LAST, done = j->plan->run.done;
  if (s && (s != STC_INTERRUPTED || !j->plan->run.inits_done))
    return s;
  StcStatus now = out->lean   ? write_due(out, done, every)
                  : out->feed ? feed_step(out->feed, j->plan, done, every)
                              : STC_OK;
  for (int i = out->nsent; i < out->nwriters && out->lean; i++)
    *written += out->writers[i].steps;
  return s ? s : now;
}

/* Closes the files that all ranks have written, and warns of the first NaN in them. */
static StcStatus close_joint(const Outputs *out) {
  StcStatus s = STC_OK;
  bool warned = false;
  for (int i = out->nsent; i < out->nwriters; i++) {
    const Joint *x = out->writers[i].joint;
    if (!x)
      continue;
    warned = warned || joint_warn_of_nan(x);
    StcStatus closed = writer_close(&out->writers[i]);
    s = s ? s : closed;
  }
  return s;
}

StcStatus outputs_close(Job *j, StcStatus s, int64_t *written) {
  Outputs *out = j->outputs;
  StcStatus behind = out->lean ? finish_joint(out) : STC_OK;
  s = write_last(j, s ? s : behind, written);
  StcStatus closed = out->lean ? close_joint(out) : STC_OK, fed = out->feed ? feed_close(out->feed, written) : STC_OK;
  out->feed = NULL;
  closed = closed ? closed : fed;
  for (int i = 0; i < out->nwriters && !closed; i++)
    if (out->writers[i].steps)
      context_remark(j->c->context, "written: %s, %" PRId64 " time%s", out->writers[i].path, out->writers[i].steps,
                     out->writers[i].steps == 1 ? "" : "s");
  if (closed && context_stopped(j->c->context))
    closed = STC_INTERRUPTED;
  return s ? s : closed;
}
