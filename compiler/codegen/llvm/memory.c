/* Loads, stores and index checks.
 *
 * 1. Inactive lanes and lanes whose predicate is false touch no memory. Scalars that must not touch it
 *    are redirected to a slot on the stack, so that no branch is needed.
 * 2. The access follows the lanes' stride: 1 a vector, -1 a reversed vector, 0 a scalar, else a gather or
 *    scatter. Where the machine has none for the element (below 32 bits; scatters and narrow masks on
 *    AVX2), lanes go one by one, without branches.
 * 3. A vector access is aligned to its element alone, except a non-temporal store, whose loop has seen to
 * it. */
#include "codegen/llvm/types.h"

enum { SLOT_BYTES = 8 };

static LLVMValueRef make_slot(struct ll_emit *e) {
  LLVMPositionBuilderBefore(e->m->builder, LLVMGetFirstInstruction(e->entry));
  LLVMValueRef slot = LLVMBuildAlloca(e->m->builder, e->m->i64, "");
  LLVMBuildStore(e->m->builder, ll_i64(e, 0), slot);
  return slot;
}
/* These move the builder. */
static LLVMValueRef zero_slot(struct ll_emit *e) {
  return e->zero_slot ? e->zero_slot : (e->zero_slot = make_slot(e));
}
static LLVMValueRef sink_slot(struct ll_emit *e) {
  return e->sink_slot ? e->sink_slot : (e->sink_slot = make_slot(e));
}

/* How one vector access reaches its lanes. */
struct lanes {
  enum { LANES_FORWARD, LANES_BACKWARD, LANES_SAME, LANES_SPREAD } kind;
  LLVMValueRef pointer; /* of lane 0 (BACKWARD: of the last lane) */
  LLVMValueRef offsets; /* SPREAD: elements from `pointer`, a vector */
  LLVMTypeRef element;
  unsigned bytes; /* of an element */
};

/* `offset` (NULL: none) is added to the address in elements; it may vary. */
static struct lanes find_lanes(struct ll_emit *e, int buffer, tc_sym address, LLVMValueRef offset,
                               int scope) {
  const tc_dtype dtype = e->k->buffers[buffer].dtype;
  struct lanes l = {.element = ll_stored_type(e, dtype, false), .bytes = (unsigned)tc_dtype_bytes(dtype)};
  int64_t stride;
  const bool varying_offset = offset && ll_is_vector(LLVMTypeOf(offset));
  if (varying_offset || !ll_lane_stride(e, address, &stride)) {
    l.kind = LANES_SPREAD;
    LLVMValueRef lanes = ll_sym_varies(e, address) ? ll_index_lanes(e, address) : NULL;
    if (lanes)
      l.pointer = varying_offset || !offset ? ll_base(e, buffer)
                                            : ll_address(e, buffer, tc_sym_const(0), offset, scope);
    else
      l.pointer = ll_address(e, buffer, address, NULL, 0);
    ll_at(e, scope);
    l.offsets = !lanes ? offset : varying_offset ? LLVMBuildAdd(e->m->builder, lanes, offset, "") : lanes;
    return l;
  }
  const int64_t last = e->lanes - 1;
  l.pointer = ll_address(e, buffer, address, offset, scope);
  ll_at(e, scope);
  l.kind = stride == 1    ? LANES_FORWARD
           : stride == 0  ? LANES_SAME
           : stride == -1 ? LANES_BACKWARD
                          : LANES_SPREAD;
  if (l.kind == LANES_BACKWARD) {
    LLVMValueRef back = ll_i64(e, -last);
    l.pointer = LLVMBuildInBoundsGEP2(e->m->builder, l.element, l.pointer, &back, 1, "");
  }
  if (l.kind == LANES_SPREAD) {
    const bool narrow = stride <= INT32_MAX / (last + 1) && stride >= INT32_MIN / (last + 1);
    l.offsets = ll_iota(e, narrow ? e->m->i32 : e->m->i64, 0, stride);
  }
  return l;
}

static LLVMValueRef and_masks(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b) {
  return !a ? b : !b ? a : LLVMBuildAnd(e->m->builder, a, b, "");
}

static LLVMValueRef reverse(struct ll_emit *e, LLVMValueRef vector) {
  LLVMValueRef order = ll_iota(e, e->m->i32, e->lanes - 1, -1);
  return LLVMBuildShuffleVector(e->m->builder, vector, LLVMGetPoison(LLVMTypeOf(vector)), order, "");
}

static LLVMValueRef lane_pointer(struct ll_emit *e, const struct lanes *l, int lane) {
  LLVMValueRef at = ll_i64(e, lane);
  if (l->kind == LANES_SPREAD) at = LLVMBuildExtractElement(e->m->builder, l->offsets, at, "");
  if (l->kind == LANES_BACKWARD) at = ll_i64(e, e->lanes - 1 - lane);
  return LLVMBuildInBoundsGEP2(e->m->builder, l->element, l->pointer, &at, 1, "");
}

static LLVMValueRef guard_pointer(struct ll_emit *e, LLVMValueRef mask, int lane, LLVMValueRef pointer,
                                  LLVMValueRef slot) {
  if (!mask) return pointer;
  LLVMValueRef on = LLVMBuildExtractElement(e->m->builder, mask, ll_i64(e, lane), "");
  return LLVMBuildSelect(e->m->builder, on, pointer, slot, "");
}

static LLVMValueRef load_each(struct ll_emit *e, const struct lanes *l, LLVMValueRef mask, LLVMTypeRef vector,
                              int scope) {
  LLVMValueRef slot = mask ? zero_slot(e) : NULL, result = LLVMGetPoison(vector);
  ll_at(e, scope);
  for (int i = 0; i < e->lanes; i++) {
    LLVMValueRef pointer = guard_pointer(e, mask, i, lane_pointer(e, l, i), slot);
    LLVMValueRef one = LLVMBuildLoad2(e->m->builder, l->element, pointer, "");
    LLVMSetAlignment(one, l->bytes);
    result = LLVMBuildInsertElement(e->m->builder, result, one, ll_i64(e, i), "");
  }
  return result;
}

static void store_each(struct ll_emit *e, const struct lanes *l, LLVMValueRef mask, LLVMValueRef value,
                       int scope) {
  LLVMValueRef slot = mask ? sink_slot(e) : NULL;
  ll_at(e, scope);
  for (int i = 0; i < e->lanes; i++) {
    LLVMValueRef pointer = guard_pointer(e, mask, i, lane_pointer(e, l, i), slot);
    LLVMValueRef one = LLVMBuildExtractElement(e->m->builder, value, ll_i64(e, i), "");
    LLVMSetAlignment(LLVMBuildStore(e->m->builder, one, pointer), l->bytes);
  }
}

static LLVMValueRef spread_pointers(struct ll_emit *e, const struct lanes *l) {
  return LLVMBuildInBoundsGEP2(e->m->builder, l->element, l->pointer, (LLVMValueRef *)&l->offsets, 1, "");
}

static LLVMValueRef all_lanes(struct ll_emit *e) {
  return LLVMConstAllOnes(LLVMVectorType(e->m->i1, (unsigned)e->lanes));
}

static LLVMValueRef gather(struct ll_emit *e, const struct lanes *l, LLVMValueRef mask, LLVMTypeRef vector) {
  LLVMValueRef pointers = spread_pointers(e, l);
  LLVMValueRef args[] = {pointers, LLVMConstInt(e->m->i32, l->bytes, false), mask ? mask : all_lanes(e),
                         LLVMConstNull(vector)};
  return ll_call(e, LL_GATHER, vector, LLVMTypeOf(pointers), args, 4);
}

static LLVMValueRef load_vector(struct ll_emit *e, const struct lanes *l, LLVMValueRef mask,
                                LLVMTypeRef vector) {
  if (!mask) {
    LLVMValueRef loaded = LLVMBuildLoad2(e->m->builder, vector, l->pointer, "");
    LLVMSetAlignment(loaded, l->bytes);
    return loaded;
  }
  LLVMValueRef args[] = {l->pointer, LLVMConstInt(e->m->i32, l->bytes, false), mask, LLVMConstNull(vector)};
  return ll_call(e, LL_MASKED_LOAD, vector, e->m->ptr, args, 4);
}

/* The machine's prefetchers may not see masked loads. */
enum { PREFETCH_BYTES = 1024, PREFETCH_KEEP = 3, PREFETCH_DATA = 1 };
static void prefetch(struct ll_emit *e, const struct lanes *l) {
  LLVMTypeRef i32 = e->m->i32;
  LLVMValueRef ahead = ll_i64(e, PREFETCH_BYTES / l->bytes);
  LLVMValueRef args[] = {LLVMBuildGEP2(e->m->builder, l->element, l->pointer, &ahead, 1, ""),
                         LLVMConstInt(i32, 0, false), LLVMConstInt(i32, PREFETCH_KEEP, false),
                         LLVMConstInt(i32, PREFETCH_DATA, false)};
  ll_call(e, LL_PREFETCH, e->m->ptr, NULL, args, 4);
}

static bool narrow_mask(const struct ll_emit *e, const struct lanes *l) {
  return !e->m->avx512 && l->bytes < 4;
}

static LLVMValueRef load_lanes(struct ll_emit *e, const struct lanes *l, LLVMValueRef mask,
                               LLVMTypeRef vector, int scope) {
  if (l->kind == LANES_SPREAD)
    return l->bytes < 4 ? load_each(e, l, mask, vector, scope) : gather(e, l, mask, vector);
  if (mask && narrow_mask(e, l)) return load_each(e, l, mask, vector, scope);
  if (l->kind == LANES_FORWARD && mask && e->prefetch) prefetch(e, l);
  if (l->kind == LANES_FORWARD) return load_vector(e, l, mask, vector);
  return reverse(e, load_vector(e, l, mask ? reverse(e, mask) : NULL, vector));
}

/* One element; `predicate` (NULL: always) decides whether memory is touched. */
static LLVMValueRef load_scalar(struct ll_emit *e, LLVMValueRef pointer, LLVMValueRef predicate,
                                tc_dtype dtype, int scope) {
  if (predicate) {
    LLVMValueRef slot = zero_slot(e);
    ll_at(e, scope);
    pointer = LLVMBuildSelect(e->m->builder, predicate, pointer, slot, "");
  }
  LLVMValueRef loaded = LLVMBuildLoad2(e->m->builder, ll_stored_type(e, dtype, false), pointer, "");
  LLVMSetAlignment(loaded, (unsigned)tc_dtype_bytes(dtype));
  return loaded;
}

LLVMValueRef ll_load(struct ll_emit *e, const struct tc_expr *x, const LLVMValueRef *args) {
  const struct ll_info *info = &e->info[x->id];
  const tc_dtype dtype = e->k->buffers[x->buffer].dtype;
  const int scope = info->scope;
  LLVMValueRef offset = args[0], predicate = args[1], loaded;
  if (!info->varying) {
    LLVMValueRef pointer = ll_address(e, x->buffer, x->address, offset, scope);
    ll_at(e, scope);
    loaded = load_scalar(e, pointer, predicate, dtype, scope);
    return ll_convert(e, ll_from_stored(e, loaded, dtype), tc_compute_dtype(dtype), x->dtype);
  }
  const struct lanes l = find_lanes(e, x->buffer, x->address, offset, scope);
  ll_at(e, scope);
  if (predicate && !ll_is_vector(LLVMTypeOf(predicate))) predicate = ll_splat(e, predicate);
  LLVMValueRef mask = and_masks(e, e->mask, predicate);
  if (l.kind == LANES_SAME) { /* only the predicate varies */
    LLVMValueRef all =
        ll_splat(e, load_scalar(e, l.pointer, mask ? ll_any_lane(e, mask) : NULL, dtype, scope));
    loaded = mask ? LLVMBuildSelect(e->m->builder, mask, all, LLVMConstNull(LLVMTypeOf(all)), "") : all;
  } else
    loaded = load_lanes(e, &l, mask, ll_stored_type(e, dtype, true), scope);
  return ll_convert(e, ll_from_stored(e, loaded, dtype), tc_compute_dtype(dtype), x->dtype);
}

static void store_spread(struct ll_emit *e, const struct lanes *l, LLVMValueRef mask, LLVMValueRef value) {
  LLVMValueRef pointers = spread_pointers(e, l);
  LLVMValueRef args[] = {value, pointers, LLVMConstInt(e->m->i32, l->bytes, false),
                         mask ? mask : all_lanes(e)};
  ll_call(e, LL_SCATTER, LLVMTypeOf(value), LLVMTypeOf(pointers), args, 4);
}

static void store_vector(struct ll_emit *e, const struct lanes *l, LLVMValueRef mask, LLVMValueRef value,
                         bool nontemporal) {
  if (mask) {
    LLVMValueRef args[] = {value, l->pointer, LLVMConstInt(e->m->i32, l->bytes, false), mask};
    ll_call(e, LL_MASKED_STORE, LLVMTypeOf(value), e->m->ptr, args, 4);
    return;
  }
  LLVMValueRef stored = LLVMBuildStore(e->m->builder, value, l->pointer);
  LLVMSetAlignment(stored, nontemporal ? l->bytes * (unsigned)e->lanes : l->bytes);
  if (nontemporal) LLVMSetMetadata(stored, e->m->nontemporal_kind, e->m->nontemporal);
}

static void store_lanes(struct ll_emit *e, const struct tc_kernel_store *s, const struct lanes *l,
                        LLVMValueRef value, int scope) {
  LLVMValueRef mask = e->mask;
  const bool each = l->kind == LANES_SPREAD ? !e->m->avx512 || l->bytes < 4 : mask && narrow_mask(e, l);
  if (each)
    store_each(e, l, mask, value, scope);
  else if (l->kind == LANES_SPREAD)
    store_spread(e, l, mask, value);
  else if (l->kind == LANES_BACKWARD)
    store_vector(e, l, mask ? reverse(e, mask) : NULL, reverse(e, value), false);
  else
    store_vector(e, l, mask, value, e->nontemporal && !mask && e->k->buffers[s->buffer].stream);
}

/* `value` as computed: a scalar where neither value nor address varies, else in lanes. It is written at the
 * end of the current block. */
void ll_store(struct ll_emit *e, const struct tc_kernel_store *s, LLVMValueRef value) {
  const tc_dtype dtype = e->k->buffers[s->buffer].dtype;
  const int scope = e->current;
  if (!ll_sym_varies(e, s->address)) { /* one element: what lane 0 holds */
    LLVMValueRef pointer = ll_address(e, s->buffer, s->address, NULL, 0);
    ll_at(e, scope);
    if (ll_is_vector(LLVMTypeOf(value)))
      value = LLVMBuildExtractElement(e->m->builder, value, ll_i64(e, 0), "");
    LLVMValueRef stored =
        LLVMBuildStore(e->m->builder, ll_to_stored(e, value, s->value->dtype, dtype), pointer);
    LLVMSetAlignment(stored, (unsigned)tc_dtype_bytes(dtype));
    return;
  }
  const struct lanes l = find_lanes(e, s->buffer, s->address, NULL, scope);
  ll_at(e, scope);
  store_lanes(e, s, &l, ll_to_stored(e, value, s->value->dtype, dtype), scope);
}

/* No branch: where nothing is wrong the store goes to a slot of the stack. */
void ll_raise(struct ll_emit *e, const struct tc_expr *x, LLVMValueRef wrong, enum tc_flag flag) {
  const int scope = e->info[x->id].scope;
  LLVMValueRef slot = sink_slot(e), word = ll_base(e, e->status_buffer), number = ll_i64(e, flag);
  LLVMBuilderRef at = e->m->builder;
  ll_at(e, scope);
  LLVMValueRef bad = ll_is_vector(LLVMTypeOf(wrong)) ? ll_any_lane(e, and_masks(e, wrong, e->mask)) : wrong;
  LLVMValueRef byte = LLVMBuildInBoundsGEP2(at, e->m->i8, word, &number, 1, "");
  LLVMBuildStore(at, LLVMConstInt(e->m->i8, 1, false), LLVMBuildSelect(at, bad, byte, slot, ""));
}

LLVMValueRef ll_check(struct ll_emit *e, const struct tc_expr *x, LLVMValueRef index) {
  const int scope = e->info[x->id].scope;
  LLVMValueRef limit = ll_index(e, x->address);
  LLVMBuilderRef at = e->m->builder;
  ll_at(e, scope);
  if (ll_is_vector(LLVMTypeOf(index))) limit = ll_splat(e, limit);
  LLVMTypeRef type = LLVMTypeOf(index);
  LLVMValueRef zero = LLVMConstNull(type), top = LLVMBuildSub(at, limit, ll_const_int(type, 1), "");
  LLVMValueRef outside = LLVMBuildICmp(at, LLVMIntUGE, index, limit, ""); /* negative ones too */
  LLVMValueRef low = LLVMBuildSelect(at, LLVMBuildICmp(at, LLVMIntSGT, index, top, ""), top, index, "");
  LLVMValueRef clamped = LLVMBuildSelect(at, LLVMBuildICmp(at, LLVMIntSLT, low, zero, ""), zero, low, "");
  ll_raise(e, x, outside, TC_FLAG_INDEX);
  return clamped;
}
