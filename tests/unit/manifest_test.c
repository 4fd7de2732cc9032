/* manifest_test.c: what stands in a manifest (driver/artifact/manifest.c, docs/manifest.md) for every target, against
 * what is known of the program.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/testing.h"
#include <jansson.h>

#include "driver/stc.h"

static const char *const wave =
    "param N = 100, M = 50;\nparam k : f32 = 0.1;\nparam flag : bool = true;\nlet dt : f32 = k / f32(N);\n"
    "grid G = [0 .. N-1, 0 .. M-1], 30;\nfield P, V : f32 on G;\nfield K : f32 on [1 .. N-2, 1 .. M-2] input;\n"
    "init start(P)[G] = f32(idx(0));\n"
    "stencil v(V)[1 .. N-2, 1 .. M-2] = V + dt * K * (P[-1,0] + P[1,0] - 2.0 * P);\n"
    "stencil p(P)[1 .. N-2, 1 .. M-2] = P + (if flag then V else 0.0) * f32(step);\n";

/* The manifest of `text` under the options. The caller releases it. */
static json_t *manifest(const char *text, const StcOptions *o) {
  StcContext *c = stc_context_new(NULL);
  StcProgram *p;
  const char *json;
  json_error_t e;
  assert_int_equal(stc_compile_string(c, "wave.stn", text, o, &p), STC_OK);
  assert_int_equal(stc_program_manifest(p, &json), STC_OK);
  json_t *m = json_loads(json, 0, &e);
  if (!m)
    fail_msg("line %d: %s", e.line, e.text);
  stc_program_free(p);
  stc_context_free(c);
  return m;
}

/* The string at key. */
static const char *text_at(const json_t *o, const char *key) {
  const char *s = json_string_value(json_object_get(o, key));
  if (!s)
    fail_msg("no string %s", key);
  return s;
}

/* The integer at key. */
static int64_t int_at(const json_t *o, const char *key) {
  json_t *v = json_object_get(o, key);
  if (!json_is_integer(v))
    fail_msg("no integer %s", key);
  return json_integer_value(v);
}

/* The array at key. */
static json_t *list_at(const json_t *o, const char *key) {
  json_t *v = json_object_get(o, key);
  if (!json_is_array(v))
    fail_msg("no array %s", key);
  return v;
}

/* The element of a list whose "name" is `name`. */
static json_t *named(const json_t *list, const char *name) {
  size_t i;
  json_t *e;
  json_array_foreach(list, i, e) if (strcmp(text_at(e, "name"), name) == 0) return e;
  fail_msg("nothing is named %s", name);
  return NULL;
}

/* Versions, target, flags and the program's numbers. */
TEST(test_head) {
  StcOptions o = {.march = "nvptx", .mcpu = "sm_90", .no_contract = true};
  json_t *m = manifest(wave, &o), *t = json_object_get(m, "target");
  assert_string_equal(text_at(m, "schema"), "stc-manifest");
  assert_int_equal(int_at(m, "schema_version"), 4);
  assert_string_equal(text_at(json_object_get(m, "versions"), "stc"), STC_VERSION);
  assert_string_equal(text_at(m, "program"), "wave");
  assert_string_equal(text_at(t, "arch"), "nvptx");
  assert_string_equal(text_at(t, "cpu"), "sm_90");
  assert_string_equal(text_at(t, "triple"), "nvptx64-nvidia-cuda");
  assert_string_equal(text_at(t, "artifact"), "ptx");
  assert_true(json_is_false(json_object_get(json_object_get(m, "floating_point"), "contract")));
  assert_int_equal(int_at(m, "rank"), 2);
  assert_int_equal(int_at(m, "steps"), 30);
  json_decref(m);
}

/* Params with defaults, those changed by -D too, and lets as expressions. */
TEST(test_scalars) {
  StcOptions o = {.march = "nvptx", .ndefines = 2, .defines = (const char *[]){"M=77", "k=0.25"}};
  json_t *m = manifest(wave, &o), *s = list_at(m, "scalars"), *dt = named(s, "dt");
  assert_int_equal(json_array_size(s), 5);
  assert_int_equal(int_at(named(s, "N"), "default"), 100);
  assert_int_equal(int_at(named(s, "M"), "default"), 77);
  assert_null(json_object_get(named(s, "M"), "expression"));
  assert_true(json_real_value(json_object_get(named(s, "k"), "default")) == 0.25);
  assert_true(json_is_true(json_object_get(named(s, "flag"), "default")));
  assert_string_equal(text_at(dt, "kind"), "let");
  assert_string_equal(text_at(dt, "type"), "f32");
  json_t *last = json_array_get(list_at(dt, "expression"), json_array_size(list_at(dt, "expression")) - 1);
  assert_string_equal(text_at(last, "op"), "div");
  assert_int_equal(json_array_size(list_at(last, "arguments")), 2);
  json_decref(m);
}

/* Fields: types, regions, extents, strides. */
TEST(test_fields) {
  StcOptions o = {.march = "nvptx"};
  json_t *m = manifest(wave, &o), *f = list_at(m, "fields"), *k = named(f, "K");
  assert_string_equal(text_at(k, "npy"), "<f4");
  assert_string_equal(text_at(json_array_get(list_at(k, "extents"), 0), "text"), "N - 2");
  assert_string_equal(json_string_value(json_array_get(list_at(k, "strides"), 0)), "max(M - 2, 0)");
  assert_string_equal(json_string_value(json_array_get(list_at(k, "strides"), 1)), "1");
  assert_true(json_is_true(json_object_get(k, "input")));
  assert_true(json_is_true(json_object_get(named(f, "P"), "init")));
  assert_true(json_is_false(json_object_get(named(f, "V"), "init")));
  json_decref(m);
}

/* Arguments lie one behind the other at multiples of their size, first buffers, then scalars, then the step; each names
 * what it stands for.
 */
static void check_arguments(const json_t *m, const json_t *kernel) {
  size_t i;
  json_t *a;
  int64_t at = 0;
  int rank = 0;
  json_array_foreach(list_at(kernel, "arguments"), i, a) {
    const char *kind = text_at(a, "kind");
    int order = strcmp(kind, "buffer") == 0 ? 0 : strcmp(kind, "scalar") == 0 ? 1 : 2;
    assert_true(order >= rank);
    rank = order;
    assert_int_equal(int_at(a, "alignment"), int_at(a, "bytes"));
    assert_int_equal(int_at(a, "offset") % int_at(a, "alignment"), 0);
    assert_true(int_at(a, "offset") >= at && int_at(a, "offset") < at + int_at(a, "alignment"));
    at = int_at(a, "offset") + int_at(a, "bytes");
    if (order == 0)
      named(list_at(m, "buffers"), text_at(a, "buffer"));
    if (order == 1)
      assert_string_equal(text_at(named(list_at(m, "scalars"), text_at(a, "scalar")), "type"), text_at(a, "type"));
  }
  assert_int_equal(int_at(kernel, "argument_bytes"), at);
}

/* Kernels, on every target and schedule; each one launched by the host part exists, and swaps are of two buffers of one
 * field. */
TEST(test_kernels) {
  static const char *const arches[] = {"nvptx", "amdgpu", "host"}, *const schedules[] = {"naive", "overlap"};
  for (int i = 0; i < 6; i++) {
    StcOptions o = {.march = arches[i / 2], .schedule = schedules[i % 2]};
    json_t *m = manifest(wave, &o), *k, *s, *op;
    size_t n, j;
    bool host = i / 2 == 2;
    json_array_foreach(list_at(m, "kernels"), n, k) {
      json_t *block = json_object_get(k, "block");
      int64_t threads = int_at(block, "x") * int_at(block, "y") * int_at(block, "z");
      check_arguments(m, k);
      assert_true(host ? threads == 1 : threads > 1 && threads <= 1024);
      assert_int_equal(json_array_size(list_at(k, "grid")), 2);
      assert_string_equal(text_at(json_array_get(list_at(k, "grid"), 1), "axis"), "x");
      json_t *first = json_array_get(list_at(k, "grid"), 0);
      if (json_object_get(first, "without"))
        assert_string_equal(text_at(first, "text"), "1");
      first = json_array_get(list_at(k, "grid"), json_object_get(first, "without") != NULL);
      assert_non_null(strstr(text_at(first, "text"), "ceildiv(max(N"));
      assert_int_equal(json_object_get(k, "scratch_bytes") != NULL, host);
      assert_int_equal(json_object_get(k, "descriptor") != NULL, i / 2 == 1);
    }
    json_array_foreach(list_at(json_object_get(m, "host"), "sequences"), n, s) {
      assert_true(int_at(s, "steps") >= 1);
      json_array_foreach(list_at(s, "operations"), j, op) {
        if (json_object_get(op, "launch"))
          named(list_at(m, "kernels"), text_at(op, "launch"));
        if (!json_object_get(op, "swap"))
          continue;
        json_t *a = named(list_at(m, "buffers"), json_string_value(json_array_get(list_at(op, "swap"), 0))),
               *b = named(list_at(m, "buffers"), json_string_value(json_array_get(list_at(op, "swap"), 1)));
        assert_string_equal(text_at(a, "field"), text_at(b, "field"));
        assert_int_equal(int_at(a, "copy") + int_at(b, "copy"), 1);
      }
    }
    s = json_array_get(list_at(json_object_get(m, "host"), "sequences"),
                       json_array_size(list_at(json_object_get(m, "host"), "sequences")) - 1);
    assert_int_equal(int_at(s, "steps"), 1);
    json_decref(m);
  }
}

/* The same program gives the same bytes. */
TEST(test_deterministic) {
  StcOptions o = {.march = "nvptx"};
  json_t *a = manifest(wave, &o), *b = manifest(wave, &o);
  assert_true(json_equal(a, b));
  json_decref(a);
  json_decref(b);
}

/* Conditions on the params are there, with the regions that excuse them. */
TEST(test_checks) {
  StcOptions o = {.march = "nvptx"};
  json_t *m = manifest(
      "param N = 8, M = 8;\ngrid G = [0 .. N-1], 2;\nfield A : f32 on G;\nstencil s(A)[1 .. M-2] = A[-1] + A[1];\n",
      &o);
  json_t *c = json_array_get(list_at(m, "checks"), 0);
  assert_non_null(strstr(text_at(c, "text"), ">= 0"));
  assert_true(json_array_size(list_at(json_object_get(c, "value"), "terms")) > 0);
  assert_true(strlen(text_at(c, "message")) > 10);
  json_decref(m);
}
