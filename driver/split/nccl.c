/* nccl.c: loads libnccl.so.2, and describes its errors; see nccl.h. */
#include "driver/split/nccl.h"

#include <dlfcn.h>
#include <string.h>

/* The entry points and the members of Nccl for them. */
static const struct Entry {
  const char *name;
  size_t offset;
} entries[] = {
    {"ncclGetVersion", offsetof(Nccl, version)},
    {"ncclGetUniqueId", offsetof(Nccl, unique_id)},
    {"ncclCommInitRank", offsetof(Nccl, join)},
    {"ncclCommDestroy", offsetof(Nccl, destroy)},
    {"ncclCommAbort", offsetof(Nccl, abort)},
    {"ncclCommGetAsyncError", offsetof(Nccl, async_error)},
    {"ncclGroupStart", offsetof(Nccl, group_start)},
    {"ncclGroupEnd", offsetof(Nccl, group_end)},
    {"ncclSend", offsetof(Nccl, send)},
    {"ncclRecv", offsetof(Nccl, receive)},
    {"ncclGetErrorString", offsetof(Nccl, words)},
};

const char *nccl_load(Nccl *n) {
  int version = 0;
  n->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!n->library)
    return "libnccl.so.2 cannot be opened: install NCCL (package libnccl2 of NVIDIA, or pip's nvidia-nccl-cu13, with "
           "its "
           "folder `lib` in LD_LIBRARY_PATH)";
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    void *p = dlsym(n->library, entries[i].name);
    if (!p)
      return "libnccl.so.2 lacks an entry point that NCCL 2.7 and later have: install a newer NCCL";
    memcpy((char *)n + entries[i].offset, &p, sizeof p);
  }
  void *last = dlsym(n->library, "ncclGetLastError");
  memcpy(&n->last_error, &last, sizeof last);
  return n->version(&version) || version < NCCL_WITH_MESSAGES
             ? "NCCL is older than 2.7, which has no messages: install a "
               "newer one"
             : NULL;
}

StcStatus nccl_check(StcPlan *p, const Nccl *n, int e, const char *what) {
  if (e == NCCL_SUCCESS || e == NCCL_IN_PROGRESS)
    return STC_OK;
  const char *more = n->last_error ? n->last_error(NULL) : NULL;
  if (n->why)
    snprintf(n->why, NCCL_WHY, "%s: %s%s%s", what, n->words(e), more && *more ? ": " : "", more && *more ? more : "");
  else
    diag_error(p->w.diags, no_loc(), "nccl: %s: %s%s%s", what, n->words(e), more && *more ? ": " : "",
               more && *more ? more : "");
  return STC_DEVICE;
}
