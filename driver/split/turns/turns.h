/* driver/split/turns/turns.h: parts of one device that take turns on it (private to this folder and the plan that has
 * them).
 *
 *   turns.c    rounds of turns
 *   memory.c   memory that parts have one after the other
 *   skew.c     parts that move down the grid from launch to launch, and the circular memory they are in
 *   choose.c   how many parts, and steps a turn
 *
 * The whole grid's plan has its fields in memory of this computer, which the device copies to and from by itself, and
 * which its kernels reach. In a turn a part's cells are copied to the device, it makes some steps, and what it has then
 * is copied back. Meanwhile those of the part before it are on their way back, and those of the next one on their way
 * in. There are two ways to make several steps. With ghost cells: a part has as many beside its own as the steps need,
 * and computes them along. Skewed (Skew): the part's rows move down from launch to launch, so that it finds what its
 * neighbour below has left, and nothing is computed twice. */
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

/* The memory of a slot whose rows all parts have in turn: `bytes` bytes of the device, twice one behind the other, the
 * second time the same as the first. So rows lie one behind the other wherever they begin, and those that are as far
 * away as it is long take their place. */
typedef struct Circle {
  char *memory; /* NULL: the slot has none */
  size_t bytes;
} Circle;

/* Skewed parts. In its turn part i makes `launches` launches at most; the rows that number j stores, from 1 on, are
 * [lo .. hi] of place[i], `shift` * j further down, but for the ends of the grid, where the first part's begin and the
 * last one's end. A launch reads no further than `shift` rows from those it stores. So of what it reads below them,
 * the part before has left the last values; above them are the values of the launch before, or those that came in:
 * what a launch stores lies below all that is still to be read of what it writes over. steps: of the launch that makes
 * the most; below: rows that a part has below place[i].lo; rows: of each part but the last. wide: a round may end in
 * the memory that another part comes into, so circles have room for both.
 * ring: fields go around. Then the first part's rows begin `shift` * j further up, and the last one's end as far beyond
 * the grid, where they are the first one's again: what that one left there is put aside for it, `kept` rows. */
typedef struct Skew {
  int64_t steps, shift, launches, rows, below, kept;
  bool wide, ring;
  struct SkewPlace {
    int64_t lo, hi;
  } *place;
  Circle *circles; /* by slot of the parts' plans */
  void **aside;    /* by slot; NULL: nothing is put aside */
} Skew;

/* What a plan's parts have for that. dimension: the one that is cut. budget: bytes of the device that all may take;
 * given: by --memory, and the device has as much. beside: copies go beside launches, by lanes. By slot of the parts'
 * plans, which are alike in that: bytes: the most that any part needs; lead: bytes in front of them, of which blocks
 * have room for the most, most_lead; shared: do all parts have it, of a launch-time array, or in a circle? arrays: the
 * memory of the former. held: by part of this rank and slot the number of the block that it has, -1: none. in, out,
 * seconds: what a round, a turn of each part, is expected to copy each way, bytes, and its launches to take; step: a
 * step, all counted; link: bytes a second each way; needed: bytes that blocks and arrays take, as expected until parts
 * have plans. card: there is no device, and what one of that kind would do is asked; else NULL. code: the `ncode`
 * params that say how large a part is whose code all have; NULL: it is not known yet. schedule: of that code; fitting:
 * the rows of a part that code with tiles of as many would be best for, 0: none. uncircled: parts could be skewed, had
 * the device circular memory. */
struct Turns {
  Skew *skew; /* NULL: parts have ghost cells */
  bool uncircled;
  int dimension;
  bool beside, given;
  double budget;
  int nslots, nblocks, nfields;
  size_t *bytes, *lead, most_lead;
  bool *shared;
  void **arrays;
  TurnBlock *blocks;
  int32_t *held;
  TurnField *fields;
  double in, out, seconds, step, link, needed;
  const TargetInfo *card;
  int ncode;
  int64_t fitting;
  const char *const *code, *schedule;
};

/* memory.c: finds what the slots of the parts' plans need, and makes what all parts share; the end. */
StcStatus turns_open_memory(StcPlan *p);
void turns_close_memory(StcPlan *p);
/* Gives the plan of part `i` blocks for the fields that last (`lasts`), or for all that it lacks; takes back what is of
 * no use behind its launches, or (`all`) everything. Who gets a block must wait for those who had it. */
StcStatus turns_take(StcPlan *p, int i, bool lasts);
void turns_give_back(StcPlan *p, int i, bool all);
/* The bytes of a block for so many bytes with so many in front of them. */
double turns_block(double bytes, size_t lead);

/* choose.c: cuts the grid, whose parts' program is made, for the budget, unless the cut is asked for: how many
 * parts along the dimension, and how many steps a turn. `n` params. STC_MEMORY: none fits; a report says so if one
 * `must`. */
StcStatus turns_choose(StcPlan *p, bool parts_asked, bool must, int n, const char *const *defines);
/* Reports that so many parts, so many steps a turn, take so many bytes, more than they may. */
StcStatus turns_too_large(StcPlan *p, int64_t parts, int64_t steps, double bytes);

/* Do the whole grid's kernels need more than so many bytes? Of a plan on a device that runs modules as a whole. */
bool turns_needed(const StcPlan *p, double memory);

/* skew.c: */

/* Can parts like the one of plan `q`, the first one, be skewed: is the first dimension cut, does each sequence that
 * makes no more than `steps` steps make all its launches at once, of rows that it is told, and has the device circular
 * memory? */
bool skew_is_possible(const StcPlan *p, const StcPlan *q, int64_t steps);
/* Do fields go around in the dimension that is cut? */
bool skew_is_ring(const StcPlan *p, const StcPlan *q);
/* The launches that make so many steps; the steps that at most so many of these make. */
int64_t skew_launches(const StcPlan *q, int64_t steps);
int64_t skew_steps(const StcPlan *q, int64_t steps, int64_t launches);
/* Does any field end `steps` steps in memory that one begins them in? */
bool skew_is_wide(const StcPlan *q, int64_t steps);
/* Places the parts of the plan, whose number is chosen. */
void skew_place(StcPlan *p);
/* Gives the slots of fields their circles, once the parts have plans, and has parts be in them where they belong. */
StcStatus skew_open(StcPlan *p);
void skew_close(StcPlan *p);
/* The bytes of the circle of slot `slot`, and of what is put aside of it; 0: the slot has none. */
double skew_bytes(const StcPlan *p, int slot);
/* The rows that launch number `launches` of part `i` stores, and behind which they are the last values, in the
 * coordinates of the grid; of a ring they may go on beyond its end. */
void skew_owned(const StcPlan *p, int i, int64_t launches, int64_t *lo, int64_t *hi);
/* On rings: keeps the rows that the first part, behind its launches, leaves to the last one; gives them to that. */
StcStatus skew_put_aside(StcPlan *p);
StcStatus skew_take_back(StcPlan *p);
/* The launches of a turn of part `i`. */
StcStatus skew_run(StcPlan *p, int i, int64_t steps);

/* turns.c: copies runs of cells of `size` bytes within the device, in order with the launches of part `i`. */
StcStatus turns_move(const StcPlan *p, int i, const Runs *r, int64_t size, const char *from, char *to);
/* Once the parts have plans, without memory: their fields, and what of them is put aside. */
StcStatus turns_open(StcPlan *p);

#endif
