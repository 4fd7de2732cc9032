/* driver/artifact/manifest.c: the manifest of an artifact as JSON, with all that other launchers need. docs/manifest.md
 * describes each member. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/manifest.h"
#include "driver/files/files.h"
#include "driver/program/program.h"

#include <llvm/Config/llvm-config.h>
#include <stdlib.h>
#include <string.h>

enum {
  SCHEMA_VERSION = 4,
  SCHEMA_WITH_POINTS = 5,
  SCHEMA_WITH_OVER = 6,
  SCHEMA_WITH_WEIGHTS = 7,
  SCHEMA_WITH_STATES = 8,
  SCHEMA_WITH_VALUES = 9,
  SCHEMA_WITH_LOOPS = 10,
  SCHEMA_WITH_FRAMES = 11, /* or weights at half points */
  SCHEMA_WITH_NUMBERS = 12,
  SCHEMA_WITH_CLUSTERS = 13,
  SCHEMA_WITH_EACH = 14,
  SCHEMA_WITH_FOUR = 15,
  SCHEMA_WITH_OWN_SCALARS = 16,
  SCHEMA_WITH_ONCE = 17,
  SCHEMA_WITH_GRADIENT = 18
};

/* ---------------------------------------------------------------- declarations */

/* The grid's region, and the program's distances: for each dimension the name of the scalar with the distance of two
 * points, or of the array of their coordinates; the name of the scalar with the time step. */
static json_t *whole_grid(const ManifestWriter *w) {
  const Module *m = w->m;
  const Metric *x = &m->metric;
  json_t *o = manifest_box(w, &m->grid), *list = json_array();
  for (int d = 0; d < m->grid.rank; d++) {
    int32_t at = x->coordinates[d];
    if (at)
      json_array_append_new(list, json_pack("{s:s}", "array", m->param_arrays[at - 1].name));
    else if (x->spacing[d])
      json_array_append_new(list, json_string(m->scalars[x->spacing[d] - 1].name));
  }
  if (json_array_size(list))
    set(o, "spacing", list);
  else
    json_decref(list);
  if (x->step)
    set(o, "step", json_string(m->scalars[x->step - 1].name));
  return o;
}

/* The number of points of `b` along dimension d. */
static Affine extent(const ManifestWriter *w, const Box *b, int d) { return box_extent(w->arena, b, d); }

/* The extent of field `f` in memory along dimension d; that of a row is its pitch. */
static Affine memory_extent(const ManifestWriter *w, const Field *f, int d) {
  bool row = d == f->box.rank - 1 && f->pitch;
  return row ? affine_scalar(w->arena, f->pitch - 1) : extent(w, &f->box, d);
}

/* Params and lets, in the order in which they must be computed. */
static json_t *scalars(const ManifestWriter *w) {
  const Module *m = w->m;
  Const *values = ARENA_ARRAY(w->arena, Const, m->nscalars + 1);
  bool *known = ARENA_ARRAY(w->arena, bool, m->nscalars + 1);
  json_t *list = json_array();
  scalar_defaults(w->program, m, values, known);
  for (int i = 0; i < m->nscalars; i++) {
    const Scalar *s = &m->scalars[i];
    json_t *o = OBJECT("name", json_string(s->name), "kind",
                       json_string(s->is_param       ? "param"
                                   : s->is_reduction ? "reduction"
                                                     : "let"),
                       "type", json_string(type_name(s->type)));
    if (s->is_param)
      set(o, "default", known[i] ? manifest_constant(values[i], s->type) : json_null());
    if (s->expr && !scalar_define(w->program, m, i))
      set(o, "expression", manifest_expression(w, s->expr));
    json_array_append_new(list, o);
  }
  return list;
}

/* Distance in elements between neighbours along dimension d, as text. */
static const char *stride_text(const ManifestWriter *w, const Field *f, int d) {
  Str s = {w->arena, NULL, 0, 0};
  for (int e = d + 1; e < f->box.rank; e++)
    str_addf(&s, s.n ? " * max(%s, 0)" : "max(%s, 0)", manifest_affine_text(w, memory_extent(w, f, e)));
  return s.s ? s.s : "1";
}

/* The strides of field `f`, in elements. */
static json_t *strides(const ManifestWriter *w, const Field *f) {
  json_t *list = json_array();
  for (int d = 0; d < f->box.rank; d++)
    json_array_append_new(list, json_string(stride_text(w, f, d)));
  return list;
}

/* "none", "clamp" and so on. */
static const char *rule_name(OutsideRule r) { return r == OUTSIDE_CONST ? "constant" : outside_name(r); }

/* The rule beyond one side of field `f`, as an object. */
static json_t *side(const ManifestWriter *w, const Field *f, const Side *s) {
  json_t *o = json_object();
  set(o, "rule", json_string(s->rule == OUTSIDE_HALF ? outside_name(OUTSIDE_MIRROR) : rule_name(s->rule)));
  if (s->rule == OUTSIDE_MIRROR || s->rule == OUTSIDE_HALF) {
    SET(o, "half", json_boolean(s->rule == OUTSIDE_HALF), "odd", json_boolean(s->odd));
  }
  if (s->about)
    set(o, "about", json_string(w->m->scalars[s->about - 1].name));
  else if (s->is_about)
    set(o, "about", manifest_constant(s->value, f->type));
  if (s->rule == OUTSIDE_CONST)
    set(o, "value", manifest_constant(s->value, f->type));
  return o;
}

/* Sets the rules beyond the edges of field `f` in its object `o`: one rule, or two for each dimension. */
static void set_outside(const ManifestWriter *w, const Field *f, json_t *o) {
  json_t *list = json_array();
  if (outside_uniform(f, f->box.rank) && outside_end(f->outside[0], 0) == outside_end(f->outside[0], 1)) {
    set(o, "outside", json_string(rule_name(f->outside[0])));
    if (f->outside[0] == OUTSIDE_CONST)
      set(o, "outside_value", manifest_constant(f->outside_value, f->type));
    json_decref(list);
    return;
  }
  for (int d = 0; d < f->box.rank; d++) {
    json_t *pair = json_array();
    for (int end = 0; end < 2; end++) {
      Side plain = {.rule = outside_end(f->outside[d], end), .value = f->outside_value};
      json_array_append_new(pair, side(w, f, f->sides ? &f->sides[2 * d + end] : &plain));
    }
    json_array_append_new(list, pair);
  }
  SET(o, "outside", json_string("by side"), "sides", list);
}

/* Sets in the object `o` of field `f`, of a part of a grid, when it is exchanged. */
static void set_exchange(const ManifestWriter *w, const Field *f, json_t *o) {
  static const char *const when[] = {"never", "once", "steps"};
  SET(o, "exchange", json_string(when[f->exchange]), "whole", manifest_box(w, f->whole), "ring", json_boolean(f->ring));
  if (f->share)
    SET(o, "share", json_string(f->share == SHARE_GATHERED ? "gathered" : "all"));
}

/* The part of a grid that the module is for. */
static json_t *part(const ManifestWriter *w, const GridPart *p) {
  json_t *o = json_object(), *lo = json_array(), *hi = json_array();
  for (int d = 0; d < p->own.rank; d++) {
    json_array_append_new(lo, json_integer(p->reach.lo[d]));
    json_array_append_new(hi, json_integer(p->reach.hi[d]));
  }
  SET(o, "own", manifest_box(w, &p->own), "whole", manifest_box(w, &p->whole), "reach_lower", lo, "reach_upper", hi,
      "steps", json_string(w->m->scalars[p->steps].name), "gives", manifest_box(w, &p->gives));
  return o;
}

/* Field number `i`. */
static json_t *field(const ManifestWriter *w, int i, bool has_init) {
  const Module *m = w->m;
  const Field *f = &m->fields[i];
  const Record *r = record_of(m, i);
  json_t *o = json_object(), *extents = json_array();
  for (int d = 0; d < f->box.rank; d++)
    json_array_append_new(extents, manifest_affine(w, extent(w, &f->box, d)));
  SET(o, "name", json_string(f->name), "type", json_string(type_name(f->type)), "npy",
      json_string(npy_descr((StcType)f->type)));
  if (r)
    SET(o, "component_of", json_string(r->name), "component", json_integer(i - r->first));
  SET(o, "region", manifest_box(w, &f->box), "extents", extents, "strides", strides(w, f), "units",
      json_string("elements"));
  set_outside(w, f, o);
  if (f->past)
    SET(o, "history_of", json_string(m->fields[f->present].name), "level", json_integer(f->past));
  SET(o, "input", json_boolean(f->input), "temp", json_boolean(f->temp));
  if (f->frames)
    set(o, "frames", json_pack("{s:I, s:b}", "every", (json_int_t)f->frames, "cycle", (int)f->cycle));
  if (f->ahead)
    set(json_object_get(o, "frames"), "ahead_of", json_string(m->fields[module_frames_of(m, i)].name));
  if (f->derived)
    set(o, "derived", json_true());
  if (field_made_once(m, i))
    set(o, "once", json_true());
  set(o, "init", json_boolean(has_init && !field_made_once(m, i)));
  if (f->whole)
    set_exchange(w, f, o);
  return o;
}

/* All fields. */
static json_t *fields(const ManifestWriter *w) {
  json_t *list = json_array();
  bool *init = ARENA_ARRAY(w->arena, bool, w->m->nfields + 1);
  fields_with_init(w->m, init);
  for (int i = 0; i < w->m->nfields; i++)
    json_array_append_new(list, field(w, i, init[i]));
  return list;
}

/* The fields of vectors and structs that passes have split into components. */
static json_t *records(const ManifestWriter *w) {
  const StcProgram *p = w->program;
  json_t *list = json_array();
  for (int i = 0; i < p->ndeclared; i++) {
    const Declared *d = &p->declared[i];
    int r = module_find_record(w->m, d->name);
    if (r < 0)
      continue;
    json_t *o = json_object(), *parts = json_array(), *axes = json_array();
    for (int k = 0; k < d->naxes; k++)
      json_array_append_new(axes, json_integer(d->axes[k]));
    for (int c = 0; c < d->ncomponents; c++)
      json_array_append_new(parts,
                            json_pack("{s:s, s:s, s:I}", "field", w->m->fields[w->m->records[r].first + c].name, "path",
                                      d->components[c].path, "offset", (json_int_t)d->components[c].offset));
    SET(o, "name", json_string(d->name), "type", json_string(d->type_name), "npy", json_string(d->dtype), "npy_axes",
        axes, "point_bytes", json_integer(d->point_bytes), "components", parts);
    json_array_append_new(list, o);
  }
  return list;
}

/* The structs that types name, with their members in order. */
static json_t *structs(const ManifestWriter *w) {
  const Module *m = w->m;
  json_t *list = json_array();
  for (int i = 0; i < m->ncomposites; i++) {
    const Composite *c = &m->composites[i];
    if (!c->name)
      continue;
    json_t *o, *members = json_array();
    for (int k = 0; k < c->n; k++)
      json_array_append_new(members, json_pack("{s:s, s:s}", "name", c->members[k].name, "type",
                                               type_text(m, c->members[k].type)));
    o = json_pack("{s:s}", "name", c->name);
    set(o, "members", members);
    json_array_append_new(list, o);
  }
  return list;
}

/* The word for the role of an array. */
static const char *role_word(ArrayRole role) {
  return role == ARRAY_NEXT     ? "next"
         : role == ARRAY_SERIES ? "series"
         : role == ARRAY_STATE  ? "state"
         : role == ARRAY_VALUES ? "values"
                                : "weights";
}

/* The launch-time arrays. */
static json_t *arrays(const ManifestWriter *w) {
  json_t *list = json_array();
  for (int i = 0; i < w->m->nparam_arrays; i++) {
    const ParamArray *p = &w->m->param_arrays[i];
    if (array_is_passing(w->m, i))
      continue;
    json_t *o = OBJECT("name", json_string(p->name), "type", json_string(type_name(p->type)), "npy",
                       json_string(npy_descr((StcType)p->type)), "extent", manifest_affine(w, p->extent));
    if (array_has_rows(p))
      set(o, "shape", json_pack("[o, o]", manifest_affine(w, p->rows), manifest_affine(w, p->columns)));
    if (p->role != ARRAY_GIVEN)
      set(o, "role", json_string(role_word(p->role)));
    if (p->role == ARRAY_STATE && p->first >= 0)
      set(o, "first", json_string(w->m->scalars[p->first].name));
    if (p->each)
      set(o, "each", json_true());
    if (p->role == ARRAY_WEIGHTS) {
      json_t *of =
          json_pack("{s:s, s:i, s:i, s:i, s:i}", "coordinates", w->m->param_arrays[p->from].name, "derivative",
                    (int)p->derivative, "points", (int)p->points, "side", (int)p->side, "beyond", (int)p->beyond);
      if (p->half)
        set(of, "half", json_integer(p->half));
      set(o, "weights", of);
    }
    if (p->role == ARRAY_VALUES)
      set(o, "values", manifest_expression(w, p->value));
    json_array_append_new(list, o);
  }
  return list;
}

/* The bytes of a buffer as text. */
static const char *bytes_text(const ManifestWriter *w, const Buffer *b, int size) {
  Str s = {w->arena, NULL, 0, 0};
  if (b->kind == BUFFER_SCRATCH) {
    str_addf(&s, "%d * %lld", size, (long long)b->cells);
    if (b->each)
      str_addf(&s, " * max(%s, 0)", manifest_affine_text(w, extent(w, &w->m->grid, 0)));
  } else if (b->kind == BUFFER_PARAM) {
    str_addf(&s, "%d * max(%s, 1)", size, manifest_affine_text(w, w->m->param_arrays[b->field].extent));
  } else {
    const Field *f = &w->m->fields[b->field];
    str_addf(&s, "%d", size);
    for (int d = 0; d < f->box.rank; d++)
      str_addf(&s, " * max(%s, 0)", manifest_affine_text(w, memory_extent(w, f, d)));
  }
  return s.s;
}

/* All buffers that the launcher allocates. */
static json_t *buffers(const ManifestWriter *w) {
  static const char *const kinds[] = {"field", "array", "scratch"};
  json_t *list = json_array();
  const int64_t *alignments = buffer_alignments(w->m->arena, w->m);
  for (int i = 0; i < w->m->nbuffers; i++) {
    const Buffer *b = &w->m->buffers[i];
    Type t = buffer_type(w->m, i);
    json_t *o = OBJECT("name", json_string(b->name), "kind", json_string(kinds[b->kind]));
    if (b->kind == BUFFER_FIELD) {
      SET(o, "field", json_string(w->m->fields[b->field].name), "copy", json_integer(b->copy));
    } else if (b->kind == BUFFER_PARAM) {
      set(o, "array", json_string(w->m->param_arrays[b->field].name));
    } else {
      set(o, "elements", json_integer(b->cells));
      if (b->each)
        set(o, "each", manifest_affine(w, extent(w, &w->m->grid, 0)));
    }
    SET(o, "type", json_string(type_name(t)), "element_bytes", json_integer(type_size(t)), "bytes",
        json_string(bytes_text(w, b, type_size(t))), "alignment", json_integer(alignments[i]));
    if (b->lead)
      set(o, "lead", json_integer(b->lead));
    json_array_append_new(list, o);
  }
  return list;
}

/* Sets in `o` that regions must contain all points to which an outside rule maps another region. */
static void set_covered(const ManifestWriter *w, json_t *o, const Covered *c) {
  Str s = {.arena = w->arena};
  json_t *x = json_object(), *by = json_array();
  covered_print(&s, w->m, c);
  set(o, "text", json_string(s.s));
  set(x, "region", manifest_box(w, &c->need));
  bool uniform = true;
  json_t *rules = json_array();
  for (int d = 0; d < c->need.rank; d++) {
    uniform = uniform && c->rule[d] == c->rule[0];
    json_array_append_new(rules, json_string(outside_name(c->rule[d])));
  }
  set(x, "outside", uniform ? json_string(outside_name(c->rule[0])) : rules);
  if (uniform)
    json_decref(rules);
  set(x, "within", manifest_box(w, &c->within));
  for (int i = 0; i < c->n; i++)
    json_array_append_new(by, manifest_box(w, &c->by[i]));
  set(x, "by", by);
  set(o, "covered", x);
}

/* The conditions on params: a value >= 0, or regions that cover another one unless one of the regions in unless_empty
 * is empty. */
static json_t *checks(const ManifestWriter *w) {
  json_t *list = json_array();
  for (int i = 0; i < w->m->nchecks; i++) {
    const Check *c = &w->m->checks[i];
    json_t *o = json_object(), *empty = json_array();
    if (c->covered) {
      set_covered(w, o, c->covered);
    } else {
      SET(o, "text", json_string(arena_printf(w->arena, "%s >= 0", manifest_affine_text(w, c->value))), "value",
          manifest_affine(w, c->value));
    }
    for (int j = 0; j < MAX_UNLESS; j++)
      if (c->unless_empty[j])
        json_array_append_new(empty, manifest_box(w, c->unless_empty[j]));
    SET(o, "unless_empty", empty, "message", json_string(c->message));
    json_array_append_new(list, o);
  }
  return list;
}

/* ---------------------------------------------------------------- kernels */

/* "read", "write" or "read_write". */
static const char *access_name(const KArg *a) {
  return a->reads && a->writes ? "read_write" : a->writes ? "write" : "read";
}

/* One argument of `k`; *offset is the first free offset in the kernarg segment, before and after. */
static json_t *argument(const ManifestWriter *w, const Kernel *k, const KArg *a, size_t *offset) {
  static const char *const kinds[] = {"buffer", "scalar", "step"};
  const Module *m = w->m;
  json_t *o = json_object();
  size_t size = kernel_arg_size(m, a);
  *offset = (*offset + size - 1) / size * size;
  set(o, "kind", json_string(kinds[a->kind]));
  if (a->kind == KARG_BUFFER) {
    const Buffer *b = &m->buffers[a->index];
    Type t = buffer_type(m, a->index);
    SET(o, "buffer", json_string(b->name), "type", json_string("pointer"), "element", json_string(type_name(t)),
        "access", json_string(access_name(a)), "strides",
        b->kind == BUFFER_FIELD ? strides(w, &m->fields[b->field]) : json_pack("[s]", "1"), "pointer_alignment",
        json_integer(kernel_alignment(m, k, a->index)));
  } else if (a->kind == KARG_SCALAR) {
    SET(o, "scalar", json_string(m->scalars[a->index].name), "type", json_string(type_name(m->scalars[a->index].type)));
  } else {
    SET(o, "type", json_string("i64"), "units", json_string("time steps done before this launch"));
  }
  SET(o, "offset", json_integer((json_int_t)*offset), "bytes", json_integer((json_int_t)size), "alignment",
      json_integer((json_int_t)size));
  *offset += size;
  return o;
}

/* The number of blocks of `tile` points that cover `extent`, as text; the blocks at the ends cover `over` points in
 * addition. */
static const char *blocks_text(const ManifestWriter *w, Affine extent, int32_t over, int32_t tile) {
  if (over)
    return arena_printf(w->arena, "ceildiv(max(%s - %d, min(%s, 1), 0), %d)", manifest_affine_text(w, extent),
                        (int)over, manifest_affine_text(w, extent), (int)tile);
  return arena_printf(w->arena, "ceildiv(max(%s, 0), %d)", manifest_affine_text(w, extent), (int)tile);
}

/* The number of blocks of kernel `k`, which leaves some out, as text. */
static const char *left_out_text(const ManifestWriter *w, const Kernel *k) {
  Str all = {.arena = w->arena}, hole = {.arena = w->arena};
  for (int d = 0; d < k->rank; d++) {
    str_addf(&all, "%s%s", d ? " * " : "", blocks_text(w, k->extent[d], k->over[d], k->tile[d]));
    str_addf(&hole, "%s%s", d ? " * " : "", blocks_text(w, k->without[d], 0, k->tile[d]));
  }
  return arena_printf(w->arena, "%s - %s", all.s, hole.s);
}

/* The grid along one dimension. */
static json_t *grid(const ManifestWriter *w, const Kernel *k, int d) {
  static const char *const axes[] = {"x", "y", "z"};
  int axis = k->rank - 1 - d < GRID_RANK ? k->rank - 1 - d : GRID_RANK - 1;
  json_t *o = OBJECT("dimension", json_integer(d), "axis", json_string(axes[axis]));
  const char *text = !k->leaves_out    ? blocks_text(w, k->extent[d], k->over[d], k->tile[d])
                     : d < k->rank - 1 ? "1"
                                       : left_out_text(w, k);
  if (k->cluster && d == k->rank - 1)
    text = arena_printf(w->arena, k->leaves_out ? "%d * (%s)" : "%d * %s", (int)k->cluster, text);
  SET(o, "text", json_string(text), "extent", manifest_affine(w, k->extent[d]), "tile", json_integer(k->tile[d]));
  if (k->over[d])
    set(o, "over", json_integer(k->over[d]));
  if (k->leaves_out)
    set(o, "without", manifest_affine(w, k->without[d]));
  return o;
}

/* The threads of a block by hardware axis. */
static json_t *block(const Kernel *k) {
  json_t *o = json_object();
  static const char *const axes[] = {"x", "y", "z"};
  for (int i = 0; i < 3; i++)
    set(o, axes[i], json_integer(i < k->rank ? k->threads[k->rank - 1 - i] : 1));
  return o;
}

/* Sets in `o` for which params `k` may be launched, and which kernel is launched for others. */
static void set_multiples(const ManifestWriter *w, const Kernel *k, json_t *o) {
  json_t *list = json_array();
  for (int i = 0; i < k->nmultiples; i++) {
    const Multiple *x = &k->multiples[i];
    json_t *each = json_object();
    SET(each, "text",
        json_string(arena_printf(w->arena, "(%s) %% %lld == 0", manifest_affine_text(w, x->value), (long long)x->of)),
        "value", manifest_affine(w, x->value), "of", json_integer(x->of));
    json_array_append_new(list, each);
  }
  set(o, "multiples", list);
  if (k->instead)
    set(o, "instead", json_string(w->m->kernels[k->instead - 1].name));
}

/* Sets in `o` the classes of tiles for which kernel number `i` has work, unless it has work for all. */
static void set_tiles(const ManifestWriter *w, int i, json_t *o) {
  const Kernel *k = &w->m->kernels[i];
  json_t *list = json_array();
  int32_t classes;
  bool busy[MOST_CLASSES];
  if (!kernel_busy(w->m, i, &classes, busy)) {
    json_decref(list);
    return;
  }
  for (int c = 0; c < MOST_CLASSES; c++)
    if (busy[c])
      json_array_append_new(list, json_integer(c));
  json_t *tiles = OBJECT("classes", json_string(w->m->buffers[classes].name), "busy", list);
  if (k->list)
    SET(tiles, "list", json_string(w->m->buffers[k->list - 1].name), "columns", json_integer(k->rank + 1));
  set(o, "tiles", tiles);
}

/* Kernel number `i`. */
static json_t *kernel(const ManifestWriter *w, int i) {
  const Kernel *k = &w->m->kernels[i];
  json_t *o = json_object(), *arguments = json_array(), *grids = json_array();
  size_t offset = 0;
  int64_t fixed, given;
  bool simt = target_info(w->target)->simt;
  target_kernel_shared(w->target, k, &fixed, &given);
  for (int a = 0; a < k->nargs; a++)
    json_array_append_new(arguments, argument(w, k, &k->args[a], &offset));
  for (int d = 0; d < k->rank; d++)
    json_array_append_new(grids, grid(w, k, d));
  set(o, "name", json_string(k->name));
  if (strcmp(target_arch(w->target), "amdgpu") == 0)
    set(o, "descriptor", json_string(arena_printf(w->arena, "%s.kd", k->name)));
  set(o, "steps", json_integer(k->steps));
  set_multiples(w, k, o);
  SET(o, "block", block(k), "grid", grids);
  if (k->cluster)
    set(o, "cluster", json_integer(k->cluster));
  set_tiles(w, i, o);
  SET(o, "static_shared_bytes", json_integer(fixed), "dynamic_shared_bytes", json_integer(simt ? given : 0));
  if (!simt)
    set(o, "scratch_bytes", json_integer(given));
  SET(o, "arguments", arguments, "argument_bytes", json_integer((json_int_t)offset));
  return o;
}

/* All kernels. */
static json_t *kernels(const ManifestWriter *w) {
  json_t *list = json_array();
  for (int i = 0; i < w->m->nkernels; i++)
    json_array_append_new(list, kernel(w, i));
  return list;
}

/* ---------------------------------------------------------------- the whole manifest */

/* The lists of points. */
static json_t *lists(const ManifestWriter *w) {
  const Module *m = w->m;
  json_t *list = json_array();
  for (int i = 0; i < m->nlists; i++) {
    const PointList *l = &m->lists[i];
    json_t *o = json_object(), *at = json_array();
    for (int d = 0; d < m->grid.rank; d++)
      json_array_append_new(at, l->array[d] == LIST_NUMBER ? json_pack("{s:b}", "number", 1)
                                : l->array[d] < 0 ? manifest_affine(w, l->at[d])
                                                  : json_pack("{s:s}", "array", m->param_arrays[l->array[d]].name));
    SET(o, "name", json_string(l->name), "at", at, "region", manifest_box(w, &l->box), "field",
        json_string(m->fields[l->field].name));
    if (l->next >= 0)
      set(o, "next", json_string(m->param_arrays[l->next].name));
    set(o, "most", json_integer(l->most));
    json_array_append_new(list, o);
  }
  return list;
}

/* The target and the kind of the artifact. */
static json_t *target(const ManifestWriter *w) {
  json_t *o = OBJECT("arch", json_string(target_arch(w->target)), "cpu", json_string(target_info(w->target)->cpu),
                     "triple", json_string(target_triple(w->target)), "artifact", json_string(target_suffix(w->target)),
                     "lanes", json_integer(target_info(w->target)->lanes));
  if (target_info(w->target)->early_launch)
    set(o, "early_launch", json_true());
  return o;
}

/* The lowest schema version whose readers know everything in the manifest of `m`. */
static int schema_version(const StcProgram *p, const Module *m) {
  if (p->backward)
    return SCHEMA_WITH_GRADIENT;
  if (m->host.once.nops)
    return SCHEMA_WITH_ONCE;
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].each)
      return SCHEMA_WITH_OWN_SCALARS;
  if (m->grid.rank > GRID_RANK)
    return SCHEMA_WITH_FOUR;
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].each)
      return SCHEMA_WITH_EACH;
  for (int i = 0; i < m->nkernels; i++)
    if (m->kernels[i].cluster)
      return SCHEMA_WITH_CLUSTERS;
  for (int i = 0; i < m->nlists; i++)
    for (int d = 0; d < MAX_RANK; d++)
      if (m->lists[i].array[d] == LIST_NUMBER)
        return SCHEMA_WITH_NUMBERS;
  if (module_steps_to_frames(m, 0, INT64_MAX) < INT64_MAX)
    return SCHEMA_WITH_FRAMES;
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].half)
      return SCHEMA_WITH_FRAMES;
  if (m->host.nloops)
    return SCHEMA_WITH_LOOPS;
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_VALUES)
      return SCHEMA_WITH_VALUES;
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_STATE)
      return SCHEMA_WITH_STATES;
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_WEIGHTS)
      return SCHEMA_WITH_WEIGHTS;
  for (int i = 0; i < m->nkernels; i++)
    for (int d = 0; d < MAX_RANK; d++)
      if (m->kernels[i].over[d])
        return SCHEMA_WITH_OVER;
  return m->nlists || m->nprobes ? SCHEMA_WITH_POINTS : SCHEMA_VERSION;
}

char *manifest_text(Workspace *ws, const StcProgram *p, const Module *m, const Target *t) {
  ManifestWriter w = {ws->arena, p, m, t};
  json_t *o = OBJECT("schema", json_string("stc-manifest"), "schema_version", json_integer(schema_version(p, m)),
                     "versions", json_pack("{s:s, s:s}", "stc", STC_VERSION, "llvm", LLVM_VERSION_STRING), "program",
                     json_string(p->name), "target", target(&w), "floating_point",
                     json_pack("{s:b, s:b}", "contract", (int)m->contract, "fast_math", (int)m->fast_math), "schedule",
                     json_string(schedule_describe(ws->arena, m, &p->resolved)), "rank", json_integer(m->grid.rank),
                     "grid", whole_grid(&w));
  if (m->members)
    set(o, "members", manifest_affine(&w, extent(&w, &m->grid, 0)));
  SET(o, "steps", m->steps_by ? json_string(m->scalars[m->steps_by - 1].name) : json_integer(m->steps), "scalars",
      scalars(&w), "checks", checks(&w), "structs", structs(&w), "records", records(&w), "arrays", arrays(&w));
  if (m->nlists)
    set(o, "points", lists(&w));
  if (m->part)
    set(o, "part", part(&w, m->part));
  SET(o, "fields", fields(&w), "buffers", buffers(&w), "kernels", kernels(&w), "host", manifest_host(&w));
  if (p->backward) {
    json_t *gradient = manifest_gradient(&w);
    if (!gradient)
      return json_decref(o), NULL;
    set(o, "gradient", gradient);
  }
  set(o, "checksum", json_string("00000000"));
  char *text = json_dumps(o, JSON_INDENT(2)), *copy;
  json_decref(o);
  if (!text)
    return NULL;
  copy = arena_printf(ws->arena, "%s\n", text);
  free(text);
  uint32_t sum = manifest_checksum(copy, strlen(copy), " \t\r\n");
  snprintf(copy + strlen(copy) - strlen("00000000\"\n}\n"), strlen("00000000\"\n}\n") + 1, "%08x\"\n}\n", sum);
  return copy;
}
