/* ir/base/arena.c: memory that is freed as a whole, and strings that grow in it. */
#include "ir/base/base.h"
#include "ir/run/run.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_ALIGN = 16, FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 1 << 20, CLEAR_BYTES = 4 << 10 };

/* A piece of memory from the user's function. Its data follow this header, whose size keeps them aligned. The bytes
 * from `used` to `clear` are zero. */
typedef struct Chunk {
  struct Chunk *next;
  size_t size, used, clear;
} Chunk;
_Static_assert(sizeof(Chunk) % ARENA_ALIGN == 0 || sizeof(void *) != 8, "bytes after the header are aligned");

struct Arena {
  ReallocFn fn;
  void *user;
  Chunk *chunks;
  size_t next_size, used;
  jmp_buf *oom;
  const Stop *stop;
  Chunk *spare; /* chunks that arena_release set aside for later allocations */
  Arena *scratch;
};

void *heap_realloc(void *user, void *p, size_t size) {
  (void)user;
  if (size == 0) {
    free(p);
    return NULL;
  }
  return realloc(p, size);
}

Arena *arena_new(ReallocFn fn, void *user) {
  if (!fn)
    fn = heap_realloc;
  Arena *a = fn(user, NULL, sizeof *a);
  if (a)
    *a = (Arena){.fn = fn, .user = user, .next_size = FIRST_CHUNK};
  return a;
}

/* Frees the list of chunks that begins with `c`. */
static void free_chunks(Arena *a, Chunk *c) {
  for (Chunk *next; c; c = next) {
    next = c->next;
    a->fn(a->user, c, 0);
  }
}

void arena_free(Arena *a) {
  if (!a)
    return;
  free_chunks(a, a->chunks);
  free_chunks(a, a->spare);
  arena_free(a->scratch);
  a->fn(a->user, a, 0);
}

void arena_on_oom(Arena *a, jmp_buf *handler) { a->oom = handler; }

void arena_obey(Arena *a, const Stop *stop) {
  a->stop = stop;
  if (a->scratch)
    a->scratch->stop = stop;
}

/* Calls the arena's out-of-memory handler. */
static _Noreturn void out_of_memory(Arena *a) {
  if (a->oom)
    longjmp(*a->oom, 1);
  abort();
}

/* If a spare chunk has room for `size` bytes, moves it to the front of the list and returns true. */
static bool take_spare(Arena *a, size_t size) {
  Chunk **at = &a->spare;
  while (*at && (*at)->size < size)
    at = &(*at)->next;
  Chunk *c = *at;
  if (!c)
    return false;
  *at = c->next;
  *c = (Chunk){.next = a->chunks, .size = c->size};
  a->chunks = c;
  return true;
}

/* Adds a new chunk with room for `size` bytes to the front of the list. */
static void add_chunk(Arena *a, size_t size) {
  size_t room = size > a->next_size ? size : a->next_size;
  if (room > SIZE_MAX - sizeof(Chunk))
    out_of_memory(a);
  Chunk *c = a->fn(a->user, NULL, sizeof(Chunk) + room);
  if (!c)
    out_of_memory(a);
  *c = (Chunk){.next = a->chunks, .size = room};
  a->chunks = c;
  if (a->next_size < LARGEST_CHUNK)
    a->next_size *= 2;
}

/* Zeroes the bytes between c->clear and c->used, and some more: to clear each small allocation by itself would take
 * most of its time. */
static void clear_more(Chunk *c) {
  size_t from = c->clear, left = c->size - c->used;
  c->clear = c->used + (left < CLEAR_BYTES ? left : CLEAR_BYTES);
  memset((char *)(c + 1) + from, 0, c->clear - from);
}

void *arena_alloc(Arena *a, size_t size) {
  if (size > SIZE_MAX / 2)
    out_of_memory(a);
  if (a->stop && a->oom && stop_asked(a->stop))
    longjmp(*a->oom, ARENA_STOPPED);
  size = size ? (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN : ARENA_ALIGN;
  if ((!a->chunks || a->chunks->size - a->chunks->used < size) && !take_spare(a, size))
    add_chunk(a, size);
  Chunk *c = a->chunks;
  char *p = (char *)(c + 1) + c->used;
  c->used += size;
  a->used += size;
  if (c->used > c->clear)
    clear_more(c);
  return p;
}

size_t arena_used(const Arena *a) { return a->used; }

ArenaMark arena_mark(const Arena *a) { return (ArenaMark){a->chunks, a->chunks ? a->chunks->used : 0, a->used}; }

void arena_release(Arena *a, ArenaMark mark) {
  Chunk *keep = mark.chunk;
  for (Chunk *c = a->chunks, *next; c != keep; c = next) {
    next = c->next;
    c->next = a->spare;
    a->spare = c;
  }
  a->chunks = keep;
  if (keep)
    keep->used = keep->clear = mark.chunk_used;
  a->used = mark.used;
}

Arena *arena_scratch(Arena *a) {
  if (!a->scratch)
    a->scratch = arena_new(a->fn, a->user);
  if (!a->scratch)
    out_of_memory(a);
  a->scratch->oom = a->oom;
  a->scratch->stop = a->stop;
  return a->scratch;
}

char *arena_release_text(Arena *a, ArenaMark mark, const char *text) {
  size_t n = text ? strlen(text) + 1 : 0;
  char *copy = text ? a->fn(a->user, NULL, n) : NULL;
  if (text && !copy)
    out_of_memory(a);
  if (text)
    memcpy(copy, text, n);
  arena_release(a, mark);
  char *result = text ? arena_strndup(a, copy, n - 1) : NULL;
  if (text)
    a->fn(a->user, copy, 0);
  return result;
}

char *arena_strndup(Arena *a, const char *s, size_t n) {
  char *p = arena_alloc(a, n + 1);
  if (n)
    memcpy(p, s, n);
  return p;
}

char *arena_strdup(Arena *a, const char *s) { return arena_strndup(a, s, strlen(s)); }

char *arena_identifier(Arena *a, const char *name) {
  char *s = arena_printf(a, "%s%s", isdigit((unsigned char)name[0]) || !name[0] ? "_" : "", name);
  for (char *c = s; *c; c++)
    if (!isalnum((unsigned char)*c))
      *c = '_';
  return s;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
  Str b = {.arena = a};
  va_list ap;
  va_start(ap, fmt);
  str_addv(&b, fmt, ap);
  va_end(ap);
  return b.s;
}

void *arena_grow(Arena *a, void *p, size_t old_n, size_t new_n, size_t size) {
  if (size && new_n > SIZE_MAX / 2 / size)
    out_of_memory(a);
  void *q = arena_alloc(a, new_n * size);
  size_t keep = old_n < new_n ? old_n : new_n;
  if (p && keep)
    memcpy(q, p, keep * size);
  return q;
}

/* Makes room in `b` for `more` bytes and the closing zero. */
static void str_reserve(Str *b, size_t more) {
  if (b->s && more < b->cap - b->n)
    return;
  size_t cap = b->cap ? b->cap * 2 : 64;
  while (cap - b->n <= more)
    cap *= 2;
  b->s = arena_grow(b->arena, b->s, b->s ? b->n + 1 : 0, cap, 1);
  b->cap = cap;
}

void str_add(Str *b, const char *s) { str_addn(b, s, strlen(s)); }

void str_addn(Str *b, const char *s, size_t n) {
  str_reserve(b, n);
  memcpy(b->s + b->n, s, n);
  b->n += n;
  b->s[b->n] = 0;
}

void str_addv(Str *b, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  str_reserve(b, 0);
  int n = vsnprintf(b->s + b->n, b->cap - b->n, fmt, ap);
  if (n < 0)
    n = 0;
  if ((size_t)n >= b->cap - b->n) {
    str_reserve(b, (size_t)n);
    vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
  }
  b->s[b->n + (size_t)n] = 0;
  va_end(again);
  b->n += (size_t)n;
}

void str_addi(Str *b, int64_t x) {
  char digits[24], *at = digits + sizeof digits - 1;
  uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  *at = 0;
  do
    *--at = (char)('0' + rest % 10);
  while (rest /= 10);
  if (x < 0)
    *--at = '-';
  str_addn(b, at, (size_t)(digits + sizeof digits - 1 - at));
}

void str_addf(Str *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  str_addv(b, fmt, ap);
  va_end(ap);
}
