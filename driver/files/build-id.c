/* driver/files/build-id.c: identifies the build of a program or library in this process from its memory, as its file
 * may have been replaced since it was loaded. */
#include "driver/files/build-id.h"

#include <elf.h>
#include <link.h>
#include <string.h>

/* The address that is searched for, the destination, and whether it was found. */
typedef struct Search {
  Sha256 *s;
  uintptr_t address;
  bool content, found;
} Search;

/* The address of segment `p` of the object `info`. */
static const char *segment(const struct dl_phdr_info *info, const ElfW(Phdr) * p) {
  return (const char *)(info->dlpi_addr + p->p_vaddr); // NOLINT(performance-no-int-to-ptr)
}

/* Is the address of `x` in the object `info`? */
static bool holds(const struct dl_phdr_info *info, const Search *x) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && x->address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
      return true;
  }
  return false;
}

/* Adds the build id in the notes of segment `p`, if there is one. */
static bool add_note(const struct dl_phdr_info *info, const ElfW(Phdr) * p, Sha256 *s) {
  size_t align = p->p_align < 8 ? 4 : 8, at = 0;
  ElfW(Nhdr) n;
  while (at + sizeof n <= p->p_memsz) {
    memcpy(&n, segment(info, p) + at, sizeof n);
    size_t name = at + sizeof n, value = (name + n.n_namesz + align - 1) & -align,
           end = (value + n.n_descsz + align - 1) & -align;
    if (value + n.n_descsz > p->p_memsz)
      return false;
    bool gnu = n.n_namesz == sizeof ELF_NOTE_GNU && memcmp(segment(info, p) + name, ELF_NOTE_GNU, n.n_namesz) == 0;
    if (gnu && n.n_type == NT_GNU_BUILD_ID && n.n_descsz)
      return sha256_add(s, segment(info, p) + value, n.n_descsz), true;
    at = end;
  }
  return false;
}

/* Copies `n` bytes, one by one: the address sanitizer reports reads of the padding between constants, also by memcpy.
 */
__attribute__((no_sanitize_address)) static void copy_image(volatile char *to, const char *from, size_t n) {
  for (size_t i = 0; i < n; i++)
    to[i] = from[i];
}

/* Adds the `n` bytes at `from`, a part of an object in memory. */
static void add_image(Sha256 *s, const char *from, size_t n) {
  char piece[4096];
  for (size_t at = 0, length; at < n; at += length) {
    length = n - at < sizeof piece ? n - at : sizeof piece;
    copy_image(piece, from + at, length);
    sha256_add(s, piece, length);
  }
}

/* Adds the code and constants of the object `info`, which nothing writes to. */
static bool add_content(const struct dl_phdr_info *info, Sha256 *s) {
  bool any = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_R) || (p->p_flags & PF_W))
      continue;
    add_image(s, segment(info, p), p->p_filesz);
    any = true;
  }
  return any;
}

/* Adds what was requested, if the object `info` contains the address, and then ends the search (for dl_iterate_phdr).
 */
static int visit(struct dl_phdr_info *info, size_t size, void *user) {
  Search *x = user;
  (void)size;
  if (!holds(info, x))
    return 0;
  for (int i = 0; i < info->dlpi_phnum && !x->found; i++)
    x->found = info->dlpi_phdr[i].p_type == PT_NOTE && add_note(info, &info->dlpi_phdr[i], x->s);
  if (!x->found && x->content)
    x->found = add_content(info, x->s);
  return 1;
}

bool build_id_add(Sha256 *s, uintptr_t address, bool content) {
  Search x = {s, address, content, false};
  dl_iterate_phdr(visit, &x);
  return x.found;
}
