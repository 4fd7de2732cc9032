/* tests/standin/libmpichspy.c: stands before MPICH, by LD_PRELOAD, and notes what it is asked to send. STC_STANDIN_LOG:
 * the file where "send BYTES" is appended for each message. MPICH's handles are ints, and what stc sends are bytes. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern int PMPI_Isend(const void *at, int n, int type, int to, int tag, int comm, int *request) __attribute__((weak));

/* Notes the message and has it sent. */
int MPI_Isend(const void *at, int n, int type, int to, int tag, int comm, int *request) {
  char line[32];
  const char *path = getenv("STC_STANDIN_LOG");
  int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1,
      length = snprintf(line, sizeof line, "send %d\n", n);
  if (fd < 0 || write(fd, line, (size_t)length) != length)
    abort();
  close(fd);
  return PMPI_Isend(at, n, type, to, tag, comm, request);
}
