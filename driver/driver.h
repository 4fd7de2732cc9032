/* driver/driver.h: what ties the parts together. Table of contents of this folder:
 *
 *   stc.h           the public C interface (libstc)
 *   program.h  files.h  artifact.h  device/device.h  plan.h  data/data.h  command.h  run.h
 *                   the parts of this header; calls go from what is behind to what is before (tests/format/groups.py)
 *   context.c       contexts, messages, running out of memory, the version
 *   ticker.c        what is compiled, told on the terminal
 *   compile.c       a program: text -> stencil IR -> passes -> kernel IR -> artifact
 *   settings.c      what StcOptions say, checked and taken
 *   budget.c        what programs of very many stencils do without, to compile in seconds
 *   define.c        a param's value as text
 *   plugin.c        passes from shared objects
 *   late.c          which kernels of a build are compiled late
 *   grid.c          the size of the grid, as far as it is known
 *   row-pitch.c     how far rows of fields lie apart in memory
 *   declared.c      fields as the program declares them: components, names, NumPy's types
 *   describe.c      a schedule in a line
 *   ending.c        the end of the command by Ctrl-C and SIGTERM
 *   files.c         files written whole or not at all    random.c  values.c  values of fields
 *   plan.c          a program on a device: checks and memory
 *   plan-data.c     a plan's fields and arrays, in and out
 *   plan-bind.c     fields in memory of the caller's; DLPack (dlpack.h)
 *   plan-async.c    runs that nobody waits for, streams and events
 *   plan-points.c   lists of points, what probes see
 *   plan-run.c      the time loop of Algorithm 5, reductions between its steps
 *   plan-state.c    what else a run needs that goes on elsewhere
 *   plan-watch.c    who looks at fields while a plan runs
 *   plan-steps.c    going on from a later step, arrays with an element a step
 *   plan-replay.c   launches recorded once and made in one go
 *   plan-late.c     sequences whose kernels are compiled late, where a run makes enough of them
 *   plan-rows.c     rows that lie apart: their values in and out
 *   plan-lend.c     values lent to a thread that writes them to files
 *   plan-vectors.c  whole fields of vectors as one array
 *   device/         device.c the table of devices; device-ref.c the interpreter of stencil IR; device-sim.c the
 *                   simulator; device-host.c this CPU, host-pool.c its threads; device-cuda.c libcuda.so.1 by dlopen;
 *                   device-hip.c libamdhip64.so by dlopen; gpu.c what these two share; cuda.h kernels for the former,
 *                   compiled in units (code-units.h) and kept on disk (code-cache.h); memory.c how much memory there
 * is, and asking for it lsp/lsp.h       `stc lsp`, what editors ask split/split.h   plans whose grid is cut into parts
 *   tune/           trial.h: a program under one schedule, verified and timed; tune.h: `stc tune`, tune-db.h: its
 *                   database
 *   bench/bench.h   `stc bench`          explain/explain.h  `stc explain`
 *   manifest.c      the artifact's manifest (JSON)      header.c  the host artifact's C header
 *   covered.c       the check that boxes hold all points that are read, as C text for them
 *   header.h        what header.c and launcher.c share: a GPU's artifact as a C file that runs it (launcher-runtime.c
 *                   what is the same in all of them); outside.c their functions for callers in other files
 *   shared-object.c the host artifact as a shared object, fortran.c a Fortran module for it
 *   expression.c    launch-time expressions as C text and as a JSON tree
 *   data/           npy.c png.c fields in and out; check.c comparing with the reference; series.h reductions' values,
 *                   as text and as a file; writer.h files that are written while a program runs: their formats, the
 *                   thread that writes them
 *   shared/         libstc.so, of which streams.c is a part, and the packages for CMake and pkg-config
 *   options.h       the command's options as tables (options-table.c): options.c parsing, help.c, man.c the manual
 *                   page, completion.c for shells       command.c  format.c  run.c  run-*.c  its commands
 *   depfile.c       what an artifact was made from, for make
 *   entry.c         the command as a function, main.c  as a program     commit.c  which commit it was made from
 */
#ifndef STC_DRIVER_H
#define STC_DRIVER_H

#include "driver/artifact.h"
#include "driver/command.h"
#include "driver/data/data.h"
#include "driver/device/device.h"
#include "driver/plan.h"
#include "driver/program.h"
#include "driver/run.h"

#endif
