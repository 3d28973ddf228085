/* Running of guard programs.
 *
 * Invariants: raw accesses alone; nothing here allocates, raises, or enters Lua code; both stacks are left as
 * they were. The stack that a check needs on the guards' thread was reserved by tc_guards_seal. Tests push
 * nothing on the stack of the call, and leave that thread's stack as it was; what was read stays on it until
 * it is taken off. */
#include "guards/program.h"

/* The value that is tested. */
struct looked_at {
  lua_State *L; /* the guards' thread, or that of the call */
  int at, type;
};

static bool equal_bytes(lua_State *L, int at, const struct tc_fact *fact) {
  size_t length;
  const char *text = lua_tolstring(L, at, &length); /* a string: nothing is converted */
  return length == fact->length && !memcmp(text, fact->pointer, length);
}

static inline bool equal_text(const struct tc_guards *g, lua_State *L, int at, const struct tc_guard_op *op) {
  return lua_tolstring(L, at, NULL) == op->expected.pointer ||
         equal_bytes(L, at, &g->facts.data[op->fact - 1]);
}

static inline bool equal_integer(lua_State *L, int at, const struct tc_guard_op *op) {
  return lua_tointegerx(L, at, NULL) == op->expected.integer && lua_isinteger(L, at);
}

static inline bool equal_float(lua_State *L, int at, const struct tc_guard_op *op) {
  const lua_Number number = lua_tonumber(L, at);
  int64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits == op->expected.integer && (!op->type || !lua_isinteger(L, at));
}

static inline bool check_metatable(lua_State *L, int at, const void *expected) {
  if (!lua_getmetatable(L, at)) return !expected;
  const bool holds = lua_topointer(L, -1) == expected;
  lua_pop(L, 1);
  return holds;
}

lua_Integer tc_guards_count_indices(lua_State *L, int index, lua_Integer *last) {
  const int at = lua_absindex(L, index);
  lua_Integer count = 0;
  *last = 0;
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
    const lua_Integer key = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
    count += key > 0;
    if (key > *last) *last = key;
  }
  return count;
}

/* The length does not tell: with 1, 3 and 5 alone it may be 3, and there are three. */
bool tc_guards_is_sequence(lua_State *L, int index) {
  lua_Integer last;
  return tc_guards_count_indices(L, index, &last) == last;
}

static bool check_keys(struct looked_at v, const struct tc_guard_op *op) {
  if (v.type != LUA_TTABLE) return false;
  const int top = lua_gettop(v.L);
  bool holds = true;
  lua_pushnil(v.L);
  for (int64_t i = 0; i < op->expected.integer && holds; i++) {
    holds = lua_next(v.L, v.at) && lua_rawequal(v.L, -2, op->other + (int)i);
    if (holds) lua_pop(v.L, 1);
  }
  holds = holds && !lua_next(v.L, v.at);
  lua_settop(v.L, top);
  return holds;
}

/* host->tensor_at, without a call where the host tells how its tensors lie. */
static inline const struct tc_tensor *tensor_at(const struct tc_host *host, lua_State *L, int at) {
  if (!host->object_bytes) return host->tensor_at(L, at);
  const struct tc_host_object *object = lua_touserdata(L, at);
  return object && lua_rawlen(L, at) == host->object_bytes && object->tag == host->object_tag
             ? &object->tensor
             : NULL;
}

static inline const struct tc_tensor *tensor_like(const struct tc_guards *g, lua_State *L, int at,
                                                  const struct tc_fact_tensor *expected) {
  const struct tc_tensor *t = tensor_at(g->host, L, at);
  const bool alike = t && t->dtype == expected->dtype && t->ndim == expected->ndim && t->storage &&
                     t->storage->device == expected->device;
  return alike ? t : NULL;
}

static inline bool check_tensor(const struct tc_guards *g, lua_State *L, int at, const struct tc_guard_op *op,
                                const struct tc_tensor **inputs) {
  const struct tc_fact_tensor *expected = op->expected.tensor;
  const struct tc_tensor *t = tensor_like(g, L, at, expected);
  if (!t) return false;
  for (int d = expected->ndim; d-- > 0;)
    if (t->sizes[d] != expected->sizes[d] || t->strides[d] != expected->strides[d]) return false;
  if (op->other >= 0) inputs[op->other] = t;
  return true;
}

/* The first place where a size variable appears gives its value, the others must agree. */
static bool set_size(int64_t *sizes, int id, int64_t value) {
  if (sizes[id]) return sizes[id] == value;
  if (value < TC_SYM_SIZE_MIN || value > TC_SYM_SIZE_MAX) return false;
  sizes[id] = value;
  return true;
}

static bool check_sizes(const struct tc_guards *g, struct looked_at v, const struct tc_fact_tensor *expected,
                        const struct tc_guard_values *values) {
  const struct tc_tensor *t = tensor_like(g, v.L, v.at, expected);
  struct tc_fact_dims *dims = expected->dims;
  if (!t) return false;
  for (int d = 0; d < expected->ndim; d++) {
    if (dims->ids[d] < 0 ? t->sizes[d] != expected->sizes[d]
                         : !set_size(values->sizes, dims->ids[d], t->sizes[d]))
      return false;
    if (tc_sym_is_const(dims->strides[d]) && t->strides[d] != expected->strides[d]) return false;
  }
  dims->now = t;
  if (expected->input >= 0) values->inputs[expected->input] = t;
  return true;
}

static bool check_strides(const struct tc_fact_tensor *expected, const int64_t *sizes) {
  const struct tc_fact_dims *dims = expected->dims;
  for (int d = 0; d < expected->ndim; d++) {
    int64_t stride;
    if (tc_sym_is_const(dims->strides[d])) continue;
    if (!tc_sym_eval_checked(dims->strides[d], sizes, &stride) || stride != dims->now->strides[d])
      return false;
  }
  return true;
}

static bool read_scalar(struct looked_at v, union tc_guard_scalar *out) {
  if (v.type != LUA_TNUMBER) return false;
  if (!out) return true;
  if (lua_isinteger(v.L, v.at))
    out->integer = lua_tointeger(v.L, v.at);
  else
    out->number = lua_tonumber(v.L, v.at);
  return true;
}

static bool holds(const struct tc_guards *g, const struct tc_frame *frame, const struct tc_guard_op *op,
                  struct looked_at v, const struct tc_guard_values *values) {
  switch ((enum tc_guard_test)op->test) {
    case TC_TEST_NOTHING: return true;
    case TC_TEST_KEEP: return lua_copy(v.L, v.at, op->other), true;
    case TC_TEST_TYPE: return v.type == op->type;
    case TC_TEST_BOOLEAN: return v.type == LUA_TBOOLEAN && lua_toboolean(v.L, v.at) == op->expected.integer;
    case TC_TEST_INTEGER: return v.type == LUA_TNUMBER && equal_integer(v.L, v.at, op);
    case TC_TEST_FLOAT: return v.type == LUA_TNUMBER && equal_float(v.L, v.at, op);
    case TC_TEST_STRING: return v.type == LUA_TSTRING && equal_text(g, v.L, v.at, op);
    case TC_TEST_IDENTITY: return v.type == op->type && lua_topointer(v.L, v.at) == op->expected.pointer;
    case TC_TEST_METATABLE: return check_metatable(v.L, v.at, op->expected.pointer);
    case TC_TEST_LENGTH:
      return v.type == LUA_TTABLE && (int64_t)lua_rawlen(v.L, v.at) == op->expected.integer;
    case TC_TEST_SEQUENCE: return v.type == LUA_TTABLE && tc_guards_is_sequence(v.L, v.at);
    case TC_TEST_KEYS: return check_keys(v, op);
    case TC_TEST_TENSOR: return check_tensor(g, v.L, v.at, op, values->inputs);
    case TC_TEST_SIZES: return check_sizes(g, v, op->expected.tensor, values);
    case TC_TEST_STRIDES: return check_strides(op->expected.tensor, values->sizes);
    case TC_TEST_NUMBER: return v.type == LUA_TNUMBER && (lua_isinteger(v.L, v.at) != 0) == (op->type != 0);
    case TC_TEST_DEFINED: return v.type != LUA_TNIL;
    case TC_TEST_SIZE:
      return v.type == LUA_TNUMBER && lua_isinteger(v.L, v.at) &&
             set_size(values->sizes, op->other, lua_tointeger(v.L, v.at));
    case TC_TEST_SCALAR: return read_scalar(v, values->scalars ? &values->scalars[op->other] : NULL);
    case TC_TEST_SAME: return lua_rawequal(v.L, v.at, op->other);
    case TC_TEST_DISTINCT: return !lua_rawequal(v.L, v.at, op->other);
    case TC_TEST_SHAPE: return tc_sym_fact_true(&g->facts.data[op->fact - 1].shape, values->sizes);
    case TC_TEST_ARGS: return frame->n_args == op->expected.integer;
    case TC_TEST_CODE:
      return lua_topointer(v.L, v.at) == op->expected.pointer ||
             tc_guards_has_code(v.L, v.at, &g->facts.data[op->fact - 1]);
    case TC_TEST_ONE_VARIABLE: return tc_guards_is_one_variable(v.L, v.at, op->other, op->expected.integer);
    case TC_TEST_TWO_VARIABLES: return !tc_guards_is_one_variable(v.L, v.at, op->other, op->expected.integer);
    case TC_TEST_DEFAULT_DTYPE: return (int64_t)g->host->default_dtype(g->thread) == op->expected.integer;
  }
  return false;
}

static inline struct looked_at look_at_arg(const struct tc_guards *g, const struct tc_frame *frame,
                                           int number) {
  const int at = frame->first_arg + number;
  if (number >= frame->n_args) return (struct looked_at){g->thread, TC_GUARDS_NIL, LUA_TNIL};
  return (struct looked_at){frame->L, at, lua_type(frame->L, at)};
}

static inline int read_key(lua_State *G, const struct tc_guard_op *op) {
  lua_pushvalue(G, op->key);
  return lua_rawget(G, op->parent);
}

/* What an operation looks at; false: there is no stack. */
static bool read_value(const struct tc_guards *g, const struct tc_frame *frame, const struct tc_guard_op *op,
                       struct looked_at *v) {
  lua_State *const G = g->thread;
  switch ((enum tc_guard_read)op->read) {
    case TC_READ_NOTHING:
      if (!op->at) return true; /* on the stack of the call, and looked at before */
      break;
    case TC_READ_KEY: read_key(G, op); break;
    case TC_READ_INTEGER: lua_rawgeti(G, op->parent, op->key); break;
    case TC_READ_UPVALUE:
      if (!lua_getupvalue(G, op->parent, op->key)) lua_pushnil(G);
      break;
    case TC_READ_DIM: /* its TENSOR fact holds */
      lua_pushinteger(G, g->host->tensor_at(G, op->parent)->sizes[op->key]);
      *v = (struct looked_at){G, op->at, LUA_TNUMBER};
      return true;
    case TC_READ_LENGTH: /* a table */ tc_guards_push_length(G, op->parent, op->key); break;
    case TC_READ_ARG: *v = look_at_arg(g, frame, op->key); return true;
    case TC_READ_FUNCTION: *v = (struct looked_at){frame->L, frame->function, LUA_TFUNCTION}; return true;
    case TC_READ_EXPR:
      lua_pushvalue(G, op->parent);
      if (!tc_guards_is_unary(op->key)) lua_pushvalue(G, op->other);
      tc_guards_compute(G, op->key);
      lua_replace(G, op->at);
      break;
    case TC_READ_MOVE: {
      /* Brings the roots to the guards' thread, all together, and makes room for kept
                                  values. */
      if (!lua_checkstack(frame->L, g->n_roots)) return false;
      for (int i = 0; i < g->n_roots; i++) tc_guards_push_root(frame, &g->sources.data[g->roots[i]]);
      lua_xmove(frame->L, g->thread, g->n_roots);
      if (g->n_kept) lua_settop(g->thread, g->n_anchors + g->n_roots + g->n_kept);
      return true;
    }
    case TC_READ_POP: lua_settop(G, op->at); return true;
    default: break; /* PLACE: it is there */
  }
  *v = (struct looked_at){G, op->at, lua_type(G, op->at)};
  return true;
}

/* The fact, from 1, that fails; 0: none; -1: no stack. What the program has most of is done on the spot. */
static int run(const struct tc_guards *g, const struct tc_frame *frame,
               const struct tc_guard_values *values) {
  lua_State *const G = g->thread;
  struct looked_at v = {G, TC_GUARDS_NIL, LUA_TNIL};
  for (const struct tc_guard_op *op = g->ops;; op++) {
    bool good = true;
    switch ((enum tc_guard_code)op->code) {
      case TC_CODE_KEY_TYPE: good = read_key(G, op) == op->type; break;
      case TC_CODE_KEY_BOOLEAN:
        good = read_key(G, op) == LUA_TBOOLEAN && lua_toboolean(G, op->at) == op->expected.integer;
        break;
      case TC_CODE_KEY_INTEGER: good = read_key(G, op) == LUA_TNUMBER && equal_integer(G, op->at, op); break;
      case TC_CODE_KEY_FLOAT: good = read_key(G, op) == LUA_TNUMBER && equal_float(G, op->at, op); break;
      case TC_CODE_KEY_STRING: good = read_key(G, op) == LUA_TSTRING && equal_text(g, G, op->at, op); break;
      case TC_CODE_KEY_IDENTITY:
        good = read_key(G, op) == op->type && lua_topointer(G, op->at) == op->expected.pointer;
        break;
      case TC_CODE_KEY_TENSOR:
        good = read_key(G, op) == LUA_TUSERDATA && check_tensor(g, G, op->at, op, values->inputs);
        break;
      case TC_CODE_INTEGER_TYPE: good = lua_rawgeti(G, op->parent, op->key) == op->type; break;
      case TC_CODE_METATABLE: good = check_metatable(G, op->at, op->expected.pointer); break;
      case TC_CODE_POP: lua_settop(G, op->at); break;
      case TC_CODE_END: return 0;
      case TC_CODE_OTHER:
        if (!read_value(g, frame, op, &v)) return -1;
        good = holds(g, frame, op, v, values);
        break;
      default: __builtin_unreachable(); /* so that the jump needs no check of its range */
    }
    if (!good) return op->fact;
  }
}

int tc_guards_match(struct tc_guards *g, const struct tc_frame *frame, const struct tc_guard_values *given) {
  struct tc_guard_values values = *given;
  if (!values.sizes) values.sizes = g->sizes;
  for (int i = 0; i < g->n_sizes; i++) values.sizes[i] = 0;
  const int failed = run(g, frame, &values);
  lua_settop(g->thread, g->n_anchors);
  if (failed > 0) tc_guards_note_failure(g, failed - 1);
  return failed < 0 ? (int)g->facts.len + 1 : failed;
}
