/* ir/base/near.c: similar names, for "is ... meant?". */
#include "ir/base/base.h"

#include <string.h>
#include <strings.h>

enum { LONGEST = 32 }; /* longer names are not compared */

static int min3(int a, int b, int c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

int name_distance(const char *a, const char *b) {
  if (strcasecmp(a, b) == 0)
    return 0;
  int m = (int)strlen(a), n = (int)strlen(b);
  int row[3][LONGEST + 1];
  if (m > LONGEST || n > LONGEST)
    return LONGEST;
  for (int j = 0; j <= n; j++)
    row[0][j] = j;
  for (int i = 1; i <= m; i++) {
    int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= n; j++) {
      now[j] = min3(up[j] + 1, now[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < now[j])
        now[j] = up2[j - 2] + 1;
    }
  }
  return row[m % 3][n];
}

int name_reach(const char *name) {
  size_t length = strlen(name);
  return length <= 1 ? 0 : length <= 3 ? 1 : 2;
}

/* Has the shorter name at least three letters, and is it a prefix of the other? */
static bool begins(const char *a, const char *b) {
  size_t m = strlen(a), n = strlen(b), k = m < n ? m : n;
  return k >= 3 && strncmp(a, b, k) == 0;
}

const char *near_match(const char *name, const char *const *names) {
  const char *best = NULL, *begun = NULL;
  int least = name_reach(name) + 1, nbegun = 0;
  for (; *names; names++) {
    int k = name_distance(name, *names);
    if (k < least) {
      least = k;
      best = *names;
    }
    if (begins(name, *names)) {
      begun = *names;
      nbegun++;
    }
  }
  return best ? best : nbegun == 1 ? begun : NULL;
}
