/* Slots: the memory that a launch list names. One a loop that has memory, one a special kind. */
#include "sched/schedule.h"

static int add_slot(struct tc_sched *s, struct tc_slot slot) {
  struct tc_launch_list *list = s->list;
  if (!tc_vec_push(s->alloc, &s->slots, slot)) return -1;
  list->slots = s->slots.data;
  return list->n_slots++;
}

int tc_slot_of_loop(struct tc_sched *s, int id) {
  struct tc_info *info = &s->info[id];
  const struct tc_loop *loop = tc_loop_at(s, id);
  if (info->slot >= 0) return info->slot;
  struct tc_slot slot = {.kind = TC_SLOT_POOL,
                         .dtype = loop->dtype,
                         .elements = tc_loop_elements(s, id),
                         .offset = tc_sym_const(0)};
  if (!tc_sym_valid(slot.elements)) return -1;
  if (loop->kind == TC_LOOP_INPUT) {
    slot.kind = TC_SLOT_INPUT;
    slot.index = loop->input;
  } else if (info->output) {
    slot.kind = TC_SLOT_OUTPUT;
    slot.index = s->list->n_allocated++;
    s->list->allocated_bytes[slot.index] =
        tc_sym_mul(s->tab, tc_loop_elements(s, id), tc_sym_const(tc_dtype_bytes(tc_loop_at(s, id)->dtype)));
    if (!tc_sym_valid(s->list->allocated_bytes[slot.index])) return -1;
  }
  return info->slot = add_slot(s, slot);
}

int tc_slot_of_kind(struct tc_sched *s, enum tc_slot_kind kind) {
  if (s->kind_slots[kind] >= 0) return s->kind_slots[kind];
  const struct tc_slot slot = {.kind = kind,
                               .dtype = TC_I64,
                               .elements = tc_sym_const(1 + (kind == TC_SLOT_RNG)),
                               .offset = tc_sym_const(0)};
  return s->kind_slots[kind] = add_slot(s, slot);
}

int tc_launch_slot_count(const struct tc_launch_list *list, const struct tc_launch *l) {
  return l->kind == TC_LAUNCH_GEMM ? 3 : list->codes[l->code].n_buffers;
}

int tc_launch_slot(const struct tc_launch *l, int i) {
  if (l->kind != TC_LAUNCH_GEMM) return l->slots[i];
  return i == 0 ? l->gemm.a.slot : i == 1 ? l->gemm.b.slot : l->gemm.c.slot;
}

bool tc_launch_writes(const struct tc_launch_list *list, const struct tc_launch *l, int i) {
  if (l->kind == TC_LAUNCH_GEMM) return i == 2;
  return list->codes[l->code].roles[i] == TC_ROLE_WRITE ||
         list->codes[l->code].roles[i] == TC_ROLE_READ_WRITE;
}
