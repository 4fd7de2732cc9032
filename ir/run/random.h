/* ir/run/random.h: random numbers: what the ops random and normal mean (random.c), and the numbers in their formulas,
 * which pass random writes out with the same operations. */
#ifndef STC_RANDOM_H
#define STC_RANDOM_H

#include "ir/op.h"

/* Philox 4x32-10: its rounds, the factors of the first and the third word of the counter, and what is added to the
 * words of the key from round to round. J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers:
 * as easy as 1, 2, 3", SC 2011. */
enum { PHILOX_ROUNDS = 10 };
#define PHILOX_FACTOR_0 UINT32_C(0xD2511F53)
#define PHILOX_FACTOR_2 UINT32_C(0xCD9E8D57)
#define PHILOX_STEP_0 UINT32_C(0x9E3779B9)
#define PHILOX_STEP_1 UINT32_C(0xBB67AE85)
/* Makes of the `counter` the four words that `key` gives for it. */
void philox(const uint32_t key[2], uint32_t counter[4]);

/* Operands of the ops random and normal, all u32: the seed, the number of the draw, the step, and the point's
 * coordinates, slowest first, 0 for those that there are not. */
enum { RANDOM_SEED, RANDOM_DRAW, RANDOM_STEP, RANDOM_PLACE, RANDOM_OPERANDS = RANDOM_PLACE + 3 };
/* The step of what inits draw. */
#define RANDOM_INIT_STEP UINT32_MAX
/* What the seed of a member of three dimensions is more than that of the member before. */
#define RANDOM_NEXT_MEMBER UINT32_C(0x9e3779b9)
/* The op `code`, OP_RANDOM or OP_NORMAL, of type `t` (f32 or f64) on those operands. */
double eval_random(Opcode code, Type t, const Const *operands);

/* Coefficients, that of the constant first. -log(1 - x) / x of f32, from 1 - sqrt(2) to 1 - sqrt(1/2); the normal
 * number that 1 - e^-v of all lie nearer to 0 than, divided by sqrt(1 - e^-v), as a polynomial of v - 2.5 below 5 and
 * of sqrt(v) - 3 from there to 22 (their form is that of M. Giles, "Approximating the erfinv function", 2010; fitted
 * here). */
enum { LOG_F32 = 10, NEAR_F32 = 9, FAR_F32 = 10, LOG_F64 = 7, RATIO = 8 };
extern const float random_log_f32[LOG_F32], random_near_f32[NEAR_F32], random_far_f32[FAR_F32];
/* Of f64: log((1 + s) / (1 - s)) = 2 s + s p(s^2) s^2, p as in FreeBSD's e_log.c; numerators and denominators of
 * M. J. Wichura's algorithm AS 241, PPND16 (Applied Statistics 37, 1988): in the middle, beside it, and far out. */
extern const double random_log_f64[LOG_F64], random_ratios[3][2][RATIO];

#endif
