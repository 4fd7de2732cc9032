/* driver/explain/explain-ptxas.c: registers and spills from ptxas or from the metadata of compiled kernels, for
 * comparison with the estimates. */
#include "driver/explain/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes the assembly of the kernels of the sequence, and of no others. Reductions are left out, as their sequences
 * refer to kernels that are missing here. NULL if this fails. */
static const char *code_of(const Explanation *e, size_t *size) {
  Module m = *e->kernels;
  CodegenOptions o = program_codegen_options(e->program, e->kernels, e->target);
  char *bytes;
  m.kernels = ARENA_ARRAY(e->arena, Kernel, e->nkernels + 1);
  m.nkernels = m.nreductions = 0;
  for (int i = 0; i < e->nkernels; i++) {
    bool again = false;
    for (int k = 0; k < i; k++)
      again |= e->list[k].kernel == e->list[i].kernel;
    if (!again)
      m.kernels[m.nkernels++] = *e->list[i].kernel;
  }
  return codegen(e->arena, e->program->w.diags, &m, e->target, EMIT_ASM, &o, &bytes, size) ? bytes : NULL;
}

/* Records the facts in a line of the assembler's output about kernel `name`: "16 bytes stack frame, 20 bytes spill
 * stores, 20 bytes spill loads", "Used 72 registers". */
static void read_line(Explanation *e, const char *name, const char *line) {
  const char *used = strstr(line, "Used "), *spill = strstr(line, " bytes spill stores");
  for (int i = 0; i < e->nkernels; i++) {
    Assembled *a = &e->list[i].assembled;
    if (strcmp(e->list[i].kernel->name, name) != 0)
      continue;
    if (used && strstr(used, " registers")) {
      a->registers = atoi(used + strlen("Used "));
      a->found = a->registers > 0;
    }
    while (spill && spill > line && spill[-1] >= '0' && spill[-1] <= '9')
      spill--;
    if (spill)
      a->spilled_bytes = atoi(spill);
  }
}

/* Reads the output of the assembler. */
static void read_report(Explanation *e, FILE *from) {
  static const char about[] = "Compiling entry function '";
  char line[1024], name[256] = "";
  while (fgets(line, sizeof line, from)) {
    const char *start = strstr(line, about);
    if (start)
      snprintf(name, sizeof name, "%.*s", (int)strcspn(start + strlen(about), "'"), start + strlen(about));
    else if (*name)
      read_line(e, name, line);
  }
}

/* Reads the metadata of the kernels in the assembly. */
static void read_metadata(Explanation *e) {
  size_t size;
  const char *code = code_of(e, &size);
  for (int i = 0; code && i < e->nkernels; i++) {
    Assembled *a = &e->list[i].assembled;
    a->told = target_resources(e->target, code, e->list[i].kernel->name, &a->taken);
  }
}

void explain_assemble(Explanation *e) {
  size_t size;
  if (target_tells_resources(e->target)) {
    read_metadata(e);
    return;
  }
  const char *tool = strcmp(target_arch(e->target), "nvptx") == 0 ? assembler_find(e->arena) : NULL;
  const char *code = tool ? code_of(e, &size) : NULL, *file = code ? write_temporary(e->arena, code, size) : NULL;
  if (!file)
    return;
  FILE *from = popen(arena_printf(e->arena, "'%s' -v -arch=%s -o /dev/null '%s' 2>&1", tool, e->info.cpu, file), "r");
  if (from) {
    read_report(e, from);
    if (pclose(from) == 0)
      e->assembler = tool;
  }
  unlink(file);
}
