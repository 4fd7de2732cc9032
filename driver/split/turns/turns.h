/* driver/split/turns/turns.h: parts of one device that take turns on it (private to this folder and the plan that has
 * them).
 *
 *   turns.c    rounds of turns
 *   memory.c   memory that parts use one after the other
 *   skew.c     parts that move down the grid from launch to launch, and the circular memory that they use
 *   choose.c   the number of parts, and of steps in a turn
 *
 * The whole grid's plan has its fields in host memory, which the device's copies and kernels can access. In a turn a
 * part's cells are copied to the device, the part makes some steps, and its cells are copied back. Meanwhile the cells
 * of the part before it are copied back, and those of the next part are copied in. There are two ways to make several
 * steps in a turn. With ghost cells: a part has as many ghost cells as the steps need, and computes them redundantly.
 * Skewed (Skew): the part's rows move down from launch to launch, so that it uses the values that its lower neighbour
 * has left, and nothing is computed twice. */
#ifndef STC_SPLIT_TURNS_H
#define STC_SPLIT_TURNS_H

#include "driver/split/split.h"

/* Lanes of the first part's device for copies in and out. */
enum { LANE_IN = LANE_SEND, LANE_OUT };

/* A piece of the device's memory, of `size` bytes, for a slot of a part's plan while the part needs it. */
typedef struct TurnBlock {
  char *memory;
  size_t size;
  bool taken;
} TurnBlock;

/* A field that lives from turn to turn. mine: its number in the parts' module; whole: in the whole grid's. changed:
 * steps change it. lacks: it lacks the dimension that is cut, and is copied in as a whole each turn. bytes: of a point.
 * around: the values that steps read beyond the upper edge of a ring, as they were before the first turn of a round
 * (`rows` rows; NULL: none). */
typedef struct TurnField {
  int mine, whole;
  bool changed, lacks;
  int64_t bytes, rows;
  char *around;
} TurnField;

/* Circular memory for a slot, whose rows all parts use in turn: `bytes` bytes of the device that are mapped twice in a
 * row, so that the second half is the same memory as the first. So rows are contiguous wherever they begin, and a row
 * replaces the one whose distance is the length of the memory. */
typedef struct Circle {
  char *memory; /* NULL: the slot has none */
  size_t bytes;
} Circle;

/* Skewed parts. In its turn part i makes at most `launches` launches. Launch number j, from 1 on, stores the rows [lo
 * .. hi] of place[i], lower by `shift` * j; except that the first part's rows always begin, and the last one's end, at
 * the ends of the grid. A launch reads at most `shift` rows beyond those that it stores. Below them, the part before
 * has left the final values; above them are the values of the launch before, or those that were copied in. A launch
 * overwrites only rows below all rows that are still to be read.
 *
 * steps: of the launch that makes the most. below: the rows that a part has below place[i].lo. rows: of each part
 * except the last. wide: a round may end in other memory than the part's cells are copied into, so circles have room
 * for both. ring: fields are periodic. Then the first part's rows begin `shift` * j higher, and the last part's rows
 * end as far beyond the grid, where they are the first part's rows again; what the first part leaves there is saved for
 * the last one, `kept` rows. */
typedef struct Skew {
  int64_t steps, shift, launches, rows, below, kept;
  bool wide, ring;
  struct SkewPlace {
    int64_t lo, hi;
  } *place;
  Circle *circles; /* by slot of the parts' plans */
  void **aside;    /* by slot: the saved rows; NULL: none are saved */
} Skew;

/* The state of a plan whose parts take turns. dimension: the one that is cut. budget: the bytes of the device that all
 * may use; given: by --memory, and the device has that many. beside: copies run beside launches, in lanes. By slot of
 * the parts' plans, which are alike in that: bytes: the most that any part needs; lead: bytes before them, of which
 * blocks have room for the most, most_lead; shared: all parts share it, because it is that of a launch-time array, or a
 * circle. arrays: the memory of the former. held: by part of this rank and slot, the number of its block; -1: none.
 *
 * in, out, seconds: the estimated bytes that a round (a turn of each part) copies each way, and the time of its
 * launches; step: the time of a step, including everything; link: bytes a second each way; needed: bytes of blocks and
 * arrays, as estimated until parts have plans. card: there is no device, and the plan is an estimate for this kind of
 * card; else NULL. code: the `ncode` params with the size of the part for which the code is made that all parts use;
 * NULL: not known yet. schedule: of that code. fitting: the rows of a part for which code with tiles of that many rows
 * would be best; 0: none. uncircled: parts could be skewed if the device had circular memory. */
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

/* memory.c. turns_open_memory: computes what the slots of the parts' plans need, and allocates what all parts share.
 * turns_close_memory: frees all. */
StcStatus turns_open_memory(StcPlan *p);
void turns_close_memory(StcPlan *p);
/* turns_take: gives the plan of part `i` blocks for the fields that live from turn to turn (`lasts`), or for all slots
 * without memory. turns_give_back: takes back the blocks that are not needed after its launches, or (`all`) all of
 * them. A part that gets a block must wait for those that had it before. */
StcStatus turns_take(StcPlan *p, int i, bool lasts);
void turns_give_back(StcPlan *p, int i, bool all);
/* The bytes of a block for `bytes` bytes with `lead` bytes before them. */
double turns_block(double bytes, size_t lead);

/* choose.c: chooses a cut of the grid for the budget, when the parts' program is made, unless the cut was requested:
 * the number of parts along the dimension, and of steps in a turn. `n` params. STC_MEMORY: none fits; this is reported
 * if one `must`. */
StcStatus turns_choose(StcPlan *p, bool parts_asked, bool must, int n, const char *const *defines);
/* Reports that so many parts with so many steps in a turn need `bytes` bytes, which are more than the budget. */
StcStatus turns_too_large(StcPlan *p, int64_t parts, int64_t steps, double bytes);

/* Do the whole grid's kernels need more than `memory` bytes? For a plan on a device that runs modules as a whole. */
bool turns_needed(const StcPlan *p, double memory);

/* skew.c: */

/* Can parts like the first one, of plan `q`, be skewed: is the first dimension cut, does each sequence of at most
 * `steps` steps have all its launches beside each other, on rows that can be set, and has the device circular memory?
 */
bool skew_is_possible(const StcPlan *p, const StcPlan *q, int64_t steps);
/* Are fields periodic in the dimension that is cut? */
bool skew_is_ring(const StcPlan *p, const StcPlan *q);
/* skew_launches: the number of launches that make `steps` steps. skew_steps: the steps of at most that many launches.
 */
int64_t skew_launches(const StcPlan *q, int64_t steps);
int64_t skew_steps(const StcPlan *q, int64_t steps, int64_t launches);
/* After `steps` steps, is the value of any field in memory that held a field's value before them? */
bool skew_is_wide(const StcPlan *q, int64_t steps);
/* Places the parts of the plan, whose number has been chosen. */
void skew_place(StcPlan *p);
/* Once the parts have plans: makes circles for the slots of fields, and sets the memory of parts to their place in
 * them. */
StcStatus skew_open(StcPlan *p);
void skew_close(StcPlan *p);
/* The bytes of the circle of slot `slot`, including saved rows; 0: the slot has none. */
double skew_bytes(const StcPlan *p, int slot);
/* The rows that launch number `launches` of part `i` stores, which are the rows with final values if it is the last, in
 * coordinates of the grid; in a ring they may continue beyond its end. */
void skew_owned(const StcPlan *p, int i, int64_t launches, int64_t *lo, int64_t *hi);
/* For rings. skew_put_aside: saves the rows that the first part leaves for the last one after its launches.
 * skew_take_back: gives them to the last part. */
StcStatus skew_put_aside(StcPlan *p);
StcStatus skew_take_back(StcPlan *p);
/* Makes the launches of a turn of part `i`. */
StcStatus skew_run(StcPlan *p, int i, int64_t steps);

/* turns.c: copies runs of cells of `size` bytes within the device, in order with the launches of part `i`. */
StcStatus turns_move(const StcPlan *p, int i, const Runs *r, int64_t size, const char *from, char *to);
/* turns_open: once the parts have plans, without memory: collects their fields, and allocates what is saved of them. */
StcStatus turns_open(StcPlan *p);

#endif
