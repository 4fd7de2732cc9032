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
  return buffer->kind == BUFFER_PARAM ? arena_printf(w->arena, "array_%s", w->arrays[buffer->field])
                                      : arena_printf(w->arena, "field_%s", w->fields[buffer->field]);
}

/* The bytes of buffer `b`, as C text. */
static const char *bytes_text(const TextWriter *w, int b) {
  const Buffer *buffer = &w->m->buffers[b];
  const char *type = c_type(buffer_type(w->m, b));
  if (buffer->kind == BUFFER_PARAM)
    return arena_printf(w->arena, "sizeof(%s) * (size_t)%s_length_%s(p)", type, w->p, w->arrays[buffer->field]);
  if (buffer->kind == BUFFER_FIELD)
    return arena_printf(w->arena, "sizeof(%s) * (size_t)%s_size_%s(p)", type, w->p, w->fields[buffer->field]);
  return arena_printf(w->arena, "sizeof(%s) * (size_t)%s", type, header_cells(w, buffer));
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
    str_addf(&w->s, "  if (!e) e = stc_gpu_take(&%s_gpu.gpu, %d, %s, %s, %s, &s->buffer[%d], &s->home[%d]);\n", w->p, b,
             given_name(w, b), bytes_text(w, b), room, b, b);
  else
    str_addf(&w->s, "  if (!e) e = stc_gpu_own(&%s_gpu.gpu, %d, %s, &s->buffer[%d]);\n", w->p, b, room, b);
}

void launcher_close_buffer(TextWriter *w, int b, bool settle) {
  const Module *m = w->m;
  const Buffer *buffer = &m->buffers[b];
  const char *bytes = bytes_text(w, b);
  bool array = buffer->kind == BUFFER_PARAM;
  bool constant = array ? !array_is_written(m, buffer->field) : m->fields[buffer->field].input;
  if (settle)
    str_addf(&w->s, "  if (!e) e = stc_gpu_settle(&%s_gpu.gpu, s->buffer, s->home, %d, %d, %s, %d);\n", w->p,
             (int)m->nbuffers, b, bytes, (int)m->nbuffers);
  if (!constant)
    str_addf(&w->s, "  if (!e) e = stc_gpu_give(&%s_gpu.gpu, %d, %s, %s, s->home[%d]);\n", w->p, b, given_name(w, b),
             bytes, b);
}

void launcher_clear(TextWriter *w, int f) {
  int b = module_field_buffer(w->m, f, 0);
  if (b >= 0)
    str_addf(&w->s,
             "  if (!e && %s_size_%s(p) > 0) e = stc_gpu_error(stc_gpu_zero(s->buffer[%d], %s, "
             "%s_gpu.gpu.stream), \"clearing memory\");\n",
             w->p, w->fields[f], b, bytes_text(w, b), w->p);
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
  str_addf(&w->s,
           "/* All blocks of kernel %s. */\nstatic inline const char *%s_launch_%s(%s_state *s) {\n  const %s_params "
           "*p = s->p;\n",
           k->name, w->p, k->name, w->p, w->p);
  header_arguments(w, k);
  str_addf(&w->s, "  static const unsigned char sizes[] = %s;\n", argument_sizes(w, k));
  str_add(&w->s, "  int64_t blocks[3] = {1, 1, 1}, total;\n  (void)p;\n");
  header_choose(w, k);
  header_blocks(w, k);
  str_add(&w->s, "  if (total == 0) return NULL;\n");
  for (int d = 0; d < k->rank; d++) {
    block[k->rank - 1 - d] = k->threads[d];
    str_addf(&w->s,
             "  if (blocks[%d] > INT64_C(%lld)) return \"kernel %s needs more blocks in dimension %d than the device "
             "allows: compile with a larger tile there\";\n",
             d, (long long)t->max_grid[k->rank - 1 - d] / (d == k->rank - 1 && k->cluster ? k->cluster : 1), k->name,
             d);
  }
  str_add(&w->s, "  const unsigned grid[3] = {");
  for (int i = 0; i < 3; i++)
    str_addf(&w->s, i < k->rank ? "%s%s(unsigned)blocks[%d]" : "%s%s1", i ? ", " : "",
             i == 0 && k->cluster ? arena_printf(w->arena, "%d * ", (int)k->cluster) : "", k->rank - 1 - i);
  str_addf(&w->s,
           "}, block[3] = {%d, %d, %d};\n  return stc_gpu_error(stc_gpu_call(%s_gpu.function[%d], grid, block, "
           "%lld, %s_gpu.gpu.stream, args, sizes, %d), \"launching %s\");\n}\n\n",
           (int)block[0], (int)block[1], (int)block[2], w->p, number, (long long)dynamic_shared_bytes(k, w->gpu), w->p,
           (int)k->nargs, k->name);
}

/* ---------------------------------------------------------------- the artifact */

/* PTX as a string, a line each; other bytes as numbers. */
static void artifact(TextWriter *w, const char *bytes, size_t size) {
  str_addf(&w->s, "/* The kernels, for %s. */\n", target_info(w->gpu)->cpu);
  if (is_hip(w)) {
    str_addf(&w->s, "static const unsigned char %s_artifact[] __attribute__((aligned(4096))) = {", w->p);
    for (size_t i = 0; i < size; i++)
      str_addf(&w->s, "%s%d,", i % 32 ? "" : "\n", (unsigned char)bytes[i]);
    str_add(&w->s, "\n};\n\n");
    return;
  }
  str_addf(&w->s, "static const char %s_artifact[] =\n    \"", w->p);
  for (size_t i = 0; i < size && bytes[i]; i++)
    if (bytes[i] == '\n')
      str_add(&w->s, "\\n\"\n    \"");
    else
      str_addf(&w->s, bytes[i] == '"' || bytes[i] == '\\' ? "\\%c" : bytes[i] == '\t' ? "\\t" : "%c", bytes[i]);
  str_add(&w->s, "\";\n\n");
}

/* What a thread has, and the functions that are about that alone. */
static void device(TextWriter *w) {
  const Module *m = w->m;
  int n = m->nkernels ? m->nkernels : 1;
  str_addf(&w->s,
           "static _Thread_local struct {\n  StcGpu gpu;\n  void *function[%d], *own[%d];\n  size_t size[%d];\n} "
           "%s_gpu;\n\n",
           n, (int)m->nbuffers + 1, (int)m->nbuffers + 1, w->p);
  str_addf(&w->s, "static inline const char *%s_open(void) {\n  static const char *const name[%d] = {", w->p, n);
  for (int i = 0; i < m->nkernels; i++)
    str_addf(&w->s, "\"%s\", ", m->kernels[i].name);
  str_addf(&w->s, "};\n  static const unsigned shared[%d] = {", n);
  for (int i = 0; i < m->nkernels; i++)
    str_addf(&w->s, "%lld, ", (long long)dynamic_shared_bytes(&m->kernels[i], w->gpu));
  str_addf(&w->s,
           "};\n  StcGpu *g = &%s_gpu.gpu;\n  g->function = %s_gpu.function;\n  g->own = %s_gpu.own;\n  g->size = "
           "%s_gpu.size;\n  g->nown = %d;\n  return stc_gpu_open(g, %s_artifact, name, shared, %d);\n}\n\n",
           w->p, w->p, w->p, w->p, (int)m->nbuffers + 1, w->p, (int)m->nkernels);
  str_addf(&w->s,
           "/* Chooses the thread's device, by its number; 0 if nothing is said. Before the first init and run, or "
           "behind %s_close. */\nstatic inline const char *%s_device(int index) {\n  if (%s_gpu.gpu.open) return \"the "
           "thread has a device: call %s_close first\";\n  %s_gpu.gpu.index = index;\n  return NULL;\n}\n\n",
           w->p, w->p, w->p, w->p, w->p);
  str_addf(&w->s,
           "/* Has what the thread runs from now on go to this stream of the device, once all is done in the one "
           "before. */\nstatic inline const char *%s_stream(void *stream) {\n  StcGpu *g = &%s_gpu.gpu;\n  const char "
           "*e = NULL;\n  if (g->open && stream != g->stream) {\n    e = stc_gpu_error(stc_gpu_use(g->device, "
           "g->context), \"using the device\");\n    if (!e) e = stc_gpu_error(stc_gpu_wait(g->stream), \"running the "
           "kernels\");\n  }\n  g->stream = stream;\n  return e;\n}\n\n",
           w->p, w->p);
  str_addf(&w->s,
           "/* Gives back what the thread has of the device. */\nstatic inline void %s_close(void) { "
           "stc_gpu_close(&%s_gpu.gpu); }\n\n",
           w->p, w->p);
}

/* ---------------------------------------------------------------- the file */

/* What callers should know. `file` is what this is: the launcher or its header. */
static void about(TextWriter *w, const char *file) {
  const char *p = w->p;
  str_addf(&w->s, "/* The stencil program %s on %s GPUs (%s), as C functions: %s. Made by stc %s.\n *\n",
           comment_name(w->arena, w->program->name), is_hip(w) ? "AMD" : "NVIDIA", target_info(w->gpu)->cpu, file,
           STC_VERSION);
  str_addf(&w->s, " *   %s_params p = %s_defaults();      params, to be changed as wanted\n", p, p);
  str_addf(&w->s, " *   %s_init(&p, fields...);            where the program has inits\n", p);
  str_addf(&w->s, " *   %s_run(&p, 0, steps, fields...);   time steps first_step .. first_step + steps - 1, in place\n",
           p);
  str_addf(&w->s, " *   %s_close();                        gives the device's memory back\n *\n", p);
  str_add(&w->s, " * Fields are dense arrays in C order of the extents that *_extent_* give; launch-time arrays have "
                 "*_length_* elements. Vectors and\n * structs are one array a component, older levels of a field "
                 "arrays of their own. f16 and bf16 are passed as their bits. An array in\n * the device's memory is "
                 "used where it is; any other is copied to the device and back. Functions return NULL, or what is "
                 "wrong.\n *\n");
  str_addf(&w->s,
           " * Runs go to the stream that %s_stream names, and are waited for; not those on the device's memory in a "
           "stream of the caller's, where\n * programs without reductions are queued only. Each thread has kernels, "
           "memory, device and stream of its own.\n */\n",
           p);
}

char *launcher_text(Workspace *ws, const StcProgram *p, const Module *m, const Target *t, const char *bytes,
                    size_t size) {
  TextWriter w = header_writer(ws->arena, p, m, t), body = w;
  about(&w, is_hip(&w) ? "link with -lamdhip64 -lm" : "link with -lcuda -lm");
  str_add(&w.s, "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n#include "
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
  str_addf(&w->s, "%s %s_%s(%s);\n", result, w->p, name, parameters);
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
