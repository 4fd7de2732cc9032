/* driver/tune/tune-report.c: the schedules that `stc tune` has tried, as a table (CSV) and as a plot (SVG) of speed
 * over the steps of a tile. */
#include "driver/explain/svg.h"
#include "driver/files/files.h"
#include "driver/tune/tune.h"

#include <math.h>
#include <string.h>

const char *candidate_state_name(CandidateState s) {
  static const char *const names[] = {"not tried", "refused", "skipped", "wrong", "failed", "slow", "timed"};
  return names[s];
}

/* ---------------------------------------------------------------- the log */

/* Writes a quoted cell. */
static void write_quoted(FILE *to, const char *s) {
  fputc('"', to);
  for (; s && *s; s++) {
    if (*s == '"')
      fputc('"', to);
    fputc(*s == '\n' ? ' ' : *s, to);
  }
  fputc('"', to);
}

StcStatus tune_write_log(StcContext *c, const SearchSpace *s, const char *path) {
  OutFile f;
  if (!file_create(c, path, &f))
    return STC_IO;
  fputs("state,family,T,gpts,registers,local,shared,expected,bound,lower_s,code_s,assemble_s,load_s,verify_s,time_s,"
        "options,"
        "schedule,why\n",
        f.to);
  for (int i = 0; i < s->n; i++) {
    const Candidate *k = &s->all[i];
    if (k->state == CANDIDATE_WAITING)
      continue;
    fprintf(f.to, "%s,%s,%d,%.6g,%d,%d,%lld,", candidate_state_name(k->state), family_name(k->family), k->T, k->gpts,
            k->kernel.registers, k->kernel.local, (long long)k->kernel.shared);
    fprintf(f.to, "%.6g,%s,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,", k->expected.gpts,
            k->expected.bound ? k->expected.bound : "", k->cost.lower, k->cost.code, k->cost.assemble, k->cost.load,
            k->cost.verify, k->cost.time);
    write_quoted(f.to, k->options);
    fputc(',', f.to);
    write_quoted(f.to, k->schedule);
    fputc(',', f.to);
    write_quoted(f.to, k->why);
    fputc('\n', f.to);
  }
  return file_commit(c, &f) ? STC_OK : STC_IO;
}

/* ---------------------------------------------------------------- the plot */

enum { WIDTH = 760, HEIGHT = 460, LEFT = 70, RIGHT = 220, TOP = 40, BOTTOM = 50, MOST_LINES = 10, MOST_T = 129 };
static const char *const colours[MOST_LINES] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9",
                                                "#e69f00", "#333333", "#8c564b", "#7f7f7f", "#9467bd"};
static const char ink[] = "#222222", grey[] = "#777777";

/* A line of the plot: the best speed for each T of a family with one choice of elements. */
typedef struct Line {
  const char *label;
  FamilyId family;
  double at[MOST_T], best;
} Line;

/* The line called `label` of that family; makes it if there is none. */
static Line *find_line(Arena *a, Line **lines, int *n, FamilyId family, const char *label) {
  for (int i = 0; i < *n; i++)
    if (strcmp((*lines)[i].label, label) == 0)
      return &(*lines)[i];
  Line line = {.label = label, .family = family};
  ARENA_PUSH(a, *lines, *n, line);
  return &(*lines)[*n - 1];
}

/* Makes the lines; *most is set to the largest T. */
static Line *make_lines(Arena *a, const SearchSpace *s, int *n, int *most) {
  Line *lines = NULL;
  *n = 0;
  *most = 1;
  for (int i = 0; i < s->n; i++) {
    const Candidate *k = &s->all[i];
    if (!(k->gpts > 0) || k->T < 1 || k->T >= MOST_T)
      continue;
    const char *elems = schedule_option(a, k->schedule, "-elems="), *name = family_name(k->family);
    Line *line = find_line(a, &lines, n, k->family, *elems ? arena_printf(a, "%s, elements %s", name, elems) : name);
    if (k->gpts > line->at[k->T])
      line->at[k->T] = k->gpts;
    if (k->gpts > line->best)
      line->best = k->gpts;
    if (k->T > *most)
      *most = k->T;
  }
  return lines;
}

/* Sorts the lines, best first. */
static void sort_lines(Line *lines, int n) {
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && lines[k].best > lines[k - 1].best; k--) {
      Line t = lines[k];
      lines[k] = lines[k - 1];
      lines[k - 1] = t;
    }
}

/* The distance of ticks: 1, 2 or 5 times a power of ten, so that [0, most] has up to eight intervals. */
static double tick_step(double most) {
  double step = most > 0 ? pow(10, floor(log10(most / 8))) : 1;
  return most / step <= 8 ? step : most / step <= 16 ? 2 * step : most / step <= 40 ? 5 * step : 10 * step;
}

/* The plot's scales. */
typedef struct Scale {
  int most_t;
  double top;
} Scale;
static double place_x(const Scale *s, double T) {
  return LEFT + (WIDTH - LEFT - RIGHT) * (s->most_t > 1 ? (T - 1) / (s->most_t - 1) : 0.5);
}
static double place_y(const Scale *s, double gpts) { return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * gpts / s->top; }

/* Writes axes with ticks, numbers and labels. */
static void write_axes(FILE *to, Arena *a, const Scale *s, const char *title) {
  double step = tick_step(s->top), wide = svg_text_width(title, 14), room = WIDTH - LEFT - 10;
  int every = s->most_t > 40 ? 8 : s->most_t > 20 ? 4 : s->most_t > 10 ? 2 : 1;
  svg_text(to, LEFT, 22, wide > room ? 14 * room / wide : 14, SVG_START, ink, title);
  for (double v = 0; v <= s->top * 1.0001; v += step) {
    svg_line(to, LEFT, place_y(s, v), WIDTH - RIGHT, place_y(s, v), "#dddddd", 1, false);
    svg_text(to, LEFT - 8, place_y(s, v) + 4, 12, SVG_END, ink, arena_printf(a, "%g", v));
  }
  for (int t = 1; t <= s->most_t; t++) {
    if (t != 1 && t % every)
      continue;
    svg_line(to, place_x(s, t), HEIGHT - BOTTOM, place_x(s, t), HEIGHT - BOTTOM + 5, ink, 1, false);
    svg_text(to, place_x(s, t), HEIGHT - BOTTOM + 20, 12, SVG_MIDDLE, ink, arena_printf(a, "%d", t));
  }
  svg_line(to, LEFT, TOP, LEFT, HEIGHT - BOTTOM, ink, 1, false);
  svg_line(to, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, ink, 1, false);
  svg_text(to, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, 12, SVG_MIDDLE, ink, "time steps a tile (T)");
  svg_text(to, LEFT - 8, TOP - 8, 12, SVG_END, ink, "GPts/s");
}

/* Writes line number `i` of the legend, in the colour and style of its line. */
static void write_legend(FILE *to, const char *label, const char *colour, bool dash, int i) {
  int y = TOP + 10 + 20 * i;
  svg_line(to, WIDTH - RIGHT + 15, y, WIDTH - RIGHT + 40, y, colour, 2, dash);
  svg_text(to, WIDTH - RIGHT + 46, y + 4, 12, SVG_START, ink, label);
}

/* Writes line number `i` with its points; lines of tiles that are not streamed are broken. */
static void write_line(FILE *to, const Scale *s, const Line *line, int i) {
  bool dash = !family_row(line->family)->streamed;
  int last = 0;
  for (int t = 1; t < MOST_T; t++) {
    if (!(line->at[t] > 0))
      continue;
    if (last)
      svg_line(to, place_x(s, last), place_y(s, line->at[last]), place_x(s, t), place_y(s, line->at[t]), colours[i], 2,
               dash);
    svg_circle(to, place_x(s, t), place_y(s, line->at[t]), 3, colours[i]);
    last = t;
  }
  write_legend(to, line->label, colours[i], dash, i);
}

/* Writes a ring around the fastest point of the fastest line, with its speed. */
static void write_best(FILE *to, Arena *a, const Scale *s, const Line *best) {
  for (int t = 1; t < MOST_T; t++) {
    if (best->at[t] < best->best)
      continue;
    bool right = place_x(s, t) > (LEFT + WIDTH - RIGHT) / 2.0;
    svg_text(to, place_x(s, t) + (right ? -6 : 6), place_y(s, best->best) - 8, 12, right ? SVG_END : SVG_START, ink,
             arena_printf(a, "best: %.4g", best->best));
    svg_circle(to, place_x(s, t), place_y(s, best->best), 5, colours[0]);
    return;
  }
}

/* Writes the speed of the naive schedule, which has no T, as a horizontal line. */
static void write_naive(FILE *to, Arena *a, const Scale *s, double speed, int row) {
  svg_line(to, LEFT, place_y(s, speed), WIDTH - RIGHT, place_y(s, speed), grey, 1.5, true);
  write_legend(to, arena_printf(a, "naive: %.4g", speed), grey, true, row);
}

/* Removes the line of the naive schedule; returns its speed, or 0 if there is none. */
static double take_naive(Line *lines, int *n) {
  double speed = 0;
  int kept = 0;
  for (int i = 0; i < *n; i++)
    if (!family_row(lines[i].family)->tiled)
      speed = lines[i].best > speed ? lines[i].best : speed;
    else
      lines[kept++] = lines[i];
  *n = kept;
  return speed;
}

StcStatus tune_write_plot(StcContext *c, Arena *a, const SearchSpace *s, const char *title, const char *path) {
  OutFile f;
  int n;
  Scale scale = {1, 0};
  Line *lines = make_lines(a, s, &n, &scale.most_t);
  double naive = take_naive(lines, &n);
  sort_lines(lines, n);
  if (n > MOST_LINES)
    n = MOST_LINES;
  double most = n && lines[0].best > naive ? lines[0].best : naive > 0 ? naive : 1;
  scale.top = ceil(1.04 * most / tick_step(most)) * tick_step(most);
  if (!file_create(c, path, &f))
    return STC_IO;
  svg_begin(f.to, WIDTH, HEIGHT);
  write_axes(f.to, a, &scale, title);
  if (naive > 0)
    write_naive(f.to, a, &scale, naive, n);
  for (int i = n - 1; i >= 0; i--)
    write_line(f.to, &scale, &lines[i], i);
  if (n)
    write_best(f.to, a, &scale, &lines[0]);
  svg_end(f.to);
  return file_commit(c, &f) ? STC_OK : STC_IO;
}
