/* driver/artifact/launcher.c: -emit=launcher, one C file that has a GPU's artifact in it and runs it, with the
 * functions that the header of a host artifact has (header.c): it needs CUDA's driver or HIP's runtime, and no other
 * file. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

#include <string.h>

/* Does the launcher call HIP? */
static bool is_hip(const TextWriter *w) { return strcmp(target_arch(w->gpu), "amdgpu") == 0; }

/* ---------------------------------------------------------------- memory */

/* The caller's array that buffer `b` is, as the name of a parameter. */
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

/* The bytes that kernels may read of it: those of a field without points count each empty dimension as one, an empty
 * array has an element. */
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

/* ---------------------------------------------------------------- launches */

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

/* ---------------------------------------------------------------- the artifact */

/* PTX as a string, a line each; other bytes as numbers. */
static void artifact(TextWriter *w, const char *bytes, size_t size) {
  c_put(w, "/* The kernels, for %s. */\n", target_info(w->gpu)->cpu);
  if (is_hip(w)) {
    c_put(w, "static const unsigned char $_artifact[] __attribute__((aligned(4096))) = {");
    for (size_t i = 0; i < size; i++)
      c_put(w, "%s%d,", i % 32 ? "" : "\n", (unsigned char)bytes[i]);
    c_put(w, "\n};\n\n");
    return;
  }
  c_put(w, "static const char $_artifact[] =\n    \"");
  for (size_t i = 0; i < size && bytes[i]; i++)
    if (bytes[i] == '\n')
      c_put(w, "\\n\"\n    \"");
    else
      c_put(w, bytes[i] == '"' || bytes[i] == '\\' ? "\\%c" : bytes[i] == '\t' ? "\\t" : "%c", bytes[i]);
  c_put(w, "\";\n\n");
}

/* What a thread has, and the functions that are about that alone. */
static void device(TextWriter *w) {
  const Module *m = w->m;
  int n = m->nkernels ? m->nkernels : 1;
  c_put(
      w,
      "static _Thread_local struct {\n  StcGpu gpu;\n  void *function[%d], *own[%d];\n  size_t size[%d];\n} $_gpu;\n\n",
      n, (int)m->nbuffers + 1, (int)m->nbuffers + 1);
  c_put(w, "static inline const char *$_open(void) {\n  static const char *const name[%d] = {", n);
  for (int i = 0; i < m->nkernels; i++)
    c_put(w, "\"%s\", ", m->kernels[i].name);
  c_put(w, "};\n  static const unsigned shared[%d] = {", n);
  for (int i = 0; i < m->nkernels; i++)
    c_put(w, "%lld, ", (long long)dynamic_shared_bytes(&m->kernels[i], w->gpu));
  c_put(w,
        "};\n  StcGpu *g = &$_gpu.gpu;\n  g->function = $_gpu.function;\n  g->own = $_gpu.own;\n  g->size = "
        "$_gpu.size;\n  g->nown = %d;\n  return stc_gpu_open(g, $_artifact, name, shared, %d);\n}\n\n",
        (int)m->nbuffers + 1, (int)m->nkernels);
  c_put(w, "/* Chooses the thread's device, by its number; 0 by default. Before the first init and run, or "
           "behind $_close. */\nstatic inline const char *$_device(int index) {\n  if ($_gpu.gpu.open) return \"the "
           "thread has a device: call $_close first\";\n  $_gpu.gpu.index = index;\n  return NULL;\n}\n\n");
  c_put(w, "/* Has what the thread runs from now on go to this stream of the device, once all is done in the one "
           "before. */\nstatic inline const char *$_stream(void *stream) {\n  StcGpu *g = &$_gpu.gpu;\n  const char *e "
           "= NULL;\n  if (g->open && stream != g->stream) {\n    e = stc_gpu_error(stc_gpu_use(g->device, "
           "g->context), \"using the device\");\n    if (!e) e = stc_gpu_error(stc_gpu_wait(g->stream), \"running the "
           "kernels\");\n  }\n  g->stream = stream;\n  return e;\n}\n\n");
  c_put(w, "/* Gives back what the thread has of the device. */\nstatic inline void $_close(void) { "
           "stc_gpu_close(&$_gpu.gpu); }\n\n");
}

/* ---------------------------------------------------------------- the file */

/* What callers should know. `file` is what this is: the launcher or its header. */
static void about(TextWriter *w, const char *file) {
  const char *p = w->p;
  c_put(w, "/* The stencil program %s on %s GPUs (%s), as C functions: %s. Made by stc %s.\n *\n",
        comment_name(w->arena, w->program->name), is_hip(w) ? "AMD" : "NVIDIA", target_info(w->gpu)->cpu, file,
        STC_VERSION);
  c_put(w, " *   %s_params p = %s_defaults();      params, to be changed as wanted\n", p, p);
  c_put(w, " *   %s_init(&p, fields...);            where the program has inits\n", p);
  c_put(w, " *   %s_run(&p, 0, steps, fields...);   time steps first_step .. first_step + steps - 1, in place\n", p);
  c_put(w, " *   %s_close();                        gives the device's memory back\n *\n", p);
  c_put(w, " * Fields are dense arrays in C order of the extents that *_extent_* give; launch-time arrays have "
           "*_length_* elements. Vectors and\n * structs are one array a component, older levels of a field arrays of "
           "their own. f16 and bf16 are passed as their bits. An array in\n * the device's memory is used where it is; "
           "any other is copied to the device and back. Functions return NULL, or what is wrong.\n *\n");
  c_put(w,
        " * Runs go to the stream that %s_stream names, and are waited for; not those on the device's memory in a "
        "stream of the caller's, where\n * programs without reductions are queued only. Each thread has kernels, "
        "memory, device and stream of its own.\n */\n",
        p);
}

char *launcher_text(Workspace *ws, const StcProgram *p, const Module *m, const Target *t, const char *bytes,
                    size_t size) {
  TextWriter w = header_writer(ws->arena, p, m, t), body = w;
  about(&w, is_hip(&w) ? "link with -lamdhip64 -lm" : "link with -lcuda -lm");
  str_add(&w.s, "#ifdef __cplusplus\n#error \"this is C: compile it by a C compiler; C++ calls it by the header of "
                "-emit=header\"\n"
                "#endif\n#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n#include "
                "<stdlib.h>\n#include <string.h>\n\n");
  header_helpers(&w);
  str_addf(&w.s, "%s\n%s\n", is_hip(&w) ? launcher_hip : launcher_cuda, launcher_common);
  artifact(&w, bytes, size);
  device(&body);
  header_params(&body);
  header_scalars(&body);
  header_runs(&body);
  header_outside(&w, body.s.s, "");
  return w.s.s;
}

/* The prototype of a function. */
static void prototype(TextWriter *w, const char *result, const char *name, const char *parameters,
                      const char *arguments) {
  (void)arguments;
  c_put(w, "%s $_%s(%s);\n", result, name, parameters);
}

char *launcher_header_text(Workspace *ws, const StcProgram *p, const Module *m, const Target *t) {
  TextWriter w = header_writer(ws->arena, p, m, t);
  about(&w, "the functions of the C file that -emit=launcher makes");
  str_addf(&w.s,
           "#ifndef STC_%s_H\n#define STC_%s_H\n\n#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef "
           "__cplusplus\nextern \"C\" {\n#endif\n\n",
           w.p, w.p);
  header_params(&w);
  header_each_function(&w, prototype);
  str_add(&w.s, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
  return w.s.s;
}
