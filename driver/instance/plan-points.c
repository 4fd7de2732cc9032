/* driver/instance/plan-points.c: prepares a plan's lists of points before a run, and passes on the rows of its probes.
 */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- lists of points */

/* Reports that there is no memory for `what`. */
static StcStatus no_memory(StcPlan *p, const char *what) {
  return diag_error(p->w.diags, no_loc(), "no memory on this computer for %s", what), STC_MEMORY;
}

/* Does a list take coordinates from array `array`? Sets *list and *dim to the first such. */
static bool is_coordinate(const Module *m, int array, int *list, int *dim) {
  for (*list = 0; *list < m->nlists; ++*list)
    for (*dim = 0; *dim < m->grid.rank; ++*dim)
      if (m->lists[*list].array[*dim] == array)
        return true;
  return false;
}

/* Copies the coordinates to the host, into p->coordinates. */
static StcStatus fetch_coordinates(StcPlan *p) {
  StcStatus s = STC_OK;
  for (int a = 0, list, dim; a < p->module->nparam_arrays && !s; a++) {
    if (!is_coordinate(p->module, a, &list, &dim))
      continue;
    const Slot *slot = array_slot(p, a);
    free(p->lists.coordinates[a]);
    p->lists.coordinates[a] = malloc(slot->size + 1);
    s = p->lists.coordinates[a] ? slot_fetch(p, slot, p->lists.coordinates[a])
                                : no_memory(p, "the coordinates of points");
  }
  return s;
}

/* Computes field and array of list number `i`. */
static StcStatus fill_list(StcPlan *p, int i) {
  const PointList *l = &p->module->lists[i];
  const Slot *field = field_slot(p, l->field), *next = l->next < 0 ? NULL : array_slot(p, l->next);
  free(p->lists.index[i]);
  p->lists.index[i] = malloc(field->size + sizeof(int32_t));
  int32_t *after = next ? malloc(next->size + sizeof(int32_t)) : NULL;
  StcStatus s = !p->lists.index[i] || (next && !after) ? no_memory(p, "the places of points") : STC_OK;
  if (!s && !list_fill(p->module, l, p->scalars, p->lists.coordinates, p->lists.index[i], after, p->w.diags))
    s = STC_INPUT;
  if (!s)
    s = slot_put(p, field, p->lists.index[i]);
  if (!s && next)
    s = slot_put(p, next, after);
  free(after);
  return s;
}

/* Checks the list of a plan without memory of its own; its parts have memory (split/lists.c). */
static StcStatus check_list(StcPlan *p, const PointList *l) {
  for (int d = 0; d < p->module->grid.rank; d++)
    if (l->array[d] >= 0 && !p->lists.coordinates[l->array[d]])
      return context_error(p->w.context, "launch-time array %s, of coordinates, has no values on this rank",
                           p->module->param_arrays[l->array[d]].name),
             STC_INPUT;
  return list_check(p->module, l, p->scalars, p->lists.coordinates, p->w.diags) ? STC_OK : STC_INPUT;
}

StcStatus plan_fill_lists(StcPlan *p) {
  if (p->lists.lists_filled || !p->module->nlists)
    return STC_OK;
  if (p->facade) {
    StcStatus checked = STC_OK;
    for (int i = 0; i < p->module->nlists && !checked; i++)
      checked = check_list(p, &p->module->lists[i]);
    return checked;
  }
  StcStatus s = fetch_coordinates(p);
  for (int i = 0; i < p->module->nlists && !s; i++)
    s = fill_list(p, i);
  p->lists.lists_filled = !s;
  return s;
}

StcStatus plan_make_points(StcPlan *p) {
  p->lists.coordinates = calloc((size_t)p->module->nparam_arrays + 1, sizeof *p->lists.coordinates);
  p->lists.index = calloc((size_t)p->module->nlists + 1, sizeof *p->lists.index);
  p->lists.lists_filled = false;
  p->lists.unseen = 0;
  p->lists.sent_to = -1;
  return p->lists.coordinates && p->lists.index ? STC_OK : no_memory(p, "the lists of points");
}

void plan_free_points(StcPlan *p) {
  plan_free_sent(p);
  for (int a = 0; p->lists.coordinates && a < p->module->nparam_arrays; a++)
    free(p->lists.coordinates[a]);
  for (int i = 0; p->lists.index && i < p->module->nlists; i++)
    free(p->lists.index[i]);
  free(p->lists.coordinates);
  free(p->lists.index);
  p->lists.coordinates = NULL;
  p->lists.index = NULL;
}

/* The number of points over which the `n` points of list `l` are spread: the points of its box, where a coordinate that
 * is no array has a single value. `inner`: the number of consecutive points along dimension `dim` and later ones. */
static int64_t spread_over(const StcPlan *p, const PointList *l, int dim, int64_t shape[MAX_RANK], int64_t *inner) {
  int64_t cells = 1;
  field_shape(&p->module->fields[l->field], p->scalars, shape);
  *inner = 1;
  for (int d = 0; d < p->module->grid.rank; d++) {
    int64_t n = l->array[d] < 0 ? 1 : shape[d];
    cells *= n;
    *inner *= d > dim ? n : 1;
  }
  return cells;
}

bool plan_spread_points(const StcPlan *p, int array, void *data) {
  int list, dim;
  int64_t shape[MAX_RANK] = {1, 1, 1, 1}, inner;
  if (!is_coordinate(p->module, array, &list, &dim))
    return false;
  const PointList *l = &p->module->lists[list];
  const ParamArray *a = &p->module->param_arrays[array];
  int64_t n = param_array_extent(a, p->scalars), cells = spread_over(p, l, dim, shape, &inner),
          apart = n && cells / n ? cells / n : 1, lo = affine_eval(l->box.lo[dim], p->scalars, NULL);
  for (int64_t i = 0; i < n && cells; i++)
    const_store(a->type, (char *)data + i * type_size(a->type),
                (Const){.i = lo + i * apart % cells / inner % shape[dim]});
  return true;
}

/* Random coordinates for launch-time array `array`, which rise by 0.5 to 1.5 from point to point. */
static void random_coordinates(const StcPlan *p, int array, uint64_t seed, void *data) {
  const ParamArray *a = &p->module->param_arrays[array];
  int64_t n = param_array_extent(a, p->scalars);
  uint64_t bits = seed * 0x9e3779b97f4a7c15u + (uint64_t)array;
  double x = 0;
  for (int64_t i = 0; i < n; i++) {
    const_store(a->type, (char *)data + i * type_size(a->type), const_convert((Const){.f = x}, TY_F64, a->type));
    bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9u + 0x9e3779b97f4a7c15u;
    x += ldexp((double)(bits >> 44), -20) + ldexp(1, -1);
  }
}

bool plan_random_points(const StcPlan *p, int array, uint64_t seed, void *data) {
  int list, dim;
  int64_t shape[MAX_RANK] = {1, 1, 1, 1};
  if (coordinates_of(p->module, array) >= 0)
    return random_coordinates(p, array, seed, data), true;
  if (!is_coordinate(p->module, array, &list, &dim))
    return false;
  const PointList *l = &p->module->lists[list];
  const ParamArray *a = &p->module->param_arrays[array];
  int64_t n = param_array_extent(a, p->scalars), lo = affine_eval(l->box.lo[dim], p->scalars, NULL);
  field_shape(&p->module->fields[l->field], p->scalars, shape);
  uint64_t x = seed * 0x9e3779b97f4a7c15u + (uint64_t)array;
  for (int64_t i = 0; i < n && shape[dim]; i++) {
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u + 0x9e3779b97f4a7c15u;
    const_store(a->type, (char *)data + i * type_size(a->type),
                (Const){.i = lo + (int64_t)((x >> 33) % (uint64_t)shape[dim])});
  }
  return true;
}

/* ---------------------------------------------------------------- values of probes */

/* Calls the user's callback for one row (a function for probe_read). */
static void tell_row(void *user, const Probe *p, int64_t step, const void *values) {
  const StcPlan *plan = user;
  StcProbe row = {p->name, (StcType)p->type, step,
                  list_length(plan->module, probe_list(plan->module, p), plan->scalars), values};
  if (plan->observers.probes)
    plan->observers.probes(plan->observers.probes_user, &row);
}

void plan_take_row(void *user, const Probe *p, int64_t step, const void *values) {
  const StcPlan *plan = user;
  step += plan->lists.shift;
  if (step >= plan->lists.unseen)
    tell_row(user, p, step, values);
}

/* The series of probe number `i`. */
static Slot *series_of(const StcPlan *p, int i) { return array_slot(p, p->module->probes[i].result); }

/* Calls `fn` with the rows of probe number `i`, whose series is at `rows`, that became due after more than `from` and
 * at most `to` steps. */
static StcStatus hand_out(StcPlan *p, int i, const void *rows, int64_t from, int64_t to,
                          void (*fn)(void *user, const Probe *p, int64_t step, const void *values)) {
  const Probe *x = &p->module->probes[i];
  void *room = malloc(probe_room(p->module, x, p->scalars));
  if (!room)
    return no_memory(p, "what a probe sees");
  probe_read(p->module, x, p->scalars, p->lists.coordinates, x->list < 0 ? NULL : p->lists.index[x->list], rows, from,
             to, room, fn, p);
  free(room);
  return STC_OK;
}

StcStatus plan_fetch_rows(StcPlan *p, int i, int64_t from, int64_t to) {
  Slot *series = series_of(p, i);
  void *rows = malloc(series->size + 1);
  StcStatus s = rows ? slot_fetch(p, series, rows) : no_memory(p, "what a probe sees");
  if (!s)
    s = hand_out(p, i, rows, from, to, plan_take_row);
  free(rows);
  return s;
}

/* Passes on the rows that are being copied from the device, if there are any. */
static StcStatus hand_out_sent(StcPlan *p) {
  Device *d = &p->device;
  int64_t to = p->lists.sent_to;
  StcStatus s = STC_OK;
  p->lists.sent_to = -1;
  for (int i = 0; i < p->module->nprobes && to >= 0 && !s; i++) {
    const char *why;
    const void *rows = d->kind->stage_values(d, p->lists.sent[i], &why);
    s = rows ? hand_out(p, i, rows, p->lists.sent_from, to, tell_row)
             : (diag_error(p->w.diags, no_loc(), "copying what probe '%s' saw from the device: %s",
                           p->module->probes[i].name, why),
                STC_DEVICE);
  }
  return s;
}

/* Allocates stages for rows. False: the device has no memory for them, or copies only while nothing runs. */
static bool may_send(StcPlan *p) {
  Device *d = &p->device;
  if (p->lists.sent || p->lists.no_sending || !d->kind->stage_new)
    return p->lists.sent;
  p->lists.sent = calloc((size_t)p->module->nprobes, sizeof *p->lists.sent);
  bool ok = p->lists.sent;
  for (int i = 0; i < p->module->nprobes && ok; i++)
    ok = d->kind->stage_new(d, series_of(p, i)->size, &p->lists.sent[i]) == STC_OK && p->lists.sent[i];
  if (!ok)
    plan_free_sent(p);
  p->lists.no_sending = !ok;
  return ok;
}

/* Starts copying the series to the stages, in order with launches and without waiting; passes on the rows that were
 * copied before. */
static StcStatus send_rows(StcPlan *p) {
  Device *d = &p->device;
  StcStatus s = hand_out_sent(p);
  for (int i = 0; i < p->module->nprobes && !s; i++)
    s = d->kind->stage_fill(d, p->lists.sent[i], series_of(p, i)->memory);
  if (!s) {
    p->lists.sent_from = p->lists.unseen - 1;
    p->lists.sent_to = p->run.done;
    p->lists.unseen = p->run.done + 1;
  }
  return s;
}

void plan_free_sent(StcPlan *p) {
  for (int i = 0; p->lists.sent && i < p->module->nprobes; i++)
    if (p->lists.sent[i])
      p->device.kind->stage_free(&p->device, p->lists.sent[i]);
  free(p->lists.sent);
  p->lists.sent = NULL;
  p->lists.sent_to = -1;
}

StcStatus plan_drain(StcPlan *p) {
  bool any = p->module->nprobes && p->observers.probes;
  StcStatus s = any ? p->device.kind->wait(&p->device) : STC_OK;
  if (any && !s)
    s = hand_out_sent(p);
  for (int i = 0; i < p->module->nprobes && any && !s; i++)
    s = plan_fetch_rows(p, i, p->lists.unseen - 1, p->run.done);
  p->lists.sent_to = -1;
  p->lists.unseen = p->run.done + 1;
  return s;
}

StcStatus plan_make_room(StcPlan *p, int64_t steps) {
  if (probes_have_room(p->module, p->lists.unseen - 1, p->run.done + steps))
    return STC_OK;
  return p->observers.probes && may_send(p) ? send_rows(p) : plan_drain(p);
}

int64_t plan_room(const StcPlan *p, int64_t steps, int64_t most) {
  int64_t n = 1;
  while (n < most && probes_have_room(p->module, p->lists.unseen - 1, p->run.done + (n + 1) * steps))
    n += p->module->nprobes ? 1 : most - n;
  return n;
}

/* ---------------------------------------------------------------- the interface */

void stc_plan_probes(StcPlan *p, void (*fn)(void *user, const StcProbe *row), void *user) {
  p->observers.probes = fn;
  p->observers.probes_user = user;
}

int stc_program_probe_count(const StcProgram *p) { return p->module->nprobes; }

/* The probe number `probe`; NULL after reporting that there is none. */
static const Probe *find_probe(const StcPlan *p, int probe) {
  if (probe >= 0 && probe < p->module->nprobes)
    return &p->module->probes[probe];
  context_error(p->w.context, "there is no probe number %d", probe);
  return NULL;
}

StcStatus stc_plan_probe(StcPlan *p, int probe, StcProbeInfo *out) {
  const Probe *x = find_probe(p, probe);
  if (!x)
    return STC_USAGE;
  *out = (StcProbeInfo){x->name, (StcType)x->type, x->every,
                        list_length(p->module, probe_list(p->module, x), p->scalars), x->list >= 0};
  return STC_OK;
}

StcStatus stc_plan_probe_point(StcPlan *p, int probe, int64_t n, int64_t at[4]) {
  const Probe *x = find_probe(p, probe);
  const PointList *l = x ? probe_list(p->module, x) : NULL;
  if (!x)
    return STC_USAGE;
  if (n < 0 || n >= list_length(p->module, l, p->scalars))
    return context_error(p->w.context, "probe %s has no point number %lld", x->name, (long long)n), STC_USAGE;
  for (int d = 0; d < p->module->grid.rank; d++)
    at[d] = affine_eval(x->box.lo[d], p->scalars, NULL);
  StcStatus s = l ? plan_fill_lists(p) : STC_OK;
  if (l && !s)
    list_point(p->module, l, p->scalars, p->lists.coordinates, n, at);
  return s;
}
