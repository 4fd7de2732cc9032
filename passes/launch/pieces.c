/* pieces.c: the pieces of a stencil and their bodies: finds the piece that covers the most points, and numbers the
 * values of a body. */
#include "passes/launch/launch.h"

int free_dimensions(Arena *a, const Box *box) {
  int n = 0;
  for (int d = 0; d < box->rank; d++)
    n += box_extent(a, box, d).n > 0;
  return n;
}

int main_piece_number(Arena *a, const Stencil *st) {
  int best = 0;
  for (int i = 1; i < st->npieces; i++)
    if (free_dimensions(a, &st->pieces[i].box) > free_dimensions(a, &st->pieces[best].box))
      best = i;
  return best;
}

const Piece *main_piece(Arena *a, const Stencil *st) { return &st->pieces[main_piece_number(a, st)]; }
