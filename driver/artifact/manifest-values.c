/* driver/artifact/manifest-values.c: constants, bounds, regions and expressions of the manifest. */
#include "driver/artifact/manifest.h"

#include <math.h>
#include <string.h>

json_t *manifest_constant(Const c, Type t) {
  if (t == TY_BOOL)
    return json_boolean(c.i != 0);
  if (!type_is_float(t))
    return json_integer(c.i);
  return isfinite(c.f) ? json_real(c.f) : json_string(isnan(c.f) ? "nan" : c.f > 0 ? "inf" : "-inf");
}

const char *manifest_affine_text(const ManifestWriter *w, Affine x) {
  Str s = {w->arena, NULL, 0, 0};
  affine_print(&s, w->m, x);
  return s.s;
}

json_t *manifest_affine(const ManifestWriter *w, Affine x) {
  json_t *o = json_object(), *terms = json_array();
  for (int i = 0; i < x.n; i++) {
    json_t *t = json_object();
    SET(t, "param", json_string(w->m->scalars[x.t[i].scalar].name), "coefficient", json_integer(x.t[i].coef));
    json_array_append_new(terms, t);
  }
  SET(o, "text", json_string(manifest_affine_text(w, x)), "constant", json_integer(x.c), "terms", terms);
  return o;
}

json_t *manifest_box(const ManifestWriter *w, const Box *b) {
  json_t *o = json_object(), *lo = json_array(), *hi = json_array();
  for (int d = 0; d < b->rank; d++) {
    json_array_append_new(lo, manifest_affine(w, b->lo[d]));
    json_array_append_new(hi, manifest_affine(w, b->hi[d]));
  }
  SET(o, "lower", lo, "upper", hi);
  return o;
}

/* The index of `v`'s op among the ops of the expression. */
static int place(const Block *b, const Value *v) {
  int i = 0;
  for (const Op *op = b->first; op && op != v->def; op = op->next)
    i++;
  return i;
}

json_t *manifest_expression(const ManifestWriter *w, const Block *b) {
  json_t *list = json_array();
  for (const Op *op = b->first; op && op->code != OP_YIELD; op = op->next) {
    json_t *o = json_object(), *args = json_array();
    SET(o, "op", json_string(op_info[op->code].name), "type", json_string(type_name(op->results[0]->type)));
    if (op->code == OP_CONST)
      set(o, "value", manifest_constant(op->cval, op->results[0]->type));
    if (op->code == OP_SCALAR)
      set(o, "scalar", json_string(w->m->scalars[op->sym].name));
    for (int i = 0; i < op->noperands; i++)
      json_array_append_new(args, json_integer(place(b, op->operands[i])));
    set(o, "arguments", args);
    json_array_append_new(list, o);
  }
  return list;
}

uint32_t manifest_checksum(const char *bytes, size_t n, const char *but) {
  uint32_t crc = ~(uint32_t)0;
  for (size_t i = 0; i < n; i++) {
    if (bytes[i] && strchr(but, bytes[i]))
      continue;
    crc ^= (unsigned char)bytes[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}
