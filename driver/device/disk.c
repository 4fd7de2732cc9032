/* disk.c: memory of this computer that is a file without a name, so that a program may need more than the computer's
 * memory: the system keeps in memory as much of the file as fits, and the disk holds the rest. Nothing of the file is
 * left when the process ends, in whatever way. The file's blocks are reserved when it is made, so a full disk is an
 * error at that time. If the disk fails while mapped memory is read or written, the system sends a signal (SIGBUS) to
 * that thread, which cannot continue; a handler prints what has happened and ends the process. */
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

/* Linux's number for a file system in memory (linux/magic.h). */
enum { IN_MEMORY = 0x01021994 };
/* Bytes that the system is asked to read ahead by one call: it reads no more by one call, or only a little more. */
enum { READ_AHEAD = 1 << 19 };

/* ---------------------------------------------------------------- a disk that fails under mapped memory */

/* Mapped memory, and the message for the case that it cannot be read or written. bytes: 0 if the entry can be reused.
 * Entries are never freed, as a handler may read them at any time. */
typedef struct Mapping {
  struct Mapping *next;
  char *memory;
  size_t bytes;
  char said[1024];
} Mapping;
static Mapping *mappings;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

/* The signal's handler: ends the process if the address is in such memory and has no page (BUS_ADRERR). Any other
 * SIGBUS, and one that a process sent, which has no address, has its usual effect: it is raised again when the handler
 * returns. */
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

/* Installs the handler, unless the process has one of its own. */
static void handle_signal(void) {
  struct sigaction now, own = {.sa_sigaction = end_by_signal, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler == SIG_DFL && !(now.sa_flags & SA_SIGINFO))
    sigaction(SIGBUS, &own, NULL);
}

/* Records mapped memory; if there is no memory for the record, the signal has its usual effect. */
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

/* Removes the record of mapped memory. */
static void forget_mapping(const void *memory) {
  pthread_mutex_lock(&guard);
  for (Mapping *m = mappings; m; m = m->next)
    m->bytes = m->memory == memory ? 0 : m->bytes;
  pthread_mutex_unlock(&guard);
}

/* ---------------------------------------------------------------- the file */

/* The folder for large files: on usual systems /tmp may be in memory, /var/tmp is not. */
static const char *large_folder(void) {
  const char *folder = getenv("TMPDIR");
  return folder && *folder ? folder : "/var/tmp";
}

/* Makes a new file without a name in `folder`; -1 if this fails. */
static int file_without_name(Arena *a, const char *folder) {
  int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (file >= 0)
    return file;
  char *name = arena_printf(a, "%s/stc.XXXXXX", folder);
  sigset_t all, before; /* no signal but SIGKILL ends the process while the file has a name */
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

/* Reports that the file cannot be read or written, with the reason from errno. */
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
