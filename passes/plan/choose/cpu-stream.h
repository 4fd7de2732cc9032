/* passes/plan/choose/cpu-stream.h: tiles that are streamed by one thread (tile/mapping.h).
 *
 *   schedule-cpu-stream.c   the possible tiles, and the choice among them
 *   cpu-rounds.c            whether the rounds of a program's repeats should be streamed */
#ifndef STC_PASSES_WALK_H
#define STC_PASSES_WALK_H

#include "passes/tile/mapping.h"

/* For schedule-stream.c, on targets without threads. cpu_stream_choose: sets *s to `want` with everything but T filled
 * in;
 * cpu_stream_wrong_shape: the reason why a shape is wrong; cpu_stream_most_levels: the most time steps to try. */
void cpu_stream_choose(const TargetInfo *t, const Mapping *p, const Schedule *want, Schedule *s);
const char *cpu_stream_wrong_shape(Arena *a, const Module *m, const Schedule *s);
int cpu_stream_most_levels(const Module *m);

/* Should the rounds of the repeats of `m`, several of which are unrolled (pass rounds), be streamed, on a target
 * without threads? If everything is left open: are streamed tiles expected to take clearly less time than plain loops?
 * If the request says how many rounds share a launch: can they be streamed? */
bool cpu_streams_rounds(PassContext *c, const Module *m);

#endif
