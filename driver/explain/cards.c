/* driver/explain/cards.c: the card that a user or a driver names, in the table of backend/cards.def. */
#include "driver/explain/explain.h"

#include <ctype.h>
#include <string.h>

const Card *card_find(StcContext *c, Arena *a, const char *name) {
  const Card *card = card_named(name);
  if (!card)
    context_error(c, "--card=%s: no such card is known; there are %s", name, card_names(a, NULL));
  return card;
}

/* Does `text` have `name` in it, whatever the case of letters, spaces and dashes left out? */
static bool names(const char *text, const char *name) {
  for (; *text; text++) {
    const char *t = text, *n = name;
    while (*n && *t) {
      bool skip_t = *t == ' ' || *t == '-', skip_n = *n == '-';
      if (!skip_t && !skip_n && tolower((unsigned char)*t) != *n)
        break;
      t += skip_t || !skip_n;
      n += skip_n || !skip_t;
    }
    if (!*n)
      return true;
  }
  return false;
}

const Card *card_of_device(const char *description, const char *arch) {
  const Card *best = NULL;
  for (const Card *k = card_table; k->name; k++)
    if (strcmp(k->arch, arch) == 0 && names(description, k->name) && (!best || strlen(k->name) > strlen(best->name)))
      best = k;
  return best;
}
