/* driver/data/xml.c: text in XML files. */
#include "driver/data/writer.h"

void xml_text(FILE *to, const char *s) {
  for (; *s; s++) {
    if (*s == '<')
      fputs("&lt;", to);
    else if (*s == '&')
      fputs("&amp;", to);
    else if (*s == '"')
      fputs("&quot;", to);
    else
      fputc(*s, to);
  }
}
