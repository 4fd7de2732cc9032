/* driver/artifact/header.h: the common part of the C header of a host artifact (header.c) and of a GPU's launcher
 * (launcher.c), which have the same functions and most of their text. */
#ifndef STC_HEADER_H
#define STC_HEADER_H

#include "driver/program/program.h"

/* The data from which all parts of the text are made. `p`: the program's name as a C identifier; fields and arrays: the
 * names of fields and launch-time arrays as C identifiers. `gpu`: the target of a launcher; NULL for the host's header.
 * `attribute`: text before functions that are visible to other files. */
typedef struct TextWriter {
  Str s;
  Arena *arena;
  const StcProgram *program;
  const Module *m;
  const char *p;
  const char **fields, **arrays;
  const Target *gpu;
  const char *attribute;
} TextWriter;

/* ---------------------------------------------------------------- header-writer.c */

/* A writer for the program; chooses all names. */
TextWriter header_writer(Arena *a, const StcProgram *p, const Module *m, const Target *gpu);
/* c_put adds formatted text, in which $ stands for the program's name; c_text returns such text; c_affine returns a
 * bound in terms of the params `p`. */
void c_put(TextWriter *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *c_text(const TextWriter *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *c_affine(const TextWriter *w, Affine x);
/* C text: the number of elements of scratch buffer `b`; the number of members of the program. */
const char *header_cells(const TextWriter *w, const Buffer *b);
const char *header_members(const TextWriter *w);
/* Does the caller provide buffer `b`: is it a field that lives from step to step, or a launch-time array? */
bool header_is_given(const Module *m, int b);
/* Does the caller provide the memory of field `f`? */
bool header_field_is_given(const Module *m, int f);
/* The C type of a field's elements. */
const char *header_element(const TextWriter *w, int field);
/* `text`, escaped for a C string literal. */
const char *header_escaped(Arena *a, const char *text);

/* ---------------------------------------------------------------- header-launch.c */

/* Adds statements at the start of the launch function of `k`: if the params do not meet its multiples, or an array of
 * the caller is not aligned as it needs, the replacement kernel runs. */
void header_choose(TextWriter *w, const Kernel *k);
/* Declares `args`, an array of pointers to the values of the arguments of `k`. */
void header_arguments(TextWriter *w, const Kernel *k);
/* Adds statements that count blocks along each dimension; the other function adds the declaration of these numbers. */
void header_blocks(TextWriter *w, const Kernel *k);
const char *header_blocks_text(const Kernel *k);

/* ---------------------------------------------------------------- header.c */

/* Adds the helper functions that later parts call. */
void header_helpers(TextWriter *w);
/* Adds the struct of params. */
void header_params(TextWriter *w);
/* Adds all functions that do not depend on kernels: defaults, bind, extents, sizes and lengths, lists of points. */
void header_scalars(TextWriter *w);
/* Adds init and run, and the launch functions that they call. */
void header_runs(TextWriter *w);

/* ---------------------------------------------------------------- header-host.c */

/* Adds the functions that make the steps and rounds of the time loop and of the loops within it, and that evaluate
 * their reductions. */
void header_loops(TextWriter *w);
/* Adds the statements of one sequence, indented by `indent`, to a function that has the address of the state in `s` and
 * the error text in `e`. */
void header_sequence(TextWriter *w, const HostSeq *q, const char *indent);
/* Can a swap exchange buffer `b` with another buffer? */
bool header_is_swapped(const Module *m, int b);

/* ---------------------------------------------------------------- header-live.c */

/* Adds the function that finds the blocks of kernels that have work; it runs after the values that are computed once.
 */
void header_find_live(TextWriter *w);
/* As header_blocks for kernel number `number`, but only for blocks that have work. */
void header_live_blocks(TextWriter *w, int number);

/* ---------------------------------------------------------------- outside.c */

/* Calls `each` for every function for callers, with the type of its result, its name after the program's name and "_",
 * its parameters with types, and the same names as arguments. */
typedef void EachFunction(TextWriter *w, const char *result, const char *name, const char *parameters,
                          const char *arguments);
void header_each_function(TextWriter *w, EachFunction *each);
/* Adds text that gives the functions of `text` other names within it, and after it functions of the original names that
 * are visible to other files. `attribute` stands before each of these. */
void header_outside(TextWriter *w, const char *text, const char *attribute);

/* ---------------------------------------------------------------- weights.c */

/* Adds the function that fills launch-time array number `array`, of role ARRAY_WEIGHTS, from its coordinates; the other
 * function calls `each` for it. */
void header_fill_weights(TextWriter *w, int array);
void header_each_weights(TextWriter *w, int array, EachFunction *each);
/* The same for an array of role ARRAY_VALUES, which is computed from params. */
void header_fill_values(TextWriter *w, int array);
void header_each_values(TextWriter *w, int array, EachFunction *each);

/* ---------------------------------------------------------------- header-gradient.c */

/* Adds the function for the whole gradient to the header of the backward program; `m` are the kernels of the backward
 * program. */
void header_gradient(TextWriter *w, const StcProgram *forward, const Module *m);

/* ---------------------------------------------------------------- launcher-calls.c */

/* Adds the launch function of `k`. */
void launcher_launch(TextWriter *w, const Kernel *k, int number);
/* Adds statements that allocate the memory of buffer `b`. */
void launcher_open_buffer(TextWriter *w, int b);
/* Adds statements that copy the contents of buffer `b` to the caller. `settle`: swaps may have moved them; `set`:
 * something other than a step has set them. */
void launcher_close_buffer(TextWriter *w, int b, bool settle, bool set);
/* Adds statements that clear field `f` on the device. */
void launcher_clear(TextWriter *w, int f);

/* ---------------------------------------------------------------- launcher.c */

/* The text that all programs share: declarations of CUDA's driver and of HIP's runtime, and functions that call either.
 */
extern const char launcher_cuda[], launcher_hip[], launcher_common[];
/* The launcher for the program's kernels `m` for `t`; it contains the artifact `bytes`. */
char *launcher_text(Workspace *w, const StcProgram *p, const Module *m, const Target *t, const char *bytes,
                    size_t size);
/* The header with the declarations of the launcher's functions. */
char *launcher_header_text(Workspace *w, const StcProgram *p, const Module *m, const Target *t);

#endif
