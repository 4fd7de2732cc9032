/* ir/text/parse.c: parses modules. The grammar is in docs/ir.md. The parser checks that the structure is complete
 * (every symbol and value exists, counts and written types agree with the op table); the verifier, which module_parse
 * runs at the end, checks the rest. */
#include "ir/text/text.h"

#include <string.h>

/* ---- declarations */

static void parse_scalar(Parser *p, const char *word, Loc at) {
  Scalar s = {.is_param = *word == 'p', .is_reduction = *word == 'r', .loc = at};
  s.name = text_new_symbol(p, module_find_scalar, "scalar");
  reader_expect(&p->r, ":");
  s.type = reader_type(&p->r);
  if (!s.is_reduction && (!s.is_param || reader_at(&p->r, "="))) {
    reader_expect(&p->r, "=");
    s.expr = block_new(p->arena, NULL);
    text_block(p, s.expr);
  }
  ARENA_PUSH(p->arena, p->m->scalars, p->m->nscalars, s);
}

/* A struct type, after its word. */
static void parse_struct(Parser *p) {
  int n = 0;
  Member *members = NULL;
  const char *name = reader_expect_kind(&p->r, TOK_WORD, "a name for the struct");
  reader_expect(&p->r, "{");
  do {
    Member x = {.name = reader_expect_kind(&p->r, TOK_WORD, "a member's name")};
    reader_expect(&p->r, ":");
    x.type = text_type(p);
    ARENA_PUSH(p->arena, members, n, x);
  } while (reader_accept(&p->r, ","));
  reader_expect(&p->r, "}");
  if (!p->r.failed)
    module_struct(p->m, name, n, members);
}

/* Parses the description of an array of weights, after the word. */
static void parse_weights(Parser *p, ParamArray *a) {
  a->role = ARRAY_WEIGHTS;
  a->derivative = (int32_t)reader_int(&p->r, 0, MAX_WEIGHED_DERIVATIVE);
  reader_expect_word(&p->r, "of");
  a->points = (int32_t)reader_int(&p->r, 1, MAX_WEIGHED_POINTS);
  reader_expect_word(&p->r, "side");
  a->side = (int32_t)reader_int(&p->r, -1, 1);
  if (reader_accept_word(&p->r, "half"))
    a->half = (int32_t)reader_int(&p->r, -1, 1);
  if (reader_accept_word(&p->r, "beyond"))
    a->beyond = (int32_t)reader_int(&p->r, 0, MAX_WEIGHED_BEYOND);
  reader_expect_word(&p->r, "from");
  a->from = text_ref(p, module_find_param_array, "param_array");
}

/* Parses the expression for the elements of an array, after the word. */
static void parse_values(Parser *p, ParamArray *a) {
  a->role = ARRAY_VALUES;
  a->value = block_new(p->arena, NULL);
  text_block(p, a->value);
}

/* Parses the numbers of rows and columns of an array of two indices, after the word. */
static void parse_rows(Parser *p, ParamArray *a) {
  reader_expect(&p->r, "[");
  a->rows = text_affine(p);
  reader_expect(&p->r, ",");
  a->columns = text_affine(p);
  reader_expect(&p->r, "]");
}

static void parse_param_array(Parser *p, Loc at) {
  ParamArray a = {.first = -1, .loc = at};
  a.name = text_new_symbol(p, module_find_param_array, "param_array");
  reader_expect(&p->r, "[");
  a.extent = text_affine(p);
  reader_expect(&p->r, "]");
  reader_expect(&p->r, ":");
  a.type = reader_type(&p->r);
  if (reader_accept_word(&p->r, "next"))
    a.role = ARRAY_NEXT;
  else if (reader_accept_word(&p->r, "series"))
    a.role = ARRAY_SERIES;
  else if (reader_accept_word(&p->r, "state"))
    a.role = ARRAY_STATE;
  else if (reader_accept_word(&p->r, "weights"))
    parse_weights(p, &a);
  else if (reader_accept_word(&p->r, "values"))
    parse_values(p, &a);
  else if (reader_accept_word(&p->r, "of"))
    parse_rows(p, &a);
  a.each = a.role == ARRAY_STATE && reader_accept_word(&p->r, "each");
  if (a.role == ARRAY_STATE && reader_accept_word(&p->r, "first"))
    a.first = text_ref(p, module_find_scalar, "scalar");
  ARENA_PUSH(p->arena, p->m->param_arrays, p->m->nparam_arrays, a);
}

static void parse_record(Parser *p) {
  Record r = {0};
  r.name = text_new_symbol(p, module_find_record, "record");
  reader_expect(&p->r, ":");
  r.type = text_type(p);
  reader_expect_word(&p->r, "from");
  r.first = text_ref(p, module_find_field, "field");
  ARENA_PUSH(p->arena, p->m->records, p->m->nrecords, r);
}

static void parse_grid(Parser *p, Loc at) {
  if (p->has_grid)
    reader_error(&p->r, at, "there is already a grid");
  p->m->grid = text_box(p);
  p->has_grid = true;
  reader_expect_word(&p->r, "steps");
  if (p->r.tok.kind == TOK_SYMBOL)
    p->m->steps_by = 1 + text_ref(p, module_find_scalar, "scalar");
  else
    p->m->steps = reader_int(&p->r, 0, INT64_MAX);
  p->m->members = reader_accept_word(&p->r, "members");
}

/* Parses the distances of points and the time step, after the word. */
static void parse_metric(Parser *p, Loc at) {
  Metric *x = &p->m->metric;
  if (!p->has_grid)
    reader_error(&p->r, at, "the metric of a grid stands behind the grid");
  if (reader_accept_word(&p->r, "spacing"))
    for (int d = 0; d < p->m->grid.rank; d++) {
      if (d)
        reader_expect(&p->r, ",");
      if (reader_accept_word(&p->r, "at"))
        x->coordinates[d] = 1 + text_ref(p, module_find_param_array, "param_array");
      else
        x->spacing[d] = 1 + text_ref(p, module_find_scalar, "scalar");
    }
  if (reader_accept_word(&p->r, "step"))
    x->step = 1 + text_ref(p, module_find_scalar, "scalar");
}

/* Parses the part of the grid that the module is for, after the word. */
static void parse_part(Parser *p, Loc at) {
  GridPart *part = ARENA_NEW(p->arena, GridPart);
  if (p->m->part || !p->has_grid)
    reader_error(&p->r, at, p->m->part ? "there is already a part" : "the part of a grid stands behind the grid");
  part->own = text_box(p);
  reader_expect_word(&p->r, "of");
  part->whole = text_grid_box(p);
  reader_expect_word(&p->r, "reach");
  text_extent(p, &part->reach);
  reader_expect_word(&p->r, "steps");
  part->steps = text_ref(p, module_find_scalar, "scalar");
  reader_expect_word(&p->r, "gives");
  part->gives = text_grid_box(p);
  p->m->part = part;
}

/* Parses how the ghost cells of a field of a part are exchanged, if the text says so. */
static void parse_exchange(Parser *p, Field *f) {
  bool local = reader_accept_word(&p->r, "local");
  if (!local && !reader_accept_word(&p->r, "exchange"))
    return;
  f->exchange = local ? EXCHANGE_NONE : reader_accept_word(&p->r, "once") ? EXCHANGE_ONCE : EXCHANGE_STEPS;
  f->share = reader_accept_word(&p->r, "all")        ? SHARE_ALL
             : reader_accept_word(&p->r, "gathered") ? SHARE_GATHERED
                                                     : SHARE_CUT;
  f->ring = reader_accept_word(&p->r, "ring");
  reader_expect_word(&p->r, "of");
  Box *whole = ARENA_NEW(p->arena, Box);
  bool lacks[MAX_RANK] = {false};
  *whole = text_field_box(p, lacks);
  f->whole = whole;
}

/* Parses the name of an outside rule that both edges may have; `value` is what messages name after "const". */
static OutsideRule parse_rule(Parser *p, const char *value) {
  for (int r = OUTSIDE_NONE + 1; r < OUTSIDE_RULES; r++)
    if (reader_accept_word(&p->r, outside_name((OutsideRule)r)))
      return r == OUTSIDE_MIRROR && reader_accept_word(&p->r, "half") ? OUTSIDE_HALF : (OutsideRule)r;
  reader_error(&p->r, p->r.tok.loc, "expected an outside rule: %s or const%s", outside_words(p->arena, ", "), value);
  return OUTSIDE_NONE;
}

/* Reads the rule of one side of a field with values of type `t`. */
static Side parse_side(Parser *p, Type t) {
  Side s = {.rule = reader_accept(&p->r, outside_name(OUTSIDE_ALL)) ? OUTSIDE_ALL : parse_rule(p, " VALUE")};
  if (s.rule == OUTSIDE_CONST)
    s.value = reader_const(&p->r, t);
  s.odd = (s.rule == OUTSIDE_MIRROR || s.rule == OUTSIDE_HALF) && reader_accept_word(&p->r, "odd");
  s.is_about = s.odd && reader_accept_word(&p->r, "about");
  if (s.is_about && p->r.tok.kind == TOK_SYMBOL)
    s.about = 1 + text_ref(p, module_find_scalar, "scalar");
  else if (s.is_about)
    s.value = reader_const(&p->r, t);
  return s;
}

/* Reads a field's outside rule, after the word. */
static void parse_outside(Parser *p, Field *f) {
  Type t = type_is_scalar(f->type) ? f->type : TY_F64;
  Side *sides = ARENA_ARRAY(p->arena, Side, 2 * MAX_RANK);
  bool each = reader_accept(&p->r, "[");
  for (int d = 0; d < p->m->grid.rank; d++) {
    if (d && each)
      reader_expect(&p->r, ",");
    sides[2 * d] = d && !each ? sides[0] : parse_side(p, t);
    sides[2 * d + 1] = each && reader_accept(&p->r, "..") ? parse_side(p, t) : sides[2 * d];
  }
  if (each)
    reader_expect(&p->r, "]");
  outside_set_sides(f, p->m->grid.rank, sides);
  f->apart = reader_accept_word(&p->r, "apart");
}

/* Parses the rules that map points into a box: one for each dimension, or one for all. */
static void parse_rules(Parser *p, OutsideRule rule[MAX_RANK]) {
  bool each = reader_accept(&p->r, "[");
  for (int d = 0; d < p->m->grid.rank; d++) {
    if (d && each)
      reader_expect(&p->r, ",");
    rule[d] = d && !each ? rule[0] : parse_rule(p, "");
    if (each && reader_accept(&p->r, ".."))
      rule[d] = outside_pair(rule[d], parse_rule(p, ""));
  }
  if (each)
    reader_expect(&p->r, "]");
}

static void parse_field(Parser *p, Loc at) {
  Field f = {.loc = at};
  f.name = text_new_symbol(p, module_find_field, "field");
  reader_expect(&p->r, ":");
  f.type = text_type(p);
  reader_expect_word(&p->r, "on");
  bool lacks[MAX_RANK] = {false};
  f.box = text_field_box(p, lacks);
  if (reader_accept_word(&p->r, "outside"))
    parse_outside(p, &f);
  for (int d = 0; d < f.box.rank; d++)
    if (lacks[d])
      field_leave_out(&f, d);
  f.input = reader_accept_word(&p->r, "input");
  f.temp = reader_accept_word(&p->r, "temp");
  if (reader_accept_word(&p->r, "frames")) {
    f.frames = reader_int(&p->r, 1, MAX_SIZE);
    f.ahead = reader_accept_word(&p->r, "ahead");
    f.cycle = reader_accept_word(&p->r, "cycle");
  }
  f.derived = reader_accept_word(&p->r, "derived");
  if (reader_accept_word(&p->r, "series")) {
    f.series = 1 + (int32_t)reader_int(&p->r, 0, MAX_SIZE);
    reader_expect_word(&p->r, "level");
    f.level = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  }
  if (reader_accept_word(&p->r, "history"))
    f.history = (int32_t)reader_int(&p->r, 1, MAX_HISTORY);
  if (reader_accept_word(&p->r, "past")) {
    f.past = (int32_t)reader_int(&p->r, 1, MAX_HISTORY);
    reader_expect_word(&p->r, "of");
    f.present = text_ref(p, module_find_field, "field");
  }
  parse_exchange(p, &f);
  if (reader_accept_word(&p->r, "pitch")) {
    f.pitch = 1 + text_ref(p, module_find_scalar, "scalar");
    f.rest = reader_accept_word(&p->r, "rest") ? 1 + (int32_t)reader_int(&p->r, 0, ROW_REST - 1) : 0;
  }
  ARENA_PUSH(p->arena, p->m->fields, p->m->nfields, f);
}

/* Parses a Covered, after the word. */
static Covered *parse_covered(Parser *p) {
  Covered *c = ARENA_NEW(p->arena, Covered);
  c->need = c->within = text_box(p);
  if (reader_accept_word(&p->r, "outside")) {
    parse_rules(p, c->rule);
    reader_expect_word(&p->r, "in");
    c->within = text_box(p);
  }
  reader_expect_word(&p->r, "by");
  do {
    Box b = text_box(p);
    ARENA_PUSH(p->arena, c->by, c->n, b);
  } while (reader_at(&p->r, "["));
  return c;
}

static void parse_check(Parser *p, Loc at) {
  Check c = {.loc = at, .value = affine_const(0)};
  if (reader_accept_word(&p->r, "covered")) {
    c.covered = parse_covered(p);
  } else {
    c.value = text_affine(p);
    reader_expect(&p->r, ">=");
    reader_int(&p->r, 0, 0);
  }
  for (int i = 0; i < MAX_UNLESS && reader_accept_word(&p->r, "unless"); i++) {
    reader_expect_word(&p->r, "empty");
    Box *box = ARENA_NEW(p->arena, Box);
    *box = text_box(p);
    c.unless_empty[i] = box;
  }
  c.message = reader_expect_kind(&p->r, TOK_STRING, "the message in quotes");
  ARENA_PUSH(p->arena, p->m->checks, p->m->nchecks, c);
}

/* ---- stencils */

/* Reads "(@A, @B)"; returns how many fields there are. */
static int parse_fields(Parser *p, int32_t **out) {
  int n = 0;
  *out = NULL;
  reader_expect(&p->r, "(");
  if (!reader_at(&p->r, ")")) {
    do {
      int32_t field = text_ref(p, module_find_field, "field");
      ARENA_PUSH(p->arena, *out, n, field);
    } while (reader_accept(&p->r, ","));
  }
  reader_expect(&p->r, ")");
  return n;
}

static void parse_piece(Parser *p, Stencil *st) {
  Piece piece = {.loc = p->r.tok.loc};
  reader_expect_word(&p->r, "piece");
  piece.box = text_grid_box(p);
  piece.ntargets = parse_fields(p, &piece.targets);
  piece.body = block_new(p->arena, NULL);
  text_block(p, piece.body);
  ARENA_PUSH(p->arena, st->pieces, st->npieces, piece);
}

/* Parses "along 0 up", of a sweep. */
static void parse_order(Parser *p, Stencil *st) {
  reader_expect_word(&p->r, "along");
  st->along = (int32_t)reader_int(&p->r, 0, MAX_RANK - 1);
  st->sweep = reader_accept_word(&p->r, "down") ? -1 : 1;
  if (st->sweep > 0)
    reader_expect_word(&p->r, "up");
}

static Stencil parse_stencil(Parser *p, Loc at, bool sweeps) {
  Stencil st = {.loc = at};
  if (p->m->level != LEVEL_SIR)
    reader_error(&p->r, at, "a kernel module has no stencils");
  if (!p->has_grid)
    reader_error(&p->r, at, "the grid must be declared before this");
  st.name = reader_expect_kind(&p->r, TOK_SYMBOL, "a name for the stencil (@name)");
  st.ntargets = parse_fields(p, &st.targets);
  if (reader_accept_word(&p->r, "every"))
    st.every = reader_int(&p->r, 1, INT64_MAX);
  if (sweeps)
    parse_order(p, &st);
  if (reader_accept_word(&p->r, "level"))
    st.level = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  if (reader_accept_word(&p->r, "group"))
    st.group = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  if (reader_accept_word(&p->r, "stage"))
    st.stage = (int32_t)reader_int(&p->r, 0, MAX_SIZE);
  st.has_extent = reader_accept_word(&p->r, "extent");
  if (st.has_extent)
    text_extent(p, &st.extent);
  reader_expect(&p->r, "{");
  while (!reader_at(&p->r, "}") && !p->r.failed)
    parse_piece(p, &st);
  reader_expect(&p->r, "}");
  return st;
}

static void parse_time_tile(Parser *p, Loc at) {
  if (p->has_time_tile || p->m->level != LEVEL_SIR)
    reader_error(&p->r, at, p->has_time_tile ? "there is already a time_tile" : "a kernel module has no time_tile");
  p->has_time_tile = true;
  p->m->time_tile = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
}

/* ---- reductions */

/* Reads the kind of `r`, a plain value if none is named. */
static void parse_reduction_kind(Parser *p, Reduction *r) {
  if (reader_accept_word(&p->r, "until"))
    r->kind = REDUCE_UNTIL;
  else if (reader_accept_word(&p->r, "finite"))
    r->kind = REDUCE_FINITE;
  else if (reader_accept_word(&p->r, "bounds"))
    r->kind = REDUCE_BOUNDS;
  r->field = r->kind >= REDUCE_FINITE ? text_ref(p, module_find_field, "field") : -1;
}

/* Parses the code of `r`: its body, or in kernel IR the result's buffer and the launches; and the stop condition. */
static void parse_reduction_code(Parser *p, Reduction *r) {
  if (p->m->level == LEVEL_KIR) {
    reader_expect_word(&p->r, "in");
    r->result = text_ref(p, module_find_buffer, "buffer");
    text_sequence(p, &r->seq);
  } else {
    r->body = block_new(p->arena, NULL);
    text_block(p, r->body);
  }
  if (reader_accept_word(&p->r, "stop")) {
    r->stop = block_new(p->arena, NULL);
    text_block(p, r->stop);
  }
}

/* Parses how values are combined (an op and a type), and over which box. */
static void parse_combined(Parser *p, Opcode *op, Type *type, Box *over) {
  Loc at = p->r.tok.loc;
  *op = opcode_from_name(reader_expect_kind(&p->r, TOK_WORD, "add, mul, min or max"));
  if (*op != OP_ADD && *op != OP_MUL && *op != OP_MIN && *op != OP_MAX)
    reader_error(&p->r, at, "a reduction is add, mul, min or max");
  *type = reader_type(&p->r);
  reader_expect_word(&p->r, "over");
  *over = text_grid_box(p);
}

/* "@total = add f64 over [...] every 100 ..." */
static void parse_reduction(Parser *p, Loc at) {
  Reduction r = {.loc = at};
  r.name = text_new_symbol(p, module_find_reduction, "reduction");
  r.scalar = module_find_scalar(p->m, r.name);
  if (r.scalar < 0)
    reader_error(&p->r, at, "there is no scalar '@%.60s' declared before this for the reduction's value", r.name);
  reader_expect(&p->r, "=");
  parse_combined(p, &r.op, &r.type, &r.over);
  r.each = reader_accept_word(&p->r, "each");
  reader_expect_word(&p->r, "every");
  r.every = reader_int(&p->r, 1, INT64_MAX);
  parse_reduction_kind(p, &r);
  parse_reduction_code(p, &r);
  ARENA_PUSH(p->arena, p->m->reductions, p->m->nreductions, r);
}

/* "@t stage 1 = max f64 over [...] {...}" */
static void parse_update(Parser *p, Loc at) {
  Update u = {.loc = at};
  u.state = text_ref(p, module_find_param_array, "param_array");
  reader_expect_word(&p->r, "stage");
  u.stage = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
  reader_expect(&p->r, "=");
  parse_combined(p, &u.op, &u.type, &u.over);
  u.each = reader_accept_word(&p->r, "each");
  u.body = block_new(p->arena, NULL);
  text_block(p, u.body);
  ARENA_PUSH(p->arena, p->m->updates, p->m->nupdates, u);
}

/* "@pressure up to N stage 1 .. 2 reduce @left" */
static void parse_repeat(Parser *p, Loc at) {
  Repeat r = {.loc = at};
  r.name = text_new_symbol(p, module_find_repeat, "repeat");
  reader_expect_word(&p->r, "up");
  reader_expect_word(&p->r, "to");
  r.most = text_affine(p);
  reader_expect_word(&p->r, "stage");
  r.first = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
  reader_expect(&p->r, "..");
  r.last = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
  if (reader_accept_word(&p->r, "tile"))
    r.tile = (int32_t)reader_int(&p->r, 2, MAX_SIZE);
  text_loop_reductions(p, p->m->nrepeats);
  ARENA_PUSH(p->arena, p->m->repeats, p->m->nrepeats, r);
}

/* ---- lists of points, probes */

/* "@points.1 at [@rx, 8] in [0 .. N - 1, 8] by @points.1 next @points.1.next most 2" */
static void parse_list(Parser *p, Loc at) {
  PointList l = {.next = -1, .loc = at};
  l.name = text_new_symbol(p, module_find_list, "list of points");
  reader_expect_word(&p->r, "at");
  reader_expect(&p->r, "[");
  for (int d = 0; d < p->m->grid.rank; d++) {
    if (d)
      reader_expect(&p->r, ",");
    l.array[d] = -1;
    if (p->r.tok.kind == TOK_SYMBOL)
      l.array[d] = text_ref(p, module_find_param_array, "param_array");
    else if (reader_accept_word(&p->r, "number"))
      l.array[d] = LIST_NUMBER;
    else
      l.at[d] = text_affine(p);
  }
  reader_expect(&p->r, "]");
  reader_expect_word(&p->r, "in");
  l.box = text_grid_box(p);
  reader_expect_word(&p->r, "by");
  l.field = text_ref(p, module_find_field, "field");
  if (reader_accept_word(&p->r, "next"))
    l.next = text_ref(p, module_find_param_array, "param_array");
  if (reader_accept_word(&p->r, "most"))
    l.most = (int32_t)reader_int(&p->r, 1, MAX_SIZE);
  ARENA_PUSH(p->arena, p->m->lists, p->m->nlists, l);
}

/* "@p : f32 over [...] of @points.1 every 4 {...}" */
static void parse_probe(Parser *p, Loc at) {
  Probe x = {.list = -1, .result = -1, .loc = at};
  x.name = text_new_symbol(p, module_find_probe, "probe");
  reader_expect(&p->r, ":");
  x.type = reader_type(&p->r);
  reader_expect_word(&p->r, "over");
  x.box = text_grid_box(p);
  if (reader_accept_word(&p->r, "of"))
    x.list = text_ref(p, module_find_list, "list of points");
  reader_expect_word(&p->r, "every");
  x.every = reader_int(&p->r, 1, INT64_MAX);
  if (reader_accept_word(&p->r, "in"))
    x.result = text_ref(p, module_find_param_array, "param_array");
  if (p->m->level == LEVEL_KIR) {
    text_sequence(p, &x.seq);
  } else {
    x.body = block_new(p->arena, NULL);
    text_block(p, x.body);
  }
  ARENA_PUSH(p->arena, p->m->probes, p->m->nprobes, x);
}

/* ---- modules */

/* Parses an item that both levels have, after its word; false if `word` begins no such item. */
static bool parse_declaration(Parser *p, const char *word, Loc at) {
  if (!strcmp(word, "contract"))
    p->m->contract = true;
  else if (!strcmp(word, "fast_math"))
    p->m->fast_math = true;
  else if (!strcmp(word, "param") || !strcmp(word, "let") || !strcmp(word, "reduction"))
    parse_scalar(p, word, at);
  else if (!strcmp(word, "struct"))
    parse_struct(p);
  else if (!strcmp(word, "param_array"))
    parse_param_array(p, at);
  else if (!strcmp(word, "metric"))
    parse_metric(p, at);
  else if (!strcmp(word, "record"))
    parse_record(p);
  else if (!strcmp(word, "reduce"))
    parse_reduction(p, at);
  else if (!strcmp(word, "points"))
    parse_list(p, at);
  else if (!strcmp(word, "probe"))
    parse_probe(p, at);
  else if (!strcmp(word, "grid"))
    parse_grid(p, at);
  else if (!strcmp(word, "part"))
    parse_part(p, at);
  else if (!strcmp(word, "field"))
    parse_field(p, at);
  else if (!strcmp(word, "check"))
    parse_check(p, at);
  else
    return false;
  return true;
}

/* Reads the module's plan, after the word. */
static void parse_plan(Parser *p, Loc at) {
  Schedule *plan = ARENA_NEW(p->arena, Schedule);
  if (p->m->plan || p->m->level != LEVEL_SIR)
    reader_error(&p->r, at, p->m->plan ? "there is already a plan" : "a kernel module has no plan");
  plan_read(&p->r, plan);
  p->m->plan = plan;
}

/* Reads one item of the module. */
static void parse_item(Parser *p) {
  Loc at = p->r.tok.loc;
  Module *m = p->m;
  const char *word = reader_expect_kind(&p->r, TOK_WORD, "a declaration or '}'");
  bool kir = m->level == LEVEL_KIR;
  if (p->r.failed || parse_declaration(p, word, at))
    return;
  if (!strcmp(word, "time_tile")) {
    parse_time_tile(p, at);
  } else if (!strcmp(word, "plan")) {
    parse_plan(p, at);
  } else if (!strcmp(word, "init") || !strcmp(word, "once")) {
    Stencil st = parse_stencil(p, at, false);
    st.once = !strcmp(word, "once");
    ARENA_PUSH(p->arena, m->inits, m->ninits, st);
  } else if (!strcmp(word, "stencil") || !strcmp(word, "sweep")) {
    Stencil st = parse_stencil(p, at, !strcmp(word, "sweep"));
    ARENA_PUSH(p->arena, m->stencils, m->nstencils, st);
  } else if (!kir && !strcmp(word, "update")) {
    parse_update(p, at);
  } else if (!kir && !strcmp(word, "repeat")) {
    parse_repeat(p, at);
  } else if (!kir && !strcmp(word, "loss")) {
    loss_parse(p, at);
  } else if (!kir && !strcmp(word, "gradient")) {
    by_parse(p, at);
  } else if (kir && !strcmp(word, "buffer")) {
    text_buffer(p);
  } else if (kir && !strcmp(word, "kernel")) {
    text_kernel(p, at);
  } else if (kir && !strcmp(word, "host")) {
    text_host(p, at);
  } else {
    reader_error(&p->r, at, "'%.60s' begins no declaration of a %s module", word, kir ? "kernel" : "stencil");
  }
}

/* Reads the whole text. */
static void parse_module(Parser *p) {
  bool kernel = reader_accept_word(&p->r, "kernel");
  if (!kernel)
    reader_expect_word(&p->r, "stencil");
  reader_expect_word(&p->r, "module");
  p->m = module_new(p->arena, reader_expect_kind(&p->r, TOK_STRING, "the module's name in quotes"),
                    kernel ? LEVEL_KIR : LEVEL_SIR);
  p->m->contract = false;
  reader_expect(&p->r, "{");
  while (!reader_at(&p->r, "}") && !p->r.failed)
    parse_item(p);
  if (!p->has_grid)
    reader_error(&p->r, p->r.tok.loc, "the module has no grid");
  text_find_instead(p);
  reader_expect(&p->r, "}");
  if (p->r.tok.kind != TOK_END)
    reader_error(&p->r, p->r.tok.loc, "expected nothing after the module");
}

Module *module_parse(Arena *a, Diags *d, const char *file, const char *text) {
  Parser *p = ARENA_NEW(a, Parser);
  p->arena = a;
  p->r = reader_start(a, d, diags_add_source(d, file, text), text);
  parse_module(p);
  return p->r.failed || !module_verify(p->m, d) ? NULL : p->m;
}
