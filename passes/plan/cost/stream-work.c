/* stream-work.c: the work of a launch of streamed tiles, counted before it is lowered: from its mapping, and the
 * arithmetic of the bodies. The model (model.c) gets it in the form of a finished kernel's work. */
#include "passes/launch/slices.h"
#include "passes/launch/launch.h"
#include "passes/base/tuning.h"
#include "passes/plan/cost/count.h"

#include <math.h>

/* How far instance `i` of a launch reads in the last dimension, by field. */
typedef struct Reads {
  const Launch *l;
  int64_t *lo, *hi;
} Reads;

/* Notes one access (a stencil_accesses callback). */
static void note_read(void *user, const Piece *piece, int field, const int64_t *off) {
  Reads *r = user;
  int64_t x = off[r->l->m->grid.rank - 1];
  (void)piece;
  r->lo[field] = x < r->lo[field] ? x : r->lo[field];
  r->hi[field] = x > r->hi[field] ? x : r->hi[field];
}

/* Words of a line that lanes exchange: for each instance the cells beside a lane's own that it reads. */
static double exchanged_words(const Launch *l) {
  double words = 0;
  for (int i = 0; i < l->n; i++) {
    Reads r = {l, ARENA_ARRAY(l->m->arena, int64_t, l->m->nfields + 1),
               ARENA_ARRAY(l->m->arena, int64_t, l->m->nfields + 1)};
    stencil_accesses(&l->st[i], note_read, &r);
    for (int f = 0; f < l->m->nfields; f++)
      words += (double)(r.hi[f] - r.lo[f]) * type_words(l->m->fields[f].type);
  }
  return words;
}

/* Words that a cell of a row of mapping `p` reads of lines of other warps. */
static double across_words(const Mapping *p) {
  double words = 0;
  for (int f = 0; f < p->l->m->nfields; f++)
    for (int v = 0; v <= launch_use(p->l, f)->versions; v++)
      if (p->kept[f][v].used && p->kept[f][v].across)
        words += (double)(p->kept[f][v].reach_lo + p->kept[f][v].reach_hi) * type_words(p->l->m->fields[f].type);
  return words;
}

/* The additional work of cells at an edge: the module, and the cells among which their accesses select. */
typedef struct Choices {
  const Module *m;
  double code;
} Choices;

/* Counts the cells among which an access selects, if its field's rule may lead elsewhere (a stencil_accesses
 * callback). */
static void note_choice(void *user, const Piece *piece, int field, const int64_t *off) {
  Choices *x = user;
  Rules rules = access_rules(x->m, &piece->box, field, off);
  for (int d = 0; d < x->m->grid.rank; d++) {
    int64_t lo = off[d], hi = off[d];
    outside_reach(rules.dim[d], off[d], &lo, &hi);
    x->code += type_words(x->m->fields[field].type) *
               (rules.dim[d] == OUTSIDE_CONST ? measured.edge_constant : measured.edge_choice * (double)(hi - lo));
  }
}

/* Instructions that select values of a point at an edge, of all instances. */
static double choice_work(const Launch *l) {
  Choices x = {.m = l->m};
  for (int i = 0; i < l->n; i++)
    stencil_accesses(&l->st[i], note_choice, &x);
  return x.code;
}

/* Elements of tables that a point of piece `p` reads and that differ from those of other points. */
static double own_elements_of(Arena *a, const Piece *p, int rank) {
  bool *varies = ARENA_ARRAY(a, bool, body_number(p->body) + 1);
  double n = 0;
  for (const Op *op = p->body->first; op; op = op->next) {
    bool any = op->code == OP_ACCESS || (op->code == OP_INDEX && op->sym < rank);
    for (int i = 0; i < op->noperands; i++)
      any = any || varies[op->operands[i]->id];
    for (int i = 0; i < op->nresults; i++)
      varies[op->results[i]->id] = any;
    n += op->code == OP_ELEMENT && varies[op->operands[0]->id];
  }
  return n;
}

/* The same of all instances of the launch. */
static double own_elements(const Launch *l) {
  double n = 0;
  for (int i = 0; i < l->n; i++)
    n += own_elements_of(l->m->arena, main_piece(l->m->arena, &l->st[i]), l->m->grid.rank);
  return n;
}

/* Roots and quotients of a point that are tested together, and whose operands wait for the test. */
static double ranged_ops(const TargetInfo *t, const Launch *l) {
  double n = 0;
  for (int i = 0; i < l->n && t->range_guards && !l->m->fast_math; i++)
    for (const Op *op = main_piece(l->m->arena, &l->st[i])->body->first; op; op = op->next)
      n += (op->code == OP_SQRT || op->code == OP_DIV) && !op_is_of_scalars(op);
  return n;
}

StreamWork *stream_work(const TargetInfo *t, const Mapping *p) {
  const Module *m = p->l->m;
  StreamWork *w = ARENA_NEW(m->arena, StreamWork);
  *w = (StreamWork){.p = p,
                    .windows = (double)stream_words(p),
                    .exchanged = exchanged_words(p->l),
                    .across = across_words(p),
                    .pieces = launch_edge_pieces(t, p->l),
                    .choices = choice_work(p->l),
                    .words = 1};
  for (int i = 0; i < p->l->n; i++)
    stencil_point_work(t, m, &p->l->st[i], &w->point);
  w->point.instructions += measured.element_code * own_elements(p->l);
  for (int f = 0; f < m->nfields; f++) {
    const FieldUse *use = launch_use(p->l, f);
    double bytes = type_size(m->fields[f].type), words = type_words(m->fields[f].type);
    w->addresses += 2 * (use->loaded + use->stored);
    w->words = use->stored && words > 1 ? 2 : w->words;
    w->beside += p->kept[f][0].direct ? words * use->own_loads : 0;
    w->loaded += words * use->loaded;
    w->stored += words * use->stored;
    w->loaded_bytes += bytes * use->loaded;
    w->stored_bytes += bytes * use->stored;
  }
  w->beside += measured.ranged_words * w->words * fmin(ranged_ops(t, p->l), measured.ranged_most);
  return w;
}

/* Cells of a thread in a row of `s`; lines of them. */
static double cells_of(const Schedule *s, int rank) {
  return (double)s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1);
}

RegisterNeed stream_register_need(const StreamWork *w, const Schedule *s) {
  int rank = w->p->l->m->grid.rank;
  double live = measured.stream_words[rank - 1] +
                cells_of(s, rank) * (w->windows + w->beside + w->words * measured.stream_cell_words[rank - 1]);
  return (RegisterNeed){.live = live, .early = live, .addresses = w->addresses, .rounds = true};
}

/* Steps of a streamed tile: its rows and the halo's, whole rounds of those that are written out. */
static double rows_of(const StreamWork *w, const Schedule *s) {
  int64_t u = w->p->unroll > 0 ? w->p->unroll : 1, rows = s->chunk + w->p->halo.lo[0] + w->p->last;
  return w->p->l->m->grid.rank == 1 ? 1 : (double)((rows + u - 1) / u * u);
}

/* Are tiles of planes counted as measured on grids of many rounds, or of equations that are not long (stream_load)? */
static bool counts_planes(const StreamWork *w, double points) {
  bool light = w->point.instructions <= tuning.light_equation * w->p->l->n;
  return w->p->l->m->grid.rank == GRID_RANK && (light || points >= tuning.many_rounds[GRID_RANK - 1]);
}

/* Points of a grid of extents `size`, of all its slices. */
static double points_of(int rank, const int64_t *size) {
  double points = slices_of_size(rank, size);
  for (int d = 0; d < rank; d++)
    points *= (double)size[d];
  return points;
}

double stream_moves_apart(const StreamWork *w, const Schedule *s, const int64_t *size) {
  const Launch *l = w->p->l;
  int rank = l->m->grid.rank;
  bool whole = size[rank - 1] % s->elems[rank - 1] == 0, padded = true, one = loaded_fields(l) == 1;
  for (int k = 0; k < l->nuses; k++)
    padded = padded && l->m->fields[l->uses[k].field].pitch;
  return whole || padded || !one || !counts_planes(w, points_of(rank, size)) ? 1 : s->elems[rank - 1];
}

/* What a thread of a block does. Rows that are copied ahead come in through shared memory. */
static KernelWork thread_work(const StreamWork *w, const Schedule *s, const int64_t *size) {
  int rank = w->p->l->m->grid.rank, r = rank - 1;
  double n = w->p->l->n, rows = rows_of(w, s), cells = cells_of(s, rank), lines = rank > 2 ? s->elems[1] : 1,
         rounds = rank > 1 ? rows / w->p->unroll : 1, exchanges = rows * lines * w->exchanged,
         read = rows + s->ahead - 1, apart = stream_moves_apart(w, s, size),
         in = s->ahead > 1 ? 2 * read * cells * w->loaded * apart : 0;
  KernelWork k = {.threads = schedule_threads(s),
                  .f64 = rows * cells * w->point.f64,
                  .chained = rows * w->point.chained,
                  .special = rows * cells * w->point.special,
                  .shared = exchanges + in + measured.stream_across * rows * s->elems[r] * w->across,
                  .exchanges = exchanges,
                  .global = cells * (read * w->loaded + rows * w->stored) * apart,
                  .waits = s->ahead > 1 ? 0 : rounds,
                  .copies = s->ahead > 1 ? rows / (s->ahead - 1) : 0,
                  .barriers = rank > 2 ? rows : 0,
                  .rounds = rounds};
  k.instructions = rows * (lines * (measured.stream_lane[r] * n + measured.stream_lane_moves[r]) +
                           cells * (w->point.instructions + measured.stream_cell[r] * n + measured.stream_moves[r]) +
                           measured.stream_row[r] * n + measured.stream_step[r]);
  return k;
}

/* On grids of many rounds, and of equations that are not long, tiles of planes that are fitted to the grid are counted
 * as the fewer that they are, and streamed tiles that begin or end at an edge as others, for their planes there are a
 * loop of their own and few. Of long ones on smaller grids, where the numbers were fitted to tiles counted as even,
 * neither is.
 */
LaunchLoad stream_load(const TargetInfo *t, const StreamWork *w, const Schedule *s, const int64_t *size) {
  int rank = w->p->l->m->grid.rank;
  RegisterNeed need = stream_register_need(w, s);
  double slices = slices_of_size(rank, size);
  LaunchLoad load = {.work = thread_work(w, s, size), .blocks = slices, .shared = tile_bytes(t, w->p, s)};
  double inner = 1, cells = rows_of(w, s) * cells_of(s, rank), n = w->p->l->n;
  load.work.points = 1;
  load.points = points_of(rank, size);
  bool many = counts_planes(w, load.points);
  for (int d = 0; d < rank; d++) {
    double width = fmax(1, (double)tile_dim(w->p, s, d).stored),
           blocks = many && d > 0 ? (double)tile_count(w->p, s, d, size[d]) : ceil((double)size[d] / width);
    load.blocks *= blocks;
    inner *= many && d == 0 ? 1 : fmax(0, 1 - 2 / blocks);
    load.work.points *= width;
  }
  double more = cells * (n * measured.stream_edge[rank - 1] + measured.stream_edge_moves[rank - 1]);
  load.at_edge = inner < 1 ? load.work.instructions + more : 0;
  double apart = load.points > tuning.parted_points ? w->choices : 0;
  load.edge_code = inner < 1 ? load.at_edge + cells * (w->pieces + apart) : 0;
  load.turned = module_turns(w->p->l->m);
  load.work.instructions += (1 - inner) * more;
  load.work.fetched = load.work.rounds > 1 ? model_fetched(&model_counted, load.work.instructions,
                                                           load.work.instructions / load.work.rounds)
                                           : 0;
  load.straight = rank == 1 ? load.work.instructions : 0;
  load.registers = model_registers(t, load.work.threads, &need, &load.spilled);
  load.memory_bytes = load.points * (w->loaded_bytes + w->stored_bytes);
  load.cache_bytes = load.points * w->stored_bytes + load.blocks * (double)load.work.threads * cells * w->loaded_bytes;
  return load;
}
