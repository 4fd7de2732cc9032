/* driver/program/context.c: contexts, their messages, and running out of memory. */
#include "driver/program/program.h"

#include <llvm/Config/llvm-config.h>
#include <stdlib.h>
#include <unistd.h>

StcContext *stc_context_new(const StcConfig *config) {
  ReallocFn fn = config && config->realloc ? config->realloc : heap_realloc;
  void *user = config ? config->user : NULL;
  StcContext *c = fn(user, NULL, sizeof *c);
  if (c)
    *c = (StcContext){.realloc = fn, .message = config ? config->message : NULL, .user = user};
  return c;
}

StcContext *context_of_command(const StcConfig *config) {
  StcContext *c = stc_context_new(config);
  if (c)
    c->command = true;
  return c;
}

void stc_context_free(StcContext *c) {
  if (c)
    c->realloc(c->user, c, 0);
}

const char *stc_version(void) { return "stc " STC_VERSION " (LLVM " LLVM_VERSION_STRING ")"; }

/* Passes the message to the context's callback, or prints it; withheld errors are stored. */
static void context_send(StcContext *c, const Diag *d) {
  if (c->withheld && d->kind == DIAG_ERROR) {
    if (!*c->withheld)
      snprintf(c->withheld, WITHHELD, "%.*s", WITHHELD - 1, d->message);
    return;
  }
  if (!c->message) {
    diag_print(stderr, d, isatty(STDERR_FILENO));
    return;
  }
  StcMessage m = {(StcMessageKind)d->kind, d->file, d->line, d->col, d->source, d->message};
  c->message(c->user, &m);
}

/* Sends a message without a place, rewritten for callers of the library; unchanged if there is no memory for that. */
static void send_to_caller(StcContext *c, Diag d) {
  Arena *a = arena_new(c->realloc, c->user);
  jmp_buf handler;
  if (a) {
    arena_on_oom(a, &handler);
    if (!setjmp(handler)) {
      Diag told = d;
      told.message = words_for_callers(a, d.message);
      context_send(c, &told);
    } else {
      context_send(c, &d);
    }
    arena_free(a);
    return;
  }
  context_send(c, &d);
}

/* Sends a message without a place. */
static void send_text(StcContext *c, DiagKind kind, const char *fmt, va_list ap) {
  char text[2048];
  vsnprintf(text, sizeof text, fmt, ap);
  Diag d = {kind, NULL, 0, 0, NULL, text};
  if (c->command)
    context_send(c, &d);
  else
    send_to_caller(c, d);
}

void context_error(StcContext *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  send_text(c, DIAG_ERROR, fmt, ap);
  va_end(ap);
}

void context_warning(StcContext *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  send_text(c, DIAG_WARNING, fmt, ap);
  va_end(ap);
}

void context_note(StcContext *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (!c->quiet)
    send_text(c, DIAG_NOTE, fmt, ap);
  va_end(ap);
}

void context_remark(StcContext *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (c->verbose)
    send_text(c, DIAG_REMARK, fmt, ap);
  va_end(ap);
}

/* The sink of a workspace's diagnostics. */
static void workspace_message(void *user, const Diag *d) {
  Workspace *w = user;
  if (!w->silent && (!w->muted || d->kind == DIAG_ERROR))
    context_send(w->context, d);
}

bool workspace_open(Workspace *w, StcContext *c, Workspace *parent) {
  jmp_buf handler;
  *w = (Workspace){.context = c, .arena = arena_new(c->realloc, c->user), .parent = parent};
  if (!w->arena)
    return false;
  arena_on_oom(w->arena, &handler);
  if (setjmp(handler)) {
    arena_free(w->arena);
    w->arena = NULL;
    return false;
  }
  w->diags = parent ? parent->diags : diags_new(w->arena, workspace_message, w);
  diags_speak_by(w->diags, c->command ? NULL : words_for_callers);
  arena_on_oom(w->arena, NULL);
  return true;
}

void workspace_close(Workspace *w) {
  if (w->arena)
    arena_free(w->arena);
  w->arena = NULL;
}

/* Sets the out-of-memory handler of `w` (NULL: does nothing); returns the old one. */
static jmp_buf *redirect(Workspace *w, jmp_buf *handler) {
  jmp_buf *before = w ? w->handler : NULL;
  if (w) {
    w->handler = handler;
    arena_on_oom(w->arena, handler);
  }
  return before;
}

/* The value with which workspace_give_up longjmps; arenas use 1. */
enum { GIVEN_UP = 2 };

const Stop *compile_stop(StcContext *c) {
  c->asked.also = c->run_stop;
  return &c->asked;
}

void stc_context_stop(StcContext *c, bool stop) { stop_ask(&c->asked, stop); }

void workspace_obey(Workspace *w) {
  if (stop_asked(compile_stop(w->context)))
    longjmp(*w->handler, ARENA_STOPPED);
}

/* Calls fn(arg); returns STC_MEMORY if memory ran out meanwhile, STC_INTERRUPTED if compiling was stopped. */
static StcStatus call_guarded(Workspace *w, StcStatus (*fn)(void *arg), void *arg, jmp_buf *handler) {
  switch (setjmp(*handler)) {
  case 0: return fn(arg);
  case GIVEN_UP: return STC_MEMORY;
  case ARENA_STOPPED:
    working_end(&w->context->working);
    arena_obey(w->arena, NULL);
    if (w->parent)
      arena_obey(w->parent->arena, NULL);
    return STC_INTERRUPTED;
  default:
    context_error(w->context, "out of memory on this computer after %zu bytes of the compiler's own",
                  arena_used(w->arena));
    return STC_MEMORY;
  }
}

_Noreturn void workspace_give_up(Workspace *w) { longjmp(*w->handler, GIVEN_UP); }

StcStatus workspace_guard(Workspace *w, StcStatus (*fn)(void *arg), void *arg) {
  jmp_buf handler, *before = redirect(w, &handler), *before_parent = redirect(w->parent, &handler);
  if (!before && !before_parent && w->diags && !diags_speaks_of_options(w->diags))
    diags_begin_call(w->diags);
  bool silent = w->silent;
  StcStatus s = call_guarded(w, fn, arg, &handler);
  if (s == STC_MEMORY || s == STC_INTERRUPTED)
    w->silent = silent;
  redirect(w, before);
  redirect(w->parent, before_parent);
  return s;
}
