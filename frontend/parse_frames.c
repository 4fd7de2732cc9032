/* parse_frames.c: parses the `frames` of a field that is a series of frames. */
#include "frontend/fields.h"

/* If the next token is `word`, takes it and sets *is and *took; false after reporting a second one. */
static bool flag(Parse *p, const char *word, bool *is, bool *took) {
  if (!parse_is_word(p, word))
    return true;
  if (*is)
    diag_error(p->d, p->t->loc, "'%s' is given twice", word);
  p->t++;
  *took = true;
  return !*is && (*is = true);
}

const FramesDecl *parse_frames(Parse *p, Loc loc) {
  FramesDecl *f = ARENA_NEW(p->arena, FramesDecl);
  f->loc = loc;
  if (!parse_is_word(p, "every")) {
    parse_error(p, "'every' and the number of steps for which a frame stands, as in 'frames every 360 linear'");
    return NULL;
  }
  p->t++;
  if (!(f->every = parse_expr(p)))
    return NULL;
  for (bool took = true; took;) {
    took = false;
    if (!flag(p, "linear", &f->linear, &took) || !flag(p, "cycle", &f->cycle, &took))
      return NULL;
  }
  return f;
}
