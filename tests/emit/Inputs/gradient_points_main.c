/* gradient_points_main.c: the gradient of gradient_points.stn by one function, as `stc run --gradient=by` prints it,
 * whose files for T and loud this writes the values of to files of their own. Before that, what the function refuses.
 * The third argument: steps from one snapshot to the next. */
#include "gradient_points.h"
#include "gradient_points.back.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40, PLACES = 3, STEPS = 9 };

/* Writes the numbers. */
static int write_to(const char *path, const double *x, size_t n) {
  FILE *f = fopen(path, "wb");
  int bad = !f || fwrite(x, sizeof *x, n, f) != n;
  return !f || fclose(f) || bad;
}

/* Is the refusal that which is expected? */
static int is(const char *wrong, const char *expected) {
  if (wrong && !strcmp(wrong, expected))
    return 1;
  printf("%s: %s\n", expected, wrong ? wrong : "not refused");
  return 0;
}

int main(int argc, char **argv) {
  double T[N], older[N] = {0}, loud[PLACES] = {1, 0.5, -2}, t = 0, by_T[N], by_loud[PLACES], value = 0, by_k = 0,
               by_t = 0;
  int32_t places[PLACES] = {7, 20, 7}, list[N] = {0}, next[PLACES] = {0}, beyond[PLACES] = {7, 20, N};
  gradient_points_params p = gradient_points_defaults();
  for (int i = 0; i < N; i++)
    T[i] = 0.125 * (i % 5);
  const char *wrong = gradient_points_fill_points_1(&p, list, next, places);
  if (!wrong)
    wrong = gradient_points_init(&p, T, older, list, places, loud, next, &t);
  int fine =
      is(gradient_points_gradient(NULL, 1, 0, T, older, list, places, loud, next, &t, &value, by_T, by_loud, &by_k,
                                  &by_t),
         "params is NULL") &&
      is(gradient_points_gradient(&p, -1, 0, T, older, list, places, loud, next, &t, &value, by_T, by_loud, &by_k,
                                  &by_t),
         "steps is negative: it is the number of steps to make") &&
      is(gradient_points_gradient(&p, 1, 0, T, NULL, list, places, loud, next, &t, &value, by_T, by_loud, &by_k, &by_t),
         "field_T_1 is NULL") &&
      is(gradient_points_gradient(&p, 1, 0, T, older, list, places, NULL, next, &t, &value, by_T, by_loud, &by_k,
                                  &by_t),
         "array_loud is NULL") &&
      is(gradient_points_gradient(&p, 1, 0, T, older, list, places, loud, next, &t, NULL, by_T, by_loud, &by_k, &by_t),
         "value is NULL") &&
      is(gradient_points_gradient(&p, 1, 0, T, older, list, places, loud, next, &t, &value, by_T, NULL, &by_k, &by_t),
         "by_loud is NULL") &&
      is(gradient_points_gradient(&p, INT64_MAX, 0, T, older, list, places, loud, next, &t, &value, by_T, by_loud,
                                  &by_k, &by_t),
         "array t.steps has too many elements for 64-bit addresses") &&
      is(gradient_points_gradient(&p, 1, 0, T, older, list, beyond, loud, next, &t, &value, by_T, by_loud, &by_k,
                                  &by_t),
         "a point of the list is outside of its region");
  if (!wrong && fine)
    wrong = gradient_points_gradient(&p, STEPS, argc > 3 ? atoi(argv[3]) : 0, T, older, list, places, loud, next, &t,
                                     &value, by_T, by_loud, &by_k, &by_t);
#ifdef GPU
  gradient_points_close();
  gradient_points_back_close();
#endif
  if (wrong || !fine || argc < 3)
    return puts(wrong ? wrong : "that is not right"), 1;
  printf("gradient: value %.17g\ngradient: T in by/T.npy\ngradient: loud in by/loud.npy\n", value);
  printf("gradient: k %.17g\ngradient: t %.17g\n", by_k, by_t);
  return write_to(argv[1], by_T, N) | write_to(argv[2], by_loud, PLACES);
}
