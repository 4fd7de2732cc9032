/* driver/shared/streams.c: the archives of jansson, libpng and HDF5 may hold code for programs alone, which names
 * libc's stdin, stdout and
 * stderr in a way that a shared library cannot. Linked with --wrap, all of libstc.so takes these copies of the pointers
 * in their place. */
#include <stdio.h>

extern FILE *__real_stdin, *__real_stdout, *__real_stderr;
__attribute__((visibility("hidden"))) FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;

/* Runs when the library is loaded. */
__attribute__((constructor)) static void take_streams(void) {
  __wrap_stdin = __real_stdin;
  __wrap_stdout = __real_stdout;
  __wrap_stderr = __real_stderr;
}
