/* driver/artifact/header.c: the C header beside a host object. It contains prototypes of the kernels and the time loop
 * as an inline function, so a C program needs only the object and this header. A GPU's launcher (launcher.c) consists
 * of the same text, except for memory and launches. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

#include <string.h>

/* Adds "float *A, float *B": a parameter for each field that lives from step to step, and for each launch-time array.
 */
static void field_parameters(TextWriter *w) {
  for (int f = 0; f < w->m->nfields; f++)
    if (header_field_is_given(w->m, f))
      c_put(w, ", %s *field_%s", header_element(w, f), w->fields[f]);
  for (int i = 0; i < w->m->nparam_arrays; i++)
    if (!array_is_passing(w->m, i))
      c_put(w, ", %s%s *array_%s", array_is_written(w->m, i) ? "" : "const ", c_type(w->m->param_arrays[i].type),
            w->arrays[i]);
}

/* Adds the comment, includes and helpers. Of the program's file only the name is given, not the folder, so the header
 * is the same wherever it is made. */
static void begin(TextWriter *w) {
  const char *file = w->program->file, *slash = strrchr(file, '/');
  c_put(w,
        "/* $.h: the stencil program %s as C functions; goes with %s.o. Made by stc %s. Link with -lm; with -fopenmp "
        "the tiles of a launch run on all cores.\n",
        comment_name(w->arena, slash ? slash + 1 : file), comment_name(w->arena, w->program->name), STC_VERSION);
  c_put(w, " *\n *   $_params p = $_defaults();      params, to be changed as wanted\n");
  c_put(w, " *   $_init(&p, fields...);            where the program has inits\n");
  c_put(w, " *   $_run(&p, 0, steps, fields...);   time steps first_step .. first_step + steps - 1, in place\n");
  c_put(w, " *\n * Fields are dense arrays in C order of the extents that *_extent_* give; launch-time arrays have "
           "*_length_* elements. Vectors and structs are one array a component,\n * older levels of a field arrays of "
           "their own. f16 and bf16 are passed as their bits. Functions return NULL, or what is wrong.\n */\n");
  c_put(w, "#ifndef STC_$_H\n#define STC_$_H\n\n#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include "
           "<stdlib.h>\n#include <string.h>\n\n");
  header_helpers(w);
  c_put(w, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
}

void header_helpers(TextWriter *w) {
  c_put(w, "%s\n", c_helpers);
  for (int i = 0; i < w->m->nchecks; i++)
    if (w->m->checks[i].covered) {
      c_put(w, "%s\n", c_covered);
      break;
    }
}

/* Adds a prototype for each kernel. */
static void prototypes(TextWriter *w) {
  c_put(w, "/* The kernels: each runs one block, numbered by the program's dimensions. args[i] points to the value of "
           "argument i, scratch is aligned to 64. */\n");
  for (int i = 0; i < w->m->nkernels; i++)
    c_put(w, "void %s(void *const *args, const int64_t *block, char *scratch);\n", w->m->kernels[i].name);
  c_put(w, "\n#ifdef __cplusplus\n}\n#endif\n\n");
}

void header_params(TextWriter *w) {
  const Module *m = w->m;
  c_put(w, "/* The program's params, and behind them what is computed from them (set by $_bind). */\ntypedef struct "
           "$_params {\n");
  for (int i = 0; i < m->nscalars; i++)
    c_put(w, "  %s %s;%s\n", c_type(m->scalars[i].type), c_name(w->arena, m->scalars[i].name),
          m->scalars[i].is_param       ? ""
          : m->scalars[i].is_reduction ? "   /* set by runs: the last value */"
                                       : "   /* computed */");
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].each)
      c_put(w,
            "  %s *%s_each;   /* NULL, or room for as many as there are members: runs set it to the last values of %s "
            "*/\n",
            c_type(m->reductions[i].type), c_name(w->arena, m->reductions[i].name), m->reductions[i].name);
  c_put(w, "%s} $_params;\n\n", m->nscalars ? "" : "  int unused;\n");
}

/* Adds the params' defaults, and the scalars that are computed from them. */
static void scalars(TextWriter *w) {
  const Module *m = w->m;
  for (int i = 0; i < m->nscalars; i++) {
    const char *define = scalar_define(w->program, m, i);
    if (!m->scalars[i].expr || define)
      continue;
    c_put(w, "static inline void $_compute_%s($_params *p) {\n%s}\n\n", c_name(w->arena, m->scalars[i].name),
          expression_c_text(w->arena, m, m->scalars[i].expr, "p->",
                            c_text(w, "p->%s", c_name(w->arena, m->scalars[i].name))));
  }
  c_put(w, "/* The defaults; params without one are 0. */\nstatic inline $_params $_defaults(void) {\n  $_params "
           "params, *p = &params;\n  memset(p, 0, sizeof *p);\n");
  Const *values = ARENA_ARRAY(w->arena, Const, m->nscalars + 1);
  bool *known = ARENA_ARRAY(w->arena, bool, m->nscalars + 1);
  scalar_defaults(w->program, m, values, known);
  for (int i = 0; i < m->nscalars; i++) {
    const char *define = scalar_define(w->program, m, i);
    if (define)
      c_put(w, "  p->%s = %s;\n", c_name(w->arena, m->scalars[i].name),
            const_c_text(w->arena, values[i], m->scalars[i].type));
    else if (m->scalars[i].expr)
      c_put(w, "  $_compute_%s(p);\n", c_name(w->arena, m->scalars[i].name));
  }
  c_put(w, "  return params;\n}\n\n");
}

/* A condition, as C text, that the box is not empty; it leaves out dimensions that have one point for all params. */
static const char *not_empty(TextWriter *w, const Box *b) {
  Str s = {w->arena, NULL, 0, 0};
  for (int d = 0; d < b->rank; d++) {
    const char *lo = c_affine(w, b->lo[d]), *hi = c_affine(w, b->hi[d]);
    if (strcmp(lo, hi) != 0)
      str_addf(&s, " && stc_some(%s, %s)", lo, hi);
  }
  return s.s ? s.s : "";
}

/* Adds statements that check the multiples of `k`, if it has no replacement. */
static void check_multiples(TextWriter *w, const Kernel *k) {
  for (int i = 0; i < k->nmultiples && !k->instead; i++) {
    Str value = {.arena = w->arena};
    affine_print(&value, w->m, k->multiples[i].value);
    c_put(w, "  if (!stc_multiple(%s, INT64_C(%lld))) return \"kernel %s needs %s to be a multiple of %lld\";\n",
          c_affine(w, k->multiples[i].value), (long long)k->multiples[i].of, k->name, header_escaped(w->arena, value.s),
          (long long)k->multiples[i].of);
  }
}

/* Adds statements that check that the grid has points in every dimension, and not too many for 64-bit computation. */
static void check_grid(TextWriter *w) {
  const Box *b = &w->m->grid;
  for (int d = 0; d < b->rank; d++) {
    const char *lo = c_affine(w, b->lo[d]), *hi = c_affine(w, b->hi[d]);
    c_put(w, "  if (!stc_within(%s, %s, &bytes)) return \"grid: the bounds of dimension %d lie beyond 2^60\";\n", lo,
          hi, shown_dimension(w->m, d));
    if (w->m->members && d == 0)
      c_put(w, "  if (%s < %s) return \"the program has no members; there is one at least\";\n", hi, lo);
    else
      c_put(w,
            "  if (%s < %s) return \"dimension %d of the grid is empty: a grid needs at least one point in every "
            "dimension\";\n",
            hi, lo, shown_dimension(w->m, d));
  }
}

/* Does its value fit into 64 bits for all params? */
static bool always_fits(Affine x) { return x.n == 0 || (x.n == 1 && x.t[0].coef == 1 && x.c == 0); }

/* Adds statements that check that the numbers of bytes of all fields and launch-time arrays fit into 64 bits. */
static void check_sizes(TextWriter *w) {
  const Module *m = w->m;
  for (int f = 0; f < m->nfields; f++) {
    const Box *b = &m->fields[f].box;
    const char *name = header_escaped(w->arena, m->fields[f].name);
    c_put(w, "  bytes = (int64_t)sizeof(%s);\n", header_element(w, f));
    for (int d = 0; d < b->rank; d++)
      c_put(w, "  if (!stc_within(%s, %s, &bytes)) return \"field %s: the bounds of dimension %d lie beyond 2^60\";\n",
            c_affine(w, b->lo[d]), c_affine(w, b->hi[d]), name, d);
    c_put(w, "  if (bytes > INT64_MAX / 2) return \"field %s has too many points for 64-bit addresses\";\n", name);
  }
  for (int i = 0; i < m->nparam_arrays; i++) {
    const ParamArray *a = &m->param_arrays[i];
    const char *n = c_affine(w, a->extent);
    const char *far = always_fits(a->extent) ? "" : c_text(w, "%s == INT64_MIN || ", n);
    if (a->extent.n)
      c_put(w,
            "  if (%sstc_area(stc_imax(%s, 0), (int64_t)sizeof(%s)) > INT64_MAX / 2) return \"array %s has too many "
            "elements for 64-bit addresses\";\n",
            far, n, c_type(a->type), header_escaped(w->arena, a->name));
  }
}

/* Adds statements that check that the number of blocks of kernel `k` fits into 64 bits. */
static void check_blocks(TextWriter *w, const Kernel *k) {
  for (int d = 0; d < k->rank; d++)
    if (!always_fits(k->extent[d]))
      c_put(w, "  if (%s == INT64_MIN) return \"kernel %s: its extent in dimension %d overflows 64 bits\";\n",
            c_affine(w, k->extent[d]), k->name, d);
}

/* Adds the function that computes the lets and checks the params. */
static void bind(TextWriter *w) {
  const Module *m = w->m;
  c_put(w, "/* Computes what depends on the params and checks them. */\nstatic inline const char *$_bind($_params *p) "
           "{\n  int64_t bytes = 0;\n  (void)p;\n");
  for (int i = 0; i < m->nscalars; i++)
    if (m->scalars[i].expr && !m->scalars[i].is_param)
      c_put(w, "  $_compute_%s(p);\n", c_name(w->arena, m->scalars[i].name));
  check_grid(w);
  check_sizes(w);
  for (int i = 0; i < m->nchecks; i++) {
    const Check *c = &m->checks[i];
    c_put(w, c->covered ? "  if (!%s" : "  if (%s < 0",
          c->covered ? covered_c_text(w->arena, m, c->covered, "p->") : c_affine(w, c->value));
    for (int j = 0; j < MAX_UNLESS; j++)
      if (c->unless_empty[j])
        str_add(&w->s, not_empty(w, c->unless_empty[j]));
    c_put(w, ") return \"%s\";\n", header_escaped(w->arena, c->message));
  }
  for (int i = 0; i < m->nkernels; i++) {
    check_multiples(w, &m->kernels[i]);
    check_blocks(w, &m->kernels[i]);
  }
  c_put(w, "  return NULL;\n}\n\n");
}

/* Adds the functions for extents and element counts of fields and arrays. */
static void extents(TextWriter *w) {
  for (int f = 0; f < w->m->nfields; f++) {
    const Field *field = &w->m->fields[f];
    c_put(w,
          "/* Points of field %s along dimension d (0 slowest). */\nstatic inline int64_t $_extent_%s(const $_params "
          "*p, int d) {\n  int64_t n = 0;\n  (void)p;\n",
          field->name, w->fields[f]);
    for (int d = 0; d < field->box.rank; d++)
      c_put(w, "  if (d == %d) n = %s;\n", d, c_affine(w, box_extent(w->arena, &field->box, d)));
    c_put(w,
          "  return n < 0 ? 0 : n;\n}\nstatic inline int64_t $_size_%s(const $_params *p) {\n  int64_t n = "
          "$_extent_%s(p, 0);\n",
          w->fields[f], w->fields[f]);
    for (int d = 1; d < field->box.rank; d++)
      c_put(w, "  n = stc_area(n, $_extent_%s(p, %d));\n", w->fields[f], d);
    c_put(w, "  return n;\n}\n\n");
  }
  for (int i = 0; i < w->m->nparam_arrays; i++) {
    if (array_is_passing(w->m, i))
      continue;
    const ParamArray *a = &w->m->param_arrays[i];
    c_put(w, "/* Elements of launch-time array %s", a->name);
    if (array_has_rows(a)) {
      c_put(w, ", in rows of ");
      affine_print(&w->s, w->m, a->columns);
    }
    c_put(w,
          ". If there are none, it may be NULL. */\nstatic inline int64_t $_length_%s(const $_params *p) {\n  const "
          "int64_t n = %s;\n  (void)p;\n  return n < 0 ? 0 : n;\n}\n\n",
          w->arrays[i], c_affine(w, a->extent));
  }
}

/* Adds the struct that holds a run's buffers. */
static void state(TextWriter *w) {
  c_put(w,
        "/* The memory of a run: a pointer for each buffer. */\ntypedef struct $_state {\n  $_params *p;\n  int64_t "
        "step;\n  void *buffer[%d];\n",
        w->m->nbuffers ? w->m->nbuffers : 1);
  if (w->gpu)
    c_put(w, "  void *home[%d];   /* where the caller's arrays are on the device */\n",
          w->m->nbuffers ? w->m->nbuffers : 1);
  if (module_has_busy(w->m))
    c_put(w, "  int64_t live[%d];   /* blocks of each kernel that have something to do, -1: all */\n", w->m->nkernels);
  c_put(w, "} $_state;\n\n");
}

/* Adds one launch function for kernel `k`. */
static void launch(TextWriter *w, const Kernel *k, int number) {
  long long scratch = (long long)(kernel_shared_bytes(k) + 63) / 64 * 64;
  c_put(w,
        "/* All blocks of kernel %s. */\nstatic inline const char *$_launch_%s($_state *s) {\n  const $_params *p = "
        "s->p;\n",
        k->name, k->name);
  header_arguments(w, k);
  c_put(w, "%s  int failed = 0;\n  (void)p;\n", header_blocks_text(k));
  header_choose(w, k);
  header_live_blocks(w, number);
  c_put(w, "#ifdef _OPENMP\n#pragma omp parallel reduction(| : failed)\n#endif\n  {\n"
           "    int64_t i;\n");
  c_put(w,
        "    char *memory = (char *)malloc(%lld), *scratch = memory ? memory + (64 - (uintptr_t)memory %% 64) : "
        "NULL;\n    failed |= !scratch;\n",
        scratch + 64);
  int rank = k->rank;
  c_put(w,
        "#ifdef _OPENMP\n#pragma omp for schedule(dynamic)\n#endif\n"
        "    for (i = 0; i < total; i++) {\n"
        "      int64_t block[%d];\n",
        rank > GRID_RANK ? rank : GRID_RANK);
  if (rank > GRID_RANK)
    c_put(w, "      block[0] = i / blocks[3] / blocks[2] / blocks[1], block[1] = i / blocks[3] / blocks[2] %% "
             "blocks[1], block[2] = i / blocks[3] %% blocks[2], block[3] = i %% blocks[3];\n");
  if (rank == 1)
    c_put(w, "      block[0] = i, block[1] = block[2] = 0;\n");
  if (rank == 2)
    c_put(w, "      block[0] = i / blocks[1], block[1] = i %% blocks[1], block[2] = 0;\n");
  if (rank == 3)
    c_put(w, "      block[0] = i / (blocks[1] * blocks[2]), block[1] = i / blocks[2] %% blocks[1], block[2] = i %% "
             "blocks[2];\n");
  c_put(w,
        "      if (scratch) %s(args, block, scratch);\n    }\n    free(memory);\n  }\n  return failed ? \"out of "
        "memory\" : NULL;\n}\n\n",
        k->name);
}

/* Adds the launch functions, first those of kernels that accept any params, because the others call them. */
static void launches(TextWriter *w) {
  for (int later = 0; later < 2; later++)
    for (int i = 0; i < w->m->nkernels; i++)
      if ((w->m->kernels[i].nmultiples > 0) == later)
        w->gpu ? launcher_launch(w, &w->m->kernels[i], i) : launch(w, &w->m->kernels[i], i);
}

/* Adds statements that make buffer `b` the caller's array number `array`. Kernels read one element even of an empty
 * array, so its buffer is a single 0. */
static void open_array(TextWriter *w, int b, int array) {
  c_put(
      w,
      "  static const double none%d = 0;\n  s->buffer[%d] = $_length_%s(p) > 0 ? (void *)array_%s : (void *)&none%d;\n",
      b, b, w->arrays[array], w->arrays[array], b);
}

/* Adds statements that set the memory of buffer `b`: the caller's array, or new memory. */
static void open_buffer(TextWriter *w, int b) {
  const Buffer *buffer = &w->m->buffers[b];
  if (w->gpu) {
    launcher_open_buffer(w, b);
    return;
  }
  if (buffer->kind == BUFFER_PARAM) {
    open_array(w, b, buffer->field);
    return;
  }
  if (header_is_given(w->m, b)) {
    c_put(w, "  s->buffer[%d] = field_%s;\n", b, w->fields[buffer->field]);
    return;
  }
  c_put(w, "  void *own%d = malloc(sizeof(%s) * (size_t)", b, c_type(buffer_type(w->m, b)));
  if (buffer->kind == BUFFER_FIELD)
    c_put(w, "$_size_%s(p)", w->fields[buffer->field]);
  else
    str_add(&w->s, header_cells(w, buffer));
  c_put(w, " + 1);\n  s->buffer[%d] = own%d;\n  if (!own%d) e = \"out of memory\";\n", b, b, b);
}

/* Adds statements that set up `s`: the caller's arrays as copy 0, new memory for the rest. */
static void open_state(TextWriter *w) {
  const Module *m = w->m;
  c_put(w, "  $_params bound = *params;\n  const $_params *p = &bound;\n  $_state state, *s = &state;\n  const char *e "
           "= $_bind(&bound);\n  if (e) return e;\n  memset(s, 0, sizeof state);\n  s->p = &bound;\n  (void)p;\n");
  if (module_has_busy(m))
    c_put(w, "  for (int i = 0; i < %d; i++) s->live[i] = -1;\n", m->nkernels);
  if (w->gpu)
    c_put(w, "  e = $_open();\n");
  for (int b = 0; b < m->nbuffers; b++)
    open_buffer(w, b);
  for (int i = 0; i < m->nparam_arrays; i++)
    if (!array_is_passing(m, i))
      c_put(w, "  (void)array_%s;\n", w->arrays[i]);
}

/* Adds statements that put the results into the caller's arrays and free the rest. set: the fields that inits have set;
 * NULL: after steps. */
static void close_state(TextWriter *w, const bool *set) {
  const Module *m = w->m;
  for (int f = 0; f < m->nfields; f++) {
    int b = module_field_buffer(m, f, 0);
    if (!header_field_is_given(m, f))
      continue;
    if (b >= 0 && w->gpu)
      launcher_close_buffer(w, b, header_is_swapped(m, b), set && set[f]);
    else if (b >= 0 && header_is_swapped(m, b))
      c_put(w, "  if (!e) stc_settle(s->buffer, %d, %d, field_%s, sizeof(%s) * (size_t)$_size_%s(p));\n",
            (int)m->nbuffers, b, w->fields[f], header_element(w, f), w->fields[f]);
    if (b < 0)
      c_put(w, "  (void)field_%s;\n", w->fields[f]);
  }
  for (int b = 0; b < m->nbuffers; b++)
    if (w->gpu && m->buffers[b].kind == BUFFER_PARAM)
      launcher_close_buffer(w, b, false, false);
    else if (!w->gpu && !header_is_given(m, b))
      c_put(w, "  free(own%d);\n", b);
  if (w->gpu)
    c_put(w, "  if (!e) e = stc_gpu_finish(&$_gpu.gpu);\n");
  c_put(w, "  return e;\n}\n\n");
}

/* Adds the init function, if there is something to do. */
static void init(TextWriter *w) {
  if (w->m->host.init.nops == 0)
    return;
  c_put(w,
        "/* Runs the program's inits, and starts older levels as what their fields are: fill the fields that have no "
        "init before. Points that no init sets become 0. */\nstatic inline const char *$_init(const $_params *params");
  field_parameters(w);
  c_put(w, ") {\n");
  open_state(w);
  bool *has = ARENA_ARRAY(w->arena, bool, w->m->nfields + 1);
  fields_with_init(w->m, has);
  for (int f = 0; f < w->m->nfields; f++)
    if (has[f] && header_field_is_given(w->m, f) && w->gpu)
      launcher_clear(w, f);
    else if (has[f] && header_field_is_given(w->m, f))
      c_put(w, "  memset(field_%s, 0, sizeof(%s) * (size_t)$_size_%s(p));\n", w->fields[f], header_element(w, f),
            w->fields[f]);
  header_sequence(w, &w->m->host.init, "  ");
  close_state(w, has);
}

/* ---------------------------------------------------------------- lists of points and probes */

/* Adds statements that compute `cell`, the number of the cell of list `l` at the position of its point number i, and
 * leave the function if there is none. */
static void point_cell(TextWriter *w, const PointList *l) {
  const Module *m = w->m;
  for (int d = 0; d < m->grid.rank; d++) {
    const char *lo = c_affine(w, l->box.lo[d]), *hi = c_affine(w, l->box.hi[d]),
               *x = l->array[d] == LIST_NUMBER ? c_text(w, "%s + i", lo)
                    : l->array[d] < 0          ? c_affine(w, l->at[d])
                                               : c_text(w, "array_%s[i]", w->arrays[l->array[d]]);
    c_put(w,
          "    if ((int64_t)(%s) < %s || (int64_t)(%s) > %s) return \"a point of the list is outside of its "
          "region\";\n    cell = cell * (%s - (%s) + 1) + ((int64_t)(%s) - (%s));\n",
          x, lo, x, hi, hi, lo, x, lo);
  }
}

/* Adds the function that computes the data that kernels read for list `l` from the arrays of its coordinates. */
static void fill_list(TextWriter *w, const PointList *l) {
  const Module *m = w->m;
  int first = 0;
  c_put(w,
        "/* Makes what kernels read of the list of points %s from its coordinates: call it before *_init and *_run, "
        "and again when coordinates change. */\nstatic inline const char *$_fill_%s(const $_params *params, int32_t "
        "*field_%s",
        l->name, w->fields[l->field], w->fields[l->field]);
  if (l->next >= 0)
    c_put(w, ", int32_t *array_%s", w->arrays[l->next]);
  for (int d = 0; d < m->grid.rank; d++)
    if (l->array[d] >= 0)
      c_put(w, ", const %s *array_%s", c_type(m->param_arrays[l->array[d]].type), w->arrays[l->array[d]]);
  while (first < m->grid.rank && l->array[first] < 0)
    first++;
  const char *n =
      first < m->grid.rank ? c_text(w, "$_length_%s(p)", w->arrays[l->array[first]]) : c_affine(w, list_extent(m, l));
  c_put(w,
        ") {\n  $_params bound = *params;\n  const $_params *p = &bound;\n  const char *e = $_bind(&bound);\n  const "
        "int64_t n = %s;\n  int64_t i;\n  if (e) return e;\n  memset(field_%s, 0, sizeof(int32_t) * "
        "(size_t)$_size_%s(p));\n",
        n, w->fields[l->field], w->fields[l->field]);
  c_put(w, "  for (i = 0; i < n; i++) {\n    int64_t cell = 0, there = 0;\n    int32_t *at;\n");
  point_cell(w, l);
  c_put(w, "    at = &field_%s[cell];\n", w->fields[l->field]);
  if (l->next >= 0)
    c_put(w, "    array_%s[i] = 0;\n    for (; *at; there++) at = &array_%s[*at - 1];\n    *at = (int32_t)(i + 1);\n",
          w->arrays[l->next], w->arrays[l->next]);
  else
    c_put(w, "    there = *at != 0;\n    if (!there) *at = (int32_t)(i + 1);\n");
  c_put(w, "    if (%d && there >= %d) return \"too many points of the list are at one place\";\n  }\n", (int)l->most,
        (int)l->most);
  c_put(w, "  return NULL;\n}\n\n");
}

/* Adds the checks for probe `p`, and its work at the start of a run. */
static void probe_start(TextWriter *w, const Probe *p) {
  c_put(w, "  if (first_step == 0) {\n");
  header_sequence(w, &p->seq, "    ");
  c_put(w,
        "  }\n  if (!e && (first_step + steps) / INT64_C(%lld) - first_step / INT64_C(%lld) + (first_step == 0) > "
        "%d)\n    e = \"so many steps write a row of the series of probe %s twice: make fewer at once\";\n",
        (long long)p->every, (long long)p->every, (int)SERIES_ROWS, p->name);
}

/* Adds the comment that explains the layout of the series of probes. */
static void about_probes(TextWriter *w) {
  for (int i = 0; i < w->m->nprobes; i++) {
    const Probe *p = &w->m->probes[i];
    c_put(w,
          "/* What probe %s sees when s steps are done, s a multiple of %lld, is row s / %lld %% %d of array_%s, which "
          "has %d rows. A row has an\n * element for each point of its list%s%s. */\n",
          p->name, (long long)p->every, (long long)p->every, (int)SERIES_ROWS, w->arrays[p->result], (int)SERIES_ROWS,
          p->list < 0 ? ", here 1" : ", at the place of the first point of the list that is where it is: field_",
          p->list < 0 ? "" : w->fields[w->m->lists[p->list].field]);
  }
}

/* Adds the comment that tells what the arrays of scalars hold. */
static void about_states(TextWriter *w) {
  for (int i = 0; i < w->m->nparam_arrays; i++) {
    const ParamArray *a = &w->m->param_arrays[i];
    if (a->role == ARRAY_STATE && a->first >= 0)
      c_put(
          w,
          "/* array_%s holds scalar %s, one element%s: before step 0 the run makes it params->%s, else it is what the "
          "run before left. */\n",
          w->arrays[i], a->name, a->each ? " for each member" : "", c_name(w->arena, w->m->scalars[a->first].name));
  }
}

/* Adds statements that set the scalars which are kept between runs, if the first step of the run is step 0. */
static void first_states(TextWriter *w) {
  for (int b = 0; b < w->m->nbuffers; b++) {
    const Buffer *buffer = &w->m->buffers[b];
    const ParamArray *a = buffer->kind == BUFFER_PARAM ? &w->m->param_arrays[buffer->field] : NULL;
    if (!a || a->role != ARRAY_STATE || a->first < 0)
      continue;
    const char *name = c_name(w->arena, w->m->scalars[a->first].name),
               *at = a->each ? c_text(w, "(char *)s->buffer[%d] + (size_t)i * sizeof bound.%s", b, name)
                             : c_text(w, "s->buffer[%d]", b);
    if (a->each)
      c_put(w, "  for (int64_t i = 0; i < %s && !e && first_step == 0; i++)\n  ", c_affine(w, a->extent));
    if (w->gpu)
      c_put(w,
            "  if (!e && first_step == 0) e = stc_gpu_error(stc_gpu_in(%s, &bound.%s, sizeof bound.%s), "
            "\"copying to the device\");\n",
            at, name, name);
    else
      c_put(w, "  if (!e && first_step == 0) memcpy(%s, &bound.%s, sizeof bound.%s);\n", at, name, name);
  }
}

/* Adds the comment that tells which frames the fields with frames hold. */
static void about_frames(TextWriter *w) {
  for (int f = 0; f < w->m->nfields; f++) {
    const Field *x = &w->m->fields[f];
    if (x->frames)
      c_put(w,
            "/* field_%s holds frame s / %lld%s of a series in step s: a run ends before the step with which the next "
            "frame begins, and is called again with that. */\n",
            w->fields[f], (long long)x->frames, x->ahead ? " + 1" : "");
  }
}

/* Adds statements that refuse a run for which a field needs more than one frame. */
static void check_frames(TextWriter *w) {
  for (int f = 0; f < w->m->nfields; f++) {
    const Field *x = &w->m->fields[f];
    if (x->frames && !x->ahead)
      c_put(w,
            "  if (steps > 0 && first_step / INT64_C(%lld) != (first_step + steps - 1) / INT64_C(%lld))\n    return "
            "\"field %s gets its next frame within these steps: run up to there, and go on with that\";\n",
            (long long)x->frames, (long long)x->frames, header_escaped(w->arena, x->name));
  }
}

/* ---------------------------------------------------------------- the time loop */

/* Adds comment, name and parameters of the run function. */
static void begin_run(TextWriter *w) {
  bool reduce = w->m->nreductions > 0;
  c_put(w,
        "/* Runs `steps` time steps, after `first_step` that were made before.%s */\nstatic inline const char "
        "*$_run(%s$_params *params, int64_t first_step, int64_t steps",
        reduce ? " Reductions leave their values in *params. *done (may be NULL): steps made, fewer if the "
                 "condition of an `until` was met, and after "
                 "an error the steps after which it was found."
               : "",
        reduce ? "" : "const ");
  field_parameters(w);
  str_add(&w->s, reduce ? ", int64_t *done) {\n" : ") {\n");
}

/* Adds the function that makes steps. */
static void run(TextWriter *w) {
  const Module *m = w->m;
  about_probes(w);
  about_states(w);
  about_frames(w);
  begin_run(w);
  c_put(w, "  const char *wrong = stc_check_steps(first_step, steps);\n  if (wrong) return wrong;\n");
  check_frames(w);
  open_state(w);
  c_put(w, "  s->step = first_step;\n");
  first_states(w);
  header_sequence(w, &m->host.once, "  ");
  if (module_has_busy(m))
    c_put(w, "  if (!e) e = $_find_live(s);\n");
  for (int i = 0; i < m->nprobes; i++)
    probe_start(w, &m->probes[i]);
  c_put(w, "  if (!e) e = $_steps(s, first_step + steps);\n");
  for (int i = 0; i < m->nscalars; i++) {
    const char *name = c_name(w->arena, m->scalars[i].name);
    if (m->scalars[i].is_reduction)
      c_put(w, "  params->%s = bound.%s;\n", name, name);
  }
  if (m->nreductions)
    c_put(w, "  if (done) *done = s->step - first_step;\n");
  close_state(w, NULL);
}

void header_scalars(TextWriter *w) {
  scalars(w);
  bind(w);
  extents(w);
  for (int i = 0; i < w->m->nlists; i++)
    fill_list(w, &w->m->lists[i]);
  for (int i = 0; i < w->m->nparam_arrays; i++)
    if (w->m->param_arrays[i].role == ARRAY_WEIGHTS)
      header_fill_weights(w, i);
    else if (w->m->param_arrays[i].role == ARRAY_VALUES)
      header_fill_values(w, i);
}

void header_runs(TextWriter *w) {
  state(w);
  launches(w);
  header_find_live(w);
  init(w);
  header_loops(w);
  run(w);
}

char *header_text(Workspace *ws, const StcProgram *p, const Module *m) {
  TextWriter w = header_writer(ws->arena, p, m, NULL);
  begin(&w);
  prototypes(&w);
  header_params(&w);
  header_scalars(&w);
  header_runs(&w);
  if (p->forward)
    header_gradient(&w, p->forward, p->forward->kernels);
  str_add(&w.s, "#endif\n");
  return w.s.s;
}
