/* driver/artifact/header-live.c: C text, in the header and the launcher, that finds the blocks of kernels that a run
 * launches: those of tiles with work for the kernel (driver/program/busy.c). As in plans (driver/instance/plan-idle.c),
 * they are found after the values that are computed once. */
#include "driver/artifact/header.h"

/* The function that counts tiles by class. */
static const char c_busy[] =
    "/* Are tiles of that class among those whose bits are in `busy`? */\n"
    "static inline int stc_is_busy(uint32_t tile, unsigned busy) { return tile > 31 || (busy >> tile & 1) != 0; }\n"
    "/* Has a list of n rows, each a tile's class and `columns` - 1 more numbers, begin with those that are; how many. "
    "*/\n"
    "static inline int64_t stc_busy_rows(uint32_t *rows, int64_t n, int columns, unsigned busy) {\n"
    "  int64_t i, live = 0;\n"
    "  for (i = 0; i < n; i++)\n"
    "    if (stc_is_busy(rows[i * columns], busy))\n"
    "      memmove(rows + live++ * columns, rows + i * columns, sizeof *rows * (size_t)columns);\n"
    "  return live;\n"
    "}\n"
    "/* 0: none of n tiles is; else -1. */\n"
    "static inline int64_t stc_busy_tiles(const unsigned char *tile, int64_t n, unsigned busy) {\n"
    "  int64_t i;\n"
    "  for (i = 0; i < n; i++)\n"
    "    if (stc_is_busy(tile[i], busy)) return -1;\n"
    "  return 0;\n"
    "}\n\n";

/* The same on the device, for a list, or for classes if `columns` is 0. */
static const char c_busy_gpu[] =
    "/* How many blocks are launched, in *live: as many as the list of n rows on the device, of which there are "
    "`bytes`, "
    "begins with then, or if `columns`\n"
    " * is 0, and n tiles have their classes there, all (-1) or none. */\n"
    "static inline const char *stc_gpu_busy(StcGpu *g, void *at, size_t bytes, int64_t n, int columns, unsigned busy, "
    "int64_t *live) {\n"
    "  const size_t row = columns ? sizeof(uint32_t) * (size_t)columns : 1, size = (size_t)n * row;\n"
    "  const char *e = NULL;\n"
    "  void *copy;\n"
    "  if (size == 0 || size > bytes) return NULL;\n"
    "  copy = malloc(size);\n"
    "  if (!copy) return \"out of memory\";\n"
    "  e = stc_gpu_read(g, copy, at, size);\n"
    "  if (!e) *live = columns ? stc_busy_rows((uint32_t *)copy, n, columns, busy) : stc_busy_tiles((unsigned char "
    "*)copy, n, busy);\n"
    "  if (!e && columns && *live > 0) e = stc_gpu_error(stc_gpu_in(at, copy, (size_t)*live * row), \"copying to the "
    "device\");\n"
    "  free(copy);\n"
    "  return e;\n"
    "}\n\n";

/* A bit for each class in `busy`, and for each number that is no class. */
static unsigned bits_of(const bool *busy) {
  unsigned bits = ~((1u << MOST_CLASSES) - 1);
  for (int c = 0; c < MOST_CLASSES; c++)
    bits |= (unsigned)busy[c] << c;
  return bits;
}

/* The first kernel with the same list as kernel number `i`: the one for which the list is made. */
static int first_of_list(const Module *m, int i) {
  int first = 0;
  while (m->kernels[first].list != m->kernels[i].list)
    first++;
  return first;
}

/* Adds statements that find the blocks of kernel number `i`, whose classes are in buffer `classes`. Lists and classes
 * include the tiles that the kernel leaves out: kernels at edges compute some of the tiles with classes. */
static void find_blocks(TextWriter *w, int i, int classes, unsigned bits) {
  const Module *m = w->m;
  const Kernel *k = &m->kernels[i];
  int columns = k->list ? k->rank + 1 : 0, b = k->list ? k->list - 1 : classes;
  const char *size = c_text(w, "$_size_%s(p)", w->fields[m->buffers[b].field]);
  if (k->list && first_of_list(m, i) < i) {
    c_put(w, "  s->live[%d] = s->live[%d];\n", i, first_of_list(m, i));
    return;
  }
  Kernel all = *k;
  all.leaves_out = false;
  c_put(w, "  {\n");
  if (k->list)
    c_put(w, "%s", header_blocks_text(&all)), header_blocks(w, &all);
  else
    c_put(w, "  const int64_t total = %s;\n", size);
  if (w->gpu)
    c_put(w,
          "  if (!e) e = stc_gpu_busy(&$_gpu.gpu, s->buffer[%d], (size_t)%s%s, total, %d, 0x%xu, &s->live[%d]);\n  }\n",
          b, size, k->list ? " * sizeof(uint32_t)" : "", columns, bits, i);
  else if (k->list)
    c_put(w, "  if (total * %d <= %s) s->live[%d] = stc_busy_rows((uint32_t *)s->buffer[%d], total, %d, 0x%xu);\n  }\n",
          columns, size, i, b, columns, bits);
  else
    c_put(w, "  s->live[%d] = stc_busy_tiles((unsigned char *)s->buffer[%d], total, 0x%xu);\n  }\n", i, b, bits);
}

void header_find_live(TextWriter *w) {
  const Module *m = w->m;
  int32_t classes;
  bool busy[MOST_CLASSES];
  if (!module_has_busy(m))
    return;
  str_add(&w->s, c_busy);
  if (w->gpu)
    str_add(&w->s, c_busy_gpu);
  c_put(w,
        "/* Finds which blocks of kernels have something to do, by the classes of their tiles. */\nstatic inline const "
        "char *$_find_live($_state *s) {\n  const $_params *p = s->p;\n  const char *e = NULL;\n  (void)p;\n");
  if (w->gpu && !m->nreductions)
    c_put(w, "  if ($_gpu.gpu.stream) return NULL;   /* what is in a stream is not waited for: all are launched */\n");
  for (int i = 0; i < m->nkernels; i++)
    if (kernel_busy(m, i, &classes, busy))
      find_blocks(w, i, classes, bits_of(busy));
  str_add(&w->s, "  return e;\n}\n\n");
}

void header_live_blocks(TextWriter *w, int number) {
  const Kernel *k = &w->m->kernels[number];
  int32_t classes;
  bool busy[MOST_CLASSES];
  header_blocks(w, k);
  if (!kernel_busy(w->m, number, &classes, busy))
    return;
  if (k->list)
    c_put(w, "  if (s->live[%d] >= 0) blocks[%d] = total = s->live[%d];\n", number, k->rank - 1, number);
  else
    c_put(w, "  if (s->live[%d] == 0) return NULL;\n", number);
}
