/* check_every.c: stencils that run once in so many steps: the number of steps, and which stencils may read which temp
 * fields. */
#include "frontend/checker.h"

bool check_stencil_every(Checker *c, const Decl *d, CheckedStencil *s) {
  if (!d->every)
    return true;
  if (s->is_init) {
    check_error(c, NULL, d->every->loc, "an init runs once, before the first step; leave out 'every'");
    return false;
  }
  return check_every(c, d, &s->every);
}

void check_every_read(Checker *c, Loc loc, const Symbol *f, const Env *env) {
  int64_t every = c->stencil && c->stencil->every ? c->stencil->every : 1;
  for (int i = 0; i < c->nchecked; i++) {
    const CheckedStencil *s = &c->checked[i];
    for (int t = 0; t < s->ntargets; t++)
      if (s->targets[t] == f->index && s->every > 1 && every % s->every) {
        check_error(c, env, loc,
                    "'%s' writes temp field '%s' every %lld steps, and it is read in other steps, too; let what reads "
                    "it run every %lld steps, or a multiple of that, or leave out 'temp'",
                    s->name, f->name, (long long)s->every, (long long)s->every);
        return;
      }
  }
}
