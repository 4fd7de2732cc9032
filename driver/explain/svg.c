/* driver/explain/svg.c: the few shapes that drawings need. */
#include "driver/explain/svg.h"

#include <string.h>

void svg_begin(FILE *to, double width, double height) {
  fprintf(to,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
          "font-family=\"Helvetica, Arial, sans-serif\">\n",
          width, height, width, height);
  svg_rect(to, 0, 0, width, height, "#ffffff", NULL);
}

void svg_end(FILE *to) { fputs("</svg>\n", to); }

void svg_rect(FILE *to, double x, double y, double width, double height, const char *fill, const char *stroke) {
  fprintf(to, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"", x, y, width, height,
          fill ? fill : "none");
  if (stroke)
    fprintf(to, " stroke=\"%s\" stroke-width=\"0.8\"", stroke);
  fputs("/>\n", to);
}

void svg_line(FILE *to, double x, double y, double to_x, double to_y, const char *stroke, double width, bool dash) {
  fprintf(to, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" stroke-width=\"%.1f\"%s/>\n", x, y,
          to_x, to_y, stroke, width, dash ? " stroke-dasharray=\"4 3\"" : "");
}

void svg_circle(FILE *to, double x, double y, double radius, const char *fill) {
  fprintf(to, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.1f\" fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"0.8\"/>\n", x,
          y, radius, fill);
}

void svg_text(FILE *to, double x, double y, double size, SvgAnchor anchor, const char *colour, const char *text) {
  static const char *const names[] = {"start", "middle", "end"};
  fprintf(to, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, size,
          names[anchor], colour);
  for (; *text; text++)
    fprintf(to, *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : "%c", *text);
  fputs("</text>\n", to);
}

const char *svg_blue(Arena *a, double part) {
  static const int light[] = {0xd4, 0xe4, 0xf4}, dark[] = {0x0b, 0x4f, 0x94};
  int c[3];
  for (int i = 0; i < 3; i++)
    c[i] = light[i] + (int)(part * (dark[i] - light[i]));
  return arena_printf(a, "#%02x%02x%02x", c[0], c[1], c[2]);
}

double svg_text_width(const char *text, double size) { return 0.56 * size * (double)strlen(text); }
