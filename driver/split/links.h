/* driver/split/links.h: what a part has for a part of another rank (private to transport-mpi.c and direct.c). */
#ifndef STC_SPLIT_LINKS_H
#define STC_SPLIT_LINKS_H

#include "driver/split/split.h"

#include <stdatomic.h>

/* What both ends of a direct link see, in pinned memory, each in a line of its own: the last exchange whose
 * cells are in the memory of the part that gets them, and the last whose cells have been taken out of there.
 * closed: the rank that sends has let go of that memory. */
typedef struct LinkFlags {
  _Alignas(64) _Atomic uint32_t there;
  _Alignas(64) _Atomic uint32_t taken;
  _Alignas(64) _Atomic uint32_t closed;
} LinkFlags;

/* The cells between two parts of which one is here, `bytes` long. memory: here, NULL: MPI takes staging; staging: on
 * the part's device, NULL where cells go straight to or from the memory. pinned: the memory is the device's to give
 * back. shared: it is the sender's, both see it, and there is as much again behind it: exchanges take the one and the
 * other in turn, so that one may be filled while the other is still being emptied; messages are empty. direct: there is
 * no memory and no message; staging is on the device of the part that gets the cells, the other one's device writes
 * there, and both look at `flags`. */
typedef struct Link {
  int from, to;
  size_t bytes;
  char *memory, *staging;
  bool pinned, shared, direct;
  LinkFlags *flags;
} Link;

/* The links of a plan and the messages of an exchange. flows: all devices of parts here carry their cells by
 * themselves; beside: some cells go between parts of this rank. segment: of each rank; NULL: none are shared; turn:
 * which half of shared memory is for the next exchange. ndirect: links that are; flags: of each rank, where theirs
 * are; count: exchanges so far, that of trying them is the first; given_up: no more is to be expected of this rank. */
typedef struct MpiState {
  int n, nmessages, turn, ndirect;
  bool flows, beside, given_up;
  uint32_t count;
  Link *links;
  NetMessage *messages;
  Segment *segment, *flags;
} MpiState;

/* transport-mpi.c: */

/* The part of the link that is here, and whether it sends; the rank at the other end. */
const PartPlan *link_part(const Split *s, const Link *l);
bool link_sends(const Split *s, const Link *l);
int link_peer(const Split *s, const Link *l);
/* Has both ends of each link know the `size` bytes that the other one has for it; of the n-th they are the n-th. */
void links_tell(StcPlan *p, const MpiState *m, void *mine, void *theirs, size_t size);
/* Pins all segments that are seen here; those that cannot be are seen no more. Lets go of them. */
void segments_pin(const Split *s, Segment *segment);
void segments_unpin(const Split *s, Segment *segment);

/* direct.c: */

/* All ranks, if all flow: has links between GPUs of one machine go from GPU to GPU, where that can be. */
void direct_open(StcPlan *p, MpiState *m);
/* In the part's LANE_SEND, before and behind its own work on the cells of this exchange. */
StcStatus direct_begin(StcPlan *p, const Link *l);
StcStatus direct_end(StcPlan *p, const Link *l);
/* This rank cannot go on: has nobody wait for it any more. */
void direct_give_up(StcPlan *p, MpiState *m);
/* Gives back what the direct links took, and the flags of all. */
void direct_close_links(StcPlan *p, const MpiState *m);
void direct_close(StcPlan *p, MpiState *m);

#endif
