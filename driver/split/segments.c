/* segments.c: memory of a rank that other ranks of its machine can see, so that GPUs of several processes exchange
 * cells with copies of their own. It is a file without a name (memfd_create), which the others open by its number in
 * the process. So nothing remains when the process ends, in whatever way. */
#include "driver/split/split.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What the others must know: the file and its size (0: there is none), and a token at its beginning, by which it is
 * distinguished from a file of another machine or container with the same numbers. */
typedef struct SegmentCard {
  int64_t process;
  int32_t file;
  uint64_t bytes, token;
} SegmentCard;

/* The bytes before the usable ones: a page. */
enum { HEAD = 4096 };

/* A number that no other process uses. */
static uint64_t new_token(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return ((uint64_t)t.tv_sec * 1000000007u ^ (uint64_t)t.tv_nsec << 24) * 2654435761u ^ (uint64_t)getpid();
}

/* Maps the file; NULL on failure. */
static char *map(int file, size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Makes this rank's segment and reserves all its pages: to write to a page that cannot be allocated would end the
 * process. */
static void make_own(size_t bytes, Segment *own, SegmentCard *card) {
  int file = bytes ? memfd_create("stc ghost cells", MFD_CLOEXEC) : -1;
  bool fine = file >= 0 && posix_fallocate(file, 0, (off_t)(bytes + HEAD)) == 0;
  char *memory = fine ? map(file, bytes + HEAD) : NULL;
  *card = (SegmentCard){.process = getpid(), .file = file, .bytes = memory ? bytes + HEAD : 0, .token = new_token()};
  *own = (Segment){memory ? memory + HEAD : NULL, memory ? bytes : 0};
  if (memory)
    memcpy(memory, &card->token, sizeof card->token);
}

/* Opens the segment of another rank, if it is on this machine and may be accessed. */
static void open_other(const SegmentCard *card, Segment *out) {
  char path[64], what[64] = "";
  struct stat info;
  snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)card->process, (int)card->file);
  if (!card->bytes || readlink(path, what, sizeof what - 1) < 0 || strncmp(what, "/memfd:stc ghost cells", 22) != 0)
    return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  bool fine = file >= 0 && fstat(file, &info) == 0 && (uint64_t)info.st_size == card->bytes;
  char *memory = fine ? map(file, (size_t)card->bytes) : NULL;
  if (file >= 0)
    close(file);
  if (memory && memcmp(memory, &card->token, sizeof card->token) != 0) {
    munmap(memory, (size_t)card->bytes);
    memory = NULL;
  }
  if (memory)
    *out = (Segment){memory + HEAD, (size_t)card->bytes - HEAD};
}

void segments_open(Net *net, size_t bytes, const bool *wanted, Segment *of) {
  SegmentCard mine, *all = calloc((size_t)net->size, sizeof *all);
  memset(of, 0, sizeof *of * (size_t)net->size);
  make_own(all ? bytes : 0, &of[net->rank], &mine);
  bool fine = all, fine_on[net->size];
  net->gather(net, &fine, sizeof fine, fine_on);
  for (int i = 0; i < net->size; i++)
    fine &= fine_on[i];
  if (fine)
    net->gather(net, &mine, sizeof mine, all);
  for (int i = 0; i < net->size && fine; i++)
    if (i != net->rank && wanted[i])
      open_other(&all[i], &of[i]);
  net->barrier(net);
  if (mine.file >= 0)
    close(mine.file);
  free(all);
}

void segment_close(Segment *s) {
  munmap(s->memory - HEAD, s->bytes + HEAD);
  *s = (Segment){0};
}
