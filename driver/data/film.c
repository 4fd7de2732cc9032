/* driver/data/film.c: pictures of many steps as an animated PNG, .apng, which browsers show. The libpng of
 * distributions does not write this format, so stc writes the few chunks itself, and compresses them by zlib. The
 * number of frames is in the head of the file and is set at the end. */
#include "driver/data/writer.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Milliseconds for which a frame is shown. */
enum { FRAME_TIME = 100 };

/* zlib's level, as in png.c. */
enum { LEVEL = 3 };

/* The state of a film: its file, the size and the number of its frames, the number of the next numbered chunk, and the
 * offset of the number of frames in the file. */
typedef struct Film {
  OutFile out;
  int width, height;
  uint32_t frames, sequence;
  long count_at;
  uint32_t kept; /* complete frames in the file, up to its byte `end` */
  off_t end;
} Film;

/* Writes a number, most significant byte first. */
static void put32(unsigned char *to, uint32_t v) {
  for (int i = 0; i < 4; i++)
    to[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* Writes a chunk; if `counted`, with its number in front of the data. */
static void put_chunk(Film *f, const char *type, bool counted, const unsigned char *data, size_t n) {
  unsigned char head[12], crc[4];
  size_t front = counted ? 12 : 8;
  put32(head, (uint32_t)(n + front - 8));
  memcpy(head + 4, type, 4);
  if (counted)
    put32(head + 8, f->sequence++);
  uLong sum = crc32(crc32(0, NULL, 0), head + 4, (uInt)(front - 4));
  put32(crc, (uint32_t)(n ? crc32(sum, data, (uInt)n) : sum));
  fwrite(head, 1, front, f->out.to);
  fwrite(data, 1, n, f->out.to);
  fwrite(crc, 1, 4, f->out.to);
}

/* Writes the number of frames. */
static void put_count(Film *f) {
  unsigned char count[8] = {0};
  put32(count, f->frames);
  put_chunk(f, "acTL", false, count, 8);
}

/* Writes all that precedes the first frame. */
static void put_head(Film *f) {
  unsigned char header[13] = {[8] = 8, [9] = 2};
  put32(header, (uint32_t)f->width);
  put32(header + 4, (uint32_t)f->height);
  fwrite("\x89PNG\r\n\x1a\n", 1, 8, f->out.to);
  put_chunk(f, "IHDR", false, header, 13);
  f->count_at = ftell(f->out.to);
  put_count(f);
}

/* Writes a frame: its size and time, then its compressed lines, each after the byte for "no filter". */
static bool put_frame(Film *f, const Picture *p) {
  size_t row = 1 + 3 * (size_t)f->width, raw = row * (size_t)f->height;
  uLongf size = compressBound(raw);
  unsigned char *lines = malloc(raw), *packed = malloc(size), control[22] = {0};
  bool ok = lines && packed;
  for (int y = 0; y < f->height && ok; y++) {
    lines[row * (size_t)y] = 0;
    picture_line(p, y, lines + row * (size_t)y + 1);
  }
  ok = ok && compress2(packed, &size, lines, raw, LEVEL) == Z_OK;
  put32(control, (uint32_t)f->width);
  put32(control + 4, (uint32_t)f->height);
  control[16] = FRAME_TIME >> 8;
  control[17] = FRAME_TIME & 255;
  control[18] = 1000 >> 8;
  control[19] = 1000 & 255;
  if (ok) {
    put_chunk(f, "fcTL", true, control, 22);
    put_chunk(f, f->frames ? "fdAT" : "IDAT", f->frames > 0, packed, size);
    f->frames++;
  }
  free(lines);
  free(packed);
  return ok;
}

StcStatus film_open(Writer *w) {
  Film *f = w->state = ARENA_NEW(w->w.arena, Film);
  return file_create(w->context, w->path, &f->out) ? STC_OK : STC_IO;
}

StcStatus film_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  Film *f = w->state;
  Picture p;
  (void)step;
  StcStatus s = picture_make(w, path, data, &p);
  if (s)
    return s;
  if (!f->frames) {
    f->width = p.width;
    f->height = p.height;
    put_head(f);
  }
  if (!put_frame(f, &p))
    return context_error(w->context, "no memory on this computer for a picture"), STC_MEMORY;
  if (fflush(f->out.to) != 0)
    return context_error(w->context, "cannot write %s: %s", w->path, strerror(errno)), STC_IO;
  f->kept = f->frames;
  f->end = ftello(f->out.to);
  return STC_OK;
}

StcStatus film_close(Writer *w) {
  Film *f = w->state;
  put_chunk(f, "IEND", false, (const unsigned char *)"", 0);
  bool ok = fseek(f->out.to, f->count_at, SEEK_SET) == 0;
  if (ok) {
    put_count(f);
    ok = file_commit(w->context, &f->out);
  } else {
    context_error(w->context, "cannot write %s: %s", w->path, strerror(errno));
    file_abandon(&f->out);
  }
  f->out.to = NULL;
  return ok ? STC_OK : STC_IO;
}

/* Removes what follows the last complete frame in the file; false if this fails. */
static bool cut_film(Film *f) {
  __fpurge(f->out.to);
  clearerr(f->out.to);
  f->frames = f->kept;
  return f->frames && ftruncate(fileno(f->out.to), f->end) == 0 && fseeko(f->out.to, f->end, SEEK_SET) == 0;
}

void film_abort(Writer *w) {
  Film *f = w->state;
  if (f->out.to && cut_film(f))
    film_close(w);
  else
    file_abandon(&f->out);
  f->out.to = NULL;
}
