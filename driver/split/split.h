/* driver/split/split.h: a plan whose grid is cut into parts, each of which has a plan of its own (docs/cluster.md).
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones; transports are called
 * through the table Transport.
 *
 *   parts:
 *     parts.c         a part: its points, cells and name
 *     exchange.c      which cells go from which part to which
 *     split-shape.c   parses --split
 *     split-choose.c  how many parts along which dimension, by default
 *     split-live.c    cuts that give parts equal numbers of live points where masks are known
 *   processes that work on one grid together (net.h; stc-mpi.c is that on MPI, a shared module):
 *     net.c           joining the ranks of a run
 *     peers.c         which of them are alive
 *     ring.c, ring.h  how machines inform each other of that
 *     segments.c      memory that ranks of one machine share
 *     nccl.c, nccl.h  NVIDIA's library that connects GPUs
 *   launches and cells:
 *     windows.c       the last launches before an exchange: compute only what is needed, and first what is sent
 *     mirrors.c       launches that store to the ghost cells of other parts themselves
 *     ghosts.c        what the simulator knows of ghost cells
 *     whole.c         fields of the whole grid to the parts and back
 *     lists.c         lists of points, for the parts
 *     evaluate.c      reductions and probes where no rank has the whole grid
 *     transport-peer.c  cells from GPU to GPU; transport-mpi.c  from rank to rank
 *     direct.c        from GPU to GPU of ranks of one machine; links.h: what it and transport-mpi.c share
 *   steps of all parts:
 *     split-steps.c   steps, and exchanges between them
 *     split-replay.c  periods of steps that GPUs record and replay
 *     transport-copy.c  cells through host memory; transport-nccl.c  from GPU to GPU of all ranks
 *     transports.c    chooses the transport
 *     split-every.c   the number of steps between exchanges
 *   phases/           steps with updates, repeats and levels, whose stages have a program each: see phases.h there
 *   turns/            parts that take turns on a device whose memory the grid does not fit
 *   the plan:
 *     split.c         making it: how the grid is cut, on which devices the parts are, the program for a part
 *     split-run.c     the time loop over parts
 *     ranks.c         the interface of plans over several processes, fields of parts
 *     gather.c        fields collected on rank 0 where no rank has the whole grid
 *
 * The plan that users see has the whole grid. It runs inits, evaluates reductions and watches, and files are read into
 * and written from it; the parts make the steps. */
#ifndef STC_SPLIT_H
#define STC_SPLIT_H

#include "driver/data/data.h"
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"
#include "driver/split/net.h"

/* Lanes (streams) of a part's device (device.h): SEND_LANES lanes for sends, from LANE_SEND on; transports that use a
 * single lane for all use the first of these. From LANE_EDGES on: two lanes for each launch at a cut, and two for the
 * rest. The last lane only holds marks, which show the progress of all. */
enum { LANE_SEND = 1, SEND_LANES = 4, LANE_EDGES = LANE_SEND + SEND_LANES, LANE_PACE = LANES - 1 };

/* The last launch of sequence `seq`, when `left` more steps follow before an exchange, divided into windows: ranges [lo
 * .. hi] of rows along the dimension. WINDOW_LOW, WINDOW_HIGH: the rows at either end for which other parts wait;
 * WINDOW_REST: the rest, or everything if not `apart`. wanted: an exchange follows. early: for each field of the part,
 * may it be sent then before the launch is complete? scalars: the scalars of each launch (of the part's module). told:
 * for windows_run_rows, which gives the rows; `left` is unused then. */
enum { WINDOW_LOW, WINDOW_HIGH, WINDOW_REST, WINDOWS };
typedef struct Windows {
  const HostSeq *seq;
  int64_t left;
  bool wanted, apart, told;
  const bool *early;
  int dimension; /* -1: none */
  int64_t lo[WINDOWS], hi[WINDOWS];
  const Const *scalars[WINDOWS];
  bool checked, mirrors; /* mirrors.c: checked: it was examined whether the last launch can store to other parts;
                            mirrors: it can */
  struct Windows *next;
} Windows;

/* A part: the rank (net.h) that holds it, and its plan there; its position among the parts, and the points of the grid
 * that it owns; its module, and the values of that module's scalars, as far as they determine its cells. */
typedef struct PartPlan {
  int rank;
  StcPlan *plan; /* NULL: on another rank */
  const Module *module;
  const Const *scalars;
  int64_t at[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK];
  Windows *windows;    /* those that were needed so far */
  const Windows *made; /* those of the last steps */
} PartPlan;

/* Runs of contiguous memory of one box in two arrays: each has `n` bytes. The first is at bytes from and to of the
 * arrays; there are count[0] x count[1] x count[2] of them, at distances from_stride[i] and to_stride[i]. The unit is
 * cells unless bytes are named. */
typedef struct Runs {
  int64_t n, from, to, count[MAX_RANK - 1], from_stride[MAX_RANK - 1], to_stride[MAX_RANK - 1];
} Runs;
/* An array over the points [lo .. hi], and the position of its first element. */
typedef struct CellArray {
  int64_t lo[MAX_RANK], hi[MAX_RANK], shift[MAX_RANK];
} CellArray;
/* The points [lo .. hi] of a box as runs; in an array their coordinates are lower by `shift`. */
Runs runs_of(int rank, const int64_t *lo, const int64_t *hi, const CellArray *from, const CellArray *to);
/* The same runs of cells of `size` bytes, between two pieces of memory. */
Sending sending_of(const Runs *r, int64_t size, const char *from, char *to);
/* Iterates over the vectors `turns` of turns around a ring, from -most[d] to most[d] along each dimension d; the first
 * is -most. False: there is no further one. */
bool next_turns(int rank, const int *most, int *turns);
/* Calls fn with the positions, in cells, of each run, until one call fails. */
StcStatus runs_each(const Runs *r, StcStatus (*fn)(void *user, int64_t from, int64_t to, int64_t n), void *user);
/* Two arrays of cells of `size` bytes; and cells_copy, an `fn` for runs_each that copies each run from the one to the
 * other. */
typedef struct CellCopy {
  char *to;
  const char *from;
  int64_t size;
} CellCopy;
StcStatus cells_copy(void *user, int64_t from, int64_t to, int64_t n);

/* The cells of field `field` (of the parts' module) that part `from` owns and part `to` holds as ghost cells: the box
 * [lo .. hi] in coordinates of `to`; in those of `from` it is lower by `shift`. bytes: their size. The cells as runs,
 * in bytes: from field to field; from the sender's field to a contiguous buffer (`out`); from such a buffer to the
 * receiver's field (`in`). */
typedef struct Transfer {
  int from, to, field;
  int64_t lo[MAX_RANK], hi[MAX_RANK], shift[MAX_RANK];
  size_t bytes;
  Runs whole, out, in;
} Transfer;

/* The transfers of one field, in the plan's memory, computed at the first request. */
typedef struct FieldTransfers {
  bool known;
  int n;
  const Transfer *list;
} FieldTransfers;

typedef struct Transport Transport;
typedef struct Watching Watching;
typedef struct Phases Phases;
typedef struct Turns Turns;

/* The parts of a plan. parts: their number in each dimension. every: the number of steps after which, at the latest,
 * ghost cells are updated; age: steps since the last update; ran: the steps of the last uninterrupted run of the parts.
 * net: the ranks among which the parts are distributed; NULL: there is one. This rank has the parts number begin .. end
 * - 1. lean: no rank has the whole grid: parts run their own inits, and fields are read and written part by part.
 * touched: some fields were set without their ghost cells. agreed: the last operation ended on this rank in the way
 * that all other ranks know. */
struct Split {
  StcProgram *program;
  const char *devices; /* as requested, in the plan's memory */
  int64_t parts[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK];
  int rank, nparts;
  const int64_t *cuts[MAX_RANK]; /* the first point of each part in a dimension, and the one after the last part; NULL:
                                    parts have equal sizes */
  PartPlan *part;
  Net *net;
  bool own_net; /* it is closed with the plan */
  bool lean, touched, agreed;
  int nwatching;
  Watching *watching; /* of evaluate.c: reductions, probes and updates, if lean or if the step has phases */
  Phases *phases;     /* of phases/; NULL: the step has one program */
  int64_t level;      /* the number of exchanges so far, for the simulator's ghost cells if the step has phases */
  Turns *turns;       /* of turns.c; NULL: each part has memory of its own on its device */
  int begin, end;
  int64_t every, age, ran;
  int ntransfers;
  Transfer *transfers;      /* for all fields that steps change, of the cells that steps need */
  FieldTransfers *of_field; /* by field, as far as requested */
  const Transport *transport;
  const char *by;          /* the requested transport; NULL: none is */
  const char *why;         /* the reason why nccl is not used between ranks; NULL: it is, or it was not tried */
  void *state;             /* state of the transport */
  struct Mirrors *mirrors; /* of mirrors.c; NULL: no launch stores to another part */
  bool mirrored;           /* the last steps did so, and nothing is left to send */
  bool ready;              /* transport->ready has been called */
  bool broken;             /* connections to other parts were closed: the plan cannot continue */
  void *ranks;             /* of transport-mpi.c */
  struct Period *periods;  /* of split-replay.c */
  bool told_short;         /* the remark was made that a run is too short for replay */
  bool no_replay;          /* periods cannot be recorded, or must not be */
  int64_t origin, goal; /* the number of steps at the beginning of the first run, and at the end of the present one */
  int rounds; /* number of periods that were timed (split_replay); then the least time that the host's calls of one took
               */
  double period_seconds, issue_seconds;
  double evaluating; /* seconds of the run spent in reductions and probes, where no rank has the whole grid */
  double exchanged;  /* seconds of the run spent in exchanges with other ranks, from the end of the steps before */
};

/* A transport: moves cells from part to part of this rank. All functions report errors to the plan `p`, which has the
 * parts. */
struct Transport {
  const char *name;
  StcStatus (*exchange)(StcPlan *p);           /* makes all transfers of fields that steps change, after pending work */
  StcStatus (*early)(StcPlan *p);              /* the same after windows_run with `early`; NULL: call exchange */
  StcStatus (*wait)(StcPlan *p, StcStatus s);  /* waits until all parts have finished; s: the status so far; NULL:
                                                  devices can be waited for one after the other */
  StcStatus (*pace)(StcPlan *p, int64_t more); /* limits pending work before `more` exchanges; NULL: no limit */
  StcStatus (*ready)(StcPlan *p); /* before the clock of a plan's first run starts: prepares what would delay the first
                                     exchange; NULL: nothing does */
  bool keeps;                     /* can devices record its work (split_replay)? */
  void (*close)(StcPlan *p);      /* NULL: nothing to do */
};
extern const Transport transport_copy, transport_peer, transport_store, transport_nccl, transport_turns;
/* transports.c: chooses the transport, from the request and from what is available, and opens it. All ranks call it. */
StcStatus transports_open(StcPlan *p);
/* Connects all GPUs by NCCL, and sets the transport. If that is not possible, `why` says what is missing, the same on
 * all ranks; else it is empty. tried: nothing was missing, but it failed. */
StcStatus nccl_open(StcPlan *p, char why[256], bool *tried);
/* Transport between parts of several ranks: within this rank by `transport`, to the others by s->net. If there already
 * is an error status, messages are sent nevertheless, because others wait for them, but their contents are meaningless.
 * early: after windows_run with `early`; useful if all devices transfer cells while launches run (mpi_flows). */
StcStatus mpi_open(StcPlan *p);
bool mpi_flows(const StcPlan *p);
StcStatus mpi_exchange(StcPlan *p, StcStatus s, bool early);
void mpi_close(StcPlan *p);
/* This rank cannot continue and sends nothing any more: makes sure that no other rank's device waits for it. (direct.c)
 */
void mpi_give_up(StcPlan *p);
/* How many of the links between a part of this rank and one of another rank (*links: their number) are direct, from GPU
 * to GPU. */
int mpi_direct(const StcPlan *p, int *links);
/* Is the transfer between two parts of this rank? */
static inline bool transfer_is_here(const Split *s, const Transfer *t) {
  return s->part[t->from].plan && s->part[t->to].plan;
}
/* stc_plan_new_split over the ranks of `net` (NULL: there is one), which must outlive the plan. lean: must no rank hold
 * the whole grid? LEAN_MAY: if the program allows it; LEAN_MUST: otherwise no plan is made. memory: the bytes that the
 * plan may use on the single device; if they are too few, parts take turns. 0: as much as it needs, and parts have
 * memory of their own. Below 0: the same, except that a grid that is not to be cut and does not fit the device uses all
 * memory that there is, with turns. */
typedef enum Lean { LEAN_NEVER, LEAN_MAY, LEAN_MUST } Lean;
StcStatus plan_new_split(StcProgram *program, Net *net, const char *device, const char *split, Lean lean,
                         int64_t memory, int n, const char *const *defines, StcPlan **out);
/* Computes the range of points of dimension `d` that the part number `i` of `parts` along it owns. */
void split_part_range(const Split *s, int d, int64_t parts, int64_t i, int64_t *lo, int64_t *hi);
/* Cuts of dimension `d` into `n` parts by the live points of `w`: the first row of each, counted from 0, and their
 * number; the number of live points of the part that has most of them, and the same for parts of equal size. False:
 * equal parts are as good. */
typedef struct LiveCuts {
  const int64_t *cuts;
  const char *rows;
  double most, equal;
} LiveCuts;
bool live_cuts(Arena *a, const WetMap *w, int d, int64_t n, LiveCuts *out);
/* If masks are known, and parts skip dry tiles: cuts the grid so that all parts have about as many live points, before
 * their plans are prepared. All ranks call it. defines: the plan's `n` params. */
void split_weigh(StcPlan *p, int n, const char *const *defines);
/* Can all parts of this rank that exchange cells with each other send them from device to device? */
bool parts_are_near(StcPlan *p);
/* Copies the transfer's cells between the field's memory in the part of this rank and the contiguous buffer `side`. */
StcStatus transfer_copy(StcPlan *p, const Transfer *t, bool sends, char *side);
/* If fields were set part by part on any rank since the last run: updates all ghost cells. (ranks.c) */
StcStatus split_refresh(StcPlan *p);
/* If no rank has the whole grid: fills the lists of points of the parts of this rank, if coordinates were set since.
 * (lists.c) */
StcStatus split_fill_lists(StcPlan *p);
/* All transfers of a field. */
const FieldTransfers *field_transfers(StcPlan *p, int field);
/* evaluate.c, for lean plans: the programs with which reductions and probes read a part of a grid that is cut along the
 * dimensions of `cut`. watching_open makes them. watching_add_part makes their plans for part `i` of this rank with
 * these params, before the part has memory. watching_set_array gives them an array. watching_close frees them. */
StcStatus watching_open(StcPlan *p, const char *cut);
StcStatus watching_add_part(StcPlan *p, int i, const char *device, int n, const char *const *defines);
StcStatus watching_set_array(StcPlan *p, int array, const void *data, size_t bytes);
void watching_close(StcPlan *p);
/* evaluate.c. split_lend_array: `q` is the plan of a program that runs on the memory of a part. If `part` has an array
 * of the name of array number i of `q`, lends it that array. split_lend_reductions: gives `q` the present values of the
 * reductions of `p`, the plan of the whole grid. */
void split_lend_array(StcPlan *q, int i, const StcPlan *part);
void split_lend_reductions(StcPlan *q, const StcPlan *p);
/* Does a body on the points of `box` read cells at other points than its own? (evaluate.c) */
bool body_looks_around(const Module *m, const Box *box, const Block *body);
/* Do parts make the update? Those that look at a field do, and those that call functions, such as sin, whose bits are
 * those of the device that computes them: other ones would be made otherwise than on one device. (evaluate.c) */
bool update_is_watched(const Update *u);
/* watching_needs_ghosts: is something due now that reads other points than its own, so that ghost cells must be valid?
 * watching_evaluate: evaluates the reductions that are due and, if `probes`, before them the probes. All ranks call it,
 * and all get the same values. */
bool watching_needs_ghosts(const StcPlan *p);
StcStatus watching_evaluate(StcPlan *p, bool probes);
/* watching_looks_around: does number `k` of reductions, probes and updates read other points than its own?
 * watching_value: computes the present value of `k`, which is no probe, the same on all ranks, into *value, or one for
 * each member; if a rank already has an error status, all get it. All ranks call it, when their parts have finished. */
bool watching_looks_around(const StcPlan *p, int k);
StcStatus watching_value(StcPlan *p, int k, StcStatus s, Const *value);
/* The same for reduction `k` after `done` steps or rounds, and calls the run's callbacks; *stop: its `until` holds. */
StcStatus watching_tell(StcPlan *p, int k, StcStatus s, int64_t done, bool *stop);
/* phases/. phases_are_needed: has the program's step phases? phases_make: makes their programs; *first is that of the
 * first phase. phases_prepare: makes their plans for part `i` of this rank, whose own plan is prepared.
 * phases_add_part: gives them memory, when the part has it. phases_close: frees all. */
bool phases_are_needed(const StcPlan *p);
/* The most steps, which are rounds then, of one launch of the prepared plans. */
int64_t phases_steps(const StcPlan *p);
StcStatus phases_make(StcPlan *p, const char *cut, bool lean, StcProgram **first);
StcStatus phases_prepare(StcPlan *p, int i, const char *device, int n, const char *const *defines);
StcStatus phases_add_part(StcPlan *p, int i, int n, const char *const *defines);
void phases_close(StcPlan *p);
/* phases_before_inits: gives the parts the scalars that are kept, and marks fields that are temp in the program as
 * given, before the parts' inits. phases_begin: sends the scalars of rank 0 to all ranks, before the steps of a run.
 * phases_advance: makes `steps` steps on all parts. */
void phases_before_inits(StcPlan *p);
StcStatus phases_begin(StcPlan *p, StcStatus s);
StcStatus phases_advance(StcPlan *p, int64_t steps);
/* The number of the last exchange, for the simulator's ghost cells. */
static inline int64_t split_level(const StcPlan *p) {
  const Split *s = p->split;
  return s->phases ? s->level : p->run.done - s->age;
}
/* Updates the ghost cells of all parts; after an error status only for the sake of other ranks. early: directly after
 * windows_run with `early`. (split-steps.c) */
StcStatus split_exchange(StcPlan *p, StcStatus s, bool early);
/* Adds to the error message of a run the part in which it occurred. (parts.c) */
void split_name_part(const StcPlan *p, int i);
/* part_array: the points of field `field` that part `part` has, as an array. part_bytes: its bytes. */
CellArray part_array(const PartPlan *part, int field);
size_t part_bytes(const PartPlan *part, int field);
/* The points of declared field `field` of plan `p` that the part owns, as an array; false if there are none. */
bool part_own(const StcPlan *p, const PartPlan *part, int field, CellArray *out);
/* split_sending: the runs of a transfer between the present memories of the field. side_sending: those between the
 * memory of the sender (`sends`) or receiver and the contiguous buffer `side`. */
Sending split_sending(const StcPlan *p, const Transfer *t);
Sending side_sending(const StcPlan *p, const Transfer *t, bool sends, char *side);
/* The address of the transfer's first cell in the sender's memory (`sends`), or the receiver's. */
char *transfer_cells(const StcPlan *p, const Transfer *t, bool sends);

/* The cells [lo .. hi] that part `part` has of field `field`. False if there are none. */
bool part_cells(const PartPlan *part, int field, int64_t lo[MAX_RANK], int64_t hi[MAX_RANK]);
/* The range of points of dimension `d` of field `f` of its module that part `x` sends to others: its own points; for
 * `steps`, if parts gather a coarser level, the points that stand for those. */
void part_gives(const PartPlan *x, const Field *f, int d, bool steps, int64_t *lo, int64_t *hi);
/* Parses `text`, "2x2", "4x1/8" or "4/8:nccl", into the numbers of parts of *p->split, the number of steps between
 * exchanges (0: not given), and the transport. If it gives no parts (NULL, or it begins with '/' or ':'), there are as
 * many as `ndevices`, cut in the best way. STC_USAGE after reporting an error. */
StcStatus split_read_shape(StcPlan *p, const char *text, int ndevices);

/* Checks that each part gets a point in every dimension, and that there are not too many parts; sets their number.
 * STC_USAGE after reporting. */
StcStatus split_check_shape(StcPlan *p);

/* The numbers of parts, `n` in all, with the least cells to exchange, for a grid of these extents, cut only along
 * dimensions where `can` is true. False if there are none. */
bool split_choose(int rank, const int64_t *extents, int64_t n, const bool *can, int64_t parts[MAX_RANK]);
/* Decides the number of steps between exchanges, unless it was given, when the plans of the parts of this rank are
 * prepared. launch: the most steps of a launch if the step has phases: then that number; 0: the step has none, and the
 * cost model of the first part, with the `n` params, decides. */
StcStatus split_choose_every(StcPlan *p, int64_t launch, int n, const char *const *defines);
/* A launch on a part of `own` points that makes `steps` steps in this many seconds, in tiles of `tile` points. ghosts:
 * the ghost cells of one step, on both sides together, in each dimension. trimmed: does it compute no more points than
 * later launches need? */
typedef struct PartLaunch {
  int rank;
  int64_t own[MAX_RANK], tile[MAX_RANK], ghosts[MAX_RANK], steps;
  double seconds;
  bool trimmed;
} PartLaunch;
/* The ghost cells of one step in dimension `d`, which is cut into `parts`, of the part that has most of them: on one
 * side only if there are two parts and no ring. */
int64_t part_ghosts(const Module *m, int64_t parts, int d);
/* The points that a launch computes, relative to the points that the part owns, when `left` more steps follow before an
 * exchange. It adds half a tile if the rows need one more tile, and a whole one if there are few tiles. */
double launch_grown(const PartLaunch *x, int64_t left);
/* The seconds of `n` launches between two exchanges. Launches that are not trimmed compute all ghost cells each time.
 */
double launches_seconds(const PartLaunch *x, int64_t n);
/* The best number of launches between two exchanges. */
int64_t best_launches(const PartLaunch *x);
/* The time of a launch on part `i` with these `n` params by the cost model, at least the least time of a launch. */
double split_launch_seconds(const StcPlan *p, int i, int n, const char *const *defines);
/* Describes what a round of turns copies, and the time of that compared with its launches, in memory of the arena.
 * (turns/choose.c) */
const char *turns_describe(const StcPlan *p, Arena *a);
/* Describes what a plan of the program would do on a card of this kind with `memory` bytes, in memory of the arena.
 * split: as for stc_plan_new_within. (split.c) */
StcStatus turns_foresee(StcProgram *program, const TargetInfo *card, int64_t memory, const char *split, Arena *a,
                        const char **text);
/* turns.c. turns_advance: makes a plan's next steps if parts take turns. turns_close: frees what turns use. */
StcStatus turns_advance(StcPlan *p, int64_t steps);
void turns_close(StcPlan *p);
/* Computes split->transfers, for the cells that steps need. */
void split_find_transfers(StcPlan *p);
/* ghosts.c, for the simulator, which detects ghost cells that were not updated. ghosts_open, ghosts_close: allocate and
 * free what it knows of them. ghosts_scattered: records that all cells are valid now. */
StcStatus ghosts_open(StcPlan *p);
void ghosts_close(StcPlan *p);
void ghosts_scattered(StcPlan *p);
/* ghosts_came_in: the same for part `i` only. ghosts_exchanged: the same for the cells of all transfers. */
void ghosts_came_in(StcPlan *p, int i);
void ghosts_exchanged(StcPlan *p);
/* ghosts_note: the same for one transfer. ghosts_forget: records that all cells of a field of the parts are stale. */
void ghosts_note(const StcPlan *p, const Transfer *t);
void ghosts_forget(const StcPlan *p, int field);
/* ghosts_restricted: records that a stage has computed a coarser level at the points that stand for the parts' own
 * points; other cells are as before. ghosts_judge_inits: a run of inits of a part follows; they are judged until its
 * Ghosts.init is NULL. */
void ghosts_restricted(const StcPlan *p);
void ghosts_judge_inits(StcPlan *p, PartPlan *part);
/* net.c: did a launcher start this process, and together with how many in all (0: it does not say)? */
bool net_launched(int *size, const char **by);
/* Its rank according to the launcher; 0 if that does not say. */
int net_launched_rank(void);
/* Loads the module from file `module` (NULL: from its usual places) and joins the ranks of `communicator`
 * (NetModule.open). */
StcStatus net_open(StcContext *c, const char *module, void *communicator, Net **out);
void net_close(Net *net);
/* peers.c, called by all ranks. From peers_watch until peers_unwatch, if a rank is killed or crashes without notice,
 * the lowest rank that is left on its machine reports it; if none is left there, another machine does. If the launcher
 * does not end the others, they end themselves after ten seconds, with STC_DEVICE. peers_unwatch must be called before
 * ranks leave each other, which none does before all have called it. peers_tell is for a rank that ends by itself. */
typedef struct Peers Peers;
void peers_watch(Net *net);
void peers_tell(Net *net);
void peers_unwatch(Net *net);
/* A group of one rank, without MPI: its parts, too, need no whole grid beside them. */
StcStatus net_open_alone(StcContext *c, Net **out);
/* The memory of another rank, as seen by this one; NULL: it is not visible. */
typedef struct Segment {
  char *memory;
  size_t bytes;
} Segment;
/* All ranks call it: makes memory of `bytes` bytes (may be 0) that other ranks of this machine can see, and maps that
 * of the ranks that are `wanted`: of[r] is rank r's. An entry that cannot be mapped is empty. segment_close unmaps one.
 */
void segments_open(Net *net, size_t bytes, const bool *wanted, Segment *of);
void segment_close(Segment *s);
/* All ranks call these. net_agree: the status of the lowest rank with an error, and that rank in *who; STC_OK if there
 * is none. net_same: have all ranks the same bytes? If not, *who is the first one that differs from rank 0. */
StcStatus net_agree(Net *net, StcStatus mine, int *who);
bool net_same(Net *net, const void *bytes, size_t size, int *who);
/* net_agree; adds a message for callers of the interface on ranks that have no error of their own. */
StcStatus ranks_agree(StcContext *c, Net *net, StcStatus mine);
/* The number of cores for this rank: those that it may use, divided among all ranks that may use the same. All ranks
 * call it. */
int net_cores(Net *net);
/* Sends to rank `peer`, or receives from it, and waits for completion. */
void net_message(Net *net, int peer, bool send, void *data, size_t size);
/* Is this the rank that has the whole grid? */
static inline bool split_leads(const Split *s) { return !s->net || s->net->rank == 0; }
/* All parts of this rank make `steps` steps; early: an exchange follows directly. (split-steps.c) */
StcStatus split_run_parts(StcPlan *p, int64_t steps, bool early);
/* Waits for all parts of this rank, unless `s` is an error. (split-steps.c) */
StcStatus split_wait(StcPlan *p, StcStatus s);
/* Makes up to `most` periods (the steps from one exchange to the next, and that exchange) by replaying what the devices
 * have recorded of such periods, or times some. *made: the number of periods; 0 if replay is not possible or does not
 * pay. No steps may have been made since the last exchange. */
StcStatus split_replay(StcPlan *p, int64_t most, int64_t *made);
void split_forget_periods(StcPlan *p);
/* Makes `steps` steps of part `i`, after which up to `after` more may follow before an exchange; early:
 * transport->early follows directly. */
StcStatus windows_run(StcPlan *p, int i, int64_t steps, int64_t after, bool early);
/* Makes the launches of sequence `seq` of part `i`, all of which are beside each other, for the rows [lo .. hi] that
 * the part has, along the dimension in which launches can be divided into windows. */
StcStatus windows_run_rows(StcPlan *p, int i, const HostSeq *seq, int64_t lo, int64_t hi);
/* Sets up part `i` of this rank so that cells_are_there and cells_are_free answer as after windows_run, with `early`,
 * of the steps from one exchange to the next. */
void windows_foresee(StcPlan *p, int i);
/* The windows of part `i` for the last of `steps` steps before an exchange, made in one launch that stores only what
 * the part owns; NULL: that is not possible. */
const Windows *windows_whole(StcPlan *p, int i, int64_t steps);
/* windows_run for such steps in two halves: first all except the last launch and the launches beside it (*any: there
 * were some), then those. */
StcStatus windows_begin(StcPlan *p, int i, int64_t steps, bool *any);
StcStatus windows_end(StcPlan *p, int i);
/* The number of the op of the sequence with which its last launch, and the launches beside it, begin. */
int windows_last_launch(const HostSeq *seq);
/* mirrors.c: launches that store to other parts themselves (pass mirror-stores). Should the program for a part, whose
 * plan is being cut, have such kernels? */
bool mirrors_wanted(const StcPlan *p);
/* After transport `peer` was chosen: replaces it by `store` if all cells that parts have for each other can be stored.
 */
void mirrors_open(StcPlan *p);
/* At the beginning of a run, before which fields may have been set: cells that no launch stores must be exchanged
 * again. */
void mirrors_begin(StcPlan *p);
/* Can the next `steps` steps be made in this way? If not, the exchange after them updates all cells. */
bool mirrors_can(StcPlan *p, int64_t steps);
/* Do devices that have recorded such steps do the same work when they replay them now? */
bool mirrors_are_settled(StcPlan *p);
/* Makes the steps on all parts, which store to each other; later work waits for everything that it may read or
 * overwrite. */
StcStatus mirrors_run(StcPlan *p, int64_t steps);
/* Records that an exchange has updated all cells of the present fields. */
void mirrors_note(StcPlan *p);
/* Does each launch of a part's prepared plan compute no more points than later launches need? */
bool launches_trimmed(const StcPlan *q);
/* While the part's last launch is incomplete, and its LANE_EDGES has reached its mark. cells_are_there: are the
 * transfer's cells computed, in the part that sends? cells_are_free: has the receiving part finished with the cells to
 * which they go? */
bool cells_are_there(const StcPlan *p, const Transfer *t);
bool cells_are_free(const StcPlan *p, const Transfer *t);
/* split_scatter: copies all fields and launch-time arrays of the whole grid to the parts, including ghost cells.
 * split_gather: copies them back, without ghost cells. */
StcStatus split_scatter(StcPlan *p);
/* Implement SplitOps.put_frame and copy_frame. */
StcStatus split_put_frame(StcPlan *p, int field, const void *data);
StcStatus split_copy_frame(StcPlan *p, int from, int to);
/* After some steps: gives the parts the frames that begin with the next step. All ranks call it. */
StcStatus split_next_frames(StcPlan *p);
StcStatus split_gather(StcPlan *p);
/* Calls fn for each run of the cells of declared field `field` that part `part` has, including ghost cells (`in`), or
 * owns: with its first cell in the array of the whole field and in the part's array, or the other way round, until one
 * call fails. */
StcStatus part_each(const StcPlan *p, const PartPlan *part, int field, bool in,
                    StcStatus (*fn)(void *user, int64_t from, int64_t to, int64_t n), void *user);
/* The values of a part, and a file with those of the whole field: points of `size` bytes at `memory`, the part's array,
 * and from byte `at` of file `fd` on. */
typedef struct PartFile {
  int fd;
  int64_t at, size;
  char *memory;
} PartFile;
/* gather.c, for lean plans. gather_ask, on rank 0: collects declared field `field`, or (component >= 0) a component of
 * it, at these `points` of the whole grid (first and shape) in `data`; gather_end: nothing more is wanted.
 * gather_serve, on the other ranks meanwhile: sends what they have of it, until gather_end. An error on one rank is
 * returned on all. gather_shown: collects only samples of these points, evenly spaced, in each dimension as many as the
 * shape of `samples` says, and the limits of all values. */
StcStatus gather_ask(StcPlan *p, int field, int component, const StcFieldInfo *points, void *data);
StcStatus gather_shown(StcPlan *p, int field, int component, const StcFieldInfo *points, const StcFieldInfo *samples,
                       void *data, Sight *sight);
void gather_end(StcPlan *p);
void gather_serve(StcPlan *p);
/* part_to_file: writes what the part owns of declared field `field` to its places in the file. part_from_file: reads
 * what the part has of it, including ghost cells. If the status is not STC_OK, errno says why. */
StcStatus part_to_file(const StcPlan *p, const PartPlan *part, int field, PartFile *file);
StcStatus part_from_file(const StcPlan *p, const PartPlan *part, int field, PartFile *file);
/* The same status on all ranks: that of the lowest one with an error, whose message all can read. */
StcStatus split_agree(StcPlan *p, StcStatus s);
/* Called when there is no memory of `bytes` bytes for a copy of `what`, without which no rank can continue: reports it
 * and ends all ranks. A process alone returns from the active workspace_guard with STC_MEMORY. */
_Noreturn void split_die(StcPlan *p, const char *what, double bytes);
/* Allocates `bytes` bytes (malloc) for `what`, which a rank needs because others wait for it. (evaluate.c) */
void *split_must_have(StcPlan *p, const char *what, double bytes);
/* Allocates zeroed memory for `bytes` bytes of field `name` (free), at least one more than that. If there is none,
 * several ranks, which wait for each other, end; a single rank returns NULL, with *s STC_MEMORY. */
char *split_room(StcPlan *p, const char *name, size_t bytes, StcStatus *s);
/* Returns the final status of making or running a plan over `net` (NULL: one rank). If this rank ran out of memory at a
 * point where the others wait and cannot know of it (not `agreed`), ends all ranks. */
StcStatus net_leave(StcContext *c, Net *net, bool agreed, StcStatus s);

/* ---------------------------------------------------------------- the functions of SplitOps (instance.h): split.c,
 * split-run.c, ranks.c */

StcStatus split_run(StcPlan *p, StcStatus s, int64_t steps, double *seconds);
void split_close(StcPlan *p);
bool split_has_ranks(const StcPlan *p);
bool split_is_lean(const StcPlan *p);
StcStatus split_leave(StcPlan *p, StcStatus s);
StcStatus split_set_array(StcPlan *p, int array, const void *data, size_t bytes);
StcStatus split_restart(StcPlan *p);
/* Copies an array of such a plan back. */
StcStatus split_get_array(StcPlan *p, int array, void *data, size_t bytes);

#endif
