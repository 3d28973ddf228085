/* Inside of codegen/llvm/: the module under construction, and the emitter of one kernel.
 *
 * 1. A value is emitted once in its *scope*: the outermost place where all it depends on is known. So
 *    loop-invariant values are hoisted and equal expressions are shared, with no LLVM pass run.
 * 2. A value is *varying* if it differs between lanes (an LLVM vector of `lanes` elements), else a scalar
 *    that is splatted where a vector is wanted. One lane: everything is scalar.
 * 3. A load from memory that the kernel writes is *fresh*: emitted again in each phase, never hoisted out of
 *    it.
 * 4. A failure is sticky in `status`: emitters go on with undefined values, and the caller looks at the
 * end. */
#ifndef TC_CODEGEN_LLVM_TYPES_H
#define TC_CODEGEN_LLVM_TYPES_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "base/hash_index.h"
#include "base/vec.h"
#include "codegen/codegen.h"

enum { LL_MAX_LANES = 64 };

enum ll_intrinsic {
  LL_FABS,
  LL_FLOOR,
  LL_CEIL,
  LL_SQRT,
  LL_FMA,
  LL_MASKED_LOAD,
  LL_MASKED_STORE,
  LL_GATHER,
  LL_SCATTER,
  LL_PREFETCH,
  LL_SFENCE,
  LL_SCALE_F32,
  LL_SCALE_F64,
  LL_FIX_F32,
  LL_FIX_F64,
  LL_INTRINSIC_COUNT
};
enum { LL_DECLARATIONS = 48 };
struct ll_declaration {
  enum ll_intrinsic which;
  LLVMTypeRef type, function_type;
  LLVMValueRef function;
};

struct tc_module {
  const struct tc_alloc *alloc;
  const struct tc_target *target;
  bool avx512, roll;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMTargetMachineRef machine;
  LLVMTypeRef void_, i1, i8, i16, i32, i64, f32, f64, ptr, kernel_type;
  LLVMAttributeRef nounwind;
  LLVMValueRef hardly_ever; /* metadata of a branch */
  LLVMValueRef nontemporal; /* metadata node */
  unsigned nontemporal_kind;
  LLVMValueRef integer_power; /* a function of the module, once one is needed */
  int n_declarations;
  struct ll_declaration declarations[LL_DECLARATIONS];
};

/* Scopes, outermost first. LL_INNER + d is the body of the loop over inner dimension d. */
enum { LL_FUNCTION, LL_ITEM, LL_PHASE, LL_INNER, LL_SCOPES = LL_INNER + TC_MAX_KERNEL_DIMS };

/* Where values of a scope go: before `anchor`, or (NULL) at the end of `block`. `stamp` differs between
 * emitted instances of the scope (phases, copies of an unrolled body): values of another one are not
 * known. */
struct ll_scope {
  LLVMBasicBlockRef block;
  LLVMValueRef anchor;
  unsigned stamp;
};

struct ll_info {           /* of an expression, by id */
  const struct tc_expr *x; /* NULL: the kernel does not use it */
  LLVMValueRef value, splat;
  unsigned stamp, splat_stamp;
  unsigned counted; /* number of the phase whose weight it entered, plus one */
  signed char scope;
  unsigned char roll; /* of the last turn of rolls[roll - 1]; 0: of none */
  bool analysed, varying, fresh;
};

/* A vector constant of the table; `value`: held in a register over the loops of the phase with that stamp. */
struct ll_constant {
  uint64_t bits;
  LLVMTypeRef type;
  LLVMValueRef value;
  unsigned stamp;
};
enum { LL_CONSTANTS = 256 };

/* Numbered integer and address operations, found by the operands' addresses. Nothing is forgotten, so that
 * what is found does not depend on where the operands happen to lie. */
struct ll_number {
  int op;
  LLVMValueRef a, b, value;
  unsigned stamp;
};
struct ll_numbers {
  TC_VEC(struct ll_number) items;
  struct tc_hash_index index;
};

/* Turns of `period` ids each, from `first` on, that are emitted as a loop. */
struct ll_roll {
  int first, period, turns;
};
enum { LL_ROLLS = 64 };

struct ll_emit {
  struct tc_module *m;
  const struct tc_kernel *k;
  struct tc_error *err;
  tc_status status;
  int lanes;
  LLVMValueRef function;
  LLVMBasicBlockRef entry, block; /* block: where control flow stands */
  struct ll_scope scopes[LL_SCOPES];
  int current; /* the scope that is open at the end of `block` */
  unsigned stamps;
  struct ll_info *info;
  LLVMValueRef base[TC_MAX_KERNEL_BUFFERS];
  LLVMValueRef *sizes, *acc;
  LLVMValueRef columns[TC_MAX_COLUMNS];                              /* of the phase under way, in its turn */
  LLVMValueRef outer[TC_MAX_KERNEL_DIMS], inner[TC_MAX_KERNEL_DIMS]; /* the lane dimension's: of lane 0 */
  tc_sym lane_variable;                                              /* INVALID if lanes is 1 */
  bool
      block_loop; /* over outer lanes without inner loops: strips go along the block, as the scope LL_INNER */
  LLVMValueRef mask;                 /* which lanes are active; NULL: all */
  LLVMValueRef zero_slot, sink_slot; /* memory for accesses that must not happen */
  LLVMValueRef rare_slots[3];        /* operands of ll_slow_call */
  bool nontemporal;                  /* stores of streamed buffers may be non-temporal here */
  bool nontemporal_used;
  bool prefetch; /* masked vector loads prefetch what comes later */
  LLVMValueRef
      whole; /* NULL, or whether all lanes of the masked strip are active: its stores are then not masked */
  int status_buffer, rng_buffer; /* -1: none */
  int at;                        /* scope of the builder's position */
  unsigned held_stamp;           /* phase that `held` counts for */
  int held, n_constants;
  struct ll_constant constants[LL_CONSTANTS];
  LLVMValueRef constant_table; /* a global: a vector each, as far apart as the widest */
  struct ll_numbers numbers;
  struct ll_number lost; /* where there is no memory for a number */
  int n_rolls;
  struct ll_roll rolls[LL_ROLLS];
};

/* --- module.c --- */
LLVMValueRef ll_call(struct ll_emit *e, enum ll_intrinsic which, LLVMTypeRef type, LLVMTypeRef second,
                     LLVMValueRef *args, int n);
/* Records the first failure and returns an undefined value of `type`. */
LLVMValueRef ll_fail(struct ll_emit *e, tc_status status, LLVMTypeRef type, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- values.c: positions, constants, shapes --- */
void ll_at(struct ll_emit *e, int scope);
LLVMValueRef ll_i64(struct ll_emit *e, int64_t value);
LLVMValueRef ll_splat(struct ll_emit *e, LLVMValueRef scalar); /* at the builder's position */
LLVMValueRef ll_const_int(LLVMTypeRef type, int64_t value);    /* scalar or splat */
LLVMValueRef ll_const_real(LLVMTypeRef type, double value);
LLVMValueRef ll_iota(struct ll_emit *e, LLVMTypeRef element, int64_t start, int64_t step);
LLVMTypeRef ll_like(LLVMTypeRef element, LLVMTypeRef shape); /* `element`, as many as `shape` has */
bool ll_is_vector(LLVMTypeRef type);
LLVMTypeRef ll_type(struct ll_emit *e, tc_dtype compute, bool varying);
LLVMTypeRef ll_stored_type(struct ll_emit *e, tc_dtype stored, bool varying);

/* --- table.c: vector constants in memory --- */
/* As ll_const_*, for operands of arithmetic (not shift counts). */
LLVMValueRef ll_table_int(struct ll_emit *e, LLVMTypeRef type, int64_t value);
LLVMValueRef ll_table_real(struct ll_emit *e, LLVMTypeRef type, double value);
void ll_table_end(struct ll_emit *e); /* writes the table */

/* --- index.c: symbols --- */
int ll_sym_scope(struct ll_emit *e, tc_sym s);
bool ll_sym_varies(struct ll_emit *e, tc_sym s);
/* The symbol's value in lane 0. */
LLVMValueRef ll_index(struct ll_emit *e, tc_sym s);
/* In all lanes; `s` varies. */
LLVMValueRef ll_index_lanes(struct ll_emit *e, tc_sym s);
/* Difference between neighbouring lanes, if it is one constant. */
bool ll_lane_stride(struct ll_emit *e, tc_sym s, int64_t *stride);
/* Address of lane 0: buffer + s + offset (NULL: 0) elements. */
LLVMValueRef ll_address(struct ll_emit *e, int buffer, tc_sym s, LLVMValueRef offset, int offset_scope);
LLVMValueRef ll_base(struct ll_emit *e, int buffer);
LLVMValueRef ll_buffer_word(struct ll_emit *e, int buffer,
                            int index); /* an i64 of the buffer, read once a call */

/* --- memory.c --- */
LLVMValueRef ll_load(struct ll_emit *e, const struct tc_expr *x, const LLVMValueRef *args);
void ll_store(struct ll_emit *e, const struct tc_kernel_store *store, LLVMValueRef value);
/* Raises the flag where a lane of `wrong` is set that is active. */
void ll_raise(struct ll_emit *e, const struct tc_expr *x, LLVMValueRef wrong, enum tc_flag flag);
LLVMValueRef ll_check(struct ll_emit *e, const struct tc_expr *x, LLVMValueRef index);

/* --- convert.c: between compute dtypes, and to and from memory's form --- */
LLVMValueRef ll_convert(struct ll_emit *e, LLVMValueRef value, tc_dtype from, tc_dtype to);
LLVMValueRef ll_from_stored(struct ll_emit *e, LLVMValueRef value, tc_dtype stored);
LLVMValueRef ll_to_stored(struct ll_emit *e, LLVMValueRef value, tc_dtype compute, tc_dtype stored);
LLVMValueRef ll_truth(struct ll_emit *e, LLVMValueRef value, tc_dtype compute);

/* --- expr.c --- */
void ll_analyse(struct ll_emit *e, const struct tc_expr *x);
int ll_op_weight(const struct tc_expr *x); /* of the operator alone: rough, in vector instructions */
int ll_weight(struct ll_emit *e, const struct tc_expr *x, int phase,
              int scope); /* work done in `scope` or inside, not yet counted in this phase */
LLVMValueRef ll_value(struct ll_emit *e, const struct tc_expr *x);       /* vector if varying, else scalar */
LLVMValueRef ll_lanes_value(struct ll_emit *e, const struct tc_expr *x); /* splatted if need be */

/* Emits the operator at the end of the expression's scope, and notes its value. */
LLVMValueRef ll_emit_operator(struct ll_emit *e, const struct tc_expr *x, const LLVMValueRef *args);

/* --- roll.c: repeated bodies --- */
void ll_find_rolls(struct ll_emit *e); /* once all is analysed */
/* Emits the loop, where its scope is open; then the values of the last turn are known. False: it must be
 * emitted turn by turn. */
bool ll_roll(struct ll_emit *e, const struct ll_roll *roll);

/* --- arith.c: operations that take several instructions --- */
LLVMValueRef ll_intrinsic1(struct ll_emit *e, enum ll_intrinsic which, LLVMValueRef a);
LLVMValueRef ll_fma(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef ll_max(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype);
LLVMValueRef ll_min(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype);
LLVMValueRef ll_floordiv(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype);
LLVMValueRef ll_remainder(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype);

LLVMValueRef ll_integer_power(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b); /* power.c */

/* --- math.c: transcendental functions, F32 and F64 --- */
LLVMValueRef ll_math1(struct ll_emit *e, enum tc_expr_op op, LLVMValueRef a, tc_dtype dtype);
LLVMValueRef ll_pow(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype);
LLVMValueRef ll_quotient(struct ll_emit *e, enum tc_expr_op op, LLVMValueRef a, LLVMValueRef b,
                         tc_dtype dtype); /* FLOORDIV, REMAINDER */
/* cos(2π·turns)·sqrt(-2·log u), F32. */
LLVMValueRef ll_box_muller(struct ll_emit *e, LLVMValueRef u1, LLVMValueRef u2);

/* --- slow_call.c --- */
/* Where a lane of `far` is set: `function`(&values[0], &values[1], &values[2], lanes, kind), of
 * codegen/slow_path.h, replaces values of three shapes alike. The builder goes on behind. */
enum { LL_SLOW_CALL_VALUES = 3 };
void ll_slow_call(struct ll_emit *e, const char *function, LLVMValueRef far, LLVMValueRef *values, int kind);
LLVMValueRef ll_any_lane(struct ll_emit *e, LLVMValueRef mask); /* a scalar too */

/* --- random.c --- */
LLVMValueRef ll_random(struct ll_emit *e, const struct tc_expr *x, LLVMValueRef element);

/* --- reduce.c --- */
struct ll_state {
  LLVMValueRef value, index;
}; /* index: ARGMAX and ARGMIN only */
tc_dtype ll_reduction_dtype(const struct tc_kernel_reduction *r); /* that it accumulates in */
struct ll_state ll_reduction_start(struct ll_emit *e, const struct tc_kernel_reduction *r);
struct ll_state ll_reduction_step(struct ll_emit *e, const struct tc_kernel_reduction *r,
                                  struct ll_state state, LLVMValueRef value, LLVMValueRef index);
/* Is it a sum of products that takes fused multiply-add? Then its step has both factors. */
bool ll_is_dot(const struct ll_emit *e, const struct tc_kernel_reduction *r);
struct ll_state ll_dot_step(struct ll_emit *e, struct ll_state state, LLVMValueRef a, LLVMValueRef b);
struct ll_state ll_reduction_join(struct ll_emit *e, const struct tc_kernel_reduction *r, struct ll_state a,
                                  struct ll_state b);
LLVMValueRef ll_reduction_end(struct ll_emit *e, const struct tc_kernel_reduction *r, struct ll_state state);

/* --- blocks.c: control flow --- */
void ll_enter(struct ll_emit *e, LLVMBasicBlockRef block); /* appends it; control stands at its end */
LLVMBasicBlockRef ll_block(struct ll_emit *e);             /* a new one, not yet placed */
void ll_end(struct ll_emit *e);                            /* builder to the end of the current block */
void ll_open(struct ll_emit *e, int scope); /* a new instance of the scope: the rest of the current block */
/* End the current block; scopes open in it go on before the branch. */
void ll_jump(struct ll_emit *e, LLVMBasicBlockRef to);
void ll_branch(struct ll_emit *e, LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no);
LLVMValueRef ll_phi(struct ll_emit *e, LLVMTypeRef type, LLVMValueRef value,
                    LLVMBasicBlockRef from); /* at the end of the current block */
void ll_incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from);
LLVMValueRef ll_less(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b); /* of i64, at the builder */
/* do { … } while ((variable += step) < to), with `state` carried; guarded: not entered unless from < to. */
struct ll_loop {
  LLVMBasicBlockRef before, body, exit;
  LLVMValueRef variable;
  struct ll_state *phis, *initial;
  bool guarded;
  int n;
};
void ll_loop_begin(struct ll_emit *e, struct ll_loop *loop, LLVMValueRef from, LLVMValueRef to, bool guarded,
                   struct ll_state *state, int n);
void ll_loop_end(struct ll_emit *e, struct ll_loop *loop, LLVMValueRef to, int64_t step,
                 struct ll_state *state);
void ll_loop_end_at(struct ll_emit *e, struct ll_loop *loop, LLVMValueRef next, LLVMValueRef to,
                    struct ll_state *state);                       /* variable = next */
LLVMValueRef ll_lane_mask(struct ll_emit *e, LLVMValueRef active); /* the first `active` lanes */

/* --- loops.c, strips.c --- */
void ll_kernel(struct ll_emit *e);
/* One instance of a phase's body, in `scope` of the current block; `state` (a reduction each) is replaced. */
void ll_body(struct ll_emit *e, const struct tc_phase *phase, int scope, struct ll_state *state);
/* The innermost loop of phase `number`. `length` is to - from where that is a constant, else INVALID. */
void ll_strips(struct ll_emit *e, int number, LLVMValueRef from, LLVMValueRef to, tc_sym length,
               struct ll_state *state);

/* --- parts.c: phases of a part of a dimension --- */
/* ll_strips over what the phase's part, in each of its turns, has of from … to. */
void ll_part_strips(struct ll_emit *e, int number, LLVMValueRef from, LLVMValueRef to, tc_sym length,
                    struct ll_state *state);
/* The body, where the item is in the phase's part: in each of its turns. */
void ll_part_rows(struct ll_emit *e, int number,
                  void (*body)(struct ll_emit *e, int number, const void *state), const void *state);

#endif
