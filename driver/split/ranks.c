/* ranks.c: the interface of plans over several processes: making them, and access to the fields of parts where no rank
 * has the whole grid. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* The arguments that must be equal on all ranks, as text; for the guarded part of stc_plan_new_ranks. */
typedef struct SameArgs {
  StcProgram *program;
  const char *device, *split;
  bool parts;
  int n;
  const char *const *defines;
  Str text;
} SameArgs;

/* Appends a text, which may be NULL. */
static void add_text(Str *to, const char *text) { str_addf(to, "%s\n", text ? text : "-"); }

/* Appends all options that change the code. */
static void add_options(Str *to, const StcOptions *o) {
  const char *const texts[] = {o->march, o->mcpu, o->real, o->schedule, o->passes};
  const int64_t numbers[] = {o->grid[0],     o->grid[1],   o->grid[2],  o->grid[3],      o->members,      o->opt_level,
                             o->no_contract, o->fast_math, o->no_hoist, o->check_finite, o->check_bounds, o->nload};
  options_print_knobs(to, o);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    add_text(to, texts[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    str_addf(to, "%lld\n", (long long)numbers[i]);
  for (int i = 0; i < o->nload; i++)
    add_text(to, o->load_passes[i]);
  for (int i = 0; i < o->ndefines; i++)
    add_text(to, o->defines[i]);
}

/* Writes the text. */
static StcStatus write_same(void *arg) {
  SameArgs *a = arg;
  a->text = (Str){.arena = a->program->w.arena};
  add_text(&a->text, stc_version());
  add_text(&a->text, a->program->text);
  add_options(&a->text, &a->program->options);
  add_text(&a->text, a->device);
  add_text(&a->text, a->split);
  str_addf(&a->text, "%d\n", a->parts);
  for (int i = 0; i < a->n; i++)
    add_text(&a->text, a->defines[i]);
  return STC_OK;
}

StcStatus stc_plan_new_ranks(StcProgram *program, const StcRanks *ranks, const char *device, const char *split, int n,
                             const char *const *defines, StcPlan **out) {
  static const StcRanks none;
  StcContext *c = program->w.context;
  Net *net;
  int who;
  *out = NULL;
  ranks = ranks ? ranks : &none;
  StcStatus s = net_open(c, ranks->module, ranks->communicator, &net);
  if (s)
    return s;
  SameArgs same = {program, device, split, ranks->parts, n, defines, {0}};
  s = ranks_agree(c, net, workspace_guard(&program->w, write_same, &same));
  if (!s && !net_same(net, same.text.s, same.text.n, &who))
    s = (context_error(
             c,
             "rank %d makes another plan than rank 0: programs, options, params, devices and cuts must be the "
             "same",
             who),
         STC_USAGE);
  if (!s)
    s = plan_new_split(program, net, device, split, ranks->parts ? LEAN_MUST : LEAN_NEVER, 0, n, defines, out);
  if (s)
    return net_close(net), s;
  (*out)->split->own_net = true;
  return STC_OK;
}

int stc_plan_part_count(const StcPlan *p) { return p->split ? p->split->end - p->split->begin : 0; }

/* Part number `part` of this rank; NULL after an error. */
static PartPlan *find_part(StcPlan *p, int part) {
  Split *s = p->split;
  if (!s || !s->lean)
    context_error(p->w.context, "only a plan over ranks none of which has the whole grid has fields of parts");
  else if (part < 0 || part >= s->end - s->begin)
    context_error(p->w.context, "there is no part %d on this rank, which has %d", part, s->end - s->begin);
  else
    return &s->part[s->begin + part];
  return NULL;
}

bool part_own(const StcPlan *p, const PartPlan *part, int field, CellArray *out) {
  const Box *box = &p->module->fields[p->bound.homes[field].field].box;
  bool any = true;
  *out = (CellArray){0};
  for (int d = 0; d < box->rank; d++) {
    int64_t lo = affine_eval(box->lo[d], p->scalars, NULL), hi = affine_eval(box->hi[d], p->scalars, NULL);
    out->lo[d] = lo > part->lo[d] ? lo : part->lo[d];
    out->hi[d] = hi < part->hi[d] ? hi : part->hi[d];
    if (field_lacks(&p->module->fields[p->bound.homes[field].field], d))
      out->lo[d] = out->hi[d] = 0;
    any &= out->lo[d] <= out->hi[d];
  }
  return any;
}

StcStatus stc_plan_part_field(StcPlan *p, int part, int field, StcFieldInfo *out) {
  const PartPlan *x = find_part(p, part);
  CellArray own;
  StcStatus s = x ? stc_plan_field(p, field, out) : STC_USAGE;
  if (s)
    return s;
  bool any = part_own(p, x, field, &own);
  out->bytes = p->program->declared[field].point_bytes;
  for (int d = 0; d < out->rank; d++) {
    out->shape[d] = any ? own.hi[d] - own.lo[d] + 1 : 0;
    out->first[d] = own.lo[d];
    out->bytes *= out->shape[d];
  }
  return STC_OK;
}

/* Copies the points that the part owns in (`in`) or out. */
static StcStatus copy_part(StcPlan *p, const PartPlan *part, int field, const void *in, void *out) {
  StcPlan *q = part->plan;
  int mine = stc_program_find_field(q->program, p->program->declared[field].name);
  StcFieldInfo f;
  CellArray own, all = part_array(part, q->bound.homes[mine].field);
  StcStatus s = stc_plan_field(q, mine, &f);
  char *memory = s ? NULL : malloc((size_t)f.bytes + 1);
  if (!s && !memory)
    return computer_no_room(p->w.context, "a copy of field", f.name, (double)f.bytes);
  if (!s)
    s = stc_plan_get(q, mine, memory, (size_t)f.bytes);
  if (!s && part_own(p, part, field, &own)) {
    Runs r =
        in ? runs_of(p->split->rank, own.lo, own.hi, &own, &all) : runs_of(p->split->rank, own.lo, own.hi, &all, &own);
    CellCopy c = {in ? memory : out, in ? in : memory, p->program->declared[field].point_bytes};
    runs_each(&r, cells_copy, &c);
  }
  if (!s && in)
    s = stc_plan_set(q, mine, memory, (size_t)f.bytes);
  free(memory);
  return s;
}

/* Checks the size of the caller's array, and copies. */
static StcStatus move_part(StcPlan *p, int part, int field, const void *in, void *out, size_t bytes) {
  StcFieldInfo f;
  StcStatus s = stc_plan_part_field(p, part, field, &f);
  if (s)
    return s;
  if (f.bytes != (int64_t)bytes)
    return context_error(p->w.context, "part %d has %lld bytes of field %s, but %zu were given", part,
                         (long long)f.bytes, f.name, bytes),
           STC_USAGE;
  if (f.temp)
    return context_error(p->w.context, "field %s is temp: it holds no value from one time step to the next", f.name),
           STC_USAGE;
  return copy_part(p, find_part(p, part), field, in, out);
}

StcStatus stc_plan_part_set(StcPlan *p, int part, int field, const void *data, size_t bytes) {
  StcStatus s = move_part(p, part, field, data, NULL, bytes);
  if (s)
    return s;
  plan_mark_given(p, field, -1);
  p->split->touched = true;
  return STC_OK;
}

StcStatus stc_plan_part_get(StcPlan *p, int part, int field, void *data, size_t bytes) {
  return move_part(p, part, field, NULL, data, bytes);
}

StcStatus split_set_array(StcPlan *p, int array, const void *data, size_t bytes) {
  StcStatus s = STC_OK;
  for (int i = p->split->begin; i < p->split->end && !s && p->split->lean; i++) {
    StcPlan *q = p->split->part[i].plan;
    s = stc_plan_set_array(q, stc_program_find_array(q->program, p->program->module->param_arrays[array].name), data,
                           bytes);
  }
  return s || !p->split->lean ? s : watching_set_array(p, array, data, bytes);
}

bool split_has_ranks(const StcPlan *p) { return p->split->net; }

StcStatus split_get_array(StcPlan *p, int array, void *data, size_t bytes) {
  const char *name = stc_program_array_name(p->program, array);
  StcPlan *q = p->split->part[p->split->begin].plan;
  int a = module_find_param_array(p->module, name);
  if (a < 0 || !p->module->nlists || !p->lists.coordinates[a])
    return plan_get_array(q, stc_program_find_array(q->program, name), data, bytes);
  memcpy(data, p->lists.coordinates[a], bytes);
  return STC_OK;
}

bool split_is_lean(const StcPlan *p) { return p->split && p->split->lean; }

StcStatus split_restart(StcPlan *p) {
  StcStatus s = STC_OK;
  for (int i = p->split->begin; i < p->split->end && !s && p->split->lean; i++)
    s = stc_plan_restart(p->split->part[i].plan);
  return s;
}

/* ---------------------------------------------------------------- ghost cells of fields that were set */

/* Makes one transfer through host memory; after an error status only its message. */
static StcStatus refresh(StcPlan *p, const Transfer *t, StcStatus s) {
  const PartPlan *x = &p->split->part[t->from], *y = &p->split->part[t->to];
  size_t bytes = t->bytes;
  if (!x->plan && !y->plan)
    return s;
  char *memory = calloc(bytes + 1, 1);
  if (!memory)
    split_die(p, p->split->part[p->split->begin].module->fields[t->field].name, (double)bytes);
  if (x->plan && !s)
    s = transfer_copy(p, t, true, memory);
  if (!x->plan || !y->plan)
    net_message(p->split->net, x->plan ? y->rank : x->rank, x->plan != NULL, memory, bytes);
  if (y->plan && !s)
    s = transfer_copy(p, t, false, memory);
  free(memory);
  return s;
}

StcStatus split_refresh(StcPlan *p) {
  Split *split = p->split;
  const Module *m = split->part[split->begin].module;
  bool all[split->net->size], any = false;
  split->net->gather(split->net, &split->touched, sizeof split->touched, all);
  for (int i = 0; i < split->net->size; i++)
    any |= all[i];
  StcStatus s = STC_OK;
  for (int i = split->begin; i < split->end && any; i++)
    split->part[i].plan->run.once_done = false;
  for (int f = 0; f < m->nfields && any; f++) {
    const FieldTransfers *t = m->fields[f].exchange == EXCHANGE_NONE ? NULL : field_transfers(p, f);
    if (t)
      ghosts_forget(p, f);
    for (int i = 0; t && i < t->n; i++) {
      s = refresh(p, &t->list[i], s);
      ghosts_note(p, &t->list[i]);
    }
  }
  split->touched = false;
  return s;
}
