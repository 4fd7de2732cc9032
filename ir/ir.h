/* ir/ir.h: the two intermediate representations of stc and what they stand on. All others include this one; each part
 * has a header of its own, whose first lines are its table of contents:
 *
 *   base/base.h    memory in arenas, messages, scalar types and constants, affine bounds
 *   op.h           the table of ops (ops.def), values, ops, blocks
 *   module.h       what a module is made of: fields, stencils, and what is asked of it
 *   kernel.h       what a module of kernel IR has beside: buffers, kernels, the host part
 *   build.h        making and changing code
 *   carries.h      what rounds of a row's loop take over from the round before
 *   schedule.h     schedules and plans, families.def
 *   target.h       what passes may ask about a target
 *   run/run.h      what code means; launching, the interpreter
 *   below          text (text/: print.c print-code.c read.c parse.c parse-kernel.c parse-code.c: what is printed
 *                  parses back to the same module), verifier (verify/)
 *
 * Not included here: sim/sim.h, the simulator. Of the rest each is for a few files alone: run/exec.h (quick
 * arithmetic), interp/interp.h, sim/simulate.h, text/text.h, verify/verify.h.
 *
 * ir/ includes nothing of the other folders. There is no global mutable state; two threads may work on two arenas at
 * once.
 */
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

/* The module as text (deterministic; ends in a newline), in its arena. Renumbers. */
char *module_print(Module *m);
/* Adds what that has of a kernel of the module, or of a copy of one, whose values are numbered. */
void kernel_print(Str *s, const Module *m, const Kernel *k);
void block_print(Str *s, const Module *m, const Kernel *k, const Block *b, int indent);
void affine_print(Str *s, const Module *m, Affine x);          /* "N - 2" */
void box_print(Str *s, const Module *m, const Box *b);         /* "[1 .. N - 2, 0 .. 7]" */
void covered_print(Str *s, const Module *m, const Covered *c); /* its text form */
/* The box `box` of field `f`, its own or that in the whole grid, with a star for each dimension that f does not have.
 */
void field_box_print(Str *s, const Module *m, const Field *f, const Box *box);
/* The rules of a field that has some, as they stand behind `outside`. */
void outside_print(Str *s, const Module *m, const Field *f);
/* A constant so that it reads back bit for bit: floats shortest, inf and nan by name, nan with payload as hex. */
void const_print(Str *s, Const c, Type t);

/* Reads text of either level, reporting errors to `d` under the name `file`. NULL after an error. The result is
 * verified. */
Module *module_parse(Arena *a, Diags *d, const char *file, const char *text);

/* ---------------------------------------------------------------- verifier: verify.c */

/* Checks all rules of the module's level, naming kernel or stencil, op and rule in each error; true if there was none.
 */
bool module_verify(const Module *m, Diags *d);

#endif
