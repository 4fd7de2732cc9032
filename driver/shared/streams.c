/* driver/shared/streams.c: copies of libc's stdin, stdout and stderr. The archives of jansson, libpng and HDF5 may
 * contain code for programs only, which refers to these in a way that a shared library cannot. Linked with --wrap, all
 * of libstc.so uses these copies of the pointers instead. */
#include <stdio.h>

extern FILE *__real_stdin, *__real_stdout, *__real_stderr;
__attribute__((visibility("hidden"))) FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;

/* Runs when the library is loaded. */
__attribute__((constructor)) static void take_streams(void) {
  __wrap_stdin = __real_stdin;
  __wrap_stdout = __real_stdout;
  __wrap_stderr = __real_stderr;
}
