/* driver/split/ring.h: messages between the machines of a run about ranks that have ended. The lowest rank of each
 * machine is connected to that of the next one, in a ring. News travel around it: each machine forwards what it hears
 * first. The run does not depend on it: if a connection cannot be made, no news arrive. */
#ifndef STC_RING_H
#define STC_RING_H

#include "driver/split/net.h"

#include <poll.h>
#include <stdint.h>

/* News: the number of a rank that has ended without notice; NEWS_ENDS: the machine that sends it takes part no longer;
 * NEWS_ABORTS: a rank ends by itself and has said why; NEWS_NONE: none. */
enum { NEWS_NONE = -1, NEWS_ENDS = -2, NEWS_ABORTS = -3 };
/* The number of entries that ring_polls fills. */
enum { RING_POLLS = 4 };

typedef struct Ring Ring;
/* All ranks call it. machine: for each rank, the lowest rank on its machine. beside: marks the ranks on this computer,
 * perhaps in other containers. Returns NULL if there is only one machine, if it is not possible, or if another rank
 * does it for this one. */
Ring *ring_open(Net *net, const int *machine, const bool *beside);
/* Fills RING_POLLS entries for poll. Returns the most milliseconds that poll may wait (-1: any number). */
int ring_polls(const Ring *r, struct pollfd *polls);
/* Handles the result of poll (`late`: it has waited that long); returns the news, if any. */
int64_t ring_hear(Ring *r, const struct pollfd *polls, bool late);
/* Has rank `gone` ended together with all of its machine, which is the next one? Then no rank there can report it. */
bool ring_speaks(const Ring *r, int64_t gone);
/* Sends the news to the machines on both sides. */
void ring_say(const Ring *r, int64_t news);
/* Closes the connections; NULL is allowed. */
void ring_close(Ring *r);

#endif
