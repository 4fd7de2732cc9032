/* driver/split/split.h: a plan whose grid is cut into parts, each with a plan of its own (docs/cluster.md).
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones; transports are called
 * through the table Transport.
 *
 *   what parts are:
 *     parts.c         a part: its points, cells and name
 *     exchange.c      which cells go from which part to which
 *     split-shape.c   what --split says
 *     split-choose.c  how many parts along which dimension, if that is not said
 *     split-live.c    cuts that give parts as many live points where masks are known
 *   processes that work on one grid together (net.h; stc-mpi.c is that on MPI, a shared module):
 *     net.c           joining the ranks of a run
 *     peers.c         which of them are still there
 *     ring.c, ring.h  how machines tell each other of that
 *     segments.c      memory that ranks of one machine have in common
 *     nccl.c, nccl.h  NVIDIA's library that connects GPUs
 *   launches and cells:
 *     windows.c       the last launches before an exchange: only what is needed, what is sent first
 *     mirrors.c       launches that store to the ghost cells of other parts by themselves
 *     ghosts.c        what the simulator knows of ghost cells
 *     whole.c         fields of the whole grid to the parts and back
 *     lists.c         lists of points, for the parts
 *     evaluate.c      reductions and probes where no rank has the whole grid
 *     transport-peer.c  cells from GPU to GPU; transport-mpi.c  from rank to rank
 *     direct.c        from GPU to GPU of ranks of one machine; links.h: what it and transport-mpi.c both know
 *   steps of all parts:
 *     split-steps.c   steps, and exchanges between them
 *     split-replay.c  periods of them that GPUs keep and make in one go
 *     transport-copy.c  cells by way of the host; transport-nccl.c  from GPU to GPU of all ranks
 *     transports.c    which way cells get from part to part
 *     split-every.c   after how many steps they exchange
 *   phases/           steps with updates, repeats and levels, whose stages have a program each: see phases.h there
 *   turns/            parts that take turns on a device whose memory the grid does not fit
 *   the plan:
 *     split.c         making it: how the grid is cut, on which devices the parts are, the program for a part
 *     split-run.c     the time loop over parts
 *     ranks.c         the interface of plans over several processes, fields of parts
 *     gather.c        fields brought together on rank 0 where no rank has the whole grid
 *
 * The plan that users see has the whole grid. It runs inits, evaluates reductions and watches, and is what files are
 * read into and written from; the parts make the steps. */
#ifndef STC_SPLIT_H
#define STC_SPLIT_H

#include "driver/data/data.h"
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"
#include "driver/split/net.h"

/* Lanes of a part's device (device.h): SEND_LANES to send in from LANE_SEND on, of which transports that send to all
 * in one lane take the first; for the launches at the cuts two each from LANE_EDGES on, and for the rest two more; the
 * last one has nothing but marks, of how far all are. */
enum { LANE_SEND = 1, SEND_LANES = 4, LANE_EDGES = LANE_SEND + SEND_LANES, LANE_PACE = LANES - 1 };

/* The last launch of sequence `seq`, with `left` more steps before an exchange, in ranges [lo .. hi] of rows along the
 * dimension: those that others wait for at either end, and the rest; if not `apart` all is in the rest. wanted: an
 * exchange follows; early: then, by field of the part, may it be sent before the launch is done everywhere? scalars:
 * with which to make each (of the part's module). told: of windows_run_rows, which says the rows; left means nothing
 * then. */
enum { WINDOW_LOW, WINDOW_HIGH, WINDOW_REST, WINDOWS };
typedef struct Windows {
  const HostSeq *seq;
  int64_t left;
  bool wanted, apart, told;
  const bool *early;
  int dimension; /* -1: none */
  int64_t lo[WINDOWS], hi[WINDOWS];
  const Const *scalars[WINDOWS];
  bool checked, mirrors; /* mirrors.c: may the last launch store to other parts, if that was looked at? */
  struct Windows *next;
} Windows;

/* A part: the rank (net.h) that has it, and its plan there; where it lies among the parts, and the points of the grid
 * that it owns; its module, and the values of that module's scalars, as far as they say where its cells are. */
typedef struct PartPlan {
  int rank;
  StcPlan *plan; /* NULL: on another rank */
  const Module *module;
  const Const *scalars;
  int64_t at[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK];
  Windows *windows;    /* that were needed so far */
  const Windows *made; /* those of the last steps */
} PartPlan;

/* Runs of memory of one box in two arrays: `n` bytes each, the first at bytes from and to of the arrays, and so for
 * each of count[0] x count[1] x count[2] runs, which are from_stride[i] and to_stride[i] bytes apart. The unit is
 * cells unless bytes are named. */
typedef struct Runs {
  int64_t n, from, to, count[MAX_RANK - 1], from_stride[MAX_RANK - 1], to_stride[MAX_RANK - 1];
} Runs;
/* An array over the points [lo .. hi], and where they begin in those of the box. */
typedef struct CellArray {
  int64_t lo[MAX_RANK], hi[MAX_RANK], shift[MAX_RANK];
} CellArray;
/* The points [lo .. hi] of the box, which lie `shift` lower in an array, as runs. */
Runs runs_of(int rank, const int64_t *lo, const int64_t *hi, const CellArray *from, const CellArray *to);
/* Runs of cells of `size` bytes between two pieces of memory. */
Sending sending_of(const Runs *r, int64_t size, const char *from, char *to);
/* The next of the ways `turns` to go around a ring: as often as most[d] along dimension d, in either direction; the
 * first is -most. False: there is no more. */
bool next_turns(int rank, const int *most, int *turns);
/* Calls fn with the places, in cells, of each run, until one fails. */
StcStatus runs_each(const Runs *r, StcStatus (*fn)(void *user, int64_t from, int64_t to, int64_t n), void *user);
/* Two arrays of cells of `size` bytes, and the `fn` of runs_each that copies each run from the one to the other. */
typedef struct CellCopy {
  char *to;
  const char *from;
  int64_t size;
} CellCopy;
StcStatus cells_copy(void *user, int64_t from, int64_t to, int64_t n);

/* Cells of field `field` (of the parts' module) that part `from` owns and part `to` has as ghost cells: the box [lo ..
 * hi] in the coordinates of `to`; in those of `from` it is `shift` lower. bytes: their size; in bytes, too, they as
 * runs from field to field, from the one field to a piece of memory in which they lie side by side (`out`), and from
 * such to the other field (`in`). */
typedef struct Transfer {
  int from, to, field;
  int64_t lo[MAX_RANK], hi[MAX_RANK], shift[MAX_RANK];
  size_t bytes;
  Runs whole, out, in;
} Transfer;

/* The transfers of one field, in memory of the plan's; looked for when they are first asked for. */
typedef struct FieldTransfers {
  bool known;
  int n;
  const Transfer *list;
} FieldTransfers;

typedef struct Transport Transport;
typedef struct Watching Watching;
typedef struct Phases Phases;
typedef struct Turns Turns;

/* A plan's parts. parts: how many there are in each dimension. every: after so many steps at most ghost cells are
 * brought up to date; age: steps made since; ran: those made in one go last. net: the ranks that the parts are dealt
 * out to, NULL: there is one. Those of this rank are numbers begin .. end - 1. lean: no rank has the whole grid: parts
 * run their own inits, and fields are read and written part by part. touched: some were set, without their ghost cells.
 * agreed: what was begun last has ended on this rank as all others know. */
struct Split {
  StcProgram *program;
  const char *devices; /* as they were asked for, in memory of the plan's */
  int64_t parts[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK];
  int rank, nparts;
  const int64_t *cuts[MAX_RANK]; /* the first point of each part in a dimension, and that behind the last; NULL: parts
                                    have as many each */
  PartPlan *part;
  Net *net;
  bool own_net; /* it goes with the plan */
  bool lean, touched, agreed;
  int nwatching;
  Watching *watching; /* evaluate.c's, of reductions, probes and updates, if lean or the step has phases */
  Phases *phases;     /* phases/'s; NULL: a step has one program */
  int64_t level;      /* exchanges so far: what the simulator's ghost cells have where the step has phases */
  Turns *turns;       /* turns.c's; NULL: each part has memory of its own on its device */
  int begin, end;
  int64_t every, age, ran;
  int ntransfers;
  Transfer *transfers;      /* of all fields that steps change, what they need */
  FieldTransfers *of_field; /* by field, of those that were asked for */
  const Transport *transport;
  const char *by;          /* the transport that was asked for; NULL: none */
  const char *why;         /* not nccl between ranks; NULL: it is, or was not looked for */
  void *state;             /* the transport's */
  struct Mirrors *mirrors; /* mirrors.c's; NULL: no launch stores to another part */
  bool mirrored;           /* the last steps did: nothing is left to send */
  bool ready;              /* transport->ready was called */
  bool broken;             /* ways to other parts were given up: it cannot go on */
  void *ranks;             /* transport-mpi.c's */
  struct Period *periods;  /* split-replay.c's */
  bool told_short;         /* it was said that a run is too short for that */
  bool no_replay;          /* periods cannot be kept, or are not to be */
  int64_t origin, goal;    /* the steps made when the first run began, and when the present one ends */
  int rounds; /* of periods that were timed (split_replay); then the least that one took, the host's calls */
  double period_seconds, issue_seconds;
  double evaluating; /* seconds of the run in reductions and probes, where no rank has the whole grid */
  double exchanged;  /* seconds in exchanges of the run with other ranks, from the end of the steps before */
};

/* How cells get from part to part of this rank. All report errors to the plan `p`, which has the parts. */
struct Transport {
  const char *name;
  StcStatus (*exchange)(StcPlan *p); /* all transfers of fields that steps change; waits for what is under way */
  StcStatus (*early)(StcPlan *p);    /* the same behind windows_run with `early`; NULL: exchange does as well */
  StcStatus (*wait)(StcPlan *p, StcStatus s);  /* until all parts have done all; s: what has gone wrong so far; NULL:
                                                  devices can be waited for one after the other */
  StcStatus (*pace)(StcPlan *p, int64_t more); /* behind so many more exchanges: waits until few of them are under way;
                                                  NULL: there may be any number */
  StcStatus (*ready)(StcPlan *p); /* before the clock of a plan's first run starts: makes ready what the first exchange
                                     would be held up by; NULL: nothing is */
  bool keeps;                     /* do devices keep what it does (split_replay)? */
  void (*close)(StcPlan *p);      /* NULL: nothing to do */
};
extern const Transport transport_copy, transport_peer, transport_store, transport_nccl, transport_turns;
/* transports.c: chooses, by what was asked for and what there is, how cells get from part to part, and makes that
 * ready. All ranks call it. */
StcStatus transports_open(StcPlan *p);
/* Connects all GPUs by NCCL, and sets the transport. If that cannot be, `why` says what is missing, on all ranks the
 * same; else it is empty. tried: nothing was missing, but it failed. */
StcStatus nccl_open(StcPlan *p, char why[256], bool *tried);
/* Between parts of several ranks: those of this one by `transport`, the others by s->net. With a status already, what
 * is sent is of no value, but sent nevertheless: others wait for it. early: behind windows_run with `early`, which is
 * of use where all devices carry cells beside their launches (mpi_flows). */
StcStatus mpi_open(StcPlan *p);
bool mpi_flows(const StcPlan *p);
StcStatus mpi_exchange(StcPlan *p, StcStatus s, bool early);
void mpi_close(StcPlan *p);
/* This rank cannot go on, and no more comes from it: no other one's device waits for it any more. (direct.c) */
void mpi_give_up(StcPlan *p);
/* Of the `links` from or to a part here and one of another rank, how many go from GPU to GPU. */
int mpi_direct(const StcPlan *p, int *links);
/* Is the transfer between two parts of this rank? */
static inline bool transfer_is_here(const Split *s, const Transfer *t) {
  return s->part[t->from].plan && s->part[t->to].plan;
}
/* stc_plan_new_split over the ranks of `net` (NULL: there is one), which must outlive the plan. lean: is no rank to
 * have the whole grid, if the program allows it, or else not at all? memory: bytes that the plan may take of the one
 * device; where it does not fit them parts take turns; 0: it has all that it needs, and parts have theirs;
 * below 0: the same, unless a grid that is not to be cut does not fit a device: then all that there is. */
typedef enum Lean { LEAN_NEVER, LEAN_MAY, LEAN_MUST } Lean;
StcStatus plan_new_split(StcProgram *program, Net *net, const char *device, const char *split, Lean lean,
                         int64_t memory, int n, const char *const *defines, StcPlan **out);
/* The points of dimension `d` that the part in place `i` of `parts` of that dimension owns. */
void split_part_range(const Split *s, int d, int64_t parts, int64_t i, int64_t *lo, int64_t *hi);
/* The cuts of dimension `d` into `n` parts by live points of `w`: the first row of each, from 0 on, and how many there
 * are; how many of the live points the part has that has most of them, and would have in equal parts. False: equal
 * parts do as well. */
typedef struct LiveCuts {
  const int64_t *cuts;
  const char *rows;
  double most, equal;
} LiveCuts;
bool live_cuts(Arena *a, const WetMap *w, int d, int64_t n, LiveCuts *out);
/* Where masks are known, and parts do nothing for dry tiles: cuts the grid so that each has about as many live points,
 * when their plans are prepared. All ranks call it. defines: the plan's `n` params. */
void split_weigh(StcPlan *p, int n, const char *const *defines);
/* Can all parts of this rank that have something for each other send it from device to device? */
bool parts_are_near(StcPlan *p);
/* The transfer's cells between the field's memory in the part that is here and `side`, where they lie side by side. */
StcStatus transfer_copy(StcPlan *p, const Transfer *t, bool sends, char *side);
/* Where fields were set part by part since the last run on any rank: brings all ghost cells up to date. (ranks.c) */
StcStatus split_refresh(StcPlan *p);
/* Where no rank has the whole grid: gives the parts of this one what they have of lists of points, if coordinates were
 * set since. (lists.c) */
StcStatus split_fill_lists(StcPlan *p);
/* All transfers of a field. */
const FieldTransfers *field_transfers(StcPlan *p, int field);
/* evaluate.c, of plans that are lean: the programs by which reductions and probes look at a part of a grid that is cut
 * along the dimensions of `cut`; part `i` of this rank, with such params, before it has memory; an array to them; the
 * end. */
StcStatus watching_open(StcPlan *p, const char *cut);
StcStatus watching_add_part(StcPlan *p, int i, const char *device, int n, const char *const *defines);
StcStatus watching_set_array(StcPlan *p, int array, const void *data, size_t bytes);
void watching_close(StcPlan *p);
/* evaluate.c: lends plan `q`, of a program that runs on the memory of a part, array number i of it, if `part` has one
 * of that name; gives it the values that the reductions of `p`, the plan of the whole grid, have now. */
void split_lend_array(StcPlan *q, int i, const StcPlan *part);
void split_lend_reductions(StcPlan *q, const StcPlan *p);
/* Does a body on the points of `box` read anything but cells at its own point? (evaluate.c) */
bool body_looks_around(const Module *m, const Box *box, const Block *body);
/* Do parts make the update? Those that look at a field do, and those that call functions, such as sin, whose bits are
 * those of the device that computes them: other ones would be made otherwise than on one device. (evaluate.c) */
bool update_is_watched(const Update *u);
/* Is something due now that looks at other points than its own, so that ghost cells must be up to date? Evaluates what
 * is due of reductions and, if `probes`, before them probes. All ranks call it, and all get the same. */
bool watching_needs_ghosts(const StcPlan *p);
StcStatus watching_evaluate(StcPlan *p, bool probes);
/* Does number `k` of reductions, probes and updates look at other points than its own? The value now of `k`, no probe,
 * on all ranks the same, into *value, or as many values as it has members: with a status already, all have it. All
 * ranks call it, when their parts are done. */
bool watching_looks_around(const StcPlan *p, int k);
StcStatus watching_value(StcPlan *p, int k, StcStatus s, Const *value);
/* The same of reduction `k` behind `done` steps, or rounds, and tells whom it concerns; *stop: its `until` is met. */
StcStatus watching_tell(StcPlan *p, int k, StcStatus s, int64_t done, bool *stop);
/* phases/: has the program's step phases? Makes their programs; the first one's is *first. Their plans beside that of
 * part `i` of this rank, which is prepared; then, when that one has memory, theirs. The end. */
bool phases_are_needed(const StcPlan *p);
/* How many steps a launch makes at most, which are rounds then, of the plans that are prepared. */
int64_t phases_steps(const StcPlan *p);
StcStatus phases_make(StcPlan *p, const char *cut, bool lean, StcProgram **first);
StcStatus phases_prepare(StcPlan *p, int i, const char *device, int n, const char *const *defines);
StcStatus phases_add_part(StcPlan *p, int i, int n, const char *const *defines);
void phases_close(StcPlan *p);
/* The parts get the scalars that are kept, and fields that are temp in the program count as given, before their inits;
 * all ranks have the scalars of rank 0 before the steps of a run; all parts make `steps` steps. */
void phases_before_inits(StcPlan *p);
StcStatus phases_begin(StcPlan *p, StcStatus s);
StcStatus phases_advance(StcPlan *p, int64_t steps);
/* What the simulator's ghost cells have as number of the last exchange. */
static inline int64_t split_level(const StcPlan *p) {
  const Split *s = p->split;
  return s->phases ? s->level : p->run.done - s->age;
}
/* Brings the ghost cells of all parts up to date; with a status already, in vain; early: directly behind windows_run
 * with `early`. (split-steps.c) */
StcStatus split_exchange(StcPlan *p, StcStatus s, bool early);
/* Says in which part a run went wrong. (parts.c) */
void split_name_part(const StcPlan *p, int i);
/* The points of field `field` that part `part` has, as an array; its bytes. */
CellArray part_array(const PartPlan *part, int field);
size_t part_bytes(const PartPlan *part, int field);
/* The points of declared field `field` of plan `p` that the part owns, as an array; false if there are none. */
bool part_own(const StcPlan *p, const PartPlan *part, int field, CellArray *out);
/* The runs of a transfer between the fields' present memories; between that of the part that sends, or else of the one
 * that gets them, and `side`, where they lie side by side. */
Sending split_sending(const StcPlan *p, const Transfer *t);
Sending side_sending(const StcPlan *p, const Transfer *t, bool sends, char *side);
/* The first of its cells there. */
char *transfer_cells(const StcPlan *p, const Transfer *t, bool sends);

/* The cells [lo .. hi] that part `part` has of field `field`. False if there are none. */
bool part_cells(const PartPlan *part, int field, int64_t lo[MAX_RANK], int64_t hi[MAX_RANK]);
/* The points that part `x` gives others of field `f` of its module in dimension `d`: its own; where parts gather a
 * coarser level, for `steps`, those that stand for them. */
void part_gives(const PartPlan *x, const Field *f, int d, bool steps, int64_t *lo, int64_t *hi);
/* Reads `text`, "2x2", "4x1/8" or "4/8:nccl", into the numbers of parts of *p->split, of steps between exchanges (0:
 * not said), and the transport; where it names no parts (NULL, or what begins with '/' or ':') there are as many as
 * `ndevices`, cut as is best. STC_USAGE after reporting: it is not right. */
StcStatus split_read_shape(StcPlan *p, const char *text, int ndevices);

/* Checks that each part gets a point in every dimension, and that there are not too many; sets their number. STC_USAGE
 * after reporting. */
StcStatus split_check_shape(StcPlan *p);

/* The numbers of parts, `n` in all, of a grid of these extents that have the least to exchange, cut along dimensions
 * that it can be cut along alone. False if there are none. */
bool split_choose(int rank, const int64_t *extents, int64_t n, const bool *can, int64_t parts[MAX_RANK]);
/* Decides after how many steps the parts exchange, if that was not said, when the plans of those here are prepared:
 * after `launch`, those that a launch makes at most where the step has phases; 0: it has none, and the first part,
 * which gets those `n` params, says what is best. */
StcStatus split_choose_every(StcPlan *p, int64_t launch, int n, const char *const *defines);
/* A launch on a part of `own` points, which makes `steps` steps in so many seconds, by tiles of `tile` points; ghosts:
 * cells a step, on all sides, in each dimension. trimmed: does it compute no more than those behind it need? */
typedef struct PartLaunch {
  int rank;
  int64_t own[MAX_RANK], tile[MAX_RANK], ghosts[MAX_RANK], steps;
  double seconds;
  bool trimmed;
} PartLaunch;
/* Ghost cells a step in dimension `d`, which is cut into so many parts, of the one that has most of them: on one side
 * if there are two parts, unless they go around. */
int64_t part_ghosts(const Module *m, int64_t parts, int d);
/* How many times as many points as the part owns a launch computes that `left` more steps follow before an exchange.
 * Half a tile more is reckoned for where the rows take one more, of few tiles a whole one. */
double launch_grown(const PartLaunch *x, int64_t left);
/* What `n` launches from one exchange to the next take. Those that are not trimmed compute all ghost cells each time.
 */
double launches_seconds(const PartLaunch *x, int64_t n);
/* How many launches from one exchange to the next are best. */
int64_t best_launches(const PartLaunch *x);
/* What a launch on part `i`, with those `n` params, takes by the cost model and at least. */
double split_launch_seconds(const StcPlan *p, int i, int n, const char *const *defines);
/* What a round of turns copies, and how long that takes against its launches, in memory of the arena. (turns/choose.c)
 */
const char *turns_describe(const StcPlan *p, Arena *a);
/* What a plan of the program would do on a card of that kind, of whose memory it may have so many bytes: a text in
 * memory of the arena. split: as for stc_plan_new_within. (split.c) */
StcStatus turns_foresee(StcProgram *program, const TargetInfo *card, int64_t memory, const char *split, Arena *a,
                        const char **text);
/* turns.c: a plan's next steps, where parts take turns; the end of that. */
StcStatus turns_advance(StcPlan *p, int64_t steps);
void turns_close(StcPlan *p);
/* Fills split->transfers: of the cells that steps need. */
void split_find_transfers(StcPlan *p);
/* On the simulator, which is to find ghost cells that were not brought up to date (ghosts.c): makes room for what it
 * knows of them, and gives it back; notes that all cells are as they are now, or those of the transfers. */
StcStatus ghosts_open(StcPlan *p);
void ghosts_close(StcPlan *p);
void ghosts_scattered(StcPlan *p);
/* The same of part `i` alone. */
void ghosts_came_in(StcPlan *p, int i);
void ghosts_exchanged(StcPlan *p);
/* Likewise, of one transfer; that all cells of a field of the parts are stale; that a run of inits of a part follows,
 * which are to be judged until its Ghosts.init is NULL. */
void ghosts_note(const StcPlan *p, const Transfer *t);
void ghosts_forget(const StcPlan *p, int field);
/* A stage has computed a coarser level where it stands for parts' own points; other cells are as they were before. */
void ghosts_restricted(const StcPlan *p);
void ghosts_judge_inits(StcPlan *p, PartPlan *part);
/* net.c: was this process started by a launcher, and with how many in all (0: it does not say)? */
bool net_launched(int *size, const char **by);
/* Its rank then, as the launcher says; 0 if it does not. */
int net_launched_rank(void);
/* Opens the module in file `module` (NULL: where it lies) and joins the ranks of `communicator` (NetModule.open). */
StcStatus net_open(StcContext *c, const char *module, void *communicator, Net **out);
void net_close(Net *net);
/* peers.c: all ranks call it: from now on, until peers_unwatch, the lowest rank that is left on a machine says which
 * one has ended there without a word, killed or crashed, or, where none is left, another machine does, and where the
 * launcher does not end the others they end themselves after ten seconds, with STC_DEVICE. peers_unwatch is for before
 * ranks leave each other, which none does before all have called it; peers_tell for a rank that ends by itself. */
typedef struct Peers Peers;
void peers_watch(Net *net);
void peers_tell(Net *net);
void peers_unwatch(Net *net);
/* A rank alone, without MPI: its parts need no whole grid beside them either. */
StcStatus net_open_alone(StcContext *c, Net **out);
/* Memory of a rank, as this one sees it; NULL: it does not. */
typedef struct Segment {
  char *memory;
  size_t bytes;
} Segment;
/* All ranks call it: makes memory of `bytes` bytes, perhaps 0, of this rank's that others of its machine can see, and
 * opens that of the ranks that are `wanted`: of[r] is rank r's. What cannot be is not there. segment_close lets go
 * of one that is there. */
void segments_open(Net *net, size_t bytes, const bool *wanted, Segment *of);
void segment_close(Segment *s);
/* All ranks call these. agree: the status of the lowest rank that has one, *who; STC_OK if all are well. same: have all
 * ranks these bytes? Else *who is the first that has others than rank 0. */
StcStatus net_agree(Net *net, StcStatus mine, int *who);
bool net_same(Net *net, const void *bytes, size_t size, int *who);
/* net_agree, with a message for callers of the interface on the ranks that have none of their own. */
StcStatus ranks_agree(StcContext *c, Net *net, StcStatus mine);
/* The cores for this rank: those that it may use, shared with all ranks that may use the same. All ranks call it. */
int net_cores(Net *net);
/* Sends to rank `peer`, or receives from it, and waits until that is done. */
void net_message(Net *net, int peer, bool send, void *data, size_t size);
/* Is this the rank that has the whole grid? */
static inline bool split_leads(const Split *s) { return !s->net || s->net->rank == 0; }
/* Has all parts of this rank make `steps` steps; early: an exchange follows at once. (split-steps.c) */
StcStatus split_run_parts(StcPlan *p, int64_t steps, bool early);
/* Waits for all parts here, unless something has gone wrong. (split-steps.c) */
StcStatus split_wait(StcPlan *p, StcStatus s);
/* Makes up to `most` periods, as many steps as there are from one exchange to the next and the exchange behind them, by
 * what the devices keep of such, or times some; *made of them: none if they cannot, or it is not worthwhile. No steps
 * have been made since the last exchange. */
StcStatus split_replay(StcPlan *p, int64_t most, int64_t *made);
void split_forget_periods(StcPlan *p);
/* Has part `i` make `steps` steps, `after` more of which may follow before an exchange; early: transport->early follows
 * at once. */
StcStatus windows_run(StcPlan *p, int i, int64_t steps, int64_t after, bool early);
/* The launches of sequence `seq`, which has all of them beside each other, of part `i`, of rows [lo .. hi] along the
 * dimension that they can be made in windows along; of those that the part has. */
StcStatus windows_run_rows(StcPlan *p, int i, const HostSeq *seq, int64_t lo, int64_t hi);
/* Has cells_are_there and cells_are_free say of part `i` of this rank what they will behind windows_run of as many
 * steps as there are from one exchange to the next, with `early`. */
void windows_foresee(StcPlan *p, int i);
/* The windows of part `i` for the last of `steps` steps that an exchange follows, in one go, storing what the part owns
 * and no more; NULL: it cannot. */
const Windows *windows_whole(StcPlan *p, int i, int64_t steps);
/* windows_run for such steps in two: all but the last launch, and those beside it (*any: there were any), and these. */
StcStatus windows_begin(StcPlan *p, int i, int64_t steps, bool *any);
StcStatus windows_end(StcPlan *p, int i);
/* Where the last launch of the sequence, and those beside it, begin among its ops. */
int windows_last_launch(const HostSeq *seq);
/* mirrors.c, launches that store to other parts themselves (pass mirror-stores). Is the program for a part to have
 * such kernels? (of a plan that is being cut) */
bool mirrors_wanted(const StcPlan *p);
/* After `peer` was chosen: takes `store` in its place where all that parts have for each other can be stored. */
void mirrors_open(StcPlan *p);
/* A run begins, before which fields may have been set: cells that no launch stores are to be exchanged again. */
void mirrors_begin(StcPlan *p);
/* Can the next `steps` steps be made so? If not, the exchange behind them brings all cells up to date. */
bool mirrors_can(StcPlan *p, int64_t steps);
/* Do devices that keep such steps make the same when they begin with them? */
bool mirrors_are_settled(StcPlan *p);
/* The steps on all parts, which store to each other; what comes next waits for all that it may look at or write to. */
StcStatus mirrors_run(StcPlan *p, int64_t steps);
/* An exchange has brought all cells of the present fields up to date. */
void mirrors_note(StcPlan *p);
/* Does each launch of a part's plan, which is prepared, compute no more than those behind it need? */
bool launches_trimmed(const StcPlan *q);
/* Before the whole of a part's last launch is done, when its LANE_EDGES has come to its mark: are the cells of the
 * transfer there, if it is the one that sends; is nobody there at work any more where they go to, if it is the other?
 */
bool cells_are_there(const StcPlan *p, const Transfer *t);
bool cells_are_free(const StcPlan *p, const Transfer *t);
/* All fields and launch-time arrays of the whole grid to the parts, ghost cells too; and back, without those. */
StcStatus split_scatter(StcPlan *p);
/* SplitOps.put_frame and copy_frame. */
StcStatus split_put_frame(StcPlan *p, int field, const void *data);
StcStatus split_copy_frame(StcPlan *p, int from, int to);
/* Has the parts, behind some steps, the frames that begin with the next one. All ranks call it. */
StcStatus split_next_frames(StcPlan *p);
StcStatus split_gather(StcPlan *p);
/* Where the cells of declared field `field` lie that part `part` has, ghost cells too (`in`), or owns: calls fn for
 * each run with its first cell in the whole field's array and in the part's, or the other way round, until one fails.
 */
StcStatus part_each(const StcPlan *p, const PartPlan *part, int field, bool in,
                    StcStatus (*fn)(void *user, int64_t from, int64_t to, int64_t n), void *user);
/* Values of a part and a file that has those of the whole field: points of `size` bytes at `memory`, where the part's
 * array is, and from byte `at` of file `fd` on. */
typedef struct PartFile {
  int fd;
  int64_t at, size;
  char *memory;
} PartFile;
/* gather.c, of plans that are lean. On rank 0: declared field `field`, or (component >= 0) a component of it, at those
 * `points` of the whole grid (first and shape), into `data`, which has room for them; and when all is there that is
 * wanted. On the others meanwhile:
 * what they have of it. What goes wrong on one comes back on all. shown: of those points in each dimension so many as
 * the shape of `samples` says, evenly spaced, and what is seen of all. */
StcStatus gather_ask(StcPlan *p, int field, int component, const StcFieldInfo *points, void *data);
StcStatus gather_shown(StcPlan *p, int field, int component, const StcFieldInfo *points, const StcFieldInfo *samples,
                       void *data, Sight *sight);
void gather_end(StcPlan *p);
void gather_serve(StcPlan *p);
/* Writes what the part owns of declared field `field` to its places in the file; reads what the part has of it, ghost
 * cells too. Anything but STC_OK: errno says why not. */
StcStatus part_to_file(const StcPlan *p, const PartPlan *part, int field, PartFile *file);
StcStatus part_from_file(const StcPlan *p, const PartPlan *part, int field, PartFile *file);
/* The same status on all ranks: that of the lowest one in trouble, whose message is to be read there. */
StcStatus split_agree(StcPlan *p, StcStatus s);
/* No rank has a chance to go on without so many bytes for a copy of `what`: says so, and ends all. A process alone has
 * the workspace_guard that is running come back with STC_MEMORY. */
_Noreturn void split_die(StcPlan *p, const char *what, double bytes);
/* `bytes` bytes (malloc) for `what`, which a rank cannot do without, since others wait for it. (evaluate.c) */
void *split_must_have(StcPlan *p, const char *what, double bytes);
/* Memory of zeros for `bytes` bytes of field `name` (free), one more than that at the least. Where there is none
 * several ranks, which wait for each other, end; one alone returns NULL, and *s is STC_MEMORY. */
char *split_room(StcPlan *p, const char *name, size_t bytes, StcStatus *s);
/* The status that making or running a plan over `net` (NULL: one rank) came to. If this rank ran out of memory where
 * the others cannot know of it and wait (not `agreed`), it ends all. */
StcStatus net_leave(StcContext *c, Net *net, bool agreed, StcStatus s);

/* ---------------------------------------------------------------- what SplitOps of instance.h says: split.c,
 * split-run.c, ranks.c */

StcStatus split_run(StcPlan *p, StcStatus s, int64_t steps, double *seconds);
void split_close(StcPlan *p);
bool split_has_ranks(const StcPlan *p);
bool split_is_lean(const StcPlan *p);
StcStatus split_leave(StcPlan *p, StcStatus s);
StcStatus split_set_array(StcPlan *p, int array, const void *data, size_t bytes);
StcStatus split_restart(StcPlan *p);
/* An array of such a plan back. */
StcStatus split_get_array(StcPlan *p, int array, void *data, size_t bytes);

#endif
