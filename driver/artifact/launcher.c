/* driver/artifact/launcher.c: -emit=launcher, one C file that contains a GPU's artifact and runs it. It has the
 * functions of a host artifact's header (header.c), and needs CUDA's driver or HIP's runtime, and no other file. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

#include <string.h>

/* Does the launcher call HIP? */
static bool is_hip(const TextWriter *w) { return strcmp(target_arch(w->gpu), "amdgpu") == 0; }

/* ---------------------------------------------------------------- the artifact */

/* Adds the artifact: PTX as a string, with a literal for each line; other bytes as numbers. */
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

/* Adds the data of a host thread, and the functions that use only that. */
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

/* Adds the comment for callers. `file`: the kind of file, the launcher or its header. */
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

/* Adds the prototype of a function. */
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
  str_add(&w.s, "\n#ifdef __cplusplus\n}\n#endif\n");
  if (p->forward)
    header_gradient(&w, p->forward, p->forward->kernels);
  str_add(&w.s, "#endif\n");
  return w.s.s;
}
