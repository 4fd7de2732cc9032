/* parts.c: a part: the points that it owns, the cells of a field that it has, those that it sends to others, its name
 * in messages. */
#include "driver/split/split.h"

/* If parts cannot all have the same number of points, the first ones have one more. */
void split_part_range(const Split *s, int d, int64_t parts, int64_t i, int64_t *lo, int64_t *hi) {
  if (s->cuts[d]) {
    *lo = s->cuts[d][i];
    *hi = s->cuts[d][i + 1] - 1;
    return;
  }
  int64_t extent = s->hi[d] - s->lo[d] + 1, each = extent / parts, more = extent % parts;
  *lo = s->lo[d] + i * each + (i < more ? i : more);
  *hi = *lo + each - (i < more ? 0 : 1);
}

bool part_cells(const PartPlan *part, int field, int64_t lo[MAX_RANK], int64_t hi[MAX_RANK]) {
  const Box *box = &part->module->fields[field].box;
  bool any = true;
  for (int d = 0; d < box->rank; d++) {
    lo[d] = affine_eval(box->lo[d], part->scalars, NULL);
    hi[d] = affine_eval(box->hi[d], part->scalars, NULL);
    any &= lo[d] <= hi[d];
  }
  return any;
}

CellArray part_array(const PartPlan *part, int field) {
  CellArray a = {0};
  part_cells(part, field, a.lo, a.hi);
  return a;
}

size_t part_bytes(const PartPlan *part, int field) {
  const Field *f = &part->module->fields[field];
  int64_t shape[MAX_RANK];
  return (size_t)(field_shape(f, part->scalars, shape) * type_bytes(part->module, f->type));
}

void part_gives(const PartPlan *x, const Field *f, int d, bool steps, int64_t *lo, int64_t *hi) {
  const GridPart *part = x->module->part;
  bool cut = !affine_equal(part->own.lo[d], part->whole.lo[d]);
  *lo = x->lo[d];
  *hi = x->hi[d];
  if (!steps || f->share != SHARE_GATHERED)
    return;
  *lo = cut ? (x->lo[d] + 1) / 2 : INT64_MIN / 2;
  *hi = cut ? (x->hi[d] + 2) / 2 - 1 : INT64_MAX / 2;
}

void split_name_part(const StcPlan *p, int i) {
  const Split *s = p->split;
  Str place = {.arena = p->w.arena};
  for (int d = 0; d < s->rank; d++)
    str_addf(&place, "%s%lld", d ? ", " : "", (long long)s->part[i].at[d]);
  diag_note(p->w.diags, no_loc(), "this was in part [%s] of %d, on %s", place.s, s->nparts,
            s->part[i].plan->device.description);
}
