/* Inside of the guards: what sources.c and facts.c build, layout.c and program.c make into a program, check.c
 * runs, and explain.c prints.
 *
 * Invariants:
 *  1. Objects, keys and constants that the program needs (*anchors*) lie at the bottom of the stack of a Lua
 *     thread of its own, which the registry keeps alive; anchor k is stack index k. Outside of a call that
 *     thread holds nothing else. Addresses of anchored objects and strings are compared instead of the
 *     objects: an anchor keeps its address from being used again.
 *  2. Above the anchors a check lays the *roots* (arguments and upvalues of the function whose insides are
 *     looked at: moved there together), then *kept* values (operands of facts on pairs and of expressions),
 *     then the *walk*: the children of one table after one another, taken off together when the table is
 *     done. Each place is known when the program is made. Arguments that no other source rests on are looked
 *     at where they lie, on the stack of the call.
 *  3. The operations of a source come in this order: its reading, its own facts, its children. So a table is
 *     known to be one before its fields are read, and the first failure ends the check. Expressions and facts
 *     on pairs come as soon as a table's insides are to be read, or else at the end; facts on sizes last.
 *  4. The order among siblings and among the facts of one source is free; those that failed more often come
 *     first. It changes in place (tc_guards_note_failure): nothing is allocated after tc_guards_seal. */
#ifndef TC_GUARDS_PROGRAM_H
#define TC_GUARDS_PROGRAM_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/vec.h"
#include "guards/build.h"

enum tc_source_kind {
  TC_SOURCE_FUNCTION,
  TC_SOURCE_ARG,
  TC_SOURCE_UPVALUE,
  TC_SOURCE_FIELD,
  TC_SOURCE_DIM,    /* size of a dimension of the tensor above it */
  TC_SOURCE_LENGTH, /* raw length of the table above it; number > 0: nil when there is something that far
                       behind the next key */
  TC_SOURCE_OBJECT,
  TC_SOURCE_CONSTANT,
  TC_SOURCE_EXPR
};

enum {
  TC_GUARDS_NIL = 1,         /* the anchor that is nil: what arguments beyond those of the call are */
  TC_GUARDS_SPARE_STACK = 8, /* what a step pushes beyond its value */
};

struct tc_source {
  enum tc_source_kind kind;
  int parent; /* a source; OBJECT: where it was found; EXPR: the left operand */
  int number; /* of an argument, upvalue or dimension; FIELD: anchor of the key, 0 when the key is `integer`
               * (an int); OBJECT, CONSTANT: anchor; EXPR: the operation */
  int depth;  /* sources above this one */
  int nodes;  /* of an expression's text; 1 for all others */
  uint32_t facts; /* bit set of tc_guard_kind that the program has about it */
  bool dynamic;
  bool is_integer;     /* a NUMBER or EQUAL fact says so; CONSTANT: it is one */
  lua_Integer integer; /* FIELD: the key; EXPR: the right operand; CONSTANT: the bits */
  const char *name;    /* of an argument or upvalue; FIELD: the key as text, NULL when it is no name */
  struct tc_fact_tensor *tensor; /* of its TENSOR fact */
  uint64_t path;                 /* hash of the source without addresses */
  uint64_t identity; /* the same with addresses: equal in two programs of a function, if the sources are the
                        same */

  /* Made by tc_guards_seal. */
  bool needed;                 /* a fact rests on it */
  bool moved;                  /* a root: its place is fixed */
  bool ready;                  /* while the program is made: its operations are in it */
  int place;                   /* stack index of its value; 0: on the stack of the call */
  int kept;                    /* stack index of the copy that pairs and expressions use; 0: `place` serves */
  int position;                /* in tc_guards.children */
  int first_child, n_children; /* in tc_guards.children */
  int first_fact, n_facts;     /* in tc_guards.own_facts */
  uint32_t fails;              /* of facts about it and what is below it */
};

/* Sizes that vary. */
struct tc_fact_dims {
  int ids[TC_MAX_DIMS]; /* size variables; -1: fixed */
  bool late_strides;    /* some stride is an expression: looked at when all sizes are known */
  tc_sym strides[TC_MAX_DIMS];
  const struct tc_tensor *now; /* in a running check */
};

struct tc_fact_tensor {
  tc_dtype dtype;
  int ndim;
  int input; /* graph input, -1: only looked at */
  const struct tc_device *device;
  struct tc_fact_dims *dims;   /* NULL: all sizes are fixed */
  struct tc_fact_tensor *like; /* the first of the program that demands the same (itself, mostly): what checks
                                  look at stays in the cache */
  int64_t sizes[TC_MAX_DIMS], strides[TC_MAX_DIMS]; /* unused where dims says otherwise */
};

/* TYPE: type. EQUAL: type, and integer (a boolean, an integer, the bits of a float; `is_integer` tells) or
 * other = anchor, with pointer and length of the string. IDENTITY: other = anchor, type and pointer of the
 * object. METATABLE: the same, or other = 0: none. LENGTH, ARGS, DEFAULT_DTYPE: integer. KEYS: integer
 * anchors from other on. NUMBER: is_integer. SIZE, SCALAR: other = id, index. SAME, DISTINCT: other = source.
 * TENSOR: tensor. SHAPE: shape. CODE: other = anchor of a function, its pointer, and code. ONE_VARIABLE,
 * TWO_VARIABLES: other = source, integer = the numbers of both upvalues. */
struct tc_fact { /* small: a model has thousands */
  enum tc_guard_kind kind : 8;
  int type : 8;
  bool is_integer;
  int source;
  int other;
  uint32_t fails;
  int64_t integer;
  union {
    struct {
      const void *pointer;
      union {
        size_t length;
        const struct tc_fact_code *code;
      };
    };
    struct tc_fact_tensor *tensor;
    struct tc_sym_fact shape;
  };
};

/* How an operation comes by the value that it tests. */
enum tc_guard_read {
  TC_READ_NOTHING,  /* the value at `at`, or that of the operation before it */
  TC_READ_KEY,      /* pushes the field `key` (an anchor) of the table at `parent` */
  TC_READ_INTEGER,  /* pushes the field `key` (the integer itself) of the table at `parent` */
  TC_READ_DIM,      /* pushes the size of dimension `key` of the tensor at `parent` */
  TC_READ_LENGTH,   /* pushes the raw length of the table at `parent`; or nil, when key > 0 and there is
                       something `key` behind the next key */
  TC_READ_UPVALUE,  /* pushes the upvalue `key` of the function at `parent` */
  TC_READ_ARG,      /* argument `key`, on the stack of the call */
  TC_READ_FUNCTION, /* the function, on the stack of the call */
  TC_READ_PLACE,    /* a value that lies at `at` already */
  TC_READ_EXPR,     /* operation `key` on the values at `parent` and `other`, to `at` */
  TC_READ_MOVE,     /* no value: brings the roots, and makes room for kept values */
  TC_READ_POP,      /* no value: takes off what lies above `at` */
};

enum tc_guard_test {
  TC_TEST_NOTHING,
  TC_TEST_KEEP, /* copies the value to `other` */
  TC_TEST_TYPE,
  TC_TEST_BOOLEAN,
  TC_TEST_INTEGER,
  TC_TEST_FLOAT,
  TC_TEST_STRING,
  TC_TEST_IDENTITY,
  TC_TEST_METATABLE, /* NULL: none */
  TC_TEST_LENGTH,
  TC_TEST_SEQUENCE,
  TC_TEST_KEYS,
  TC_TEST_TENSOR,
  TC_TEST_SIZES, /* a tensor with sizes that vary */
  TC_TEST_STRIDES,
  TC_TEST_NUMBER,
  TC_TEST_DEFINED,
  TC_TEST_SIZE,
  TC_TEST_SCALAR,
  TC_TEST_SAME,
  TC_TEST_DISTINCT,
  TC_TEST_SHAPE,
  TC_TEST_ARGS,
  TC_TEST_DEFAULT_DTYPE,
  TC_TEST_CODE,
  TC_TEST_ONE_VARIABLE,
  TC_TEST_TWO_VARIABLES,
};

/* Reading and test in one, for what a check does most; its value lies at `at`, on the guards' thread. */
enum tc_guard_code {
  TC_CODE_OTHER, /* `read`, then `test` */
  TC_CODE_KEY_TYPE,
  TC_CODE_KEY_BOOLEAN,
  TC_CODE_KEY_INTEGER,
  TC_CODE_KEY_FLOAT,
  TC_CODE_KEY_STRING,
  TC_CODE_KEY_IDENTITY,
  TC_CODE_KEY_TENSOR,
  TC_CODE_INTEGER_TYPE, /* TC_READ_INTEGER and TC_TEST_TYPE */
  TC_CODE_METATABLE,    /* TC_READ_NOTHING and TC_TEST_METATABLE */
  TC_CODE_POP,
  TC_CODE_END, /* all hold */
};

/* Two to a line of the cache: a check runs through all of them. */
struct tc_guard_op {
  uint8_t code, read, test;
  int8_t type; /* LUA_T…; TC_TEST_NUMBER: whether it is an integer; TC_TEST_FLOAT: whether there is an integer
                  that converts to it */
  int at;      /* place of the value on the guards' thread; 0: it is on the stack of the call */
  int parent, key;
  int other; /* place of the other value (of TC_READ_EXPR too); id, index, first anchor; TC_TEST_TENSOR: graph
                input, or -1 */
  int fact;  /* from 1 */
  union {
    int64_t integer;
    const void *pointer;
    struct tc_fact_tensor *tensor;
  } expected;
};

struct tc_guards {
  const struct tc_alloc *alloc;
  struct tc_arena *arena;
  const struct tc_host *host;
  lua_State *thread;
  int reference; /* of the thread in the registry */
  int n_anchors, n_inputs, n_sizes;
  bool failed;                     /* memory was out while building */
  bool tells_at_once, walks_paths; /* tc_guards_configure */
  TC_VEC(const char *) texts;      /* of facts, where they are told at once */
  /* Of `alloc`: an arena would keep what they outgrow. */
  TC_VEC(struct tc_source) sources;
  TC_VEC(struct tc_fact) facts;
  struct tc_hash_index source_index, shape_index,
      string_index;          /* of sources; of SHAPE facts; of anchored strings, to anchors */
  struct tc_symtab *symbols; /* of the facts' own; NULL: there are none */

  /* Made by tc_guards_seal. */
  struct tc_guard_op *ops;
  int n_ops, most_ops;
  int *children; /* of all sources; those of none (roots, and what lies in pinned objects) come first */
  int n_top;
  int *own_facts; /* facts by source, but for those on pairs */
  int *roots;     /* sources that are moved, in the order of their places */
  int n_roots, n_kept;
  int *late; /* expressions (source) and facts on pairs (~fact), each after what it needs */
  int n_late;
  bool *late_done;
  int *path;      /* room for the longest path */
  int64_t *sizes; /* for checks that do not ask for sizes */
};

/* --- explain.c --- */
void tc_guards_print_fact(const struct tc_guards *g, const struct tc_fact *fact, struct tc_strbuf *out);
/* Keeps the text of the newest fact. */
void tc_guards_keep_text(struct tc_guards *g);

/* --- program.c --- */
/* Makes the program, in the room that layout.c got. */
void tc_guards_emit(struct tc_guards *g);
/* Counts a failure, and brings the fact forward. */
void tc_guards_note_failure(struct tc_guards *g, int fact);

/* Read from the value of its parent? */
/* Pushes what a LENGTH source reads of the table at `table`. */
static inline void tc_guards_push_length(lua_State *G, int table, int count) {
  const lua_Integer length = (lua_Integer)lua_rawlen(G, table);
  if (count &&
      lua_rawgeti(G, table, (lua_Integer)((lua_Unsigned)length + (lua_Unsigned)count + 1)) != LUA_TNIL) {
    lua_pop(G, 1);
    lua_pushnil(G);
    return;
  }
  if (count) lua_pop(G, 1);
  lua_pushinteger(G, length);
}

static inline bool tc_guards_is_inner(const struct tc_source *s) {
  return s->kind == TC_SOURCE_FIELD || s->kind == TC_SOURCE_UPVALUE || s->kind == TC_SOURCE_DIM ||
         s->kind == TC_SOURCE_LENGTH;
}
/* An anchor itself: there is nothing to read. */
static inline bool tc_guards_is_anchored(const struct tc_source *s) {
  return s->kind == TC_SOURCE_OBJECT || s->kind == TC_SOURCE_CONSTANT;
}

/* --- sources.c --- */
/* Keeps the value at `index` of L alive for the program; gives its anchor. */
int tc_guards_anchor(struct tc_guards *g, lua_State *L, int index);
/* The same, once a string: modules of one kind share the names of their fields, which then stay in the
 * cache. */
int tc_guards_anchor_shared(struct tc_guards *g, lua_State *L, int index);

/* --- code.c --- */
/* Has the value at `at` the code that the fact demands? It is another function than the fact's own, or none
 * at all. */
bool tc_guards_has_code(lua_State *G, int at, const struct tc_fact *fact);
/* Are the values at both places of the guards' thread Lua functions of the same code? */
bool tc_guards_same_code(const struct tc_guards *g, int at, int other);
/* Are the upvalues of the functions at both places, whose numbers a fact has, one variable? */
bool tc_guards_is_one_variable(lua_State *G, int at, int other, int64_t numbers);

/* --- facts.c --- */
void tc_guards_add_fact(struct tc_guards *g, const struct tc_fact *fact);
static inline bool tc_guards_is_pair(enum tc_guard_kind kind) {
  return kind == TC_GUARD_SAME || kind == TC_GUARD_DISTINCT || kind == TC_GUARD_ONE_VARIABLE ||
         kind == TC_GUARD_TWO_VARIABLES;
}

/* --- evaluate.c --- */
/* Pushes the value of one source on the guards' thread, reading from its roots; nil where a path leads
 * nowhere. */
void tc_guards_evaluate(const struct tc_guards *g, const struct tc_frame *frame, int source);
/* Pushes what a source without a parent is on the stack `to`: frame->L, or the guards' thread. */
void tc_guards_push_root(const struct tc_frame *frame, const struct tc_source *source);
/* Replaces the operands at the stack top (two; one of a unary operation) by the result, or by nil where there
 * is none. */
void tc_guards_compute(lua_State *L, int op);

/* --- text.c --- */
void tc_guards_value_text(const struct tc_guards *g, int at,
                          struct tc_strbuf *out); /* of the guards' thread */
void tc_guards_float_text(double number, struct tc_strbuf *out);

#endif
