/* npy_test.c: .npy files, --in's rules and the comparison of fields (driver/data/npy.c, random.c, check.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/testing.h"
#include "driver/data/data.h"
#include "driver/files/files.h"
#include "driver/program/program.h"

/* A context whose last message is kept, and a file to work on. */
typedef struct World {
  StcContext *c;
  char last[1024], path[64];
} World;

/* Keeps the message. */
static void keep(void *user, const StcMessage *m) { snprintf(((World *)user)->last, 1024, "%s", m->text); }

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = {NULL, keep, w};
  w->c = stc_context_new(&config);
  snprintf(w->path, sizeof w->path, "/tmp/npy_test.%d.npy", (int)getpid());
  *state = w;
  return 0;
}

static int free_world(void **state) {
  World *w = *state;
  unlink(w->path);
  stc_context_free(w->c);
  free(w);
  return 0;
}

/* A field of type t and shape 2 x 3. */
static StcFieldInfo field(StcType t) {
  return (StcFieldInfo){.name = "A", .type = t, .rank = 2, .shape = {2, 3}, .bytes = 6 * type_size((Type)t)};
}

/* Writes bytes to the file. */
static void write_bytes(const World *w, const void *bytes, size_t n) {
  FILE *f = fopen(w->path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  fclose(f);
}

/* Writes a file of version 1 or 2, or with the minor number behind a byte, with `header` and `n` bytes of zeros. */
static void write_npy(const World *w, int version, const char *header, size_t n) {
  unsigned char b[4096] = "\x93NUMPY";
  size_t at = 6, length = strlen(header);
  b[at++] = (unsigned char)version;
  b[at++] = (unsigned char)(version >> 8);
  for (int i = 0; i < ((version & 255) == 1 ? 2 : 4); i++)
    b[at++] = (unsigned char)(length >> (8 * i));
  memcpy(b + at, header, length);
  write_bytes(w, b, at + length + n);
}

/* What is written reads back to the same bits, in every type. */
WORLD_TEST(test_round_trip) {
  static const StcType types[] = {STC_BOOL, STC_I8,  STC_I16, STC_I32, STC_I64, STC_F16,
                                  STC_BF16, STC_F32, STC_F64, STC_U8,  STC_U16, STC_U32};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    StcFieldInfo f = field(types[i]);
    unsigned char out[48] = {0}, in[48] = {0};
    random_fill(&f, 7, out);
    assert_int_equal(npy_write(w->c, w->path, &f, out), STC_OK);
    assert_int_equal(npy_read(w->c, w->path, "field A", &f, in), STC_OK);
    assert_memory_equal(in, out, f.bytes);
  }
}

/* The header is what NumPy writes: the elements begin at a multiple of 64 and the file is no longer than they need. */
WORLD_TEST(test_header) {
  StcFieldInfo f = field(STC_F32);
  float a[6] = {1, 2, 3, 4, 5, 6};
  char b[4096];
  assert_int_equal(npy_write(w->c, w->path, &f, a), STC_OK);
  FILE *file = fopen(w->path, "rb");
  size_t n = fread(b, 1, sizeof b - 1, file);
  fclose(file);
  b[n] = 0;
  assert_int_equal(n, 128 + 24);
  assert_memory_equal(b, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                      10 + 59);
  assert_int_equal(b[127], '\n');
  assert_memory_equal(b + 128, a, 24);
}

/* One dimension has the comma of a Python tuple; no elements are no elements. */
WORLD_TEST(test_shapes) {
  StcFieldInfo f = {.name = "A", .type = STC_I32, .rank = 1, .shape = {5}, .bytes = 20};
  int32_t a[5] = {1, -2, 3, -4, 5}, b[5];
  assert_int_equal(npy_write(w->c, w->path, &f, a), STC_OK);
  assert_int_equal(npy_read(w->c, w->path, "field A", &f, b), STC_OK);
  assert_memory_equal(a, b, 20);
  f.shape[0] = f.bytes = 0;
  assert_int_equal(npy_write(w->c, w->path, &f, a), STC_OK);
  assert_int_equal(npy_read(w->c, w->path, "field A", &f, b), STC_OK);
}

/* What is behind the dict but blanks, and a version that NumPy does not write, is refused as it is by NumPy. */
WORLD_TEST(test_junk) {
  StcFieldInfo f = field(STC_F32);
  float b[6];
  static const char plain[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  static const char *const behind[] = {"x", " {}", "\n'a'", ", 1"};
  for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
    char header[128];
    snprintf(header, sizeof header, "%s%s", plain, behind[i]);
    write_npy(w, 1, header, 24);
    assert_int_equal(npy_read(w->c, w->path, "field A", &f, b), STC_INPUT);
    assert_non_null(strstr(w->last, "is not the dict"));
  }
  write_npy(w, 1 | 255 << 8, plain, 24);
  assert_int_equal(npy_read(w->c, w->path, "field A", &f, b), STC_INPUT);
  assert_non_null(strstr(w->last, "its format version is none of 1.0, 2.0 and 3.0"));
  write_npy(w, 1, plain, 24);
  assert_int_equal(npy_read(w->c, w->path, "field A", &f, b), STC_OK);
}

/* Version 2, other orders of keys, other quotes and blanks. */
WORLD_TEST(test_foreign_headers) {
  StcFieldInfo f = field(STC_F32);
  float b[6];
  write_npy(w, 2, "{\"shape\":(2,3),'fortran_order' : False , \"descr\":'<f4'}   \n", 24);
  assert_int_equal(npy_read(w->c, w->path, "field A", &f, b), STC_OK);
  write_npy(w, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }\n", 6);
  f = field(STC_BOOL);
  assert_int_equal(npy_read(w->c, w->path, "field A", &f, b), STC_OK);
}

/* Reads a file of `header` and n bytes as a 2 x 3 f32 field, and expects an error with `text` in it. */
static void expect_error(World *w, const char *header, size_t n, const char *text) {
  StcFieldInfo f = field(STC_F32);
  float b[6];
  w->last[0] = 0;
  write_npy(w, 1, header, n);
  assert_int_equal(npy_read(w->c, w->path, "field A", &f, b), STC_INPUT);
  if (!strstr(w->last, text))
    fail_msg("expected \"%s\" in \"%s\"", text, w->last);
}

/* Numbers of another type become the field's where NumPy's "same_kind" casts do and they fit; others are refused. */
WORLD_TEST(test_casts) {
  static const struct {
    Type from, to;
    double x;
    bool good;
  } cases[] = {
      {TY_F64, TY_F32, 0.1, true},  {TY_F64, TY_F32, 1e300, false}, {TY_I64, TY_I32, -7, true},
      {TY_I64, TY_U8, 7, false},    {TY_U8, TY_I32, 255, true},     {TY_F32, TY_I32, 1, false},
      {TY_I64, TY_I16, 1e6, false}, {TY_BOOL, TY_F64, 1, true},     {TY_F32, TY_F16, 0.5, true},
      {TY_U16, TY_BOOL, 1, false},  {TY_I32, TY_BF16, 1, false},    {TY_F64, TY_F16, 1e6, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    StcFieldInfo from = field((StcType)cases[i].from), to = field((StcType)cases[i].to);
    double in[6] = {0}, out[6] = {0};
    Const x = {.f = cases[i].x};
    if (!type_is_float(cases[i].from))
      x.i = (int64_t)cases[i].x;
    for (int k = 0; k < 6; k++)
      field_put(&from, in, k, x);
    assert_int_equal(npy_write(w->c, w->path, &from, in), STC_OK);
    if ((npy_read(w->c, w->path, "field A", &to, out) == STC_OK) != cases[i].good)
      fail_msg("case %zu: %s", i, w->last);
    double want = cases[i].to == TY_F32 ? (double)(float)cases[i].x : cases[i].x;
    assert_true(!cases[i].good || field_value(&to, out, 5) == want);
  }
}

/* What is wrong is said, with what was expected and how to mend it. */
WORLD_TEST(test_errors) {
  expect_error(w, "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", 48,
               "its type is '<c8', complex numbers, which field A does not have");
  expect_error(w, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 24,
               "it has 24 bytes of elements, but its header promises 48");
  expect_error(w, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 24,
               "its type is '>f4', but field A needs '<f4'");
  expect_error(w, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", 24,
               "its shape is (3, 2), but field A needs (2, 3)");
  expect_error(w, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 24,
               "its shape is (6,), but field A needs (2, 3)");
  expect_error(w, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, "numpy.ascontiguousarray(a)");
  expect_error(w, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 20,
               "it has 20 bytes of elements, but its header promises 24");
  expect_error(w, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 25, "it goes on after the 24 bytes");
  expect_error(w, "{'descr': '<f4', 'fortran_order': False}", 24, "is not the dict");
  expect_error(w, "{'descr': '<f4', 'shape': (2, -3), 'fortran_order': False}", 24, "is not the dict");
  expect_error(w, "{'descr': [('x', '<f4')], 'shape': (2, 3), 'fortran_order': False}", 24,
               "its type is [('x', '<f4')], but field A needs '<f4'");
  expect_error(w, "{'descr': [('x', '<f4'], 'shape': (2, 3), 'fortran_order': False}", 24, "is not the dict");
  expect_error(w, "{'descr': '<f4', 'shape': (2, 3, 'fortran_order': False}", 24, "is not the dict");
  expect_error(w, "", 24, "is not the dict");
}

/* No prefix of a file is taken for a whole one, and none crashes. */
WORLD_TEST(test_truncated) {
  StcFieldInfo f = field(STC_F32);
  float a[6] = {0};
  unsigned char b[256];
  assert_int_equal(npy_write(w->c, w->path, &f, a), STC_OK);
  FILE *file = fopen(w->path, "rb");
  size_t n = fread(b, 1, sizeof b, file);
  fclose(file);
  for (size_t i = 0; i < n; i++) {
    write_bytes(w, b, i);
    assert_int_equal(npy_read(w->c, w->path, "field A", &f, a), STC_INPUT);
  }
  unlink(w->path);
  assert_int_equal(npy_read(w->c, w->path, "field A", &f, a), STC_IO);
}

/* A file that cannot be written leaves nothing behind; one that is abandoned neither. */
WORLD_TEST(test_whole_or_not) {
  OutFile f;
  assert_false(file_write(w->c, "/nonexistent/x.npy", "x", 1));
  assert_non_null(strstr(w->last, "cannot write /nonexistent/x.npy"));
  assert_true(file_create(w->c, w->path, &f));
  fputs("half", f.to);
  assert_int_not_equal(access(w->path, F_OK), 0);
  file_abandon(&f);
  assert_int_not_equal(access(f.temporary, F_OK), 0);
  assert_int_not_equal(access(w->path, F_OK), 0);
}

/* Random numbers depend on seed, field and element alone, and are in range. */
TEST(test_random) {
  StcFieldInfo f = {.name = "A", .type = STC_F64, .rank = 1, .shape = {1000}, .bytes = 8000};
  double a[1000], b[1000], sum = 0;
  random_fill(&f, 1, a);
  random_fill(&f, 1, b);
  assert_memory_equal(a, b, sizeof a);
  for (int i = 0; i < 1000; i++) {
    assert_true(a[i] >= 0 && a[i] < 1);
    sum += a[i];
  }
  assert_true(fabs(sum / 1000 - 0.5) < 0.05);
  f.name = "B";
  random_fill(&f, 1, b);
  assert_memory_not_equal(a, b, sizeof a);
  f.name = "A";
  random_fill(&f, 2, b);
  assert_memory_not_equal(a, b, sizeof a);
  f = (StcFieldInfo){.name = "A", .type = STC_I32, .rank = 1, .shape = {1000}, .bytes = 4000};
  random_fill(&f, 1, a);
  for (int i = 0; i < 1000; i++)
    assert_in_range(((int32_t *)a)[i], 0, 99);
}

/* Values are read in the field's type; what does not fit is no value. */
TEST(test_values) {
  StcFieldInfo f = field(STC_F32);
  float a[6];
  assert_true(value_fill(&f, "0.1", a));
  for (int i = 0; i < 6; i++)
    assert_true(a[i] == 0.1f);
  assert_true(value_fill(&f, "zero", a));
  assert_true(a[5] == 0);
  assert_false(value_fill(&f, "1e99", a));
  assert_false(value_fill(&f, "1x", a));
  f = field(STC_I8);
  int8_t b[6];
  assert_true(value_fill(&f, "-128", b));
  assert_int_equal(b[5], -128);
  assert_false(value_fill(&f, "128", b));
  assert_false(value_fill(&f, "0.5", b));
  f = field(STC_BOOL);
  assert_true(value_fill(&f, "true", b));
  assert_int_equal(b[5], 1);
  assert_false(value_fill(&f, "2", b));
}

/* The largest error is found, scaled by the reference's magnitude; NaN equals NaN and nothing else; signs of zero
 * differ. */
TEST(test_compare) {
  StcFieldInfo f = field(STC_F32);
  float want[6] = {1, 2, -4, NAN, 0, INFINITY}, got[6];
  memcpy(got, want, sizeof got);
  assert_true(field_compare(&f, got, want).error == 0);
  got[1] = 2.5f;
  FieldError e = field_compare(&f, got, want);
  assert_true(e.error == 0.125 && e.at == 1 && e.got == 2.5 && e.want == 2);
  got[3] = 1;
  assert_true(isinf(field_compare(&f, got, want).error));
  memcpy(got, want, sizeof got);
  got[4] = -0.0f;
  e = field_compare(&f, got, want);
  assert_true(e.error > 0 && e.error < 1e-300 && e.at == 4);
  StcFieldInfo g = {.name = "B", .type = STC_I64, .rank = 1, .shape = {1}, .bytes = 8};
  int64_t x = (INT64_C(1) << 53) + 1, y = INT64_C(1) << 53;
  assert_true(field_compare(&g, &x, &y).error > 0);
}

/* A near name is found, a far one not. */
TEST(test_near) {
  static const char *const names[] = {"steps", "stats", "device", NULL};
  assert_string_equal(near_match("stpes", names), "steps");
  assert_string_equal(near_match("devise", names), "device");
  assert_null(near_match("quiet", names));
  assert_null(near_match("s", names));
  assert_string_equal(near_match("dev", names), "device");
  assert_string_equal(near_match("stepsize", names), "steps");
  assert_null(near_match("st", names));
}

/* A field of structs {a : f32; b : bool; c : f64[2]}, shape 2. */
static StcFieldInfo structs(void) {
  static const StcComponent parts[] = {{".a", STC_F32, 0},
                                       {".b", STC_BOOL, 4},
                                       {".c.0", STC_F64, 5},
                                       {".c.1", STC_F64, 13}};
  return (StcFieldInfo){.name = "S",
                        .rank = 1,
                        .shape = {2},
                        .bytes = 42,
                        .ncomponents = 4,
                        .components = parts,
                        .dtype = "[('a', '<f4'), ('b', '|b1'), ('c', '<f8', (2,))]"};
}

/* Structured dtypes are read however they are written, as long as they say the same; bools in them become 0 and 1. */
WORLD_TEST(test_structured) {
  static const char *const same[] = {
      "{'descr': [('a', '<f4'), ('b', '|b1'), ('c', '<f8', (2,))], 'shape': (2,), 'fortran_order': False}",
      "{\"descr\":[(\"a\",\"=f4\"),(\"b\",\"?\"),(\"c\",\"<f8\",2)],\"shape\":(2,),\"fortran_order\":False}",
      "{'descr' : [ ( 'a' , '<f4' , ) , ( 'b' , '=b1' ) , ( 'c' , '<f8' , ( 2 , ) ) , ] , 'shape': (2,), "
      "'fortran_order': False, }"};
  static const char *const other[] = {
      "{'descr': [('a', '<f4'), ('b', '|b1'), ('c', '<f8', (3,))], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [('a', '<f4'), ('b', '|b1'), ('c', '<f8')], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [('a', '>f4'), ('b', '|b1'), ('c', '<f8', (2,))], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [('a', '<f4'), ('b', '|b1'), ('', '|V3'), ('c', '<f8', (2,))], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [('a', '<f4'), ('b', [('c', '|b1')]), ('c', '<f8', (2,))], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [], 'shape': (2,), 'fortran_order': False}"};
  static const char *const malformed[] = {
      "{'descr': [('a', '<f4', 'shape': (2,), 'fortran_order': False}",
      "{'descr': [('a' '<f4')], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [('a', '<f4') ('b', '<f4')], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [('a', '<f4', (2)], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [('a', '<f4', x)], 'shape': (2,), 'fortran_order': False}",
      "{'descr': [[[[",
      "{'descr': ['<f4'], 'shape': (2,), 'fortran_order': False}",
      "{'descr': '<f4', 'descr': '<f4', 'shape': (2,), 'fortran_order': False}"};
  StcFieldInfo f = structs();
  unsigned char in[42], out[42];
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    write_npy(w, 1, same[i], 42);
    if (npy_read(w->c, w->path, "field S", &f, in) != STC_OK)
      fail_msg("%s: %s", same[i], w->last);
  }
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    write_npy(w, 1, other[i], 42);
    assert_int_equal(npy_read(w->c, w->path, "field S", &f, in), STC_INPUT);
    assert_non_null(strstr(w->last, "but field S needs [('a', '<f4'), ('b', '|b1'), ('c', '<f8', (2,))]"));
  }
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
    write_npy(w, 1, malformed[i], 42);
    assert_int_equal(npy_read(w->c, w->path, "field S", &f, in), STC_INPUT);
    assert_non_null(strstr(w->last, "is not the dict"));
  }
  for (int i = 0; i < 42; i++)
    out[i] = (unsigned char)(i + 1);
  assert_int_equal(npy_write(w->c, w->path, &f, out), STC_OK);
  assert_int_equal(npy_read(w->c, w->path, "field S", &f, in), STC_OK);
  out[4] = out[25] = 1;
  assert_memory_equal(in, out, 42);
}

/* Lists in lists end at some depth, and a header that is too long for version 1 gets version 2. */
WORLD_TEST(test_long_header) {
  char nested[4000] = "{'descr': ", *text = malloc(66000);
  StcFieldInfo f = {.name = "S", .rank = 1, .shape = {0}, .dtype = text};
  for (int i = 0; i < 300; i++)
    strcat(nested, "[('a', ");
  write_npy(w, 1, nested, 0);
  assert_int_equal(npy_read(w->c, w->path, "field S", &f, nested), STC_INPUT);
  strcpy(text, "[('a', '<f4')");
  for (size_t n = strlen(text); n < 65200; n += 16)
    strcpy(text + n, ", ('bbb', '<f4')");
  strcat(text, "]");
  assert_int_equal(npy_write(w->c, w->path, &f, NULL), STC_OK);
  if (npy_read(w->c, w->path, "field S", &f, nested) != STC_OK)
    fail_msg("%.300s", w->last);
  free(text);
}

/* Every 16-bit float is the value that it was read as; numbers between two are rounded. */
TEST(test_halves) {
  static const StcType types[] = {STC_F16, STC_BF16};
  uint16_t b, back;
  for (int t = 0; t < 2; t++) {
    StcFieldInfo f = {.name = "H", .type = types[t], .rank = 1, .shape = {1}, .bytes = 2};
    for (uint32_t i = 0; i < 65536; i++) {
      b = (uint16_t)i;
      double v = field_value(&f, &b, 0);
      field_put(&f, &back, 0, (Const){.f = v});
      if (isnan(v))
        assert_true(isnan(field_value(&f, &back, 0)));
      else
        assert_int_equal(back, b);
    }
  }
  StcFieldInfo f = {.name = "H", .type = STC_F16, .rank = 1, .shape = {1}, .bytes = 2};
  assert_true(value_fill(&f, "0.1", &b));
  assert_int_equal(b, 0x2e66);
  assert_true(value_fill(&f, "-65504", &b));
  assert_int_equal(b, 0xfbff);
  assert_true(value_fill(&f, "5.96e-8", &b));
  assert_int_equal(b, 1);
  assert_false(value_fill(&f, "70000", &b));
  f.type = STC_BF16;
  assert_true(value_fill(&f, "0.1", &b));
  assert_int_equal(b, 0x3dcd);
  for (int t = 0; t < 2; t++) {
    uint16_t a[1000];
    StcFieldInfo g = {.name = "H", .type = types[t], .rank = 1, .shape = {1000}, .bytes = 2000};
    random_fill(&g, 3, a);
    for (int i = 0; i < 1000; i++)
      assert_true(field_value(&g, a, i) >= 0 && field_value(&g, a, i) < 1);
  }
}
