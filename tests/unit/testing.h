/* tests/unit/testing.h: cmocka, with tests that are listed by standing in the file: TEST(NAME) { ... } is one. */
#ifndef STC_TESTS_TESTING_H
#define STC_TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_TESTS = 64 };

/* The tests of the file, in the order of their lines. */
static struct {
  int n, line[MOST_TESTS + 1];
  struct CMUnitTest test[MOST_TESTS + 1];
} listed;

/* Puts the test of that line in its place. */
static inline void list_test(int line, struct CMUnitTest t) {
  int i = listed.n < MOST_TESTS ? listed.n++ : MOST_TESTS;
  for (; i > 0 && listed.line[i - 1] > line; i--) {
    listed.line[i] = listed.line[i - 1];
    listed.test[i] = listed.test[i - 1];
  }
  listed.line[i] = line;
  listed.test[i] = t;
}

/* What follows is the body of a test that needs no world. */
#define TEST(NAME) \
  static void NAME(void); \
  static void NAME##_run(void **state) { \
    (void)state; \
    NAME(); \
  } \
  __attribute__((constructor)) static void NAME##_list(void) { \
    list_test(__LINE__, (struct CMUnitTest){#NAME, NAME##_run, NULL, NULL, NULL}); \
  } \
  static void NAME(void)

/* The same of one that has a TYPE, `VAR`, made by MAKE and given back by FREE; and with the file's own World `w`. */
#define TEST_OF(TYPE, VAR, MAKE, FREE, NAME) \
  static void NAME(TYPE *VAR); \
  static void NAME##_run(void **state) { NAME(*state); } \
  __attribute__((constructor)) static void NAME##_list(void) { \
    list_test(__LINE__, (struct CMUnitTest){#NAME, NAME##_run, MAKE, FREE, NULL}); \
  } \
  static void NAME(__attribute__((unused)) TYPE *VAR)
#define TEST_IN(MAKE, NAME) TEST_OF(World, w, MAKE, free_world, NAME)
#define WORLD_TEST(NAME) TEST_IN(make_world, NAME)

/* Runs them all; the exit status. */
static inline int run_listed(const char *group) {
  return listed.n > 0 && listed.n < MOST_TESTS
             ? _cmocka_run_group_tests(group, listed.test, (size_t)listed.n, NULL, NULL)
             : 1;
}

/* The same in a process that finds the stand-ins for drivers' libraries in `folder`: this one, started anew with the
 * arguments `argv`. */
static inline int run_beside(const char *folder, char **argv, const char *group) {
  if (getenv("STC_STANDIN_STARTED"))
    return run_listed(group);
  setenv("STC_STANDIN_STARTED", "1", 1);
  setenv("LD_LIBRARY_PATH", folder, 1);
  execv("/proc/self/exe", argv);
  return 1;
}

/* The main function of files that define none of their own, and so no OWN_MAIN in front of this. */
#ifndef OWN_MAIN
int main(int argc, char **argv) {
  (void)argc;
  return run_listed(argv[0]);
}
#endif

#endif
