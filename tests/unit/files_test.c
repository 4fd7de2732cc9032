/* tests/unit/files_test.c: files are put in place whole, also by a process that is killed meanwhile. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/testing.h"
#include "driver/device/device.h"
#include "driver/files/files.h"
#include "driver/program/program.h"

/* How many more calls that change names the process makes before it is killed; 0: it is not. */
static int calls_left;

/* Kills the process behind the last of its calls. */
static int called(int result) {
  if (calls_left && --calls_left == 0)
    raise(SIGKILL);
  return result;
}

/* The C library's, for the whole program, each of which may be the last. */
int linkat(int from, const char *a, int to, const char *b, int flags) {
  return called((int)syscall(SYS_linkat, from, a, to, b, flags));
}

int rename(const char *a, const char *b) { return called((int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0)); }

/* What setting room aside fails with, if it does; EINTR does so once. */
static int no_reserve;

int fallocate(int fd, int mode, off_t at, off_t n) {
  if (!no_reserve)
    return (int)syscall(SYS_fallocate, fd, mode, at, n);
  errno = no_reserve;
  no_reserve = errno == EINTR ? 0 : no_reserve;
  return -1;
}

/* A folder of its own, which is the current one, and a context. */
typedef struct World {
  StcContext *c;
  char folder[64];
} World;

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  w->c = stc_context_new(NULL);
  strcpy(w->folder, "/tmp/files_test.XXXXXX");
  *state = w;
  return mkdtemp(w->folder) && chdir(w->folder) == 0 ? 0 : -1;
}

/* Removes all files of the current folder; how many there were. */
static int clear(void) {
  DIR *d = opendir(".");
  int n = 0;
  for (struct dirent *e; (e = readdir(d));)
    n += unlink(e->d_name) == 0;
  closedir(d);
  return n;
}

static int free_world(void **state) {
  World *w = *state;
  clear();
  bool bad = chdir("/") != 0 || rmdir(w->folder) != 0;
  stc_context_free(w->c);
  free(w);
  return bad ? -1 : 0;
}

/* How many files the current folder has. */
static int count(void) {
  DIR *d = opendir(".");
  int n = 0;
  for (struct dirent *e; (e = readdir(d));)
    n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
  closedir(d);
  return n;
}

/* Has file "a" this text? */
static bool has(const char *text) {
  char found[64] = "";
  FILE *f = fopen("a", "rb");
  size_t n = f ? fread(found, 1, sizeof found - 1, f) : 0;
  if (f)
    fclose(f);
  return f && n == strlen(text) && strcmp(found, text) == 0;
}

/* Can files without a name be made here? */
static void need_unnamed(void) {
  int fd = open(".", O_TMPFILE | O_RDWR, 0666);
  if (fd < 0)
    skip();
  close(fd);
}

/* Writes "new" to file "a" in a process that is killed behind that many calls; has it been killed? */
static bool killed(const World *w, int calls) {
  int status;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    calls_left = calls;
    _exit(!file_write(w->c, "a", "new", 3));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  return WIFSIGNALED(status);
}

/* A new file: wherever the process is killed, the file is there and whole, or nothing is. */
WORLD_TEST(test_killed_new) {
  need_unnamed();
  assert_true(killed(w, 1));
  clear();
  for (int calls = 1; killed(w, calls); calls++) {
    assert_int_equal(count(), has("new"));
    clear();
  }
  assert_true(has("new"));
  assert_int_equal(clear(), 1);
}

/* A file that replaces another: the old or the new one is there, and what else is goes with the next that is written.
 */
WORLD_TEST(test_killed_replacing) {
  bool again = true;
  need_unnamed();
  for (int calls = 1; again; calls++) {
    assert_true(file_write(w->c, "a", "old", 3));
    again = killed(w, calls);
    assert_true(again || calls > 2);
    assert_true(has("old") || has("new"));
    assert_true(count() <= 2);
    assert_true(file_write(w->c, "a", "next", 4));
    assert_true(has("next"));
    assert_int_equal(clear(), 1);
  }
}

/* Makes a file with a text. */
static void make(const char *name) {
  FILE *f = fopen(name, "wb");
  assert_true(f && fputs("mine", f) >= 0 && fclose(f) == 0);
}

/* All that several processes have left goes, whether there is a file to replace or not; files with like names stay. */
WORLD_TEST(test_left_goes) {
  need_unnamed();
  for (int there = 0; there < 2; there++) {
    make(".a.stc-part-0");
    make(".a.stc-part-1");
    make("a.part-0");
    make("a.stc-part-0");
    make(".b.stc-part-0");
    assert_true(file_write(w->c, "a", "new", 3));
    assert_true(has("new"));
    assert_int_equal(count(), 4);
  }
  assert_int_equal(clear(), 4);
}

/* What lies where a file is put before it replaces another, and was not left by a process that was killed, stays: the
 * file of one that runs, a link, a pipe. */
WORLD_TEST(test_others_stay) {
  struct stat is;
  need_unnamed();
  assert_true(file_write(w->c, "a", "old", 3));
  int fd = open(".a.stc-part-0", O_RDWR | O_CREAT, 0666);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  assert_int_equal(symlink("a", ".a.stc-part-1"), 0);
  assert_int_equal(mkfifo(".a.stc-part-2", 0666), 0);
  assert_true(file_write(w->c, "a", "new", 3));
  assert_true(has("new"));
  assert_int_equal(count(), 4);
  close(fd);
  assert_true(file_write(w->c, "a", "next", 4));
  assert_int_not_equal(lstat(".a.stc-part-0", &is), 0);
  assert_true(lstat(".a.stc-part-1", &is) == 0 && S_ISLNK(is.st_mode));
  assert_true(lstat(".a.stc-part-2", &is) == 0 && S_ISFIFO(is.st_mode));
  assert_int_equal(clear(), 3);
}

/* A file of zeros has its room on the disk, also where the file system sets none aside, and where a signal comes. */
WORLD_TEST(test_room_is_set_aside) {
  enum { BYTES = 300001, SECTOR = 512 };
  const int fails[] = {0, EINTR, EOPNOTSUPP};
  need_unnamed();
  for (int i = 0; i < 3; i++) {
    struct stat is;
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    no_reserve = fails[i];
    assert_true(file_fill(fd, BYTES));
    no_reserve = 0;
    assert_int_equal(fstat(fd, &is), 0);
    assert_int_equal(is.st_size, BYTES);
    assert_true(is.st_blocks * SECTOR >= BYTES);
    close(fd);
  }
  int fd = open("a", O_CREAT | O_RDWR, 0600);
  no_reserve = ENOSPC;
  assert_false(file_fill(fd, BYTES));
  no_reserve = 0;
  close(fd);
  assert_int_equal(clear(), 1);
}

/* What is in a file whose disk fails cannot be written to another: the system call says that nothing is there (EFAULT),
 * and the process ends with the disk's name and exit code 5, whichever way the bytes are written. */
WORLD_TEST(test_memory_whose_disk_fails) {
  need_unnamed();
  for (int way = 0; way < 3; way++) {
    pid_t child = fork();
    if (!child) {
      size_t place, room = disk_room(way ? 3 << 20 : 1000);
      DiskFile f = {.file = open(".", O_TMPFILE | O_RDWR, 0600), .folder = "."};
      int to = open("to", O_CREAT | O_RDWR, 0600);
      OutFile out;
      signal(SIGBUS, SIG_DFL);
      char *memory = ftruncate(f.file, (off_t)room) == 0 ? disk_map(&f, room, &place) : NULL;
      if (!memory || to < 0 || ftruncate(f.file, 0) != 0)
        _exit(1);
      if (way == 2)
        _exit(10 + file_write_at(to, memory, (int64_t)room, 0));
      if (!file_create(w->c, "a", &out))
        _exit(2);
      file_put(&out, memory, room);
      _exit(20 + file_commit(w->c, &out));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), STC_IO);
    clear();
  }
}
