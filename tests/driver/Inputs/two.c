/* Two programs in one: ./two prints a value of each, and what is wrong with grids without points. */
#include <stdio.h>

#include "first.h"
#include "second.h"

int main(void) {
  first_params p = first_defaults();
  second_params q = second_defaults();
  float A[8], B[8];
  int64_t done;
  const char *e = first_init(&p, A);
  if (!e)
    e = first_run(&p, 0, 3, A, &done);
  if (!e)
    e = second_init(&q, B);
  if (!e)
    e = second_run(&q, 0, 3, B, &done);
  if (e)
    return puts(e), 1;
  printf("%g %g %g %g\n", A[3], p.total, B[3], q.total);
  for (int n = 0; n > -4; n -= 3) {
    p.N = n;
    e = first_bind(&p);
    puts(e ? e : "all is well");
    e = first_run(&p, 0, 3, A, &done);
    puts(e ? e : "all is well");
  }
  p.N = INT64_C(1) << 61;
  puts(first_bind(&p) ? first_bind(&p) : "all is well");
  return 0;
}
