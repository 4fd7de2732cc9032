/* driver/data/frames/frames-classic.c: arrays of netCDF files of the formats before netCDF-4, as "The NetCDF Classic
 * Format Specification" (Unidata) describes them: CDF-1, CDF-2 with offsets of 64 bits, CDF-5 with lengths of 64 bits.
 * Numbers are big-endian. An array whose first axis is the unlimited one has a record for each index along it; the
 * records of all such arrays alternate. */
#include "driver/data/frames/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tags of the lists of a header; the most dimensions of a file and of an array; the longest name. */
enum { DIMENSIONS = 10, ARRAYS = 11, ATTRIBUTES = 12, MOST_LENGTHS = 1024, MOST_RANK = 16, MOST_NAME = 1024 };

/* The header during reading, with `version` 1, 2 or 5, and its data for arrays. records: their number, < 0: as many as
 * the file has; record: bytes of one record with the narrays arrays so far, the last of which has `last` bytes; first:
 * the offset of the first record. bad: the header is malformed. */
typedef struct Header {
  FILE *from;
  int version;
  int64_t records, nlengths, lengths[MOST_LENGTHS], record, narrays, last, first;
  bool bad;
} Header;

/* The type of numbers for a code of the file, 1 to 11; characters have none. */
static Type type_of(int64_t code) {
  static const Type all[] = {TY_NONE, TY_I8, TY_NONE, TY_I16, TY_I32, TY_F32,
                             TY_F64,  TY_U8, TY_U16,  TY_U32, TY_I64, TY_NONE};
  return code > 0 && code < 12 ? all[code] : TY_NONE;
}

/* Bytes of a value of the type with this code; 0: there is no such type. */
static int64_t size_of(int64_t code) {
  static const int64_t all[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  return code > 0 && code < 12 ? all[code] : 0;
}

bool is_classic(const char *file) {
  char magic[3] = "";
  FILE *from = file ? fopen(file, "rb") : NULL;
  bool is = from && fread(magic, 1, 3, from) == 3 && memcmp(magic, "CDF", 3) == 0;
  if (from)
    fclose(from);
  return is;
}

/* ---------------------------------------------------------------- parts of the header */

/* Reads a number of `n` bytes. */
static int64_t take(Header *h, int n) {
  unsigned char b[8];
  uint64_t x = 0;
  h->bad |= fread(b, 1, (size_t)n, h->from) != (size_t)n;
  for (int i = 0; i < n && !h->bad; i++)
    x = x << 8 | b[i];
  return h->bad ? 0 : (int64_t)x;
}

/* Reads a length or a count, which must not be negative. */
static int64_t take_count(Header *h) {
  int64_t n = take(h, h->version == 5 ? 8 : 4);
  h->bad |= n < 0;
  return h->bad ? 0 : n;
}

/* Skips `n` bytes. */
static void pass(Header *h, int64_t n) { h->bad |= n < 0 || fseeko(h->from, (off_t)n, SEEK_CUR) != 0; }

/* `n` bytes, rounded up to the padding of the format. */
static int64_t filled(int64_t n) { return n > INT64_MAX - 3 ? -1 : (n + 3) / 4 * 4; }

/* Reads a name; one that is too long for `name` is skipped. */
static void take_name(Header *h, char name[MOST_NAME]) {
  int64_t n = take_count(h);
  name[0] = 0;
  if (h->bad || n >= MOST_NAME)
    return pass(h, filled(n));
  h->bad |= fread(name, 1, (size_t)n, h->from) != (size_t)n;
  name[h->bad ? 0 : n] = 0;
  pass(h, filled(n) - n);
}

/* Reads the number of elements of the next list, which must have the tag `tag` or be empty. */
static int64_t take_list(Header *h, int64_t tag) {
  int64_t have = take(h, 4), n = take_count(h);
  h->bad |= have != tag && (have || n);
  return h->bad ? 0 : n;
}

/* Skips a list of attributes; returns whether they tell that numbers are packed. */
static bool take_attributes(Header *h) {
  char name[MOST_NAME];
  bool packed = false;
  for (int64_t n = take_list(h, ATTRIBUTES); n > 0 && !h->bad; n--) {
    take_name(h, name);
    int64_t size = size_of(take(h, 4)), count = take_count(h);
    h->bad |= !size || count > INT64_MAX / 8 - 8;
    pass(h, h->bad ? 0 : filled(size * count));
    packed |= !strcmp(name, "scale_factor") || !strcmp(name, "add_offset");
  }
  return packed;
}

/* Reads the lengths of the dimensions; that of the unlimited one is 0. */
static void take_dimensions(Header *h) {
  char name[MOST_NAME];
  h->nlengths = take_list(h, DIMENSIONS);
  h->bad |= h->nlengths > MOST_LENGTHS;
  for (int64_t i = 0; i < h->nlengths && !h->bad; i++) {
    take_name(h, name);
    h->lengths[i] = take_count(h);
  }
}

/* ---------------------------------------------------------------- arrays */

/* Reads the next array; a->place.step becomes 1 if it has records. */
static void take_array(Header *h, char name[MOST_NAME], ClassicArray *a) {
  int64_t bytes = 1;
  *a = (ClassicArray){.type = TY_NONE};
  take_name(h, name);
  int64_t rank = take_count(h);
  bool records = false;
  for (int64_t d = 0; d < rank && !h->bad; d++) {
    int64_t id = take_count(h), n = id < h->nlengths ? h->lengths[id] : -1;
    h->bad |= n < 0;
    bool record = !d && !n;
    records |= record;
    if (d < MOST_RANK)
      a->shape[d] = n;
    h->bad |= __builtin_mul_overflow(bytes, record ? 1 : n, &bytes);
  }
  a->rank = rank <= MOST_RANK ? (int)rank : -1;
  a->packed = take_attributes(h);
  int64_t code = take(h, 4), size = size_of(code);
  take_count(h);
  a->place = (FramePlace){.fd = -1, .swap = size > 1 ? (int)size : 0, .at = take(h, h->version == 1 ? 4 : 8)};
  a->type = type_of(code);
  h->bad |= !size || a->place.at < 0 || __builtin_mul_overflow(bytes, size, &bytes) || bytes > INT64_MAX / 4;
  if (h->bad || !records)
    return;
  a->place.step = 1;
  h->last = bytes;
  h->first = h->narrays && h->first < a->place.at ? h->first : a->place.at;
  h->narrays++;
  h->bad |= __builtin_add_overflow(h->record, filled(bytes), &h->record);
}

/* Reads the header to its end, as the arrays after the requested one are also in the records. */
static void take_all(Header *h, const char *name, ClassicArray *a, bool *found) {
  char magic[3], own[MOST_NAME];
  h->bad = fread(magic, 1, 3, h->from) != 3;
  h->version = (int)take(h, 1);
  h->bad |= h->version != 1 && h->version != 2 && h->version != 5;
  h->records = take(h, h->version == 5 ? 8 : 4);
  h->records = h->version != 5 && h->records == UINT32_MAX ? -1 : h->records;
  take_dimensions(h);
  take_attributes(h);
  for (int64_t n = take_list(h, ARRAYS); n > 0 && !h->bad; n--) {
    ClassicArray x;
    take_array(h, own, &x);
    if (h->bad || strcmp(own, name) != 0)
      continue;
    *a = x;
    *found = true;
  }
  if (h->narrays == 1) /* the records of a single array are not padded */
    h->record = h->last;
}

/* Finds the positions of the array's frames in the file of `length` bytes: consecutive, or one in each record. False:
 * the file is shorter. */
static bool place_frames(const Header *h, ClassicArray *a, int64_t length) {
  int64_t bytes = type_size(a->type), end;
  for (int d = 1; d < a->rank; d++)
    bytes *= a->shape[d];
  if (a->place.step) {
    a->place.step = h->record;
    a->shape[0] = h->records >= 0 ? h->records : h->record && length > h->first ? (length - h->first) / h->record : 0;
  } else
    a->place.step = bytes;
  int64_t first = a->rank > 0 ? a->shape[0] : 1;
  return !first || !bytes ||
         (!__builtin_mul_overflow(first - 1, a->place.step, &end) && !__builtin_add_overflow(end, bytes, &end) &&
          !__builtin_add_overflow(end, a->place.at, &end) && end <= length);
}

bool classic_open(const char *file, const char *name, ClassicArray *a, bool *found, char reason[256]) {
  Header h = {.from = fopen(file, "rb")};
  *found = false;
  *a = (ClassicArray){.place.fd = -1};
  if (!h.from)
    return snprintf(reason, 256, "%s", strerror(errno)), false;
  take_all(&h, name, a, found);
  fclose(h.from);
  bool known = !h.bad && (!*found || (a->rank >= 0 && a->type != TY_NONE));
  int fd = !h.bad && *found && known ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  bool whole = fd < 0 || place_frames(&h, a, file_length(fd));
  a->place.fd = fd;
  snprintf(reason, 256, "%s",
           h.bad    ? "its header is not one of netCDF"
           : !known ? "it has text in that array, or too many dimensions"
           : !whole ? "it has fewer elements than its header promises"
                    : "");
  return !h.bad && known && whole;
}
