/* sim-memory.c: the simulator's loads and stores: bounds, races, initialisation, versions, staleness. */
#include "ir/sim/simulate.h"

/* ---- places */

/* Reports that the place of `i` lies outside in dimension `k`; the access is called "load of" or the like. */
static __attribute__((noinline, cold)) void fault_outside(Sim *s, const SimThread *t, const SimInsn *i,
                                                          const char *what, int k) {
  const SimPlace *p = i->place;
  bool global = i->code == SIM_LOAD || i->code == SIM_STORE || i->code == SIM_FETCH;
  const char *name = global ? s->m->buffers[p->sym].name : s->k->kernel->arrays[p->sym].name;
  sim_fault(s, t, i, "%s '%s' at %s lies outside: dimension %d goes from %lld to %lld", what, name,
            sim_place_text(s, t, i), k, (long long)p->lo[k], (long long)p->hi[k]);
}

/* Computes the number of the element at the place of `i` into *element, and the origin of staleness of its coordinates
 * into *stale. False after a fault if it lies outside. */
static inline __attribute__((always_inline)) bool find_element(Sim *s, const SimThread *t, const SimInsn *i,
                                                               const char *what, int64_t *element, uint32_t *stale) {
  const SimPlace *p = i->place;
  int64_t at = 0;
  uint32_t doubt = 0;
  for (int k = 0; k < p->rank; k++) {
    int64_t x;
    bool far = __builtin_add_overflow(t->slot[p->idx[k]].i, p->off[k], &x);
    if (far || x < p->lo[k] || x > p->hi[k]) {
      fault_outside(s, t, i, what, k);
      return false;
    }
    at += (x - p->lo[k]) * p->stride[k];
    doubt = doubt ? doubt : t->stale[p->idx[k]];
  }
  *element = at;
  *stale = doubt;
  return true;
}

bool sim_cell(Sim *s, const SimThread *t, const SimInsn *i, const char *what, int64_t *cell) {
  uint32_t stale;
  return find_element(s, t, i, what, cell, &stale);
}

/* Sets the result of the load `i`. */
static void give(SimThread *t, const SimInsn *i, Const v, uint32_t stale) {
  t->slot[i->dst] = v;
  t->stale[i->dst] = stale;
}

/* The origin of staleness that denotes instruction `i` itself. */
static uint32_t origin_of(const Sim *s, const SimInsn *i) { return (uint32_t)(i - s->k->insns) + 1; }

/* Sets the result of the load `i`, whose fault has been reported, to a zero that is not stale, so that one error gives
 * one report. */
static void give_zero(SimThread *t, const SimInsn *i) { give(t, i, exec_i(0), 0); }

void sim_align(Sim *s, SimThread *t, const SimInsn *i) {
  const SimPlace *p = i->place;
  uint64_t element = 0;
  for (int k = 0; k < p->rank; k++)
    element += ((uint64_t)t->slot[p->idx[k]].i + (uint64_t)p->off[k] - (uint64_t)p->lo[k]) * (uint64_t)p->stride[k];
  if (element % (uint64_t)p->align)
    sim_fault(s, t, i, "%s of '%s' at %s is not aligned: it is element %lld in memory, which must be a multiple of %d",
              op_info[i->op->code].name,
              i->code == SIM_ALIGN ? s->m->buffers[p->sym].name : s->k->kernel->arrays[p->sym].name,
              sim_place_text(s, t, i), (long long)element, p->align);
}

void sim_fetch(Sim *s, SimThread *t, const SimInsn *i) {
  int64_t n = t->slot[i->a].i, element;
  uint32_t stale;
  SimPlace last = *i->place;
  SimInsn end = *i;
  if (n < 0 || n * type_size(buffer_type(s->m, i->place->sym)) % VECTOR_BYTES) {
    sim_fault(s, t, i, "bulk.prefetch of %lld elements; they must be whole 16 bytes", (long long)n);
    return;
  }
  last.off[last.rank - 1] += n - 1;
  end.place = &last;
  if (n && find_element(s, t, i, "bulk.prefetch of", &element, &stale))
    find_element(s, t, &end, "bulk.prefetch of", &element, &stale);
}

/* ---- races */

/* Is period `when` between `since` and `now`? */
static inline bool is_since(uint32_t when, uint32_t since, uint32_t now) { return when - since <= now - since; }

/* Records that `me` reads in period `now`. If another thread wrote since period `since`, or in `now`, returns 1 and
 * that thread in *other. */
static inline int touch_read(SimTouch *t, uint32_t since, uint32_t now, uint32_t me, uint32_t *other) {
  bool race = is_since(t->wrote, since, now) && t->writer != me;
  *other = t->writer;
  t->reader = is_since(t->read, since, now) && t->reader != me ? SIM_MANY : me;
  t->read = now;
  return race;
}

/* Records that `me` writes in period `now`. If another thread wrote (read) since period `since`, or in `now`, returns 1
 * (2) and that thread in *other. */
static inline int touch_write(SimTouch *t, uint32_t since, uint32_t now, uint32_t me, uint32_t *other) {
  bool wrote = is_since(t->wrote, since, now) && t->writer != me,
       read = is_since(t->read, since, now) && t->reader != me;
  *other = wrote ? t->writer : t->reader;
  t->writer = me;
  t->wrote = now;
  return wrote ? 1 : read ? 2 : 0;
}

/* ---- global memory */

/* Sets the row pitch of `m`, shape[rank - 1], and the number of elements of a row that are points. */
static void set_rows(const Sim *s, SimMemory *m, int buffer, const int64_t *shape) {
  const Buffer *b = &s->m->buffers[buffer];
  int64_t points[MAX_RANK];
  if (b->kind != BUFFER_FIELD || !s->m->fields[b->field].pitch)
    return;
  field_shape(&s->m->fields[b->field], s->b->scalars, points);
  m->pitch = shape[s->m->grid.rank - 1];
  m->row = points[s->m->grid.rank - 1];
}

SimMemory *sim_memory_new(Sim *s, int buffer, char *data, bool written) {
  int64_t shape[MAX_RANK];
  SimMemory *m = ARENA_NEW(s->arena, SimMemory);
  m->data = data;
  m->type = buffer_type(s->m, buffer);
  m->born = written;
  m->elements = buffer_shape(s->m, buffer, s->b->scalars, shape);
  set_rows(s, m, buffer, shape);
  m->pages = ARENA_ARRAY(s->arena, SimPage *, m->elements / SIM_PAGE + 1);
  return m;
}

void sim_memory_forget(SimMemory *m) {
  m->born = false;
  for (int64_t i = 0; i <= m->elements / SIM_PAGE; i++)
    if (m->pages[i])
      memset(m->pages[i]->written, 0, SIM_PAGE);
}

int64_t sim_memory_hole(const SimMemory *m) {
  for (int64_t i = 0; i < m->elements; i++) {
    const SimPage *page = m->pages[i / SIM_PAGE];
    if (m->pitch && i % m->pitch >= m->row)
      continue;
    if (page ? !page->written[i % SIM_PAGE] : !m->born)
      return i;
    if (!page)
      i += SIM_PAGE - 1 - i % SIM_PAGE;
  }
  return -1;
}

bool sim_memory_has(const SimMemory *m, int64_t i) {
  const SimPage *page = m->pages[i / SIM_PAGE];
  return page ? page->written[i % SIM_PAGE] : m->born;
}

/* The bookkeeping page of element `i`. */
static SimPage *page_of(Sim *s, SimMemory *m, int64_t i) {
  SimPage **page = &m->pages[i / SIM_PAGE];
  if (!*page) {
    *page = ARENA_NEW(s->arena, SimPage);
    memset((*page)->written, m->born, SIM_PAGE);
  }
  return *page;
}

void sim_memory_keep_alike(Sim *s, SimMemory *m, const SimMemory *present) {
  int size = type_size(m->type);
  for (int64_t i = 0; i < m->elements; i++)
    if (sim_memory_has(m, i) && memcmp(m->data + i * size, present->data + i * size, (size_t)size) != 0)
      page_of(s, m, i)->written[i % SIM_PAGE] = 0;
}

void sim_memory_fill(Sim *s, SimMemory *m, int64_t i) { page_of(s, m, i)->written[i % SIM_PAGE] = 1; }

uint32_t *sim_memory_stale(Sim *s, SimMemory *m, int64_t i) {
  SimPage *page = page_of(s, m, i);
  if (!page->stale)
    page->stale = ARENA_ARRAY(s->arena, uint32_t, SIM_PAGE);
  return &page->stale[i % SIM_PAGE];
}

/* Is the place of `i` an element of its buffer after the last point of a row? */
static bool is_padding(const SimThread *t, const SimInsn *i) {
  const SimPlace *p = i->place;
  return p->padded && t->slot[p->idx[p->rank - 1]].i + p->off[p->rank - 1] > p->last;
}

/* The number of `t` among all threads of the launch. */
static uint32_t global_number(const Sim *s, const SimThread *t) {
  return s->first + (uint32_t)s->block_number * (uint32_t)s->k->nthreads + t->number;
}

/* The member of the launch that contains the thread with that number; a member without blocks contains none. */
static const SimMember *member_of(const Sim *s, uint32_t number) {
  int i = 0;
  while (i < s->nmembers - 1 && (number < s->members[i].first ||
                                 number - s->members[i].first >= s->members[i].k->nblocks * s->members[i].k->nthreads))
    i++;
  return &s->members[i];
}

/* "thread [1] of block [0]" for the thread with that number in the launch, with its kernel if that is not the running
 * one. */
static const char *who_text(Sim *s, uint32_t number) {
  if (number == SIM_MANY)
    return "several threads";
  const SimMember *x = member_of(s, number);
  SimKernel *running = s->k;
  uint32_t n = (uint32_t)x->k->nthreads;
  s->k = x->k;
  const char *text = arena_printf(s->arena, "thread %s of block %s", sim_thread_text(s, (number - x->first) % n),
                                  sim_block_text(s, (number - x->first) / n));
  s->k = running;
  return x->k == running ? text
                         : arena_printf(s->arena, "%s of kernel '%s', launched beside,", text, x->k->kernel->name);
}

/* Is the buffer that `i` loads from empty, and its place the first point, to which guards of empty ranges map? The
 * buffer's memory has room for that point, without a value. */
static bool is_first_of_none(const SimThread *t, const SimInsn *i) {
  const SimPlace *p = i->place;
  bool empty = false;
  for (int k = 0; k < p->rank; k++) {
    int64_t x = t->slot[p->idx[k]].i, hi = p->hi[k] < p->lo[k] ? p->lo[k] : p->hi[k];
    empty |= p->hi[k] < p->lo[k];
    if (__builtin_add_overflow(x, p->off[k], &x) || x < p->lo[k] || x > hi)
      return false;
  }
  return empty;
}

/* A load of memory that nobody wrote. If the buffer is that of a temp field, or of one that rounds renew, the value is
 * stale, because tiles may read around the points that are written; else it is a fault. */
static void give_unborn(Sim *s, SimThread *t, const SimInsn *i) {
  const Buffer *b = &s->m->buffers[i->place->sym];
  if (b->kind == BUFFER_FIELD && (s->m->fields[b->field].temp || s->memory[i->place->sym]->renewed)) {
    give(t, i, exec_i(0), origin_of(s, i));
    return;
  }
  sim_fault(s, t, i, "read of uninitialised memory: nobody wrote '%s' at %s", b->name, sim_place_text(s, t, i));
  give_zero(t, i);
}

/* The version of a sweep's target that `i` loads or stores in global memory; in a copy to a shared array, `ver` is the
 * array's version. */
static int32_t global_version(const SimInsn *i) { return op_info[i->op->code].form == FORM_GLOBAL ? i->op->ver : 0; }

/* Records that `i` stores to element `element` of `page`. */
static void set_version(Sim *s, SimPage *page, const SimInsn *i, int64_t element) {
  if (global_version(i) && !page->versions)
    page->versions = ARENA_ARRAY(s->arena, SimVersion, SIM_PAGE);
  if (page->versions)
    page->versions[element % SIM_PAGE] = (SimVersion){s->launch, global_version(i)};
}

/* Has this launch stored the version of the element that `i` requires? For version 0: has it stored none? */
static bool is_version(const Sim *s, const SimPage *page, const SimInsn *i, int64_t element) {
  const SimVersion *v = page->versions ? &page->versions[element % SIM_PAGE] : NULL;
  return (v && v->launch == s->launch ? v->ver : 0) == global_version(i);
}

void sim_load(Sim *s, SimThread *t, const SimInsn *i) {
  SimMemory *m = s->memory[i->place->sym];
  int64_t element;
  uint32_t stale, other;
  s->stats.loads++;
  if (is_first_of_none(t, i)) {
    give(t, i, exec_i(0), origin_of(s, i));
    return;
  }
  if (!find_element(s, t, i, "load of", &element, &stale)) {
    give_zero(t, i);
    return;
  }
  if (is_padding(t, i)) {
    give(t, i, exec_get(m->type, m->data, element), origin_of(s, i));
    return;
  }
  if (!m->born || m->pages[element / SIM_PAGE] || s->writes[i->place->sym]) {
    SimPage *page = page_of(s, m, element);
    if (s->writes[i->place->sym] &&
        touch_read(&page->touch[element % SIM_PAGE], s->since, s->period, global_number(s, t), &other))
      sim_race(s, t, i, "race on '%s' at %s: this thread reads what %s writes in the same launch",
               s->m->buffers[i->place->sym].name, sim_place_text(s, t, i), who_text(s, other));
    if (!page->written[element % SIM_PAGE]) {
      give_unborn(s, t, i);
      return;
    }
    stale = stale || !page->stale ? stale : page->stale[element % SIM_PAGE];
    stale = stale || is_version(s, page, i, element) ? stale : origin_of(s, i);
  } else if (global_version(i)) {
    stale = origin_of(s, i);
  }
  give(t, i, exec_get(m->type, m->data, element), stale);
}

/* The origin of staleness of the value that store or astore `i` writes: of the value, of the coordinates, or of the
 * condition around it. */
static uint32_t stored_stale(const SimThread *t, const SimInsn *i, uint32_t at) {
  return t->stale[i->a] ? t->stale[i->a] : at ? at : t->doubt ? t->doubt_origin : 0;
}

/* Reports the staleness of store `i`: of its value, its coordinates (`at`), or the condition around it. */
static void check_stale_store(Sim *s, const SimThread *t, const SimInsn *i, uint32_t at) {
  uint32_t value = t->stale[i->a];
  if (!value && !at && !t->doubt)
    return;
  uint32_t origin = value ? value : at ? at : t->doubt_origin;
  sim_fault(s, t, i, "a stale %s reaches '%s' at %s: %s",
            value ? "value"
            : at  ? "coordinate"
                  : "condition",
            s->m->buffers[i->place->sym].name, sim_place_text(s, t, i), sim_origin_text(s, origin));
}

void sim_store(Sim *s, SimThread *t, const SimInsn *i) {
  const Buffer *buffer = &s->m->buffers[i->place->sym];
  SimMemory *m = s->memory[i->place->sym];
  int64_t element;
  uint32_t stale, other;
  s->stats.stores++;
  if (!find_element(s, t, i, "store to", &element, &stale))
    return;
  if (is_padding(t, i)) {
    exec_put(m->type, m->data, element, t->slot[i->a]);
    return;
  }
  SimPage *page = page_of(s, m, element);
  bool ghost = !stale && sim_is_ghost(s, t, i);
  uint32_t origin = ghost ? sim_ghost_origin(s, buffer->field, element, stored_stale(t, i, 0)) : 0;
  if (origin || page->stale)
    *sim_memory_stale(s, m, element) = origin;
  if (!ghost)
    check_stale_store(s, t, i, stale);
  int race = touch_write(&page->touch[element % SIM_PAGE], s->since, s->period, global_number(s, t), &other);
  if (race)
    sim_race(s, t, i, "race on '%s' at %s: this thread writes what %s %s in the same launch", buffer->name,
             sim_place_text(s, t, i), who_text(s, other), race == 1 ? "writes" : "reads");
  if (sim_is_kept(s, i->place->sym))
    return;
  page->written[element % SIM_PAGE] = 1;
  set_version(s, page, i, element);
  exec_put(m->type, m->data, element, t->slot[i->a]);
}

/* ---- shared arrays */

/* Is the cell at the place of `i` a don't-care cell of the array? */
static bool in_pad(const SimThread *t, const SimInsn *i, const Array *a) {
  for (int k = 0; k < a->rank; k++) {
    int64_t x = t->slot[i->place->idx[k]].i + i->place->off[k];
    if (x < a->pad_lo[k] || x >= a->shape[k] - a->pad_hi[k])
      return true;
  }
  return false;
}

/* An earlier access to a granule that is not ordered with the present one: by whom, of which kind (`how`: 1 a write, 2
 * a read, 0: there is none), and in which interval. */
typedef struct Racer {
  int how;
  uint32_t who, when;
} Racer;

/* "warp 2" or "a bulk copy of warp 2": an actor of a kernel with signals. */
static const char *actor_text(Sim *s, uint32_t who) {
  uint32_t n = (uint32_t)s->k->nthreads;
  const char *copy = who < n ? "" : s->k->cluster > 1 ? "a store from " : "a bulk copy of ";
  return arena_printf(s->arena, "%s%s", copy, sim_warp_text(s, who % n));
}

/* A race in a kernel whose warps are ordered by signals. */
static void fault_disorder(Sim *s, const SimThread *t, const SimInsn *i, bool reads, Racer r) {
  const char *name = s->k->kernel->arrays[i->place->sym].name, *me = actor_text(s, t->actor),
             *other = actor_text(s, r.who), *at = sim_place_text(s, t, i);
  if (reads)
    sim_race(s, t, i,
             "ring '%s' at %s: %s reads the row before it is full: %s wrote it, and no signal or barrier that "
             "this thread waited for stands behind that",
             name, at, me, other);
  else if (r.how == 2)
    sim_race(s, t, i,
             "ring '%s' at %s: %s overwrites the row before it is empty: %s reads it, and no signal, barrier or "
             "bulk.wait stands between",
             name, at, me, other);
  else
    sim_race(s, t, i, "ring '%s' at %s: %s overwrites the row that %s wrote, and no signal or barrier stands between",
             name, at, me, other);
}

/* Reports a race of `t` at `i` with `r`. */
static void fault_shared_race(Sim *s, const SimThread *t, const SimInsn *i, const char *mine, Racer r) {
  const char *name = s->k->kernel->arrays[i->place->sym].name, *theirs = r.how == 1 ? "writes" : "reads";
  if (s->k->signals)
    fault_disorder(s, t, i, *mine == 'r', r);
  else if (s->k->nthreads == 1)
    sim_race(s, t, i,
             "race on shared array '%s' at %s: this iteration %s what another iteration of the parallel loop %s", name,
             sim_place_text(s, t, i), mine, theirs);
  else
    sim_race(s, t, i, "race on shared array '%s' at %s: this thread %s what %s %s with %s between", name,
             sim_place_text(s, t, i), mine,
             r.who == SIM_MANY ? "several threads" : arena_printf(s->arena, "thread %s", sim_thread_text(s, r.who)),
             theirs, r.when == s->interval ? "no barrier" : "too few barriers of neighbouring warps");
}

/* Is an access of warp `warp` in interval `when` not yet ordered before the present accesses of warp `mine`? Each
 * barrier between neighbours orders it before those of one more warp on both sides. */
static inline bool is_open(const Sim *s, uint32_t when, uint32_t warp, uint32_t mine) {
  uint32_t apart = warp > mine ? warp - mine : mine - warp;
  return when >= s->met && s->interval - when < (apart ? apart : 1);
}

/* The warp of thread `number`. */
static inline uint32_t warp_of(const Sim *s, uint32_t number) { return number >> s->k->lane_bits; }

/* Has another actor than `me` written the granule without order to the present access? */
static inline Racer find_writer(const Sim *s, const SimTouch *t, uint32_t me) {
  bool open = t->writer != me && is_open(s, t->wrote, warp_of(s, t->writer), warp_of(s, me));
  return open ? (Racer){1, t->writer, t->wrote} : (Racer){0};
}

/* Has another actor than `me` read granule `g` without order to the present access? Kernels with barriers between
 * neighbours record the last read of each warp: if that is ordered, the earlier ones are, too. */
static Racer find_reader(const Sim *s, const SimGranule *g, uint32_t me) {
  const SimRead *r = s->k->near ? s->k->reads + (g - s->k->granules) * s->k->nwarps : NULL;
  if (!r)
    return g->touch.read == s->interval && g->touch.reader != me ? (Racer){2, g->touch.reader, s->interval}
                                                                 : (Racer){0};
  for (int w = 0; w < s->k->nwarps && s->interval - g->touch.read < (uint32_t)s->k->nwarps; w++)
    if (r[w].reader != me && is_open(s, r[w].read, (uint32_t)w, warp_of(s, me)))
      return (Racer){2, r[w].reader, r[w].read};
  return (Racer){0};
}

/* The same for a kernel with signals. */
static Racer touch_ordered(Sim *s, SimGranule *g, uint32_t me, bool writes) {
  Racer r = {.when = s->interval};
  r.how = sim_ordered(s, g, me, writes, &r.who);
  return r;
}

/* Records that `me` reads granule `g`; returns the access with which it races. */
static inline Racer read_granule(Sim *s, SimGranule *g, uint32_t me) {
  uint32_t other;
  if (s->k->signals)
    return touch_ordered(s, g, me, false);
  touch_read(&g->touch, s->interval, s->interval, me, &other);
  if (s->k->near) {
    SimRead *r = s->k->reads + (g - s->k->granules) * s->k->nwarps + warp_of(s, me);
    r->reader = r->read == s->interval && r->reader != me ? SIM_MANY : me;
    r->read = s->interval;
  }
  return find_writer(s, &g->touch, me);
}

/* Records that `me` writes granule `g`; returns the access with which it races. */
static inline Racer write_granule(Sim *s, SimGranule *g, uint32_t me) {
  if (s->k->signals)
    return touch_ordered(s, g, me, true);
  Racer r = find_writer(s, &g->touch, me);
  if (!r.how)
    r = find_reader(s, g, me);
  g->touch.writer = me;
  g->touch.wrote = s->interval;
  return r;
}

/* Is a copy to the cell of granules `g`, which `t` is about to read or write (`what`), still in flight? That is a
 * fault. */
static bool is_filling(Sim *s, const SimThread *t, const SimInsn *i, const SimGranule *g, int granules,
                       const char *what) {
  for (int n = 0; n < granules; n++)
    if (g[n].filling == s->block_epoch) {
      const char *whose = g[n].touch.writer == t->actor
                              ? "this thread's"
                              : arena_printf(s->arena, "that of thread %s", sim_thread_text(s, g[n].touch.writer));
      sim_fault(s, t, i,
                "%s of a cell that an asynchronous copy is still filling: array '%s' at %s, the copy is %s; it needs "
                "an async.wait first",
                what, s->k->kernel->arrays[i->place->sym].name, sim_place_text(s, t, i), whose);
      return true;
    }
  return false;
}

/* A load of array number `array` from a cell that was not written as part of that array in this block (`owner`: as part
 * of which array it was, -1 none): the value is stale in a don't-care cell; else it is a fault. */
static void give_unwritten(Sim *s, SimThread *t, const SimInsn *i, int array, int owner) {
  const Array *a = &s->k->kernel->arrays[array];
  if (!in_pad(t, i, a)) {
    const char *space = a->space == SPACE_SHARED ? "shared" : "private";
    const char *why = owner < 0 ? "nobody in this block wrote it"
                                : arena_printf(s->arena, "it holds a value of array '%s', which shares its storage",
                                               s->k->kernel->arrays[owner].name);
    sim_fault(s, t, i, "read of uninitialised %s array '%s' at %s: %s", space, a->name, sim_place_text(s, t, i), why);
    give_zero(t, i);
    return;
  }
  give(t, i, exec_i(0), origin_of(s, i));
}

/* The granules of cell `cell` of `a`, in the block that `t` refers to. */
static SimGranule *granules_of(const Sim *s, const SimThread *t, const SimArray *a, int64_t cell) {
  return s->k->granules + (a->base + t->shift) / s->k->granule + cell * a->granules;
}

void sim_shared_load(Sim *s, SimThread *t, const SimInsn *i) {
  int array = i->place->sym;
  const SimArray *a = &s->k->arrays[array];
  int64_t cell;
  uint32_t stale;
  s->stats.aloads++;
  if (!find_element(s, t, i, "aload of", &cell, &stale)) {
    give_zero(t, i);
    return;
  }
  SimGranule *g = granules_of(s, t, a, cell);
  if (is_filling(s, t, i, g, a->granules, "read")) {
    give_zero(t, i);
    return;
  }
  bool written = true, right = true;
  int owner = -1;
  Racer racer = {0};
  for (int n = 0; n < a->granules; n++) {
    Racer r = read_granule(s, &g[n], t->actor);
    racer = r.how ? r : racer;
    bool alive = g[n].block == s->block_epoch;
    if (!alive || g[n].owner != array)
      written = false;
    if (alive && g[n].owner != array)
      owner = g[n].owner;
    right = right && g[n].ver == i->op->ver;
    stale = stale ? stale : g[n].stale;
  }
  if (racer.how)
    fault_shared_race(s, t, i, "reads", racer);
  if (!written)
    give_unwritten(s, t, i, array, owner);
  else
    give(t, i, exec_get(a->array->type, s->k->shared + a->base + t->shift, cell), right ? stale : origin_of(s, i));
}

/* Records that `t` writes the cell of granules `g` by instruction `i`; reports a race. */
static void touch_cell(Sim *s, const SimThread *t, const SimInsn *i, SimGranule *g, int granules) {
  Racer racer = {0};
  for (int n = 0; n < granules; n++) {
    Racer r = write_granule(s, &g[n], t->actor);
    racer = r.how ? r : racer;
  }
  if (racer.how)
    fault_shared_race(s, t, i, "writes", racer);
}

/* Stores `v` to cell `cell` of `a`, and records instruction `i` as its writer. */
static void put_cell(Sim *s, const SimThread *t, const SimInsn *i, const SimArray *a, int64_t cell, Const v,
                     uint32_t stale) {
  SimGranule *g = granules_of(s, t, a, cell);
  for (int n = 0; n < a->granules; n++) {
    g[n].block = s->block_epoch;
    g[n].filling = 0;
    g[n].owner = i->place->sym;
    g[n].ver = i->op->ver;
    g[n].stale = stale;
  }
  exec_put(a->array->type, s->k->shared + a->base + t->shift, cell, v);
}

void sim_shared_store(Sim *s, SimThread *t, const SimInsn *i) {
  const SimArray *a = &s->k->arrays[i->place->sym];
  int64_t cell;
  uint32_t stale;
  s->stats.astores++;
  if (!find_element(s, t, i, "astore to", &cell, &stale) ||
      is_filling(s, t, i, granules_of(s, t, a, cell), a->granules, "write"))
    return;
  touch_cell(s, t, i, granules_of(s, t, a, cell), a->granules);
  put_cell(s, t, i, a, cell, t->slot[i->a], stored_stale(t, i, stale));
}

/* ---- asynchronous copies */

/* Appends a copy to those that `t` has in flight. */
static void push_copy(Sim *s, SimThread *t, SimCopy copy) {
  if (t->ncopies == t->cap) {
    int32_t cap = t->cap ? 2 * t->cap : 16;
    t->copies = arena_grow(s->arena, t->copies, (size_t)t->cap, (size_t)cap, sizeof *t->copies);
    t->cap = cap;
  }
  t->copies[t->ncopies++] = copy;
}

/* The copy counts as a write now, from when on others must not access the cell, and as another write when the thread
 * waits for it. */
void sim_copy(Sim *s, SimThread *t, const SimInsn *i) {
  const SimArray *a = &s->k->arrays[i->place->sym];
  int64_t cell;
  uint32_t stale;
  s->stats.astores++;
  if (!find_element(s, t, i, "async.copy to", &cell, &stale))
    return;
  SimGranule *g = granules_of(s, t, a, cell);
  if (is_filling(s, t, i, g, a->granules, "write"))
    return;
  touch_cell(s, t, i, g, a->granules);
  for (int n = 0; n < a->granules; n++)
    g[n].filling = s->block_epoch;
  push_copy(s, t, (SimCopy){i, cell, t->commits, t->slot[i->a], stored_stale(t, i, stale)});
}

void sim_wait(Sim *s, SimThread *t, const SimInsn *i) {
  int n = 0;
  for (; n < t->ncopies && t->copies[n].group < t->commits - i->op->count; n++) {
    const SimCopy *c = &t->copies[n];
    const SimArray *a = &s->k->arrays[c->insn->place->sym];
    touch_cell(s, t, c->insn, granules_of(s, t, a, c->cell), a->granules);
    put_cell(s, t, c->insn, a, c->cell, c->value, c->stale);
  }
  t->ncopies -= n;
  if (n)
    memmove(t->copies, t->copies + n, (size_t)t->ncopies * sizeof *t->copies);
}

void sim_check_copies(Sim *s, SimThread *t) {
  if (t->ncopies)
    sim_fault(s, t, t->copies[0].insn,
              "the kernel ends with an asynchronous copy to shared array '%s' that this thread did not wait for",
              s->k->kernel->arrays[t->copies[0].insn->place->sym].name);
}

/* ---- private arrays */

void sim_private_load(Sim *s, SimThread *t, const SimInsn *i) {
  const SimArray *a = &s->k->arrays[i->place->sym];
  int64_t cell;
  uint32_t stale;
  s->stats.aloads++;
  if (!find_element(s, t, i, "aload of", &cell, &stale)) {
    give_zero(t, i);
    return;
  }
  const SimCell *c = &t->cells[a->base + cell];
  bool alive = c->block == s->block_epoch;
  if (!alive || c->owner != i->place->sym)
    give_unwritten(s, t, i, i->place->sym, alive ? c->owner : -1);
  else
    give(t, i, c->value, c->ver != i->op->ver ? origin_of(s, i) : stale ? stale : c->stale);
}

void sim_private_store(Sim *s, SimThread *t, const SimInsn *i) {
  const SimArray *a = &s->k->arrays[i->place->sym];
  int64_t cell;
  uint32_t stale;
  s->stats.astores++;
  if (!find_element(s, t, i, "astore to", &cell, &stale))
    return;
  t->cells[a->base + cell] =
      (SimCell){t->slot[i->a], s->block_epoch, i->place->sym, i->op->ver, stored_stale(t, i, stale)};
}
