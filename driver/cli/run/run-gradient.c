/* driver/cli/run/run-gradient.c: `stc run --gradient=FOLDER`: computes the sum of the losses, and writes a file of
 * derivatives for each target. */
#include "driver/cli/run/job.h"
#include "driver/data/data.h"

#include <stdlib.h>
#include <string.h>

/* If `name` is a scalar with a value for each member, writes the shape of its `n` values to *f. */
static void shape_of_scalar(const Job *j, const char *name, int64_t n, StcFieldInfo *f) {
  StcReduction value = {0};
  for (int i = 0; stc_program_scalar(j->program, i); i++)
    if (!strcmp(stc_program_scalar(j->program, i), name) && !stc_plan_scalar(j->plan, name, &value) && value.members)
      *f = (StcFieldInfo){.name = name, .rank = 1, .shape = {n}};
}

/* Writes the shape of target number `i` to *f: for a field its points, followed by its components if there are several;
 * complex numbers stay complex. */
static StcStatus shape_of(const Job *j, int i, StcFieldInfo *f, int64_t *n, int64_t axes[2]) {
  const char *name = stc_program_gradient_name(j->program, i);
  int field = stc_program_find_field(j->program, name), array = stc_program_find_array(j->program, name);
  StcStatus s = STC_OK;
  *n = stc_plan_gradient_size(j->plan, i);
  *f = (StcFieldInfo){.name = name};
  if (field >= 0)
    s = stc_plan_field(j->plan, field, f);
  else if (array >= 0)
    s = stc_plan_array(j->plan, array, f);
  else
    shape_of_scalar(j, name, *n, f);
  if (s)
    return s;
  int64_t points = 1;
  bool is_complex = f->dtype && !strncmp(f->dtype, "'<c", 3);
  for (int d = 0; d < f->rank; d++)
    points *= f->shape[d];
  axes[0] = points ? *n / points : 1;
  f->naxes = is_complex ? f->naxes : f->ncomponents > 1;
  f->axes = is_complex ? f->axes : axes;
  f->type = STC_F64;
  f->dtype = is_complex ? "'<c16'" : "'<f8'";
  f->type_name = "f64";
  f->ncomponents = 1;
  f->components = NULL;
  f->bytes = *n * (int64_t)sizeof(double);
  return STC_OK;
}

StcStatus run_gradient(Job *j, int64_t steps) {
  const Command *c = j->c;
  int64_t memory, n, axes[2];
  double value;
  StcFieldInfo f;
  StcStatus s = command_memory(c, &memory);
  if (!s)
    s = stc_plan_gradient_scratch(j->plan, c->scratch);
  if (!s)
    s = stc_plan_gradient(j->plan, steps, memory, &value);
  if (!s)
    printf("gradient: value %.17g\n", value);
  for (int i = 0; i < stc_program_gradient_count(j->program) && !s; i++) {
    s = shape_of(j, i, &f, &n, axes);
    double *data = s ? NULL : malloc((size_t)f.bytes + 1);
    const char *path = arena_printf(c->arena, "%s/%s.npy", c->gradient, f.name);
    if (!s)
      s = data ? stc_plan_gradient_get(j->plan, i, data, (size_t)n) : STC_MEMORY;
    if (!s && f.rank == 0)
      printf("gradient: %s %.17g\n", f.name, *data);
    else if (!s)
      s = npy_write(c->context, path, &f, data);
    if (!s && f.rank)
      printf("gradient: %s in %s\n", f.name, path);
    free(data);
  }
  return s;
}
