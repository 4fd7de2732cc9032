/* driver/instance/plan-keep.c: copies of a plan's fields at a step: on its device, in their memory layout, as long as
 * there is room, because a copy within the device is many times as fast as one to the host; else on the host. */
#include "driver/instance/gradient/gradient.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Positions of copies, on devices with memory of their own, are multiples of this. */
enum { KEPT_ALIGN = 256 };

/* The slot that holds exactly the part; NULL: it is in several slots, or shares one, or is in parts of the grid. */
static Slot *part_slot(const StcPlan *p, const SavedPart *part) {
  const Declared *d = &p->program->declared[part->field];
  Home h = p->bound.homes[part->field];
  if (p->split || h.packed || (part->component < 0 && d->ncomponents > 1))
    return NULL;
  return field_slot(p, h.field + (part->component < 0 ? 0 : part->component));
}

/* The bytes of the slot in a copy. */
static size_t image_bytes(const Keeper *k, const Slot *slot) {
  size_t align = k->p->device.kind->room ? KEPT_ALIGN : 1;
  return (slot->size + align - 1) / align * align;
}

void keeper_make(StcPlan *p, int n, SavedPart *parts, SpareBlocks *spare, Keeper *out) {
  double total;
  *out = (Keeper){.p = p, .n = n, .parts = parts, .spare = spare};
  for (int i = 0; i < n; i++) {
    const Slot *slot = part_slot(p, &parts[i]);
    out->dense += parts[i].bytes;
    if (slot)
      out->image += (int64_t)image_bytes(out, slot);
    else
      out->apart += parts[i].bytes;
  }
  out->bytes = out->image + out->apart > out->dense ? out->image + out->apart : out->dense;
  device_room(&p->device, &out->left, &total);
  computer_room(&out->left_here, &total);
  out->left += spare ? spare->bytes : 0;
  out->left = out->left / 4 * 3; /* others need some of it, and computing sometimes needs more */
  out->left_here = out->left_here / 4 * 3;
}

/* Host memory, of the kind with which the device copies at full speed, if there is any. */
static StcStatus room_here(Keeper *k, KeptCopy *x, int64_t bytes) {
  Device *d = &k->p->device;
  x->pinned = d->kind->pinned_new && 2 * bytes <= k->left_here;
  x->here = x->pinned ? d->kind->pinned_new(d, (size_t)bytes + 1) : NULL;
  x->pinned = x->here != NULL;
  x->here = x->here ? x->here : malloc((size_t)bytes + 1);
  k->left_here -= (double)bytes;
  if (x->here)
    return STC_OK;
  return context_error(k->p->w.context,
                       "out of memory for what the gradient needs of all steps; allow it less, so that steps are made "
                       "again (memory)"),
         STC_MEMORY;
}

void spare_blocks_free(StcPlan *p, SpareBlocks *spare) {
  for (int i = 0; i < spare->n; i++)
    p->device.kind->release(&p->device, spare->blocks[i], spare->sizes[i]);
  *spare = (SpareBlocks){0};
}

/* A spare block of `size` bytes; NULL: there is none, and the other spares, which have other sizes, are freed. */
static void *take_spare(Keeper *k, size_t size) {
  SpareBlocks *s = k->spare;
  for (int i = 0; s && i < s->n; i++)
    if (s->sizes[i] == size) {
      void *block = s->blocks[i];
      s->blocks[i] = s->blocks[--s->n];
      s->sizes[i] = s->sizes[s->n];
      s->bytes -= (double)size;
      return block;
    }
  if (s)
    spare_blocks_free(k->p, s);
  return NULL;
}

/* Allocates a block for copies on the device: for as many as there are blocks for if `of` are made in all, while that
 * is a small fraction of the free memory. False: there is no room. */
static bool new_block(Keeper *k, int64_t of, StcStatus *s) {
  Device *d = &k->p->device;
  int64_t n = of / (KEEPER_BLOCKS / 2) + 1;
  while (n > 1 && (double)(n * k->image) > k->left / 8)
    n /= 2;
  if (k->nblocks == KEEPER_BLOCKS || (double)(n * k->image) > k->left)
    return false;
  void *block = take_spare(k, (size_t)(n * k->image));
  if (!block)
    *s = d->kind->alloc(d, (size_t)(n * k->image), &block);
  if (*s || !block)
    return false;
  k->left -= (double)(n * k->image);
  k->more = (int)n;
  k->next = block;
  k->sizes[k->nblocks] = (size_t)(n * k->image);
  k->blocks[k->nblocks++] = block;
  return true;
}

/* Allocates memory for a copy. */
static StcStatus make_room(Keeper *k, KeptCopy *x, int64_t of) {
  StcStatus s = STC_OK;
  if (k->folder && k->made++ >= k->in_memory) {
    if (!k->filed)
      s = scratch_open(k->p->w.context, k->folder, &k->file);
    x->place = s ? 0 : ++k->filed;
    return s;
  }
  if (k->image && (k->more || new_block(k, of, &s))) {
    x->image = k->next;
    k->next += k->image;
    k->more--;
  }
  int64_t bytes = x->image ? k->apart : k->dense;
  return s || !bytes ? s : room_here(k, x, bytes);
}

/* Copies the image of a slot with equal size and row layout to `slot`, which holds the part. */
static StcStatus part_copy(StcPlan *p, const SavedPart *part, Slot *slot, const void *image) {
  StcStatus s = slot->loan ? plan_before_write(p, slot) : STC_OK;
  if (!s && slot->size)
    s = p->device.kind->copy(&p->device, slot->memory, image, slot->size);
  if (!s)
    plan_mark_given(p, part->field, part->component);
  return s;
}

/* The same if the rows have another layout than in `from`, through the host. */
static StcStatus part_convert(const Keeper *k, const Slot *from, void *image, StcPlan *p, const SavedPart *part) {
  Slot at = {.memory = image, .size = from->size, .row = from->row, .pitch = from->pitch};
  char *values = malloc((size_t)part->bytes + 1);
  StcStatus s = values ? slot_fetch(k->p, &at, values) : STC_MEMORY;
  if (!s)
    s = part_set(p, part, values);
  free(values);
  return s;
}

StcStatus part_hand(StcPlan *from, const SavedPart *part, StcPlan *to, const SavedPart *as) {
  Slot *a = part_slot(from, part), *b = part_slot(to, as);
  if (a && b && from->device.kind->room && from->device.kind == to->device.kind &&
      from->device.index == to->device.index && a->size == b->size && a->row == b->row && a->pitch == b->pitch) {
    StcStatus s = from->device.kind->wait(&from->device);
    return s ? s : part_copy(to, as, b, a->memory);
  }
  char *data = malloc((size_t)part->bytes + 1);
  StcStatus s = data ? part_get(from, part, data) : STC_MEMORY;
  if (!s)
    s = part_set(to, as, data);
  free(data);
  return s;
}

/* Copies a part to `p` from its image, which has the layout of slot `from`. */
static StcStatus give_image(const Keeper *k, const Slot *from, void *image, StcPlan *p, const SavedPart *part) {
  Slot *slot = part_slot(p, part);
  if (slot && slot->size == from->size && slot->row == from->row && slot->pitch == from->pitch)
    return part_copy(p, part, slot, image);
  return part_convert(k, from, image, p, part);
}

/* Copies those parts of the keeper's plan that have an image, and are not there already, all together. */
static StcStatus take_images(const Keeper *k, char *image) {
  Device *d = &k->p->device;
  Copying *list = calloc((size_t)k->n + 1, sizeof *list);
  int n = 0;
  for (int i = 0; list && i < k->n; i++) {
    const Slot *slot = part_slot(k->p, &k->parts[i]);
    if (slot && slot->size && slot->memory != image)
      list[n++] = (Copying){image, slot->memory, slot->size};
    image += slot ? image_bytes(k, slot) : 0;
  }
  StcStatus s = list ? device_copies(d, n, list) : STC_MEMORY;
  free(list);
  return s;
}

/* Copies all parts of `p` (the keeper's plan if `out`) to the copy or from it. */
static StcStatus copy_parts(const Keeper *k, const KeptCopy *x, StcPlan *p, const SavedPart *parts, bool out) {
  char *image = x->image, *here = x->here;
  StcStatus s = out && image ? take_images(k, image) : STC_OK;
  for (int i = 0; i < k->n && !s; i++) {
    const Slot *from = part_slot(k->p, &k->parts[i]);
    bool asked = parts[i].field >= 0;
    if (image && from) {
      s = asked && !out ? give_image(k, from, image, p, &parts[i]) : STC_OK;
      image += image_bytes(k, from);
    } else {
      s = !asked ? STC_OK : out ? part_get(p, &parts[i], here) : part_set(p, &parts[i], here);
      here += k->parts[i].bytes;
    }
  }
  return s;
}

/* The same for a copy in the file, through host memory. */
static StcStatus copy_filed(const Keeper *k, const KeptCopy *x, StcPlan *p, const SavedPart *parts, bool out) {
  StcContext *c = k->p->w.context;
  KeptCopy between = {.here = malloc((size_t)k->dense + 1)};
  StcStatus s =
      between.here ? STC_OK : (context_error(c, "out of memory for a snapshot of the gradient's"), STC_MEMORY);
  if (!s && !out)
    s = scratch_read(c, k->file, x->place, between.here, k->dense);
  if (!s)
    s = copy_parts(k, &between, p, parts, out);
  if (!s && out)
    s = k->p->device.kind->wait(&k->p->device);
  if (!s && out)
    s = scratch_write(c, k->file, x->place, between.here, k->dense);
  free(between.here);
  return s;
}

StcStatus kept_make_room(Keeper *k, KeptCopy *x, int64_t of) {
  return x->image || x->here || x->place ? STC_OK : make_room(k, x, of);
}

bool kept_is_queued(const Keeper *k, const KeptCopy *x, const StcPlan *to, const SavedPart *parts) {
  bool queued = x->image && !x->here && !x->place && k->p->device.kind->room;
  for (int i = 0; i < k->n && queued && to; i++) {
    const Slot *from = part_slot(k->p, &k->parts[i]), *slot = parts[i].field >= 0 ? part_slot(to, &parts[i]) : from;
    queued = slot && !slot->loan && slot->size == from->size && slot->row == from->row && slot->pitch == from->pitch;
  }
  return queued;
}

StcStatus kept_take(Keeper *k, KeptCopy *x, int64_t of) {
  StcStatus s = kept_make_room(k, x, of);
  return s ? s : x->place ? copy_filed(k, x, k->p, k->parts, true) : copy_parts(k, x, k->p, k->parts, true);
}

StcStatus kept_give(const Keeper *k, const KeptCopy *x, StcPlan *to, const SavedPart *parts) {
  return x->place ? copy_filed(k, x, to, parts, false) : copy_parts(k, x, to, parts, false);
}

/* May the slot use other memory than its own? */
static bool is_lendable(const Slot *slot) {
  return !slot->lead && !slot->foreign && !slot->loan && !slot->shown && slot->memory;
}

bool kept_are_lent(const Keeper *k, const StcPlan *to, const SavedPart *parts) {
  bool lent = true;
  for (int i = 0; i < k->n && lent; i++) {
    const Slot *slot = parts[i].field >= 0 ? part_slot(to, &parts[i]) : NULL;
    bool already = false;
    for (int j = 0; j < k->lent.n && slot; j++)
      already = already || k->lent.of[j].slot == slot;
    lent = parts[i].field < 0 || already;
  }
  return lent;
}

/* Lets `slot` use memory `image`; `l` keeps its own. False: it may not. */
static bool lend(LentSlots *l, Slot *slot, void *image) {
  int i = 0;
  while (i < l->n && l->of[i].slot != slot)
    i++;
  if (i == l->n) {
    LentSlot *more = is_lendable(slot) ? realloc(l->of, (size_t)(i + 1) * sizeof *more) : NULL;
    if (!more)
      return false;
    l->of = more;
    l->of[l->n++] = (LentSlot){slot, slot->memory};
  }
  slot->memory = image;
  return true;
}

/* Returns all of these slots to their own memory. */
static void return_lent(LentSlots *l) {
  for (int i = 0; i < l->n; i++)
    l->of[i].slot->memory = l->of[i].own;
  free(l->of);
  *l = (LentSlots){0};
}

/* Do all blocks of the plan's kernels set all of their points in every step? Those for tiles that are left out because
 * of masks do not: such tiles keep their values in both of a field's buffers. */
static bool sets_all(const Module *m) {
  bool all = true;
  for (int i = 0; i < m->nkernels; i++)
    all = all && !m->kernels[i].tests && !m->kernels[i].list && !m->kernels[i].idles;
  return all;
}

/* The buffer of the plan's kernels that is the present memory of field `field`; -1: none. */
static int field_buffer(const Module *m, int field) {
  for (int b = 0; b < m->nbuffers; b++)
    if (m->buffers[b].kind == BUFFER_FIELD && m->buffers[b].copy == 0 && m->buffers[b].field == field)
      return b;
  return -1;
}

/* Does the slot hold a field now? */
static bool holds_field(const StcPlan *p, const Slot *slot) {
  bool holds = false;
  for (int f = 0; f < p->module->nfields; f++)
    holds = holds || field_slot(p, f) == slot;
  return holds;
}

/* Does a launch of the sequence, which has no loops, write to slot number `slot`? */
static bool writes_slot(const StcPlan *p, const HostSeq *seq, int32_t slot) {
  const Module *m = p->build->code.module;
  int32_t at[m->nbuffers + 1];
  bool writes = false;
  memcpy(at, p->memory.of_buffer, sizeof *at * (size_t)m->nbuffers);
  for (int i = 0; i < seq->nops && !writes; i++) {
    const HostOp *op = &seq->ops[i];
    const Kernel *kernel = op->kind == HOST_LAUNCH ? &m->kernels[op->a] : NULL;
    for (int a = 0; kernel && a < kernel->nargs; a++) {
      const KArg *arg = &kernel->args[a];
      writes = writes || (arg->kind == KARG_BUFFER && arg->writes && at[arg->index] == slot);
    }
    host_swap(&(HostSeq){.nops = 1, .ops = &seq->ops[i]}, 0, at);
  }
  return writes;
}

/* Returns slots that use a copy's memory, and to which the sequence writes, to their own memory, so that the copy does
 * not change: a step may change a field in place, or store intermediate values in the memory of the field two steps
 * ago. In order with launches; with the field's value if the slot holds one. */
static StcStatus keep_written(Keeper *k, const HostSeq *seq) {
  StcPlan *p = k->p;
  LentSlots *l = &k->writing;
  Copying *list = calloc((size_t)l->n + 1, sizeof *list);
  int n = 0;
  for (int i = 0; i < l->n && list; i++) {
    Slot *slot = l->of[i].slot;
    if (slot->memory == l->of[i].own || !writes_slot(p, seq, (int32_t)(slot - p->memory.slots)))
      continue;
    if (holds_field(p, slot))
      list[n++] = (Copying){l->of[i].own, slot->memory, slot->size};
    slot->memory = l->of[i].own;
  }
  StcStatus s = list ? device_copies(&p->device, n, list) : STC_MEMORY;
  free(list);
  return s;
}

StcStatus kept_lend_next(Keeper *k, const HostSeq *seq, const KeptCopy *x) {
  StcPlan *p = k->p;
  const Module *m = p->build->code.module;
  char *image = x->image;
  int32_t at[m->nbuffers + 1];
  if (!image || !sets_all(m))
    return STC_OK;
  StcStatus s = keep_written(k, seq);
  if (s)
    return s;
  memcpy(at, p->memory.of_buffer, sizeof *at * (size_t)m->nbuffers);
  host_swap(seq, 0, at);
  for (int i = 0; i < k->n; i++) {
    Slot *now = part_slot(p, &k->parts[i]);
    Home h = p->bound.homes[k->parts[i].field];
    int b = now ? field_buffer(m, h.field + (k->parts[i].component < 0 ? 0 : k->parts[i].component)) : -1;
    Slot *next = b < 0 ? NULL : &p->memory.slots[at[b]];
    if (next && !holds_field(p, next) && next->size == now->size && !lend(&k->writing, next, image))
      return STC_OK;
    image += now ? image_bytes(k, now) : 0;
  }
  return STC_OK;
}

StcStatus kept_lend_end(Keeper *k, bool copy) {
  StcPlan *p = k->p;
  LentSlots *l = &k->writing;
  Copying *list = calloc((size_t)l->n + 1, sizeof *list);
  int n = 0;
  for (int f = 0; list && f < p->module->nfields && copy; f++)
    for (int i = 0; i < l->n; i++) {
      const Slot *slot = l->of[i].slot;
      if (field_slot(p, f) == slot && slot->memory != l->of[i].own)
        list[n++] = (Copying){l->of[i].own, slot->memory, slot->size};
    }
  StcStatus s = list ? device_copies(&p->device, n, list) : STC_MEMORY;
  free(list);
  return_lent(l);
  return s;
}

/* Returns the slots of the requested parts of `to` to their own memory; others may remain lent, because the copies of a
 * step and of the next one are given in turn. */
static void take_back(Keeper *k, StcPlan *to, const SavedPart *parts) {
  for (int i = 0; i < k->n; i++) {
    Slot *slot = parts[i].field >= 0 ? part_slot(to, &parts[i]) : NULL;
    for (int j = 0; j < k->lent.n && slot; j++)
      if (k->lent.of[j].slot == slot)
        slot->memory = k->lent.of[j].own;
  }
}

StcStatus kept_lend(Keeper *k, const KeptCopy *x, StcPlan *to, const SavedPart *parts) {
  StcStatus s = STC_OK;
  char *image = x->image, *here = x->here;
  if (x->place || !image || !k->p->device.kind->room) {
    take_back(k, to, parts);
    return kept_give(k, x, to, parts);
  }
  for (int i = 0; i < k->n && !s; i++) {
    const Slot *from = part_slot(k->p, &k->parts[i]);
    Slot *slot = parts[i].field >= 0 ? part_slot(to, &parts[i]) : NULL;
    bool like = from && slot && slot->size == from->size && slot->row == from->row && slot->pitch == from->pitch;
    if (like && lend(&k->lent, slot, image))
      plan_mark_given(to, parts[i].field, parts[i].component);
    else if (from && parts[i].field >= 0)
      s = give_image(k, from, image, to, &parts[i]);
    else if (parts[i].field >= 0)
      s = part_set(to, &parts[i], here);
    image += from ? image_bytes(k, from) : 0;
    here += from ? 0 : k->parts[i].bytes;
  }
  return s;
}

void kept_return(Keeper *k) { return_lent(&k->lent); }

void kept_free(const Keeper *k, KeptCopy *x) {
  Device *d = &k->p->device;
  if (x->pinned)
    d->kind->pinned_free(d, x->here);
  else
    free(x->here);
  *x = (KeptCopy){0};
}

/* Keeps the keeper's blocks for the next one, if they are at most half of the device's memory, and the device has
 * memory of its own. */
static void leave_blocks(Keeper *k) {
  double left, total, bytes = 0;
  SpareBlocks *s = k->spare;
  for (int i = 0; i < k->nblocks; i++)
    bytes += (double)k->sizes[i];
  if (!s || !k->p->device.kind->room)
    return;
  spare_blocks_free(k->p, s);
  device_room(&k->p->device, &left, &total);
  if (2 * bytes > total)
    return;
  for (int i = 0; i < k->nblocks; i++) {
    s->blocks[s->n] = k->blocks[i];
    s->sizes[s->n++] = k->sizes[i];
  }
  s->bytes = bytes;
  k->nblocks = 0;
}

void keeper_free(Keeper *k) {
  leave_blocks(k);
  for (int i = 0; i < k->nblocks; i++)
    k->p->device.kind->release(&k->p->device, k->blocks[i], k->sizes[i]);
  if (k->filed)
    close(k->file);
  free(k->parts);
  k->parts = NULL;
  k->filed = 0;
  k->nblocks = k->more = 0;
}
