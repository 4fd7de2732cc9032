/* driver/data/joint-file.c: a file that rank 0 has made and all ranks write. If all are on one machine and the system
 * supports it, they open it by its descriptor in rank 0's process, so that nothing is left of the file whatever
 * happens; else by a name. Ranks of one machine in containers of their own may find another file under that name, or
 * none. */
#include "driver/data/joint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void shared_file(SharedFile *file, int fd, const char *temporary) {
  struct stat st;
  if (temporary)
    snprintf(file->path, sizeof file->path, "%s", temporary);
  else
    snprintf(file->path, sizeof file->path, "/proc/%ld/fd/%d", (long)getpid(), fd);
  if (fstat(fd, &st) == 0)
    file->device = st.st_dev, file->number = st.st_ino;
}

int shared_open(const SharedFile *file, const Net *net) {
  struct stat st;
  bool near = net->local_size == net->size;
  int fd = file->path[0] ? open(file->path, O_WRONLY | O_CLOEXEC) : (errno = ENOENT, -1);
  bool same = fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == file->number && (!near || st.st_dev == file->device);
  if (fd < 0 || same)
    return fd;
  close(fd);
  return errno = ENOENT, -1;
}

/* Is `mine` true on all ranks (collective)? */
static bool all_ranks(Net *net, bool mine) {
  bool all[net->size], every = true;
  net->gather(net, &mine, sizeof mine, all);
  for (int i = 0; i < net->size; i++)
    every &= all[i];
  return every;
}

/* Makes a file beside `path`, which is removed afterwards: do all ranks find it? */
static StcStatus try_reach(const Job *j, const char *path, bool named, bool *all) {
  Net *net = j->net;
  SharedFile file = {0};
  OutFile out = {0};
  bool made = !net->rank && (named ? file_create_named : file_create)(j->c->context, path, &out);
  if (made)
    shared_file(&file, fileno(out.to), out.unnamed ? NULL : out.temporary);
  net->broadcast(net, &file, sizeof file, 0);
  int fd = shared_open(&file, net);
  *all = all_ranks(net, fd >= 0);
  if (fd >= 0)
    close(fd);
  if (made)
    file_abandon(&out);
  return net_agree(net, made || net->rank ? STC_OK : STC_IO, &(int){0});
}

StcStatus shared_reach(const Job *j, const char *path, bool *all, bool *named) {
  *named = j->net->local_size != j->net->size;
  *all = true;
  StcStatus s = j->net->size > 1 ? try_reach(j, path, *named, all) : STC_OK;
  if (s || *all || *named)
    return s;
  *named = true;
  return try_reach(j, path, true, all);
}
