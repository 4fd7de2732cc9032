/* driver/split/turns.h: parts of one device that take turns on it (private to turns.c, turns-memory.c and
 * turns-choose.c). The whole grid's plan has its fields in memory of this computer, which the device copies to and from
 * by itself, and which its kernels reach. In a turn a part's cells and ghost cells are copied to the device, it makes
 * as many steps as its ghost cells are good for, and what it owns is copied back. Meanwhile those of the part before it
 * are on their way back, and those of the next one on their way in. */
#ifndef STC_SPLIT_TURNS_H
#define STC_SPLIT_TURNS_H

#include "driver/split/split.h"

/* Lanes of the first part's device for what comes in and what goes out. */
enum { LANE_IN = LANE_SEND, LANE_OUT };

/* A piece of the device's memory, `size` bytes long; what a slot of a part's plan has while it needs it. */
typedef struct TurnBlock {
  char *memory;
  size_t size;
  bool taken;
} TurnBlock;

/* A field that lasts from turn to turn. mine: its number in the parts' module; whole: in the whole grid's; changed:
 * steps change it; lacks: it does not have the dimension that is cut, and comes in as a whole each turn; bytes: of a
 * point. around: what steps read beyond the upper edge of a ring, as it was before the first turn of a round (`rows`
 * rows; NULL: nothing). */
typedef struct TurnField {
  int mine, whole;
  bool changed, lacks;
  int64_t bytes, rows;
  char *around;
} TurnField;

/* What a plan's parts have for that. dimension: the one that is cut. budget: bytes of the device that all may take;
 * used: those taken. beside: copies go beside launches, by lanes. By slot of the parts' plans, which are alike in that:
 * bytes: the most that any part needs; lead: bytes in front of them, of which blocks have room for the most, most_lead;
 * array: is it of a launch-time array? arrays: the memory of that, which all parts share. held: by part of this rank
 * and slot the number of the block that it has, -1: none. in, out, seconds: what a round, a turn of each part, is
 * expected to copy each way, bytes, and its launches to take; link: bytes a second each way; needed: bytes
 * that blocks and arrays are expected to take. card: there is no device, and what one of
 * that kind would do is asked; else NULL. code: the `ncode` params that say how large a part is whose
 * code all have; NULL: it is not known yet. */
struct Turns {
  int dimension;
  bool beside;
  double budget, used;
  int nslots, nblocks, nfields;
  size_t *bytes, *lead, most_lead;
  bool *array;
  void **arrays;
  TurnBlock *blocks;
  int32_t *held;
  TurnField *fields;
  double in, out, seconds, link, needed;
  const TargetInfo *card;
  int ncode;
  const char *const *code;
};

/* turns-memory.c: finds what the slots of the parts' plans need, and makes what all parts share; the end. */
StcStatus turns_open_memory(StcPlan *p);
void turns_close_memory(StcPlan *p);
/* Gives the plan of part `i` blocks for the fields that last (`lasts`), or for all that it lacks; takes back what is of
 * no use behind its launches, or (`all`) everything. Who gets a block must wait for those who had it. */
StcStatus turns_take(StcPlan *p, int i, bool lasts);
void turns_give_back(StcPlan *p, int i, bool all);
/* The bytes of a block for so many bytes with so many in front of them. */
double turns_block(double bytes, size_t lead);

/* turns-choose.c: cuts the grid, whose parts' program is made, for the budget, unless the cut is asked for: how many
 * parts along the dimension, and how many steps a turn. `n` params. */
StcStatus turns_choose(StcPlan *p, bool parts_asked, int n, const char *const *defines);

/* Do the whole grid's kernels need more than so many bytes? Of a plan on a device that runs modules as a whole. */
bool turns_needed(const StcPlan *p, double memory);

/* turns.c: once the parts have plans, without memory: their fields, and what of them is put aside. */
StcStatus turns_open(StcPlan *p);

#endif
