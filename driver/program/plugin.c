/* driver/program/plugin.c: passes from shared objects (-load-pass). One program knows them, for -passes and -print-*,
 * and closes them when it is freed. */
#include "driver/program/program.h"
#include "passes/plugin.h"

#include <dlfcn.h>
#include <string.h>

/* The first name in `table` that is also the name of a pass of stc or of the `n` tables `others`; NULL if there is
 * none. */
static const char *name_twice(const Pass *table, const Pass *const *others, int n) {
  for (const Pass *p = table; p->name; p++) {
    if (pass_find(p->name))
      return p->name;
    for (int i = 0; i < n; i++)
      for (const Pass *q = others[i]; q->name; q++)
        if (strcmp(p->name, q->name) == 0)
          return p->name;
  }
  return NULL;
}

/* Registers the passes of plugin number `i`, which is open. */
static StcStatus take_passes(StcProgram *p, int i) {
  StcContext *c = p->w.context;
  const char *path = p->options.load_passes[i], *option = option_name(c, "-load-pass", "load_passes");
  union {
    void *object;
    PassPluginFn *entry;
  } symbol = {dlsym(p->plugins[i], "stc_pass_plugin")};
  const PassPlugin *plugin = symbol.object ? symbol.entry() : NULL;
  if (!plugin)
    return context_error(c, "%s=%s: it has no stc_pass_plugin; passes/plugin.h defines it with STC_PASS_PLUGIN(passes)",
                         option, path),
           STC_INPUT;
  if (plugin->layout != PASS_LAYOUT)
    return context_error(c,
                         "%s=%s: it was made from the headers of another version of stc; make it again from "
                         "those of stc %s",
                         option, path, STC_VERSION),
           STC_INPUT;
  const char *twice = name_twice(plugin->passes, p->loaded, i);
  if (twice)
    return context_error(c, "%s=%s: there is a pass '%s' already; give it another name", option, path, twice),
           STC_INPUT;
  p->loaded[i] = plugin->passes;
  return STC_OK;
}

StcStatus plugins_open(StcProgram *p) {
  int n = p->options.nload;
  p->plugins = ARENA_ARRAY(p->w.arena, void *, n + 1);
  p->loaded = ARENA_ARRAY(p->w.arena, const Pass *, n + 1);
  for (int i = 0; i < n; i++) {
    p->plugins[i] = dlopen(p->options.load_passes[i], RTLD_NOW | RTLD_LOCAL);
    if (!p->plugins[i])
      return context_error(p->w.context, "%s=%s: it cannot be loaded: %s",
                           option_name(p->w.context, "-load-pass", "load_passes"), p->options.load_passes[i],
                           dlerror()),
             STC_IO;
    StcStatus s = take_passes(p, i);
    if (s)
      return s;
  }
  return STC_OK;
}

void plugins_close(StcProgram *p) {
  for (int i = 0; p->plugins && i < p->options.nload; i++)
    if (p->plugins[i])
      dlclose(p->plugins[i]);
}
