/* driver/split/nccl.h: NVIDIA's library for messages between GPUs, libnccl.so.2, which is loaded when it is needed and
 * never linked (private to nccl.c and transport-nccl.c). stc uses none of its headers: the functions below have not
 * changed since NCCL 2.7. */
#ifndef STC_SPLIT_NCCL_H
#define STC_SPLIT_NCCL_H

#include "driver/split/split.h"

/* The identifier of a group of ranks, which one of them makes and gives to the others. */
typedef struct NcclId {
  char bytes[128];
} NcclId;
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_BYTES = 0, NCCL_WITH_MESSAGES = 2700 };

/* The library's functions; each except the last two returns 0 or an error number. why: if it is not NULL, failures are
 * described there, in NCCL_WHY characters, and are not reported as errors. */
enum { NCCL_WHY = 200 };
typedef struct Nccl {
  void *library;
  char *why;
  int (*version)(int *out);
  int (*unique_id)(NcclId *out);
  int (*join)(void **communicator, int n, NcclId id, int rank);
  int (*destroy)(void *communicator);
  int (*abort)(void *communicator);
  int (*async_error)(void *communicator, int *error);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*send)(const void *data, size_t n, int type, int peer, void *communicator, void *stream);
  int (*receive)(void *data, size_t n, int type, int peer, void *communicator, void *stream);
  const char *(*words)(int error);
  const char *(*last_error)(void *communicator); /* NULL before version 2.13 */
} Nccl;

/* Loads the library. On failure returns what is missing and what to do; the text must not be freed. */
const char *nccl_load(Nccl *n);
/* STC_OK if `e` is success, else STC_DEVICE with an error that names `what`. */
StcStatus nccl_check(StcPlan *p, const Nccl *n, int e, const char *what);

#endif
