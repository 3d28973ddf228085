/* Facts of guard programs. Each is kept once, but for those that callers add once by themselves (pairs).
 * Their text is made when it is asked for. Off (opt.guard_strings): as each fact is added, and kept with
 * it. */
#include "base/hash.h"
#include "guards/program.h"

void tc_guards_add_fact(struct tc_guards *g, const struct tc_fact *fact) {
  if (fact->source >= 0) g->sources.data[fact->source].facts |= 1u << fact->kind;
  if (!tc_vec_push(g->alloc, &g->facts, *fact))
    g->failed = true;
  else if (g->tells_at_once)
    tc_guards_keep_text(g);
}

/* Is there nothing to add: no source, or a fact of this kind already? (A source has one value, so facts of
 * one kind about it are equal.) */
static bool is_known(struct tc_guards *g, int source, enum tc_guard_kind kind) {
  if (source < 0) return g->failed = true;
  return g->sources.data[source].facts >> kind & 1;
}

static bool is_pinned(const struct tc_guards *g, int source) {
  const struct tc_source *s = &g->sources.data[source];
  return s->kind == TC_SOURCE_OBJECT || s->kind == TC_SOURCE_FUNCTION || s->kind == TC_SOURCE_CONSTANT;
}

void tc_guards_type(struct tc_guards *g, int source, int type) {
  if (is_known(g, source, TC_GUARD_TYPE) || is_pinned(g, source)) return;
  /* Of a table, whose fields may be read on the strength of this fact, only its identity says as much. */
  uint32_t implying = 1u << TC_GUARD_IDENTITY;
  if (type != LUA_TTABLE)
    implying |= 1u << TC_GUARD_EQUAL | 1u << TC_GUARD_TENSOR | 1u << TC_GUARD_ABSENT | 1u << TC_GUARD_NUMBER |
                1u << TC_GUARD_CODE;
  if (g->sources.data[source].facts & implying) return;
  tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_TYPE, .source = source, .type = type});
}

void tc_guards_equal(struct tc_guards *g, lua_State *L, int source, int index) {
  struct tc_fact fact = {.kind = TC_GUARD_EQUAL, .source = source, .type = lua_type(L, index)};
  if (fact.type == LUA_TNIL) fact.kind = TC_GUARD_ABSENT;
  if (is_known(g, source, fact.kind)) return;
  if (fact.type == LUA_TBOOLEAN) {
    fact.integer = lua_toboolean(L, index);
  } else if (fact.type == LUA_TSTRING) {
    fact.other = tc_guards_anchor_shared(g, L, index);
    fact.pointer = lua_tolstring(L, index, &fact.length);
  } else if (lua_isinteger(L, index)) {
    fact.is_integer = g->sources.data[source].is_integer = true;
    fact.integer = lua_tointeger(L, index);
  } else if (fact.type == LUA_TNUMBER) {
    const lua_Number number = lua_tonumber(L, index);
    memcpy(&fact.integer, &number, sizeof number);
  }
  tc_guards_add_fact(g, &fact);
}

void tc_guards_identity(struct tc_guards *g, lua_State *L, int source, int index) {
  if (is_known(g, source, TC_GUARD_IDENTITY) || is_pinned(g, source)) return;
  tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_IDENTITY,
                                          .source = source,
                                          .type = lua_type(L, index),
                                          .other = tc_guards_anchor(g, L, index),
                                          .pointer = lua_topointer(L, index)});
}

void tc_guards_metatable(struct tc_guards *g, lua_State *L, int source, int index) {
  if (is_known(g, source, TC_GUARD_METATABLE)) return;
  struct tc_fact fact = {.kind = TC_GUARD_METATABLE, .source = source, .type = LUA_TTABLE};
  if (index) {
    fact.other = tc_guards_anchor(g, L, index);
    fact.pointer = lua_topointer(L, index);
  }
  tc_guards_add_fact(g, &fact);
}

void tc_guards_length(struct tc_guards *g, int source, int64_t length) {
  if (is_known(g, source, TC_GUARD_LENGTH)) return;
  tc_guards_type(g, source, LUA_TTABLE);
  tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_LENGTH, .source = source, .integer = length});
}

void tc_guards_sequence(struct tc_guards *g, int source) {
  if (is_known(g, source, TC_GUARD_SEQUENCE)) return;
  tc_guards_type(g, source, LUA_TTABLE);
  tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_SEQUENCE, .source = source});
}

void tc_guards_keys(struct tc_guards *g, lua_State *L, int source, int index, int count) {
  if (is_known(g, source, TC_GUARD_KEYS)) return;
  tc_guards_type(g, source, LUA_TTABLE);
  const int first = g->n_anchors + 1;
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, index, i);
    tc_guards_anchor(g, L, lua_gettop(L));
    lua_pop(L, 1);
  }
  tc_guards_add_fact(
      g, &(struct tc_fact){.kind = TC_GUARD_KEYS, .source = source, .other = first, .integer = count});
}

void tc_guards_number(struct tc_guards *g, int source, bool is_integer) {
  if (is_known(g, source, TC_GUARD_NUMBER) || g->sources.data[source].facts >> TC_GUARD_EQUAL & 1) return;
  if (g->sources.data[source].kind == TC_SOURCE_CONSTANT) return;
  g->sources.data[source].is_integer = is_integer;
  tc_guards_add_fact(
      g, &(struct tc_fact){
             .kind = TC_GUARD_NUMBER, .source = source, .type = LUA_TNUMBER, .is_integer = is_integer});
}

void tc_guards_defined(struct tc_guards *g, int source) {
  if (!is_known(g, source, TC_GUARD_DEFINED))
    tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_DEFINED, .source = source});
}

/* Facts on pairs are not told apart by their source's bits: callers ask once a pair. */
static void add_pair(struct tc_guards *g, enum tc_guard_kind kind, int source, int other) {
  if (source < 0 || other < 0)
    g->failed = true;
  else if (source != other)
    tc_guards_add_fact(g, &(struct tc_fact){.kind = kind, .source = source, .other = other});
}

void tc_guards_same(struct tc_guards *g, int source, int other) { add_pair(g, TC_GUARD_SAME, source, other); }
void tc_guards_distinct(struct tc_guards *g, int source, int other) {
  add_pair(g, TC_GUARD_DISTINCT, source, other);
}

/* --- tensors, sizes, scalars --- */

/* What a fact on a tensor holds; NULL: it is known, or memory is out. add_tensor adds the fact when the
 * dimensions are filled in. */
static struct tc_fact_tensor *new_tensor(struct tc_guards *g, int source, const struct tc_tensor *tensor) {
  if (is_known(g, source, TC_GUARD_TENSOR)) return NULL;
  struct tc_fact_tensor *expected = TC_NEW(tc_arena_alloc(g->arena), struct tc_fact_tensor);
  if (!expected) {
    g->failed = true;
    return NULL;
  }
  *expected = (struct tc_fact_tensor){
      .dtype = tensor->dtype, .ndim = tensor->ndim, .input = -1, .device = tensor->storage->device};
  memcpy(expected->sizes, tensor->sizes, sizeof *tensor->sizes * (size_t)tensor->ndim);
  memcpy(expected->strides, tensor->strides, sizeof *tensor->strides * (size_t)tensor->ndim);
  return expected;
}

static void add_tensor(struct tc_guards *g, int source, struct tc_fact_tensor *expected) {
  g->sources.data[source].tensor = expected;
  tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_TENSOR, .source = source, .tensor = expected});
}

void tc_guards_tensor(struct tc_guards *g, int source, const struct tc_tensor *tensor) {
  struct tc_fact_tensor *expected = new_tensor(g, source, tensor);
  if (expected) add_tensor(g, source, expected);
}

/* A symbol of another table, in the table of these guards. */
static tc_sym keep_symbol(struct tc_guards *g, tc_sym symbol) {
  if (!g->symbols) g->symbols = tc_symtab_new(tc_arena_alloc(g->arena));
  const tc_sym kept = g->symbols ? tc_sym_copy(g->symbols, symbol) : TC_SYM_INVALID;
  if (!tc_sym_valid(kept)) g->failed = true;
  return kept;
}

static void note_size(struct tc_guards *g, int id) {
  if (id >= TC_MAX_GUARD_SIZES)
    g->failed = true;
  else if (id >= g->n_sizes)
    g->n_sizes = id + 1;
}

void tc_guards_tensor_dynamic(struct tc_guards *g, int source, const struct tc_tensor *tensor,
                              const int *size_ids, const tc_sym *strides) {
  struct tc_fact_tensor *expected = new_tensor(g, source, tensor);
  struct tc_fact_dims *dims = expected ? TC_NEW(tc_arena_alloc(g->arena), struct tc_fact_dims) : NULL;
  if (!dims) {
    g->failed |= expected != NULL;
    return;
  }
  expected->dims = dims;
  for (int d = 0; d < tensor->ndim; d++) {
    dims->ids[d] = size_ids[d];
    if (size_ids[d] >= 0) note_size(g, size_ids[d]);
    dims->strides[d] = strides ? keep_symbol(g, strides[d]) : tc_sym_const(tensor->strides[d]);
    if (!tc_sym_is_const(dims->strides[d]))
      dims->late_strides = true;
    else
      expected->strides[d] = tc_sym_value(dims->strides[d]);
  }
  add_tensor(g, source, expected);
}

void tc_guards_input(struct tc_guards *g, int source) {
  struct tc_fact_tensor *tensor = source < 0 ? NULL : g->sources.data[source].tensor;
  if (tensor)
    tensor->input = g->n_inputs++;
  else
    g->failed = true;
}

/* Facts of one kind that may be several: of a source, or of none. */
static bool has_fact(const struct tc_guards *g, enum tc_guard_kind kind, int source, int other) {
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (fact->kind == kind && fact->source == source && fact->other == other) return true;
  }
  return false;
}

void tc_guards_size(struct tc_guards *g, int source, int id) {
  if (is_known(g, source, TC_GUARD_SIZE) && (source < 0 || has_fact(g, TC_GUARD_SIZE, source, id))) return;
  note_size(g, id);
  tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_SIZE, .source = source, .other = id});
}

void tc_guards_scalar(struct tc_guards *g, int source, int index) {
  if (is_known(g, source, TC_GUARD_SCALAR) && (source < 0 || has_fact(g, TC_GUARD_SCALAR, source, index)))
    return;
  tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_SCALAR, .source = source, .other = index});
}

void tc_guards_shape_fact(struct tc_guards *g, const struct tc_sym_fact *given) {
  const struct tc_sym_fact shape = {given->less, given->holds, keep_symbol(g, given->a),
                                    keep_symbol(g, given->b)};
  if (g->failed) return;
  const uint64_t hash = tc_hash_mix(tc_hash_mix(shape.less, shape.a.bits), shape.b.bits);
  size_t at = tc_hash_index_first(&g->shape_index, hash);
  for (int i; (i = tc_hash_index_next(&g->shape_index, hash, &at)) >= 0;) {
    const struct tc_sym_fact *known = &g->facts.data[i].shape;
    if (known->less == shape.less && tc_sym_same(known->a, shape.a) && tc_sym_same(known->b, shape.b)) return;
  }
  if (!tc_hash_index_add(tc_arena_alloc(g->arena), &g->shape_index, hash, (int)g->facts.len))
    g->failed = true;
  else
    tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_SHAPE, .source = TC_NO_SOURCE, .shape = shape});
}

/* --- facts without a source --- */

void tc_guards_args(struct tc_guards *g, int count) {
  if (!has_fact(g, TC_GUARD_ARGS, TC_NO_SOURCE, 0))
    tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_ARGS, .source = TC_NO_SOURCE, .integer = count});
}

void tc_guards_default_dtype(struct tc_guards *g, tc_dtype dtype) {
  if (has_fact(g, TC_GUARD_DEFAULT_DTYPE, TC_NO_SOURCE, 0)) return;
  tc_guards_add_fact(
      g, &(struct tc_fact){.kind = TC_GUARD_DEFAULT_DTYPE, .source = TC_NO_SOURCE, .integer = dtype});
}

int tc_guards_count(const struct tc_guards *g) { return (int)g->facts.len; }
int tc_guards_inputs(const struct tc_guards *g) { return g->n_inputs; }
