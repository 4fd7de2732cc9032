/* driver/context.c: contexts, their messages, and running out of memory. */
#include "driver/driver.h"

#include <llvm/Config/llvm-config.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The C heap as a ReallocFn. */
static void *heap_realloc(void *user, void *p, size_t size) {
  (void)user;
  if (size == 0) {
    free(p);
    return NULL;
  }
  return realloc(p, size);
}

StcContext *stc_context_new(const StcConfig *config) {
  ReallocFn fn = config && config->realloc ? config->realloc : heap_realloc;
  void *user = config ? config->user : NULL;
  StcContext *c = fn(user, NULL, sizeof *c);
  if (c) *c = (StcContext){fn, config ? config->message : NULL, user};
  return c;
}

void stc_context_free(StcContext *c) {
  if (c) c->realloc(c->user, c, 0);
}

const char *stc_version(void) { return "stc " STC_VERSION " (LLVM " LLVM_VERSION_STRING ")"; }

double clock_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Hands the message to the context's callback, or prints it. */
static void context_send(StcContext *c, const Diag *d) {
  if (!c->message) {
    diag_print(stderr, d, isatty(STDERR_FILENO));
    return;
  }
  StcMessage m = {(StcMessageKind)d->kind, d->file, d->line, d->col, d->source, d->message};
  c->message(c->user, &m);
}

void context_error(StcContext *c, const char *fmt, ...) {
  char text[2048];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  Diag d = {DIAG_ERROR, NULL, 0, 0, NULL, text};
  context_send(c, &d);
}

/* The sink of a workspace's diagnostics. */
static void workspace_message(void *user, const Diag *d) {
  Workspace *w = user;
  if (!w->muted || d->kind == DIAG_ERROR) context_send(w->context, d);
}

bool workspace_open(Workspace *w, StcContext *c, bool muted) {
  jmp_buf handler;
  *w = (Workspace){c, arena_new(c->realloc, c->user), NULL, muted};
  if (!w->arena) return false;
  arena_on_oom(w->arena, &handler);
  if (setjmp(handler)) {
    arena_free(w->arena);
    w->arena = NULL;
    return false;
  }
  w->diags = diags_new(w->arena, workspace_message, w);
  arena_on_oom(w->arena, NULL);
  return true;
}

void workspace_close(Workspace *w) {
  if (w->arena) arena_free(w->arena);
  w->arena = NULL;
}

StcStatus workspace_guard(Workspace *w, StcStatus (*fn)(void *arg), void *arg) {
  jmp_buf handler;
  arena_on_oom(w->arena, &handler);
  if (setjmp(handler)) {
    arena_on_oom(w->arena, NULL);
    context_error(w->context, "out of memory on this computer after %zu bytes of the compiler's own", arena_used(w->arena));
    return STC_MEMORY;
  }
  StcStatus s = fn(arg);
  arena_on_oom(w->arena, NULL);
  return s;
}
