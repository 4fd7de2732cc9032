/* driver/split/ring.h: how the machines of a run learn that a rank of another one has ended. The lowest rank of each
 * machine holds a connection to that of the next one, in a ring. News goes around it: each machine passes on what it
 * hears first. It is no part of the run: where no connection can be made, nothing is told. */
#ifndef STC_RING_H
#define STC_RING_H

#include "driver/split/net.h"

#include <poll.h>
#include <stdint.h>

/* What is told: the number of a rank that has ended without a word, or that one ends by itself and says why, or that
 * the machine that says so takes part no longer; NEWS_NONE: nothing. */
enum { NEWS_NONE = -1, NEWS_ENDS = -2, NEWS_ABORTS = -3 };
/* How many places ring_polls fills. */
enum { RING_POLLS = 4 };

typedef struct Ring Ring;
/* All ranks call it. machine: the lowest rank on the machine of each; beside: those on this computer, perhaps in
 * containers of their own. NULL: there is one machine, or it cannot be done, or another rank does it for this one. */
Ring *ring_open(Net *net, const int *machine, const bool *beside);
/* What poll is to wait for, into RING_POLLS places; how many milliseconds at most (-1: any number). */
int ring_polls(const Ring *r, struct pollfd *polls);
/* Does what poll has found (`late`: it has waited so long); the news, if any. */
int64_t ring_hear(Ring *r, const struct pollfd *polls, bool late);
/* Has rank `gone` ended with all of its machine, the next one? Then nobody there can say so. */
bool ring_speaks(const Ring *r, int64_t gone);
/* Tells the machines on both sides. */
void ring_say(const Ring *r, int64_t news);
/* Ends it; NULL is fine. */
void ring_close(Ring *r);

#endif
