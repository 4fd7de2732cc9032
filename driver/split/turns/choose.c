/* choose.c: chooses how many parts take turns on a device, and how many steps a turn has. With more steps, each copy in
 * and out serves more launches, but there are more ghost cells, which need memory and are computed twice. With more
 * parts, each needs less memory, but there are more ghost cells. Of all pairs that fit the memory, it takes the one
 * with the most steps in a given time: the longer of the times of copies and launches, since they run at the same time.
 */
#include "driver/split/turns/turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The fewest and the most bytes that are copied each way to measure a link; GB/s that no link exceeds. */
enum { FEWEST_TRIED = 1 << 20, MOST_TRIED = 1 << 26, FASTEST_LINK = 1000 };
/* The most launches in a turn, and the most parts. */
enum { MOST_LAUNCHES = 128, MOST_TURNS = 1024 };
/* GB/s of copies, and of memory, if they are not known for a device. */
enum { SLOW_LINK = 1, SLOW_MEMORY = 4 };
/* SKEW_SPARE: bytes of a circle that are not rows (skew.c). CARD_STEP: circles are multiples of this on a card that is
 * only estimated. */
enum { SKEW_SPARE = 1024, CARD_STEP = 1 << 21 };

/* The data for the choice of a cut: its params, and how far steps read along the dimension. row: seconds of a step of a
 * row. launch: further seconds of a launch; steps: its steps. ring: is a field periodic? trimmed: launches compute no
 * more points than later ones need. in, out: bytes of all copies of a round. skewed: the most steps of a launch of
 * skewed parts. bound: data of the last cut that was considered. */
typedef struct Choosing {
  StcPlan *p;
  int n;
  const char *const *defines;
  int64_t extent, steps, lo, hi;
  bool ring, trimmed;
  double row, launch, in, out, link;
  int64_t skewed;
  struct Bound *bound;
} Choosing;

/* The scalars of the parts of a cut, by part; NULL: not computed yet. */
typedef struct Bound {
  int64_t parts, steps;
  const Const *of[MOST_TURNS];
} Bound;

/* The params, c->n + 3 of them, for part `i` of `parts` with `steps` steps in a turn. */
static const char *const *defines_of(const Choosing *c, int64_t parts, int64_t steps, int64_t i) {
  StcPlan *p = c->p;
  Arena *a = p->w.arena;
  int d = p->split->turns->dimension;
  int64_t lo, hi;
  const char **all = ARENA_ARRAY(a, const char *, c->n + 4);
  for (int k = 0; k < c->n; k++)
    all[k] = c->defines[k];
  split_part_range(p->split, d, parts, i, &lo, &hi);
  all[c->n] = arena_printf(a, "part.lo.%d=%lld", d, (long long)lo);
  all[c->n + 1] = arena_printf(a, "part.hi.%d=%lld", d, (long long)hi);
  all[c->n + 2] = arena_printf(a, "part.steps=%lld", (long long)steps);
  return all;
}

/* The values of the scalars of the parts' module under these params. They are cached, because each field, and the
 * search for the largest part, needs those of the same cut. */
static const Const *scalars_of(const Choosing *c, int64_t parts, int64_t steps, int64_t i) {
  StcPlan *p = c->p;
  Bound *known = c->bound;
  if (known->parts != parts || known->steps != steps)
    *known = (Bound){parts, steps, {NULL}};
  if (i < MOST_TURNS && known->of[i])
    return known->of[i];
  const Const *scalars = program_bind(p->split->program, p->split->part[p->split->begin].plan->module, p->w.arena,
                                      p->w.diags, c->n + 3, defines_of(c, parts, steps, i));
  if (i < MOST_TURNS)
    known->of[i] = scalars;
  return scalars;
}

/* Is it a field that lives from turn to turn? */
static bool lasts(const StcPlan *p, const Module *m, int field) {
  int whole = m->fields[field].temp ? -1 : module_find_field(p->module, m->fields[field].name);
  return whole >= 0 && !p->module->fields[whole].temp;
}

/* The part that contains the middle of the field's points. */
static int64_t middle_part(const Choosing *c, int field, int64_t parts) {
  const StcPlan *p = c->p;
  const Split *s = p->split;
  int d = s->turns->dimension;
  int64_t middle = s->lo[d] + (s->hi[d] - s->lo[d]) / 2;
  const Module *m = s->part[s->begin].plan->module;
  int whole = m->fields[field].temp ? -1 : module_find_field(p->module, m->fields[field].name);
  if (whole >= 0 && !field_lacks(&p->module->fields[whole], d)) {
    const Box *box = &p->module->fields[whole].box;
    middle = (affine_eval(box->lo[d], p->scalars, NULL) + affine_eval(box->hi[d], p->scalars, NULL)) / 2;
  }
  int64_t part = (middle - s->lo[d]) * parts / c->extent;
  return part < 0 ? 0 : part >= parts ? parts - 1 : part;
}

/* The bytes of field `f` in part `i`. Infinite after an error. */
static double bytes_in(const Choosing *c, int f, int64_t parts, int64_t steps, int64_t i) {
  const Module *m = c->p->split->part[c->p->split->begin].plan->module;
  const Const *scalars = scalars_of(c, parts, steps, i);
  int64_t shape[MAX_RANK];
  double bytes = (double)type_bytes(m, m->fields[f].type);
  if (!scalars)
    return INFINITY;
  field_layout(&m->fields[f], scalars, shape);
  for (int d = 0; d < m->fields[f].box.rank; d++)
    bytes *= shape[d] > 0 ? (double)shape[d] : 1;
  return bytes;
}

/* The most bytes of field `f` in any part from part `i` to part `last`, which may be less than i; all have equal
 * numbers of points. An edge of the field cuts ghost cells off, more of them the nearer a part is. So along the parts
 * the bytes grow, then stay, then shrink. */
static double climb(const Choosing *c, int f, int64_t parts, int64_t steps, int64_t i, int64_t last) {
  int64_t by = last < i ? -1 : 1, grown = 0, beyond = (last - i) * by + 1;
  while (beyond - grown > 1) {
    int64_t middle = grown ? grown + (beyond - grown) / 2 : 1;
    if (bytes_in(c, f, parts, steps, i + by * middle) > bytes_in(c, f, parts, steps, i + by * (middle - 1)))
      grown = middle;
    else
      beyond = middle;
  }
  return bytes_in(c, f, parts, steps, i + by * grown);
}

/* The bytes of field `f` in the largest part. It searches both the parts with one point more and the others, starting
 * in the middle, where usually no edge cuts ghost cells off. Infinite after an error. */
static double most_bytes(const Choosing *c, int f, int64_t parts, int64_t steps) {
  int64_t middle = middle_part(c, f, parts), more = c->extent % parts;
  double most = 0;
  for (int k = 0; k < 2; k++) {
    int64_t first = k ? more : 0, last = k ? parts - 1 : more - 1,
            at = middle < first  ? first
                 : middle > last ? last
                                 : middle;
    if (first > last)
      continue;
    most = fmax(most, climb(c, f, parts, steps, at, first));
    most = fmax(most, climb(c, f, parts, steps, at, last));
  }
  return most;
}

/* Have plans of parts buffers of kernels, or would they on the card? */
static bool has_kernels(const Choosing *c) {
  const StcPlan *q = c->p->split->part[c->p->split->begin].plan;
  return q->build && (!q->device.kind->whole || c->p->split->turns->card);
}

/* The bytes that blocks have room for before the memory of a slot. */
static size_t most_lead(const Choosing *c) {
  const StcPlan *q = c->p->split->part[c->p->split->begin].plan;
  const Module *k = has_kernels(c) && q->device.kind->stage_new ? q->build->code.module : NULL;
  size_t lead = 0;
  for (int b = 0; k && b < k->nbuffers; b++)
    lead = (size_t)k->buffers[b].lead > lead ? (size_t)k->buffers[b].lead : lead;
  return lead;
}

/* The bytes of launch-time arrays and of scratch memory. */
static double array_bytes(const Choosing *c, const Const *scalars) {
  const StcPlan *q = c->p->split->part[c->p->split->begin].plan;
  const Module *m = q->module, *k = has_kernels(c) ? q->build->code.module : NULL;
  double sum = 0;
  for (int b = 0; k && b < k->nbuffers; b++)
    if (k->buffers[b].kind == BUFFER_SCRATCH)
      sum += turns_block((double)k->buffers[b].cells * (double)type_size(k->buffers[b].type) *
                             (double)(k->buffers[b].each ? grid_members(k, scalars) : 1),
                         most_lead(c));
  for (int i = 0; i < m->nparam_arrays; i++)
    sum += turns_block(
        (double)param_array_extent(&m->param_arrays[i], scalars) * (double)type_size(m->param_arrays[i].type) + 1, 0);
  return sum;
}

/* The bytes that everything needs on the device: of a field that lives from turn to turn, the cells of the part that
 * works, of the next one that is copied in and, if steps change the field, of the one before that is copied out; of
 * other fields those of one part. Infinite after an error. */
static double bytes_of(const Choosing *c, int64_t parts, int64_t steps) {
  const StcPlan *p = c->p, *q = p->split->part[p->split->begin].plan;
  const Module *m = q->module, *k = has_kernels(c) ? q->build->code.module : NULL;
  const Const *scalars = scalars_of(c, parts, steps, 0);
  if (!scalars)
    return INFINITY;
  double sum = array_bytes(c, scalars);
  for (int f = 0; f < m->nfields; f++)
    if (lasts(p, m, f))
      sum +=
          (m->fields[f].exchange == EXCHANGE_STEPS ? 3 : 2) * turns_block(most_bytes(c, f, parts, steps), most_lead(c));
  for (int b = 0; k && b < k->nbuffers; b++) {
    const Buffer *x = &k->buffers[b];
    if (x->kind == BUFFER_FIELD && (x->copy > 0 || !lasts(p, m, x->field)))
      sum += turns_block(most_bytes(c, x->field, parts, steps), most_lead(c));
  }
  return sum;
}

/* The least number of parts that fits the budget with `steps` steps in a turn; 0: none. */
static int64_t fewest_parts(const Choosing *c, int64_t steps) {
  double budget = c->p->split->turns->budget;
  int64_t none = 0, most = c->extent < MOST_TURNS ? c->extent : MOST_TURNS;
  if (bytes_of(c, most, steps) > budget)
    return 0;
  for (int64_t middle; most - none > 1;) {
    middle = none + (most - none) / 2;
    if (bytes_of(c, middle, steps) > budget)
      none = middle;
    else
      most = middle;
  }
  return most;
}

/* The seconds of the launches of a round. */
static double launch_seconds(const Choosing *c, int64_t parts, int64_t steps) {
  double rows = (double)((c->extent + parts - 1) / parts),
         left = c->trimmed ? (double)(steps - c->steps) / 2 : (double)steps;
  return (double)parts * ((double)steps * c->row * (rows + left * (double)(c->lo + c->hi)) +
                          (double)steps / (double)c->steps * c->launch);
}

/* The seconds of a step in rounds of `steps` steps whose launches take `launches` seconds. The copies in of the first
 * part, and out of the last one, do not overlap with launches. */
static double step_seconds(const Choosing *c, int64_t parts, int64_t steps, double launches) {
  double in = c->in / c->link, out = c->out / c->link, most = in > out ? in : out;
  if (!c->p->split->turns->beside)
    return (launches + in + out) / (double)steps;
  return ((launches > most ? launches : most) + (in + out) / (double)parts) / (double)steps;
}

/* GB/s that the device copies each way while it also copies the other way, measured when it is warm, with as many bytes
 * as a round copies, within limits: for a small grid the measurement takes no longer than its copies. 0: it cannot be
 * measured. */
static double measured_link(const StcPlan *p, double bytes) {
  size_t tried = (size_t)fmax(FEWEST_TRIED, fmin(bytes, MOST_TRIED)) & ~(size_t)63;
  Device *d = &p->split->part[p->split->begin].plan->device;
  const DeviceKind *kind = d->kind;
  char *here = p->split->turns->beside && kind->carry ? kind->pinned_new(d, 2 * tried) : NULL;
  void *there = NULL;
  double start = 0, seconds = 0;
  StcStatus s = here ? kind->alloc(d, 2 * tried, &there) : STC_DEVICE;
  for (int try = 0; try < 2 && !s && there; try++) {
    start = clock_seconds();
    s = kind->carry(d, LANE_IN, there, here, tried, false);
    s = s ? s : kind->carry(d, LANE_OUT, here + tried, (char *)there + tried, tried, true);
    for (int lane = LANE_IN; lane <= LANE_OUT && !s; lane++)
      s = kind->mark(d, lane);
    for (int lane = LANE_IN; lane <= LANE_OUT && !s; lane++)
      s = kind->await(d, lane);
    seconds = clock_seconds() - start;
  }
  if (there)
    kind->release(d, there, 2 * tried);
  if (here)
    kind->pinned_free(d, here);
  double rate = s || seconds <= 0 ? 0 : (double)tried / (seconds * 1e9);
  return rate < FASTEST_LINK ? rate : 0;
}

/* The params, *n of them, for the first part in its place, and for launches that store only what it owns. */
static const char *const *defines_of_launch(const Choosing *c, int *n) {
  const Split *s = c->p->split;
  const Module *m = s->part[s->begin].plan->module;
  Arena *a = c->p->w.arena;
  int d = s->turns->dimension;
  long long lo = s->part[s->begin].lo[d], hi = s->part[s->begin].hi[d];
  const char **all = ARENA_ARRAY(a, const char *, c->n + 6);
  for (*n = 0; *n < c->n; ++*n)
    all[*n] = c->defines[*n];
  all[(*n)++] = arena_printf(a, "part.lo.%d=%lld", d, lo);
  all[(*n)++] = arena_printf(a, "part.hi.%d=%lld", d, hi);
  all[(*n)++] = "part.steps=1";
  if (affine_equal(m->part->gives.lo[d], m->grid.lo[d]))
    return all;
  all[(*n)++] = arena_printf(a, "part.first.%d=%lld", d, lo);
  all[(*n)++] = arena_printf(a, "part.last.%d=%lld", d, hi);
  return all;
}

/* Computes the bytes of a round, and the times of launches and copies. */
static void measure(Choosing *c) {
  StcPlan *p = c->p;
  const Split *s = p->split;
  const StcPlan *q = s->part[s->begin].plan;
  const Module *m = q->module, *k = q->build ? q->build->code.module : NULL;
  const TargetInfo *t = &q->device.limits;
  int d = s->turns->dimension;
  int64_t rows = s->part[s->begin].hi[d] - s->part[s->begin].lo[d] + 1;
  c->extent = s->hi[d] - s->lo[d] + 1;
  c->lo = m->part->reach.lo[d];
  c->hi = m->part->reach.hi[d];
  c->steps = k && k->host.nseqs && has_kernels(c) ? k->host.seqs[0].steps : 1;
  c->trimmed = k && k->host.nseqs && launches_trimmed(q);
  for (int f = 0; f < m->nfields; f++) {
    int64_t shape[MAX_RANK];
    int whole = module_find_field(p->module, m->fields[f].name);
    c->ring |= m->fields[f].ring;
    if (!lasts(p, m, f))
      continue;
    double bytes =
        (double)(field_shape(&p->module->fields[whole], p->scalars, shape) * type_bytes(m, m->fields[f].type));
    c->in += bytes;
    c->out += m->fields[f].exchange == EXCHANGE_STEPS ? bytes : 0;
  }
  const TargetInfo *target = q->build ? target_info(q->build->code.target) : t;
  bool known = k && k->host.nseqs && t->bandwidth > 0 && target->simt;
  double measured = measured_link(p, c->in);
  c->link = 1e9 * (measured > 0 ? measured : target->link > 0 ? target->link : SLOW_LINK);
  c->launch = 1e-6 * target->launch_us;
  int n;
  const char *const *defines = defines_of_launch(c, &n);
  c->row = known ? split_launch_seconds(p, s->begin, n, defines) / ((double)c->steps * (double)rows)
                 : (c->in + c->out) / ((double)(c->extent * c->steps) * 1e9 *
                                       (t->bandwidth > 0 ? t->bandwidth : SLOW_MEMORY)); /* all, once a launch */
}

/* Advice for the user who set the limit. */
#define CUT "cut another dimension by --split, or choose smaller params"

StcStatus turns_too_large(StcPlan *p, int64_t parts, int64_t steps, double bytes) {
  const Turns *t = p->split->turns;
  char least[MEMORY_TEXT], budget[MEMORY_TEXT];
  if (strcmp(memory_text(budget, t->budget), memory_text_up(least, bytes)) == 0) {
    snprintf(budget, sizeof budget, "%.0f bytes", t->budget);
    snprintf(least, sizeof least, "%.0f bytes", bytes);
  }
  diag_error(
      p->w.diags, no_loc(),
      "parts of the grid that take turns on %s do not fit %s of its memory: %lld of them, %lld step%s a turn, take "
      "%s; %s",
      p->device.name, budget, (long long)parts, (long long)steps, steps > 1 ? "s" : "", least,
      t->given ? "give them as much by --memory, " CUT : CUT);
  return STC_MEMORY;
}

/* Reports that no cut fits; the smallest would be `parts` parts with `steps` steps in a turn, or (0) the largest number
 * of parts. */
static StcStatus too_little(const Choosing *c, int64_t parts, int64_t steps) {
  int64_t most = parts ? parts : c->extent < MOST_TURNS ? c->extent : MOST_TURNS;
  return turns_too_large(c->p, most, steps, bytes_of(c, most, steps));
}

/* Do the ghost cells of `steps` steps go around a ring at most once? */
static bool ring_fits(const Choosing *c, int64_t steps) {
  return !c->ring || (c->lo > c->hi ? c->lo : c->hi) * steps <= c->extent;
}

/* A cut: the parts, the steps of a turn, the seconds of a step and of the launches of a round, the bytes that it needs.
 * skew: for skewed parts; if it has no launches, the parts have ghost cells. */
typedef struct Choice {
  int64_t parts, steps;
  double seconds, launches, bytes;
  Skew skew;
} Choice;

/* Takes the cut with ghost cells if it is better than the best so far. */
static void try_ghosts(const Choosing *c, int64_t parts, int64_t steps, Choice *best) {
  double seconds = step_seconds(c, parts, steps, launch_seconds(c, parts, steps));
  if (seconds < best->seconds)
    *best = (Choice){parts, steps, seconds, launch_seconds(c, parts, steps), bytes_of(c, parts, steps), {0}};
}

/* Finds the best cut with ghost cells; asked: the requested number of parts, 0: none. */
static void choose_ghosts(const Choosing *c, int64_t asked, Choice *best) {
  const Split *s = c->p->split;
  int64_t first = s->every ? s->every : c->steps;
  for (int64_t launches = 1; launches <= (s->every ? 1 : MOST_LAUNCHES); launches += launches < 16 ? 1 : launches / 8) {
    int64_t steps = first * launches, fewest = asked ? asked : fewest_parts(c, steps);
    if (!fewest || (asked && bytes_of(c, asked, steps) > s->turns->budget) || (!s->every && !ring_fits(c, steps)))
      break;
    try_ghosts(c, fewest, steps, best);
  }
  for (int64_t steps = first / 2; steps > 0 && !best->steps && !s->every; steps /= 2) {
    int64_t parts = asked ? asked : fewest_parts(c, steps);
    if (parts && bytes_of(c, parts, steps) <= s->turns->budget && ring_fits(c, steps))
      try_ghosts(c, parts, steps, best);
  }
}

/* ---------------------------------------------------------------- skewed parts */

/* SKEW_ALIGNMENT: the rows of a part begin at multiples of this if possible; LEAST_ALIGNMENT: at multiples of this
 * always. */
enum { SKEW_ALIGNMENT = 128, LEAST_ALIGNMENT = 16 };

/* Further data for skewed cuts. step: circles are multiples of this number of bytes. alike: the sizes of parts differ
 * by multiples of this number of rows, so that all begin at equally aligned places. tile: the rows that a tile of a
 * launch stores. kernels: the further rows that it computes for them. fitted: the code will be made again, with tiles
 * that fit. */
typedef struct Skewing {
  const Choosing *c;
  const Const *scalars; /* of a part that is the whole grid */
  double budget;
  int64_t step, alike, kernels, tile;
  bool fitted;
} Skewing;

static int64_t common(int64_t a, int64_t b) { return b ? common(b, a % b) : a; }
static int64_t up(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

/* The bytes of a row of field `f` of the parts, or of the whole field if it has no rows; *rows: their number. */
static int64_t row_of(const Skewing *w, int f, int64_t *rows) {
  const StcPlan *p = w->c->p;
  const Field *x = &p->split->part[p->split->begin].plan->module->fields[f];
  const Module *m = p->split->part[p->split->begin].plan->module;
  int64_t shape[MAX_RANK], n = field_shape(x, w->scalars, shape);
  *rows = field_lacks(x, p->split->turns->dimension) ? 1 : shape[p->split->turns->dimension];
  return *rows > 0 ? n / *rows * type_bytes(m, x->type) : 0;
}

/* Computes the number of rows by which parts must differ so that their rows begin at multiples of `bytes` bytes. False:
 * a field cannot begin so. */
static bool find_alike(Skewing *w, int64_t bytes) {
  const StcPlan *p = w->c->p;
  const Module *m = p->split->part[p->split->begin].plan->module;
  int d = p->split->turns->dimension;
  w->alike = 1;
  for (int f = 0; f < m->nfields; f++) {
    int64_t rows, row = row_of(w, f, &rows);
    if (!lasts(p, m, f) || field_lacks(&m->fields[f], d) || row < 1)
      continue;
    int64_t n = bytes / common(row, bytes),
            from = p->split->lo[d] - affine_eval(m->fields[f].box.lo[d], w->scalars, NULL);
    w->alike = w->alike / common(w->alike, n) * n;
    if (from * row % bytes)
      return false;
  }
  return true;
}

/* The bytes that parts need if they are skewed by `k`. */
static double skewed_bytes(const Skewing *w, const Skew *k) {
  const StcPlan *p = w->c->p, *q = p->split->part[p->split->begin].plan;
  const Module *m = q->module, *code = q->build->code.module;
  double sum = 0;
  for (int f = 0; f < m->nfields; f++) {
    int64_t rows, row = row_of(w, f, &rows), copies = 1,
                  others = m->fields[f].exchange == EXCHANGE_STEPS && k->wide ? 3 : 2;
    if (!lasts(p, m, f))
      continue;
    if (field_lacks(&m->fields[f], p->split->turns->dimension)) {
      sum += 2 * turns_block((double)row, most_lead(w->c));
      continue;
    }
    for (int b = 0; b < code->nbuffers; b++)
      copies += code->buffers[b].kind == BUFFER_FIELD && code->buffers[b].field == f && code->buffers[b].copy > 0;
    sum += (double)copies * (double)up((k->below + others * k->rows + k->kept) * row + SKEW_SPARE, w->step);
    if (m->fields[f].exchange == EXCHANGE_STEPS)
      sum += (double)copies * (double)(k->kept * row);
  }
  return sum + array_bytes(w->c, w->scalars);
}

/* The most rows of a part that fit, a multiple of w->alike; 0: not even the least number that skewing requires fits. */
static int64_t most_rows(const Skewing *w, Skew k) {
  int64_t least = up(k.shift + 1, w->alike), below = least / w->alike, above = w->c->extent / w->alike + 1;
  k.rows = least;
  if (least >= w->c->extent || skewed_bytes(w, &k) > w->budget)
    return 0;
  while (above - below > 1) {
    int64_t middle = below + (above - below) / 2;
    k.rows = middle * w->alike;
    if (skewed_bytes(w, &k) > w->budget)
      above = middle;
    else
      below = middle;
  }
  return below * w->alike;
}

/* The seconds of the launches of a round of skewed parts: of the tiles that contain the rows, including the further
 * points that a launch of several steps computes for itself. */
static double skewed_seconds(const Skewing *w, const Skew *k, int64_t parts, int64_t steps) {
  const Choosing *c = w->c;
  const Split *s = c->p->split;
  int d = s->turns->dimension;
  int64_t known = s->part[s->begin].hi[d] - s->part[s->begin].lo[d] + 1, full = c->extent / k->rows,
          rest = c->extent % k->rows, tile = w->fitted ? k->rows : w->tile;
  double rows = (double)(tile + w->kernels) * (double)(full * (up(k->rows, tile) / tile) + up(rest, tile) / tile);
  double row = c->row * (double)known / (double)(up(known, w->tile) / w->tile * (w->tile + w->kernels));
  return (double)steps * row * rows + (double)(parts * k->launches) * c->launch;
}

/* Takes the skewed cut into parts of `rows` rows if it is better than the best so far. */
static void try_rows(const Skewing *w, Skew *k, int64_t rows, int64_t asked, int64_t steps, Choice *best) {
  const Choosing *c = w->c;
  int64_t parts = (c->extent + rows - 1) / rows;
  k->rows = rows;
  if (k->ring && rows < 2 * k->kept)
    return;
  if (parts < 2 || parts > MOST_TURNS || rows <= k->shift || (asked && parts != asked))
    return;
  double launches = skewed_seconds(w, k, parts, steps), seconds = step_seconds(c, parts, steps, launches);
  if (seconds < best->seconds || (asked && !best->skew.launches))
    *best = (Choice){parts, steps, seconds, launches, skewed_bytes(w, k), *k};
}

/* Takes the skewed cut with `steps` steps in a turn if it is better than the best so far, into parts of equal alignment
 * or of whole tiles. False: more steps do not fit. */
static bool try_skewed(const Skewing *w, int64_t asked, int64_t steps, Choice *best) {
  const Choosing *c = w->c;
  const StcPlan *q = c->p->split->part[c->p->split->begin].plan;
  int64_t reach = c->lo > c->hi ? c->lo : c->hi, tiles = w->tile / common(w->tile, w->alike) * w->alike;
  Skew k = {.steps = c->skewed, .shift = reach * c->skewed, .launches = skew_launches(q, steps)};
  k.below = up(k.launches * k.shift + k.steps * c->lo, w->alike);
  k.wide = skew_is_wide(q, steps);
  k.ring = c->ring;
  k.kept = k.ring ? (k.launches + 2) * k.shift + k.steps * (c->lo + c->hi) : 0;
  int64_t most = most_rows(w, k), parts = asked ? asked : most ? (c->extent + most - 1) / most : 0;
  parts = parts < 2 ? 2 : parts;
  int64_t even = up((c->extent + parts - 1) / parts, w->alike);
  if (!most || even > most)
    return most > 0;
  try_rows(w, &k, even, asked, steps, best);
  if (!asked && most >= tiles)
    try_rows(w, &k, most / tiles * tiles, asked, steps, best);
  return true;
}

/* Finds the best skewed cut, if one is better than the best so far. If the number of parts was requested, they are
 * skewed if possible. */
static void choose_skewed(Choosing *c, int64_t asked, Choice *best) {
  StcPlan *p = c->p;
  const Split *s = p->split;
  StcPlan *q = s->part[s->begin].plan;
  int64_t most = s->every ? s->every : INT64_MAX;
  if (!skew_is_possible(p, q, most))
    return;
  Skewing w = {c, scalars_of(c, 1, 1, 0), s->turns->budget, 0, 1, 0, 1, false};
  const Host *host = &q->build->code.module->host;
  c->skewed = 0;
  for (int i = 0; i < host->nseqs; i++)
    if (host->seqs[i].steps <= most && host->seqs[i].steps > c->skewed)
      c->skewed = host->seqs[i].steps;
  w.step = s->turns->card ? CARD_STEP : (int64_t)q->device.kind->circle_step(&q->device);
  w.kernels = (c->skewed - 1) * (c->lo + c->hi);
  w.tile = q->build->code.module->kernels[host->seqs[0].ops[0].a].tile[s->turns->dimension];
  w.tile = w.tile > 0 ? w.tile : 1;
  if (!w.scalars || !find_alike(&w, asked ? LEAST_ALIGNMENT : SKEW_ALIGNMENT))
    return;
  Choice fitted = {.seconds = INFINITY};
  for (int k = 0; k < 2; k++) {
    w.fitted = !k;
    for (int64_t n = 1; n <= (s->every ? 1 : MOST_LAUNCHES); n += n < 16 ? 1 : n / 16)
      if (!try_skewed(&w, asked, s->every ? s->every : n * c->skewed, k ? best : &fitted))
        break;
  }
  s->turns->fitting = fitted.skew.rows;
}

StcStatus turns_choose(StcPlan *p, bool parts_asked, bool must, int n, const char *const *defines) {
  Split *s = p->split;
  struct Turns *t = s->turns;
  Choosing c = {.p = p, .n = n, .defines = defines, .bound = ARENA_NEW(p->w.arena, Bound)};
  const DeviceKind *kind = p->device.kind;
  t->beside = kind->carry && kind->mark && kind->follow && kind->send && kind->pinned_new;
  t->beside |= t->card && t->card->link > 0;
  double left, total;
  if (kind->room && kind->room(&p->device, &left, &total) && left < t->budget) {
    t->budget = left;
    t->given = false;
  }
  t->fitting = 0;
  t->uncircled = false;
  measure(&c);
  int64_t asked = parts_asked ? s->parts[t->dimension] : 0;
  Choice best = {.seconds = INFINITY};
  choose_ghosts(&c, asked, &best);
  choose_skewed(&c, asked, &best);
  if (!best.steps && !must)
    return STC_MEMORY;
  if (!best.steps)
    return too_little(&c, asked, s->every ? s->every : 1);
  s->parts[t->dimension] = best.parts;
  s->every = best.steps;
  t->in = c.in;
  t->out = c.out;
  t->link = c.link;
  t->seconds = best.launches;
  t->step = best.seconds;
  t->needed = best.bytes;
  if (best.skew.launches) {
    t->skew = ARENA_NEW(p->w.arena, Skew);
    *t->skew = best.skew;
  }
  return STC_OK;
}

bool turns_needed(const StcPlan *p, double memory) {
  const Module *k = p->build ? p->build->code.module : NULL;
  double sum = 0;
  for (int i = 0; i < p->memory.nslots; i++)
    sum += (double)p->memory.slots[i].size;
  for (int b = 0; k && b < k->nbuffers; b++) {
    int64_t shape[MAX_RANK];
    const Field *f =
        k->buffers[b].kind == BUFFER_FIELD && k->buffers[b].copy > 0 ? &k->fields[k->buffers[b].field] : NULL;
    sum += f ? (double)field_shape(f, p->scalars, shape) * (double)type_bytes(k, f->type) : 0;
  }
  return sum > memory;
}

const char *turns_describe(const StcPlan *p, Arena *a) {
  const Split *s = p->split;
  const Turns *t = s->turns;
  char budget[MEMORY_TEXT], used[MEMORY_TEXT];
  const char *way = t->skew        ? arena_printf(a, "skewed by %lld a launch, ", (long long)t->skew->shift)
                    : t->uncircled ? "not skewed since its driver maps no memory twice, "
                                   : "";
  return arena_printf(
      a,
      "%d part%s take turns within %s of %s (%s), %s%lld step%s a turn; a round copies %.3g GB in and %.3g GB "
      "out, %.3g s at %.3g GB/s each way, and launches (%s) %.3g s, by the model",
      s->nparts, s->nparts > 1 ? "s" : "", memory_text(budget, t->budget), t->card ? t->card->cpu : p->device.name,
      memory_text(used, t->needed), way, (long long)s->every, s->every > 1 ? "s" : "", 1e-9 * t->in, 1e-9 * t->out,
      (t->in > t->out ? t->in : t->out) / t->link, 1e-9 * t->link, t->schedule ? t->schedule : "?", t->seconds);
}
