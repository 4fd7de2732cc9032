/* driver/artifact/header-launch.c: the launch of a kernel as C text: its number of blocks, its arguments, and the
 * kernel that replaces it if the params do not meet its multiples. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

/* The number of all blocks of kernel `k`, in C. */
static const char *total_text(const Kernel *k) {
  return k->rank > GRID_RANK ? "stc_area(stc_area(stc_area(blocks[0], blocks[1]), blocks[2]), blocks[3])"
                             : "stc_area(stc_area(blocks[0], blocks[1]), blocks[2])";
}

const char *header_blocks_text(const Kernel *k) {
  return k->rank > GRID_RANK ? "  int64_t blocks[4] = {1, 1, 1, 1}, total;\n"
                             : "  int64_t blocks[3] = {1, 1, 1}, total;\n";
}

/* Adds statements that replace the blocks of kernel `k`, which leaves some out, by the others, numbered along the last
 * dimension. */
static void leave_out(TextWriter *w, const Kernel *k) {
  c_put(w, "  total = 1;\n");
  for (int d = 0; d < k->rank; d++)
    c_put(w, "  total = stc_area(total, stc_ceildiv(%s, %d));\n", c_affine(w, k->without[d]), (int)k->tile[d]);
  c_put(w,
        "  total = %s - total;\n  blocks[0] = blocks[1] = blocks[2] = %s1;\n  "
        "blocks[%d] = total;\n",
        total_text(k), k->rank > GRID_RANK ? "blocks[3] = " : "", k->rank - 1);
}

/* The number of points of which the blocks of `k` in dimension `d` compute one tile each, in C. */
static const char *covered_text(const TextWriter *w, const Kernel *k, int d) {
  const char *all = c_affine(w, k->extent[d]);
  int over = k->over[d];
  return over ? c_text(w, "(%s) > %d ? (%s) - %d : (%s) > 0", all, over, all, over, all) : all;
}

void header_blocks(TextWriter *w, const Kernel *k) {
  for (int d = 0; d < k->rank; d++)
    c_put(w, "  blocks[%d] = stc_ceildiv(%s, %d);\n", d, covered_text(w, k, d), (int)k->tile[d]);
  if (k->leaves_out)
    leave_out(w, k);
  c_put(w, "  total = %s;\n", total_text(k));
}

void header_arguments(TextWriter *w, const Kernel *k) {
  c_put(w, "  void *args[%d] = {", k->nargs + 1);
  for (int i = 0; i < k->nargs; i++) {
    const KArg *a = &k->args[i];
    if (a->kind == KARG_BUFFER)
      c_put(w, "&s->buffer[%d], ", (int)a->index);
    if (a->kind == KARG_SCALAR)
      c_put(w, "(void *)&p->%s, ", c_name(w->arena, w->m->scalars[a->index].name));
    if (a->kind == KARG_STEP)
      c_put(w, "&s->step, ");
  }
  c_put(w, "NULL};\n");
}

void header_choose(TextWriter *w, const Kernel *k) {
  const char *other = k->instead ? c_text(w, "$_launch_%s(s)", w->m->kernels[k->instead - 1].name)
                                 : c_text(w, "\"an array is not aligned as kernel %s needs it\"", k->name);
  for (int i = 0; i < k->nmultiples && k->instead; i++)
    c_put(w, "  if (!stc_multiple(%s, INT64_C(%lld))) return %s;\n", c_affine(w, k->multiples[i].value),
          (long long)k->multiples[i].of, other);
  for (int i = 0; i < k->nargs; i++) {
    int b = k->args[i].index;
    int64_t align = k->args[i].kind == KARG_BUFFER ? kernel_alignment(w->m, k, b) : 0;
    if (k->args[i].kind == KARG_BUFFER && align > type_size(buffer_type(w->m, b)))
      c_put(w, "  if ((uintptr_t)s->buffer[%d] %% %d != 0) return %s;\n", b, (int)align, other);
  }
}
