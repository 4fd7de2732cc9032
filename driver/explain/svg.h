/* driver/explain/svg.h: drawings (SVG), for `stc explain` and `stc tune`. Lengths are pixels of a page whose y grows
 * downwards. */
#ifndef STC_DRIVER_SVG_H
#define STC_DRIVER_SVG_H

#include "ir/ir.h"

/* Where the text of an anchor stands. */
typedef enum SvgAnchor { SVG_START, SVG_MIDDLE, SVG_END } SvgAnchor;

/* The page: head, with a white ground, and end. */
void svg_begin(FILE *to, double width, double height);
void svg_end(FILE *to);
/* A rectangle; fill or stroke may be NULL for none. */
void svg_rect(FILE *to, double x, double y, double width, double height, const char *fill, const char *stroke);
/* A line; dash: it is broken. */
void svg_line(FILE *to, double x, double y, double to_x, double to_y, const char *stroke, double width, bool dash);
void svg_circle(FILE *to, double x, double y, double radius, const char *fill);
/* Text of that size; characters that mean something in XML may be in it. */
void svg_text(FILE *to, double x, double y, double size, SvgAnchor anchor, const char *colour, const char *text);
/* The colour at `part`, 0 to 1, of the way from light to dark blue. */
const char *svg_blue(Arena *a, double part);
/* About how many pixels wide `text` is. */
double svg_text_width(const char *text, double size);

#endif
