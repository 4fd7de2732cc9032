/* driver/lsp/lsp.c: `stc lsp`: the requests in an editor's messages, and the answers. */
#include "driver/cli/options/command.h"
#include "driver/lsp/lsp.h"

#include <string.h>

/* Numbers of errors in the protocol. */
enum { NO_JSON = -32700, NO_REQUEST = -32600, NO_METHOD = -32601, NOT_STARTED = -32002 };

/* ---------------------------------------------------------------- messages to the editor */

/* Sends the front end's messages on a document. */
static bool publish(const char *uri, int64_t version, json_t *messages) {
  return wire_write(stdout, json_pack("{s:s, s:s, s:{s:s, s:I, s:O}}", "jsonrpc", "2.0", "method",
                                      "textDocument/publishDiagnostics", "params", "uri", uri, "version",
                                      (json_int_t)version, "diagnostics", messages));
}

/* Sends `result`, which it frees, as the answer to request `id`; NULL: null. */
static bool reply(json_t *id, json_t *result) {
  return wire_write(stdout,
                    json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result ? result : json_null()));
}

/* Sends an error in place of an answer; `id` may be NULL. */
static bool refuse(json_t *id, int code, const char *text) {
  return wire_write(stdout, json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id ? id : json_null(),
                                      "error", "code", code, "message", text));
}

/* ---------------------------------------------------------------- requests */

/* initialize: the abilities of the server. The editor may set the meaning of `real`. */
static json_t *answer_initialize(Server *s, json_t *params) {
  const char *real = json_string_value(json_object_get(json_object_get(params, "initializationOptions"), "real"));
  s->options.real = real && strcmp(real, "f64") == 0 ? TY_F64 : TY_F32;
  s->started = true;
  return json_pack("{s:{s:{s:b, s:i}, s:b, s:b, s:{s:[s]}, s:b, s:b}, s:{s:s, s:s}}", "capabilities",
                   "textDocumentSync", "openClose", 1, "change", 1, "hoverProvider", 1, "definitionProvider", 1,
                   "completionProvider", "triggerCharacters", ".", "documentSymbolProvider", 1,
                   "documentFormattingProvider", 1, "serverInfo", "name", "stc", "version", STC_VERSION);
}

/* shutdown. */
static json_t *answer_shutdown(Server *s, json_t *params) {
  (void)params;
  s->stopped = true;
  return json_null();
}

/* The requests. */
static const struct {
  const char *method;
  json_t *(*answer)(Server *s, json_t *params);
} requests[] = {{"initialize", answer_initialize},
                {"shutdown", answer_shutdown},
                {"textDocument/hover", answer_hover},
                {"textDocument/definition", answer_definition},
                {"textDocument/completion", answer_completion},
                {"textDocument/documentSymbol", answer_symbols},
                {"textDocument/formatting", answer_formatting}};

/* Answers request `id`. */
static bool request(Server *s, json_t *id, const char *method, json_t *params) {
  if (!s->started && strcmp(method, "initialize") != 0)
    return refuse(id, NOT_STARTED, "the first request is initialize");
  if (s->stopped)
    return refuse(id, NO_REQUEST, "there was a shutdown");
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
    if (strcmp(method, requests[i].method) == 0)
      return reply(id, requests[i].answer(s, params));
  return refuse(id, NO_METHOD, "stc lsp does not know this request");
}

/* Handles a notification: a document was opened, changed (the whole text is sent) or closed; false if the editor is
 * gone. */
static bool notify(Server *s, const char *method, json_t *params) {
  json_t *document = json_object_get(params, "textDocument"), *changes = json_object_get(params, "contentChanges");
  const char *uri = json_string_value(json_object_get(document, "uri")), *text = NULL;
  int64_t version = json_integer_value(json_object_get(document, "version"));
  if (!uri)
    return true;
  if (strcmp(method, "textDocument/didOpen") == 0)
    text = json_string_value(json_object_get(document, "text"));
  if (strcmp(method, "textDocument/didChange") == 0)
    text = json_string_value(json_object_get(json_array_get(changes, json_array_size(changes) - 1), "text"));
  Document *d = text ? document_set(s, uri, text, version) : document_find(s, uri);
  if (text && d)
    return publish(uri, version, d->messages);
  if (d && strcmp(method, "textDocument/didClose") == 0) {
    json_t *none = json_array();
    bool ok = publish(uri, version, none);
    json_decref(none);
    return document_close(s, d), ok;
  }
  return true;
}

/* Handles one message; false if it is the last one. */
static bool carry_out(Server *s, json_t *message) {
  const char *method = json_string_value(json_object_get(message, "method"));
  json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
  if (!method)
    return id && !json_object_get(message, "result") && !json_object_get(message, "error")
               ? refuse(id, NO_REQUEST, "a message has a method")
               : true;
  if (strcmp(method, "exit") == 0)
    return false;
  return id ? request(s, id, method, params) : notify(s, method, params);
}

/* Reads and handles messages until the end. */
static void serve(Server *s) {
  bool going = true;
  while (going) {
    bool end;
    const char *wrong;
    json_t *message = wire_read(stdin, &end, &wrong);
    if (message)
      going = carry_out(s, message);
    else
      going = (!wrong || refuse(NULL, NO_JSON, wrong)) && !end;
    json_decref(message);
  }
}

StcStatus command_lsp(void) {
  Server s = {0};
  StcConfig config = {.message = document_message, .user = &s};
  s.context = stc_context_new(&config);
  if (!s.context)
    return STC_MEMORY;
  serve(&s);
  while (s.documents)
    document_close(&s, s.documents);
  stc_context_free(s.context);
  return s.stopped ? STC_OK : STC_IO;
}
