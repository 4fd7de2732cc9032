/* driver/explain/svg.h: drawings (SVG), for `stc explain` and `stc tune`. Lengths are pixels of a page whose y grows
 * downwards. */
#ifndef STC_DRIVER_SVG_H
#define STC_DRIVER_SVG_H

#include "ir/ir.h"

/* The position of a text relative to its anchor. */
typedef enum SvgAnchor { SVG_START, SVG_MIDDLE, SVG_END } SvgAnchor;

/* Writes the page: the head, with a white background, and the end. */
void svg_begin(FILE *to, double width, double height);
void svg_end(FILE *to);
/* Writes a rectangle; fill or stroke may be NULL for none. */
void svg_rect(FILE *to, double x, double y, double width, double height, const char *fill, const char *stroke);
/* Writes a line; dash: a broken one. */
void svg_line(FILE *to, double x, double y, double to_x, double to_y, const char *stroke, double width, bool dash);
void svg_circle(FILE *to, double x, double y, double radius, const char *fill);
/* Writes text of that size; it is escaped for XML. */
void svg_text(FILE *to, double x, double y, double size, SvgAnchor anchor, const char *colour, const char *text);
/* The colour at `part`, 0 to 1, between light and dark blue. */
const char *svg_blue(Arena *a, double part);
/* The approximate width of `text` in pixels. */
double svg_text_width(const char *text, double size);

#endif
