/* driver/device/device-ref.c: the reference, the interpreter of stencil IR. */
#include "driver/device/device.h"
#include "driver/program/program.h"

/* Keeps the module as it was read: passes do not change what the reference runs. */
static StcStatus ref_load(Device *d, StcProgram *p, Build *b) {
  (void)b;
  if (p->kind == SOURCE_KIR)
    return diag_error(d->w->diags, no_loc(),
                      "%s is kernel IR, and the reference runs stencil IR: take --device=sim, or the .stn it came from",
                      p->file),
           STC_USAGE;
  d->state = p->reference;
  return STC_OK;
}

/* Interprets the module. */
static StcStatus ref_run(Device *d, WholeRun *r) {
  bool ok = interp_run(d->state, r->binding, r->steps, r->run_inits, r->skip_init, d->w->diags);
  return ok ? STC_OK : r->binding->torn ? STC_INTERRUPTED : STC_INPUT;
}

const DeviceKind device_ref = {
    .name = "ref",
    .help = "the reference: interprets the program as written, slow",
    .whole = true,
    .open = here_open,
    .close = here_close,
    .load = ref_load,
    .run = ref_run,
    HERE_DEVICE,
    .dlpack = 1,
};
