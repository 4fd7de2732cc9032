/* driver/split/links.h: the links of a part to parts of other ranks (private to transport-mpi.c and direct.c). */
#ifndef STC_SPLIT_LINKS_H
#define STC_SPLIT_LINKS_H

#include "driver/split/split.h"

#include <stdatomic.h>

/* State of a direct link that both ends see, in pinned memory; each member has a cache line of its own. The number of
 * the last exchange whose cells have arrived in the memory of the receiving part, and of the last one whose cells have
 * been copied out of it. closed: the sending rank has closed that memory. */
typedef struct LinkFlags {
  _Alignas(64) _Atomic uint32_t there;
  _Alignas(64) _Atomic uint32_t taken;
  _Alignas(64) _Atomic uint32_t closed;
} LinkFlags;

/* The link of two parts, one of which is on this rank, for `bytes` bytes of cells. memory: host memory for the message
 * on this rank; NULL: MPI uses staging. staging: memory on the part's device; NULL: cells are copied directly to or
 * from the host memory. pinned: the device must free the memory. shared: the memory is the sender's, and both ranks see
 * it; it has twice the size, and exchanges use the halves in turn, so that one half can be filled while the other is
 * still read; messages are empty. direct: there is no host memory and no message; staging is on the device of the
 * receiving part, the other part's device writes to it, and both use `flags`. */
typedef struct Link {
  int from, to;
  size_t bytes;
  char *memory, *staging;
  bool pinned, shared, direct;
  LinkFlags *flags;
} Link;

/* The links of a plan and the messages of an exchange. flows: all devices of parts on this rank transfer their cells
 * themselves. beside: some cells go between parts of this rank. segment: of each rank; NULL: none are shared. turn: the
 * half of shared memory for the next exchange. ndirect: the number of direct links. flags: for each rank, the memory of
 * its flags. count: the number of exchanges so far, where the trial of the links is the first. given_up: this rank
 * sends nothing any more. */
typedef struct MpiState {
  int n, nmessages, turn, ndirect;
  bool flows, beside, given_up;
  uint32_t count;
  Link *links;
  NetMessage *messages;
  Segment *segment, *flags;
} MpiState;

/* transport-mpi.c: */

/* link_part: the part of the link that is on this rank. link_sends: does it send? link_peer: the rank at the other end.
 */
const PartPlan *link_part(const Split *s, const Link *l);
bool link_sends(const Split *s, const Link *l);
int link_peer(const Split *s, const Link *l);
/* Exchanges `size` bytes between the ends of each link: the n-th piece of `mine` goes to the other end of link n, whose
 * piece becomes the n-th of `theirs`. */
void links_tell(StcPlan *p, const MpiState *m, void *mine, void *theirs, size_t size);
/* segments_pin: pins all segments that this rank sees, and closes those that cannot be pinned. segments_unpin: unpins
 * them. */
void segments_pin(const Split *s, Segment *segment);
void segments_unpin(const Split *s, Segment *segment);

/* direct.c: */

/* All ranks call it, if all of them flow: makes links between GPUs of one machine direct where that is possible. */
void direct_open(StcPlan *p, MpiState *m);
/* direct_begin, direct_end: issued in the part's LANE_SEND, before and after the part's own work on the cells of this
 * exchange. */
StcStatus direct_begin(StcPlan *p, const Link *l);
StcStatus direct_end(StcPlan *p, const Link *l);
/* This rank cannot continue: ensures that no other rank waits for it. */
void direct_give_up(StcPlan *p, MpiState *m);
/* Frees the memory of direct links, and the flags of all links. */
void direct_close_links(StcPlan *p, const MpiState *m);
void direct_close(StcPlan *p, MpiState *m);

#endif
