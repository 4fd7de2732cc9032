/* driver/device/ptx-compiler.h: who compiles PTX for an NVIDIA GPU: the driver, one piece after the other, or ptxas,
 * of which several processes are at work (ptx-compiler.c). */
#ifndef STC_DEVICE_PTX_COMPILER_H
#define STC_DEVICE_PTX_COMPILER_H

#include "driver/program/program.h"

/* What the environment variable STC_PTX_COMPILER says: nothing, `driver` or `ptxas`. */
typedef enum PtxChoice { PTX_EITHER, PTX_DRIVER, PTX_PTXAS } PtxChoice;

/* A ptxas. name: "ptxas 13.0.88". */
typedef struct PtxCompiler {
  char path[4096], name[64];
  int major, minor;
} PtxCompiler;

/* Where ptxas is: in the folders of PATH, in CUDA_HOME, or in CUDA's usual one; NULL if it is in none, or at a place
 * whose name a shell would not take as it is. */
const char *assembler_find(Arena *a);

/* Reads the environment variable. False: it is none of the words, which an error says. */
bool ptx_choice(Diags *d, PtxChoice *out);
/* The ptxas that is found, for a driver of CUDA `driver` (13000: 13.0); NULL: it cannot be used, and *why, which needs
 * no freeing, says why. It is looked for, in `a`, and asked for its version once a process. Threads may call it at
 * once. */
const PtxCompiler *ptx_compiler(Arena *a, int driver, const char **why);
/* What the PTX is to be compiled for on a device of compute capability `major`.`minor`: its own target, if that runs
 * nowhere else (sm_90a) or is the device's; else the device's ("sm_90"). In `a`. */
const char *ptx_architecture(Arena *a, const char *ptx, int major, int minor);
/* Compiles the `n` bytes of PTX to a cubin, which is from malloc. NULL: that went wrong, or `stop` asked for an end;
 * *why, in `a`, says how. Several threads may be at it. No file is made, and no process is left. */
char *ptx_compile(const PtxCompiler *c, Arena *a, const char *ptx, size_t n, const char *architecture, const Stop *stop,
                  size_t *size, const char **why);
/* The key of what that makes, for CodeStore `store`. */
void ptx_key(const PtxCompiler *c, Arena *a, const CodeStore *store, const char *ptx, size_t n,
             const char *architecture, CodeKey *key);

#endif
