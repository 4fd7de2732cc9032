/* driver/device/host-nodes.c: which CPUs are near which memory, according to Linux. */
#include "driver/device/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

cpu_set_t host_cpus(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return set;
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  for (int i = 0; i < (n > 0 ? n : 1) && i < CPU_SETSIZE; i++)
    CPU_SET((size_t)i, &set);
  return set;
}

/* Adds to *set the CPUs of `list` ("0-3,8,10-11") that are in *allowed. */
static void add_list(const char *list, const cpu_set_t *allowed, cpu_set_t *set) {
  char *end;
  for (const char *at = list; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : end) {
    long first = strtol(at, &end, 10), last = first;
    if (*end == '-')
      last = strtol(end + 1, &end, 10);
    for (long i = first; i <= last && i < CPU_SETSIZE; i++)
      if (CPU_ISSET((size_t)i, allowed))
        CPU_SET((size_t)i, set);
  }
}

/* Reads the first line of the file "FOLDER/nodeN/cpulist" into `line`. False if there is none. */
static bool read_list(const char *folder, int node, char *line, int size) {
  char path[512];
  snprintf(path, sizeof path, "%s/node%d/cpulist", folder, node);
  FILE *f = fopen(path, "r");
  bool ok = f && fgets(line, size, f);
  if (f)
    fclose(f);
  return ok;
}

/* The numbers of nodes can have gaps, so numbers beyond the last node found are tried. */
enum { NODES_LOOKED_AT = 1024 / MOST_NODES };

void host_nodes(const char *folder, const cpu_set_t *allowed, HostNodes *out) {
  char line[4096];
  int found = 0;
  *out = (HostNodes){0};
  for (int i = 0; i < NODES_LOOKED_AT; i++) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (!read_list(folder, i, line, sizeof line))
      continue;
    add_list(line, allowed, &set);
    found += CPU_COUNT(&set);
    if (CPU_COUNT(&set) == 0)
      continue;
    out->n += out->n < MOST_NODES;
    CPU_OR(&out->cpus[out->n - 1], &out->cpus[out->n - 1], &set);
  }
  if (found == CPU_COUNT(allowed) && found > 0)
    return;
  *out = (HostNodes){.n = 1};
  out->cpus[0] = *allowed;
}

int host_node_of(const HostNodes *nodes, int i, int threads) {
  int64_t cpus = 0, before = 0;
  for (int n = 0; n < nodes->n; n++)
    cpus += CPU_COUNT(&nodes->cpus[n]);
  int64_t at = (int64_t)i * cpus / threads;
  for (int n = 0; n < nodes->n; n++) {
    before += CPU_COUNT(&nodes->cpus[n]);
    if (at < before)
      return n;
  }
  return nodes->n - 1;
}
