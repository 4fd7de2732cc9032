/* transports.c: chooses the transport. Within a process it is `peer` if its GPUs can access each other's memory, else
 * `copy`. Between processes it is `mpi` if that sends all cells from GPU to GPU; else `nccl` if each has GPUs of its
 * own and NCCL is available; else `mpi`. */
#include "driver/split/split.h"

#include <string.h>

/* Was this transport requested? */
static bool asked(const Split *s, const char *name) { return s->by && strcmp(s->by, name) == 0; }

/* Are there other processes? */
static bool has_others(const Split *s) { return s->net && s->net->size > 1; }

/* Checks that the requested transport suits the number of processes. */
static StcStatus check_asked(StcPlan *p) {
  const Split *s = p->split;
  if (has_others(s) && (asked(s, "store") || asked(s, "peer") || asked(s, "copy")))
    return diag_error(p->w.diags, no_loc(),
                      "ghost cells go from process to process by mpi or nccl; %s is for parts of one process", s->by),
           STC_USAGE;
  if (!has_others(s) && asked(s, "mpi"))
    return diag_error(p->w.diags, no_loc(),
                      "mpi is for several processes, started by mpirun or srun; this one is alone"),
           STC_USAGE;
  return STC_OK;
}

/* Tries NCCL. If it was not requested and something is missing, that is no error; if it fails, that is reported. */
static StcStatus try_nccl(StcPlan *p) {
  char why[256] = "";
  bool tried = false;
  StcStatus s = nccl_open(p, why, &tried);
  p->split->why = why[0] && !tried ? arena_strdup(p->w.arena, why) : NULL;
  if (!s && tried && !asked(p->split, "nccl"))
    diag_warning(p->w.diags, no_loc(),
                 "ghost cells go by MPI, which is slower, since NCCL failed: %s; --split=:mpi is for not trying it",
                 why);
  if (s || !why[0] || !asked(p->split, "nccl"))
    return s;
  diag_error(p->w.diags, no_loc(),
             "ghost cells cannot be sent by NCCL: %s; leave :nccl out of --split to have them sent "
             "another way",
             why);
  return STC_DEVICE;
}

/* Chooses the transport within this process. */
static StcStatus choose_here(StcPlan *p) {
  Split *s = p->split;
  bool near = parts_are_near(p);
  s->transport = near && !asked(s, "copy") ? &transport_peer : &transport_copy;
  if (near && !asked(s, "copy") && !has_others(s))
    mirrors_open(p);
  if (asked(s, "store") && !s->mirrors && s->ntransfers)
    return diag_error(p->w.diags, no_loc(),
                      "ghost cells cannot be sent by `store`: that takes NVIDIA GPUs which reach each other's memory, "
                      "kernels other than pipelines of warps, and parts that are cut along one dimension and have no "
                      "more than one neighbour on a side; leave :store out of --split"),
           STC_DEVICE;
  if (near || !asked(s, "peer") || !s->ntransfers)
    return STC_OK;
  diag_error(
      p->w.diags, no_loc(),
      "ghost cells cannot be sent by `peer`: there are parts on devices that do not reach each other's memory; leave "
      ":peer out of --split");
  return STC_DEVICE;
}

/* Is `mine` true on all ranks? */
static bool on_all(const Split *s, bool mine) {
  bool every[s->net->size];
  s->net->gather(s->net, &mine, sizeof mine, every);
  for (int i = 0; i < s->net->size; i++)
    mine &= every[i];
  return mine;
}

/* Chooses MPI if all cells between ranks then go from GPU to GPU: that takes no GPU resources from launches, and needs
 * no connections. */
static StcStatus try_direct(StcPlan *p) {
  Split *s = p->split;
  int links = 0;
  if (!on_all(s, s->part[s->begin].plan->device.kind->share))
    return STC_OK;
  StcStatus st = split_agree(p, choose_here(p));
  if (!st)
    st = split_agree(p, mpi_open(p));
  if (st || on_all(s, mpi_direct(p, &links) == links && links > 0))
    return st;
  mpi_close(p);
  s->transport = NULL;
  return STC_OK;
}

StcStatus transports_open(StcPlan *p) {
  Split *s = p->split;
  if (s->turns)
    s->transport = &transport_turns;
  StcStatus st = split_agree(p, check_asked(p));
  if (!st && has_others(s) && !s->by)
    st = try_direct(p);
  if (!st && !s->transport && (asked(s, "nccl") || (has_others(s) && !s->by)))
    st = split_agree(p, try_nccl(p));
  if (st || s->transport)
    return st;
  st = choose_here(p);
  return st || !has_others(s) ? st : mpi_open(p);
}
