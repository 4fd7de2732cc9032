/* split-shape.c: parses --split. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* The most parts. */
enum { MOST_PARTS = 4096 };

/* Reports the correct form. */
static StcStatus bad_split(StcPlan *p, const char *text) {
  diag_error(
      p->w.diags, no_loc(),
      "--split=%s: write how many parts the grid is to have along each dimension, slowest first, such as 4 or 2x2, "
      "and behind a slash after how many steps they are to exchange, behind a colon by what: store, peer, copy, nccl "
      "or mpi",
      text);
  return STC_USAGE;
}

/* Chooses how the grid is cut into `n` parts. If it cannot be, cuts along the slowest dimension, and a later step
 * reports the error. */
static StcStatus choose_parts(StcPlan *p, int n) {
  Split *s = p->split;
  int64_t extents[MAX_RANK];
  bool can[MAX_RANK];
  for (int d = 0; d < s->rank; d++) {
    extents[d] = s->hi[d] - s->lo[d] + 1;
    can[d] = s->rank == 1 || n == 1;
    if (d > 0 && s->rank > GRID_RANK && extents[0] >= n) /* cut between members, which exchange nothing */
      continue;
    StcStatus st = can[d] ? STC_OK : program_can_cut(p->program, arena_printf(p->w.arena, "%d", d), false, &can[d]);
    if (st)
      return st;
  }
  if (!split_choose(s->rank, extents, n, can, s->parts))
    s->parts[0] = n;
  return STC_OK;
}

/* Parses the beginning of `text`, such as "2x2"; if there is nothing, there are as many parts as devices, cut in the
 * best way. Returns the rest of the text; NULL: it is malformed. *st: an error of the choice. */
static const char *read_shape(StcPlan *p, const char *text, int ndevices, StcStatus *st) {
  Split *s = p->split;
  const char *at = text;
  for (int k = 0; k < MAX_RANK; k++)
    s->parts[k] = 1;
  if (!*text || *text == '/' || *text == ':')
    return *st = choose_parts(p, ndevices), text;
  int d = 0;
  for (bool more = true; more && d < MAX_RANK; d++) {
    char *end;
    long n = strtol(at, &end, 10);
    if (end == at || n < 1 || n > MOST_PARTS)
      return NULL;
    s->parts[d] = n;
    more = *end == 'x';
    at = end + more;
  }
  return at;
}

StcStatus split_read_shape(StcPlan *p, const char *text, int ndevices) {
  static const char *const ways[] = {"store", "peer", "copy", "nccl", "mpi"};
  Split *s = p->split;
  StcStatus st = STC_OK;
  const char *at = read_shape(p, text ? text : "", ndevices, &st);
  if (st)
    return st;
  if (at && *at == '/' && at[1] >= '1' && at[1] <= '9') {
    char *end;
    s->every = strtol(at + 1, &end, 10);
    at = end;
  }
  for (size_t i = 0; i < sizeof ways / sizeof *ways && at && *at == ':'; i++)
    if (strcmp(at + 1, ways[i]) == 0) {
      s->by = ways[i];
      at += strlen(at);
    }
  if (!at || *at || (text && !*text))
    return bad_split(p, text);
  for (int k = s->rank; k < MAX_RANK; k++)
    if (s->parts[k] > 1)
      return diag_error(p->w.diags, no_loc(), "--split=%s: the grid has %d dimension%s", text, s->rank,
                        s->rank > 1 ? "s" : ""),
             STC_USAGE;
  return STC_OK;
}

StcStatus split_check_shape(StcPlan *p) {
  Split *s = p->split;
  s->nparts = 1;
  for (int d = 1; d < s->rank; d++)
    if (s->parts[d] > 1 && p->module->members && module_scaled(p->program->module))
      return diag_error(p->w.diags, no_loc(),
                        "a grid that has levels with members is cut by members alone, and these are %lld parts along "
                        "dimension %d: write --split=%lld, or as many as there are members",
                        (long long)s->parts[d], d, (long long)s->parts[d]),
             STC_USAGE;
  for (int d = 0; d < s->rank; d++) {
    int64_t extent = s->hi[d] - s->lo[d] + 1;
    if (s->parts[d] > extent)
      return diag_error(p->w.diags, no_loc(),
                        "the grid has %lld point%s in dimension %d, which cannot be cut into %lld parts: at most %lld",
                        (long long)extent, extent > 1 ? "s" : "", d, (long long)s->parts[d], (long long)extent),
             STC_USAGE;
    if (s->nparts * s->parts[d] > MOST_PARTS)
      return diag_error(p->w.diags, no_loc(), "there can be at most %d parts", MOST_PARTS), STC_USAGE;
    s->nparts *= (int)s->parts[d];
  }
  if (s->net && s->nparts < s->net->size)
    return diag_error(
               p->w.diags, no_loc(),
               "%d ranks are to work on %d part%s of the grid: start at most %d, or cut it into more with --split",
               s->net->size, s->nparts, s->nparts > 1 ? "s" : "", s->nparts),
           STC_USAGE;
  return STC_OK;
}
