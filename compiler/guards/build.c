/* Building of guard programs: sources and facts, each kept once. The invariants stand in program.h. */
#include <lauxlib.h>

#include "base/hash.h"
#include "guards/program.h"

enum { SPARE_STACK = 8 }; /* what a check pushes beyond its sources */

tc_status tc_guards_new(const struct tc_alloc *alloc, const struct tc_host *host, lua_State *L, struct tc_guards **out, struct tc_error *err) {
  struct tc_guards *g = TC_NEW(alloc, struct tc_guards);
  if (!g) return tc_fail(err, TC_NOMEM, "guards", "out of memory for the guards");
  *g = (struct tc_guards){.alloc = alloc, .host = host, .reference = LUA_NOREF};
  *out = g; /* from here on the caller frees it, also when Lua raises */
  g->arena = tc_arena_new(alloc);
  if (!g->arena) return tc_fail(err, TC_NOMEM, "guards", "out of memory for the guards");
  g->thread = lua_newthread(L);
  g->reference = luaL_ref(L, LUA_REGISTRYINDEX);
  return TC_OK;
}

void tc_guards_free(struct tc_guards *g, lua_State *L) {
  if (!g) return;
  if (L) luaL_unref(L, LUA_REGISTRYINDEX, g->reference);
  tc_arena_free(g->arena);
  TC_FREE(g->alloc, g);
}

/* Keeps the value at `index` of L alive for the program. */
static int add_anchor(struct tc_guards *g, lua_State *L, int index) {
  if (!lua_checkstack(g->thread, SPARE_STACK) || !lua_checkstack(L, 1)) {
    g->failed = true;
    return 0;
  }
  lua_pushvalue(L, index);
  lua_xmove(L, g->thread, 1);
  return ++g->n_anchors;
}

static const char *keep_text(struct tc_guards *g, const char *text) {
  const char *kept = text ? tc_arena_text(g->arena, text) : NULL;
  if (text && !kept) g->failed = true;
  return kept;
}

static void add_step(struct tc_guards *g, bool is_fact, size_t item) {
  const struct tc_guard_step step = {is_fact, (int)item};
  if (!tc_vec_push(tc_arena_alloc(g->arena), &g->steps, step)) g->failed = true;
}

static uint64_t hash_source(const struct tc_source *source, uint64_t key_hash) {
  uint64_t hash = tc_hash_u64((uint64_t)source->kind, (uint64_t)(uint32_t)source->parent);
  if (source->kind != TC_SOURCE_FIELD && source->kind != TC_SOURCE_OBJECT) hash = tc_hash_u64(hash, (uint64_t)(uint32_t)source->number);
  return tc_hash_u64(tc_hash_u64(hash, (uint64_t)source->integer), key_hash);
}

/* Finds or adds. A key or an object lies at `index` of L (0: none) and becomes an anchor when the source is new. */
static int intern_source(struct tc_guards *g, const struct tc_source *wanted, lua_State *L, int index, uint64_t key_hash) {
  const uint64_t hash = hash_source(wanted, key_hash);
  size_t at = tc_slots_first(&g->source_index, hash);
  for (int i; (i = tc_slots_item(&g->source_index, at, hash, &at)) >= 0;) {
    const struct tc_source *s = &g->sources.data[i];
    if (s->kind != wanted->kind || s->parent != wanted->parent || s->integer != wanted->integer) continue;
    if (!index && s->number == wanted->number) return i;
    if (!index || !s->number) continue;
    lua_pushvalue(L, index);
    lua_xmove(L, g->thread, 1);
    const bool equal = lua_rawequal(g->thread, -1, s->number);
    lua_pop(g->thread, 1);
    if (equal) return i;
  }
  struct tc_source source = *wanted;
  if (index) source.number = add_anchor(g, L, index);
  source.slot = source.kind == TC_SOURCE_OBJECT ? 0 : ++g->n_slots;
  const int item = (int)g->sources.len;
  if (g->failed || !tc_vec_push(tc_arena_alloc(g->arena), &g->sources, source) ||
      !tc_slots_add(tc_arena_alloc(g->arena), &g->source_index, hash, item)) {
    g->failed = true;
    return TC_NO_SOURCE;
  }
  if (source.kind != TC_SOURCE_OBJECT) add_step(g, false, (size_t)item);
  return item;
}

int tc_guards_function(struct tc_guards *g) {
  return intern_source(g, &(struct tc_source){.kind = TC_SOURCE_FUNCTION, .parent = TC_NO_SOURCE}, NULL, 0, 0);
}

int tc_guards_arg(struct tc_guards *g, int number, const char *name) {
  const struct tc_source source = {.kind = TC_SOURCE_ARG, .parent = TC_NO_SOURCE, .number = number, .name = keep_text(g, name)};
  return intern_source(g, &source, NULL, 0, 0);
}

int tc_guards_upvalue(struct tc_guards *g, int parent, int number, const char *name) {
  if (parent < 0) return TC_NO_SOURCE;
  const struct tc_source source = {.kind = TC_SOURCE_UPVALUE, .parent = parent, .number = number, .name = keep_text(g, name)};
  return intern_source(g, &source, NULL, 0, 0);
}

static uint64_t hash_key(lua_State *L, int index) {
  size_t length;
  const char *bytes;
  switch (lua_type(L, index)) {
    case LUA_TSTRING: bytes = lua_tolstring(L, index, &length); return tc_hash_bytes(LUA_TSTRING, bytes, length);
    case LUA_TBOOLEAN: return tc_hash_u64(LUA_TBOOLEAN, (uint64_t)lua_toboolean(L, index));
    case LUA_TNUMBER: {
      const lua_Number number = lua_tonumber(L, index);
      return tc_hash_bytes(LUA_TNUMBER, &number, sizeof number);
    }
    default: return tc_hash_u64(LUA_TTABLE, (uint64_t)(uintptr_t)lua_topointer(L, index));
  }
}

int tc_guards_field(struct tc_guards *g, lua_State *L, int parent, int index) {
  if (parent < 0) return TC_NO_SOURCE;
  tc_guards_type(g, parent, LUA_TTABLE);
  struct tc_source source = {.kind = TC_SOURCE_FIELD, .parent = parent};
  if (lua_isinteger(L, index)) {
    source.integer = lua_tointeger(L, index);
    return intern_source(g, &source, NULL, 0, 0);
  }
  if (lua_type(L, index) == LUA_TSTRING) source.name = keep_text(g, lua_tostring(L, index));
  return intern_source(g, &source, L, index, hash_key(L, index));
}

int tc_guards_object(struct tc_guards *g, lua_State *L, int index, int origin) {
  const struct tc_source source = {.kind = TC_SOURCE_OBJECT, .parent = origin};
  return intern_source(g, &source, L, index, hash_key(L, index));
}

static void add_fact(struct tc_guards *g, const struct tc_fact *fact) {
  if (fact->source >= 0) g->sources.data[fact->source].facts |= 1u << fact->kind;
  const size_t item = g->facts.len;
  if (!tc_vec_push(tc_arena_alloc(g->arena), &g->facts, *fact)) g->failed = true;
  else add_step(g, true, item);
}

/* Is there nothing to add: no source, a pinned object, or a fact of this kind already? (A source has one value, so facts of
 * one kind about it are equal.) */
static bool is_known(struct tc_guards *g, int source, enum tc_guard_kind kind) {
  if (source < 0) return g->failed = true;
  return g->sources.data[source].facts >> kind & 1;
}

static bool is_pinned(const struct tc_guards *g, int source) {
  const struct tc_source *s = &g->sources.data[source];
  return s->kind == TC_SOURCE_OBJECT || s->kind == TC_SOURCE_FUNCTION;
}

void tc_guards_type(struct tc_guards *g, int source, int type) {
  if (is_known(g, source, TC_GUARD_TYPE) || is_pinned(g, source)) return;
  const uint32_t implying = 1u << TC_GUARD_EQUAL | 1u << TC_GUARD_IDENTITY | 1u << TC_GUARD_TENSOR | 1u << TC_GUARD_ABSENT;
  if (g->sources.data[source].facts & implying) return;
  add_fact(g, &(struct tc_fact){.kind = TC_GUARD_TYPE, .source = source, .type = type});
}

void tc_guards_equal(struct tc_guards *g, lua_State *L, int source, int index) {
  struct tc_fact fact = {.kind = TC_GUARD_EQUAL, .source = source, .type = lua_type(L, index)};
  if (fact.type == LUA_TNIL) fact.kind = TC_GUARD_ABSENT;
  if (is_known(g, source, fact.kind)) return;
  if (fact.type == LUA_TBOOLEAN) {
    fact.integer = lua_toboolean(L, index);
  } else if (fact.type == LUA_TSTRING) {
    fact.other = add_anchor(g, L, index);
  } else if (lua_isinteger(L, index)) {
    fact.is_integer = true;
    fact.integer = lua_tointeger(L, index);
  } else if (fact.type == LUA_TNUMBER) {
    const lua_Number number = lua_tonumber(L, index);
    memcpy(&fact.integer, &number, sizeof number);
  }
  add_fact(g, &fact);
}

void tc_guards_identity(struct tc_guards *g, lua_State *L, int source, int index) {
  if (is_known(g, source, TC_GUARD_IDENTITY) || is_pinned(g, source)) return;
  add_fact(g, &(struct tc_fact){.kind = TC_GUARD_IDENTITY, .source = source, .other = add_anchor(g, L, index)});
}

void tc_guards_metatable(struct tc_guards *g, lua_State *L, int source, int index) {
  if (is_known(g, source, TC_GUARD_METATABLE)) return;
  add_fact(g, &(struct tc_fact){.kind = TC_GUARD_METATABLE, .source = source, .other = index ? add_anchor(g, L, index) : 0});
}

void tc_guards_length(struct tc_guards *g, int source, int64_t length) {
  if (is_known(g, source, TC_GUARD_LENGTH)) return;
  tc_guards_type(g, source, LUA_TTABLE);
  add_fact(g, &(struct tc_fact){.kind = TC_GUARD_LENGTH, .source = source, .integer = length});
}

void tc_guards_keys(struct tc_guards *g, lua_State *L, int source, int index, int count) {
  if (is_known(g, source, TC_GUARD_KEYS)) return;
  tc_guards_type(g, source, LUA_TTABLE);
  const int first = g->n_anchors + 1;
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, index, i);
    add_anchor(g, L, -1);
    lua_pop(L, 1);
  }
  add_fact(g, &(struct tc_fact){.kind = TC_GUARD_KEYS, .source = source, .other = first, .integer = count});
}

/* Facts on pairs are not told apart by their source's bits: callers ask once a pair. */
static void add_pair(struct tc_guards *g, enum tc_guard_kind kind, int source, int other) {
  if (source < 0 || other < 0) g->failed = true;
  else if (source != other) add_fact(g, &(struct tc_fact){.kind = kind, .source = source, .other = other});
}

void tc_guards_same(struct tc_guards *g, int source, int other) { add_pair(g, TC_GUARD_SAME, source, other); }
void tc_guards_distinct(struct tc_guards *g, int source, int other) { add_pair(g, TC_GUARD_DISTINCT, source, other); }

void tc_guards_tensor(struct tc_guards *g, int source, const struct tc_tensor *tensor) {
  if (is_known(g, source, TC_GUARD_TENSOR)) return;
  struct tc_fact_tensor *expected = TC_NEW(tc_arena_alloc(g->arena), struct tc_fact_tensor);
  if (!expected) {
    g->failed = true;
    return;
  }
  *expected = (struct tc_fact_tensor){.dtype = tensor->dtype, .ndim = tensor->ndim, .input = -1, .device = tensor->storage->device};
  memcpy(expected->sizes, tensor->sizes, sizeof *tensor->sizes * (size_t)tensor->ndim);
  memcpy(expected->strides, tensor->strides, sizeof *tensor->strides * (size_t)tensor->ndim);
  g->sources.data[source].tensor = expected;
  add_fact(g, &(struct tc_fact){.kind = TC_GUARD_TENSOR, .source = source, .tensor = expected});
}

void tc_guards_input(struct tc_guards *g, int source) {
  struct tc_fact_tensor *tensor = source < 0 ? NULL : g->sources.data[source].tensor;
  if (tensor) tensor->input = g->n_inputs++;
  else g->failed = true;
}

void tc_guards_args(struct tc_guards *g, int count) {
  for (size_t i = 0; i < g->facts.len; i++)
    if (g->facts.data[i].kind == TC_GUARD_ARGS) return;
  add_fact(g, &(struct tc_fact){.kind = TC_GUARD_ARGS, .source = TC_NO_SOURCE, .integer = count});
}

void tc_guards_default_dtype(struct tc_guards *g, tc_dtype dtype) {
  add_fact(g, &(struct tc_fact){.kind = TC_GUARD_DEFAULT_DTYPE, .source = TC_NO_SOURCE, .integer = dtype});
}

/* Leaves out the reads that no fact rests on, and numbers the places of the others. */
static bool drop_unused_reads(struct tc_guards *g) {
  const size_t n_sources = g->sources.len;
  bool *needed = TC_NEW_ARRAY(tc_arena_alloc(g->arena), bool, n_sources + 1);
  if (!needed) return false;
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (fact->source >= 0) needed[fact->source] = true;
    if (fact->kind == TC_GUARD_SAME || fact->kind == TC_GUARD_DISTINCT) needed[fact->other] = true;
  }
  for (size_t i = n_sources; i-- > 0;) { /* children come after their parents */
    const struct tc_source *source = &g->sources.data[i];
    const bool has_parent = source->kind == TC_SOURCE_FIELD || source->kind == TC_SOURCE_UPVALUE;
    if (needed[i] && has_parent) needed[source->parent] = true;
  }
  size_t kept = 0;
  g->n_slots = 0;
  for (size_t i = 0; i < g->steps.len; i++) {
    const struct tc_guard_step step = g->steps.data[i];
    if (!step.is_fact && !needed[step.item]) continue;
    if (!step.is_fact) g->sources.data[step.item].slot = ++g->n_slots;
    g->steps.data[kept++] = step;
  }
  g->steps.len = kept;
  return true;
}

tc_status tc_guards_seal(struct tc_guards *g, struct tc_error *err) {
  if (g->failed || !drop_unused_reads(g) || !lua_checkstack(g->thread, g->n_slots + SPARE_STACK)) {
    return tc_fail(err, TC_NOMEM, "guards", "out of memory for the guards");
  }
  return TC_OK;
}

int tc_guards_count(const struct tc_guards *g) { return (int)g->facts.len; }
int tc_guards_inputs(const struct tc_guards *g) { return g->n_inputs; }
