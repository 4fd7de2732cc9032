/* driver/split/nccl.h: NVIDIA's library for messages between GPUs, libnccl.so.2, opened when it is needed, never linked
 * (private to nccl.c and transport-nccl.c). No header of it is used: the functions below have been as they are since
 * NCCL 2.7. */
#ifndef STC_SPLIT_NCCL_H
#define STC_SPLIT_NCCL_H

#include "driver/split/split.h"

/* What all that are to find each other are given by one of them. */
typedef struct NcclId {
  char bytes[128];
} NcclId;
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_BYTES = 0, NCCL_WITH_MESSAGES = 2700 };

/* The functions; each but the last two returns 0, or the number of an error. why: while it is not NULL, what goes wrong
 * is written there, for NCCL_WHY characters, and is no error yet. */
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
  const char *(*last_error)(void *communicator); /* NULL: before 2.13 */
} Nccl;

/* Opens the library. Else returns what is missing and what to do; the text needs no freeing. */
const char *nccl_load(Nccl *n);
/* STC_OK if `e` is success, else STC_DEVICE and an error that says what `what` was. */
StcStatus nccl_check(StcPlan *p, const Nccl *n, int e, const char *what);

#endif
