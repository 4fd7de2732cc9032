/* A program that compiles and runs heat.stn by libstc. */
#include <stc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  StcContext *c = stc_context_new(NULL);
  StcProgram *p = NULL;
  StcPlan *plan = NULL;
  const char *defines[] = {"N=16"};
  float *a = calloc(256, sizeof *a);
  if (argc < 2 || !c || !a)
    return 2;
  a[16 * 5 + 5] = 1;
  StcStatus s = stc_compile_file(c, argv[1], NULL, &p);
  if (!s)
    s = stc_plan_new(p, "host", 1, defines, &plan);
  if (!s)
    s = stc_plan_set(plan, 0, a, 1024);
  if (!s)
    s = stc_plan_run(plan, 1, NULL);
  if (!s)
    s = stc_plan_get(plan, 0, a, 1024);
  int right = !s && a[16 * 5 + 5] == 0.2f && a[16 * 5 + 6] == 0.2f && a[16 * 6 + 6] == 0;
  printf("%s\n", right ? "right" : "wrong");
  stc_plan_free(plan);
  stc_program_free(p);
  stc_context_free(c);
  free(a);
  return !right;
}
