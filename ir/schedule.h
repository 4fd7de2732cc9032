/* ir/schedule.h: schedules: as a user requests them, and as the plan of a module once all is decided.
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

/* The families. FAMILY_NONE: not specified. FAMILY_AUTO: stc chooses. */
typedef enum FamilyId {
  FAMILY_NONE,
  FAMILY_AUTO,
#define FAMILY(id, ...) FAMILY_##id,
#include "ir/families.def"
#undef FAMILY
  FAMILIES
} FamilyId;

/* ---------------------------------------------------------------- the families: knobs.c */

/* A row of families.def. FAMILY_NONE has no name; FAMILY_NONE and FAMILY_AUTO have no lowerings. */
typedef struct Family {
  const char *name;
  bool tiled, streamed;
  const char *lower[2]; /* on targets without threads, with threads */
  const char *about;
} Family;

/* family_row: the row of a family. family_name: its name (NULL: none). */
const Family *family_row(FamilyId id);
const char *family_name(FamilyId id);
/* Is it a family without tiles? */
bool family_is_plain(FamilyId id);
/* The family of that name, including "auto"; FAMILY_NONE: there is none, or name is NULL. */
FamilyId family_find(const char *name);
/* The names of the families as a list, "naive, overlap and stream". */
const char *family_names(Arena *a);

/* ---------------------------------------------------------------- the knobs: knobs.c */

/* The rows of knobs.def. */
typedef enum KnobId {
#define KNOB(ID, ...) KNOB_##ID,
#include "ir/knobs.def"
  KNOBS
} KnobId;

/* The values of knobs that are words, such as TILES_OPEN, TILES_EVEN; those of each knob count from 0. */
typedef enum KnobWord {
#define KNOB(ID, ...) ID##_OPEN = 0,
#define KNOB_WORD(ID, WORD, word) ID##_##WORD,
#include "ir/knobs.def"
} KnobWord;

typedef enum KnobKind { KNOB_IS_NUMBER, KNOB_IS_SHAPE, KNOB_IS_WORD, KNOB_IS_TEXT } KnobKind;

/* Flags of a row. */
enum { KNOB_OF_LAUNCH = 1, KNOB_NEEDED = 2, KNOB_IN_MANUAL = 4 };

/* A row of knobs.def. at: the offset of the knob in a Schedule, where there is an int32_t, GRID_RANK of them, a
 * KnobWord or a string. */
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
/* Does the family use the knob? FAMILY_NONE and FAMILY_AUTO use the knobs that all families have. */
bool family_has(FamilyId family, KnobId id);
/* Word number `i`, from 1, of the words of knob `id`; NULL: there are fewer, or i is 0 (the knob is open). */
const char *knob_word(KnobId id, int i);
/* The number of the word `name`; 0 if it is none of them, or NULL. */
KnobWord knob_find_word(KnobId id, const char *name);
/* The names of the knobs of the kinds in a set of 1 << KnobKind, each after `prefix`: "-block or -elems". */
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
/* map_get: the value of `id` in `s` itself; -1: it is open. map_set: sets it to `value`. */
int32_t map_get(const Schedule *s, MapId id);
void map_set(Schedule *s, MapId id, int32_t value);
/* Has `s`, or one of its launches, a value of the mapping? */
bool map_says_any(const Schedule *s);
/* The threads of a block of `s`; dimensions that are open count as one. */
int64_t schedule_threads(const Schedule *s);
/* Schedule `s` with T time steps in a tile. If T is not s->T, its mapping is that of s->between; if that is NULL, the
 * mapping is open. */
Schedule schedule_between(const Schedule *s, int32_t T);

/* A schedule: as it is requested, with 0 (fuse: NULL) for open choices, or as it was decided. Dimensions are the
 * program's, slowest first. */
struct Schedule {
  FamilyId family; /* AUTO: stream if the target has asynchronous copies, or no threads, and tiles can be streamed; else
                      overlap */
#define MEMBER_NUMBER(name) int32_t name;
#define MEMBER_SHAPE(name) int32_t name[GRID_RANK];
#define MEMBER_WORD(name) KnobWord name;
#define MEMBER_TEXT(name) const char *name;
#define KNOB(ID, name, KIND, ...) MEMBER_##KIND(name) /* their meaning: knobs.def */
#include "ir/knobs.def"
#undef MEMBER_NUMBER
#undef MEMBER_SHAPE
#undef MEMBER_WORD
#undef MEMBER_TEXT
  int32_t map[MAPS];       /* the mapping: map_get */
  int64_t size[MAX_RANK];  /* extents of the grid that open choices should suit; 0: a large one. Kernels are correct for
                              all sizes */
  bool told;               /* the grids of all runs have about these extents, or the caller of the compiler says so */
  int64_t every;           /* steps between stops of runs that open choices should suit; 0: not known */
  int32_t ngroups;         /* resolved, overlap: the launches of a step; block and elems above are those of the first */
  const Schedule *groups;  /* and the schedule of each */
  const Schedule *rest;    /* resolved, stream: overlapped tiles for single steps after the last tile; its block is also
                              that of inits. With edges=steps every family has it, for inits and for the kernels of the
                              frame, whose threads have elems[0] points */
  const Schedule *between; /* resolved: the mapping of the kernel for fewer steps (MAP_REMAINDER), nothing else; NULL:
                              it is open, or there is no such kernel */
};

/* The number of rounds of repeat `name` in one launch that s->repeats, "NAME:N,...", requests; 0: none is requested. */
int64_t schedule_rounds(const Schedule *s, const char *name);
/* schedule_says: is knob `id` set in `s`? schedule_says_any: is any knob of these kinds set? */
bool schedule_says(const Schedule *s, KnobId id);
bool schedule_says_any(const Schedule *s, int kinds);
/* Has a thread of `s`, a schedule for a grid of rank `rank`, several points? */
bool schedule_has_points(const Schedule *s, int rank);
/* schedule_take: copies the knobs of these kinds from `from` to *to. schedule_same: are they equal in both? */
void schedule_take(Schedule *to, const Schedule *from, int kinds);
bool schedule_same(const Schedule *a, const Schedule *b, int kinds);

/* ---------------------------------------------------------------- as text: schedule.c */

/* Appends the plan for a grid of rank `rank` as whole lines that begin with `indent`; open choices are left out:
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
 * and after these the mapping, where it is set: of the plan, of the kernel for fewer steps, of each launch:
 *
 *     map remainder=2 near=4 written=3
 *     map between written=3
 *     map launch blocks=0
 */
void plan_print(Str *s, const Schedule *p, int rank, const char *indent);
char *plan_text(Arena *a, const Schedule *p, int rank);
/* Appends the family and the knobs of one tile, "stream T=4 block=4x32 elems=1x2 chunk=128 ahead=4". whole: those of
 * the whole plan; else those of one of its launches, which make one step. */
void plan_print_tile(Str *s, const Schedule *p, int rank, bool whole);
const char *plan_tile_text(Arena *a, const Schedule *p, int rank); /* for the whole plan */
/* Does `text` (NULL: no) begin like such a plan? */
bool plan_is_text(const char *text);
/* Parses such a text, in which any choice may be open (family "auto"). Blanks, newlines and comments are ignored. NULL
 * after an error, which names line and cause. */
const Schedule *plan_parse(Arena *a, Diags *d, const char *file, const char *text);
/* The first knob that is open in plan `p` for a grid of rank `rank`, or set for more dimensions than the grid has;
 * NULL: there is none, the plan is complete. */
const char *plan_open_knob(const Schedule *p, int rank);

#endif
