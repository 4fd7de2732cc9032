/* driver/explain/cards.c: finds the card that a user names in the table of backend/cards.def. */
#include "driver/explain/explain.h"

const Card *card_find(StcContext *c, Arena *a, const char *name) {
  const Card *card = card_named(name);
  if (!card)
    context_error(c, "--card=%s: no such card is known; there are %s", name, card_names(a, NULL));
  return card;
}
