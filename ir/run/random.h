/* ir/run/random.h: random numbers: the definition of the ops random and normal (random.c), and the constants of their
 * formulas, which pass random expands into the same operations. */
#ifndef STC_RANDOM_H
#define STC_RANDOM_H

#include "ir/op.h"

/* Philox 4x32-10: the number of its rounds, the factors of the first and the third word of the counter, and the
 * increments of the key's words in each round. J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011. */
enum { PHILOX_ROUNDS = 10 };
#define PHILOX_FACTOR_0 UINT32_C(0xD2511F53)
#define PHILOX_FACTOR_2 UINT32_C(0xCD9E8D57)
#define PHILOX_STEP_0 UINT32_C(0x9E3779B9)
#define PHILOX_STEP_1 UINT32_C(0xBB67AE85)
/* Replaces the four words of `counter` by Philox's output for `key`. */
void philox(const uint32_t key[2], uint32_t counter[4]);

/* The operands of the ops random and normal, all u32: the seed, the number of the draw, the step, and the point's
 * coordinates, slowest first, 0 for dimensions that do not exist. */
enum { RANDOM_SEED, RANDOM_DRAW, RANDOM_STEP, RANDOM_PLACE, RANDOM_OPERANDS = RANDOM_PLACE + 3 };
/* The step number of draws in inits. */
#define RANDOM_INIT_STEP UINT32_MAX
/* In programs of three dimensions with members: the difference between the seeds of a member and the member before. */
#define RANDOM_NEXT_MEMBER UINT32_C(0x9e3779b9)
/* Evaluates `code`, OP_RANDOM or OP_NORMAL, of type `t` (f32 or f64) on these operands. */
double eval_random(Opcode code, Type t, const Const *operands);

/* Coefficients, the constant one first. For f32: of -log(1 - x) / x for x from 1 - sqrt(2) to 1 - sqrt(1/2); and of the
 * normal quantile: the number below whose absolute value a fraction 1 - e^-v of all variates lies, divided by sqrt(1 -
 * e^-v), as a polynomial of v - 2.5 for v below 5, and of sqrt(v) - 3 from there to 22. (The form is that of M. Giles,
 * "Approximating the erfinv function", 2010; the coefficients were fitted here.) */
enum { LOG_F32 = 10, NEAR_F32 = 9, FAR_F32 = 10, LOG_F64 = 7, RATIO = 8 };
extern const float random_log_f32[LOG_F32], random_near_f32[NEAR_F32], random_far_f32[FAR_F32];
/* For f64: log((1 + s) / (1 - s)) = 2 s + s p(s^2) s^2 with p as in FreeBSD's e_log.c; numerators and denominators of
 * M. J. Wichura's algorithm AS 241, PPND16 (Applied Statistics 37, 1988): for the middle, the region beside it, and the
 * tails. */
extern const double random_log_f64[LOG_F64], random_ratios[3][2][RATIO];

#endif
