/* Inside of the guards: what build.c makes, check.c runs, explain.c prints.
 *
 * Invariants:
 *  1. Objects and keys that the program needs (*anchors*) lie at the bottom of the stack of a Lua thread of its own, which
 *     the registry keeps alive; anchor k is stack index k. Outside of a call that thread holds nothing else.
 *  2. A check reads the sources above the anchors, each into the stack index that it was given when it was made.
 *  3. A step comes after the steps of what it needs: a source after its parent and the parent's TYPE fact, a fact after its
 *     source. So the first failure ends the check. */
#ifndef TC_GUARDS_PROGRAM_H
#define TC_GUARDS_PROGRAM_H

#include "base/arena.h"
#include "base/vec.h"
#include "guards/build.h"
#include "guards/slots.h"

enum tc_source_kind { TC_SOURCE_FUNCTION, TC_SOURCE_ARG, TC_SOURCE_UPVALUE, TC_SOURCE_FIELD, TC_SOURCE_OBJECT };

struct tc_source {
  enum tc_source_kind kind;
  int parent;       /* a source; OBJECT: where it was found */
  int number;       /* of an argument or upvalue; FIELD: anchor of the key, 0 when the key is `integer`; OBJECT: anchor */
  int slot;         /* its place above the anchors, from 1; OBJECT: 0 */
  uint32_t facts;   /* bit set of tc_guard_kind that the program has about it */
  lua_Integer integer;
  const char *name; /* of an argument or upvalue; FIELD: the key as text, NULL when it is no name */
  struct tc_fact_tensor *tensor; /* of its TENSOR fact */
};

struct tc_fact_tensor {
  tc_dtype dtype;
  int ndim;
  int input; /* graph input, -1: only looked at */
  const struct tc_device *device;
  int64_t sizes[TC_MAX_DIMS], strides[TC_MAX_DIMS];
};

/* TYPE: type. EQUAL: type, and integer (a boolean, an integer, the bits of a float; `is_integer` tells) or other = anchor.
 * IDENTITY, METATABLE: other = anchor (METATABLE 0: none). LENGTH, ARGS, DEFAULT_DTYPE: integer. KEYS: integer anchors from
 * other on. SAME, DISTINCT: other = source. TENSOR: tensor. */
struct tc_fact {
  enum tc_guard_kind kind;
  int source;
  int type;
  bool is_integer;
  int other;
  int64_t integer;
  const struct tc_fact_tensor *tensor;
};

struct tc_guard_step { bool is_fact; int item; };

struct tc_guards {
  const struct tc_alloc *alloc;
  struct tc_arena *arena;
  const struct tc_host *host;
  lua_State *thread;
  int reference;  /* of the thread in the registry */
  int n_anchors, n_slots, n_inputs;
  bool failed;    /* memory was out while building */
  TC_VEC(struct tc_source) sources;
  TC_VEC(struct tc_fact) facts;
  TC_VEC(struct tc_guard_step) steps;
  struct tc_slots source_index;
};

/* Stack index of a source's value in a running check. */
static inline int tc_guards_place(const struct tc_guards *g, const struct tc_source *source) {
  return source->kind == TC_SOURCE_OBJECT ? source->number : g->n_anchors + source->slot;
}
/* Pushes the value of one source on the guards' thread, reading from its roots; nil where a path leads nowhere. */
void tc_guards_evaluate(const struct tc_guards *g, const struct tc_frame *frame, int source);

#endif
