/* driver/declared.c: the fields as the program declares them, whatever the passes make of them: a field of vectors or
 * structs is one field with components, be it one
 * field of composite type or a record of many. */
#include "driver/driver.h"

#include <string.h>

/* Strips `*t` of the vectors around it. Their lengths, outermost first, go to a new array *axes; returns how many there
 * are. */
static int strip_vectors(const Module *m, Type *t, int64_t **axes) {
  int n = 0;
  *axes = NULL;
  for (; type_is_vector(m, *t); *t = type_composite(m, *t)->members[0].type)
    ARENA_PUSH(m->arena, *axes, n, (int64_t)type_composite(m, *t)->n);
  return n;
}

/* Appends what NumPy's .npy headers hold for the type, vectors around it left out: '<f4', or [('a', '<f4'), ('c',
 * '<f4', (3,))]. */
static void add_dtype(Str *s, const Module *m, Type t) {
  const Composite *c = type_composite(m, t);
  if (!c) {
    str_addf(s, "'%s'", npy_descr((StcType)t));
    return;
  }
  str_add(s, "[");
  for (int i = 0; i < c->n; i++) {
    Type member = c->members[i].type;
    int64_t *axes;
    int n = strip_vectors(m, &member, &axes);
    str_addf(s, i ? ", ('%s', " : "('%s', ", c->members[i].name);
    add_dtype(s, m, member);
    for (int k = 0; k < n; k++)
      str_addf(s, k ? ", %lld" : ", (%lld", (long long)axes[k]);
    str_add(s, n == 1 ? ",))" : n ? "))" : ")");
  }
  str_add(s, "]");
}

/* Fills `d` for a declared field of type `t` in field `field` of `m`. */
static void declare(const Module *m, Declared *d, const char *name, Type t, int field, int first) {
  Arena *a = m->arena;
  Str dtype = {a, NULL, 0, 0};
  Type inner = t;
  *d = (Declared){.name = name,
                  .type = t,
                  .field = field,
                  .first = first,
                  .ncomponents = type_components(m, t),
                  .point_bytes = type_bytes(m, t)};
  d->type_name = type_text(m, t);
  d->naxes = strip_vectors(m, &inner, &d->axes);
  add_dtype(&dtype, m, inner);
  d->dtype = dtype.s;
  d->components = ARENA_ARRAY(a, StcComponent, d->ncomponents);
  d->names = ARENA_ARRAY(a, const char *, d->ncomponents);
  for (int i = 0; i < d->ncomponents; i++) {
    d->components[i] =
        (StcComponent){type_component_path(m, t, i), (StcType)type_component(m, t, i), type_component_offset(m, t, i)};
    d->names[i] = arena_printf(a, "%s%s", name, d->components[i].path);
  }
}

void program_declare(StcProgram *p) {
  const Module *m = p->module;
  int first = 0;
  p->declared = ARENA_ARRAY(p->w.arena, Declared, m->nfields + 1);
  for (int f = 0; f < m->nfields;) {
    if (m->fields[f].derived || m->fields[f].series) {
      f++;
      continue;
    }
    const Record *r = record_of(m, f);
    Declared *d = &p->declared[p->ndeclared++];
    declare(m, d, r ? r->name : m->fields[f].name, r ? r->type : m->fields[f].type, f, first);
    first += d->ncomponents;
    f += r ? d->ncomponents : 1;
  }
}

int stc_program_field_count(const StcProgram *p) { return p->ndeclared; }
const char *stc_program_field_name(const StcProgram *p, int field) {
  return field >= 0 && field < p->ndeclared ? p->declared[field].name : NULL;
}

int stc_program_find_field(const StcProgram *p, const char *name) {
  for (int i = 0; i < p->ndeclared; i++)
    if (strcmp(p->declared[i].name, name) == 0)
      return i;
  return -1;
}

int stc_program_array_count(const StcProgram *p) {
  int n = 0;
  while (n < p->module->nparam_arrays && p->module->param_arrays[n].role == ARRAY_GIVEN)
    n++;
  return n;
}
const char *stc_program_array_name(const StcProgram *p, int array) {
  return array >= 0 && array < stc_program_array_count(p) ? p->module->param_arrays[array].name : NULL;
}
int stc_program_find_array(const StcProgram *p, const char *name) { return module_find_param_array(p->module, name); }
