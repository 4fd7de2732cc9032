/* driver/explain/explain-json.c: the result of `stc explain` as a JSON object. */
#include "driver/explain/explain.h"
#include "driver/files/json.h"

#include <stdlib.h>

/* Lists of `n` numbers. */
static json_t *integers(const int64_t *v, int n) {
  json_t *list = json_array();
  for (int i = 0; i < n; i++)
    json_array_append_new(list, json_integer(v[i]));
  return list;
}
static json_t *reals(const double *v, int n) {
  json_t *list = json_array();
  for (int i = 0; i < n; i++)
    json_array_append_new(list, json_real(v[i]));
  return list;
}

/* An extent: {"lo": [..], "hi": [..]}. */
static json_t *extent_json(const Extent *x, int rank) {
  return OBJECT("lo", integers(x->lo, rank), "hi", integers(x->hi, rank));
}

/* Computed points, and needed points, for each stored point. */
static void set_redundancy(json_t *o, const Redundancy *r) {
  SET(o, "computed", json_real(r->cells), "needed", json_real(r->needed));
}

/* The instances (stencils at a level) of a launch. */
static json_t *instances_json(const LaunchWork *l, int rank) {
  json_t *list = json_array();
  for (int i = 0; i < l->ninstances; i++) {
    const InstanceWork *x = &l->instances[i];
    json_t *o = OBJECT("stencil", json_string(x->name), "level", json_integer(x->level + 1), "region",
                       extent_json(&x->extent, rank));
    if (l->streamed)
      set(o, "lag", json_integer(x->lag));
    set_redundancy(o, &x->redundancy);
    json_array_append_new(list, o);
  }
  return list;
}

/* The rows that a streamed tile keeps. */
static json_t *windows_json(const Explanation *e, const LaunchWork *l) {
  json_t *list = json_array();
  for (int i = 0; i < l->nwindows; i++) {
    const WindowWork *w = &l->windows[i];
    json_t *o = OBJECT("field", json_string(e->stencils->fields[w->field].name), "version", json_integer(w->version),
                       "lag", json_integer(w->kept.lag), "rows", json_integer(w->kept.rows), "rows_for_other_warps",
                       json_integer(w->kept.across));
    json_array_append_new(list, o);
  }
  return list;
}

/* A launch. */
static json_t *launch_json(const Explanation *e, const LaunchWork *l) {
  int rank = e->stencils->grid.rank;
  json_t *o = OBJECT("family", json_string(family_name(l->schedule.family)), "steps", json_integer(l->steps), "cells",
                     reals(l->cells, rank), "points", reals(l->width, rank), "halo", extent_json(&l->halo, rank),
                     "loaded", extent_json(&l->loaded, rank), "instances", instances_json(l, rank));
  if (l->streamed)
    SET(o, "windows", windows_json(e, l), "window_words", json_integer(l->window_words), "steps_written_out",
        json_integer(l->unroll));
  set_redundancy(o, &l->redundancy);
  SET(o, "bytes_read", json_real(l->traffic.read), "bytes_written", json_real(l->traffic.written), "bytes_read_again",
      json_real(l->traffic.again));
  return o;
}

/* The times of a kernel if only one resource bounded it. */
static json_t *bounds_json(const LaunchTime *t) {
  json_t *o = json_object();
  for (int b = 0; b < BOUNDS; b++)
    set(o, bound_name((Bound)b), json_real(t->alone[b]));
  return o;
}

/* The resources of the compiled kernel, from its metadata. */
static json_t *taken_json(const KernelResources *r) {
  return OBJECT("vector_registers", json_integer(r->registers), "scalar_registers", json_integer(r->scalar_registers),
                "vector_registers_spilled", json_integer(r->spilled), "scalar_registers_spilled",
                json_integer(r->scalar_spilled), "private_bytes", json_integer(r->private_bytes), "shared_bytes",
                json_integer(r->shared_bytes));
}

/* The model's input for a launch: the work of a thread, and the demands of the whole launch. */
static json_t *load_json(const LaunchLoad *l) {
  const KernelWork *w = &l->work;
  json_t *o = json_object();
  const struct {
    const char *name;
    double value;
  } all[] = {{"threads", (double)w->threads},
             {"points", w->points},
             {"instructions", w->instructions},
             {"f64", w->f64},
             {"chained", w->chained},
             {"special", w->special},
             {"shared", w->shared},
             {"global", w->global},
             {"exchanges", w->exchanges},
             {"barriers", w->barriers},
             {"rounds", w->rounds},
             {"fetched", w->fetched},
             {"waits", w->waits},
             {"copies", w->copies},
             {"registers", l->registers},
             {"spilled", l->spilled},
             {"shared_bytes", (double)l->shared},
             {"blocks", l->blocks},
             {"at_edge", l->at_edge},
             {"straight", l->straight},
             {"turned", l->turned},
             {"memory_bytes", l->memory_bytes},
             {"cache_bytes", l->cache_bytes}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    set(o, all[i].name, json_real(all[i].value));
  return o;
}

/* The launch as it is counted before lowering. */
static json_t *counted_json(const Explanation *e) {
  return OBJECT("blocks_a_core", json_integer(e->counted_time.occupancy.blocks), "load", load_json(&e->count),
                "seconds", json_real(e->counted_time.seconds));
}

/* A kernel. */
static json_t *kernel_json(const Explanation *e, const ExplainedKernel *x) {
  const LaunchLoad *l = &x->load;
  double points = l->points * (e->steps > 0 ? e->steps : 1), threads = l->blocks * (double)l->work.threads;
  double each = points > 0 ? 1 / points : 0;
  json_t *o =
      OBJECT("name", json_string(x->kernel->name), "beside", json_boolean(x->beside), "threads",
             json_integer(l->work.threads), "blocks", json_real(l->blocks), "shared_bytes", json_integer(l->shared),
             "registers", json_integer(l->registers), "registers_missing", json_integer(l->spilled));
  if (x->assembled.found)
    SET(o, "ptxas_registers", json_integer(x->assembled.registers), "ptxas_spilled_bytes",
        json_integer(x->assembled.spilled_bytes));
  if (x->assembled.told)
    set(o, "compiled", taken_json(&x->assembled.taken));
  SET(o, "blocks_a_core", json_integer(x->time.occupancy.blocks), "warps_a_core", json_integer(x->time.occupancy.warps),
      "most_warps_a_core", json_integer(x->time.occupancy.most_warps), "occupancy_limit",
      json_string(x->time.occupancy.limit), "instructions_a_point", json_real(l->work.instructions * threads * each),
      "shared_words_a_point", json_real(l->work.shared * threads * each), "memory_bytes_a_point",
      json_real(l->memory_bytes * each), "cache_bytes_a_point", json_real(l->cache_bytes * each), "load", load_json(l),
      "seconds", json_real(x->time.seconds), "seconds_alone", bounds_json(&x->time), "bound",
      json_string(bound_name(x->time.bound)));
  return o;
}

/* The figures of the target that the model uses. */
static json_t *target_json(const TargetInfo *t) {
  json_t *o = json_object();
  const struct {
    const char *name;
    double value;
  } all[] = {{"lanes", t->lanes},
             {"cores", t->cores},
             {"clock", t->clock},
             {"issue_rate", t->issue_rate},
             {"f64_rate", t->f64_rate},
             {"shared_rate", t->shared_rate},
             {"bandwidth", t->bandwidth},
             {"cache_bandwidth", t->cache_bandwidth},
             {"cache_bytes", t->cache_bytes},
             {"kept_cache", t->kept_cache},
             {"kept_clock", t->kept_clock},
             {"kept_bandwidth", t->kept_bandwidth},
             {"schedulers", SCHEDULERS},
             {"special_slots", SPECIAL_SLOTS},
             {"core_cache_bytes", CORE_CACHE_BYTES},
             {"launch_us", t->launch_us}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    set(o, all[i].name, json_real(all[i].value));
  return o;
}

/* The messages in one direction. */
static json_t *messages_json(const PartMessages *m, const char *to) {
  return OBJECT("to", json_string(to), "messages", json_real(m->messages), "bytes", json_real(m->bytes), "seconds",
                json_real(m->seconds), "beside_computing", json_boolean(m->early > 0));
}

/* A row of the table of scaling; a speed of 0 is left out. */
static json_t *scaling_json(const ScalingRow *r, int rank) {
  json_t *o = OBJECT("devices", json_integer(r->devices), "weak_parts", integers(r->weak, rank), "weak_gpts",
                     json_real(r->weak_gpts), "weak_efficiency", json_real(r->weak_efficiency));
  if (r->strong_gpts <= 0)
    return o;
  SET(o, "strong_parts", integers(r->strong, rank), "strong_points", integers(r->own, rank), "strong_gpts",
      json_real(r->strong_gpts), "strong_efficiency", json_real(r->strong_efficiency));
  return o;
}

/* The grid in parts. */
static json_t *parts_json(const Explanation *e) {
  const ExplainedParts *x = e->parts;
  static const char *const names[] = {"dimension 0", "dimension 1", "dimension 2", "dimension 3", "corners"};
  json_t *o = json_object(), *messages = json_array(), *scaling = json_array();
  SET(o, "parts", integers(x->parts, x->rank), "points", integers(x->period.own, x->rank), "steps",
      json_integer(x->period.steps), "net", json_string(x->net->name), "bandwidth", json_real(x->net->bandwidth),
      "latency", json_real(x->net->latency));
  for (int k = 0; k <= MAX_RANK; k++)
    if (x->period.to[k].messages > 0)
      json_array_append_new(messages, messages_json(&x->period.to[k], names[k]));
  SET(o, "messages", messages, "compute_seconds", json_real(x->period.compute), "exchange_seconds",
      json_real(x->period.exchange), "hidden_seconds", json_real(x->period.hidden));
  for (int i = 0; i < SCALING_ROWS; i++)
    json_array_append_new(scaling, scaling_json(&x->scaling[i], x->rank));
  set(o, "scaling", scaling);
  return o;
}

/* This CPU, and the parts of the predicted time of a point and step. */
static json_t *host_json(const Explanation *e) {
  return OBJECT("name", json_string(e->host.name), "threads", json_integer(e->threads), "vector_bits",
                json_integer(e->cpu.bits), "core_cache", json_real(e->host.own_cache), "last_cache",
                json_real(e->host.last_cache), "core_bandwidth", json_real(e->host.core_bandwidth), "bandwidth",
                json_real(e->host.bandwidth), "additions_a_point", json_real(e->cpu_time.additions), "bytes_a_point",
                json_real(e->cpu_time.bytes), "fields_bytes", json_real(e->cpu_time.fields), "fields_in_cache",
                json_boolean(e->cpu_time.cached), "arithmetic_ns", json_real(e->cpu_time.arithmetic), "lines_ns",
                json_real(e->cpu_time.lines), "memory_ns", json_real(e->cpu_time.memory));
}

/* The values that the gradient keeps. */
static json_t *gradient_json(const ExplainedGradient *g) {
  json_t *o = OBJECT("bytes_a_step", json_real(g->row), "fields", json_string(g->names ? g->names : ""),
                     "snapshot_bytes", json_real(g->state), "steps", json_integer(g->steps));
  if (g->memory > 0)
    set(o, "memory", json_real(g->memory));
  if (g->memory > 0 && g->fits) {
    SET(o, "steps_at_a_time", json_integer(g->choice.length), "snapshots", json_integer(g->choice.snapshots),
        "steps_made_again", json_real(g->choice.again));
  }
  return o;
}

/* The number of rounds of each repeat that are counted. */
static json_t *rounds_json(const Explanation *e) {
  json_t *o = json_object();
  for (int i = 0; i < e->nrepeats; i++)
    set(o, e->repeats[i].name, json_integer(e->repeats[i].rounds));
  return o;
}

/* The whole result. */
static json_t *explanation_json(const Explanation *e) {
  json_t *o = json_object(), *launches = json_array(), *kernels = json_array();
  SET(o, "version", json_string(stc_version()), "program", json_string(e->program->name), "extents",
      integers(e->extents, e->kernels->grid.rank), "card", e->card ? json_string(e->card->name) : json_null(), "arch",
      json_string(target_arch(e->target)), "cpu", json_string(e->info.cpu), "schedule", json_string(e->schedule_text));
  if (e->tuned)
    set(o, "schedule_from", json_string(e->tuned));
  if (e->program->options.grid[0])
    set(o, "schedule_for", integers(e->program->options.grid, e->kernels->grid.rank));
  if (e->threads)
    set(o, "host", host_json(e));
  for (int i = 0; i < e->nlaunches; i++)
    json_array_append_new(launches, launch_json(e, &e->launches[i]));
  for (int i = 0; i < e->nkernels; i++)
    json_array_append_new(kernels, kernel_json(e, &e->list[i]));
  SET(o, "target", target_json(&e->info), "launches", launches, "kernels", kernels);
  if (e->counted)
    set(o, "counted", counted_json(e));
  SET(o, "steps", json_integer(e->steps), "bytes_a_point", json_real(e->work.bytes), "f32_operations_a_point",
      json_real(e->work.f32_ops), "f64_operations_a_point", json_real(e->work.f64_ops), "arithmetic_limit_gpts",
      json_real(e->arithmetic_limit), "memory_limit_gpts", json_real(e->memory_limit), "tile_memory_limit_gpts",
      json_real(e->tile_limit), "expected_gpts", json_real(e->gpts));
  if (e->turns)
    set(o, "turns", json_string(e->turns));
  if (e->gradient)
    set(o, "gradient", gradient_json(e->gradient));
  if (e->nrepeats)
    set(o, "rounds", rounds_json(e));
  if (e->parts)
    set(o, "parts", parts_json(e));
  if (e->why_text)
    set(o, "why", json_string(e->why_text));
  return o;
}

StcStatus explain_print_json(FILE *to, StcContext *c, const Explanation *e) {
  json_t *o = explanation_json(e);
  char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
  json_decref(o);
  if (!text)
    return context_error(c, "no memory on this computer for the figures as JSON"), STC_MEMORY;
  bool ok = fprintf(to, "%s\n", text) >= 0;
  free(text);
  return ok ? STC_OK : STC_IO;
}
