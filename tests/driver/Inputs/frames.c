/* frames.c U0 U1: makes the steps of frames.stn by the C header, those of one frame at once, and compares with these.
 */
#include "frames.h"

#include <stdio.h>

enum { HEAD = 128, POINTS = 13 * 11, STEPS = 17 };

/* Frame `frame` of the series in the file, of `n` elements of `size` bytes. */
static void get(const char *name, int64_t frame, void *to, size_t n, size_t size) {
  FILE *f = fopen(name, "rb");
  if (!f || fseek(f, HEAD + (long)(frame * (int64_t)(n * size)), SEEK_SET) || fread(to, size, n, f) != n)
    exit(1);
  fclose(f);
}

/* The lesser of `x` and `most`. */
static int64_t least(int64_t x, int64_t most) { return x < most ? x : most; }

int main(int n, char **words) {
  static float w[2][POINTS], later[2][POINTS], r[11], r_later[11], u[2][POINTS], want[2][POINTS];
  static uint16_t h[POINTS], h_later[POINTS];
  static int32_t q[POINTS];
  static const int every[] = {5, 4, 3, 6};
  frames_params p = frames_defaults();
  const char *e = frames_run(&p, 0, 6, w[0], w[1], later[0], later[1], q, r, r_later, h, h_later, u[0], u[1], NULL);
  puts(e ? e : "not refused");
  e = frames_init(&p, w[0], w[1], later[0], later[1], q, r, r_later, h, h_later, u[0], u[1]);
  for (int64_t s = 0, steps; s < STEPS && !e; s += steps) {
    steps = STEPS - s;
    for (int i = 0; i < 4; i++)
      steps = least(steps, every[i] - s % every[i]);
    for (int c = 0; c < 2; c++) {
      get(c ? "w.1.npy" : "w.0.npy", s / 5, w[c], POINTS, 4);
      get(c ? "w.1.npy" : "w.0.npy", least(s / 5 + 1, 3), later[c], POINTS, 4);
    }
    get("q.npy", s / 4 % 2, q, 12 * 11, 4);
    get("r.npy", s / 3 % 3, r, 11, 4);
    get("r.npy", (s / 3 + 1) % 3, r_later, 11, 4);
    get("h.npy", s / 6, h, POINTS, 2);
    get("h.npy", least(s / 6 + 1, 2), h_later, POINTS, 2);
    e = frames_run(&p, s, steps, w[0], w[1], later[0], later[1], q, r, r_later, h, h_later, u[0], u[1], NULL);
  }
  for (int c = 0; c < 2 && n > 2; c++)
    get(words[1 + c], 0, want[c], POINTS, 4);
  puts(e ? e : memcmp(u, want, sizeof u) ? "not the same" : "the same");
  return e != NULL;
}
