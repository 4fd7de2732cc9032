/* driver/lsp/lsp.h: `stc lsp`, a language server: what an editor asks of it, over its standard input and output, in the
 * Language Server Protocol 3.17.
 *
 *   lsp.c           the loop: what each message asks for, and the answer
 *   lsp-wire.c      messages as bytes
 *   lsp-document.c  the open programs: their text, what the front end says of it, places in it
 *   lsp-answers.c   hover, definition, completion, symbols, formatting
 */
#ifndef STC_LSP_H
#define STC_LSP_H

#include "driver/program/program.h"

#include <jansson.h>

/* ---------------------------------------------------------------- lsp-wire.c */

/* Reads the next message. NULL: at the end of the input (*end), or after what was no message, of which *wrong tells. */
json_t *wire_read(FILE *from, bool *end, const char **wrong);
/* Writes a message and lets go of it; false if that fails. */
bool wire_write(FILE *to, json_t *message);

/* ---------------------------------------------------------------- lsp-document.c */

/* An open program. The outline and the messages are those of `text`; both live in `w`. */
typedef struct Document {
  char *uri, *path, *text; /* malloc; path: of its file, or what it is called if it is none */
  int64_t version;
  Workspace w;
  Outline *outline; /* NULL: memory ran out */
  json_t *messages; /* of the protocol */
  struct Document *next;
} Document;

/* What the server knows. */
typedef struct Server {
  StcContext *context;
  FrontendOptions options;
  Document *documents;
  Document *current; /* whose messages come now; NULL: nobody's */
  bool started, stopped;
} Server;

/* What the server's context calls for each message of the front end. */
void document_message(void *user, const StcMessage *m);
/* The document, or NULL. */
Document *document_find(Server *s, const char *uri);
/* Opens or changes it: takes the text, and has the front end look at it. NULL: no memory. */
Document *document_set(Server *s, const char *uri, const char *text, int64_t version);
void document_close(Server *s, Document *d);
/* Line and column of the compiler's, from 1 and in bytes, as a position of the protocol, from 0 and in UTF-16. */
json_t *document_position(const Document *d, int line, int col);
/* And back. False if `position` is none. */
bool document_place(const Document *d, json_t *position, int *line, int *col);
/* From a place over `bytes` of its line. */
json_t *document_range(const Document *d, int line, int col, int bytes);

/* ---------------------------------------------------------------- lsp-answers.c */

/* Answers to requests with these parameters; json null where there is nothing to say. */
json_t *answer_hover(Server *s, json_t *params);
json_t *answer_definition(Server *s, json_t *params);
json_t *answer_completion(Server *s, json_t *params);
json_t *answer_symbols(Server *s, json_t *params);
json_t *answer_formatting(Server *s, json_t *params);

#endif
