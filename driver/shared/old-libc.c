/* driver/shared/old-libc.c: the two functions of glibc 2.35 and 2.36 that archives inside libstc.so call, made from
 * older functions, so that the library runs on glibc 2.34 (RHEL 9, Ubuntu 22.04). They are visible only within
 * libstc.so. All functions that they call are in every glibc since. tests/api/wheel_test.py has auditwheel report what
 * the library needs. */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

/* For libstdc++'s random_device: four random bytes from the kernel. Without them the process must not continue, as in
 * glibc. */
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != sizeof value)
    abort();
  return value;
}

/* The struct of <dlfcn.h> in glibc 2.35 and later on 64-bit machines, under another name, as older headers lack it. */
typedef struct FoundObject FoundObject;
struct FoundObject {
  unsigned long long flags;
  void *map_start, *map_end;
  struct link_map *map;
  void *eh_frame; /* of the segment PT_GNU_EH_FRAME */
  unsigned long long reserved[7];
};

/* The address that find_in searches for, and its result. */
typedef struct {
  uintptr_t address;
  FoundObject *found;
} Search;

/* Fills s->found and ends the search if the object `info` holds the address. The link map is left out: libgcc does not
 * read it. */
static int find_in(struct dl_phdr_info *info, size_t size, void *user) {
  Search *s = user;
  uintptr_t low = UINTPTR_MAX, high = 0, frame = 0;
  bool inside = false;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;
    if (p->p_type == PT_LOAD) {
      inside |= begin <= s->address && s->address < end;
      low = begin < low ? begin : low;
      high = end > high ? end : high;
    } else if (p->p_type == PT_GNU_EH_FRAME) {
      frame = begin;
    }
  }
  if (!inside || !frame)
    return 0;
  *s->found = (FoundObject){.map_start = (void *)low, .map_end = (void *)high, .eh_frame = (void *)frame};
  return 1;
}

/* For libgcc's unwinder, which calls it _dl_find_object; newer headers declare that with other types. */
__attribute__((visibility("hidden"))) int find_object(void *address, FoundObject *found) __asm__("_dl_find_object");

/* Finds the object in memory that contains the address; returns 0 if there is one with unwind tables. */
int find_object(void *address, FoundObject *found) {
  Search s = {(uintptr_t)address, found};
  return dl_iterate_phdr(find_in, &s) ? 0 : -1;
}
