/* Prints for which N, K and R the header of coverage.stn accepts its params. */
#include "coverage.h"

#include <stdio.h>

int main(void) {
  for (int n = 1; n < 9; n++)
    for (int k = -2; k < 9; k++)
      for (int r = -1; r < 8; r++) {
        coverage_params p = coverage_defaults();
        p.N = n;
        p.K = k;
        p.R = r;
        const char *why = coverage_bind(&p);
        printf("%d %d %d %s\n", n, k, r, why ? why : "fits");
      }
  return 0;
}
