/* driver/lsp/lsp-wire.c: messages as bytes: headers, one of which gives the length, an empty line, and JSON. */
#include "driver/lsp/lsp.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longer messages are refused. */
enum { MAX_MESSAGE = 64 << 20 };

/* Reads the headers; returns the length that they give, -1 at the end of the input, -2 if they give none. */
static long read_headers(FILE *from) {
  char line[512];
  long length = -2;
  bool any = false;
  while (fgets(line, sizeof line, from)) {
    any = true;
    line[strcspn(line, "\r\n")] = 0;
    if (!line[0])
      return length;
    if (strncasecmp(line, "Content-Length:", 15) == 0) {
      char *end;
      length = strtol(line + 15, &end, 10);
      length = end == line + 15 || *end || length < 0 || length > MAX_MESSAGE ? -2 : length;
    }
  }
  return any ? -2 : -1;
}

json_t *wire_read(FILE *from, bool *end, const char **wrong) {
  long length = read_headers(from);
  *end = length == -1;
  *wrong = length == -2 ? "a message begins with a line Content-Length: N" : NULL;
  if (length < 0)
    return NULL;
  char *text = malloc((size_t)length + 1);
  if (!text || fread(text, 1, (size_t)length, from) != (size_t)length) {
    *wrong = text ? "the input ends within a message" : "no memory for a message";
    *end = true;
    return free(text), NULL;
  }
  json_t *message = json_loadb(text, (size_t)length, 0, NULL);
  if (!json_is_object(message)) {
    *wrong = "a message is no JSON object";
    json_decref(message);
    message = NULL;
  }
  return free(text), message;
}

bool wire_write(FILE *to, json_t *message) {
  char *text = json_dumps(message, JSON_COMPACT);
  json_decref(message);
  if (!text)
    return false;
  bool ok = fprintf(to, "Content-Length: %zu\r\n\r\n%s", strlen(text), text) >= 0 && fflush(to) == 0;
  return free(text), ok;
}
