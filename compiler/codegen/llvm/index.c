/* Symbols become integer values and addresses.
 *
 * 1. Each operation is numbered, so equal subexpressions are computed once, in their outermost scope.
 * 2. An address is built from its outermost terms inwards: everything that a loop does not change is
 *    added before the loop, and a constant comes last, where it is a displacement of the instruction.
 * 3. Integers are i64. In lanes, division goes through f64 where bounds prove it exact (vectors have no
 *    integer division). */
#include "codegen/llvm/types.h"

#include "base/hash.h"

/* Composite operations of the number table, beyond LLVM's opcodes. */
enum {
  NUMBER_FLOORDIV = 1000,
  NUMBER_MOD,
  NUMBER_MIN,
  NUMBER_MAX,
  NUMBER_SPLAT,
  NUMBER_UDIV_SMALL,
  NUMBER_UMOD_SMALL,
  NUMBER_ELEMENT /* + number of the buffer */
};
enum { MAX_TERMS = 32 };
enum { EXACT_BITS = 51 }; /* integers below 2^51 divide exactly through f64 */
static const int64_t F64_INTEGER_BIAS =
    0x4330000000000000; /* bits of 2^52: or-ing in an integer below 2^52 adds it */

/* --- scopes of symbols --- */

static int variable_place(const struct ll_emit *e, tc_sym s, int *scope) {
  for (int i = 0; i < e->k->n_outer; i++)
    if (tc_sym_same(s, e->k->outer[i].var))
      return *scope = e->block_loop && i == e->k->n_outer - 1 ? LL_INNER : LL_ITEM, i;
  for (int i = 0; i < e->k->n_inner; i++)
    if (tc_sym_same(s, e->k->inner[i].var)) return *scope = LL_INNER + i, i;
  for (int p = 0; p < e->k->n_phases; p++)
    for (int c = 0; c < e->k->phases[p].n_columns; c++)
      if (tc_sym_same(s, e->k->phases[p].columns[c])) return *scope = LL_PHASE, c;
  return -1;
}

int ll_sym_scope(struct ll_emit *e, tc_sym s) {
  int scope = LL_FUNCTION;
  switch (tc_sym_kind(s)) {
    case TC_SYM_CONST:
    case TC_SYM_SIZE: return LL_FUNCTION;
    case TC_SYM_INDEX:
      if (variable_place(e, s, &scope) < 0)
        ll_fail(e, TC_CODEGEN, e->m->i64, "an address uses a variable that is none of the kernel's loops");
      return scope;
    default: {
      const int left = ll_sym_scope(e, tc_sym_left(s)), right = ll_sym_scope(e, tc_sym_right(s));
      return left > right ? left : right;
    }
  }
}

bool ll_sym_varies(struct ll_emit *e, tc_sym s) {
  switch (tc_sym_kind(s)) {
    case TC_SYM_CONST:
    case TC_SYM_SIZE: return false;
    case TC_SYM_INDEX: return tc_sym_same(s, e->lane_variable);
    default: return ll_sym_varies(e, tc_sym_left(s)) || ll_sym_varies(e, tc_sym_right(s));
  }
}

bool ll_lane_stride(struct ll_emit *e, tc_sym s, int64_t *stride) {
  int64_t left, right;
  *stride = 0;
  if (!ll_sym_varies(e, s)) return true;
  switch (tc_sym_kind(s)) {
    case TC_SYM_INDEX: return *stride = 1, true;
    case TC_SYM_ADD:
      if (!ll_lane_stride(e, tc_sym_left(s), &left) || !ll_lane_stride(e, tc_sym_right(s), &right))
        return false;
      return !__builtin_add_overflow(left, right, stride);
    case TC_SYM_MUL: { /* a constant factor stands on the right */
      if (!tc_sym_is_const(tc_sym_right(s)) || !ll_lane_stride(e, tc_sym_left(s), &left)) return false;
      return !__builtin_mul_overflow(left, tc_sym_value(tc_sym_right(s)), stride);
    }
    default: return false;
  }
}

/* --- numbered operations --- */

static LLVMValueRef floor_divide(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, bool remainder) {
  LLVMBuilderRef at = e->m->builder;
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a)), quotient = LLVMBuildSDiv(at, a, b, "");
  LLVMValueRef rest = LLVMBuildSub(at, a, LLVMBuildMul(at, quotient, b, ""), "");
  LLVMValueRef signs = LLVMBuildICmp(at, LLVMIntSLT, LLVMBuildXor(at, rest, b, ""), zero, "");
  LLVMValueRef adjust = LLVMBuildAnd(at, signs, LLVMBuildICmp(at, LLVMIntNE, rest, zero, ""), "");
  if (remainder) return LLVMBuildSelect(at, adjust, LLVMBuildAdd(at, rest, b, ""), rest, "");
  return LLVMBuildSelect(at, adjust, LLVMBuildSub(at, quotient, ll_const_int(LLVMTypeOf(a), 1), ""), quotient,
                         "");
}

/* Integers in [0, 2^51) to f64 and back by their bits: no conversion instruction is needed. */
static LLVMValueRef small_to_f64(struct ll_emit *e, LLVMValueRef v) {
  LLVMTypeRef real = ll_like(e->m->f64, LLVMTypeOf(v));
  LLVMValueRef bias = ll_const_int(LLVMTypeOf(v), F64_INTEGER_BIAS);
  LLVMValueRef biased = LLVMBuildBitCast(e->m->builder, LLVMBuildOr(e->m->builder, v, bias, ""), real, "");
  return LLVMBuildFSub(e->m->builder, biased, LLVMConstBitCast(bias, real), "");
}

static LLVMValueRef divide_small(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, bool remainder) {
  LLVMBuilderRef at = e->m->builder;
  LLVMTypeRef integer = LLVMTypeOf(a), real = ll_like(e->m->f64, integer);
  LLVMValueRef quotient =
      ll_intrinsic1(e, LL_FLOOR, LLVMBuildFDiv(at, small_to_f64(e, a), small_to_f64(e, b), ""));
  LLVMValueRef bias = ll_const_int(integer, F64_INTEGER_BIAS);
  LLVMValueRef biased = LLVMBuildFAdd(at, quotient, LLVMConstBitCast(bias, real), "");
  LLVMValueRef whole = LLVMBuildXor(at, LLVMBuildBitCast(at, biased, integer, ""), bias, "");
  return remainder ? LLVMBuildSub(at, a, LLVMBuildMul(at, whole, b, ""), "") : whole;
}

static LLVMValueRef build(struct ll_emit *e, int op, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef at = e->m->builder;
  switch (op) {
    case NUMBER_FLOORDIV: return floor_divide(e, a, b, false);
    case NUMBER_MOD: return floor_divide(e, a, b, true);
    case NUMBER_UDIV_SMALL: return divide_small(e, a, b, false);
    case NUMBER_UMOD_SMALL: return divide_small(e, a, b, true);
    case NUMBER_MIN: return LLVMBuildSelect(at, LLVMBuildICmp(at, LLVMIntSLT, a, b, ""), a, b, "");
    case NUMBER_MAX: return LLVMBuildSelect(at, LLVMBuildICmp(at, LLVMIntSGT, a, b, ""), a, b, "");
    case NUMBER_SPLAT: return ll_splat(e, a);
    default: return LLVMBuildBinOp(at, (LLVMOpcode)op, a, b, "");
  }
}

/* Finds the operation in the table, or makes a place for it there (whose value is NULL). The pointer holds
 * until the next operation is looked for. */
static struct ll_number *number_place(struct ll_emit *e, int op, LLVMValueRef a, LLVMValueRef b) {
  struct ll_numbers *t = &e->numbers;
  const uint64_t hash = tc_hash_mix(tc_hash_mix((uint64_t)op, (uintptr_t)a), (uintptr_t)b);
  size_t at = tc_hash_index_first(&t->index, hash);
  for (int i; (i = tc_hash_index_next(&t->index, hash, &at)) >= 0;) {
    struct ll_number *n = &t->items.data[i];
    if (n->op == op && n->a == a && n->b == b) return n;
  }
  const struct ll_number fresh = {.op = op, .a = a, .b = b};
  if (!tc_vec_push(e->m->alloc, &t->items, fresh) ||
      !tc_hash_index_add(e->m->alloc, &t->index, hash, (int)t->items.len - 1)) {
    ll_fail(e, TC_NOMEM, e->m->i64, "out of memory");
    e->lost = (struct ll_number){0};
    return &e->lost;
  }
  return &t->items.data[t->items.len - 1];
}

static LLVMValueRef number(struct ll_emit *e, int scope, int op, LLVMValueRef a, LLVMValueRef b) {
  struct ll_number *n = number_place(e, op, a, b);
  const unsigned stamp = e->scopes[scope].stamp;
  if (n->value && n->stamp == stamp) return n->value;
  ll_at(e, scope);
  *n = (struct ll_number){op, a, b, build(e, op, a, b), stamp};
  return n->value;
}

static LLVMValueRef element_pointer(struct ll_emit *e, int scope, int buffer, LLVMValueRef from,
                                    LLVMValueRef count) {
  LLVMTypeRef element = ll_stored_type(e, e->k->buffers[buffer].dtype, false);
  struct ll_number *n = number_place(e, NUMBER_ELEMENT + buffer, from, count);
  const unsigned stamp = e->scopes[scope].stamp;
  if (n->value && n->stamp == stamp) return n->value;
  ll_at(e, scope);
  LLVMValueRef pointer = LLVMBuildInBoundsGEP2(e->m->builder, element, from, &count, 1, "");
  *n = (struct ll_number){NUMBER_ELEMENT + buffer, from, count, pointer, stamp};
  return pointer;
}

/* --- values --- */

static bool never_negative(tc_sym s) {
  int64_t low, high;
  return tc_sym_bounds(s, &low, &high) && low >= 0;
}
static bool small(tc_sym s) {
  int64_t low, high;
  return tc_sym_bounds(s, &low, &high) && low >= 0 && high < (INT64_C(1) << EXACT_BITS);
}

/* The operation for a DIV or MOD node whose operands have no better form. */
static int division_op(tc_sym s, bool lanes) {
  const bool modulo = tc_sym_kind(s) == TC_SYM_MOD;
  const tc_sym divisor = tc_sym_right(s);
  const int64_t value = tc_sym_is_const(divisor) ? tc_sym_value(divisor) : 0;
  const bool power_of_two = value > 0 && !(value & (value - 1));
  if (!never_negative(tc_sym_left(s)) || !never_negative(divisor))
    return modulo ? NUMBER_MOD : NUMBER_FLOORDIV;
  if (lanes && !power_of_two && small(tc_sym_left(s)) && small(divisor))
    return modulo ? NUMBER_UMOD_SMALL : NUMBER_UDIV_SMALL;
  return modulo ? LLVMURem : LLVMUDiv;
}

static int operation(tc_sym s, bool lanes) {
  switch (tc_sym_kind(s)) {
    case TC_SYM_ADD: return LLVMAdd;
    case TC_SYM_MUL: return LLVMMul;
    case TC_SYM_MIN: return NUMBER_MIN;
    case TC_SYM_MAX: return NUMBER_MAX;
    default: return division_op(s, lanes);
  }
}

static LLVMValueRef size_value(struct ll_emit *e, int id) {
  if (id < 0 || id >= e->k->n_sizes)
    return ll_fail(e, TC_CODEGEN, e->m->i64, "size s%d is not one of the kernel's %d", id, e->k->n_sizes);
  if (!e->sizes[id]) {
    ll_at(e, LL_FUNCTION);
    LLVMValueRef at = ll_i64(e, id), sizes = LLVMGetParam(e->function, 1);
    LLVMValueRef pointer = LLVMBuildInBoundsGEP2(e->m->builder, e->m->i64, sizes, &at, 1, "");
    e->sizes[id] = LLVMBuildLoad2(e->m->builder, e->m->i64, pointer, "");
  }
  return e->sizes[id];
}

LLVMValueRef ll_index(struct ll_emit *e, tc_sym s) {
  int scope;
  switch (tc_sym_kind(s)) {
    case TC_SYM_CONST: return ll_i64(e, tc_sym_value(s));
    case TC_SYM_SIZE: return size_value(e, tc_sym_id(s));
    case TC_SYM_INDEX: {
      const int place = variable_place(e, s, &scope);
      if (place < 0)
        return ll_fail(e, TC_CODEGEN, e->m->i64,
                       "an address uses a variable that is none of the kernel's loops");
      LLVMValueRef value = scope == LL_PHASE                   ? e->columns[place]
                           : scope == LL_ITEM || e->block_loop ? e->outer[place]
                                                               : e->inner[place];
      return value ? value : ll_fail(e, TC_CODEGEN, e->m->i64, "a variable is used outside of its loop");
    }
    default: {
      LLVMValueRef left = ll_index(e, tc_sym_left(s)), right = ll_index(e, tc_sym_right(s));
      return number(e, ll_sym_scope(e, s), operation(s, false), left, right);
    }
  }
}

LLVMValueRef ll_index_lanes(struct ll_emit *e, tc_sym s) {
  int64_t stride;
  const int scope = ll_sym_scope(e, s);
  if (ll_lane_stride(e, s, &stride)) {
    LLVMValueRef start = number(e, scope, NUMBER_SPLAT, ll_index(e, s), NULL);
    return stride ? number(e, scope, LLVMAdd, start, ll_iota(e, e->m->i64, 0, stride)) : start;
  }
  LLVMValueRef left = ll_index_lanes(e, tc_sym_left(s)), right = ll_index_lanes(e, tc_sym_right(s));
  return number(e, scope, operation(s, true), left, right);
}

/* --- addresses --- */

LLVMValueRef ll_base(struct ll_emit *e, int buffer) {
  if (!e->base[buffer]) {
    ll_at(e, LL_FUNCTION);
    LLVMValueRef at = ll_i64(e, buffer), buffers = LLVMGetParam(e->function, 0);
    LLVMValueRef pointer = LLVMBuildInBoundsGEP2(e->m->builder, e->m->ptr, buffers, &at, 1, "");
    e->base[buffer] = LLVMBuildLoad2(e->m->builder, e->m->ptr, pointer, "");
  }
  return e->base[buffer];
}

LLVMValueRef ll_buffer_word(struct ll_emit *e, int buffer, int index) {
  LLVMValueRef base = ll_base(e, buffer), at = ll_i64(e, index);
  struct ll_number *n = number_place(e, LLVMLoad, base, at);
  if (n->value) return n->value;
  ll_at(e, LL_FUNCTION);
  LLVMValueRef pointer = LLVMBuildInBoundsGEP2(e->m->builder, e->m->i64, base, &at, 1, "");
  *n = (struct ll_number){LLVMLoad, base, at, LLVMBuildLoad2(e->m->builder, e->m->i64, pointer, ""),
                          e->scopes[LL_FUNCTION].stamp};
  return n->value;
}

struct terms {
  int n;
  int64_t constant;
  tc_sym term[MAX_TERMS];
};

/* False if there are too many. */
static bool collect(struct terms *t, tc_sym s) {
  if (tc_sym_is_const(s)) return t->constant += tc_sym_value(s), true;
  if (tc_sym_kind(s) == TC_SYM_ADD) return collect(t, tc_sym_left(s)) && collect(t, tc_sym_right(s));
  if (t->n == MAX_TERMS) return false;
  t->term[t->n++] = s;
  return true;
}

LLVMValueRef ll_address(struct ll_emit *e, int buffer, tc_sym s, LLVMValueRef offset, int offset_scope) {
  struct terms t = {0};
  if (!collect(&t, s)) t = (struct terms){.n = 1, .term = {s}}; /* a very long sum is one term */
  LLVMValueRef pointer = ll_base(e, buffer);
  int scope = LL_FUNCTION;
  for (int level = LL_FUNCTION; level < LL_SCOPES; level++) {
    LLVMValueRef sum = offset && offset_scope == level ? offset : NULL;
    for (int i = 0; i < t.n; i++) {
      if (ll_sym_scope(e, t.term[i]) != level) continue;
      LLVMValueRef value = ll_index(e, t.term[i]);
      sum = sum ? number(e, level, LLVMAdd, sum, value) : value;
    }
    if (sum) pointer = element_pointer(e, level, buffer, pointer, sum), scope = level;
  }
  return t.constant ? element_pointer(e, scope, buffer, pointer, ll_i64(e, t.constant)) : pointer;
}
