/* driver/explain/explain-draw.c: draws the tiles of a program's launches: how the region that must be computed shrinks
 * from level to level (the paper's figures 4 and 5), the tile in its last two dimensions, and for streamed tiles the
 * rows that are in flight. */
#include "driver/explain/explain.h"
#include "driver/explain/svg.h"
#include "driver/files/files.h"

#include <inttypes.h>
#include <math.h>

/* The sizes of the page: width and margin; the width of a panel and of its labels at the left and at the right; the
 * largest height of a drawing. */
enum { PAGE = 1000, MARGIN = 36, PANEL = 446, GAP = 36, LABEL = 92, RANGE = 70, MOST_ROWS = 26, HEIGHT = 300 };
static const char ink[] = "#222222", grey[] = "#777777", idle[] = "#ececec", edge_grey[] = "#b5b5b5",
                  loaded[] = "#f9d9a8", orange[] = "#c76b00";

/* The drawing: y is the top of the next panel. */
typedef struct Page {
  FILE *to;
  Arena *a;
  const Explanation *e;
  double y;
} Page;

/* ---------------------------------------------------------------- sections */

/* A range of cells, from lo to before hi, on `width` pixels from x on. If it is long, its middle is omitted: cells from
 * cut_lo to cut_hi are a gap. */
typedef struct Axis {
  double lo, hi, cut_lo, cut_hi, x, width;
} Axis;
enum { CUT = 22 };

/* The axis for `given` output points with `below` and `above` cells around them. */
static Axis axis_of(double below, double given, double above, double x, double width) {
  Axis s = {.lo = -below, .hi = given + above, .x = x, .width = width};
  double part = 1.6 * fmax(below, above) + 4;
  if (given > 2.5 * part && below + above > 0) {
    s.cut_lo = part;
    s.cut_hi = given - part;
  }
  return s;
}

/* The position of the left edge of cell `c`. */
static double place(const Axis *s, double c) {
  double gap = s->cut_hi - s->cut_lo, shown = s->hi - s->lo - gap, scale = (s->width - (gap > 0 ? CUT : 0)) / shown;
  if (gap <= 0 || c <= s->cut_lo)
    return s->x + (c - s->lo) * scale;
  if (c < s->cut_hi)
    return s->x + (s->cut_lo - s->lo) * scale + CUT * (c - s->cut_lo) / gap;
  return s->x + (c - s->lo - gap) * scale + CUT;
}

/* Clears the gap of the axis between two heights. */
static void draw_cut(Page *p, const Axis *s, double top, double bottom) {
  if (s->cut_hi <= s->cut_lo)
    return;
  double x = place(s, s->cut_lo) + 6, width = CUT - 12;
  svg_rect(p->to, x, top - 2, width, bottom - top + 4, "#ffffff", NULL);
  svg_line(p->to, x, top - 2, x, bottom + 2, edge_grey, 0.8, true);
  svg_line(p->to, x + width, top - 2, x + width, bottom + 2, edge_grey, 0.8, true);
}

/* The number of the instance in row `i` of `rows`; the last row shows the last instance. */
static int shown_instance(const LaunchWork *l, int rows, int i) {
  return rows < 2 ? l->ninstances - 1 : (int)((int64_t)i * (l->ninstances - 1) / (rows - 1));
}

/* The number of lanes of a line of a streamed tile: a warp, or a part of one. */
static int lanes_of(const LaunchWork *l, int rank) { return rank > 1 ? l->schedule.block[rank - 1] : 32; }

/* Finds the cells on both sides of a tile's points in dimension d. In the last dimension of a streamed tile: for one
 * warp, in whole lanes. */
static void tile_axis(const Explanation *e, const LaunchWork *l, int d, double *below, double *given, double *above) {
  int rank = e->stencils->grid.rank;
  double lanes = l->schedule.elems[d];
  *below = (double)l->halo.lo[d];
  *above = (double)l->halo.hi[d];
  *given = l->width[d];
  if (l->streamed && d == rank - 1) {
    *below = ceil(*below / lanes) * lanes;
    *above = ceil(*above / lanes) * lanes;
    *given = lanes_of(l, rank) * lanes - *below - *above;
  }
}

/* Draws the heading of a panel. */
static void draw_heading(Page *p, double x, double y, const char *text, const char *below) {
  svg_text(p->to, x, y, 13, SVG_START, ink, text);
  svg_text(p->to, x, y + 15, 10.5, SVG_START, grey, below);
}

/* Draws the regions of all instances in the last dimension, the first at the bottom, as time goes up. Returns the
 * height. */
static double draw_section(Page *p, const LaunchWork *l, double x, double width) {
  const Explanation *e = p->e;
  int d = e->stencils->grid.rank - 1, rows = l->ninstances < MOST_ROWS ? l->ninstances : MOST_ROWS;
  double below, given, above, high = rows > 0 ? fmin(24, HEIGHT / (rows + 1.0)) : 24, top = p->y + 34,
                              bottom = top + (rows + 1) * high;
  tile_axis(e, l, d, &below, &given, &above);
  double before = (double)l->loaded.lo[d], behind = (double)l->loaded.hi[d];
  Axis s = axis_of(fmax(below, before), given, fmax(above, behind), x + LABEL, width - LABEL - RANGE);
  draw_heading(p, x, p->y + 4,
               arena_printf(p->a, "Regions, level by level, in dimension %d%s", d, l->streamed ? " (one warp)" : ""),
               "dark: needed; grey: computed, needed by nobody; time goes up");
  svg_rect(p->to, place(&s, -before), bottom - high + 2, place(&s, given + behind) - place(&s, -before), high - 4,
           loaded, orange);
  svg_text(p->to, x + LABEL - 6, bottom - high / 2 + 4, 10.5, SVG_END, ink, "loaded");
  for (int r = 0; r < rows; r++) {
    const InstanceWork *w = &l->instances[shown_instance(l, rows, r)];
    double y = bottom - (r + 2) * high, from = place(&s, -(double)w->extent.lo[d]),
           until = place(&s, given + (double)w->extent.hi[d]);
    svg_rect(p->to, place(&s, -below), y + 2, place(&s, given + above) - place(&s, -below), high - 4, idle, edge_grey);
    svg_rect(p->to, from, y + 2, until - from, high - 4, svg_blue(p->a, rows > 1 ? 0.25 + 0.75 * r / (rows - 1.0) : 1),
             NULL);
    svg_text(p->to, x + LABEL - 6, y + high / 2 + 4, 10.5, SVG_END, ink,
             arena_printf(p->a, "%.9s %d", w->name, w->level + 1));
    svg_text(p->to, x + width - RANGE + 6, y + high / 2 + 4, 10.5, SVG_START, grey,
             arena_printf(p->a, "[%s%" PRId64 ", %" PRId64 "]", w->extent.lo[d] ? "-" : "", w->extent.lo[d],
                          w->extent.hi[d]));
  }
  draw_cut(p, &s, top, bottom);
  for (int i = 0; i < 2; i++)
    svg_line(p->to, place(&s, i ? given : 0), top - 4, place(&s, i ? given : 0), bottom + 6, ink, 1, true);
  svg_text(p->to, (place(&s, 0) + place(&s, given)) / 2, bottom + 18, 10.5, SVG_MIDDLE, ink,
           arena_printf(p->a, "%.0f points stored", given));
  return bottom + 26 - p->y;
}

/* ---------------------------------------------------------------- in the last two dimensions */

/* Draws an overlapped tile in its last two dimensions: the regions nested in each other. Returns the height. */
static double draw_nested(Page *p, const LaunchWork *l, double x, double width) {
  int rank = p->e->stencils->grid.rank, r = rank - 2, c = rank - 1;
  double across = l->cells[c], down = l->cells[r], scale_x = (width - 30) / across,
         scale_y = (l->ninstances > 1 ? HEIGHT : HEIGHT / 2) / down, top = p->y + 34;
  if (scale_x > scale_y)
    scale_x = fmin(scale_x, 2.5 * scale_y);
  else
    scale_y = fmin(scale_y, 2.5 * scale_x);
  double origin_x = x + 24 + l->halo.lo[c] * scale_x, origin_y = top + l->halo.lo[r] * scale_y;
  draw_heading(p, x, p->y + 4, arena_printf(p->a, "The tile from above, dimensions %d and %d", r, c),
               "outside: all cells that threads compute; inside each other: what each level needs");
  svg_rect(p->to, x + 24, top, across * scale_x, down * scale_y, idle, edge_grey);
  for (int i = 0; i < l->ninstances; i++) {
    const Extent *w = &l->instances[i].extent;
    svg_rect(p->to, origin_x - w->lo[c] * scale_x, origin_y - w->lo[r] * scale_y,
             (l->width[c] + (double)(w->lo[c] + w->hi[c])) * scale_x,
             (l->width[r] + (double)(w->lo[r] + w->hi[r])) * scale_y,
             svg_blue(p->a, l->ninstances > 1 ? 0.25 + 0.75 * i / (l->ninstances - 1.0) : 1), "#ffffff");
  }
  svg_text(p->to, origin_x + l->width[c] * scale_x / 2, origin_y + l->width[r] * scale_y / 2 + 4, 12, SVG_MIDDLE,
           "#ffffff", arena_printf(p->a, "%.0f x %.0f stored", l->width[r], l->width[c]));
  svg_text(p->to, x + 24 + across * scale_x / 2, top + down * scale_y + 16, 10.5, SVG_MIDDLE, ink,
           arena_printf(p->a, "%.0f x %.0f cells computed", down, across));
  return 34 + down * scale_y + 26;
}

/* Draws a line of `n` lanes from x on; those of halos are grey. */
static void draw_lanes(Page *p, double x, double y, int n, double lane, double height, int below, int above,
                       const char *fill) {
  for (int i = 0; i < n; i++)
    svg_rect(p->to, x + i * lane, y, lane, height, i < below || i >= n - above ? idle : fill, "#ffffff");
}

/* The text below a streamed tile of `warps` warps. */
static const char *lane_tile_text(const Page *p, const LaunchWork *l, int warps) {
  int rank = p->e->stencils->grid.rank, E = l->schedule.elems[1];
  const char *many = warps > 1 ? "s" : "";
  if (rank == 1)
    return arena_printf(p->a, "%d warp%s; %.0f points stored of %.0f", warps, many, l->width[0], l->cells[0]);
  if (rank == 2)
    return arena_printf(p->a, "%d warp%s; %.0f points stored a row; %.0f rows stored of %.0f", warps, many, l->width[1],
                        l->width[0], l->cells[0]);
  return arena_printf(p->a,
                      "%d warp%s of %d line%s; %.0f x %.0f points stored of %.0f x %.0f; streamed along dimension 0",
                      warps, many, E, E > 1 ? "s" : "", l->width[1], l->width[2], l->cells[1], l->cells[2]);
}

/* Draws a streamed tile in its last two dimensions: lanes of neighbouring warps and the streamed rows (rank 2), or
 * lines of stacked warps (rank 3). Returns the height. */
static double draw_lane_tile(Page *p, const LaunchWork *l, double x, double width) {
  const Explanation *e = p->e;
  int rank = e->stencils->grid.rank, c = rank - 1, V = l->schedule.elems[c];
  int below = (int)((l->halo.lo[c] + V - 1) / V), above = (int)((l->halo.hi[c] + V - 1) / V),
      warps = rank == 3   ? l->schedule.block[1]
              : rank == 2 ? l->schedule.block[0]
                          : l->schedule.block[0] / 32;
  int beside = rank == 3 ? 1 : warps < 4 ? warps : 4, lines = rank == 3 ? (int)l->cells[1] : 1;
  double lane = (width - 40 - 8 * (beside - 1)) / (lanes_of(l, rank) * beside), top = p->y + 34,
         high = rank == 3 ? fmin(14, (HEIGHT - 20.0) / lines) : 84;
  draw_heading(p, x, p->y + 4,
               rank == 3 ? "The tile from above, dimensions 1 and 2" : "The tile from above: warps and their lanes",
               arena_printf(p->a, "blue: lanes whose points are stored; grey: halo; a lane has %d point%s%s", V,
                            V > 1 ? "s" : "", rank < 3 && beside < warps ? "; not all warps are shown" : ""));
  for (int i = 0; i < lines; i++) {
    bool halo = rank == 3 && (i < l->halo.lo[1] || i >= lines - l->halo.hi[1]);
    int E = rank == 3 ? l->schedule.elems[1] : 1;
    for (int k = 0; k < beside; k++)
      draw_lanes(p, x + 34 + k * (lanes_of(l, rank) * lane + 8), top + i * high, lanes_of(l, rank), lane,
                 high - (rank == 3 && i % E == E - 1 ? 2 : 0), below, above, halo ? idle : svg_blue(p->a, 0.75));
  }
  if (rank == 2)
    svg_text(p->to, x + 28, top + 12, 10.5, SVG_END, grey, "streams");
  if (rank == 2)
    svg_line(p->to, x + 22, top + 18, x + 22, top + 78, grey, 1.2, false);
  if (rank == 2)
    fprintf(p->to, "<path d=\"M%.1f %.1fl4 -8h-8z\" fill=\"%s\"/>\n", x + 22, top + 84, grey);
  svg_text(p->to, x + 34 + (lanes_of(l, rank) * lane * beside) / 2, top + lines * high + 16, 10.5, SVG_MIDDLE, ink,
           lane_tile_text(p, l, warps));
  return 34 + lines * high + 26;
}

/* ---------------------------------------------------------------- streaming */

/* Draws the rows of a streamed tile that are in flight: for each instance the row that it computes now, the kept rows
 * of its values, and the rows that are being loaded. Returns the height. */
static double draw_pipeline(Page *p, const LaunchWork *l, double x, double width) {
  int rows = l->ninstances < MOST_ROWS ? l->ninstances : MOST_ROWS, oldest = l->loaded_rows,
      ahead = l->schedule.ahead > 1 ? l->schedule.ahead - 1 : 1;
  for (int i = 0; i < l->ninstances; i++)
    oldest = l->instances[i].lag + l->instances[i].rows > oldest ? l->instances[i].lag + l->instances[i].rows : oldest;
  double high = fmin(24, HEIGHT / (rows + 1.0)), cell = fmin(high, (width - LABEL - 10) / (oldest + 1.0 + ahead)),
         top = p->y + 34, now = x + LABEL + oldest * cell;
  draw_heading(p, x, p->y + 4, arena_printf(p->a, "%s in flight", p->e->stencils->grid.rank > 2 ? "Planes" : "Rows"),
               "dark: made now; light: kept; orange: loaded, and on its way; streaming goes right");
  for (int r = -1; r < rows; r++) {
    const InstanceWork *w = r < 0 ? NULL : &l->instances[shown_instance(l, rows, r)];
    int lag = w ? w->lag : 0, kept = w ? w->rows : l->loaded_rows;
    double y = top + (rows - 1 - r) * high + 1, size = high - 2;
    svg_line(p->to, x + LABEL, y + size / 2, now + (ahead + 1) * cell, y + size / 2, idle, 1, false);
    for (int k = 1; k <= kept; k++)
      svg_rect(p->to, now - (lag + k) * cell + 1, y, cell - 2, size, w ? svg_blue(p->a, 0.1) : loaded,
               w ? "#6f9bc8" : orange);
    svg_rect(p->to, now - lag * cell + 1, y, cell - 2, size, w ? svg_blue(p->a, 1) : orange, NULL);
    for (int k = 1; k <= ahead && !w; k++)
      svg_rect(p->to, now + k * cell + 1, y, cell - 2, size, "#ffffff", orange);
    svg_text(p->to, x + LABEL - 6, y + size / 2 + 4, 10.5, SVG_END, ink,
             w ? arena_printf(p->a, "%.9s %d", w->name, w->level + 1) : "loaded");
  }
  double bottom = top + (rows + 1) * high;
  svg_line(p->to, now + cell / 2, bottom + 1, now + cell / 2, bottom + 6, ink, 1, false);
  svg_text(p->to, now + cell / 2, bottom + 18, 10.5, SVG_MIDDLE, ink, "now");
  if (oldest > 2)
    svg_text(p->to, x + LABEL, bottom + 18, 10.5, SVG_START, grey, arena_printf(p->a, "%d back", oldest));
  return bottom + 26 - p->y;
}

/* ---------------------------------------------------------------- times */

/* Draws the time of each kernel if only one resource bounded it. */
static void draw_times(Page *p) {
  const Explanation *e = p->e;
  draw_heading(p, MARGIN, p->y + 4, "What takes the time",
               "expected time of a launch, and what it would be if one thing alone bound it");
  p->y += 34;
  double longest = 0;
  for (int i = 0; i < e->nkernels; i++)
    longest = e->list[i].time.seconds > longest ? e->list[i].time.seconds : longest;
  for (int i = 0; i < e->nkernels; i++) {
    const LaunchTime *t = &e->list[i].time;
    double x = MARGIN + 260, scale = (PAGE - MARGIN - x - 90) / (longest > 0 ? longest : 1);
    svg_rect(p->to, x, p->y, t->seconds * scale, 14, svg_blue(p->a, 1), NULL);
    svg_text(p->to, x - 8, p->y + 11, 10.5, SVG_END, ink, e->list[i].kernel->name);
    svg_text(p->to, x + t->seconds * scale + 6, p->y + 11, 10.5, SVG_START, ink,
             arena_printf(p->a, "%.4g us", t->seconds * 1e6));
    p->y += 18;
    for (int b = 0; b < BOUNDS; b++) {
      if (t->alone[b] < 0.02 * t->seconds)
        continue;
      svg_rect(p->to, x, p->y, t->alone[b] * scale, 9, (Bound)b == t->bound ? "#d55e00" : "#9db8d2", NULL);
      svg_text(p->to, x - 8, p->y + 8.5, 9.5, SVG_END, grey, bound_name((Bound)b));
      p->y += 13;
    }
    p->y += 10;
  }
}

/* ---------------------------------------------------------------- scaling */

/* Draws one line of efficiencies over devices, from x on, with `step` from one row to the next; omits efficiencies of
 * 0. */
static void draw_efficiency(Page *p, bool weak, double x, double step, double high, const char *colour) {
  const ScalingRow *r = p->e->parts->scaling;
  for (int i = 0; i < SCALING_ROWS; i++) {
    double at = weak ? r[i].weak_efficiency : r[i].strong_efficiency, y = p->y + high * (1 - fmin(at, 1));
    double before = i == 0 ? 0 : weak ? r[i - 1].weak_efficiency : r[i - 1].strong_efficiency;
    if (at > 0 && before > 0)
      svg_line(p->to, x + (i - 1) * step, p->y + high * (1 - fmin(before, 1)), x + i * step, y, colour, 1.6, false);
    if (at > 0)
      svg_circle(p->to, x + i * step, y, 3.2, colour);
  }
}

/* Draws the scaling of a grid in parts. */
static void draw_scaling(Page *p) {
  const ExplainedParts *x = p->e->parts;
  double left = MARGIN + 60, high = 180, step = (PAGE - MARGIN - 30 - left) / (SCALING_ROWS - 1);
  draw_heading(p, MARGIN, p->y + 4, arena_printf(p->a, "Devices that share the grid, %s", x->net->text),
               "per cent of one device's speed; blue: parts of the same size, orange: the same grid");
  p->y += 40;
  for (int i = 0; i <= 4; i++) {
    svg_line(p->to, left, p->y + high * i / 4, PAGE - MARGIN, p->y + high * i / 4, idle, 1, false);
    svg_text(p->to, left - 8, p->y + high * i / 4 + 4, 10.5, SVG_END, grey, arena_printf(p->a, "%d %%", 100 - 25 * i));
  }
  for (int i = 0; i < SCALING_ROWS; i++)
    svg_text(p->to, left + i * step, p->y + high + 18, 10.5, SVG_MIDDLE, ink,
             arena_printf(p->a, "%" PRId64, x->scaling[i].devices));
  draw_efficiency(p, false, left, step, high, orange);
  draw_efficiency(p, true, left, step, high, svg_blue(p->a, 1));
  p->y += high + 36;
}

/* ---------------------------------------------------------------- the page */

/* Draws the panels of a launch, two beside each other. */
static void draw_launch(Page *p, const LaunchWork *l, int number) {
  const Explanation *e = p->e;
  int rank = e->stencils->grid.rank;
  double right = MARGIN + PANEL + GAP, first, second = 0;
  if (e->nlaunches > 1) {
    svg_text(p->to, MARGIN, p->y + 4, 14, SVG_START, ink,
             arena_printf(p->a, "Launch %d of %d", number + 1, e->nlaunches));
    p->y += 26;
  }
  if (l->streamed && rank > 1) {
    first = draw_pipeline(p, l, MARGIN, PANEL);
    second = draw_section(p, l, right, PANEL);
    p->y += fmax(first, second) + 16;
    p->y += draw_lane_tile(p, l, MARGIN, PAGE - 2 * MARGIN) + 16;
    return;
  }
  first = draw_section(p, l, MARGIN, rank > 1 ? PANEL : PAGE - 2 * MARGIN);
  if (rank > 1)
    second = draw_nested(p, l, right, PANEL);
  p->y += fmax(first, second) + 16;
  if (l->streamed)
    p->y += draw_lane_tile(p, l, MARGIN, PAGE - 2 * MARGIN) + 16;
}

/* Draws the whole page, from the top. */
static void draw_page(Page *p) {
  const Explanation *e = p->e;
  p->y = MARGIN + 6;
  svg_text(p->to, MARGIN, p->y, 19, SVG_START, ink, e->program->name);
  svg_text(p->to, MARGIN, p->y + 21, fmin(13, 13 * (PAGE - 2 * MARGIN) / svg_text_width(e->schedule_text, 13)),
           SVG_START, ink, e->schedule_text);
  svg_text(p->to, MARGIN, p->y + 39, 12, SVG_START, grey,
           arena_printf(p->a, "%s; %.4g GPts/s expected; %.3f points computed for each stored, %.3f needed",
                        e->card ? e->card->product : e->info.cpu, e->gpts,
                        e->nlaunches ? e->launches[0].redundancy.cells : 1,
                        e->nlaunches ? e->launches[0].redundancy.needed : 1));
  p->y += 74;
  for (int i = 0; i < e->nlaunches; i++)
    draw_launch(p, &e->launches[i], i);
  draw_times(p);
  if (e->parts)
    draw_scaling(p);
  p->y += MARGIN / 2;
}

StcStatus explain_draw(StcContext *c, const Explanation *e, const char *path) {
  OutFile f;
  FILE *nowhere = fopen("/dev/null", "w");
  if (!nowhere)
    return context_error(c, "cannot open /dev/null"), STC_IO;
  Page p = {.to = nowhere, .a = e->arena, .e = e};
  draw_page(&p);
  fclose(nowhere);
  if (!file_create(c, path, &f))
    return STC_IO;
  svg_begin(f.to, PAGE, p.y);
  p.to = f.to;
  draw_page(&p);
  svg_end(f.to);
  return file_commit(c, &f) ? STC_OK : STC_IO;
}
