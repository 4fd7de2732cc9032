/* warps-hold.c: holds values that only the first or only the last warp of a pipeline needs from group to group in
 * shared memory, where registers are short.
 *
 * These values are how far the loads have got (first warp) and the segment that is stored (last warp). Without this,
 * ptxas spills them to local memory, whose first-level cache has 28 KiB beside 228 KiB of shared memory. Registers are
 * short where a step of several fields keeps so much that a thread takes more than 240 of them; 225 for sums of four
 * rows beside their own, at several levels a warp or in f64, which were seen to spill earlier. Where registers are not
 * short, holding is slower, because these two warps have the most to do. */
#include "passes/tile/emit/lower-warps.h"

_Static_assert(HELD *HELD_NUMBERS == WARP_HELD_NUMBERS, "shapes count what is held");

void warps_make_held(WarpKernel *k) {
  const int32_t cells[MAX_RANK] = {HELD, HELD_NUMBERS};
  k->held =
      warps_bulk(k) && k->w.held ? kernel_array(k->lo, k->k, "held", TY_I32, SPACE_SHARED, cells, NULL, NULL) : -1;
}

/* The indices of number `i` of `what` in the array of held numbers. */
static void held_place(WarpKernel *k, WarpHeld what, int i, Value **at) {
  at[0] = build_int(&k->b, TY_I32, what);
  at[1] = build_int(&k->b, TY_I32, i);
}

void warps_hold(WarpKernel *k, WarpHeld what, int n, Value *const *v) {
  Builder outer;
  build_bare(&k->b, OP_BARRIER_WARP);
  Value *at[2], *one = build_op(&k->b, OP_ELECT, TY_BOOL, 0, NULL)->results[0];
  Op *alone = build_if(&k->b, one, 0, NULL);
  outer = k->b;
  build_bare(&outer, OP_BARRIER_WARP);
  k->b = builder_at_end(outer.arena, alone->blocks[0]);
  k->b.loc = outer.loc;
  for (int i = 0; i < n; i++) {
    held_place(k, what, i, at);
    build_astore(&k->b, k->held, 0, v[i], 2, at, NULL);
  }
  k->b = outer;
}

void warps_take_held(WarpKernel *k, WarpHeld what, int n, Value **v) {
  Value *at[2];
  for (int i = 0; i < n; i++) {
    held_place(k, what, i, at);
    v[i] = build1(&k->b, OP_UNIFORM, build_aload(&k->b, TY_I32, k->held, 0, 2, at, NULL));
  }
}
