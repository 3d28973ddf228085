/* Tensor functions: PyTorch's names and meaning, over the builder (so that one text serves eager
 * calls and capture). One row each in functions.def.
 *
 * Callers (the Lua module; capture) turn their values into tc_arg, bind them to the signature, and
 * run. Everything a caller passes counts dimensions and index values from 1 (negative dimensions
 * from the end); these functions translate. Threads: pure, apart from the builder. */
#ifndef TC_OPS_FUNCTION_H
#define TC_OPS_FUNCTION_H

#include "ops/builder.h"

enum tc_arg_kind {
  TC_ARG_NIL,
  TC_ARG_BOOL,
  TC_ARG_INT,
  TC_ARG_NUM,
  TC_ARG_TEXT,
  TC_ARG_VALUE,
  TC_ARG_LIST,
  TC_ARG_WIDE
};

struct tc_arg {
  enum tc_arg_kind kind;
  union {
    bool boolean;
    tc_sym integer;
    int64_t wide; /* an integer that no symbol holds */
    double number;
    const char *text;
    struct tc_value *value;
    struct {
      const struct tc_arg *items;
      int count;
    } list; /* a Lua sequence */
  };
};

/* The argument for an integer of any size. */
static inline struct tc_arg tc_arg_integer(int64_t value) {
  const tc_sym s = tc_sym_const(value);
  if (tc_sym_valid(s)) return (struct tc_arg){TC_ARG_INT, .integer = s};
  return (struct tc_arg){TC_ARG_WIDE, .wide = value};
}

/* An argument given by name ({dim=-1}); keys of a call's trailing option table. */
struct tc_named_arg {
  const char *name;
  struct tc_arg arg;
};

struct tc_results {
  int count;
  struct tc_value *values[TC_MAX_RESULTS];
};

struct tc_function {
  const char *name;      /* "softmax" */
  const char *signature; /* "x, dim, dtype=nil"; "..." takes the rest (x:view(2, 3) or x:view({2, 3})): see
                            functions.def */
  const char *help;      /* one line */
  bool is_method;        /* x:softmax(…) */
  bool is_function;      /* tb.softmax(…) */
  bool is_functional;    /* tb.nn.functional.softmax(…) */
  bool as_list;          /* results come as one Lua table (split, chunk, unbind) */
  tc_status (*run)(struct tc_builder *b, const struct tc_arg *args, int n_args, struct tc_results *results,
                   struct tc_error *err);
};

int tc_function_count(void);
const struct tc_function *tc_function_at(int index);
const struct tc_function *tc_function_find(const char *name);
/* The function behind a Lua operator, by the name of its metamethod ("__add", …, "__unm"); NULL. */
const struct tc_function *tc_function_for_event(const char *event);

enum { TC_MAX_ARGS = 16 };

/* Orders positional and named arguments by the signature, fills defaults (NIL), checks counts and
 * names. bound[] has room for TC_MAX_ARGS, and every parameter has its place there, whatever was passed;
 * a "..." parameter becomes one LIST over the rest of `positional` (which must live as long as bound). */
tc_status tc_function_bind(const struct tc_function *f, const struct tc_arg *positional, int n_positional,
                           const struct tc_named_arg *named, int n_named, struct tc_arg bound[TC_MAX_ARGS],
                           struct tc_error *err);

#endif
