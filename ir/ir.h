/* ir/ir.h: the two intermediate representations of stc. All other files include this header. Each part has a header of
 * its own, which begins with a table of contents:
 *
 *   base/base.h    memory in arenas, messages, scalar types and constants, affine bounds
 *   op.h           the table of ops (ops.def), values, ops, blocks
 *   module.h       modules: fields, stencils, and functions on them
 *   kernel.h       the further parts of kernel IR: buffers, kernels, the host part
 *   build.h        making and changing code
 *   carries.h      values that rounds of a row's loop take over from the round before
 *   schedule.h     schedules and plans, families.def
 *   target.h       the properties of a target that passes may use
 *   run/run.h      the meaning of code; binding of params, the interpreter
 *   below          text (text/: print.c print-code.c read.c parse.c parse-kernel.c parse-code.c: printed text
 *                  parses back to the same module), verifier (verify/)
 *
 * It does not include sim/sim.h, the simulator. The remaining headers are for a few files each: run/exec.h (fast
 * arithmetic), interp/interp.h, sim/simulate.h, text/text.h, verify/verify.h.
 *
 * ir/ includes nothing from other folders. It has no global mutable state, so two threads may work on two arenas at
 * once. */
#ifndef STC_IR_H
#define STC_IR_H

#include "ir/base/base.h"
#include "ir/build.h"
#include "ir/carries.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/run/run.h"
#include "ir/target.h"

/* ---------------------------------------------------------------- text: text/print.c text/print-code.c text/parse.c */

/* Prints the module as text (deterministic; ends in a newline) into its arena. Renumbers the values. */
char *module_print(Module *m);
/* Appends the text of one kernel of the module, or of a copy of such a kernel; its values must be numbered. */
void kernel_print(Str *s, const Module *m, const Kernel *k);
void block_print(Str *s, const Module *m, const Kernel *k, const Block *b, int indent);
void affine_print(Str *s, const Module *m, Affine x);          /* "N - 2" */
void box_print(Str *s, const Module *m, const Box *b);         /* "[1 .. N - 2, 0 .. 7]" */
void covered_print(Str *s, const Module *m, const Covered *c); /* its text form */
/* Prints `box`, which is the box of field `f` or its box in the whole grid, with a star for each dimension that f
 * lacks. */
void field_box_print(Str *s, const Module *m, const Field *f, const Box *box);
/* Prints the outside rules of a field that has some, as they stand after the word `outside`. */
void outside_print(Str *s, const Module *m, const Field *f);
/* Prints a constant so that it parses back bit for bit: the shortest decimal form of a float, inf and nan by name, nan
 * with its payload in hex. */
void const_print(Str *s, Const c, Type t);

/* Parses text of either level and verifies the module; reports errors to `d` under the name `file`. NULL after an
 * error. */
Module *module_parse(Arena *a, Diags *d, const char *file, const char *text);

/* ---------------------------------------------------------------- verifier: verify.c */

/* Checks all rules of the module's level; each error names kernel or stencil, op and rule. True if there was no error.
 */
bool module_verify(const Module *m, Diags *d);

#endif
