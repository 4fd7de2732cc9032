/* large.c N M K: what the functions of large.h say of such params, for which there is memory only if they are small. */
#include <stdio.h>

#include "large.h"

int main(int argc, char **argv) {
  large_params p = large_defaults();
  const char *e;
  if (argc < 4)
    return 2;
  p.N = strtoll(argv[1], NULL, 10), p.M = strtoll(argv[2], NULL, 10), p.K = strtoll(argv[3], NULL, 10);
  printf("%d sizes, ", large_size_u(&p) >= 0 && large_length_src(&p) >= 0 && large_extent_u(&p, 0) >= 0);
  e = large_bind(&p);
  if (e) {
    const char *filled = large_fill_points_1(&p, NULL, NULL), *begun = large_init(&p, NULL, NULL, NULL, NULL, NULL);
    const char *ran = large_run(&p, 0, 3, NULL, NULL, NULL, NULL, NULL);
    return puts(e), strcmp(e, filled ? filled : "") || strcmp(e, begun ? begun : "") || strcmp(e, ran ? ran : "");
  }
  printf("u has %lld points\n", (long long)large_size_u(&p));
  return 0;
}
