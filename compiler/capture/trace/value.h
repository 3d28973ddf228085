/* Tracked values: what capture knows of the values that the traced code would hold.
 *
 * A value is a constant (scalars), or a record: one record an object, so that equal pointers are equal
 * objects. A record of an *external* object (it exists in the Lua state) has an origin; a *fresh* one is
 * made by the traced code and exists here alone. A scalar that was read from outside keeps its source until
 * something depends on it (tc_use): then a guard fixes it.
 *
 * Everything lies in the trace's arena. */
#ifndef TC_CAPTURE_VALUE_H
#define TC_CAPTURE_VALUE_H

#include <lua.h>

#include "base/hash_index.h"
#include "base/vec.h"
#include "capture/bytecode/bytecode.h"
#include "guards/build.h"
#include "ir/graph.h"

struct tc_trace;

enum tc_tracked_kind {
  TC_IS_NIL,
  TC_IS_BOOL,
  TC_IS_INT,
  TC_IS_NUM,
  TC_IS_TEXT, /* scalars */
  TC_IS_TENSOR,
  TC_IS_TABLE,
  TC_IS_CLOSURE,
  TC_IS_NATIVE,
  TC_IS_OPAQUE, /* records */
};

/* An interned string: equal texts are one pointer. Zero-terminated. */
struct tc_text {
  size_t length;
  uint64_t hash;
  const char *bytes;
  struct tc_traced_native
      *method; /* of tensors, by that name; NULL: it was not asked for, or there is none */
};

struct tc_tracked {
  uint8_t kind;
  int32_t source; /* scalars: read from there, and no guard yet; else TC_NO_SOURCE */
  union {
    bool boolean;
    lua_Integer integer;
    lua_Number number;
    struct tc_text *text;
    struct tc_origin *origin; /* every record begins with one */
    struct tc_traced_tensor *tensor;
    struct tc_traced_table *table;
    struct tc_traced_closure *closure;
    struct tc_traced_native *native;
  };
};

/* Where a record's object is found: in the Lua state (object > 0: number in the trace's table of objects) by
 * `source`. When it is pinned, guards hold it to be this very object, and its parts are guarded from the
 * object itself. Fresh: all 0 and TC_NO_SOURCE. */
struct tc_origin {
  int object, source;
  bool pinned;
};

struct tc_traced_shape {
  tc_sym sizes[TC_MAX_DIMS], strides[TC_MAX_DIMS];
};

struct tc_traced_tensor {
  struct tc_origin origin;
  struct tc_node *node; /* NULL: from outside, and not yet an input of the graph */
  const struct tc_tensor *external;
  const struct tc_traced_shape *shape; /* of one from outside that was looked at */
  bool in_results;
  int output; /* in_results: of the graph */
};

struct tc_table_entry {
  struct tc_tracked key, value;
  int order;       /* place in the order of next, -1: not known */
  bool was_there;  /* external: the table had the key before the call */
  bool is_written; /* external: by the traced code */
};
/* A key comes in, or goes; in the order of the program. The values are those of the entries at the end. */
struct tc_table_step {
  int entry;
  bool present;
};

struct tc_traced_table {
  struct tc_origin origin;
  bool metatable_known;
  struct tc_traced_table *metatable;
  TC_VEC(struct tc_table_entry)
  entries; /* in the order of insertion; of an external table: what was read or written */
  TC_VEC(struct tc_table_step) steps; /* of a fresh table; of an external one: what the traced code writes */
  struct tc_hash_index index;         /* over the entries, where they are many */
  lua_Integer border;        /* keys 1 … border are there, border + 1 is not; external: when border_known */
  lua_Integer n_positive;    /* positive integer keys; likewise */
  bool border_known;         /* external: writes are in `border` */
  bool had_holes;            /* external, border_known: before the call */
  bool is_resized;           /* external: a write changed which positive integer keys there are */
  lua_Integer old_length;    /* external, border_known: before the call */
  bool length_used;          /* external */
  int array_hint, hash_hint; /* sizes at its construction */
  bool order_known;          /* `order` holds */
  bool grew;                 /* external: a key came in that was not there before the call */
  TC_VEC(int) order;         /* entries in the order of next */
  bool is_written, metatable_written; /* external: by the traced code */
  int n_lazy_keys;                    /* external: entries whose key is a lazy number (table_keys.c) */
  int number;                         /* among the objects of the replay, from 1; 0: not there yet */
};

/* A variable that closures share: a register of a running function, a value of its own, or an upvalue from
 * outside. */
struct tc_cell {
  enum { TC_CELL_OPEN, TC_CELL_CLOSED, TC_CELL_EXTERNAL } state;
  size_t slot;              /* OPEN: of the register stack */
  struct tc_tracked value;  /* CLOSED; EXTERNAL once it is read or written */
  bool is_read, is_written; /* EXTERNAL */
  int number;               /* EXTERNAL: upvalue, from 1 */
  const void *variable;     /* EXTERNAL: lua_upvalueid */
  struct tc_traced_closure *owner;
  struct tc_cell *next; /* OPEN: list of the activation, from the highest slot */
  int holder, place; /* the new closure of the replay (its number), and its upvalue, that holds the variable
                        first; 0: none yet */
};

struct tc_traced_closure {
  struct tc_origin origin;
  struct tc_proto *proto; /* NULL: from outside, and not yet entered */
  struct tc_cell **cells;
  int number; /* fresh: among the objects of the replay, from 1; 0: not there yet */
};

/* A library function: arguments lie at slots at + 1 …, results are left at `at` … . */
typedef tc_status (*tc_library_fn)(struct tc_trace *t, size_t at, int n_args, int *n_results);

struct tc_traced_native {
  struct tc_origin origin;
  const struct tc_function *function; /* a tensor function */
  tc_library_fn library;              /* or a known function */
  const char *name;                   /* of a known function or method */
  int iterator, factory; /* of one that gmatch made in the traced code: objects of the trace, the iterator and
                          what makes another */
  int n_steps;           /* how often it was called */
  int number;            /* likewise: among the objects of the replay, from 1; 0: not there yet */
};

#define TC_SCALAR(kind_, field, value_)                                                                      \
  ((struct tc_tracked){.kind = (kind_), .source = TC_NO_SOURCE, .field = (value_)})
static inline struct tc_tracked tc_nil(void) { return TC_SCALAR(TC_IS_NIL, integer, 0); }
static inline struct tc_tracked tc_bool(bool value) { return TC_SCALAR(TC_IS_BOOL, boolean, value); }
static inline struct tc_tracked tc_int(lua_Integer value) { return TC_SCALAR(TC_IS_INT, integer, value); }
static inline struct tc_tracked tc_num(lua_Number value) { return TC_SCALAR(TC_IS_NUM, number, value); }
static inline struct tc_tracked tc_string(struct tc_text *text) { return TC_SCALAR(TC_IS_TEXT, text, text); }
static inline struct tc_tracked tc_tracked_tensor(struct tc_traced_tensor *tensor) {
  return TC_SCALAR(TC_IS_TENSOR, tensor, tensor);
}
static inline struct tc_tracked tc_tracked_table(struct tc_traced_table *table) {
  return TC_SCALAR(TC_IS_TABLE, table, table);
}
static inline struct tc_tracked tc_tracked_closure(struct tc_traced_closure *closure) {
  return TC_SCALAR(TC_IS_CLOSURE, closure, closure);
}
static inline struct tc_tracked tc_tracked_native(struct tc_traced_native *native) {
  return TC_SCALAR(TC_IS_NATIVE, native, native);
}

static inline bool tc_is_scalar(const struct tc_tracked *v) { return v->kind <= TC_IS_TEXT; }
static inline bool tc_is_number(const struct tc_tracked *v) {
  return v->kind == TC_IS_INT || v->kind == TC_IS_NUM;
}
static inline bool tc_is_external(const struct tc_tracked *v) {
  return !tc_is_scalar(v) && v->origin->object;
}
/* --- values.c --- */
/* LUA_T… of the value. */
int tc_tracked_type(const struct tc_tracked *v);
tc_status tc_text_of(struct tc_trace *t, const char *bytes, size_t length, struct tc_tracked *out);
/* Pushes a scalar, or the object of an external record. False for fresh records: nothing is pushed. */
bool tc_push(struct tc_trace *t, const struct tc_tracked *v);
/* The scalar at the stack top, popped; false (and left there) when it is none. */
tc_status tc_pop_scalar(struct tc_trace *t, bool *is_scalar, struct tc_tracked *out);
/* Guards what is asked of the value: its all, its type, or its truth. */
tc_status tc_use(struct tc_trace *t, struct tc_tracked *v);
void tc_use_type(struct tc_trace *t, const struct tc_tracked *v);
tc_status tc_truth(struct tc_trace *t, struct tc_tracked *v, bool *truth);
/* Raw equality; guards both. */
tc_status tc_raw_equal(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, bool *equal);

/* A guard that the two, which are not the same, stay so; one a pair. Both are from outside. */
tc_status tc_guard_distinct(struct tc_trace *t, const struct tc_origin *a, const struct tc_origin *b);

#endif
