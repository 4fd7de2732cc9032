/* driver/instance/plan-whole.c: runs on devices that run whole modules, the reference and the simulator. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

/* The steps of one time tile on ref and sim. */
static int64_t whole_tile(const StcPlan *p) {
  int64_t tile = p->build && p->build->code.module->host.nseqs ? p->build->code.module->host.seqs[0].steps : 1;
  return tile < 1 ? 1 : tile;
}

/* The steps to make at once: all of `left` if nobody asks for progress, else `count` time tiles; none before a watch
 * that must see the fields before the first step. */
static int64_t whole_chunk(const StcPlan *p, int64_t left, int64_t count) {
  if (!p->run.inits_done && p->observers.watches)
    return 0;
  left = module_steps_to_frames(p->module, p->run.done, observers_wait(&p->observers, p->run.done, left));
  int64_t tile = whole_tile(p);
  return !observers_ask(&p->observers) || count > left / tile ? left : count * tile;
}

/* The plan's binding for a run of the whole module. */
static Binding binding_of(StcPlan *p) {
  for (int f = 0; f < p->module->nfields; f++)
    p->memory.fields[f] = field_slot(p, f) ? field_slot(p, f)->memory : NULL;
  for (int i = 0; i < p->module->nparam_arrays; i++)
    p->memory.arrays[i] = array_slot(p, i)->memory;
  return (Binding){.scalars = p->scalars,
                   .fields = p->memory.fields,
                   .param_arrays = p->memory.arrays,
                   .first_step = p->run.done,
                   .probed = p->observers.probes ? plan_take_row : NULL,
                   .user = p};
}

/* Makes `steps` steps, after the inits if they have not been run, on ref or sim. */
static StcStatus run_chunk(StcPlan *p, int64_t steps) {
  Binding b = binding_of(p);
  b.evaluated = p->run.evaluated;
  b.begins = p->run.done == p->run.first;
  b.reduced = plan_take_value;
  b.repeated = plan_take_rounds;
  b.stop = p->run.stop;
  b.ghosts = p->ghosts;
  const bool *edges = p->run.inits_done ? plan_edges_given(p) : NULL;
  WholeRun r = {&b, steps, !p->run.inits_done || edges, edges ? edges : p->bound.given};
  StcStatus s = p->device.kind->run(&p->device, &r);
  if (s && p->run.wrong)
    s = STC_INPUT;
  p->run.torn |= b.torn;
  p->run.inits_done |= !s;
  p->run.evaluated |= !s;
  p->run.done += p->module->nreductions || !s ? b.done : 0;
  p->lists.unseen = p->run.done + 1;
  return s;
}

StcStatus plan_run_whole(StcPlan *p, int64_t steps, double *seconds) {
  int64_t first = p->run.done, end = first + steps, count = 1;
  double start = clock_seconds();
  StcStatus s = STC_OK;
  bool again = true;
  if (!p->run.inits_done)
    s = plan_first_states(p);
  while (!s && again) {
    double before = clock_seconds();
    int64_t done = p->run.done;
    s = done < end ? plan_next_frames(p) : STC_OK;
    if (!s)
      s = run_chunk(p, whole_chunk(p, end - p->run.done, count));
    again = p->run.done < end && !p->run.met;
    count = plan_next_count(count, (p->run.done - done) / whole_tile(p), clock_seconds() - before);
    if (!s)
      s = plan_show(p);
    if (!s)
      s = plan_ask(p, first, steps);
    if (!s && again && stop_asked(p->run.stop))
      s = STC_INTERRUPTED;
  }
  *seconds = clock_seconds() - start;
  return s;
}

StcStatus plan_see_whole(StcPlan *p) {
  Binding b = binding_of(p);
  b.evaluated = b.see = true;
  WholeRun r = {&b, 0, false, p->bound.given};
  return p->device.kind->run(&p->device, &r);
}
