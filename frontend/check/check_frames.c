/* check_frames.c: fields that are series of frames. Such a field is an input that gets its next frame before each step
 * whose number is a multiple of a constant (Field.frames). If reads interpolate between two frames, a hidden field
 * `FIELD.next` contains the later frame, and each read is expanded to a + w * (b - a), with w computed from the step's
 * number. So stencils contain nothing new. */
#include "frontend/complex.h"
#include "frontend/fields.h"

/* ---- declarations */

/* Does field `f`, declared by `d`, have only attributes that are allowed with frames? Reports others. */
static bool is_fit(Checker *c, const Decl *d, const Field *f) {
  const char *word = d->temp ? "temp" : d->history ? "history" : d->dry ? "where" : NULL;
  if (word)
    check_error(c, NULL, d->frames->loc, "'%s' has frames, which come from outside, and cannot have '%s'; leave it out",
                d->name, word);
  else if (d->frames->linear && !type_is_float(type_component(c->m, f->type, 0)))
    check_error(c, NULL, d->frames->loc,
                "what lies between two frames of '%s' is no %s; leave out 'linear', or make it a field of floats",
                d->name, type_text(c->m, f->type));
  else if (d->frames->linear && check_base(c, f->type) == TY_NONE && !check_is_complex(c, f->type))
    check_error(c, NULL, d->frames->loc,
                "there is no arithmetic on structs, so none of '%s' lies between two frames; leave out 'linear', or "
                "declare a field for each member",
                d->name);
  else
    return true;
  return false;
}

/* Declares the field with the frame after that of field `s`. */
static Symbol *add_later(Checker *c, const Symbol *s) {
  Field later = c->m->fields[s->index];
  later.name = arena_printf(c->arena, "%s.next", s->name);
  later.ahead = true;
  Symbol *x = ARENA_NEW(c->arena, Symbol);
  *x = (Symbol){.kind = SYM_FIELD,
                .name = later.name,
                .loc = s->loc,
                .used = true,
                .type = s->type,
                .box = s->box,
                .index = c->m->nfields};
  ARENA_PUSH(c->arena, c->m->fields, c->m->nfields, later);
  return x;
}

bool check_frames(Checker *c, const Decl *d, Symbol *s) {
  Field *f = &c->m->fields[s->index];
  int64_t every;
  if (!is_fit(c, d, f) ||
      !check_const_int(c, d->frames->every, NULL, "the number of steps from frame to frame", &every))
    return false;
  if (every < 1 || every > INT32_MAX) {
    check_error(c, NULL, d->frames->every->loc, "a frame stands for 1 or more steps, not %lld", (long long)every);
    return false;
  }
  f->input = true;
  f->frames = every;
  f->cycle = d->frames->cycle;
  Framed *framed = ARENA_NEW(c->arena, Framed);
  *framed = (Framed){every, d->frames->linear && every > 1 ? add_later(c, s) : NULL};
  s->framed = framed;
  return true;
}

void check_frames_by(Checker *c) {
  for (int f = 0; f < c->m->nfields && c->m->nby; f++)
    if (c->m->fields[f].frames) {
      check_error(c, NULL, c->m->fields[f].loc,
                  "'%s' has frames, which a gradient, computed from the last step to the first, does not follow yet; "
                  "leave out 'frames' or 'gradient'",
                  c->m->fields[f].name);
      return;
    }
}

/* ---- reads */

/* `x` OP `y`, with its type. */
static Expr *both(Checker *c, const Env *env, Opcode op, Expr *x, Expr *y) {
  return check_types(c, env, check_operation(c, op, x->loc, 2, (Expr *[]){x, y}));
}

/* The number `k` as a literal of type `t`. */
static Expr *number(Checker *c, Loc loc, Type t, int64_t k) {
  Expr *e = check_leaf(c, EXPR_INT, t, loc, NULL);
  e->name = arena_printf(c->arena, "%lld", (long long)k);
  return e;
}

/* (step % every) / every, in type `t`. */
static Expr *weight(Checker *c, const Env *env, Loc loc, int64_t every, Type t) {
  Expr *since = both(c, env, OP_REM, check_step(c, loc), number(c, loc, TY_I64, every));
  Expr *e = check_operation(c, OP_CONVERT, loc, 1, &since);
  e->type = t;
  return both(c, env, OP_DIV, e, number(c, loc, TY_LITERAL_INT, every));
}

Expr *check_frame_read(Checker *c, const Env *env, const Symbol *sym, Expr *e) {
  if (!c->stencil || c->in_init || c->in_mask)
    return check_error(
        c, env, e->loc,
        "'%s' has frames, which belong to the steps of stencils, and this is computed %s; have a stencil "
        "keep what it needs of them in a field",
        sym->name, c->in_init ? "before them" : "between them");
  if (c->ago)
    return check_error(c, env, e->loc, "'%s' has frames, of which no older ones are kept", sym->name);
  if (!sym->framed->later)
    return e;
  Expr *now = ARENA_NEW(c->arena, Expr), *later = ARENA_NEW(c->arena, Expr);
  *now = *later = *e;
  later->sym = sym->framed->later;
  Type t = type_component(c->m, sym->type, 0);
  t = t == TY_F16 || t == TY_BF16 ? TY_F32 : t;
  Expr *rest = both(c, env, OP_MUL, weight(c, env, e->loc, sym->framed->every, t), both(c, env, OP_SUB, later, now));
  return both(c, env, OP_ADD, e, rest);
}
