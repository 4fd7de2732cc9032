/* whole.c: copies fields and launch-time arrays of the whole grid to its parts and back, through this process' memory,
 * or that of rank 0, which then has the whole grid. Within one process fields come back directly from GPU to GPU,
 * because a reduction may need them after every step. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* Host memory for a slot (malloc), with its values if `fetch`. NULL after an error, with *s. */
static void *slot_values(StcPlan *p, const Slot *slot, bool fetch, StcStatus *s) {
  void *memory = *s ? NULL : calloc(slot->size + 1, 1);
  if (!*s && !memory)
    *s = (diag_error(p->w.diags, no_loc(), "no memory on this computer for %zu bytes", slot->size), STC_MEMORY);
  if (!*s && fetch)
    *s = slot_fetch(p, slot, memory);
  return memory;
}

/* The number in the whole grid's module of field `field` of the parts' module; -1: it has none, or no memory. */
static int whole_field(const StcPlan *p, const StcPlan *q, int field) {
  int f = q->module->fields[field].temp ? -1 : module_find_field(p->module, q->module->fields[field].name);
  return f >= 0 && !p->module->fields[f].temp && p->memory.of_field[f] >= 0 && q->memory.of_field[field] >= 0 ? f : -1;
}

/* The field's points in the whole grid. */
static CellArray whole_array(const StcPlan *p, int field) {
  CellArray a = {0};
  const Box *box = &p->module->fields[field].box;
  for (int d = 0; d < box->rank; d++) {
    a.lo[d] = affine_eval(box->lo[d], p->scalars, NULL);
    a.hi[d] = affine_eval(box->hi[d], p->scalars, NULL);
  }
  return a;
}

/* The operation for each run of cells (runs_each), and its argument. */
typedef struct Doing {
  StcStatus (*fn)(void *user, int64_t from, int64_t to, int64_t n);
  void *user;
} Doing;

/* Calls it for the runs of the part's cells (not `in`: of its own points) that lie `turns` times around the whole grid:
 * from the array of field `whole` to the part's (`in`), or back. */
static StcStatus box_each(const StcPlan *p, const PartPlan *part, int field, int whole, const int *turns, bool in,
                          const Doing *do_it) {
  const Split *s = p->split;
  CellArray all = whole_array(p, whole), mine = {0};
  int64_t lo[MAX_RANK], hi[MAX_RANK];
  if (!part_cells(part, field, mine.lo, mine.hi))
    return STC_OK;
  for (int d = 0; d < s->rank; d++) {
    all.shift[d] = turns[d] * (s->hi[d] - s->lo[d] + 1);
    int64_t first = all.lo[d] + all.shift[d], last = all.hi[d] + all.shift[d];
    if (!in && !field_lacks(&p->module->fields[whole], d)) {
      first = first > part->lo[d] ? first : part->lo[d];
      last = last < part->hi[d] ? last : part->hi[d];
    }
    lo[d] = first > mine.lo[d] ? first : mine.lo[d];
    hi[d] = last < mine.hi[d] ? last : mine.hi[d];
    if (lo[d] > hi[d])
      return STC_OK;
  }
  Runs r = in ? runs_of(s->rank, lo, hi, &all, &mine) : runs_of(s->rank, lo, hi, &mine, &all);
  return runs_each(&r, do_it->fn, do_it->user);
}

/* Calls it for all runs; into a part also for those of ghost cells beyond the edges of a ring. */
static StcStatus all_each(const StcPlan *p, const PartPlan *part, int field, int whole, bool in, const Doing *do_it) {
  const Field *f = &part->module->fields[field];
  StcStatus s = STC_OK;
  int turns[MAX_RANK] = {0}, most[MAX_RANK] = {0};
  for (int d = 0; d < p->split->rank; d++) {
    most[d] = f->ring && in ? 1 : 0;
    turns[d] = -most[d];
  }
  do
    s = box_each(p, part, field, whole, turns, in, do_it);
  while (!s && next_turns(p->split->rank, most, turns));
  return s;
}

StcStatus part_each(const StcPlan *p, const PartPlan *part, int field, bool in,
                    StcStatus (*fn)(void *user, int64_t from, int64_t to, int64_t n), void *user) {
  int mine = stc_program_find_field(part->plan->program, p->program->declared[field].name);
  return all_each(p, part, part->plan->bound.homes[mine].field, p->bound.homes[field].field, in, &(Doing){fn, user});
}

/* Writes a run of cells to a file; get_run reads one (part_each). */
static StcStatus put_run(void *user, int64_t from, int64_t to, int64_t n) {
  const PartFile *x = user;
  return file_write_at(x->fd, x->memory + from * x->size, n * x->size, x->at + to * x->size) ? STC_OK : STC_IO;
}
static StcStatus get_run(void *user, int64_t from, int64_t to, int64_t n) {
  const PartFile *x = user;
  return file_read_at(x->fd, x->memory + to * x->size, n * x->size, x->at + from * x->size) ? STC_OK : STC_IO;
}

StcStatus part_to_file(const StcPlan *p, const PartPlan *part, int field, PartFile *file) {
  return part_each(p, part, field, false, put_run, file);
}

StcStatus part_from_file(const StcPlan *p, const PartPlan *part, int field, PartFile *file) {
  return part_each(p, part, field, true, get_run, file);
}

/* Copies the cells between the values of the whole field and the part's array. */
static void copy_cells(const StcPlan *p, const PartPlan *part, int field, int whole, bool in, char *from, char *to) {
  CellCopy c = {to, from, type_bytes(part->module, part->module->fields[field].type)};
  all_each(p, part, field, whole, in, &(Doing){cells_copy, &c});
}

/* Memory for the part's cells of the field (split_room). */
static char *part_memory(StcPlan *p, const PartPlan *part, int field, StcStatus *s) {
  return split_room(p, part->module->fields[field].name, part_bytes(part, field), s);
}

/* Copies one field to part `part`, from the values of the whole field at `values` on the rank that leads: to its device
 * if it is on this rank; else sends or receives them. */
static StcStatus scatter_field(StcPlan *p, const PartPlan *part, int field, int whole, char *values, StcStatus s) {
  Net *net = p->split->net;
  bool leads = split_leads(p->split);
  char *memory = part->plan || leads ? part_memory(p, part, field, &s) : NULL;
  if (!memory)
    return s;
  if (leads && values)
    copy_cells(p, part, field, whole, true, values, memory);
  if (leads && !part->plan)
    net_message(net, part->rank, true, memory, part_bytes(part, field));
  if (!leads)
    net_message(net, 0, false, memory, part_bytes(part, field));
  if (part->plan && !s)
    s = slot_put(part->plan, field_slot(part->plan, field), memory);
  free(memory);
  return s;
}

/* Copies one field from part `part` to the values of the whole field at `values`, likewise. */
static StcStatus gather_field(StcPlan *p, const PartPlan *part, int field, int whole, char *values, StcStatus s) {
  Net *net = p->split->net;
  bool leads = split_leads(p->split);
  char *memory = part->plan || leads ? part_memory(p, part, field, &s) : NULL;
  if (!memory)
    return s;
  if (part->plan && !s)
    s = slot_fetch(part->plan, field_slot(part->plan, field), memory);
  if (leads && !part->plan)
    net_message(net, part->rank, false, memory, part_bytes(part, field));
  if (!leads)
    net_message(net, 0, true, memory, part_bytes(part, field));
  if (leads && values)
    copy_cells(p, part, field, whole, false, memory, values);
  free(memory);
  return s;
}

/* Copies field `field` of all parts, to them or from them. With several ranks all messages are exchanged, even after
 * errors. */
static StcStatus move_field(StcPlan *p, int field, bool in, StcStatus s) {
  Split *split = p->split;
  int whole = whole_field(p, split->part[split->begin].plan, field);
  if (whole < 0)
    return s;
  const Slot *slot = field_slot(p, whole);
  char *values = split_leads(split) ? slot_values(p, slot, in, &s) : NULL;
  for (int i = 0; i < split->nparts && (!s || split->net); i++)
    s = (in ? scatter_field : gather_field)(p, &split->part[i], field, whole, values, s);
  if (!s && !in && values)
    s = slot_put(p, slot, values);
  free(values);
  return s;
}

/* Copies launch-time array `array` of the parts' module to all parts. */
static StcStatus scatter_array(StcPlan *p, int array, StcStatus s) {
  Split *split = p->split;
  const StcPlan *first = split->part[split->begin].plan;
  int whole = module_find_param_array(p->module, first->module->param_arrays[array].name);
  if (whole < 0 || p->memory.of_array[whole] < 0)
    return s;
  const Slot *slot = array_slot(p, whole);
  void *values = slot_values(p, slot, split_leads(split), &s);
  if (!values && split->net)
    values = calloc(slot->size + 1, 1);
  if (!values && split->net)
    split_die(p, p->module->param_arrays[whole].name, (double)slot->size);
  if (split->net)
    split->net->broadcast(split->net, values, slot->size, 0);
  int end = split->turns ? split->begin + 1 : split->end; /* parts that take turns share it */
  for (int i = split->begin; i < end && !s; i++) {
    StcPlan *q = split->part[i].plan;
    if (q->memory.of_array[array] >= 0)
      s = slot_put(q, array_slot(q, array), values);
  }
  free(values);
  return s;
}

StcStatus split_scatter(StcPlan *p) {
  const Module *m = p->split->part[p->split->begin].module;
  StcStatus s = STC_OK;
  for (int f = 0; f < m->nfields && (!s || p->split->net) && !p->split->turns; f++)
    s = move_field(p, f, true, s);
  for (int i = 0; i < m->nparam_arrays && (!s || p->split->net); i++)
    s = scatter_array(p, i, s);
  p->split->age = 0;
  for (int i = p->split->begin; i < p->split->end; i++)
    p->split->part[i].plan->run.once_done = false;
  ghosts_scattered(p);
  return s;
}

StcStatus split_put_frame(StcPlan *p, int field, const void *data) {
  const Split *split = p->split;
  StcStatus s = STC_OK;
  for (int i = split->begin; i < split->end && !s; i++) {
    StcPlan *q = split->part[i].plan;
    int mine = stc_program_find_field(q->program, p->program->declared[field].name);
    StcFieldInfo f;
    s = stc_plan_field(q, mine, &f);
    char *memory = s ? NULL : split_room(p, f.name, (size_t)f.bytes + 1, &s);
    if (!memory)
      break;
    CellCopy c = {memory, data, p->program->declared[field].point_bytes};
    s = part_each(p, &split->part[i], field, true, cells_copy, &c);
    if (!s && !q->device.kind->whole)
      s = q->device.kind->wait(&q->device);
    if (!s)
      s = plan_put_field(q, mine, memory, (size_t)f.bytes);
    free(memory);
    plan_mark_given(q, mine, -1);
  }
  return s;
}

StcStatus split_copy_frame(StcPlan *p, int from, int to) {
  StcStatus s = STC_OK;
  for (int i = p->split->begin; i < p->split->end && !s; i++) {
    StcPlan *q = p->split->part[i].plan;
    s = plan_copy_frame(q, stc_program_find_field(q->program, p->program->declared[from].name),
                        stc_program_find_field(q->program, p->program->declared[to].name));
  }
  return s;
}

StcStatus split_next_frames(StcPlan *p) {
  const Module *m = p->split->part[p->split->begin].module;
  bool due = false;
  for (int f = 0; f < m->nfields; f++)
    due |= m->fields[f].frames && p->run.done % m->fields[f].frames == 0;
  if (!due)
    return STC_OK;
  StcStatus s = plan_next_frames(p);
  for (int f = 0; f < m->nfields && !p->split->lean && !p->split->turns && (!s || p->split->net); f++)
    if (m->fields[f].frames && p->run.done % m->fields[f].frames == 0)
      s = move_field(p, f, true, s);
  return split_agree(p, s);
}

/* The destination of a part's cells, for copies from device to device. */
typedef struct Homeward {
  const Slot *from, *to;
  Device *device, *home;
  int64_t size;
} Homeward;

/* Sends the part's own points of a field to the whole grid's device, in order with the part's launches. */
static StcStatus send_home(const StcPlan *p, const PartPlan *part, int field, int whole, const Homeward *x) {
  const Split *s = p->split;
  CellArray all = whole_array(p, whole), mine = {0};
  int64_t lo[MAX_RANK], hi[MAX_RANK], size = x->size;
  if (!part_cells(part, field, mine.lo, mine.hi))
    return STC_OK;
  for (int d = 0; d < s->rank; d++) {
    bool lacks = field_lacks(&p->module->fields[whole], d);
    lo[d] = lacks || all.lo[d] > part->lo[d] ? all.lo[d] : part->lo[d];
    hi[d] = lacks || all.hi[d] < part->hi[d] ? all.hi[d] : part->hi[d];
    lo[d] = lo[d] > mine.lo[d] ? lo[d] : mine.lo[d];
    hi[d] = hi[d] < mine.hi[d] ? hi[d] : mine.hi[d];
    if (lo[d] > hi[d])
      return STC_OK;
  }
  Runs r = runs_of(s->rank, lo, hi, &mine, &all);
  Sending cells = sending_of(&r, size, x->from->memory, x->to->memory);
  return x->device->kind->send(x->device, LANE_MAIN, x->home, &cells);
}

/* Can all parts send to the device of the whole grid themselves? */
static bool is_near(StcPlan *p) {
  Split *s = p->split;
  if ((s->net && s->net->size > 1) || !p->device.kind->near)
    return false;
  for (int i = s->begin; i < s->end; i++) {
    Device *d = &s->part[i].plan->device;
    if (d->kind != p->device.kind || !d->kind->near(d, &p->device))
      return false;
  }
  return true;
}

/* Sends one field from all parts, from device to device. */
static StcStatus send_field(StcPlan *p, int field) {
  Split *split = p->split;
  StcStatus s = STC_OK;
  int whole = whole_field(p, split->part[split->begin].plan, field);
  for (int i = split->begin; i < split->end && !s && whole >= 0; i++) {
    PartPlan *part = &split->part[i];
    StcPlan *q = part->plan;
    Homeward x = {field_slot(q, field), field_slot(p, whole), &q->device, &p->device,
                  type_bytes(q->module, q->module->fields[field].type)};
    s = send_home(p, part, field, whole, &x);
  }
  return s;
}

/* Sends all fields that steps change, from device to device. Earlier work of the whole grid's plan is complete. */
static StcStatus gather_near(StcPlan *p) {
  Split *split = p->split;
  const Module *m = split->part[split->begin].module;
  StcStatus s = p->device.kind->wait(&p->device);
  for (int f = 0; f < m->nfields && !s; f++)
    if (m->fields[f].exchange == EXCHANGE_STEPS)
      s = send_field(p, f);
  for (int i = split->begin; i < split->end && !s; i++)
    s = split->part[i].plan->device.kind->wait(&split->part[i].plan->device);
  return s;
}

StcStatus split_gather(StcPlan *p) {
  if (p->split->turns)
    return STC_OK;
  if (is_near(p))
    return gather_near(p);
  const Module *m = p->split->part[p->split->begin].module;
  StcStatus s = STC_OK;
  for (int f = 0; f < m->nfields && (!s || p->split->net); f++)
    if (m->fields[f].exchange == EXCHANGE_STEPS)
      s = move_field(p, f, false, s);
  return s;
}
