/* tests/scalars/members.c: members.stn by its header, in two runs. */
#include "members.h"

#include <stdio.h>

int main(void) {
  members_params p = members_defaults();
  double u[27], t[3], dt[3], most = 0;
  int64_t done = 0, steps[2] = {4, 100}, first = 0;
  const char *e = members_init(&p, u, t, dt, &most);
  for (int i = 0; i < 2 && !e; i++) {
    e = members_run(&p, first, steps[i], u, t, dt, &most, &done);
    first += done;
  }
  printf("%d steps: %g %g %g\n", (int)first, t[0], t[1], t[2]);
  if (e)
    puts(e);
  return e != NULL;
}
