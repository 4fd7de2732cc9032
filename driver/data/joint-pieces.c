/* driver/data/joint-pieces.c: pieces of an array that are compressed. The ranks share them evenly, in order, and each
 * receives from others those values of its pieces that it lacks: few bytes if the grid is cut along its slowest
 * dimension. */
#include "driver/data/joint.h"

#include <stdlib.h>
#include <string.h>

/* The exchange of one array. to: the end of this rank's pieces, which are bytes from .. to - 1 of the array, at `mine`.
 * packed: by part of this rank, its own values, contiguous. cut: by part and rank, the offset in these of the values
 * for that rank; messages: those to others, then those from others, which are received in `room`. */
typedef struct PieceMove {
  Joint *x;
  int array;
  int64_t unit;
  char *mine, **packed, *room;
  int64_t *cut;
  int nmessages;
  NetMessage *messages;
} PieceMove;

/* The first byte of rank `r`'s pieces. */
static int64_t first_byte(const PieceMove *m, int r) {
  const Pieces *p = &m->x->pieces[m->array];
  return p->begin[joint_first(m->x->job->net, p->n, r)];
}

/* The whole field as an array of points. */
static CellArray whole_points(const PieceMove *m) {
  const StcFieldInfo *f = m->x->parts[m->array].info;
  CellArray a = {0};
  for (int d = 0; d < f->rank; d++)
    a.lo[d] = f->first[d], a.hi[d] = f->first[d] + f->shape[d] - 1;
  return a;
}

/* The number of the plan's field for the writer's array. */
static int field_of(const PieceMove *m) { return m->x->w->sources[m->x->parts[m->array].source]->at.field; }

/* Finds the runs between a part's own points, packed, and the whole array; false if it has none. */
static bool own_runs(const PieceMove *m, const PartPlan *part, Runs *r) {
  const StcPlan *p = m->x->job->plan;
  CellArray own, all = whole_points(m);
  if (!part_own(p, part, field_of(m), &own))
    return false;
  *r = runs_of(p->split->rank, own.lo, own.hi, &own, &all);
  return true;
}

/* The search for the offsets in a part's own bytes where those for each rank begin (runs_each): cut[r] for rank r,
 * known for ranks below `next`. They are in the order of the array. */
typedef struct Cutting {
  const PieceMove *m;
  int64_t *cut, end;
  int next;
} Cutting;

static StcStatus cut_run(void *user, int64_t from, int64_t to, int64_t n) {
  Cutting *c = user;
  int64_t unit = c->m->unit, begin = to * unit;
  for (; c->next < c->m->x->job->net->size; c->next++) {
    int64_t at = first_byte(c->m, c->next);
    if (at >= begin + n * unit)
      break;
    c->cut[c->next] = from * unit + (at > begin ? at - begin : 0);
  }
  c->end = (from + n) * unit;
  return STC_OK;
}

/* Fills cut[0 .. number of ranks] for a part. */
static void find_cuts(const PieceMove *m, const PartPlan *part, int64_t *cut) {
  Runs r;
  Cutting c = {m, cut, 0, 0};
  if (own_runs(m, part, &r))
    runs_each(&r, cut_run, &c);
  for (; c.next <= m->x->job->net->size; c.next++)
    cut[c.next] = c.end;
}

/* Copies values into this rank's pieces (runs_each): `from` has a part's own bytes from number `first` on. */
typedef struct Placing {
  const PieceMove *m;
  const char *from;
  int64_t first, lo, hi;
} Placing;

static StcStatus place_run(void *user, int64_t from, int64_t to, int64_t n) {
  const Placing *p = user;
  int64_t unit = p->m->unit, begin = to * unit, end = begin + n * unit;
  int64_t lo = begin > p->lo ? begin : p->lo, hi = end < p->hi ? end : p->hi;
  if (lo < hi)
    memcpy(p->m->mine + (lo - p->lo), p->from + (from * unit + (lo - begin) - p->first), (size_t)(hi - lo));
  return STC_OK;
}

/* Copies the bytes of part number `i` for this rank, at `from`, to their offsets. */
static void place(const PieceMove *m, int i, const char *from) {
  const Net *net = m->x->job->net;
  const int64_t *cut = m->cut + (int64_t)i * (net->size + 1);
  Placing p = {m, from, cut[net->rank], first_byte(m, net->rank), first_byte(m, net->rank + 1)};
  Runs r;
  if (own_runs(m, &m->x->job->plan->split->part[i], &r))
    runs_each(&r, place_run, &p);
}

/* Packs the own values of part number `i` of this rank (malloc). */
static StcStatus pack(PieceMove *m, int i) {
  const StcPlan *p = m->x->job->plan;
  const PartPlan *part = &p->split->part[i];
  int64_t bytes = m->cut[(int64_t)(i + 1) * (m->x->job->net->size + 1) - 1];
  CellArray own;
  Stored v;
  StcStatus s = stored_get(m->x, part, m->array, &v);
  char *to = m->packed[i - p->split->begin] = s ? NULL : malloc((size_t)bytes + 1);
  if (!s && !to)
    s = computer_no_room(m->x->job->c->context, "a copy of", v.info.name, (double)bytes);
  if (!s && part_own(p, part, field_of(m), &own)) {
    int mine = stc_program_find_field(part->plan->program, p->program->declared[field_of(m)].name);
    CellArray all = part_array(part, part->plan->bound.homes[mine].field);
    Runs r = runs_of(p->split->rank, own.lo, own.hi, &all, &own);
    runs_each(&r, cells_copy, &(CellCopy){to, v.values, m->unit});
  }
  stored_free(&v);
  return s;
}

/* Lists the messages; those from others are received in `room`; if NULL, only returns how many bytes it needs. */
static int64_t list_messages(PieceMove *m, char *room) {
  const Split *split = m->x->job->plan->split;
  const Net *net = m->x->job->net;
  int64_t bytes = 0;
  m->nmessages = 0;
  for (int i = 0; i < split->nparts; i++)
    for (int r = 0; r < net->size; r++) {
      const int64_t *cut = m->cut + (int64_t)i * (net->size + 1);
      int64_t n = cut[r + 1] - cut[r];
      bool sends = split->part[i].rank == net->rank, gets = r == net->rank;
      if (!n || sends == gets)
        continue;
      if (room)
        m->messages[m->nmessages++] = sends ? (NetMessage){r, 0, true, m->packed[i - split->begin] + cut[r], (size_t)n}
                                            : (NetMessage){split->part[i].rank, 0, false, room + bytes, (size_t)n};
      bytes += gets ? n : 0;
    }
  return bytes;
}

/* Allocates memory for the exchange, and packs this rank's own values. */
static StcStatus prepare(PieceMove *m) {
  const Split *split = m->x->job->plan->split;
  const Net *net = m->x->job->net;
  size_t ranks = (size_t)net->size, parts = (size_t)split->nparts;
  int64_t bytes = first_byte(m, net->rank + 1) - first_byte(m, net->rank);
  m->cut = calloc(parts * (ranks + 1), sizeof *m->cut);
  m->packed = calloc((size_t)(split->end - split->begin) + 1, sizeof *m->packed);
  m->messages = calloc(parts * ranks + 1, sizeof *m->messages);
  m->mine = malloc((size_t)bytes + 1);
  for (int i = 0; i < split->nparts && m->cut; i++)
    find_cuts(m, &split->part[i], m->cut + (int64_t)i * (net->size + 1));
  m->room = m->cut ? malloc((size_t)list_messages(m, NULL) + 1) : NULL;
  if (!m->cut || !m->packed || !m->messages || !m->mine || !m->room)
    return computer_no_room(m->x->job->c->context, "a copy of", m->x->parts[m->array].name, (double)bytes);
  StcStatus s = STC_OK;
  for (int i = split->begin; i < split->end && !s; i++)
    s = pack(m, i);
  return s;
}

/* Exchanges values with other ranks, and copies all to their offsets. */
static void exchange(PieceMove *m) {
  const Split *split = m->x->job->plan->split;
  Net *net = m->x->job->net;
  list_messages(m, m->room);
  net->start(net, m->nmessages, m->messages);
  net->finish(net);
  const char *at = m->room;
  for (int i = 0; i < split->nparts; i++) {
    const int64_t *cut = m->cut + (int64_t)i * (net->size + 1) + net->rank;
    bool here = split->part[i].rank == net->rank;
    place(m, i, here ? m->packed[i - split->begin] + cut[0] : at);
    at += here ? 0 : cut[1] - cut[0];
  }
}

/* Frees all but the values that are to be compressed. */
static void move_free(PieceMove *m) {
  const Split *split = m->x->job->plan->split;
  for (int i = 0; m->packed && i < split->end - split->begin; i++)
    free(m->packed[i]);
  free(m->packed);
  free(m->cut);
  free(m->messages);
  free(m->room);
}

StcStatus joint_bring(Joint *x, int array, char **mine) {
  PieceMove m = {.x = x, .array = array, .unit = joint_unit(&x->parts[array])};
  StcStatus s = net_agree(x->job->net, prepare(&m), &(int){0});
  if (!s)
    exchange(&m);
  *mine = m.mine;
  move_free(&m);
  return s;
}

bool joint_press(Joint *x, int array, const char *mine) {
  const Net *net = x->job->net;
  Pieces *p = &x->pieces[array];
  int64_t first = joint_first(net, p->n, net->rank), n = joint_first(net, p->n, net->rank + 1) - first;
  p->mine = calloc((size_t)n + 1, sizeof *p->mine);
  if (!p->mine || !press_all(&p->how, x->threads, n, p->begin + first, mine, p->mine))
    return false;
  for (int64_t k = 0; k < n; k++)
    p->size[first + k] = p->mine[k].size;
  return true;
}

StcStatus joint_tell_sizes(Joint *x, int array, bool ok) {
  Net *net = x->job->net;
  Pieces *p = &x->pieces[array];
  StcStatus s = STC_OK;
  if (!ok)
    s = (context_error(x->job->c->context, "no memory on this computer to compress field %s", x->parts[array].name),
         STC_MEMORY);
  s = net_agree(net, s, &(int){0});
  for (int r = 0; r < net->size && !s; r++) {
    int64_t first = joint_first(net, p->n, r);
    net->broadcast(net, p->size + first, (size_t)(joint_first(net, p->n, r + 1) - first) * sizeof *p->size, r);
  }
  return s;
}
