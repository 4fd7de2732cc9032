/* driver/lsp/lsp.h: `stc lsp`, a language server for editors, over standard input and output, in the Language Server
 * Protocol 3.17.
 *
 *   lsp.c           the loop: requests in messages, and answers
 *   lsp-wire.c      messages as bytes
 *   lsp-document.c  the open programs: their text, the front end's results, positions in it
 *   lsp-answers.c   hover, definition, completion, symbols, formatting
 */
#ifndef STC_LSP_H
#define STC_LSP_H

#include "driver/program/program.h"

#include <jansson.h>

/* ---------------------------------------------------------------- lsp-wire.c */

/* Reads the next message. NULL: at the end of the input (*end), or after an error, which *wrong describes. */
json_t *wire_read(FILE *from, bool *end, const char **wrong);
/* Writes a message and frees it; false if this fails. */
bool wire_write(FILE *to, json_t *message);

/* ---------------------------------------------------------------- lsp-document.c */

/* An open program. The outline and the messages belong to `text`; both are in `w`. */
typedef struct Document {
  char *uri, *path, *text; /* malloc; path: of its file, or its URI if it has none */
  int64_t version;
  Workspace w;
  Outline *outline; /* NULL: there was no memory */
  json_t *messages; /* in the protocol's form */
  struct Document *next;
} Document;

/* The state of the server. */
typedef struct Server {
  StcContext *context;
  FrontendOptions options;
  Document *documents;
  Document *current; /* the document whose messages come now, or NULL */
  bool started, stopped;
} Server;

/* The message callback of the server's context for the front end. */
void document_message(void *user, const StcMessage *m);
/* The document, or NULL. */
Document *document_find(Server *s, const char *uri);
/* Opens or changes the document: copies the text, and runs the front end on it. NULL: no memory. */
Document *document_set(Server *s, const char *uri, const char *text, int64_t version);
void document_close(Server *s, Document *d);
/* Converts the compiler's line and column, from 1 and in bytes, to a position of the protocol, from 0 and in UTF-16
 * units. */
json_t *document_position(const Document *d, int line, int col);
/* Converts a position back. False if `position` is not one. */
bool document_place(const Document *d, json_t *position, int *line, int *col);
/* The range of `bytes` bytes of a line from a position on. */
json_t *document_range(const Document *d, int line, int col, int bytes);

/* ---------------------------------------------------------------- lsp-answers.c */

/* Answers to requests with these parameters; JSON null if there is nothing to answer. */
json_t *answer_hover(Server *s, json_t *params);
json_t *answer_definition(Server *s, json_t *params);
json_t *answer_completion(Server *s, json_t *params);
json_t *answer_symbols(Server *s, json_t *params);
json_t *answer_formatting(Server *s, json_t *params);

#endif
