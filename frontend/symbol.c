/* frontend/symbol.c: names and what they stand for. */
#include "frontend/ast.h"

#include <string.h>

/* The bucket of a name. */
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

enum { LONGEST = 32 }; /* longer names are not compared */

static int min3(int a, int b, int c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

/* Letters inserted, removed, changed or exchanged with their neighbour to make b of a (optimal string alignment);
 * LONGEST for long names. */
static int distance(const char *a, const char *b) {
  int m = (int)strlen(a), n = (int)strlen(b);
  int row[3][LONGEST + 1];
  if (m > LONGEST || n > LONGEST)
    return LONGEST;
  for (int j = 0; j <= n; j++)
    row[0][j] = j;
  for (int i = 1; i <= m; i++) {
    int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= n; j++) {
      now[j] = min3(up[j] + 1, now[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < now[j])
        now[j] = up2[j - 2] + 1;
    }
  }
  return row[m % 3][n];
}

/* The nearest of the symbols linked from `x` on, if it beats *best; the names of bad symbols are as good as others. */
static void nearest_symbol(const Symbol *x, const char *name, bool (*fits)(const Symbol *), int *best,
                           const char **out) {
  for (; x; x = x->next) {
    int k = distance(name, x->name);
    if (k < *best && (!fits || fits(x))) {
      *best = k;
      *out = x->name;
    }
  }
}

const char *symbols_nearest(const Symbols *s, const Symbol *locals, const char *name, bool (*fits)(const Symbol *)) {
  size_t length = strlen(name);
  int best = length <= 1 ? 1 : length <= 3 ? 2 : 3;
  const char *out = NULL;
  nearest_symbol(locals, name, fits, &best, &out);
  if (s)
    nearest_symbol(s->first, name, fits, &best, &out);
  for (int i = 0; (!fits || fits(NULL)) && reserved_word(i); i++) {
    int k = distance(name, reserved_word(i));
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
  case SYM_ARRAY: return "a launch-time array";
  case SYM_REDUCTION: return "a reduction";
  case SYM_PROBE: return "a probe";
  case SYM_BAD: break;
  }
  return "a name";
}
