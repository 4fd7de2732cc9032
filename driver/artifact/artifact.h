/* driver/artifact/artifact.h: the files that stc writes beside code, and those that contain it.
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones.
 *
 *   pieces of text:
 *     expression.c        launch-time expressions as C text and as a JSON tree
 *     covered.c           the check that boxes hold all points that are read, as C text
 *     kernel-call.c       the facts that a launcher of a kernel needs
 *     manifest-values.c   bounds and expressions in a manifest (manifest.h)
 *     header-writer.c     the writer of headers and launchers (header.h)
 *   parts of headers, launchers and manifests:
 *     header-launch.c     the launch of a kernel, as C text
 *     header-live.c       the kernel's blocks that have work
 *     header-host.c       the host program
 *     header-gradient.c   the whole gradient, from the functions of both programs
 *     weights.c           weights of differences on points at uneven distances
 *     outside.c           functions for callers in other files
 *     launcher-calls.c    calls of a GPU
 *     launcher-runtime.c  the part that all launchers share
 *     manifest-host.c     the host program, in JSON
 *   files:
 *     header.c            the host artifact's C header
 *     launcher.c          a GPU's artifact as a C file that runs it
 *     shared-object.c     the host artifact as a shared object
 *     fortran.c           a Fortran module for it
 *     manifest.c          the artifact's manifest (JSON)
 *     backward.c          the program that computes the artifact's gradient backwards
 *     manifest-gradient.c   how to launch that program
 */
#ifndef STC_DRIVER_ARTIFACT_H
#define STC_DRIVER_ARTIFACT_H

#include "driver/program/program.h"

/* The manifest of the kernels `m` for `t` as JSON text in the arena; docs/manifest.md describes its contents. */
char *manifest_text(Workspace *w, const StcProgram *p, const Module *m, const Target *t);
/* The C header of the host artifact. */
char *header_text(Workspace *w, const StcProgram *p, const Module *m);
/* The C names in that header: the program's name, with which all names begin, and the names of fields and launch-time
 * arrays. */
typedef struct HeaderNames {
  const char *program, *const *fields, *const *arrays;
} HeaderNames;
HeaderNames header_names(Arena *a, const StcProgram *p, const Module *m);
/* `name`, of a file, made safe for a comment of C or Fortran: a ? replaces each control character, such as a new line,
 * and each * beside a /. */
const char *comment_name(Arena *a, const char *name);
/* Writes the host artifact as a shared object, for callers without a C compiler, to `path`; *text is its Fortran
 * module. Both have the header's functions. Only for the host. */
StcStatus shared_object_write(StcProgram *p, const char *path);
StcStatus fortran_text(StcProgram *p, const char **text);
/* Are its kernels run by blocks of threads, as on a GPU? Only after the program has a target (stc_program_arch). */
bool program_has_threads(const StcProgram *p);
/* The launcher of a GPU's artifact as C text (header.h). Only for GPUs. */
StcStatus program_launcher(StcProgram *p, const char **text);
/* STC_OK if the program is compiled for the host; else reports that `what`, a value of -emit=, is only for the host. */
StcStatus program_for_host(StcProgram *p, const char *what);
/* Writes the values of the params' defaults, including changes by the program's -D, and of the lets; known[i] is false
 * for a param without a default and for all that depends on it. */
void scalar_defaults(const StcProgram *p, const Module *m, Const *values, bool *known);
/* The text that -D gives scalar `i`; NULL if it gives none. */
const char *scalar_define(const StcProgram *p, const Module *m, int i);
/* An affine bound as C text, with `prefix` before each scalar's name: an operand of type int64_t, whose value is
 * INT64_MIN if 64 bits are too few. */
char *affine_c_text(Arena *a, const Module *m, Affine x, const char *prefix);
/* A constant as a C expression. */
char *const_c_text(Arena *a, Const c, Type t);
/* A scalar's expression as C statements, one for each op; the last is `RESULT = value;`. `prefix` stands before each
 * scalar's name. The helper functions that they call are in c_helpers. */
char *expression_c_text(Arena *a, const Module *m, const Block *b, const char *prefix, const char *result);
/* C source of those helper functions: operations whose results in the IR differ from C's. */
extern const char c_helpers[];
/* A call of the function in c_covered that tells whether `c` holds; scalars are written as in affine_c_text. */
char *covered_c_text(Arena *a, const Module *m, const Covered *c, const char *prefix);
extern const char c_covered[];
/* A scalar's name as a member in C and C++: keywords get one underscore at the end, names that passes made ("finite A")
 * two. */
const char *c_name(Arena *a, const char *name);
/* The C type of a scalar type: "float", "int64_t"; for 16-bit floats, the integer type of their bits. */
const char *c_type(Type t);
/* Bytes of an argument of a kernel: a pointer, a scalar of its type (bool: 1), the step. Its alignment equals its size.
 */
size_t kernel_arg_size(const Module *m, const KArg *a);
/* Bytes of dynamic shared memory that a launch of `k` on `t` must request. */
int64_t dynamic_shared_bytes(const Kernel *k, const Target *t);

#endif
