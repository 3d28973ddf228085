/* What the tests of lowering and fusion share: text to launch list, and the differential run against
 * reference.h on random inputs, with guard bytes around every buffer. */
#ifndef TESTS_IR_LOWERED_H
#define TESTS_IR_LOWERED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "codegen/null/interpret.h"
#include "decomp/decomp.h"
#include "sched/sched.h"
#include "tests/compiler/ir/reference.h"

/* A test may change it. */
static struct tc_target lowered_target = {.device = "cpu",
                                          .name = "avx512",
                                          .vector_bytes = 64,
                                          .vector_registers = 32,
                                          .threads = 2,
                                          .l1_bytes = 32 << 10,
                                          .l2_bytes = 1 << 20,
                                          .l3_bytes = 32 << 20};

struct lowered {
  struct tc_arena *arena;
  struct tc_graph *graph; /* decomposed */
  struct tc_loops *loops;
  struct tc_launch_list *list;
};

#define LOWERED_OK(status, err)                                                                              \
  do {                                                                                                       \
    if ((status) != TC_OK) fail_msg("%s: %s: %s", (err).stage, (err).where, (err).message);                  \
  } while (0)

static void lower_with(struct lowered *l, struct tc_graph *g, const struct tc_config *config) {
  struct tc_error err = {0};
  LOWERED_OK(tc_decompose(g, config, &l->graph, &err), err);
  LOWERED_OK(tc_lower(l->graph, config, &l->loops, &err), err);
  LOWERED_OK(tc_schedule(l->graph, l->loops, &lowered_target, config, &l->list, &err), err);
}

static inline void lower_graph(struct lowered *l, struct tc_graph *g, bool fuse) {
  struct tc_config config;
  tc_config_default(&config);
  config.verify = true;
  config.fuse = fuse;
  lower_with(l, g, &config);
}

static inline struct lowered lower_text(const char *text, bool fuse) {
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  struct tc_error err = {0};
  struct tc_graph *g = NULL;
  LOWERED_OK(tc_graph_parse(l.arena, text, &g, &err), err);
  lower_graph(&l, g, fuse);
  return l;
}

/* The same with one switch at another value than its default. */
static inline struct lowered lower_switched(const char *text, const char *name, const char *value) {
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  struct tc_error err = {0};
  struct tc_config config;
  struct tc_graph *g = NULL;
  tc_config_default(&config);
  config.verify = true;
  LOWERED_OK(tc_config_set(&config, name, value, &err), err);
  LOWERED_OK(tc_graph_parse(l.arena, text, &g, &err), err);
  lower_with(&l, g, &config);
  return l;
}

static inline int count_launches(const struct tc_launch_list *list, enum tc_launch_kind kind) {
  int count = 0;
  for (int i = 0; i < list->n_launches; i++) count += list->launches[i].kind == kind;
  return count;
}

/* --- random data --- */

static uint64_t random_state = 88172645463325252u;
static uint64_t random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}
static double random_real(void) { return (double)(random_word() >> 11) / 9007199254740992.0 * 4 - 2; }
static int64_t random_below(int64_t n) { return n > 0 ? (int64_t)(random_word() % (uint64_t)n) : 0; }

enum { GUARD_BYTES = 64, GUARD_FILL = 0x5C };

/* `bytes` between two guards. */
static void *guarded_new(size_t bytes) {
  unsigned char *block = malloc(bytes + 2 * GUARD_BYTES);
  memset(block, GUARD_FILL, bytes + 2 * GUARD_BYTES);
  return block + GUARD_BYTES;
}
static void guarded_free(void *data, size_t bytes) {
  unsigned char *block = (unsigned char *)data - GUARD_BYTES;
  for (size_t i = 0; i < GUARD_BYTES; i++) {
    assert_int_equal(block[i], GUARD_FILL);
    assert_int_equal(block[GUARD_BYTES + bytes + i], GUARD_FILL);
  }
  free(block);
}

/* Integers below 5 serve as indices; the tests give gathers dimensions of 5 and more. */
enum { RANDOM_INDEX = 5 };
static void fill_random(tc_dtype dtype, void *data, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    switch (dtype) {
      case TC_BOOL: ((uint8_t *)data)[i] = random_word() & 1; break;
      case TC_I64: ((int64_t *)data)[i] = random_below(RANDOM_INDEX); break;
      case TC_BF16: ((uint16_t *)data)[i] = tc_f32_to_bf16((float)random_real()); break;
      case TC_F32: ((float *)data)[i] = (float)random_real(); break;
      default: ((double *)data)[i] = random_real();
    }
  }
}

static int64_t input_span(const struct tc_node *node) {
  int64_t last = 0;
  for (int d = 0; d < node->meta.ndim; d++) {
    if (tc_sym_is(node->meta.sizes[d], 0)) return 0;
    last += (tc_sym_value(node->meta.sizes[d]) - 1) * tc_sym_value(node->strides[d]);
  }
  return last + 1;
}

/* --- the differential run --- */

/* Values of the graph's size variables, where it has any. */
enum { LOWERED_SIZES = 4 };
static int64_t lowered_sizes[LOWERED_SIZES];
static int64_t value_of(tc_sym s) { return tc_sym_eval(s, lowered_sizes); }

/* The graph with the values of its size variables. */
static inline struct tc_graph *graph_at(struct tc_arena *arena, const struct tc_graph *from,
                                        const int64_t *sizes) {
  struct tc_graph *g = tc_graph_new(arena);
  struct tc_node **made = TC_NEW_ARRAY(tc_arena_alloc(arena), struct tc_node *, from->nodes.len + 1);
  for (size_t i = 0; i < from->nodes.len; i++) {
    const struct tc_node *node = from->nodes.data[i];
    struct tc_node *in[TC_MAX_INPUTS];
    struct tc_error err = {0};
    tc_sym ints[TC_MAX_ATTRS], strides[TC_MAX_DIMS];
    if (node->op == TC_OP_input) {
      struct tc_meta meta = node->meta;
      for (int d = 0; d < meta.ndim; d++) {
        meta.sizes[d] = tc_sym_const(tc_sym_eval(meta.sizes[d], sizes));
        strides[d] = tc_sym_const(tc_sym_eval(node->strides[d], sizes));
      }
      made[i] = tc_graph_input(g, &meta, strides);
      continue;
    }
    struct tc_attrs attrs = node->attrs;
    for (int k = 0; k < attrs.n_ints; k++) ints[k] = tc_sym_const(tc_sym_eval(attrs.ints[k], sizes));
    attrs.ints = ints;
    for (int k = 0; k < node->n_in; k++) in[k] = made[node->in[k]->id];
    LOWERED_OK(tc_graph_add(g, node->op, node->n_in, in, &attrs, &made[i], &err), err);
    made[i]->draw = node->draw;
  }
  for (size_t i = 0; i < from->outputs.len; i++)
    assert_true(tc_graph_output(g, made[from->outputs.data[i]->id]));
  return g;
}

static double tolerance_of(tc_dtype dtype) { return dtype == TC_F64 ? 1e-9 : dtype == TC_F32 ? 2e-4 : 3e-2; }

static double stored_real(tc_dtype dtype, const void *data, int64_t at) {
  switch (dtype) {
    case TC_BOOL: return ((const uint8_t *)data)[at];
    case TC_I64: return (double)((const int64_t *)data)[at];
    case TC_BF16: return (double)tc_bf16_to_f32(((const uint16_t *)data)[at]);
    case TC_F32: return (double)((const float *)data)[at];
    default: return ((const double *)data)[at];
  }
}

static void compare_output(const struct tc_output *o, const void *base, const struct ref_value *want,
                           int number, double scale) {
  const double tolerance = tolerance_of(o->dtype) * scale;
  assert_int_equal(o->ndim, want->ndim);
  for (int64_t e = 0; e < want->numel; e++) {
    int64_t at[TC_MAX_DIMS], element = value_of(o->offset);
    ref_unravel(want, e, at);
    for (int d = 0; d < o->ndim; d++) element += at[d] * value_of(o->strides[d]);
    const double got = stored_real(o->dtype, base, element), real = ref_real(want, e);
    const bool same =
        got == real || (isnan(got) && isnan(real)) || fabs(got - real) <= tolerance * (1 + fabs(real));
    if (!same)
      fail_msg("output %d element %lld: %.9g, and the reference has %.9g", number, (long long)e, got, real);
  }
}

static void *make_input(const struct tc_node *node, size_t *bytes) {
  const int64_t span = input_span(node);
  *bytes = (size_t)span * (size_t)tc_dtype_bytes(node->meta.dtype);
  void *data = guarded_new(*bytes);
  fill_random(node->meta.dtype, data, span);
  return data;
}

/* What runs a list: the interpreter, unless a test sets another (a device). */
static tc_status interpret(const struct tc_interpreted_run *run, struct tc_error *err) {
  return tc_interpret_list(tc_alloc_system(), run, err);
}
static tc_status (*lowered_run)(const struct tc_interpreted_run *run, struct tc_error *err) = interpret;

/* Runs the list on random inputs (its items in `parts` calls) and compares every result with that of `g`, a
 * graph without size variables; returns the status word. */
static int64_t run_against(const struct tc_launch_list *list, const struct tc_graph *g, int parts,
                           double scale) {
  void *inputs[256] = {0}, *outputs[64] = {0};
  size_t input_bytes[256] = {0}, output_bytes[64] = {0};
  assert_true(g->inputs.len < 256 && list->n_allocated < 64);
  for (size_t i = 0; i < g->inputs.len; i++) inputs[i] = make_input(g->inputs.data[i], &input_bytes[i]);
  for (int i = 0; i < list->n_allocated; i++)
    outputs[i] = guarded_new(output_bytes[i] = (size_t)value_of(list->allocated_bytes[i]));
  const size_t pool_bytes = (size_t)value_of(list->pool_bytes);
  void *pool = guarded_new(pool_bytes);
  int64_t status = 0;
  struct tc_error err = {0};
  const struct tc_interpreted_run run = {.list = list,
                                         .inputs = inputs,
                                         .outputs = outputs,
                                         .pool = pool,
                                         .sizes = lowered_sizes,
                                         .status = &status,
                                         .rng = {42, 7},
                                         .parts = parts};
  struct ref_inputs given = {.data = inputs, .seed = 42, .draw = 7};
  struct ref_value *want = ref_evaluate(g, &given);
  LOWERED_OK(lowered_run(&run, &err), err);
  assert_int_equal(status != 0, given.bad_index);
  for (int i = 0; i < list->n_outputs; i++) {
    const struct tc_output *o = &list->outputs[i];
    const struct tc_slot *slot = &list->slots[o->slot];
    compare_output(o, slot->kind == TC_SLOT_INPUT ? inputs[slot->index] : outputs[slot->index],
                   &want[g->outputs.data[i]->id], i, scale);
  }
  ref_free_all(want, g->nodes.len);
  for (size_t i = 0; i < g->inputs.len; i++) guarded_free(inputs[i], input_bytes[i]);
  for (int i = 0; i < list->n_allocated; i++) guarded_free(outputs[i], output_bytes[i]);
  guarded_free(pool, pool_bytes);
  return status;
}

static inline int64_t run_and_compare(const struct lowered *l, int parts, double scale) {
  return run_against(l->list, l->graph, parts, scale);
}

#endif
