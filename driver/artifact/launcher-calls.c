/* driver/artifact/launcher-calls.c: the calls of the GPU's driver in the functions of a launcher: allocating and
 * freeing memory, launches. A host's header uses the caller's memory and loops over blocks instead. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

/* The name of the parameter for the caller's array that is buffer `b`. */
static const char *given_name(const TextWriter *w, int b) {
  const Buffer *buffer = &w->m->buffers[b];
  return buffer->kind == BUFFER_PARAM ? c_text(w, "array_%s", w->arrays[buffer->field])
                                      : c_text(w, "field_%s", w->fields[buffer->field]);
}

/* The bytes of buffer `b`, as C text. */
static const char *bytes_text(const TextWriter *w, int b) {
  const Buffer *buffer = &w->m->buffers[b];
  const char *type = c_type(buffer_type(w->m, b));
  if (buffer->kind == BUFFER_PARAM)
    return c_text(w, "sizeof(%s) * (size_t)$_length_%s(p)", type, w->arrays[buffer->field]);
  if (buffer->kind == BUFFER_FIELD)
    return c_text(w, "sizeof(%s) * (size_t)$_size_%s(p)", type, w->fields[buffer->field]);
  return c_text(w, "sizeof(%s) * (size_t)%s", type, header_cells(w, buffer));
}

/* The bytes that kernels may read of the buffer, as C text: each empty dimension of a field without points counts as
 * one, an empty array as one element. */
static const char *room_text(TextWriter *w, int b) {
  const Buffer *buffer = &w->m->buffers[b];
  const char *type = c_type(buffer_type(w->m, b));
  Str s = {w->arena, NULL, 0, 0};
  str_addf(&s, "sizeof(%s)", type);
  if (buffer->kind == BUFFER_PARAM)
    str_addf(&s, " * (size_t)stc_imax(%s_length_%s(p), 1)", w->p, w->arrays[buffer->field]);
  else if (buffer->kind == BUFFER_FIELD)
    for (int d = 0; d < w->m->fields[buffer->field].box.rank; d++)
      str_addf(&s, " * (size_t)stc_imax(%s_extent_%s(p, %d), 1)", w->p, w->fields[buffer->field], d);
  else
    str_addf(&s, " * (size_t)%s", header_cells(w, buffer));
  return s.s;
}

void launcher_open_buffer(TextWriter *w, int b) {
  const char *room = room_text(w, b);
  if (header_is_given(w->m, b))
    c_put(w, "  if (!e) e = stc_gpu_take(&$_gpu.gpu, %d, %s, %s, %s, &s->buffer[%d], &s->home[%d]);\n", b,
          given_name(w, b), bytes_text(w, b), room, b, b);
  else
    c_put(w, "  if (!e) e = stc_gpu_own(&$_gpu.gpu, %d, %s, &s->buffer[%d]);\n", b, room, b);
}

void launcher_close_buffer(TextWriter *w, int b, bool settle, bool set) {
  const Module *m = w->m;
  const Buffer *buffer = &m->buffers[b];
  const char *bytes = bytes_text(w, b);
  bool array = buffer->kind == BUFFER_PARAM;
  bool constant = array ? !array_is_written(m, buffer->field) : m->fields[buffer->field].input && !set;
  if (settle)
    c_put(w, "  if (!e) e = stc_gpu_settle(&$_gpu.gpu, s->buffer, s->home, %d, %d, %s, %d);\n", (int)m->nbuffers, b,
          bytes, (int)m->nbuffers);
  if (!constant)
    c_put(w, "  if (!e) e = stc_gpu_give(&$_gpu.gpu, %d, %s, %s, s->home[%d]);\n", b, given_name(w, b), bytes, b);
}

void launcher_clear(TextWriter *w, int f) {
  int b = module_field_buffer(w->m, f, 0);
  if (b >= 0)
    c_put(w,
          "  if (!e && $_size_%s(p) > 0) e = stc_gpu_error(stc_gpu_zero(s->buffer[%d], %s, $_gpu.gpu.stream), "
          "\"clearing memory\");\n",
          w->fields[f], b, bytes_text(w, b));
}

/* "{8, 8, 4, 1}": the bytes of each argument. */
static const char *argument_sizes(const TextWriter *w, const Kernel *k) {
  Str s = {w->arena, NULL, 0, 0};
  str_add(&s, "{");
  for (int i = 0; i < k->nargs; i++)
    str_addf(&s, "%d, ", (int)kernel_arg_size(w->m, &k->args[i]));
  str_add(&s, "0}");
  return s.s;
}

void launcher_launch(TextWriter *w, const Kernel *k, int number) {
  const TargetInfo *t = target_info(w->gpu);
  int64_t block[3] = {1, 1, 1};
  c_put(w,
        "/* All blocks of kernel %s. */\nstatic inline const char *$_launch_%s($_state *s) {\n  const $_params *p = "
        "s->p;\n",
        k->name, k->name);
  header_arguments(w, k);
  c_put(w, "  static const unsigned char sizes[] = %s;\n", argument_sizes(w, k));
  c_put(w, "%s  (void)p;\n", header_blocks_text(k));
  header_choose(w, k);
  header_live_blocks(w, number);
  c_put(w, "  if (total == 0) return NULL;\n");
  for (int d = 0; d < k->rank; d++) {
    if (k->rank - 1 - d < GRID_RANK)
      block[k->rank - 1 - d] = k->threads[d];
    if (k->rank > GRID_RANK && d == 1)
      continue;
    c_put(w,
          "  if (%sblocks[%d] > INT64_C(%lld)) return \"kernel %s needs more blocks in dimension %d than the device "
          "allows: compile with a larger tile there\";\n",
          k->rank > GRID_RANK && d == 0 ? "blocks[1] * " : "", d,
          (long long)t->max_grid[k->rank > GRID_RANK && d == 0 ? GRID_RANK - 1 : k->rank - 1 - d] /
              (d == k->rank - 1 && k->cluster ? k->cluster : 1),
          k->name, d);
  }
  c_put(w, "  const unsigned grid[3] = {");
  for (int i = 0; i < 3; i++)
    c_put(w, i < k->rank ? "%s%s(unsigned)%sblocks[%d]" : "%s%s1", i ? ", " : "",
          i == 0 && k->cluster ? c_text(w, "%d * ", (int)k->cluster) : "",
          k->rank > GRID_RANK && i == GRID_RANK - 1 ? "blocks[0] * (unsigned)" : "", k->rank - 1 - i);
  c_put(w,
        "}, block[3] = {%d, %d, %d};\n  return stc_gpu_error(stc_gpu_call($_gpu.function[%d], grid, block, "
        "%lld, $_gpu.gpu.stream, args, sizes, %d), \"launching %s\");\n}\n\n",
        (int)block[0], (int)block[1], (int)block[2], number, (long long)dynamic_shared_bytes(k, w->gpu), (int)k->nargs,
        k->name);
}
