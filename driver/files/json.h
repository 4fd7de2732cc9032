/* driver/files/json.h: builds JSON objects, several keys at a time. */
#ifndef STC_FILES_JSON_H
#define STC_FILES_JSON_H

#include <stdint.h>

#include <jansson.h>

/* Sets a key; a NULL value (out of memory) shows when the text is made. */
static inline void set(json_t *o, const char *key, json_t *value) { json_object_set_new(o, key, value); }

/* The same for `n` pairs of a key and a value at `pairs`; returns `o`. */
static inline json_t *set_pairs(json_t *o, size_t n, const void *const *pairs) {
  for (size_t i = 0; i < n; i++)
    set(o, pairs[2 * i], (json_t *)(uintptr_t)pairs[2 * i + 1]);
  return o;
}

/* SET sets keys of `o`, each to the value after it; OBJECT makes an object with these. */
#define SET(O, ...) \
  set_pairs(O, sizeof(const void *[]){__VA_ARGS__} / (2 * sizeof(const void *)), (const void *[]){__VA_ARGS__})

#define OBJECT(...) SET(json_object(), __VA_ARGS__)

#endif
