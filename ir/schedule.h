/* ir/schedule.h: how a program is to be run, as data: what a user asks for, and the plan that a module carries once
 * that is decided.
 *
 *   families.def   the families of schedules, a row each
 *   knobs.def      the knobs of schedules, a row each
 *   mapping.def    what else plans say of the mapping of launches to threads, a row each
 *   knobs.c        the tables of these
 *   schedule.c     plans as text
 */
#ifndef STC_IR_PLAN_H
#define STC_IR_PLAN_H

#include "ir/ir.h"

/* The families; FAMILY_NONE: nothing is said, FAMILY_AUTO: stc is to choose. */
typedef enum FamilyId {
  FAMILY_NONE,
  FAMILY_AUTO,
#define FAMILY(id, ...) FAMILY_##id,
#include "ir/families.def"
#undef FAMILY
  FAMILIES
} FamilyId;

/* ---------------------------------------------------------------- the families: knobs.c */

/* A row of families.def. FAMILY_NONE has no name, it and FAMILY_AUTO no lowerings. */
typedef struct Family {
  const char *name;
  bool tiled, streamed;
  const char *lower[2]; /* without threads, with threads */
  const char *about;
} Family;

/* The row of a family; its name (NULL: none). */
const Family *family_row(FamilyId id);
const char *family_name(FamilyId id);
/* Is it a family, and not one of tiles? */
bool family_is_plain(FamilyId id);
/* The family of that name, "auto" among them; FAMILY_NONE: there is none (name NULL: nor is one asked for). */
FamilyId family_find(const char *name);
/* "naive, overlap and stream". */
const char *family_names(Arena *a);

/* ---------------------------------------------------------------- the knobs: knobs.c */

/* The rows of knobs.def. */
typedef enum KnobId {
#define KNOB(ID, ...) KNOB_##ID,
#include "ir/knobs.def"
  KNOBS
} KnobId;

/* What a knob that takes words may be: TILES_OPEN, TILES_EVEN and so on; those of each knob from 0. */
typedef enum KnobWord {
#define KNOB(ID, ...) ID##_OPEN = 0,
#define KNOB_WORD(ID, WORD, word) ID##_##WORD,
#include "ir/knobs.def"
} KnobWord;

typedef enum KnobKind { KNOB_IS_NUMBER, KNOB_IS_SHAPE, KNOB_IS_WORD, KNOB_IS_TEXT } KnobKind;

/* Flags of a row. */
enum { KNOB_OF_LAUNCH = 1, KNOB_NEEDED = 2, KNOB_IN_MANUAL = 4 };

/* A row of knobs.def. at: where it stands in a Schedule: an int32_t, GRID_RANK of them, a KnobWord, a string. */
typedef struct KnobRow {
  const char *name;
  KnobKind kind;
  const char *value, *help;
  int32_t flags;
  uint32_t families;
  const char *word;
  int32_t most;
  const char *right, *lacks;
  size_t at;
} KnobRow;

const KnobRow *knob_row(KnobId id);
/* Does the family look at the knob? FAMILY_NONE and FAMILY_AUTO look at those that all have. */
bool family_has(FamilyId family, KnobId id);
/* Word number `i`, from 1, of those of knob `id`; NULL: there are fewer (0: where it is open). */
const char *knob_word(KnobId id, int i);
/* The number of the word `name`; 0 if it is none of them, or NULL. */
KnobWord knob_find_word(KnobId id, const char *name);
/* The names of the knobs of some kinds, a set of 1 << KnobKind, each behind `prefix`: "-block or -elems". */
enum {
  KNOBS_NUMBERS = 1 << KNOB_IS_NUMBER | 1 << KNOB_IS_SHAPE,
  KNOBS_WORDS = 1 << KNOB_IS_WORD,
  KNOBS_TEXTS = 1 << KNOB_IS_TEXT
};
char *knob_names(Arena *a, int kinds, const char *prefix, const char *between);

/* ---------------------------------------------------------------- the mapping: knobs.c */

/* The rows of mapping.def. */
typedef enum MapId {
#define MAPPED(ID, ...) MAP_##ID,
#include "ir/mapping.def"
  MAPS
} MapId;

typedef enum MapScope { MAP_OF_PLAN, MAP_OF_LAUNCH } MapScope;

/* A row of mapping.def. */
typedef struct MapRow {
  const char *word;
  int32_t least, most;
  MapScope scope;
  uint32_t families;
} MapRow;

const MapRow *map_row(MapId id);
/* What `s` says of `id`, of itself; -1: it is open. Has `s` say `value` of it. */
int32_t map_get(const Schedule *s, MapId id);
void map_set(Schedule *s, MapId id, int32_t value);
/* Does `s` say anything of it, also of its launches? */
bool map_says_any(const Schedule *s);
/* Threads of a block of `s`; dimensions that say none count as one. */
int64_t schedule_threads(const Schedule *s);
/* Schedule `s` with T time steps a tile: of those fewer that s->between is for, with what that says, if there is one.
 */
Schedule schedule_between(const Schedule *s, int32_t T);

/* How a program is to be run: as it is asked for, what is left open being 0 (fuse: NULL); or as it was decided.
 * Dimensions are the program's, slowest first. */
struct Schedule {
  FamilyId family; /* AUTO: stream where the target has asynchronous copies, or no threads, and tiles can be
                      streamed, else overlap */
#define MEMBER_NUMBER(name) int32_t name;
#define MEMBER_SHAPE(name) int32_t name[GRID_RANK];
#define MEMBER_WORD(name) KnobWord name;
#define MEMBER_TEXT(name) const char *name;
#define KNOB(ID, name, KIND, ...) MEMBER_##KIND(name) /* knobs.def has what they mean */
#include "ir/knobs.def"
#undef MEMBER_NUMBER
#undef MEMBER_SHAPE
#undef MEMBER_WORD
#undef MEMBER_TEXT
  int32_t map[MAPS];      /* the mapping: map_get */
  int64_t size[MAX_RANK]; /* extents of a grid that open choices are to suit; 0: a large one. Kernels are right for
                             grids of all sizes */
  bool told;              /* the grids of all runs have about these extents, or who makes code says they have */
  int64_t every;          /* steps from one stop of runs to the next that open choices are to suit; 0: not known */
  int32_t ngroups;        /* resolved, overlap: the launches of a step; block and elems above are those of the first */
  const Schedule *groups; /* and the schedule of each */
  const Schedule *rest;   /* resolved, stream: overlapped tiles for single steps behind the last tile; its block is that
                             of inits, too. With edges=steps there is one in any family, for inits, and for
                             the frame's kernels, whose threads have elems[0] points */
  const Schedule *between; /* resolved: the mapping of the kernel for fewer steps (MAP_REMAINDER), nothing else; NULL:
                              it is open, or there is none */
};

/* How many rounds of repeat `name` s->repeats, "NAME:N,...", asks for in a launch, 0: it does not say. */
int64_t schedule_rounds(const Schedule *s, const char *name);
/* Does `s` say knob `id`? Any knob of the kinds? */
bool schedule_says(const Schedule *s, KnobId id);
bool schedule_says_any(const Schedule *s, int kinds);
/* Has a thread of `s`, a schedule of a grid of rank `rank`, several points? */
bool schedule_has_points(const Schedule *s, int rank);
/* Takes the knobs of the kinds from `from` into *to. Are they the same in both? */
void schedule_take(Schedule *to, const Schedule *from, int kinds);
bool schedule_same(const Schedule *a, const Schedule *b, int kinds);

/* ---------------------------------------------------------------- as text: schedule.c */

/* Adds the plan for a grid of rank `rank`, whole lines that begin with `indent`; what is open is left out:
 *
 *   plan stream T=4 block=4x32 elems=1x2 chunk=128 ahead=4 edges=apart barriers=neighbours
 *     rest overlap block=8x32 elems=4x1
 *
 * or, if the step is cut into several launches,
 *
 *   plan overlap T=1 cut="gauss+st,dt" edges=apart
 *     launch overlap block=8x32 elems=4x1
 *     launch overlap block=8x32 elems=2x1
 *
 * and behind these the mapping, where that is said: of the plan, of the kernel for fewer steps, of each launch:
 *
 *     map remainder=2 near=4 written=3
 *     map between written=3
 *     map launch blocks=0 */
void plan_print(Str *s, const Schedule *p, int rank, const char *indent);
char *plan_text(Arena *a, const Schedule *p, int rank);
/* Adds the family and what applies to one tile, "stream T=4 block=4x32 elems=1x2 chunk=128 ahead=4"; whole: of the
 * plan, else of one of its launches, which make one step. */
void plan_print_tile(Str *s, const Schedule *p, int rank, bool whole);
const char *plan_tile_text(Arena *a, const Schedule *p, int rank); /* of the whole plan */
/* Is `text` (NULL: no) such a text, by how it begins? */
bool plan_is_text(const char *text);
/* Reads such a text, in which anything may be open (family "auto"). Blanks, newlines and comments are free. NULL after
 * an error, which names line and cause. */
const Schedule *plan_parse(Arena *a, Diags *d, const char *file, const char *text);
/* The first knob that is open in plan `p` on a grid of rank `rank`, or said for more dimensions than there are; NULL:
 * none, the plan is complete. */
const char *plan_open_knob(const Schedule *p, int rank);

#endif
