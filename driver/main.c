/* driver/main.c: the stc command.
 *
 *        .stn ──frontend──▶ stencil IR ──passes──▶ kernel IR ──backend──▶ .ptx .hsaco .o   (+ .json, .h)    stc FILE
 *                               │                      │                        │
 *                              ref                    sim               cuda · hip · host                   stc run
 *                                                     --device=...
 *                               └──────────────────────┴───── --check ──────────┘
 *
 * stc_main (entry.c) parses the options (options.c), carries out one command (command.c, run.c) and returns its status
 * as exit code (StcStatus in stc.h). It is in libstc, so that a package in another language has the command with the
 * library.
 */
#include "driver/stc.h"

int main(int argc, char **argv) { return stc_main(argc, argv); }
