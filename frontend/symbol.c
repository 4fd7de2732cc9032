/* frontend/symbol.c: names and their meanings. */
#include "frontend/ast.h"

#include <string.h>

/* The number of the bucket of a name. */
static unsigned hash(const char *s) {
  unsigned h = 2166136261u;
  for (; *s; s++)
    h = (h ^ (unsigned char)*s) * 16777619u;
  return h % (sizeof(((Symbols *)0)->bucket) / sizeof(Symbol *));
}

Symbol *symbols_find(const Symbols *s, const char *name) {
  for (Symbol *x = s->bucket[hash(name)]; x; x = x->chain)
    if (!strcmp(x->name, name))
      return x;
  return NULL;
}

void symbols_add(Symbols *s, Symbol *sym) {
  unsigned h = hash(sym->name);
  sym->chain = s->bucket[h];
  s->bucket[h] = sym;
  if (s->last)
    s->last->next = sym;
  else
    s->first = sym;
  s->last = sym;
}

/* Among the symbols linked from `x` on that fit (NULL: all), the one nearest to `name`: sets *out to its name and *best
 * to its distance if that is less than *best. Bad symbols count as well. */
static void nearest_symbol(const Symbol *x, const char *name, bool (*fits)(const Symbol *), int *best,
                           const char **out) {
  for (; x; x = x->next) {
    int k = name_distance(name, x->name);
    if (k < *best && (!fits || fits(x))) {
      *best = k;
      *out = x->name;
    }
  }
}

const char *symbols_nearest(const Symbols *s, const Symbol *locals, const char *name, bool (*fits)(const Symbol *)) {
  int best = name_reach(name) + 1;
  const char *out = NULL;
  nearest_symbol(locals, name, fits, &best, &out);
  if (s)
    nearest_symbol(s->first, name, fits, &best, &out);
  for (int i = 0; (!fits || fits(NULL)) && reserved_word(i); i++) {
    int k = name_distance(name, reserved_word(i));
    if (k < best) {
      best = k;
      out = reserved_word(i);
    }
  }
  return out;
}

const char *symbol_words(const Symbol *s) {
  switch (s->kind) {
  case SYM_PARAM: return "a param";
  case SYM_CONST: return "a constant";
  case SYM_TABLE: return "a table";
  case SYM_COMPLEX: return "a complex number";
  case SYM_LET:
  case SYM_LOCAL:
  case SYM_VALUE: return "a let";
  case SYM_VAR: return "a var";
  case SYM_ARGUMENT: return "a parameter";
  case SYM_FN: return "a function (fn)";
  case SYM_STRUCT: return "a struct";
  case SYM_GRID: return "the grid";
  case SYM_REGION: return "a region";
  case SYM_FIELD: return "a field";
  case SYM_OP: return "a macro (op)";
  case SYM_STENCIL: return s->decl && s->decl->kind == DECL_INIT ? "an init" : "a stencil";
  case SYM_ARRAY:
  case SYM_COMPLEX_ARRAY: return "a launch-time array";
  case SYM_REDUCTION: return "a reduction";
  case SYM_PROBE: return "a probe";
  case SYM_LAYER: return "an absorbing layer";
  case SYM_LOSS: return "a loss";
  case SYM_REPEAT: return "a repeat";
  case SYM_STATE: return "a scalar";
  case SYM_BAD: break;
  }
  return "a name";
}
