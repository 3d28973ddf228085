/* Building a guard program, used by capture alone.
 *
 * Sources and facts are kept once: asking again for an equal one gives the old one. A field source has a
 * table as its parent, an upvalue source a function: the first is made sure by a TYPE fact that
 * tc_guards_field adds, the second by the caller, who pins functions (tc_guards_identity, tc_guards_code)
 * before he looks into them.
 *
 * Errors: memory that is out makes a source TC_NO_SOURCE and sets a flag that tc_guards_seal reports; callers
 * need not look in between. Lua's own allocations may raise: call inside of lua_pcall. Stack indices are
 * those of the state given. */
#ifndef TC_GUARDS_BUILD_H
#define TC_GUARDS_BUILD_H

#include "guards/guards.h"
#include "sym/sym.h"

enum tc_guard_kind {
#define TC_GUARD(NAME, text) TC_GUARD_##NAME,
#include "guards/guards.def"
#undef TC_GUARD
  TC_GUARD_KIND_COUNT
};

enum { TC_NO_SOURCE = -1 };

/* Operations of expressions beside Lua's own LUA_OPADD … LUA_OPBNOT: comparisons, whose result is a boolean,
 * and functions of Lua's library math, of one number (rows of functions.def) or of two. */
enum {
  TC_GUARD_OP_EQ = LUA_OPBNOT + 1,
  TC_GUARD_OP_LT,
  TC_GUARD_OP_LE,
#define TC_GUARD_FUNCTION(NAME, name, value) TC_GUARD_OP_##NAME,
#include "guards/functions.def"
#undef TC_GUARD_FUNCTION
  TC_GUARD_OP_ATAN,
  TC_GUARD_OP_LOG_OF,
};
static inline bool tc_guards_is_function(int op) { return op > TC_GUARD_OP_LE; }
static inline bool tc_guards_is_unary(int op) {
  return op == LUA_OPUNM || op == LUA_OPBNOT || (op > TC_GUARD_OP_LE && op < TC_GUARD_OP_ATAN);
}

enum {
  TC_MAX_EXPR_NODES =
      128, /* operators, sources and constants of one expression, counted as often as its text shows them */
};

/* *out is freed with tc_guards_free, also after a failure elsewhere. `host` outlives the guards. */
tc_status tc_guards_new(const struct tc_alloc *alloc, const struct tc_host *host, lua_State *L,
                        struct tc_guards **out, struct tc_error *err);

/* How the program is built (opt.guard_strings, opt.source_cache); of one that has no sources yet. */
void tc_guards_configure(struct tc_guards *g, const struct tc_config *config);

/* --- sources --- */
int tc_guards_function(struct tc_guards *g); /* the called function itself */
int tc_guards_arg(struct tc_guards *g, int number,
                  const char *name); /* from 0; nil beyond the arguments of a call */
int tc_guards_upvalue(struct tc_guards *g, int parent, int number, const char *name); /* from 1 */
/* Field of `parent`, whose key lies at `index`: nil and NaN excepted, any value (objects are compared by
 * identity). */
int tc_guards_field(struct tc_guards *g, lua_State *L, int parent, int index);
/* The object at `index` itself, which facts about `origin` pin. */
int tc_guards_object(struct tc_guards *g, lua_State *L, int index, int origin);
/* The number at `index`: an operand that reads nothing. */
int tc_guards_constant(struct tc_guards *g, lua_State *L, int index);
/* A number or boolean, computed with Lua's own meaning: `op` is a TC_GUARD_OP_… or LUA_OP…, `right`
 * TC_NO_SOURCE for unary ones (tc_guards_is_unary). The operands are numbers: the caller makes sure of it by
 * tc_guards_number or tc_guards_equal. An operation that Lua would refuse (n // 0 and n % 0 of integers, bits
 * of a number that is no integer) has no value; where that can happen a DEFINED fact is added, since the
 * program that is captured came past it. TC_NO_SOURCE without a failure: the expression would have more than
 * TC_MAX_EXPR_NODES; fix its operands' values instead. */
int tc_guards_expr(struct tc_guards *g, int op, int left, int right);
/* Marks a source whose value changes between calls; an expression over one is marked from the start. */
void tc_guards_set_dynamic(struct tc_guards *g, int source);
bool tc_guards_is_dynamic(const struct tc_guards *g, int source);

/* The size of a dimension (from 0) of the tensor at a source with a TENSOR fact, as an integer. */
int tc_guards_dim(struct tc_guards *g, int source, int dim);
/* The raw length of the table at a source (a TYPE fact says that it is one), as an integer. */
int tc_guards_length_of(struct tc_guards *g, int source);
/* The same, where nothing lies behind the next `count` keys, so that it is the length with `count` values
 * appended, less that; else nil. */
int tc_guards_length_before(struct tc_guards *g, int source, int count);
/* Is it an argument of the call itself? */
bool tc_guards_is_arg(const struct tc_guards *g, int source);
/* Hash of the path by which the source is found: the same in every program of a function. */
uint64_t tc_guards_path(const struct tc_guards *g, int source);

/* --- facts --- */
void tc_guards_type(struct tc_guards *g, int source, int type); /* LUA_T… */
void tc_guards_equal(struct tc_guards *g, lua_State *L, int source,
                     int index);                         /* nil, boolean, number (bits), string */
void tc_guards_defined(struct tc_guards *g, int source); /* not nil */
void tc_guards_identity(struct tc_guards *g, lua_State *L, int source, int index); /* the object at `index` */
/* A Lua function with the code of the one at `index`: which closure of it does not matter. */
void tc_guards_code(struct tc_guards *g, lua_State *L, int source, int index);
/* The called function may be another closure of its code in each call; the caller makes sure of the code. */
void tc_guards_function_by_code(struct tc_guards *g);
/* Is the source a function that is guarded by its code? An upvalue of one? */
bool tc_guards_is_by_code(const struct tc_guards *g, int source);
bool tc_guards_in_code(const struct tc_guards *g, int source);
/* An upvalue (from 1) of the function at `source` and one of that at `other` are one variable, or are two.
 * Identity or code of both is guarded. Callers ask once a pair. */
void tc_guards_one_variable(struct tc_guards *g, int source, int number, int other, int other_number);
void tc_guards_two_variables(struct tc_guards *g, int source, int number, int other, int other_number);
void tc_guards_metatable(struct tc_guards *g, lua_State *L, int source, int index); /* index 0: it has none */
void tc_guards_length(struct tc_guards *g, int source, int64_t length);             /* raw */
void tc_guards_sequence(struct tc_guards *g, int source); /* as tc_guards_is_sequence says */
/* How many positive integer keys the table at a stack index has, and the last of them (0: none); are they 1
 * to that, so that the length is it? */
lua_Integer tc_guards_count_indices(lua_State *L, int index, lua_Integer *last);
bool tc_guards_is_sequence(lua_State *L, int index);
/* The keys, in the order of next: a sequence of `count` at `index`. */
void tc_guards_keys(struct tc_guards *g, lua_State *L, int source, int index, int count);
void tc_guards_same(struct tc_guards *g, int source, int other);     /* rawequal */
void tc_guards_distinct(struct tc_guards *g, int source, int other); /* not so */
/* A number of this kind (math.type), whatever its value. */
void tc_guards_number(struct tc_guards *g, int source, bool is_integer);
void tc_guards_args(struct tc_guards *g, int count);
void tc_guards_default_dtype(struct tc_guards *g, tc_dtype dtype);

/* --- tensors, sizes, scalars --- */

/* Dtype, device, and every size and stride. */
void tc_guards_tensor(struct tc_guards *g, int source, const struct tc_tensor *tensor);
/* The same where sizes vary. size_ids[d] ≥ 0: the size of dimension d is the variable of that id, at least 2,
 * and equal wherever the id appears; -1: it is tensor's own. strides[d] is a constant or an expression over
 * size variables, of any table of symbols; strides = NULL: they are tensor's own. */
void tc_guards_tensor_dynamic(struct tc_guards *g, int source, const struct tc_tensor *tensor,
                              const int *size_ids, const tc_sym *strides);
/* Makes the tensor at `source` (with a TENSOR fact) the next graph input. */
void tc_guards_input(struct tc_guards *g, int source);
/* The integer at `source` is the size variable `id`, at least 2. */
void tc_guards_size(struct tc_guards *g, int source, int id);
/* The number at `source` (whose kind tc_guards_number makes sure of) becomes scalars[index]. */
void tc_guards_scalar(struct tc_guards *g, int source, int index);

/* "model.layers[1].weight", "n + 1", appended. */
void tc_guards_source_text(const struct tc_guards *g, int source, struct tc_strbuf *out);
/* Whether a key is written as a field ("t.x"), not in brackets: letters, digits and '_', no digit first. */
bool tc_guards_is_name(const char *text);

#endif
