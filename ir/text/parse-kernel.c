/* ir/text/parse-kernel.c: parses buffers and kernels: a kernel's arguments, shared memory, extents and tests. */
#include "ir/text/text.h"

void text_buffer(Parser *p) {
  Buffer b = {0};
  b.name = text_new_symbol(p, module_find_buffer, "buffer");
  if (reader_accept_word(&p->r, "scratch")) {
    b.kind = BUFFER_SCRATCH;
    b.type = reader_type(&p->r);
    reader_expect(&p->r, "[");
    b.cells = reader_int(&p->r, 1, MAX_SIZE);
    reader_expect(&p->r, "]");
    b.each = reader_accept_word(&p->r, "each");
  } else if (reader_accept_word(&p->r, "param")) {
    b.kind = BUFFER_PARAM;
    b.field = text_ref(p, module_find_param_array, "param_array");
  } else {
    reader_expect(&p->r, ":");
    b.field = text_ref(p, module_find_field, "field");
    reader_expect_word(&p->r, "copy");
    b.copy = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
    b.lead = reader_accept_word(&p->r, "lead") ? (int32_t)reader_int(&p->r, 0, MAX_LEAD) : 0;
  }
  ARENA_PUSH(p->arena, p->m->buffers, p->m->nbuffers, b);
}

/* Parses "below @A" or the like, after "mirror". */
static KArg parse_mirror(Parser *p) {
  KArg a = {.kind = KARG_MIRROR, .reads = true};
  while (a.mirror < MIRROR_ARGS && !reader_accept_word(&p->r, mirror_names[a.mirror]))
    a.mirror++;
  if (a.mirror == MIRROR_ARGS)
    reader_error(&p->r, p->r.tok.loc, "expected below, above, down, up, down_row or up_row");
  a.index = text_ref(p, module_find_buffer, "buffer");
  return a;
}

/* One argument: "step", "scalar @N", "mirror below @A", "buffer @A", "reads @A", "writes @A" or "reads writes @A". */
static KArg parse_arg(Parser *p) {
  if (reader_accept_word(&p->r, "step"))
    return (KArg){.kind = KARG_STEP, .reads = true};
  if (reader_accept_word(&p->r, "scalar"))
    return (KArg){.kind = KARG_SCALAR, .index = text_ref(p, module_find_scalar, "scalar"), .reads = true};
  if (reader_accept_word(&p->r, "mirror"))
    return parse_mirror(p);
  KArg a = {.kind = KARG_BUFFER};
  if (!reader_accept_word(&p->r, "buffer")) {
    a.reads = reader_accept_word(&p->r, "reads");
    a.writes = reader_accept_word(&p->r, "writes");
    if (!a.reads && !a.writes)
      reader_error(&p->r, p->r.tok.loc, "expected an argument: reads @BUFFER, writes @BUFFER, scalar @SCALAR or step");
  }
  a.index = text_ref(p, module_find_buffer, "buffer");
  return a;
}

static void parse_args(Parser *p, Kernel *k) {
  reader_expect_word(&p->r, "args");
  reader_expect(&p->r, "(");
  if (!reader_at(&p->r, ")")) {
    do {
      KArg a = parse_arg(p);
      ARENA_PUSH(p->arena, k->args, k->nargs, a);
    } while (reader_accept(&p->r, ","));
  }
  reader_expect(&p->r, ")");
}

/* Parses " pad [1 .. 1, 0 .. 2]" after its first word. */
static void parse_pads(Parser *p, Array *a) {
  reader_expect(&p->r, "[");
  for (int d = 0; d < a->rank; d++) {
    if (d)
      reader_expect(&p->r, ",");
    a->pad_lo[d] = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
    reader_expect(&p->r, "..");
    a->pad_hi[d] = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  }
  reader_expect(&p->r, "]");
}

/* Parses one array; *storage is the symbol after `in`, whose array may be declared later, or a TOK_END. */
static void parse_array(Parser *p, Kernel *k, TextToken *storage) {
  Array a = {.storage = -1};
  int64_t shape[MAX_RANK] = {0};
  a.space = reader_accept_word(&p->r, "shared") ? SPACE_SHARED : SPACE_PRIVATE;
  if (a.space == SPACE_PRIVATE)
    reader_expect_word(&p->r, "private");
  Loc at = p->r.tok.loc;
  a.name = reader_expect_kind(&p->r, TOK_SYMBOL, "a name for the array (@name)");
  if (!p->r.failed && text_find_array(p, a.name) >= 0)
    reader_error(&p->r, at, "this kernel already has an array '@%.60s'", a.name);
  reader_expect(&p->r, ":");
  a.type = reader_type(&p->r);
  a.rank = text_ints(p, 1, MAX_SIZE, shape);
  for (int d = 0; d < MAX_RANK; d++)
    a.shape[d] = (int32_t)shape[d];
  if (reader_accept_word(&p->r, "pad"))
    parse_pads(p, &a);
  *storage = (TextToken){TOK_END, "", at};
  if (reader_accept_word(&p->r, "in")) {
    *storage = p->r.tok;
    reader_expect_kind(&p->r, TOK_SYMBOL, "the array (@name) whose memory this one shares");
  }
  ARENA_PUSH(p->arena, k->arrays, k->narrays, a);
}

/* Reads all arrays of `k`. */
static void parse_arrays(Parser *p, Kernel *k) {
  int n = 0;
  TextToken *storage = NULL;
  while (reader_at_word(&p->r, "shared") || reader_at_word(&p->r, "private")) {
    TextToken t;
    parse_array(p, k, &t);
    ARENA_PUSH(p->arena, storage, n, t);
  }
  for (int i = 0; i < n && !p->r.failed; i++) {
    if (storage[i].kind != TOK_SYMBOL)
      continue;
    k->arrays[i].storage = text_find_array(p, storage[i].text);
    if (k->arrays[i].storage < 0)
      reader_error(&p->r, storage[i].loc, "this kernel has no array '@%.60s'", storage[i].text);
  }
}

/* Reads `rank` bounds in brackets. */
static void parse_extents(Parser *p, int rank, Affine *extent) {
  reader_expect(&p->r, "[");
  for (int d = 0; d < rank; d++) {
    if (d)
      reader_expect(&p->r, ",");
    extent[d] = text_affine(p);
  }
  reader_expect(&p->r, "]");
}

/* Parses "covers [N, M] by [8, 32] over [0, 8] without [N - 16, M - 64] lists @k.listed of @k.classes idle from [8, 8]
 * to [N - 9, M - 9]"; the later parts are optional. */
static void parse_cover(Parser *p, Kernel *k) {
  reader_expect_word(&p->r, "covers");
  parse_extents(p, k->rank, k->extent);
  reader_expect_word(&p->r, "by");
  text_sizes(p, k->rank, k->tile);
  if (reader_accept_word(&p->r, "over"))
    text_counts(p, k->rank, k->over);
  k->leaves_out = reader_accept_word(&p->r, "without");
  if (k->leaves_out)
    parse_extents(p, k->rank, k->without);
  if (reader_accept_word(&p->r, "lists")) {
    k->list = text_ref(p, module_find_buffer, "buffer") + 1;
    reader_expect_word(&p->r, "of");
    k->list_of = text_ref(p, module_find_buffer, "buffer");
  }
  k->idles = reader_accept_word(&p->r, "idle");
  if (!k->idles)
    return;
  reader_expect_word(&p->r, "from");
  parse_extents(p, k->rank, k->idle_lo);
  reader_expect_word(&p->r, "to");
  parse_extents(p, k->rank, k->idle_hi);
}

/* Parses "@W all 31 from [0, 0] first [1, 1] reach [-1 .. 1, -1 .. 1] around [1, 0] dry more @rows most 7 from @from
 * less @less" after "tests"; the later parts are optional. */
static const KernelTests *parse_tests(Parser *p, int rank) {
  KernelTests *t = ARENA_NEW(p->arena, KernelTests);
  while (p->r.tok.kind == TOK_SYMBOL && !p->r.failed) {
    int32_t field = text_ref(p, module_find_field, "field");
    reader_expect_word(&p->r, "all");
    int64_t all = reader_int(&p->r, 1, UINT32_MAX);
    if (t->n == MAX_TESTS)
      reader_error(&p->r, p->r.tok.loc, "a kernel looks at %d words of tests at most", MAX_TESTS);
    t->field[t->n % MAX_TESTS] = field;
    t->all[t->n++ % MAX_TESTS] = all;
  }
  reader_expect_word(&p->r, "from");
  parse_extents(p, rank, t->lo);
  t->placed = reader_accept_word(&p->r, "first");
  if (t->placed)
    parse_extents(p, rank, t->first);
  reader_expect_word(&p->r, "reach");
  text_extent(p, &t->reach);
  if (reader_accept_word(&p->r, "around"))
    text_counts(p, rank, t->around);
  t->dry = reader_accept_word(&p->r, "dry");
  t->more = -1;
  if (reader_accept_word(&p->r, "more")) {
    t->more = text_ref(p, module_find_scalar, "scalar");
    reader_expect_word(&p->r, "most");
    t->most = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
    reader_expect_word(&p->r, "from");
    t->from = text_ref(p, module_find_scalar, "scalar");
    reader_expect_word(&p->r, "less");
    t->less = text_ref(p, module_find_scalar, "scalar");
  }
  return t;
}

/* Parses "multiple N of 4 multiple M + 2 of 4 instead @k_any". Returns the name after `instead`, which may be declared
 * later; TOK_END if there is none. */
static TextToken parse_multiples(Parser *p, Kernel *k) {
  while (reader_accept_word(&p->r, "multiple")) {
    Multiple x = {.value = text_affine(p)};
    reader_expect_word(&p->r, "of");
    x.of = reader_int(&p->r, 1, INT64_MAX);
    ARENA_PUSH(p->arena, k->multiples, k->nmultiples, x);
  }
  TextToken instead = {TOK_END, "", k->loc};
  if (reader_accept_word(&p->r, "instead")) {
    instead = p->r.tok;
    reader_expect_kind(&p->r, TOK_SYMBOL, "the kernel (@name) that is launched instead");
  }
  return instead;
}

void text_find_instead(Parser *p) {
  for (int i = 0; i < p->m->nkernels && !p->r.failed; i++) {
    if (p->instead[i].kind != TOK_SYMBOL)
      continue;
    int k = module_find_kernel(p->m, p->instead[i].text);
    if (k < 0)
      reader_error(&p->r, p->instead[i].loc, "there is no kernel '@%.60s' in this module to launch instead",
                   p->instead[i].text);
    p->m->kernels[i].instead = k + 1;
  }
}

void text_kernel(Parser *p, Loc at) {
  Kernel k = {.loc = at, .rank = p->m->grid.rank, .body = block_new(p->arena, NULL)};
  if (!p->has_grid)
    reader_error(&p->r, at, "the grid must be declared before this");
  k.name = text_new_symbol(p, module_find_kernel, "kernel");
  p->k = &k;
  reader_expect_word(&p->r, "threads");
  text_sizes(p, k.rank, k.threads);
  if (reader_accept_word(&p->r, "warp"))
    k.lanes = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  parse_cover(p, &k);
  if (reader_accept_word(&p->r, "tests"))
    k.tests = parse_tests(p, k.rank);
  k.cluster = reader_accept_word(&p->r, "cluster") ? (int32_t)reader_int(&p->r, LEAST_CLUSTER, MOST_CLUSTER) : 0;
  reader_expect_word(&p->r, "steps");
  k.steps = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  k.per_core = reader_accept_word(&p->r, "core") ? (int32_t)reader_int(&p->r, 1, MAX_SIZE) : 0;
  TextToken instead = parse_multiples(p, &k);
  reader_expect(&p->r, "{");
  parse_args(p, &k);
  parse_arrays(p, &k);
  text_ops(p, k.body);
  reader_expect(&p->r, "}");
  p->k = NULL;
  int n = p->m->nkernels;
  ARENA_PUSH(p->arena, p->instead, n, instead);
  ARENA_PUSH(p->arena, p->m->kernels, p->m->nkernels, k);
}
