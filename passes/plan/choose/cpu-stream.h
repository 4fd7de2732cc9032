/* passes/plan/choose/cpu-stream.h: tiles that are streamed by one thread (tile/mapping.h).
 *
 *   schedule-cpu-stream.c   what a tile may be, and which is taken
 *   cpu-rounds.c            whether the rounds of a program's repeats had better be streamed
 */
#ifndef STC_PASSES_WALK_H
#define STC_PASSES_WALK_H

#include "passes/tile/mapping.h"

/* For schedule-stream.c, on targets without threads: all but T of `want`, filled up, in *s; what is wrong with a
 * shape; the most time steps to try. */
void cpu_stream_choose(const TargetInfo *t, const Mapping *p, const Schedule *want, Schedule *s);
const char *cpu_stream_wrong_shape(Arena *a, const Module *m, const Schedule *s);
int cpu_stream_most_levels(const Module *m);

/* Are the rounds of the repeats of `m`, several of which stand one after the other (pass rounds), expected to take
 * clearly less time in streamed tiles than as plain loops, on a target without threads, where all is left open; or can
 * they be, where a number of them that share a launch is asked for? */
bool cpu_streams_rounds(PassContext *c, const Module *m);

#endif
