/* composite.c: vector and struct types, the paper's recursive ElemType (section 3.1), and their flattening into scalar
 * components. */
#include "ir/ir.h"

#include <string.h>

Type module_struct(Module *m, const char *name, int n, const Member *members) {
  ARENA_PUSH(m->arena, m->composites, m->ncomposites, ((Composite){name, n, members}));
  return (Type)(TY_COMPOSITE + m->ncomposites - 1);
}

Type module_vector(Module *m, Type member, int n) {
  for (int i = 0; i < m->ncomposites; i++)
    if (!m->composites[i].name && m->composites[i].n == n && m->composites[i].members[0].type == member)
      return (Type)(TY_COMPOSITE + i);
  Member *members = ARENA_ARRAY(m->arena, Member, n);
  for (int i = 0; i < n; i++)
    members[i].type = member;
  return module_struct(m, NULL, n, members);
}

const Composite *type_composite(const Module *m, Type t) {
  return t >= TY_COMPOSITE && t - TY_COMPOSITE < m->ncomposites ? &m->composites[t - TY_COMPOSITE] : NULL;
}

bool type_is_vector(const Module *m, Type t) {
  const Composite *c = type_composite(m, t);
  return c && !c->name;
}

int type_components(const Module *m, Type t) {
  const Composite *c = type_composite(m, t);
  int n = 0;
  if (!c)
    return 1;
  for (int i = 0; i < c->n && n <= MAX_COMPONENTS; i++)
    n += type_components(m, c->members[i].type);
  return n;
}

int type_member_component(const Module *m, Type t, int member) {
  const Composite *c = type_composite(m, t);
  int n = 0;
  for (int i = 0; i < member; i++)
    n += type_components(m, c->members[i].type);
  return n;
}

/* The member of `c` that contains component *i; sets *i to the component's number within that member. */
static int member_of(const Module *m, const Composite *c, int *i) {
  int k = 0;
  for (int n; k < c->n - 1 && *i >= (n = type_components(m, c->members[k].type)); k++)
    *i -= n;
  return k;
}

Type type_component(const Module *m, Type t, int i) {
  for (const Composite *c; (c = type_composite(m, t));)
    t = c->members[member_of(m, c, &i)].type;
  return t;
}

int64_t type_component_offset(const Module *m, Type t, int i) {
  int64_t bytes = 0;
  for (int k = 0; k < i; k++)
    bytes += type_size(type_component(m, t, k));
  return bytes;
}

int64_t type_bytes(const Module *m, Type t) { return type_component_offset(m, t, type_components(m, t)); }

const char *type_component_path(const Module *m, Type t, int i) {
  Str s = {.arena = m->arena};
  str_add(&s, "");
  for (const Composite *c; (c = type_composite(m, t));) {
    int k = member_of(m, c, &i);
    if (c->name)
      str_addf(&s, ".%s", c->members[k].name);
    else
      str_addf(&s, ".%d", k);
    t = c->members[k].type;
  }
  return s.s;
}

void type_print(Str *s, const Module *m, Type t) {
  const Composite *c = type_composite(m, t);
  if (c && c->name) {
    str_add(s, c->name);
  } else if (c) {
    type_print(s, m, c->members[0].type);
    str_addf(s, "[%d]", (int)c->n);
  } else {
    str_add(s, t < TY_COMPOSITE ? type_name(t) : "?");
  }
}

const char *type_text(const Module *m, Type t) {
  Str s = {.arena = m->arena};
  type_print(&s, m, t);
  return s.s;
}

const Record *record_of(const Module *m, int field) {
  for (int i = 0; i < m->nrecords; i++)
    if (field >= m->records[i].first && field < m->records[i].first + type_components(m, m->records[i].type))
      return &m->records[i];
  return NULL;
}

const char *declared_name(const Module *m, int field) {
  const Record *r = record_of(m, field);
  return r ? r->name : m->fields[field].name;
}
