/* backend/table.c: hash tables of the emitter, in its arena. */
#include "backend/emit.h"

#include <string.h>

/* Spreads the bits of `x`. */
static uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

/* The place of `key` in `m`, or the free place where it belongs. m->cap is a power of two, and some place is free. */
static int32_t ptrmap_slot(const PtrMap *m, const void *key) {
  uint32_t i = (uint32_t)mix((uintptr_t)key) & (uint32_t)(m->cap - 1);
  while (m->keys[i] && m->keys[i] != key)
    i = (i + 1) & (uint32_t)(m->cap - 1);
  return (int32_t)i;
}

/* Gives `m` room for twice as many keys. */
static void ptrmap_grow(Arena *a, PtrMap *m) {
  PtrMap old = *m;
  m->cap = old.cap ? old.cap * 2 : 64;
  m->keys = ARENA_ARRAY(a, const void *, m->cap);
  m->values = ARENA_ARRAY(a, void *, m->cap);
  for (int32_t i = 0; i < old.cap; i++)
    if (old.keys[i]) {
      int32_t s = ptrmap_slot(m, old.keys[i]);
      m->keys[s] = old.keys[i];
      m->values[s] = old.values[i];
    }
}

void ptrmap_put(Arena *a, PtrMap *m, const void *key, void *value) {
  if (m->n * 2 >= m->cap)
    ptrmap_grow(a, m);
  int32_t s = ptrmap_slot(m, key);
  m->n += !m->keys[s];
  m->keys[s] = key;
  m->values[s] = value;
}

void *ptrmap_get(const PtrMap *m, const void *key) { return m->cap ? m->values[ptrmap_slot(m, key)] : NULL; }

/* A computation and its result; `next` is the older entry of the same bucket, -1 none. */
struct ValueEntry {
  ValueKey key;
  LLVMValueRef value;
  int32_t next;
};

/* The bucket of `k` in `t`, whose number of buckets is a power of two. */
static uint32_t bucket_of(const ValueTable *t, ValueKey k) {
  uint64_t h = mix(k.op) ^ mix(k.a * 3 + 1) ^ mix(k.b * 5 + 2) ^ mix(k.c * 7 + 3);
  return (uint32_t)h & (uint32_t)(t->nbuckets - 1);
}

/* Doubles the buckets of `t` and inserts all entries again, oldest first. */
static void value_rehash(Arena *a, ValueTable *t) {
  t->nbuckets = t->nbuckets ? t->nbuckets * 2 : 256;
  t->buckets = ARENA_ARRAY(a, int32_t, t->nbuckets);
  memset(t->buckets, -1, sizeof *t->buckets * (size_t)t->nbuckets);
  for (int32_t i = 0; i < t->n; i++) {
    uint32_t b = bucket_of(t, t->entries[i].key);
    t->entries[i].next = t->buckets[b];
    t->buckets[b] = i;
  }
}

void value_put(Arena *a, ValueTable *t, ValueKey k, LLVMValueRef v) {
  if (t->n >= t->nbuckets)
    value_rehash(a, t);
  if (t->n == t->cap) {
    int32_t cap = t->cap ? t->cap * 2 : 256;
    t->entries = arena_grow(a, t->entries, (size_t)t->cap, (size_t)cap, sizeof *t->entries);
    t->cap = cap;
  }
  uint32_t b = bucket_of(t, k);
  t->entries[t->n] = (struct ValueEntry){k, v, t->buckets[b]};
  t->buckets[b] = t->n++;
}

LLVMValueRef value_get(const ValueTable *t, ValueKey k) {
  if (!t->nbuckets)
    return NULL;
  for (int32_t i = t->buckets[bucket_of(t, k)]; i >= 0; i = t->entries[i].next) {
    const ValueKey *e = &t->entries[i].key;
    if (e->op == k.op && e->a == k.a && e->b == k.b && e->c == k.c)
      return t->entries[i].value;
  }
  return NULL;
}

int32_t value_mark(const ValueTable *t) { return t->n; }

void value_release(ValueTable *t, int32_t mark) {
  while (t->n > mark) {
    t->n--;
    t->buckets[bucket_of(t, t->entries[t->n].key)] = t->entries[t->n].next;
  }
}
