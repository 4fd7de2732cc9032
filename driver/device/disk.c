/* disk.c: memory of this computer that is a file without a name, so that more than there is memory fits: the system
 * keeps in memory what of the file there is room for, and the disk has the rest. Nothing of the file is left when the
 * process ends, however it ends. Its blocks are reserved when it is made, so a disk that is full is an error then. A
 * disk that fails while mapped memory is read or written is a signal (SIGBUS), on whatever thread: nobody can go on, so
 * a handler says what has happened, and ends the process. */
#include "driver/device/device.h"
#include "driver/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

/* What Linux calls a file system that is in memory itself (linux/magic.h). */
enum { IN_MEMORY = 0x01021994 };
/* Bytes that the system is asked at once to read ahead: it reads no more than that, or little more, by one call. */
enum { READ_AHEAD = 1 << 19 };

/* ---------------------------------------------------------------- a disk that fails under mapped memory */

/* Memory that is mapped, and what is to be said where it cannot be read or written. bytes: 0: it is free to be another.
 * They are never freed, for a handler may look at them at any time. */
typedef struct Mapping {
  struct Mapping *next;
  char *memory;
  size_t bytes;
  char said[1024];
} Mapping;
static Mapping *mappings;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

/* The signal's handler: ends the process where it is for such memory that has no page (BUS_ADRERR). Any other, and one
 * that somebody sends, which has no address, does what it always does: it comes again as the handler returns. */
static void end_by_signal(int signal, siginfo_t *info, void *context) {
  const char *at = info->si_addr;
  (void)context;
  for (const Mapping *m = __atomic_load_n(&mappings, __ATOMIC_ACQUIRE); m && info->si_code == BUS_ADRERR; m = m->next)
    if (at >= m->memory && at < m->memory + m->bytes) {
      ssize_t written = write(STDERR_FILENO, m->said, strlen(m->said));
      (void)written;
      _exit(STC_IO);
    }
  sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
  raise(signal);
}

/* Has the handler be called, unless the process has one of its own. */
static void handle_signal(void) {
  struct sigaction now, own = {.sa_sigaction = end_by_signal, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler == SIG_DFL && !(now.sa_flags & SA_SIGINFO))
    sigaction(SIGBUS, &own, NULL);
}

/* Notes memory that is mapped; where there is no memory for that the signal does what it always does. */
static void note_mapping(const DiskFile *f, void *memory, size_t bytes) {
  pthread_mutex_lock(&guard);
  Mapping *m = mappings;
  while (m && m->bytes)
    m = m->next;
  bool new = !m;
  m = new ? calloc(1, sizeof *m) : m;
  if (m) {
    snprintf(m->said, sizeof m->said,
             "stc: error: the file in %s that the fields are in cannot be read or written: its disk fails; set TMPDIR "
             "to a folder of another\n",
             f->folder);
    m->memory = memory;
    m->bytes = bytes;
  }
  if (m && new) {
    m->next = mappings;
    __atomic_store_n(&mappings, m, __ATOMIC_RELEASE);
  }
  handle_signal();
  pthread_mutex_unlock(&guard);
}

/* Forgets it. */
static void forget_mapping(const void *memory) {
  pthread_mutex_lock(&guard);
  for (Mapping *m = mappings; m; m = m->next)
    m->bytes = m->memory == memory ? 0 : m->bytes;
  pthread_mutex_unlock(&guard);
}

/* ---------------------------------------------------------------- the file */

/* The folder for files that may be large: unlike /tmp, /var/tmp is no memory on usual systems. */
static const char *large_folder(void) {
  const char *folder = getenv("TMPDIR");
  return folder && *folder ? folder : "/var/tmp";
}

/* A new file without a name in `folder`; -1: none can be made there. */
static int file_without_name(Arena *a, const char *folder) {
  int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (file >= 0)
    return file;
  char *name = arena_printf(a, "%s/stc.XXXXXX", folder);
  sigset_t all, before; /* no signal but SIGKILL comes between a name and none */
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  file = mkostemp(name, O_CLOEXEC);
  int why = errno;
  if (file >= 0)
    unlink(name);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = why;
  return file;
}

StcStatus disk_open(Workspace *w, const char *what, double bytes, DiskFile **out) {
  char size[MEMORY_TEXT];
  DiskFile *f = ARENA_NEW(w->arena, DiskFile);
  struct statfs system;
  *out = NULL;
  f->folder = arena_printf(w->arena, "%s", large_folder());
  f->file = file_without_name(w->arena, f->folder);
  if (f->file < 0 || !file_fill(f->file, (int64_t)bytes)) {
    diag_error(w->diags, no_loc(),
               "--memory keeps %s in a file, and none of %s can be made in %s: %s; set TMPDIR to a folder of a disk "
               "that has as much free and takes files",
               what, memory_text(size, bytes), f->folder, strerror(errno));
    if (f->file >= 0)
      close(f->file);
    return STC_IO;
  }
  if (fstatfs(f->file, &system) == 0 && (long)system.f_type == IN_MEMORY)
    diag_warning(w->diags, no_loc(),
                 "%s are in a file in %s, which is in this computer's memory and saves none; set TMPDIR to a folder of "
                 "a disk",
                 what, f->folder);
  *out = f;
  return STC_OK;
}

size_t disk_room(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

void *disk_map(DiskFile *f, size_t room, size_t *place) {
  void *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, (off_t)f->used);
  if (memory == MAP_FAILED)
    return NULL;
  *place = f->used;
  f->used += room;
  note_mapping(f, memory, room);
  return memory;
}

void disk_unmap(void *memory, size_t room) {
  forget_mapping(memory);
  munmap(memory, room);
}

/* Reports that the file cannot be read, or written, as errno says. */
static StcStatus failed(Workspace *w, const DiskFile *f, const char *how) {
  diag_error(w->diags, no_loc(), "the file in %s that the fields are in cannot be %s: %s", f->folder, how,
             strerror(errno));
  return STC_IO;
}

StcStatus disk_read(Workspace *w, const DiskFile *f, size_t place, void *to, size_t n) {
  return file_read_at(f->file, to, (int64_t)n, (int64_t)place) ? STC_OK : failed(w, f, "read");
}

StcStatus disk_write(Workspace *w, const DiskFile *f, size_t place, const void *from, size_t n) {
  return file_write_at(f->file, from, (int64_t)n, (int64_t)place) ? STC_OK : failed(w, f, "written");
}

void disk_foresee(const DiskFile *f, size_t place, size_t n) {
  for (size_t at = 0; at < n; at += READ_AHEAD)
    posix_fadvise(f->file, (off_t)(place + at), (off_t)(n - at < READ_AHEAD ? n - at : READ_AHEAD),
                  POSIX_FADV_WILLNEED);
}

StcStatus disk_check(Workspace *w, const DiskFile *f) {
  if (sync_file_range(f->file, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE) == 0 || errno == ENOSYS || errno == ESPIPE ||
      errno == EINTR)
    return STC_OK;
  return failed(w, f, "written");
}

void disk_close(DiskFile *f) {
  if (f)
    close(f->file);
}
