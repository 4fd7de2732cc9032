/* driver/artifact/header.h: what the C header of a host artifact (header.c) and the launcher of a GPU's (launcher.c)
 * have in common: the same functions, and most of their text. */
#ifndef STC_HEADER_H
#define STC_HEADER_H

#include "driver/program/program.h"

/* What every part of the text is made from. `p` is the program's name as a C identifier, fields and arrays are the
 * names of fields and launch-time arrays as such. `gpu`: the target of a launcher, NULL for the host's header.
 * `attribute`: what stands before functions that are seen from outside. */
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

/* A writer for the program, with all names chosen. */
TextWriter header_writer(Arena *a, const StcProgram *p, const Module *m, const Target *gpu);
/* Adds text, formatted, in which $ stands for the program's name; such a text; a bound in terms of the params p. */
void c_put(TextWriter *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *c_text(const TextWriter *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *c_affine(const TextWriter *w, Affine x);
/* How many elements scratch buffer `b` has; how many members the program: as C text. */
const char *header_cells(const TextWriter *w, const Buffer *b);
const char *header_members(const TextWriter *w);
/* Is buffer `b` memory of the caller: a field that lives from step to step, or a launch-time array? */
bool header_is_given(const Module *m, int b);
/* Is field `f` such memory? */
bool header_field_is_given(const Module *m, int f);
/* The C type of a field's elements. */
const char *header_element(const TextWriter *w, int field);
/* `text` as the inside of a C string. */
const char *header_escaped(Arena *a, const char *text);

/* ---------------------------------------------------------------- header-launch.c */

/* Statements at the start of the launch function of `k`: where its multiples do not hold, or an array of the caller's
 * is not aligned as it needs, the one launched instead runs. */
void header_choose(TextWriter *w, const Kernel *k);
/* Declares `args`, an array of pointers to the values of the arguments of `k`. */
void header_arguments(TextWriter *w, const Kernel *k);
/* Statements that count blocks along each dimension; the declaration of their numbers. */
void header_blocks(TextWriter *w, const Kernel *k);
const char *header_blocks_text(const Kernel *k);

/* ---------------------------------------------------------------- header.c */

/* The helpers that later parts call. */
void header_helpers(TextWriter *w);
/* The structure of params. */
void header_params(TextWriter *w);
/* All functions that need no kernel: defaults, bind, extents, sizes and lengths, lists of points. */
void header_scalars(TextWriter *w);
/* init and run, by way of launch functions. */
void header_runs(TextWriter *w);

/* ---------------------------------------------------------------- header-host.c */

/* The functions that make steps and rounds, of the time loop and the loops within, and that evaluate their reductions.
 */
void header_loops(TextWriter *w);
/* The statements of one sequence, behind `indent`, in a function that has the state's address `s` and what is wrong,
 * `e`. */
void header_sequence(TextWriter *w, const HostSeq *q, const char *indent);
/* Can a swap exchange buffer `b` with another? */
bool header_is_swapped(const Module *m, int b);

/* ---------------------------------------------------------------- header-live.c */

/* The function that finds which blocks of kernels have something to do, behind what is computed once. */
void header_find_live(TextWriter *w);
/* header_blocks for kernel number `number`, without blocks that have nothing to do. */
void header_live_blocks(TextWriter *w, int number);

/* ---------------------------------------------------------------- outside.c */

/* Calls `each` for every function that is for callers: the type of its result, what stands behind the program's name
 * and
 * "_", its parameters with types, and the same as arguments. */
typedef void EachFunction(TextWriter *w, const char *result, const char *name, const char *parameters,
                          const char *arguments);
void header_each_function(TextWriter *w, EachFunction *each);
/* Text by which the functions of `text` go by other names within it, and by their own, as functions that are seen from
 * outside, behind it. `attribute` stands before each. */
void header_outside(TextWriter *w, const char *text, const char *attribute);

/* ---------------------------------------------------------------- weights.c */

/* The function that makes launch-time array number `array`, of role ARRAY_WEIGHTS, of its coordinates; and `each`
 * called for it. */
void header_fill_weights(TextWriter *w, int array);
void header_each_weights(TextWriter *w, int array, EachFunction *each);
/* The same of an array of role ARRAY_VALUES, which is computed from params. */
void header_fill_values(TextWriter *w, int array);
void header_each_values(TextWriter *w, int array, EachFunction *each);

/* ---------------------------------------------------------------- header-gradient.c */

/* The function for the whole gradient, in the header of the backward program: `m` are the kernels of the program. */
void header_gradient(TextWriter *w, const StcProgram *forward, const Module *m);

/* ---------------------------------------------------------------- launcher-calls.c */

/* The launch function of `k`. */
void launcher_launch(TextWriter *w, const Kernel *k, int number);
/* Statements that give buffer `b` its memory. */
void launcher_open_buffer(TextWriter *w, int b);
/* Statements that leave what is in buffer `b` with the caller. `settle`: swaps may have moved it; `set`: it was set
 * even if steps never write it. */
void launcher_close_buffer(TextWriter *w, int b, bool settle, bool set);
/* Statements that clear field `f` on the device. */
void launcher_clear(TextWriter *w, int f);

/* ---------------------------------------------------------------- launcher.c */

/* The text that is the same for all programs: what is called of CUDA's driver and of HIP's runtime, and what is made of
 * that. */
extern const char launcher_cuda[], launcher_hip[], launcher_common[];
/* The launcher of the program's kernels `m` for `t`, whose artifact is `bytes`. */
char *launcher_text(Workspace *w, const StcProgram *p, const Module *m, const Target *t, const char *bytes,
                    size_t size);
/* The declarations of its functions. */
char *launcher_header_text(Workspace *w, const StcProgram *p, const Module *m, const Target *t);

#endif
