/* driver/program/emit.c: the outputs of a program: IR, artifacts and the files that belong to them, each made when it
 * is first requested. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"
#include "driver/program/program.h"

#include <string.h>

/* The arguments of build_artifact's guarded function. */
typedef struct ArtifactArgs {
  StcProgram *p;
  Build *b;
} ArtifactArgs;

/* Makes the artifact. */
static StcStatus artifact_guarded(void *arg) {
  ArtifactArgs *args = arg;
  StcProgram *p = args->p;
  Build *b = args->b;
  CodegenOptions o = program_codegen_options(p, b->code.module, b->code.target);
  char *bytes;
  if (!budget_compiler(p->w.diags, b->code.module, target_info(b->code.target)->simt, &p->schedule))
    return STC_INPUT;
  if (!codegen(p->w.arena, p->w.diags, b->code.module, b->code.target, EMIT_OBJ, &o, &bytes, &b->size))
    return workspace_obey(&p->w), STC_INTERNAL;
  b->bytes = arena_strndup(p->w.arena, bytes, b->size);
  return STC_OK;
}

StcStatus build_artifact(StcProgram *p, Build *b) {
  ArtifactArgs args = {p, b};
  return b->bytes ? STC_OK : workspace_guard(&p->w, artifact_guarded, &args);
}

/* Stores `text` as the output `what`. False if it is NULL. */
static bool keep_text(StcProgram *p, StcEmit what, const char *text) {
  p->bytes[what] = text;
  p->sizes[what] = text ? strlen(text) : 0;
  return text != NULL;
}

/* The syntax tree; only a .stn has one. */
static bool emit_ast(StcProgram *p) {
  if (p->kind != SOURCE_STN) {
    context_error(p->w.context, "%s is IR text: a syntax tree is made from a .stn only", p->file);
    return false;
  }
  p->w.muted = true;
  char *text = frontend_dump_ast(p->w.arena, p->w.diags, p->file, p->text, &p->language);
  p->w.muted = false;
  return keep_text(p, STC_EMIT_AST, text);
}

/* Stencil IR: as read, or after the requested passes. */
static bool emit_sir(StcProgram *p) {
  Module *m = p->module;
  if (p->options.passes) {
    const Target *t = program_target(p);
    m = t ? program_run_passes(p, target_info(t)) : NULL;
  }
  if (m && m->level != LEVEL_SIR) {
    context_error(p->w.context, "%s: what is there is kernel IR, not stencil IR; use -emit=kir", p->file);
    return false;
  }
  return m && keep_text(p, STC_EMIT_SIR, module_print(m));
}

/* Kernel IR of the program's own target. */
static bool emit_kir(StcProgram *p) {
  Module *m = program_kernels(p);
  return m && keep_text(p, STC_EMIT_KIR, module_print(m));
}

/* LLVM IR, assembly or the artifact. PTX for launching is limited in size if tiles are requested, as in a run: the
 * driver of the user would compile it without any message. Assembly for reading is not limited. */
static bool emit_code(StcProgram *p, StcEmit what) {
  Module *m = program_kernels(p);
  EmitKind kind = what == STC_EMIT_LLVM ? EMIT_LLVM : what == STC_EMIT_ASM ? EMIT_ASM : EMIT_OBJ;
  char *bytes;
  size_t size;
  if (!m)
    return false;
  CodegenOptions o = program_codegen_options(p, m, p->target);
  if (kind != EMIT_LLVM && !budget_compiler(p->w.diags, m, target_info(p->target)->simt, &p->schedule))
    return false;
  atomic_store(&o.working->done, 0);
  atomic_store(&o.working->of, m->nkernels);
  bool made = codegen(p->w.arena, p->w.diags, m, p->target, kind, &o, &bytes, &size);
  working_end(o.working);
  if (!made)
    return workspace_obey(&p->w), false;
  if (kind == EMIT_OBJ && target_info(p->target)->simt && !budget_assembly(p->w.diags, bytes, &p->schedule))
    return false;
  p->bytes[what] = arena_strndup(p->w.arena, bytes, size);
  p->sizes[what] = size;
  return true;
}

/* Makes a text of kernels `m` of the program; NULL after an error. */
typedef char *MakeText(StcProgram *p, const Module *m);

/* The arguments of the guarded functions of stc_program_emit and others, and the resulting text. */
typedef struct EmitArgs {
  StcProgram *p;
  StcEmit what;
  MakeText *make;
  const char *text;
} EmitArgs;

/* Makes p->bytes[what] if it does not exist. */
static StcStatus emit_guarded(void *arg) {
  EmitArgs *e = arg;
  StcProgram *p = e->p;
  if ((unsigned)e->what > STC_EMIT_OBJ)
    return context_error(p->w.context, "there is nothing number %d to emit", (int)e->what), STC_USAGE;
  bool ok = p->bytes[e->what] != NULL;
  if (!ok)
    switch (e->what) {
    case STC_EMIT_AST: ok = emit_ast(p); break;
    case STC_EMIT_SIR: ok = emit_sir(p); break;
    case STC_EMIT_KIR: ok = emit_kir(p); break;
    case STC_EMIT_LLVM:
    case STC_EMIT_ASM:
    case STC_EMIT_OBJ: ok = emit_code(p, e->what); break;
    }
  return ok ? STC_OK : STC_INPUT;
}

StcStatus stc_program_emit(StcProgram *p, StcEmit what, const char **bytes, size_t *size) {
  EmitArgs args = {.p = p, .what = what};
  StcStatus s = workspace_guard(&p->w, emit_guarded, &args);
  *bytes = s ? NULL : p->bytes[what];
  if (size)
    *size = s ? 0 : p->sizes[what];
  return s;
}

/* Makes the text of the program's kernels. */
static StcStatus text_guarded(void *arg) {
  EmitArgs *e = arg;
  Module *m = program_kernels(e->p);
  e->text = m ? e->make(e->p, m) : NULL;
  return e->text ? STC_OK : STC_INPUT;
}

/* Lets `make` make *text from the program's kernels; NULL after an error. */
static StcStatus emit_text(StcProgram *p, MakeText *make, const char **text) {
  EmitArgs args = {.p = p, .make = make};
  StcStatus s = workspace_guard(&p->w, text_guarded, &args);
  *text = args.text;
  return s;
}

static char *make_manifest(StcProgram *p, const Module *m) { return manifest_text(&p->w, p, m, p->target); }
static char *make_header(StcProgram *p, const Module *m) {
  return target_info(p->target)->simt ? launcher_header_text(&p->w, p, m, p->target) : header_text(&p->w, p, m);
}
static char *make_launcher(StcProgram *p, const Module *m) {
  return launcher_text(&p->w, p, m, p->target, p->bytes[STC_EMIT_OBJ], p->sizes[STC_EMIT_OBJ]);
}

StcStatus stc_program_manifest(StcProgram *p, const char **json) { return emit_text(p, make_manifest, json); }

/* Makes the program's kernels. */
static StcStatus kernels_guarded(void *arg) { return program_kernels(arg) ? STC_OK : STC_INPUT; }

StcStatus stc_program_header(StcProgram *p, const char **text) {
  StcStatus s = p->forward ? workspace_guard(&p->forward->w, kernels_guarded, p->forward) : STC_OK;
  return s ? s : emit_text(p, make_header, text);
}

/* Makes the text of the plan. */
static StcStatus plan_guarded(void *arg) {
  EmitArgs *e = arg;
  Module *m = program_kernels(e->p);
  if (!m)
    return STC_INPUT;
  if (!e->p->resolved.family)
    return context_error(e->p->w.context, "there is no plan: the kernels or the passes were given"), STC_USAGE;
  e->text = plan_text(e->p->w.arena, &e->p->resolved, m->grid.rank);
  return STC_OK;
}

StcStatus stc_program_plan(StcProgram *p, const char **text) {
  EmitArgs args = {.p = p};
  StcStatus s = workspace_guard(&p->w, plan_guarded, &args);
  *text = args.text;
  return s;
}

bool program_has_threads(const StcProgram *p) { return target_info(p->target)->simt; }

StcStatus program_launcher(StcProgram *p, const char **text) {
  const char *bytes;
  *text = NULL;
  if (!stc_program_arch(p))
    return STC_USAGE;
  if (!program_has_threads(p))
    return context_error(p->w.context, "-emit=launcher is for GPUs, with -march=nvptx or amdgpu; on the host the "
                                       "artifact's header has the same functions"),
           STC_USAGE;
  StcStatus s = stc_program_emit(p, STC_EMIT_OBJ, &bytes, NULL);
  return s ? s : emit_text(p, make_launcher, text);
}

StcStatus program_for_host(StcProgram *p, const char *what) {
  if (!stc_program_arch(p))
    return STC_USAGE;
  if (program_has_threads(p))
    return context_error(p->w.context, "-emit=%s is for -march=host; -emit=launcher makes C functions for GPUs", what),
           STC_USAGE;
  return STC_OK;
}

const char *stc_program_name(const StcProgram *p) { return p->name; }

/* Finds the target under the guard. */
static StcStatus target_guarded(void *arg) { return program_target(arg) ? STC_OK : STC_USAGE; }

const char *stc_program_suffix(StcProgram *p) {
  return workspace_guard(&p->w, target_guarded, p) ? NULL : target_suffix(p->target);
}
const char *stc_program_arch(StcProgram *p) {
  return workspace_guard(&p->w, target_guarded, p) ? NULL : target_arch(p->target);
}
