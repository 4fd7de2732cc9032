/* driver/files/json.h: objects as JSON, a row of keys at a time. */
#ifndef STC_FILES_JSON_H
#define STC_FILES_JSON_H

#include <stdint.h>

#include <jansson.h>

/* Sets a key; a NULL value (out of memory) shows when the text is made. */
static inline void set(json_t *o, const char *key, json_t *value) { json_object_set_new(o, key, value); }

/* The same of the `n` values behind `n` keys at `pairs`; returns `o`. */
static inline json_t *set_pairs(json_t *o, size_t n, const void *const *pairs) {
  for (size_t i = 0; i < n; i++)
    set(o, pairs[2 * i], (json_t *)(uintptr_t)pairs[2 * i + 1]);
  return o;
}

/* Sets keys of `o`, each to the value behind it; an object that has these. */
#define SET(O, ...) \
  set_pairs(O, sizeof(const void *[]){__VA_ARGS__} / (2 * sizeof(const void *)), (const void *[]){__VA_ARGS__})

#define OBJECT(...) SET(json_object(), __VA_ARGS__)

#endif
