/* The innermost loop of a phase: strips of lanes, in one of five forms.
 *
 *   straight   a constant number of strips, few: no loop
 *   exact      the extent is a constant multiple: no masks
 *   masked     much work for each element: one loop whose every strip is masked. It compiles fastest; but
 *              masked loads escape the prefetchers of some machines (half of the bandwidth), so it prefetches
 *              itself
 *   split      copies of an unmasked strip in a main loop, then masked strips for the rest
 *   streamed   split, with masked strips up front until the results are aligned: non-temporal stores
 *
 * A main loop has several copies of its body where accumulators would wait for one another, and where the
 * work on one strip is a chain too long for the processor to overlap with the next but short enough to write
 * twice. Which form is taken, and so the order of a reduction, depends on the kernel and on sizes alone. Over
 * lanes of an outer dimension a strip is one index.
 *
 * Long sums of floats go by blocks, whose sums are added up: the error grows with the length of a block and
 * with their number, not with the product (blocked summation: Higham, Accuracy and Stability of Numerical
 * Algorithms, 4.2). So a block has about as many turns of the loop as there are blocks. */
#include "codegen/llvm/types.h"

enum {
  MAX_COPIES = 4,
  LIGHT = 10,
  MIDDLING = 40,
  COMPUTE_BOUND = 60,
  LONG_STRIPS = 16,
  SHORTEST_BLOCK = 32 /* turns of a loop */,
  ANY_LENGTH = -1
};

struct strips {
  const struct tc_phase *phase;
  int scope, copies;
  int64_t width; /* indices of a strip */
  int64_t count; /* of strips, where the extent is a constant multiple of the width; else -1 */
  bool masks;    /* the rest needs masks */
  int64_t block; /* of a long sum: turns of a block, ANY_LENGTH where that depends on the extent; else 0 */
};

static int phase_weight(struct ll_emit *e, int number, int scope) {
  const struct tc_phase *phase = &e->k->phases[number];
  int weight = 0;
  for (int i = 0; i < phase->n_stores; i++) weight += ll_weight(e, phase->stores[i].value, number, scope) + 1;
  for (int i = 0; i < phase->n_reductions; i++)
    weight += ll_weight(e, phase->reductions[i].value, number, scope) + 1;
  return weight;
}

/* A pass over a short row that only stores has many strips in flight by itself. Plain code keeps the copies
 * of reductions: with a longer sum in each lane it would be less exact. */
static int choose_copies(struct ll_emit *e, const struct tc_phase *phase, int weight) {
  if (e->k->plain && !phase->n_reductions) return 1;
  if (e->k->n_phases > 1 && !phase->n_reductions) return 1;
  if (e->k->product && phase->n_reductions >= MAX_COPIES)
    return 1; /* its accumulators do not wait for one another */
  const int registers = e->lanes * 4 / e->m->target->vector_bytes;
  int copies = weight > MIDDLING ? 1 : weight > LIGHT ? 2 : phase->n_reductions ? MAX_COPIES : 1;
  if (e->k->lanes == TC_LANES_OUTER && registers > 1) copies /= registers;
  return copies < 1 ? 1 : copies;
}

/* Do strips go along the lanes, and not around them? */
static bool along_lanes(const struct ll_emit *e) { return e->k->lanes == TC_LANES_INNER || e->block_loop; }

static int strip_scope(const struct ll_emit *e) {
  return e->block_loop ? LL_INNER : LL_INNER + e->k->n_inner - 1;
}

static void set_position(struct ll_emit *e, LLVMValueRef at) {
  if (e->block_loop)
    e->outer[e->k->n_outer - 1] = at;
  else
    e->inner[e->k->n_inner - 1] = at;
}

static int64_t choose_block(const struct strips *s, tc_sym length) {
  bool sums = false;
  for (int i = 0; i < s->phase->n_reductions; i++)
    sums |= s->phase->reductions[i].op == TC_RED_SUM &&
            tc_dtype_is_float(ll_reduction_dtype(&s->phase->reductions[i]));
  if (!sums) return 0;
  if (!tc_sym_is_const(length)) return ANY_LENGTH;
  const int64_t turns = tc_sym_value(length) / (s->width * s->copies);
  int64_t block = SHORTEST_BLOCK;
  while (block * block < turns) block *= 2;
  return turns < 2 * SHORTEST_BLOCK ? 0 : block;
}

static struct strips plan(struct ll_emit *e, int number, int weight, tc_sym length) {
  struct strips s = {.phase = &e->k->phases[number], .scope = strip_scope(e), .count = -1};
  s.width = along_lanes(e) ? e->lanes : 1;
  s.masks = s.width > 1;
  s.copies = choose_copies(e, s.phase, weight);
  if (tc_sym_is_const(length) && tc_sym_value(length) % s.width == 0)
    s.count = tc_sym_value(length) / s.width;
  if (s.count >= 0 && s.count < LONG_STRIPS && s.count % s.copies) s.copies = s.count % 2 ? 1 : 2;
  s.block = choose_block(&s, length);
  return s;
}

/* One body at index `start`; `to` (NULL: no mask) bounds it. */
static void strip(struct ll_emit *e, const struct strips *s, LLVMValueRef start, LLVMValueRef to,
                  struct ll_state *state) {
  ll_end(e);
  const bool own_mask = along_lanes(e);
  if (own_mask && to) {
    LLVMValueRef active = LLVMBuildSub(e->m->builder, to, start, "");
    e->mask = ll_lane_mask(e, active);
    if (e->prefetch && !e->m->avx512) e->whole = ll_less(e, ll_i64(e, e->lanes - 1), active);
  }
  set_position(e, start);
  ll_body(e, s->phase, s->scope, state);
  if (own_mask) e->mask = e->whole = NULL;
}

/* `copies` bodies in a row, each with its own accumulators. */
static void strip_copies(struct ll_emit *e, const struct strips *s, LLVMValueRef start, int copies,
                         struct ll_state *state) {
  for (int i = 0; i < copies; i++) {
    ll_end(e);
    LLVMValueRef at = i ? LLVMBuildAdd(e->m->builder, start, ll_i64(e, i * s->width), "") : start;
    strip(e, s, at, NULL, state + i * s->phase->n_reductions);
  }
}

/* Leaves the joined accumulators in the first copy's place: neighbours first. */
static void join_copies(struct ll_emit *e, const struct strips *s, int copies, struct ll_state *state) {
  const int n = s->phase->n_reductions;
  ll_end(e);
  for (int distance = 1; distance < copies; distance *= 2)
    for (int i = 0; i + distance < copies; i += 2 * distance)
      for (int r = 0; r < n; r++)
        state[i * n + r] =
            ll_reduction_join(e, &s->phase->reductions[r], state[i * n + r], state[(i + distance) * n + r]);
}

/* Strips up to `stop`; `to` is where the elements end. */
static void strips_until(struct ll_emit *e, const struct strips *s, LLVMValueRef from, LLVMValueRef stop,
                         LLVMValueRef to, bool guarded, bool masks, int copies, struct ll_state *state) {
  struct ll_loop loop;
  ll_loop_begin(e, &loop, from, stop, guarded, state, copies * s->phase->n_reductions);
  if (masks)
    strip(e, s, loop.variable, to, state);
  else
    strip_copies(e, s, loop.variable, copies, state);
  ll_loop_end(e, &loop, stop, s->width * copies, state);
}

static void strip_loop(struct ll_emit *e, const struct strips *s, LLVMValueRef from, LLVMValueRef to,
                       bool guarded, bool masks, int copies, struct ll_state *state) {
  strips_until(e, s, from, to, to, guarded, masks, copies, state);
}

static void start_copies(struct ll_emit *e, const struct strips *s, int copies, struct ll_state *state) {
  const int n = s->phase->n_reductions;
  for (int i = 0; i < n * copies; i++) state[i] = ll_reduction_start(e, &s->phase->reductions[i % n]);
}

/* Indices of a block, `turn` a turn: as choose_block, the square root by halving the exponent. */
static LLVMValueRef block_length(struct ll_emit *e, const struct strips *s, LLVMValueRef from,
                                 LLVMValueRef to, int64_t turn) {
  enum { MANTISSA_BITS = 52, BIAS = 1023 };
  LLVMBuilderRef at = e->m->builder;
  ll_end(e);
  if (s->block != ANY_LENGTH) return ll_i64(e, s->block * turn);
  LLVMValueRef turns = LLVMBuildSDiv(at, LLVMBuildSub(at, to, from, ""), ll_i64(e, turn), "");
  LLVMValueRef bits = LLVMBuildBitCast(
      at, LLVMBuildSIToFP(at, turns, LLVMDoubleTypeInContext(e->m->context), ""), e->m->i64, "");
  LLVMValueRef exponent = LLVMBuildLShr(at, bits, ll_i64(e, MANTISSA_BITS), "");
  LLVMValueRef half =
      LLVMBuildLShr(at, LLVMBuildSub(at, exponent, ll_i64(e, BIAS - 1), ""), ll_i64(e, 1), "");
  LLVMValueRef enough = ll_less(e, ll_i64(e, SHORTEST_BLOCK), LLVMBuildShl(at, ll_i64(e, 1), half, ""));
  return LLVMBuildSelect(at, enough, LLVMBuildShl(at, ll_i64(e, turn), half, ""),
                         ll_i64(e, SHORTEST_BLOCK * turn), "");
}

/* A strip_loop in blocks; `sums` has room for as many states. */
static void block_loop(struct ll_emit *e, const struct strips *s, LLVMValueRef from, LLVMValueRef to,
                       bool guarded, bool masks, int copies, struct ll_state *state, struct ll_state *sums) {
  const int n = s->phase->n_reductions;
  struct ll_loop loop;
  LLVMValueRef length = block_length(e, s, from, to, s->width * copies);
  ll_loop_begin(e, &loop, from, to, guarded, state, copies * n);
  LLVMValueRef next = LLVMBuildAdd(e->m->builder, loop.variable, length, "");
  LLVMValueRef stop = LLVMBuildSelect(e->m->builder, ll_less(e, next, to), next, to, "");
  start_copies(e, s, copies, sums);
  strips_until(e, s, loop.variable, stop, to, false, masks, copies, sums);
  ll_end(e);
  for (int i = 0; i < copies * n; i++)
    state[i] = ll_reduction_join(e, &s->phase->reductions[i % n], state[i], sums[i]);
  ll_loop_end_at(e, &loop, next, to, state);
}

/* from + the whole groups of `size` that fit before `to`. */
static LLVMValueRef whole_groups(struct ll_emit *e, LLVMValueRef from, LLVMValueRef to, int64_t size) {
  LLVMBuilderRef at = e->m->builder;
  ll_end(e);
  LLVMValueRef length = LLVMBuildSub(at, to, from, "");
  return LLVMBuildAdd(at, from, LLVMBuildAnd(at, length, ll_i64(e, -size), ""), "");
}

/* --- streamed results --- */

static bool streams(struct ll_emit *e, const struct tc_kernel_store *store) {
  int64_t stride;
  return e->k->buffers[store->buffer].stream && ll_lane_stride(e, store->address, &stride) && stride == 1;
}

static bool wants_streaming(struct ll_emit *e, const struct strips *s, int weight) {
  if (!along_lanes(e) || e->lanes == 1 || s->phase->n_reductions || weight >= COMPUTE_BOUND) return false;
  for (int i = 0; i < s->phase->n_stores; i++)
    if (streams(e, &s->phase->stores[i])) return true;
  return false;
}

/* Address of the store's element at index `at`, as an integer. */
static LLVMValueRef store_address(struct ll_emit *e, const struct strips *s,
                                  const struct tc_kernel_store *store, LLVMValueRef at) {
  set_position(e, at);
  ll_open(e, s->scope);
  LLVMValueRef pointer = ll_address(e, store->buffer, store->address, NULL, 0);
  ll_end(e);
  return LLVMBuildPtrToInt(e->m->builder, pointer, e->m->i64, "");
}

/* How many elements lie before the first address at which a whole vector of the first streamed result is
 * aligned. */
static LLVMValueRef elements_before(struct ll_emit *e, const struct strips *s, LLVMValueRef from) {
  LLVMBuilderRef at = e->m->builder;
  const struct tc_kernel_store *store = s->phase->stores;
  while (!streams(e, store)) store++;
  const int bytes = tc_dtype_bytes(e->k->buffers[store->buffer].dtype);
  LLVMValueRef address = store_address(e, s, store, from);
  LLVMValueRef elements = LLVMBuildUDiv(at, LLVMBuildNeg(at, address, ""), ll_i64(e, bytes), "");
  return LLVMBuildAnd(at, elements, ll_i64(e, e->lanes - 1), "");
}

/* Is every streamed result aligned at index `at`? */
static LLVMValueRef all_aligned(struct ll_emit *e, const struct strips *s, LLVMValueRef at) {
  LLVMBuilderRef builder = e->m->builder;
  LLVMValueRef low_bits = ll_i64(e, 0);
  for (int i = 0; i < s->phase->n_stores; i++) {
    const struct tc_kernel_store *store = &s->phase->stores[i];
    if (!streams(e, store)) continue;
    const int64_t vector_bytes = (int64_t)e->lanes * tc_dtype_bytes(e->k->buffers[store->buffer].dtype);
    LLVMValueRef address = store_address(e, s, store, at);
    low_bits =
        LLVMBuildOr(builder, low_bits, LLVMBuildAnd(builder, address, ll_i64(e, vector_bytes - 1), ""), "");
  }
  return LLVMBuildICmp(builder, LLVMIntEQ, low_bits, ll_i64(e, 0), "");
}

/*  edge: masked strips, entered twice: up to the aligned index, and for the rest
 *  middle: whole aligned vectors, streamed; none if the results are not aligned together */
static void streamed_strips(struct ll_emit *e, const struct strips *s, LLVMValueRef from, LLVMValueRef to) {
  LLVMBuilderRef at = e->m->builder;
  LLVMBasicBlockRef edge = ll_block(e), middle = ll_block(e), rest = ll_block(e), done = ll_block(e),
                    after = ll_block(e), before = e->block;
  ll_end(e);
  LLVMValueRef head = LLVMBuildAdd(at, from, elements_before(e, s, from), "");
  head = LLVMBuildSelect(at, ll_less(e, head, to), head, to, "");
  before = e->block;
  ll_branch(e, ll_less(e, from, head), edge, middle);

  ll_enter(e, edge);
  LLVMValueRef i = ll_phi(e, e->m->i64, from, before), end = ll_phi(e, e->m->i64, head, before);
  strip(e, s, i, end, NULL);
  LLVMValueRef next = LLVMBuildAdd(at, i, ll_i64(e, s->width), "");
  LLVMBasicBlockRef edge_latch = e->block;
  ll_branch(e, ll_less(e, next, end), edge, after);
  ll_incoming(i, next, edge_latch), ll_incoming(end, end, edge_latch);
  ll_enter(e, after);
  ll_branch(e, ll_less(e, end, to), middle, done);

  ll_enter(e, middle);
  LLVMValueRef start = ll_phi(e, e->m->i64, from, before);
  ll_incoming(start, end, after);
  LLVMValueRef whole = whole_groups(e, start, to, s->width * s->copies);
  LLVMValueRef aligned = all_aligned(e, s, start);
  LLVMValueRef stop = LLVMBuildSelect(at, aligned, whole, start, "");
  e->nontemporal = e->nontemporal_used = true;
  strip_loop(e, s, start, stop, true, false, s->copies, NULL);
  e->nontemporal = false;
  ll_jump(e, rest);
  ll_enter(e, rest);
  ll_branch(e, ll_less(e, stop, to), edge, done);
  ll_incoming(i, stop, rest), ll_incoming(end, to, rest);
  ll_enter(e, done);
}

/* --- choosing --- */

/* All copies, joined; with masks there is one. */
static void main_loop(struct ll_emit *e, const struct strips *s, LLVMValueRef from, LLVMValueRef to,
                      bool guarded, bool masks, struct ll_state *all, struct ll_state *sums) {
  if (s->block)
    block_loop(e, s, from, to, guarded, masks, s->copies, all, sums);
  else
    strip_loop(e, s, from, to, guarded, masks, s->copies, all);
  join_copies(e, s, s->copies, all);
}

void ll_strips(struct ll_emit *e, int number, LLVMValueRef from, LLVMValueRef to, tc_sym length,
               struct ll_state *state) {
  const int weight = phase_weight(e, number, strip_scope(e));
  struct strips s = plan(e, number, weight, length);
  const int n = s.phase->n_reductions;
  if (wants_streaming(e, &s, weight)) {
    streamed_strips(e, &s, from, to);
    return;
  }
  const size_t room = (size_t)n * 2 * MAX_COPIES;
  struct ll_state *all = n ? TC_NEW_ARRAY(e->m->alloc, struct ll_state, room) : NULL,
                  *sums = all + n * MAX_COPIES;
  if (n && !all) {
    ll_fail(e, TC_NOMEM, e->m->i64, "out of memory");
    return;
  }
  start_copies(e, &s, s.copies, all);
  for (int i = 0; i < n; i++) all[i] = state[i];
  if (s.count >= 0 && s.count <= s.copies) {
    strip_copies(e, &s, from, (int)s.count, all);
    join_copies(e, &s, (int)s.count, all);
  } else if (s.count >= 0 && s.count % s.copies == 0) {
    main_loop(e, &s, from, to, false, false, all, sums);
  } else if (s.masks && s.copies == 1 && weight >= COMPUTE_BOUND) {
    e->prefetch = true;
    main_loop(e, &s, from, to, true, true, all, sums);
    e->prefetch = false;
  } else {
    LLVMValueRef stop = whole_groups(e, from, to, s.width * s.copies);
    main_loop(e, &s, from, stop, true, false, all, sums);
    if (s.width * s.copies > 1) strip_loop(e, &s, stop, to, true, s.masks && s.count < 0, 1, all);
  }
  for (int i = 0; i < n; i++) state[i] = all[i];
  TC_FREE_ARRAY(e->m->alloc, all, room);
  ll_end(e);
}
