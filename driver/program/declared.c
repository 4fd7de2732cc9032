/* driver/program/declared.c: the fields as the program declares them, independent of passes: a field of vectors or
 * structs is one field with components, whether it is one field of composite type or a record of many fields. */
#include "driver/files/files.h"
#include "driver/program/program.h"

#include <string.h>

const char *npy_descr(StcType t) {
  switch (t) {
  case STC_BOOL: return "|b1";
  case STC_I8: return "|i1";
  case STC_I16: return "<i2";
  case STC_U8: return "|u1";
  case STC_U16: return "<u2";
  case STC_U32: return "<u4";
  case STC_I32: return "<i4";
  case STC_I64: return "<i8";
  case STC_F16: return "<f2";
  case STC_BF16: return "<u2";
  case STC_F32: return "<f4";
  case STC_F64: return "<f8";
  case STC_COMPOSITE: break;
  }
  return "?";
}

/* Removes the vectors around `*t`. Their lengths, outermost first, go to a new array *axes; returns their number. */
static int strip_vectors(const Module *m, Type *t, int64_t **axes) {
  int n = 0;
  *axes = NULL;
  for (; type_is_vector(m, *t); *t = type_composite(m, *t)->members[0].type)
    ARENA_PUSH(m->arena, *axes, n, (int64_t)type_composite(m, *t)->n);
  return n;
}

/* Is it a type of complex numbers, and not a struct of the program with that name? */
static bool is_complex(const Composite *c) {
  bool wide = c->name && !strcmp(c->name, "c128");
  Type of = wide ? TY_F64 : TY_F32;
  return c->name && (wide || !strcmp(c->name, "c64")) && c->n == 2 && !strcmp(c->members[0].name, "re") &&
         !strcmp(c->members[1].name, "im") && c->members[0].type == of && c->members[1].type == of;
}

/* Marks the components of a value of type `t`, from out[0] on, that are imaginary parts; returns the number of
 * components. */
static int mark_imaginary(const Module *m, Type t, bool *out) {
  const Composite *c = type_composite(m, t);
  int n = !c;
  for (int i = 0; c && i < c->n; i++)
    n += mark_imaginary(m, c->members[type_is_vector(m, t) ? 0 : i].type, out + n);
  if (c && is_complex(c))
    out[1] = true;
  return n;
}

/* Appends the type in the form of NumPy's .npy headers, without vectors around it: '<f4', or [('a', '<f4'), ('c',
 * '<f4', (3,))]. */
static void add_dtype(Str *s, const Module *m, Type t) {
  const Composite *c = type_composite(m, t);
  if (!c) {
    str_addf(s, "'%s'", npy_descr((StcType)t));
    return;
  }
  if (is_complex(c)) {
    str_add(s, c->members[0].type == TY_F32 ? "'<c8'" : "'<c16'");
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

/* Fills in `d` for a declared field of type `t` in field `field` of `m`. */
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
  d->imaginary = ARENA_ARRAY(a, bool, d->ncomponents + 1);
  mark_imaginary(m, t, d->imaginary);
  d->names = ARENA_ARRAY(a, const char *, d->ncomponents);
  for (int i = 0; i < d->ncomponents; i++) {
    d->components[i] =
        (StcComponent){type_component_path(m, t, i), (StcType)type_component(m, t, i), type_component_offset(m, t, i)};
    d->names[i] = arena_printf(a, "%s%s", name, d->components[i].path);
  }
}

/* Does `m` have an init for one of the fields of `d`? */
static bool has_init(const Module *m, const Declared *d) {
  bool *init = ARENA_ARRAY(m->arena, bool, m->nfields + 1), any = false;
  int n = type_composite(m, m->fields[d->field].type) ? 1 : d->ncomponents;
  fields_with_init(m, init);
  for (int i = 0; i < n; i++)
    any |= init[d->field + i];
  return any;
}

/* The value of a read beyond the edges of the field, in the program's language; NULL: it has no edges. */
static const char *outside_text(const Module *m, const Field *f) {
  static const char word[] = "const ";
  Str text = {m->arena, NULL, 0, 0};
  char *to;
  if (!outside_any(f))
    return NULL;
  outside_print(&text, m, f);
  to = text.s;
  for (const char *from = text.s; *from; from++)
    if (strncmp(from, word, sizeof word - 1) == 0)
      from += sizeof word - 2;
    else if (*from != '@' && *from != '"')
      *to++ = *from;
  *to = '\0';
  return text.s;
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
    d->has_init = has_init(m, d);
    d->outside = outside_text(m, &m->fields[f]);
    first += d->ncomponents;
    f += r ? d->ncomponents : 1;
  }
}

/* ---------------------------------------------------------------- under params */

void declared_info(const StcProgram *p, int field, const Module *m, int home, const Const *scalars, StcFieldInfo *out) {
  const Declared *d = &p->declared[field];
  const Field *f = &m->fields[home];
  *out = (StcFieldInfo){.name = d->name,
                        .rank = f->box.rank,
                        .input = f->input,
                        .temp = f->temp,
                        .frames = f->frames,
                        .ahead = f->ahead,
                        .cycle = f->cycle,
                        .has_init = d->has_init,
                        .type_name = d->type_name,
                        .ncomponents = d->ncomponents,
                        .components = d->components,
                        .dtype = d->dtype,
                        .naxes = d->naxes,
                        .axes = d->axes};
  out->type = d->type < TY_COMPOSITE ? (StcType)d->type : STC_COMPOSITE;
  out->bytes = field_shape(f, scalars, out->shape) * d->point_bytes;
  for (int k = 0; k < f->box.rank; k++)
    out->first[k] = affine_eval(f->box.lo[k], scalars, NULL);
}

/* The one component of a field of scalar type. */
static const StcComponent scalar_components[] = {{"", STC_COMPOSITE, 0}, {"", STC_BOOL, 0}, {"", STC_I8, 0},
                                                 {"", STC_I16, 0},       {"", STC_I32, 0},  {"", STC_I64, 0},
                                                 {"", STC_F16, 0},       {"", STC_BF16, 0}, {"", STC_F32, 0},
                                                 {"", STC_F64, 0},       {"", STC_U8, 0},   {"", STC_U16, 0},
                                                 {"", STC_U32, 0}};

/* Sets `f` to a description of `points` points of scalar type `t`. If its bytes exceed 64 bits, they become the largest
 * number, for which there is no memory. */
static void make_scalar(StcFieldInfo *f, StcType t, int64_t points) {
  f->type = t;
  f->type_name = type_name((Type)t);
  if (__builtin_mul_overflow(points, type_size((Type)t), &f->bytes))
    f->bytes = INT64_MAX;
  f->ncomponents = 1;
  f->components = &scalar_components[t];
  f->dtype = NULL;
  f->naxes = 0;
}

void component_info(const Declared *d, int component, StcFieldInfo *f) {
  if (!declared_has_parts(d))
    return;
  f->name = d->names[component];
  make_scalar(f, d->components[component].type, f->bytes / d->point_bytes);
}

void array_info(const ParamArray *a, const Const *scalars, StcFieldInfo *out) {
  *out = (StcFieldInfo){.name = a->name, .rank = 1, .input = true};
  int64_t n = param_array_extent(a, scalars);
  bool overflow = false; /* checks at launch bound both */
  out->shape[0] = n;
  if (array_has_rows(a)) {
    out->rank = 2;
    out->shape[0] = affine_eval(a->rows, scalars, &overflow);
    out->shape[1] = affine_eval(a->columns, scalars, &overflow);
  }
  make_scalar(out, (StcType)a->type, n);
}

int stc_program_field_count(const StcProgram *p) { return p->ndeclared; }
const char *stc_program_field_name(const StcProgram *p, int field) {
  return field >= 0 && field < p->ndeclared ? p->declared[field].name : NULL;
}

const char *stc_program_field_outside(const StcProgram *p, int field) {
  return field >= 0 && field < p->ndeclared ? p->declared[field].outside : NULL;
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
int stc_program_find_array(const StcProgram *p, const char *name) {
  int i = module_find_param_array(p->module, name);
  return i < stc_program_array_count(p) ? i : -1;
}

/* ---------------------------------------------------------------- initial values */

/* Does declared field `i` need a value from outside? Reports an error if only some of its components were set. */
static bool is_missing(const StcProgram *p, Diags *diags, int i, const bool *components, StcStatus *s) {
  const Declared *d = &p->declared[i];
  const Field *field = &p->module->fields[d->field];
  const bool *given = &components[d->first];
  int n = 0, missing = 0;
  for (int c = 0; c < d->ncomponents; c++) {
    n += given[c];
    missing = given[missing] ? missing + 1 : missing;
  }
  if (n && n < d->ncomponents) {
    diag_error(diags, field->loc,
               "field %s was given some of its components, but not %s: give it all of them, or the whole field first",
               d->name, d->names[missing]);
    *s = STC_INPUT;
  }
  return !n && !field->temp && !field->past && !d->has_init;
}

StcStatus program_check_given(const StcProgram *p, Arena *a, Diags *diags, const Const *scalars, const bool *components,
                              const bool *arrays, bool options) {
  StcStatus s = STC_OK;
  for (int i = 0; i < p->ndeclared; i++) {
    const char *name = p->declared[i].name;
    const Field *field = &p->module->fields[p->declared[i].field];
    if (!is_missing(p, diags, i, components, &s))
      continue;
    if (field->ahead && is_missing(p, diags, i - 1, components, &s))
      continue;
    const char *cure =
        options && field->frames
            ? arena_printf(a, "give it one with --in %s=FILE.npy, whose first axis is that of its frames", name)
        : field->frames ? "set it with stc_plan_frames"
        : options
            ? arena_printf(a, "give it one with --in %s=FILE.npy, --in %s=random:1 or --in %s=0", name, name, name)
            : "set it with stc_plan_set";
    diag_error(diags, field->loc, "field %s has no value to start from: %s%s", name, cure,
               field->input ? "" : ", or write an `init` for it");
    s = STC_INPUT;
  }
  for (int i = 0; i < stc_program_array_count(p); i++) {
    const ParamArray *of = &p->module->param_arrays[i];
    if (arrays[i])
      continue;
    diag_error(diags, of->loc, "launch-time array %s has no values: give it %lld of type %s with %s", of->name,
               (long long)param_array_extent(of, scalars), type_name(of->type),
               options ? arena_printf(a, "--in %s=FILE.npy", of->name) : "stc_plan_set_array");
    s = STC_INPUT;
  }
  return s;
}

bool declared_has_frames(const StcProgram *p, int field) { return p->module->fields[p->declared[field].field].frames; }

int program_next_frame(const StcProgram *p, int field) {
  const Module *m = p->module;
  int next = field + 1;
  bool is =
      next < p->ndeclared && m->fields[p->declared[next].field].ahead && !m->fields[p->declared[field].field].ahead;
  return is ? next : -1;
}

bool argument_writes(const Module *m, const KArg *a, int field) {
  if (a->kind != KARG_BUFFER || !a->writes)
    return false;
  const Buffer *b = &m->buffers[a->index];
  return b->kind == BUFFER_FIELD && b->field == field;
}

/* Marks the fields that the kernels of a sequence write. */
static void note_written(const Module *m, const HostSeq *seq, bool *has) {
  for (int i = 0; i < seq->nops; i++) {
    if (seq->ops[i].kind != HOST_LAUNCH)
      continue;
    const Kernel *k = &m->kernels[seq->ops[i].a];
    for (int j = 0; j < k->nargs; j++)
      for (int f = 0; f < m->nfields; f++)
        has[f] |= argument_writes(m, &k->args[j], f);
  }
}

void fields_with_init(const Module *m, bool *has) {
  for (int i = 0; i < m->ninits; i++)
    for (int t = 0; t < m->inits[i].ntargets; t++)
      has[m->inits[i].targets[t]] = true;
  note_written(m, &m->host.init, has);
  note_written(m, &m->host.once, has);
}
