/* passes/plan/choose/cpu-stream.h: tiles that are streamed by one thread (tile/size.h).
 *
 *   schedule-cpu-stream.c   what a tile may be, and which is taken
 */
#ifndef STC_PASSES_WALK_H
#define STC_PASSES_WALK_H

#include "passes/tile/size.h"

/* For schedule-stream.c, on targets without threads: why launch `l` cannot be streamed, NULL: it can; all but T of
 * `want`, filled up, in *s; what is wrong with a shape, and with a tile; the most time steps to
 * try. */
const char *walk_refused(Arena *a, const Launch *l);
void cpu_stream_choose(const TargetInfo *t, const Stream *p, const Schedule *want, Schedule *s);
const char *cpu_stream_wrong_shape(Arena *a, const Module *m, const Schedule *s);
const char *cpu_stream_too_large(Arena *a, const TargetInfo *t, const Stream *p, const Schedule *s);
int cpu_stream_most_levels(const Module *m);

#endif
