/* passes/registry.h: the entry points of all passes, which the pass table (passes.c) lists. Each takes the context, the
 * module, and the options given in the pipeline (n of them, checked against the table's names); it returns the new
 * module, `m` changed in place, or NULL after reporting an error. One file a pass: pass_time_tile is in time-tile.c and
 * so on.
 */
#ifndef STC_PASSES_REGISTRY_H
#define STC_PASSES_REGISTRY_H

#include "passes/passes.h"

/* Stencil IR to stencil IR. check-finite has the option every (steps, default 100), distribute the
 * option cut (dimensions, default 0), hoist and share the option always, share the option rows (default 0), fuse the
 * option cuts (default the schedule's), time-tile the option t (levels, default 1). */
Module *pass_check_finite(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_check_bounds(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_distribute(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_transpose(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_scalarize(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_every(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_sides(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_history(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_rounds(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_merge_points(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_join_sweeps(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_probes(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_random(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_pack_tests(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_hoist(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_share(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_order(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_pad_rows(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_plan(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_fuse(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_time_tile(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_halo(PassContext *c, Module *m, int n, const PassOption *o);

/* Stencil IR to kernel IR. */
Module *pass_lower_naive(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_lower_overlap(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_lower_stream(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_lower_warps(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_lower_loops(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_lower_walk(PassContext *c, Module *m, int n, const PassOption *o);

/* Either level. */
Module *pass_simplify(PassContext *c, Module *m, int n, const PassOption *o);

/* Kernel IR to kernel IR. small-launches has the options points and threads (defaults in tuning.def), along0 to
 * along3, the grid's extents on which launches have so few points (those by default), barriers the
 * option near (1: barriers between neighbouring warps where they are enough, default 0). */
Module *pass_series(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_small_launches(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_shared_alloc(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_barriers(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_step_branches(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_range_guards(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_thin_regions(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_specialize(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_split_loops(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_split_edges(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_tile_classes(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_early_signals(PassContext *c, Module *m, int n, const PassOption *o);
Module *pass_mirror_stores(PassContext *c, Module *m, int n, const PassOption *o);

/* The value of option `name` as an integer in [lo, hi], `otherwise` if it was not given. Reports a malformed one as an
 * error of pass `pass`, then sets *ok to false (never to true). */
int64_t pass_option_int(PassContext *c, const char *pass, int n, const PassOption *o, const char *name, int64_t lo,
                        int64_t hi, int64_t otherwise, bool *ok);

/* Adds the line "N PASS: what" to the statistics, if they are kept. `what` is a format for the rest, such as "barriers
 * in kernel %s". */
void pass_stat(PassContext *c, int64_t n, const char *pass, const char *what, ...)
    __attribute__((format(printf, 4, 5)));

#endif
