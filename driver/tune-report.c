/* driver/tune-report.c: what `stc tune` tried, as a table (CSV) and as a plot (SVG) of speed over time steps a tile. */
#include "driver/tune.h"

#include <math.h>
#include <string.h>

const char *candidate_state_name(CandidateState s) {
  static const char *const names[] = {"not tried", "refused", "wrong", "failed", "slow", "timed"};
  return names[s];
}

/* ---------------------------------------------------------------- the log */

/* A cell with quotes around it. */
static void write_quoted(FILE *to, const char *s) {
  fputc('"', to);
  for (; s && *s; s++) {
    if (*s == '"') fputc('"', to);
    fputc(*s == '\n' ? ' ' : *s, to);
  }
  fputc('"', to);
}

StcStatus tune_write_log(StcContext *c, const SearchSpace *s, const char *path) {
  OutFile f;
  if (!file_create(c, path, &f)) return STC_IO;
  fputs("state,family,T,gpts,registers,local,shared,options,schedule,why\n", f.to);
  for (int i = 0; i < s->n; i++) {
    const Candidate *k = &s->all[i];
    if (k->state == CANDIDATE_WAITING) continue;
    fprintf(f.to, "%s,%s,%d,%.6g,%d,%d,%lld,", candidate_state_name(k->state), k->family, k->T, k->gpts, k->kernel.registers, k->kernel.local, (long long)k->kernel.shared);
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
static const char *const colours[MOST_LINES] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c564b", "#7f7f7f", "#9467bd"};

/* A line of the plot: the best speed at each T of a family with one choice of elements. */
typedef struct Line { const char *label; double at[MOST_T], best; } Line;

/* The value of option `name` in the options `text`, "" if it is not there. */
static const char *option_value(Arena *a, const char *text, const char *name) {
  const char *found = strstr(text, name);
  if (!found) return "";
  found += strlen(name);
  return arena_strndup(a, found, strcspn(found, " "));
}

/* The line called `label`, made if there is none. */
static Line *find_line(Arena *a, Line **lines, int *n, const char *label) {
  for (int i = 0; i < *n; i++)
    if (strcmp((*lines)[i].label, label) == 0) return &(*lines)[i];
  Line line = {.label = label};
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
    if (!(k->gpts > 0) || k->T < 1 || k->T >= MOST_T) continue;
    const char *elems = option_value(a, k->schedule, "-elems=");
    Line *line = find_line(a, &lines, n, *elems ? arena_printf(a, "%s, elements %s", k->family, elems) : k->family);
    if (k->gpts > line->at[k->T]) line->at[k->T] = k->gpts;
    if (k->gpts > line->best) line->best = k->gpts;
    if (k->T > *most) *most = k->T;
  }
  return lines;
}

/* Puts the best lines first. */
static void sort_lines(Line *lines, int n) {
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && lines[k].best > lines[k - 1].best; k--) {
      Line t = lines[k];
      lines[k] = lines[k - 1];
      lines[k - 1] = t;
    }
}

/* A step of 1, 2 or 5 times a power of ten that cuts [0, most] into up to eight parts. */
static double tick_step(double most) {
  double step = most > 0 ? pow(10, floor(log10(most / 8))) : 1;
  return most / step <= 8 ? step : most / step <= 16 ? 2 * step : most / step <= 40 ? 5 * step : 10 * step;
}

/* The plot's scales. */
typedef struct Scale { int most_t; double top; } Scale;
static double place_x(const Scale *s, double T) { return LEFT + (WIDTH - LEFT - RIGHT) * (s->most_t > 1 ? (T - 1) / (s->most_t - 1) : 0.5); }
static double place_y(const Scale *s, double gpts) { return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * gpts / s->top; }

/* Text with the characters that mean something in XML replaced. */
static const char *xml(Arena *a, const char *text) {
  Str s = {.arena = a};
  str_add(&s, "");
  for (; *text; text++) str_addf(&s, *text == '<' ? "&lt;" : *text == '&' ? "&amp;" : *text == '>' ? "&gt;" : "%c", *text);
  return s.s;
}

/* Axes with ticks, numbers and words. */
static void write_axes(FILE *to, const Scale *s, const char *title) {
  double step = tick_step(s->top);
  int every = s->most_t > 40 ? 8 : s->most_t > 20 ? 4 : s->most_t > 10 ? 2 : 1;
  fprintf(to, "<text x=\"%d\" y=\"22\" font-size=\"14\">%s</text>\n", LEFT, title);
  for (double v = 0; v <= s->top * 1.0001; v += step)
    fprintf(to, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT, WIDTH - RIGHT,
            place_y(s, v), place_y(s, v), LEFT - 8, place_y(s, v) + 4, v);
  for (int t = 1; t <= s->most_t; t++)
    if (t == 1 || t % every == 0)
      fprintf(to, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#000000\"/>\n<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", place_x(s, t), place_x(s, t),
              HEIGHT - BOTTOM, HEIGHT - BOTTOM + 5, place_x(s, t), HEIGHT - BOTTOM + 20, t);
  fprintf(to, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#000000\"/>\n", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
  fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">time steps a tile (T)</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
  fprintf(to, "<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">GPts/s</text>\n", (TOP + HEIGHT - BOTTOM) / 2);
}

/* Line number `i` with its points, and its name in the legend. */
static void write_line(FILE *to, Arena *a, const Scale *s, const Line *line, int i) {
  bool first = true;
  int y = TOP + 10 + 20 * i;
  fprintf(to, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colours[i]);
  for (int t = 1; t < MOST_T; t++)
    if (line->at[t] > 0) {
      fprintf(to, "%c%.1f %.1f", first ? 'M' : 'L', place_x(s, t), place_y(s, line->at[t]));
      first = false;
    }
  fputs("\"/>\n", to);
  for (int t = 1; t < MOST_T; t++)
    if (line->at[t] > 0) fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", place_x(s, t), place_y(s, line->at[t]), colours[i]);
  fprintf(to, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\"/>\n<text x=\"%d\" y=\"%d\">%s</text>\n", WIDTH - RIGHT + 15, WIDTH - RIGHT + 40, y, y, colours[i],
          WIDTH - RIGHT + 46, y + 4, xml(a, line->label));
}

StcStatus tune_write_plot(StcContext *c, Arena *a, const SearchSpace *s, const char *title, const char *path) {
  OutFile f;
  int n;
  Scale scale = {1, 0};
  Line *lines = make_lines(a, s, &n, &scale.most_t);
  sort_lines(lines, n);
  if (n > MOST_LINES) n = MOST_LINES;
  double most = n ? lines[0].best : 1;
  scale.top = ceil(most / tick_step(most)) * tick_step(most);
  if (!file_create(c, path, &f)) return STC_IO;
  fprintf(f.to, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", WIDTH, HEIGHT, WIDTH,
          HEIGHT);
  write_axes(f.to, &scale, xml(a, title));
  for (int i = 0; i < n; i++) write_line(f.to, a, &scale, &lines[i], i);
  fputs("</svg>\n", f.to);
  return file_commit(c, &f) ? STC_OK : STC_IO;
}
