/* driver/artifact/manifest-gradient.c: the gradient's part of the manifest: the inputs of the backward program, its
 * fields with derivatives, and its own manifest. */
#include "driver/artifact/manifest.h"

/* Fields or scalars of the backward program, each with the name `from` which it is filled. */
static json_t *pairs(int n, const AdjointField *fields) {
  json_t *list = json_array();
  for (int i = 0; i < n; i++)
    json_array_append_new(list, OBJECT("name", json_string(fields[i].name), "from", json_string(fields[i].from)));
  return list;
}

/* The losses of the program. */
static json_t *losses(const Module *m) {
  json_t *list = json_array();
  for (int i = 0; i < m->nlosses; i++)
    json_array_append_new(list,
                          OBJECT("name", json_string(m->losses[i].name), "every", json_integer(m->losses[i].every),
                                 "factor", manifest_constant((Const){.f = m->losses[i].factor}, TY_F64)));
  return list;
}

/* The fields, arrays and params with respect to which the gradient is taken. */
static json_t *by(const Module *m) {
  static const char *const kinds[] = {"field", "array", "param"};
  json_t *list = json_array();
  for (int i = 0; i < m->nby; i++) {
    const By *x = &m->by[i];
    const char *name = x->kind == BY_FIELD   ? m->fields[x->index].name
                       : x->kind == BY_ARRAY ? m->param_arrays[x->index].name
                                             : m->scalars[x->index].name;
    json_t *o = OBJECT("name", json_string(name), "kind", json_string(kinds[x->kind]));
    if (x->kind == BY_PARAM && module_member_state(m, x->index) >= 0)
      set(o, "each", json_true());
    json_array_append_new(list, o);
  }
  return list;
}

/* Derivatives with respect to elements of launch-time arrays. */
static json_t *elements(const AdjointFacts *f) {
  json_t *list = json_array();
  for (int i = 0; i < f->nelements; i++)
    json_array_append_new(list, OBJECT("bar", json_string(f->elements[i].bar), "number",
                                       json_string(f->elements[i].number), "array", json_string(f->elements[i].array)));
  return list;
}

/* The manifest of the backward program, without a checksum of its own, as it is inside another manifest. */
static json_t *inner(StcProgram *backward) {
  const char *text;
  if (stc_program_manifest(backward, &text))
    return NULL;
  json_t *o = json_loads(text, 0, NULL);
  json_object_del(o, "checksum");
  return o;
}

/* The checksum of the backward artifact, by which a launcher finds whether its file belongs to this manifest. NULL
 * after an error. */
static const char *artifact_checksum(const ManifestWriter *w) {
  const char *bytes;
  size_t size;
  if (stc_program_emit(w->program->backward, STC_EMIT_OBJ, &bytes, &size))
    return NULL;
  return arena_printf(w->arena, "%08x", manifest_checksum(bytes, size, ""));
}

json_t *manifest_gradient(const ManifestWriter *w) {
  const char *sum = artifact_checksum(w);
  const Module *m = w->program->source;
  const AdjointFacts *f = &w->program->adjoint->facts;
  json_t *given = json_array();
  for (int i = 0; i < w->program->adjoint->ngiven; i++)
    json_array_append_new(given, json_string(w->program->adjoint->given[i]));
  json_t *program = sum ? inner(w->program->backward) : NULL;
  if (!program)
    return json_decref(given), NULL;
  return OBJECT("artifact", json_string(arena_printf(w->arena, "back.%s", target_suffix(w->target))),
                "artifact_checksum", json_string(sum), "last", json_string(ADJOINT_LAST), "losses", losses(m), "by",
                by(m), "given", given, "inputs", pairs(f->ninputs, f->inputs), "saved", pairs(f->nsaved, f->saved),
                "after", pairs(f->nafter, f->after), "ends", pairs(f->nends, f->ends), "derivatives",
                pairs(f->nbars, f->bars), "filled", pairs(f->nfilled, f->filled), "scalars",
                pairs(f->nscalars, f->scalars), "states", pairs(f->nstates, f->states), "elements", elements(f),
                "program", program);
}
