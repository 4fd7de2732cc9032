/* passes/plugin.h: what a shared object of passes (-load-pass=FILE.so) exports. It is made from the headers of the
 * stc that loads it, and takes the functions it
 * calls from that program: link it against nothing. examples/plugin/ has one.
 */
#ifndef STC_PLUGIN_H
#define STC_PLUGIN_H

#include "passes/registry.h"

/* A number that differs for headers with other structures, so that a plugin of another version is not taken for one of
 * this. */
#define PASS_LAYOUT \
  (((((sizeof(Module) * 1021 + sizeof(Stencil)) * 1021 + sizeof(Kernel)) * 1021 + sizeof(Op)) * 1021 + \
    sizeof(PassContext)) * \
       1021 + \
   (size_t)OP_COUNT)

/* A plugin: PASS_LAYOUT as it was when it was made, and its passes, ended by a row without a name. */
typedef struct PassPlugin {
  size_t layout;
  const Pass *passes;
} PassPlugin;

/* The one entry point of a plugin, "stc_pass_plugin". */
typedef const PassPlugin *PassPluginFn(void);

/* Defines the entry point of a plugin whose passes are `table`. */
#define STC_PASS_PLUGIN(table) \
  extern const PassPlugin *stc_pass_plugin(void); \
  const PassPlugin *stc_pass_plugin(void) { \
    static const PassPlugin plugin = {PASS_LAYOUT, table}; \
    return &plugin; \
  }

#endif
