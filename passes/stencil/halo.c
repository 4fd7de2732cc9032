/* halo.c: Algorithm 2 of the paper, DetermineTileSize: gives each instance the region around the output tile on which
 * it must compute its targets. launch/extents.c finds the region. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

Module *pass_halo(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  groups_halo(m, m->nstencils, m->stencils);
  for (int i = 0; i < m->nstencils; i++)
    for (int d = 0; d < m->grid.rank; d++)
      pass_stat(c, m->stencils[i].extent.lo[d] + m->stencils[i].extent.hi[d], "halo",
                "halo points in dimension %d of stencil '%s', level %d", d, m->stencils[i].name, m->stencils[i].level);
  return m;
}
