/* driver/device/device.c: the table of devices, and the lookup of a device by its name. */
#include "driver/device/device.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

const DeviceKind *const device_table[] = {&device_ref, &device_sim, &device_host, &device_cuda, &device_hip, NULL};

/* The kind whose name is the first `n` characters of `name`, or NULL. */
static const DeviceKind *find_kind(const char *name, size_t n) {
  for (int i = 0; device_table[i]; i++)
    if (strlen(device_table[i]->name) == n && memcmp(device_table[i]->name, name, n) == 0)
      return device_table[i];
  return NULL;
}

StcStatus device_open(Workspace *w, const char *name, Device *out) {
  const char *colon = strchr(name, ':');
  size_t n = colon ? (size_t)(colon - name) : strlen(name);
  const DeviceKind *kind = find_kind(name, n);
  if (!kind && (strcmp(name, "cpu") == 0 || strcmp(name, "gpu") == 0))
    return diag_error(w->diags, no_loc(), "no device '%s'; %s", name,
                      *name == 'c' ? "this computer's CPU is host" : "NVIDIA's GPUs are cuda, AMD's hip"),
           STC_USAGE;
  if (!kind)
    return diag_error(w->diags, no_loc(),
                      "no device '%s'; there are ref, sim, host, cuda and hip (`stc devices` lists them)", name),
           STC_USAGE;
  long index = -1;
  if (colon) {
    char *end;
    index = strtol(colon + 1, &end, 10);
    if (!kind->index)
      return diag_error(w->diags, no_loc(), "device '%s': %s takes no number", name, kind->name), STC_USAGE;
    if (end == colon + 1 || *end || index < 0 || index > 65535)
      return diag_error(w->diags, no_loc(), "device '%s': after the colon comes %s up to 65535, such as %s:1", name,
                        kind->index, kind->name),
             STC_USAGE;
  }
  *out = (Device){.kind = kind, .w = w, .index = (int)index, .name = arena_strdup(w->arena, name)};
  return kind->open(out);
}

const char *device_first(Arena *a, const char *names) {
  const char *colon = strchr(names, ':');
  if (!colon)
    return names;
  bool all = strcmp(colon, ":all") == 0;
  return arena_strndup(a, names, all ? (size_t)(colon - names) : (size_t)(colon - names) + strcspn(colon, ",-"));
}

StcStatus stc_devices(StcContext *c, FILE *to) {
  (void)c;
  for (int i = 0; device_table[i]; i++)
    if (device_table[i]->list)
      device_table[i]->list(to);
    else
      fprintf(to, "%-8s %s\n", device_table[i]->name, device_table[i]->help);
  return ferror(to) ? STC_IO : STC_OK;
}

/* The largest number of launches in the sequence that run beside one launch, but at least `most`. */
static int most_beside(const HostSeq *q, int most) {
  for (int i = 0, n = 0; i < q->nops; i++) {
    n = q->ops[i].beside ? n + 1 : 0;
    most = n > most ? n : most;
  }
  return most;
}

int launches_beside(const Module *m) {
  int most = 0;
  const HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    most = most_beside(q, most);
  return most;
}

StcStatus device_copies(Device *d, int n, const Copying *list) {
  StcStatus s = STC_OK;
  if (d->kind->copies)
    return d->kind->copies(d, n, list);
  for (int i = 0; i < n && !s; i++)
    s = d->kind->copy(d, list[i].to, list[i].from, list[i].size);
  return s;
}
