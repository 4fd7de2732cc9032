/* driver/data/parts.c: the form of fields in files with named arrays: a field of scalars or vectors is one array, a
 * field of structs has one array for each component. Complex numbers are scalars if the format supports them, else
 * structs. */
#include "driver/data/writer.h"

#include <stdlib.h>
#include <string.h>

/* The type for values of type `t` in files: one that all readers know. */
static StcType stored_type(StcType t) { return t == STC_BOOL ? STC_I8 : t == STC_F16 || t == STC_BF16 ? STC_F32 : t; }

/* Does the field have complex numbers, or vectors of these? */
static bool is_of_pairs(const StcFieldInfo *f) {
  return f->ncomponents > 1 && f->dtype && (!strcmp(f->dtype, "'<c8'") || !strcmp(f->dtype, "'<c16'"));
}

/* Is the field one array: of scalars, or of vectors of these? */
static bool is_plain(const StcFieldInfo *f) {
  int64_t n = 1;
  for (int k = 0; k < f->naxes; k++)
    n *= f->axes[k];
  for (int c = 1; c < f->ncomponents; c++)
    if (f->components[c].type != f->components[0].type)
      return false;
  return n == f->ncomponents;
}

/* The part of source number `i` of the writer with `n` components from `c` on. */
static FieldPart make_part(Writer *w, int i, int c, int n) {
  const StcFieldInfo *f = &w->sources[i]->info;
  FieldPart p = {.source = i, .info = f, .first = c, .ncomponents = n, .unit = w->sources[i]->unit};
  p.name = n == f->ncomponents ? f->name : arena_printf(w->w.arena, "%s%s", f->name, f->components[c].path);
  p.from = f->components ? f->components[c].type : f->type;
  p.type = stored_type(p.from);
  p.naxes = n == f->ncomponents ? f->naxes : 0;
  p.points = field_points(f);
  p.bytes = (size_t)(p.points * n) * (size_t)type_size((Type)p.type);
  return p;
}

int writer_parts(Writer *w, FieldPart **out) {
  int n = 0;
  *out = NULL;
  for (int i = 0; i < w->nsources; i++) {
    const StcFieldInfo *f = &w->sources[i]->info;
    bool pairs = w->format->complex && is_of_pairs(f), whole = pairs || is_plain(f);
    for (int c = 0; c < (whole ? 1 : f->ncomponents); c++) {
      FieldPart p = make_part(w, i, c, whole ? f->ncomponents : 1);
      p.pairs = pairs;
      ARENA_PUSH(w->w.arena, *out, n, p);
    }
  }
  return n;
}

int part_size(const FieldPart *p) { return type_size((Type)p->type) * (p->pairs ? 2 : 1); }

/* Copies the part's values, from points of `step` bytes, packed to `room`. */
static void gather(const FieldPart *p, const char *data, int64_t step, char *room) {
  int64_t size = type_size((Type)p->from);
  StcFieldInfo from = {.type = p->from}, to = {.type = p->type};
  for (int64_t i = 0; i < p->points * p->ncomponents; i++) {
    const char *at = data + i / p->ncomponents * step + i % p->ncomponents * size;
    if (p->from == p->type || p->from == STC_BOOL)
      memcpy(room + i * size, at, (size_t)size);
    else
      field_put(&to, room, i, (Const){.f = field_value(&from, at, 0)});
  }
}

const void *part_values(const FieldPart *p, const void *const *data, void *room) {
  const StcFieldInfo *f = p->info;
  const char *from = data[p->source];
  int64_t step = p->points ? f->bytes / p->points : 0;
  bool whole = p->ncomponents == f->ncomponents;
  if (whole && (p->from == p->type || p->from == STC_BOOL))
    return from;
  gather(p, from + (f->components ? f->components[p->first].offset : 0), step, room);
  return room;
}

double part_origin(const Writer *w, const FieldPart *p, int dim) {
  return w->facts->origin[dim] + w->facts->spacing[dim] * (double)p->info->first[dim];
}

bool parts_share_place(const FieldPart *a, const FieldPart *b) {
  if (a->info->rank != b->info->rank)
    return false;
  for (int d = 0; d < a->info->rank; d++)
    if (a->info->shape[d] != b->info->shape[d] || a->info->first[d] != b->info->first[d])
      return false;
  return true;
}

StcStatus parts_check(Writer *w, const FieldPart *parts, int n) {
  for (int i = 0; i < n; i++)
    if (!parts[i].bytes)
      return context_error(w->context, "field %s has no elements, so there is nothing to write to %s", parts[i].name,
                           w->path),
             STC_INPUT;
  return STC_OK;
}

bool steps_add(int64_t **steps, int64_t *n, int64_t *capacity, int64_t step) {
  if (*n == *capacity) {
    int64_t more = *capacity ? 2 * *capacity : 64, *grown = realloc(*steps, (size_t)more * sizeof **steps);
    if (!grown)
      return false;
    *steps = grown;
    *capacity = more;
  }
  (*steps)[(*n)++] = step;
  return true;
}
