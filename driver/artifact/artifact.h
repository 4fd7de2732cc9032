/* driver/artifact/artifact.h: what is written beside or around code.
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones.
 *
 *   what texts are made of:
 *     expression.c        launch-time expressions as C text and as a JSON tree
 *     covered.c           the check that boxes hold all points that are read, as C text
 *     kernel-call.c       what whoever launches a kernel must know of it
 *     manifest-values.c   bounds and expressions in a manifest (manifest.h)
 *     header-writer.c     what headers and launchers are written by (header.h)
 *   parts of headers, launchers and manifests:
 *     header-launch.c     how a kernel is launched, as C text
 *     header-live.c       which of its blocks have something to do
 *     header-host.c       the host program
 *     header-gradient.c   the whole gradient, by both programs' functions
 *     weights.c           weights of differences on points that lie unevenly
 *     outside.c           functions for callers in other files
 *     launcher-calls.c    calls of a GPU
 *     launcher-runtime.c  what is the same in all launchers
 *     manifest-host.c     the host program, in JSON
 *   files:
 *     header.c            the host artifact's C header
 *     launcher.c          a GPU's artifact as a C file that runs it
 *     shared-object.c     the host artifact as a shared object
 *     fortran.c           a Fortran module for it
 *     manifest.c          the artifact's manifest (JSON)
 *     backward.c          the program that computes its gradient backwards
 *     manifest-gradient.c   how to launch that
 */
#ifndef STC_DRIVER_ARTIFACT_H
#define STC_DRIVER_ARTIFACT_H

#include "driver/program/program.h"

/* The manifest of the kernels `m` for `t` as JSON text in the arena; docs/manifest.md says what stands in it. */
char *manifest_text(Workspace *w, const StcProgram *p, const Module *m, const Target *t);
/* The C header of the host artifact. */
char *header_text(Workspace *w, const StcProgram *p, const Module *m);
/* The C names in that header: the program's, which all begin with, and those of fields and launch-time arrays. */
typedef struct HeaderNames {
  const char *program, *const *fields, *const *arrays;
} HeaderNames;
HeaderNames header_names(Arena *a, const StcProgram *p, const Module *m);
/* `name`, of a file, as it may stand in a comment of C or Fortran: a ? for each control character, such as a new line,
 * and for each * beside a /. */
const char *comment_name(Arena *a, const char *name);
/* The host artifact as a shared object for callers without a C compiler, written to `path`; *text is its Fortran
 * module. Both have the header's functions. Only for the host. */
StcStatus shared_object_write(StcProgram *p, const char *path);
StcStatus fortran_text(StcProgram *p, const char **text);
/* Do its kernels run by blocks of threads, those of a GPU? Once the program has a target (stc_program_arch). */
bool program_has_threads(const StcProgram *p);
/* The launcher of a GPU's artifact as C text (header.h). Only for GPUs. */
StcStatus program_launcher(StcProgram *p, const char **text);
/* STC_OK if the program is compiled for the host, else an error that says that `what`, a value of -emit=, is for that.
 */
StcStatus program_for_host(StcProgram *p, const char *what);
/* The params' defaults, those that the program's -D changed included, and the lets; known[i] is false for a param
 * without a default and what depends on one. */
void scalar_defaults(const StcProgram *p, const Module *m, Const *values, bool *known);
/* Is scalar `i` set by -D? Its text, or NULL. */
const char *scalar_define(const StcProgram *p, const Module *m, int i);
/* An affine bound as C text, each scalar's name behind `prefix`: an operand, of type int64_t, INT64_MIN where 64 bits
 * do not hold it. */
char *affine_c_text(Arena *a, const Module *m, Affine x, const char *prefix);
/* A constant as a C expression. */
char *const_c_text(Arena *a, Const c, Type t);
/* A scalar's expression as C statements, one for each op, that end in `RESULT = value;`, each scalar's name behind
 * `prefix`. The helper functions they call are in c_helpers. */
char *expression_c_text(Arena *a, const Module *m, const Block *b, const char *prefix, const char *result);
/* C source of those helper functions: the arithmetic of the IR where C's differs. */
extern const char c_helpers[];
/* A call of the function of c_covered that tells whether `c` holds; scalars are called as in affine_c_text. */
char *covered_c_text(Arena *a, const Module *m, const Covered *c, const char *prefix);
extern const char c_covered[];
/* A scalar's name as a member in C and C++: keywords get an underscore behind them, names that passes made ("finite A")
 * two. */
const char *c_name(Arena *a, const char *name);
/* The C type of a scalar type: "float", "int64_t"; the 16-bit floats as bits. */
const char *c_type(Type t);
/* Bytes of an argument as it is passed: a pointer, a scalar in its type (bool: 1), the step. Its alignment is its size.
 */
size_t kernel_arg_size(const Module *m, const KArg *a);
/* Dynamic shared bytes that launching `k` on `t` must ask for. */
int64_t dynamic_shared_bytes(const Kernel *k, const Target *t);

#endif
