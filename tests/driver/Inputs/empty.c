/* Runs empty.stn through the header that stc wrote, with no memory for the arrays, which are empty: prints what it
 * came to. */
#include <stdio.h>

#include "empty.h"

int main(void) {
  empty_params p = empty_defaults();
  float A[10];
  const char *e = empty_bind(&p);
  if (!e)
    e = empty_init(&p, A, NULL, NULL);
  if (!e)
    e = empty_run(&p, 0, 3, A, NULL, NULL, NULL);
  if (e)
    return puts(e), 1;
  printf("lengths %d %d, A[9] = %g, total = %g\n", (int)empty_length_src(&p), (int)empty_length_none(&p), A[9],
         p.total);
  return 0;
}
