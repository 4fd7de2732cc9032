/* loss.c: prints and parses losses and the inputs of gradients. */
#include "ir/text/text.h"

#include <string.h>

void loss_print(Str *s, const Module *m, const Loss *l) {
  text_put(s, m, "  loss %@ factor ", l->name);
  const_print(s, (Const){.f = l->factor}, TY_F64);
  text_put(s, m, " over %b", &l->over);
  if (l->every)
    str_addf(s, " every %lld", (long long)l->every);
  str_add(s, " {\n");
  block_print(s, m, NULL, l->body, 2);
  str_add(s, "  }\n");
}

void by_print(Str *s, const Module *m) {
  static const char *const kinds[] = {"field ", "param_array ", "param "};
  for (int i = 0; i < m->nby; i++) {
    const By *x = &m->by[i];
    text_put(s, m, "  gradient %s%@%s", kinds[x->kind],
             x->kind == BY_FIELD   ? field_name(m, x->index)
             : x->kind == BY_ARRAY ? param_array_name(m, x->index)
                                   : scalar_name(m, x->index),
             x->may_be_idle ? " if used\n" : "\n");
  }
}

void loss_parse(Parser *p, Loc at) {
  Loss l = {.loc = at};
  l.name = text_new_symbol(p, module_find_loss, "loss");
  reader_expect_word(&p->r, "factor");
  l.factor = reader_const(&p->r, TY_F64).f;
  reader_expect_word(&p->r, "over");
  l.over = text_grid_box(p);
  if (reader_accept_word(&p->r, "every"))
    l.every = reader_int(&p->r, 1, INT64_MAX);
  l.body = block_new(p->arena, NULL);
  text_block(p, l.body);
  ARENA_PUSH(p->arena, p->m->losses, p->m->nlosses, l);
}

void by_parse(Parser *p, Loc at) {
  By x = {.kind = BY_PARAM, .loc = at};
  if (reader_accept_word(&p->r, "field"))
    x.kind = BY_FIELD;
  else if (reader_accept_word(&p->r, "param_array"))
    x.kind = BY_ARRAY;
  else
    reader_expect_word(&p->r, "param");
  x.index = x.kind == BY_FIELD   ? text_ref(p, module_find_field, "field")
            : x.kind == BY_ARRAY ? text_ref(p, module_find_param_array, "param_array")
                                 : text_ref(p, module_find_scalar, "param");
  if (reader_accept_word(&p->r, "if")) {
    reader_expect_word(&p->r, "used");
    x.may_be_idle = true;
  }
  ARENA_PUSH(p->arena, p->m->by, p->m->nby, x);
}
