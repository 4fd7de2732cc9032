/* driver/bench/bench-programs.c: the programs of `stc bench`, whose texts are a part of stc, so that the command needs
 * no other files. CMake reads the names of these files from the list below, to compile this file again when one of them
 * changes. */
#include "driver/bench/bench.h"

/* The name and the file of each program, in the order of the table. */
#define PROGRAMS(EACH) \
  EACH(star2d1r, "driver/bench/star2d1r.stn") \
  EACH(star2d2r, "driver/bench/star2d2r.stn") \
  EACH(star2d4r, "driver/bench/star2d4r.stn") \
  EACH(box2d1r, "driver/bench/box2d1r.stn") \
  EACH(box2d2r, "driver/bench/box2d2r.stn") \
  EACH(gradient2d, "examples/gradient2d.stn") \
  EACH(star3d1r, "driver/bench/star3d1r.stn") \
  EACH(star3d2r, "driver/bench/star3d2r.stn") \
  EACH(box3d1r, "driver/bench/box3d1r.stn") \
  EACH(star1d1r, "driver/bench/star1d1r.stn") \
  EACH(star1d3r, "driver/bench/star1d3r.stn") \
  EACH(fdtd2d, "examples/fdtd2d.stn") \
  EACH(gray_scott, "examples/gray_scott.stn") \
  EACH(rician2d, "examples/rician2d.stn") \
  EACH(acoustic_wave, "examples/acoustic_wave.stn") \
  EACH(anisotropic_diffusion, "examples/anisotropic_diffusion.stn")

/* Embeds the file STC_SOURCE_DIR/FILE, followed by a NUL, as the characters stc_bench_NAME. */
#define EMBED(NAME, FILE) \
  extern const char stc_bench_##NAME[]; \
  __asm__(".section .rodata\n.global stc_bench_" #NAME "\n.hidden stc_bench_" #NAME "\nstc_bench_" #NAME \
          ":\n.incbin \"" STC_SOURCE_DIR "/" FILE "\"\n.byte 0\n.previous\n");
PROGRAMS(EMBED)
EMBED(copy, "driver/bench/copy.stn")

/* The program's row in the table. */
#define ROW(NAME, FILE) {#NAME, stc_bench_##NAME},
const BenchProgram bench_programs[] = {PROGRAMS(ROW){0}};
const BenchProgram bench_copy = {"copy", stc_bench_copy};
