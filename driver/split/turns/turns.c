/* turns.c: rounds of parts that take turns on a device. Parts are cut along one dimension, and take their turns in the
 * order of their places. So a part finds the cells that it shares with the part before on the device, with their values
 * from before that part's launches, or from after them (skew.c); only the other cells are copied from the host. What is
 * copied back overwrites nothing that a later part of the round needs. The cells that the last parts read around a ring
 * are saved before. */
#include "driver/split/turns/turns.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- fields */

/* The field's points in the whole grid. */
static CellArray whole_points(const StcPlan *p, const TurnField *f) {
  CellArray a = {0};
  const Box *box = &p->module->fields[f->whole].box;
  for (int d = 0; d < box->rank; d++) {
    a.lo[d] = affine_eval(box->lo[d], p->scalars, NULL);
    a.hi[d] = affine_eval(box->hi[d], p->scalars, NULL);
  }
  return a;
}

/* The number of rows of a ring that the parts read beyond its upper edge: the most that any part has there, at most
 * all. */
static int64_t rows_around(const StcPlan *p, const TurnField *f) {
  const Split *s = p->split;
  int d = s->turns->dimension;
  CellArray all = whole_points(p, f);
  int64_t rows = 0, most = all.hi[d] - all.lo[d] + 1;
  for (int i = s->begin; i < s->end; i++) {
    CellArray mine = part_array(&s->part[i], f->mine);
    rows = mine.hi[d] - all.hi[d] > rows ? mine.hi[d] - all.hi[d] : rows;
  }
  return rows < most ? rows : most;
}

/* The bytes of `rows` rows of the field in the whole grid. */
static size_t row_bytes(const StcPlan *p, const TurnField *f, int64_t rows) {
  CellArray all = whole_points(p, f);
  int64_t n = f->bytes;
  for (int d = 0; d < p->split->rank; d++)
    n *= d == p->split->turns->dimension ? rows : all.hi[d] - all.lo[d] + 1;
  return (size_t)n;
}

/* host_memory: allocates `bytes` bytes of host memory for copies to and from the device. host_memory_end: frees it. */
static char *host_memory(StcPlan *p, size_t bytes) {
  const DeviceKind *kind = p->device.kind;
  return p->split->turns->beside ? kind->pinned_new(&p->device, bytes) : malloc(bytes + 1);
}
static void host_memory_end(StcPlan *p, char *memory) {
  if (p->split->turns->beside && memory)
    p->device.kind->pinned_free(&p->device, memory);
  else
    free(memory);
}

/* Lists field number `mine` of the parts' module, if it lives from turn to turn. */
static StcStatus add_field(StcPlan *p, int mine) {
  struct Turns *t = p->split->turns;
  const StcPlan *q = p->split->part[p->split->begin].plan;
  const Field *f = &q->module->fields[mine];
  TurnField x = {.mine = mine, .whole = module_find_field(p->module, f->name), .bytes = type_bytes(q->module, f->type)};
  if (f->temp || q->memory.of_field[mine] < 0)
    return STC_OK;
  if (x.whole < 0 || p->module->fields[x.whole].temp || p->memory.of_field[x.whole] < 0)
    return diag_error(p->w.diags, no_loc(), "field %s lasts in the parts of the grid alone: they cannot take turns",
                      declared_name(q->module, mine)),
           STC_USAGE;
  x.changed = f->exchange == EXCHANGE_STEPS;
  x.lacks = field_lacks(&p->module->fields[x.whole], t->dimension);
  x.rows = f->ring && !x.lacks && !t->skew ? rows_around(p, &x) : 0;
  if (x.rows > 0 && !(x.around = host_memory(p, row_bytes(p, &x, x.rows))))
    return computer_no_room(p->w.context, "a copy of", declared_name(q->module, mine),
                            (double)row_bytes(p, &x, x.rows));
  ARENA_PUSH(p->w.arena, t->fields, t->nfields, x);
  return STC_OK;
}

StcStatus turns_open(StcPlan *p) {
  Split *s = p->split;
  const Module *m = s->part[s->begin].module;
  StcStatus st = STC_OK;
  for (int f = 0; f < m->nfields && !st; f++)
    st = add_field(p, f);
  return st ? st : turns_open_memory(p);
}

void turns_close(StcPlan *p) {
  struct Turns *t = p->split->turns;
  if (!t)
    return;
  for (int k = 0; k < t->nfields; k++)
    host_memory_end(p, t->fields[k].around);
  t->nfields = 0;
  turns_close_memory(p);
}

/* ---------------------------------------------------------------- copies */

/* The device whose lanes make the copies for all parts. */
static Device *carrier(const StcPlan *p) { return &p->split->part[p->split->begin].plan->device; }

/* Copies run by run, in lane `lane`, or (not `beside`) at once: in, or out. place: the position of the whole grid's
 * cells in the plan's file; -1: they are not in it. ahead: the copy is made later; now only the file may be read in
 * advance. */
typedef struct Carrying {
  const StcPlan *p;
  Device *device;
  int lane;
  bool out, ahead;
  char *to;
  const char *from;
  int64_t size, place;
} Carrying;

static StcStatus carry_run(void *user, int64_t from, int64_t to, int64_t n) {
  const Carrying *x = user;
  const DeviceKind *kind = x->device->kind;
  const DiskFile *disk = x->p->memory.disk;
  Workspace *w = (Workspace *)&x->p->w;
  size_t bytes = (size_t)(n * x->size), place = (size_t)(x->place + (x->out ? to : from) * x->size);
  if (x->ahead) {
    if (x->place >= 0)
      disk_foresee(disk, place, bytes);
    return STC_OK;
  }
  char *there = x->to + to * x->size;
  const char *here = x->from + from * x->size;
  if (x->place >= 0)
    return x->out ? disk_write(w, disk, place, here, bytes) : disk_read(w, disk, place, there, bytes);
  if (x->p->split->turns->beside)
    return kind->carry(x->device, x->lane, there, here, bytes, x->out);
  return x->out ? kind->fetch(x->device, there, here, bytes) : kind->put(x->device, there, here, bytes);
}

/* The position of the whole grid's field in the plan's file; -1: it is not in it. */
static int64_t place_of(const StcPlan *p, const TurnField *f) {
  const Slot *slot = field_slot(p, f->whole);
  return slot->mapped ? (int64_t)slot->place : -1;
}

/* A copy in: of field `f` to part `i`; ahead: later (Carrying). */
typedef struct Bringing {
  int i;
  const TurnField *f;
  bool ahead;
} Bringing;

/* Copies in rows [lo .. hi] of the field, which in the whole grid are lower by `shift`, from `source`, which has the
 * points of `all`. */
static StcStatus bring_rows(const StcPlan *p, const Bringing *b, int64_t lo, int64_t hi, int64_t shift, CellArray all,
                            const char *source) {
  const TurnField *f = b->f;
  const Split *s = p->split;
  const PartPlan *part = &s->part[b->i];
  CellArray mine = part_array(part, f->mine), box = mine;
  int d = s->turns->dimension;
  if (lo > hi)
    return STC_OK;
  box.lo[d] = lo;
  box.hi[d] = hi;
  all.shift[d] = shift;
  Runs r = runs_of(s->rank, box.lo, box.hi, &all, &mine);
  Carrying c = {p,      carrier(p), LANE_IN,
                false,  b->ahead,   field_slot(part->plan, f->mine)->memory,
                source, f->bytes,   source == f->around ? -1 : place_of(p, f)};
  return runs_each(&r, carry_run, &c);
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

/* Copies in rows [lo .. hi] of the field, all of which lie beyond one edge of a ring with the points of `all`: from
 * `source`, which has the points of `there`, as many times around as needed. */
static StcStatus bring_around(const StcPlan *p, const Bringing *b, int64_t lo, int64_t hi, const CellArray *all,
                              const CellArray *there, const char *source) {
  const int d = p->split->turns->dimension;
  const int64_t first = all->lo[d], last = all->hi[d], rows = last - first + 1;
  StcStatus st = STC_OK;
  for (int64_t at = lo; at <= hi && !st;) {
    int64_t times = at > last ? (at - first) / rows : -((last - at) / rows), end = lesser(hi, last + times * rows);
    st = bring_rows(p, b, at, end, times * rows, *there, source);
    at = end + 1;
  }
  return st;
}

/* Copies in those cells of the field that the part has and the part before has not: from their place in the whole grid;
 * beyond the edges of a ring from around it, with the values from before the round. */
static StcStatus bring_field(const StcPlan *p, const Bringing *b) {
  const Split *s = p->split;
  const TurnField *f = b->f;
  int i = b->i;
  int d = s->turns->dimension;
  CellArray mine = part_array(&s->part[i], f->mine), all = whole_points(p, f), edge = all;
  const char *values = field_slot(p, f->whole)->memory;
  int64_t from = mine.lo[d];
  bool any = part_cells(&s->part[i], f->mine, mine.lo, mine.hi);
  if (!any)
    return STC_OK;
  if (f->lacks)
    return bring_rows(p, b, mine.lo[d], mine.hi[d], 0, all, values);
  if (i > s->begin)
    from = greater(from, part_array(&s->part[i - 1], f->mine).hi[d] + 1);
  StcStatus st = bring_around(p, b, from, lesser(mine.hi[d], all.lo[d] - 1), &all, &all, values);
  if (!st)
    st = bring_rows(p, b, greater(from, all.lo[d]), lesser(mine.hi[d], all.hi[d]), 0, all, values);
  edge.hi[d] = all.lo[d] + f->rows - 1;
  if (st || (s->turns->skew && f->changed)) /* the last part finds the cells beyond the edge on the device */
    return st;
  bool own = s->turns->skew;
  return bring_around(p, b, greater(from, all.hi[d] + 1), mine.hi[d], &all, own ? &all : &edge,
                      own ? values : f->around);
}

StcStatus turns_move(const StcPlan *p, int i, const Runs *r, int64_t size, const char *from, char *to) {
  StcPlan *q = p->split->part[i].plan;
  if (!p->split->turns->beside) {
    CellCopy c = {to, from, size};
    return runs_each(r, cells_copy, &c);
  }
  Sending x = sending_of(r, size, from, to);
  return q->device.kind->send(&q->device, LANE_MAIN, &q->device, &x);
}

/* Copies the cells of the field that parts `i` and `i` + 1 share from the one to the other, on the device and in order
 * with launches. */
static StcStatus hand_field(const StcPlan *p, int i, const TurnField *f) {
  const Split *s = p->split;
  StcPlan *q = s->part[i].plan;
  int d = s->turns->dimension;
  CellArray one = part_array(&s->part[i], f->mine), two = part_array(&s->part[i + 1], f->mine), both = two;
  const char *from = field_slot(q, f->mine)->memory;
  char *to = field_slot(s->part[i + 1].plan, f->mine)->memory;
  both.lo[d] = greater(one.lo[d], two.lo[d]);
  both.hi[d] = lesser(one.hi[d], two.hi[d]);
  for (int k = 0; k < s->rank; k++)
    if (both.lo[k] > both.hi[k] || f->lacks)
      return STC_OK;
  Runs r = runs_of(s->rank, both.lo, both.hi, &one, &two);
  return turns_move(p, i, &r, f->bytes, from, to);
}

/* Copies rows [lo .. hi] of the field, which in the whole grid are lower by `shift`, from part `i` back to the whole
 * grid, as far as both have them. */
static StcStatus return_rows(const StcPlan *p, int i, const TurnField *f, int64_t lo, int64_t hi, int64_t shift) {
  const Split *s = p->split;
  CellArray mine = part_array(&s->part[i], f->mine), all = whole_points(p, f), own = mine;
  all.shift[s->turns->dimension] = shift;
  for (int d = 0; d < s->rank; d++) {
    bool cut = d == s->turns->dimension && !f->lacks;
    own.lo[d] = greater(mine.lo[d], cut ? greater(all.lo[d] + shift, lo) : all.lo[d]);
    own.hi[d] = lesser(mine.hi[d], cut ? lesser(all.hi[d] + shift, hi) : all.hi[d]);
    if (own.lo[d] > own.hi[d])
      return STC_OK;
  }
  Runs r = runs_of(s->rank, own.lo, own.hi, &mine, &all);
  Carrying c = {p,
                carrier(p),
                LANE_OUT,
                true,
                false,
                field_slot(p, f->whole)->memory,
                field_slot(s->part[i].plan, f->mine)->memory,
                f->bytes,
                place_of(p, f)};
  return runs_each(&r, carry_run, &c);
}

/* Copies those cells of the field whose final values part `i` has after `launches` launches back to the whole grid. */
static StcStatus return_field(const StcPlan *p, int i, const TurnField *f, int64_t launches) {
  const Split *s = p->split;
  int d = s->turns->dimension;
  int64_t lo = s->part[i].lo[d], hi = s->part[i].hi[d];
  if (!s->turns->skew)
    return return_rows(p, i, f, lo, hi, 0);
  skew_owned(p, i, launches, &lo, &hi);
  StcStatus st = return_rows(p, i, f, lo, hi, 0);
  return st || hi <= s->hi[d] ? st : return_rows(p, i, f, s->hi[d] + 1, hi, s->hi[d] - s->lo[d] + 1);
}

/* ---------------------------------------------------------------- turns */

/* Lets later work in lane `lane` of `to` wait for all work so far in lane `of` of `from`. */
static StcStatus follow(const StcPlan *p, Device *to, int lane, Device *from, int of) {
  const DeviceKind *kind = to->kind;
  StcStatus s = p->split->turns->beside ? kind->mark(from, of) : STC_OK;
  return s || !p->split->turns->beside ? s : kind->follow(to, lane, from, of);
}

/* Starts the copies in of part `i`, into blocks that earlier launches and copies out have used. */
static StcStatus come_in(StcPlan *p, int i) {
  const Split *s = p->split;
  const struct Turns *t = s->turns;
  Device *before = &s->part[i > s->begin ? i - 1 : i].plan->device;
  StcStatus st = follow(p, carrier(p), LANE_IN, before, LANE_MAIN);
  if (!st)
    st = follow(p, carrier(p), LANE_IN, carrier(p), LANE_OUT);
  if (!st)
    st = turns_take(p, i, true);
  for (int k = 0; k < t->nfields && !st; k++)
    st = bring_field(p, &(Bringing){i, &t->fields[k], false});
  if (!st)
    ghosts_came_in(p, i);
  return st;
}

/* Lets the file, if there is one, be read in advance for the copies in of part `i`. */
static void foresee(const StcPlan *p, int i) {
  for (int k = 0; k < p->split->turns->nfields && p->memory.disk; k++)
    bring_field(p, &(Bringing){i, &p->split->turns->fields[k], true});
}

/* Starts the copies out of what part `i` owns, after its launches, which made `steps` steps. */
static StcStatus go_out(StcPlan *p, int i, int64_t steps) {
  const Split *s = p->split;
  const struct Turns *t = s->turns;
  StcPlan *q = s->part[i].plan;
  int64_t launches = t->skew ? skew_launches(q, steps) : 0;
  StcStatus st = follow(p, carrier(p), LANE_OUT, &q->device, LANE_MAIN);
  if (!st && !t->beside)
    st = q->device.kind->wait(&q->device);
  for (int k = 0; k < t->nfields && !st; k++)
    st = t->fields[k].changed ? return_field(p, i, &t->fields[k], launches) : STC_OK;
  return st;
}

/* Makes the launches of part `i`. A stop request does not interrupt them: parts that have had their turn are some steps
 * ahead of the others, and the grid is consistent again only at the end of the round. */
static StcStatus launch(StcPlan *p, int i, int64_t steps) {
  static Stop never;
  StcPlan *q = p->split->part[i].plan;
  q->run.stop = &never;
  int64_t launches = q->run.launches;
  StcStatus s = turns_take(p, i, false);
  q->run.first = q->run.done = p->run.done;
  q->run.evaluated = true;
  if (q->ghosts) {
    q->ghosts->age = 0;
    q->ghosts->exchanged = split_level(p);
  }
  if (!s)
    s = p->split->turns->skew ? skew_run(p, i, steps) : windows_run(p, i, steps, 0, false);
  p->run.launches += q->run.launches - launches;
  turns_give_back(p, i, false);
  if (s && s != STC_INTERRUPTED)
    split_name_part(p, i);
  return s;
}

/* The turn of part `i`, whose copies in have begun: beside its launches it starts the copies in of the next part, and
 * those out of the part before. A lane waits only for work that was issued before, so the order of the calls is that of
 * the waits. late: copies in overwrite the memory of copies out. */
static StcStatus take_turn(StcPlan *p, int i, int64_t steps, bool late) {
  const Split *s = p->split;
  const struct Turns *t = s->turns;
  Device *own = &s->part[i].plan->device;
  StcStatus st = follow(p, own, LANE_MAIN, carrier(p), LANE_IN);
  if (!st)
    st = follow(p, own, LANE_MAIN, carrier(p), LANE_OUT);
  if (!st && i > s->begin)
    st = follow(p, own, LANE_MAIN, &s->part[i - 1].plan->device, LANE_MAIN);
  if (!st && i + 1 < s->end && !late)
    st = come_in(p, i + 1);
  if (!st && i > s->begin)
    st = go_out(p, i - 1, steps);
  if (!st && i + 1 < s->end && late)
    st = come_in(p, i + 1);
  for (int k = 0; k < t->nfields && !st && i + 1 < s->end && !t->skew; k++)
    st = hand_field(p, i, &t->fields[k]);
  if (!st && t->skew && i == s->end - 1)
    st = skew_take_back(p);
  if (!st && i + 2 < s->end)
    foresee(p, i + 2);
  if (!st)
    st = launch(p, i, steps);
  if (!st && t->skew && i == s->begin)
    st = skew_put_aside(p);
  if (i > s->begin)
    turns_give_back(p, i - 1, true);
  return st;
}

/* Saves the cells that the last parts read around rings. */
static void put_aside(StcPlan *p) {
  const Split *s = p->split;
  for (int k = 0; k < s->turns->nfields; k++) {
    const TurnField *f = &s->turns->fields[k];
    CellArray all = whole_points(p, f), edge = all;
    if (!f->around)
      continue;
    edge.hi[s->turns->dimension] = all.lo[s->turns->dimension] + f->rows - 1;
    Runs r = runs_of(s->rank, edge.lo, edge.hi, &all, &edge);
    CellCopy c = {f->around, field_slot(p, f->whole)->memory, f->bytes};
    runs_each(&r, cells_copy, &c);
  }
}

/* Waits for all devices and lanes, also after an error, so that no copy continues into memory that is freed or reused.
 */
static StcStatus settle(StcPlan *p, StcStatus s) {
  const DeviceKind *kind = p->device.kind;
  StcStatus w = STC_OK;
  for (int lane = LANE_IN; lane <= LANE_OUT && !w && p->split->turns->beside; lane++) {
    w = kind->mark(carrier(p), lane);
    if (!w)
      w = kind->await(carrier(p), lane);
  }
  for (int i = p->split->begin; i < p->split->end && !w; i++)
    w = kind->wait(&p->split->part[i].plan->device);
  if (!w && p->memory.disk)
    w = disk_check(&p->w, p->memory.disk);
  return s ? s : w;
}

/* A round: a turn of `steps` steps for each part. */
static StcStatus make_round(StcPlan *p, int64_t steps) {
  Split *s = p->split;
  const Skew *skew = s->turns->skew;
  bool late = skew && !skew->wide && skew_is_wide(s->part[s->begin].plan, steps);
  StcStatus st = p->device.kind->wait(&p->device);
  for (int k = 0; k < s->turns->nfields && !st; k++)
    st = s->turns->fields[k].changed ? plan_before_write(p, field_slot(p, s->turns->fields[k].whole)) : STC_OK;
  if (!st)
    put_aside(p);
  if (!st)
    st = come_in(p, s->begin);
  for (int i = s->begin; i < s->end && !st; i++)
    st = take_turn(p, i, steps, late);
  if (!st)
    st = go_out(p, s->end - 1, steps);
  turns_give_back(p, s->end - 1, true);
  st = settle(p, st);
  for (int i = s->begin; i < s->end && st; i++)
    turns_give_back(p, i, true);
  s->ran = steps;
  p->run.done += st ? 0 : steps;
  return st;
}

/* The steps of the next round, of `left` that remain: rounds have about equal numbers, because each copies everything.
 */
static int64_t round_steps(const StcPlan *p, int64_t left) {
  const Split *s = p->split;
  const StcPlan *q = s->part[s->begin].plan;
  int64_t rounds = (left + s->every - 1) / s->every, n = (left + rounds - 1) / rounds,
          whole = q->build && q->build->code.module->host.nseqs ? q->build->code.module->host.seqs[0].steps : 1;
  n = lesser(n < left && whole > 0 ? (n + whole - 1) / whole * whole : n, lesser(left, s->every));
  return s->turns->skew ? skew_steps(q, n, s->turns->skew->launches) : n;
}

StcStatus turns_advance(StcPlan *p, int64_t steps) {
  StcStatus s = STC_OK;
  for (int64_t left = steps, n; left > 0 && !s; left -= n) {
    if (stop_asked(p->run.stop))
      break;
    n = round_steps(p, left);
    s = make_round(p, n);
    p->run.torn |= s != STC_OK;
  }
  return s;
}

/* Rounds that failed have been waited for already. */
static StcStatus wait_for_rounds(StcPlan *p, StcStatus s) { return s ? s : settle(p, s); }

/* There is nothing to exchange: parts get the cells that others have copied out. */
static StcStatus no_exchange(StcPlan *p) {
  p->split->age = 0;
  return STC_OK;
}

const Transport transport_turns = {.name = "turns", .exchange = no_exchange, .wait = wait_for_rounds};
