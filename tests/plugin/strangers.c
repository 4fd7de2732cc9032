/* strangers.c: shared objects that -load-pass must refuse. As it is, this one claims to be of another version; with
 * NO_ENTRY it has no entry point, with TAKEN its
 * pass has a name that there is already. */
#include "passes/plugin.h"

static Module *run(PassContext *c, Module *m, int n, const PassOption *o) { return (void)c, (void)n, (void)o, m; }

const Pass stranger_passes[] = {
#ifdef TAKEN
    {"halo", "another one of that name", LEVEL_BOTH, LEVEL_BOTH, NULL, run},
#else
    {"nothing", "does nothing", LEVEL_BOTH, LEVEL_BOTH, NULL, run},
#endif
    {NULL, NULL, 0, 0, NULL, NULL},
};

#ifdef TAKEN
STC_PASS_PLUGIN(stranger_passes)
#elif !defined NO_ENTRY
const PassPlugin *stc_pass_plugin(void) {
  static const PassPlugin plugin = {PASS_LAYOUT + 1, stranger_passes};
  return &plugin;
}
#endif
