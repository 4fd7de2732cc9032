/* driver/device/device-sim.c: the simulator of kernel IR, which makes checks that a GPU cannot make. */
#include "driver/device/device.h"
#include "driver/program/program.h"
#include "ir/sim/sim.h"

/* The simulated module, and the cause of faults in it: stc if stc made the kernels, the input if they come from a .kir
 * or from -passes. */
typedef struct SimDevice {
  const Module *module;
  StcStatus fault;
} SimDevice;

/* Keeps the kernel IR. */
static StcStatus sim_load(Device *d, StcProgram *p, Build *b) {
  SimDevice *s = ARENA_NEW(d->w->arena, SimDevice);
  *s = (SimDevice){b->code.module, p->kind == SOURCE_KIR || p->options.passes ? STC_INPUT : STC_INTERNAL};
  d->state = s;
  return STC_OK;
}

/* Simulates the kernels and reports up to 8 faults. */
static StcStatus sim_run_whole(Device *d, WholeRun *r) {
  SimDevice *s = d->state;
  SimOptions o = {1, 8};
  bool ok = sim_run(s->module, r->binding, r->steps, r->run_inits, r->skip_init, &o, NULL, d->w->diags);
  return ok ? STC_OK : r->binding->torn ? STC_INTERRUPTED : s->fault;
}

const DeviceKind device_sim = {
    .name = "sim",
    .help = "the simulator: runs a GPU's kernels thread by thread and checks for races, stale values and more",
    .whole = true,
    .open = here_open,
    .close = here_close,
    .load = sim_load,
    .run = sim_run_whole,
    HERE_DEVICE,
    .dlpack = 1,
};
