/* Sources of guard programs, each kept once. The invariants stand in program.h.
 *
 * One is found by the hash of its last step and its parent, and keeps the hash of its whole path. Off
 * (opt.source_cache): the paths of all sources are walked and compared step by step, and a path is hashed
 * from its root. */
#include <lauxlib.h>
#include <limits.h>

#include "base/hash.h"
#include "guards/program.h"

tc_status tc_guards_new(const struct tc_alloc *alloc, const struct tc_host *host, lua_State *L,
                        struct tc_guards **out, struct tc_error *err) {
  struct tc_guards *g = TC_NEW(alloc, struct tc_guards);
  if (!g) return tc_fail(err, TC_NOMEM, "guards", "out of memory for the guards");
  *g = (struct tc_guards){.alloc = alloc, .host = host, .reference = LUA_NOREF};
  *out = g; /* from here on the caller frees it, also when Lua raises */
  g->arena = tc_arena_new(alloc);
  if (!g->arena) return tc_fail(err, TC_NOMEM, "guards", "out of memory for the guards");
  g->thread = lua_newthread(L);
  g->reference = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushnil(g->thread);
  g->n_anchors = TC_GUARDS_NIL;
  return TC_OK;
}

void tc_guards_free(struct tc_guards *g, lua_State *L) {
  if (!g) return;
  if (L) luaL_unref(L, LUA_REGISTRYINDEX, g->reference);
  tc_arena_free(g->arena); /* the symbols too */
  tc_vec_free(g->alloc, &g->sources);
  tc_vec_free(g->alloc, &g->facts);
  tc_hash_index_free(g->alloc, &g->source_index);
  TC_FREE(g->alloc, g);
}

int tc_guards_anchor(struct tc_guards *g, lua_State *L, int index) {
  if (!lua_checkstack(g->thread, TC_GUARDS_SPARE_STACK) || !lua_checkstack(L, 1)) {
    g->failed = true;
    return 0;
  }
  lua_pushvalue(L, index);
  lua_xmove(L, g->thread, 1);
  return ++g->n_anchors;
}

int tc_guards_anchor_shared(struct tc_guards *g, lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TSTRING) return tc_guards_anchor(g, L, index);
  const char *text = lua_tostring(L, index);
  const uint64_t hash = tc_hash_u64(LUA_TSTRING, (uint64_t)(uintptr_t)text);
  size_t at = tc_hash_index_first(&g->string_index, hash);
  for (int anchor; (anchor = tc_hash_index_next(&g->string_index, hash, &at)) >= 0;)
    if (lua_tostring(g->thread, anchor) == text) return anchor;
  const int anchor = tc_guards_anchor(g, L, index);
  if (anchor && !tc_hash_index_add(tc_arena_alloc(g->arena), &g->string_index, hash, anchor))
    g->failed = true;
  return anchor;
}

void tc_guards_configure(struct tc_guards *g, const struct tc_config *config) {
  g->tells_at_once = !config->opt_guard_strings;
  g->walks_paths = !config->opt_source_cache;
}

/* What tells a key or an object from others: with its address, or without. */
struct key_hash {
  uint64_t with_address, without;
};

static struct key_hash hash_key(lua_State *L, int index) {
  struct key_hash hash = {0, 0};
  size_t length;
  switch (lua_type(L, index)) {
    case LUA_TSTRING: {
      const char *bytes = lua_tolstring(L, index, &length);
      hash.without = tc_hash_bytes(LUA_TSTRING, bytes, length);
      break;
    }
    case LUA_TBOOLEAN: hash.without = tc_hash_u64(LUA_TBOOLEAN, (uint64_t)lua_toboolean(L, index)); break;
    case LUA_TNUMBER: {
      const lua_Number number = lua_tonumber(L, index);
      hash.without = tc_hash_bytes(LUA_TNUMBER, &number, sizeof number);
      break;
    }
    default:
      hash.without = tc_hash_u64(LUA_TTABLE, (uint64_t)lua_type(L, index));
      hash.with_address = tc_hash_u64(hash.without, (uint64_t)(uintptr_t)lua_topointer(L, index));
      return hash;
  }
  hash.with_address = hash.without;
  return hash;
}

static uint64_t hash_source(const struct tc_source *source, uint64_t parent, uint64_t right, uint64_t key) {
  uint64_t hash = tc_hash_u64((uint64_t)source->kind, parent);
  const bool is_anchor = source->kind == TC_SOURCE_FIELD || source->kind == TC_SOURCE_OBJECT ||
                         source->kind == TC_SOURCE_CONSTANT;
  if (!is_anchor) hash = tc_hash_u64(hash, (uint64_t)(uint32_t)source->number);
  return tc_hash_u64(tc_hash_u64(hash, right), key);
}

/* Is `number` the anchor of a key or an object? */
static bool has_anchor(const struct tc_source *s) {
  return s->kind == TC_SOURCE_OBJECT || s->kind == TC_SOURCE_CONSTANT ||
         (s->kind == TC_SOURCE_FIELD && s->number);
}

/* What a source was when it was made: facts about it may say more since. */
static bool was_integer(const struct tc_source *s) {
  return s->kind == TC_SOURCE_DIM || s->kind == TC_SOURCE_LENGTH ||
         (s->kind == TC_SOURCE_CONSTANT && s->is_integer);
}

static struct key_hash hash_steps(const struct tc_guards *g, const struct tc_source *source,
                                  struct key_hash key);

/* Hashes of a source's path, with addresses and without. */
static struct key_hash hashes_of(const struct tc_guards *g, int item) {
  const struct tc_source *s = &g->sources.data[item];
  if (!g->walks_paths) return (struct key_hash){s->identity, s->path};
  return hash_steps(g, s, has_anchor(s) ? hash_key(g->thread, s->number) : (struct key_hash){0, 0});
}

/* The hashes of a source whose last step has the key. */
static struct key_hash hash_steps(const struct tc_guards *g, const struct tc_source *source,
                                  struct key_hash key) {
  const bool is_binary = source->kind == TC_SOURCE_EXPR && source->integer >= 0;
  const uint64_t number =
      source->kind == TC_SOURCE_EXPR ? 0 : tc_hash_u64(was_integer(source), (uint64_t)source->integer);
  const struct key_hash parent = source->parent >= 0 ? hashes_of(g, source->parent) : (struct key_hash){0, 0};
  const struct key_hash right =
      is_binary ? hashes_of(g, (int)source->integer) : (struct key_hash){number, number};
  /* An object is what it is, wherever it was found. */
  const uint64_t above = source->kind != TC_SOURCE_OBJECT ? parent.with_address : 0;
  return (struct key_hash){hash_source(source, above, right.with_address, key.with_address),
                           hash_source(source, parent.without, right.without, key.without)};
}

/* Is the value at `index` of L the anchor? */
static bool is_anchor(const struct tc_guards *g, lua_State *L, int index, int anchor) {
  lua_pushvalue(L, index);
  lua_xmove(L, g->thread, 1);
  const bool equal = lua_rawequal(g->thread, -1, anchor);
  lua_pop(g->thread, 1);
  return equal;
}

/* Is it a source of the wanted last step, whose key lies at `index` of L (0: none)? */
static bool is_step(const struct tc_guards *g, const struct tc_source *s, const struct tc_source *wanted,
                    lua_State *L, int index) {
  if (s->kind != wanted->kind || (s->kind == TC_SOURCE_CONSTANT && s->is_integer != wanted->is_integer))
    return false;
  return index ? s->number && is_anchor(g, L, index, s->number) : s->number == wanted->number;
}

static int find_by_hash(const struct tc_guards *g, const struct tc_source *wanted, lua_State *L, int index,
                        uint64_t hash) {
  size_t at = tc_hash_index_first(&g->source_index, hash);
  for (int i; (i = tc_hash_index_next(&g->source_index, hash, &at)) >= 0;) {
    const struct tc_source *s = &g->sources.data[i];
    if (s->parent == wanted->parent && s->integer == wanted->integer && is_step(g, s, wanted, L, index))
      return i;
  }
  return TC_NO_SOURCE;
}

/* Step by step, up to the roots. */
static bool same_path(const struct tc_guards *g, int i, int k) {
  for (; i >= 0 && k >= 0; i = g->sources.data[i].parent, k = g->sources.data[k].parent) {
    const struct tc_source *a = &g->sources.data[i], *b = &g->sources.data[k];
    if (a->kind != b->kind || was_integer(a) != was_integer(b) || has_anchor(a) != has_anchor(b))
      return false;
    if (has_anchor(a) ? !lua_rawequal(g->thread, a->number, b->number) : a->number != b->number) return false;
    const bool expr = a->kind == TC_SOURCE_EXPR;
    if (expr ? !same_path(g, (int)a->integer, (int)b->integer) : a->integer != b->integer) return false;
  }
  return i < 0 && k < 0;
}

static int find_by_path(const struct tc_guards *g, const struct tc_source *wanted, lua_State *L, int index) {
  for (size_t i = 0; i < g->sources.len; i++) {
    const struct tc_source *s = &g->sources.data[i];
    const bool expr = wanted->kind == TC_SOURCE_EXPR;
    if (!is_step(g, s, wanted, L, index) || !same_path(g, s->parent, wanted->parent)) continue;
    if (expr ? same_path(g, (int)s->integer, (int)wanted->integer) : s->integer == wanted->integer)
      return (int)i;
  }
  return TC_NO_SOURCE;
}

/* Finds or adds. A key or an object lies at `index` of L (0: none) and becomes an anchor when the source is
 * new. */
static int intern_source(struct tc_guards *g, const struct tc_source *wanted, lua_State *L, int index) {
  const struct key_hash key = index ? hash_key(L, index) : (struct key_hash){0, 0};
  const uint64_t hash =
      hash_source(wanted, (uint64_t)(uint32_t)wanted->parent, (uint64_t)wanted->integer, key.with_address);
  const int known =
      g->walks_paths ? find_by_path(g, wanted, L, index) : find_by_hash(g, wanted, L, index, hash);
  if (known >= 0) return known;
  struct tc_source source = *wanted;
  if (!index && wanted->name) {
    /* that of a key is the anchor's own text */
    source.name = tc_arena_text(g->arena, wanted->name);
    if (!source.name) g->failed = true;
  }
  source.nodes = wanted->nodes ? wanted->nodes : 1;
  if (source.kind != TC_SOURCE_EXPR)
    source.depth = source.parent >= 0 ? g->sources.data[source.parent].depth + 1 : 0;
  const struct key_hash path = hash_steps(g, &source, key);
  source.path = path.without;
  source.identity = path.with_address;
  if (index) source.number = tc_guards_anchor_shared(g, L, index);
  const int item = (int)g->sources.len;
  if (g->failed || !tc_vec_push(g->alloc, &g->sources, source) ||
      !tc_hash_index_add(g->alloc, &g->source_index, hash, item)) {
    g->failed = true;
    return TC_NO_SOURCE;
  }
  return item;
}

int tc_guards_function(struct tc_guards *g) {
  return intern_source(g, &(struct tc_source){.kind = TC_SOURCE_FUNCTION, .parent = TC_NO_SOURCE}, NULL, 0);
}

int tc_guards_arg(struct tc_guards *g, int number, const char *name) {
  const struct tc_source source = {
      .kind = TC_SOURCE_ARG, .parent = TC_NO_SOURCE, .number = number, .name = name};
  return intern_source(g, &source, NULL, 0);
}

int tc_guards_upvalue(struct tc_guards *g, int parent, int number, const char *name) {
  if (parent < 0) return TC_NO_SOURCE;
  const struct tc_source source = {
      .kind = TC_SOURCE_UPVALUE, .parent = parent, .number = number, .name = name};
  return intern_source(g, &source, NULL, 0);
}

int tc_guards_field(struct tc_guards *g, lua_State *L, int parent, int index) {
  if (parent < 0) return TC_NO_SOURCE;
  tc_guards_type(g, parent, LUA_TTABLE);
  struct tc_source source = {.kind = TC_SOURCE_FIELD, .parent = parent};
  const lua_Integer integer = lua_isinteger(L, index) ? lua_tointeger(L, index) : INT64_MIN;
  if (integer >= INT_MIN && integer <= INT_MAX) { /* of an operation's width; others are anchors */
    source.integer = integer;
    return intern_source(g, &source, NULL, 0);
  }
  if (lua_type(L, index) == LUA_TSTRING) source.name = lua_tostring(L, index);
  return intern_source(g, &source, L, index);
}

int tc_guards_dim(struct tc_guards *g, int source, int dim) {
  if (source < 0) return TC_NO_SOURCE;
  return intern_source(
      g, &(struct tc_source){.kind = TC_SOURCE_DIM, .parent = source, .number = dim, .is_integer = true},
      NULL, 0);
}

int tc_guards_length_before(struct tc_guards *g, int source, int count) {
  if (source < 0) return TC_NO_SOURCE;
  tc_guards_type(g, source, LUA_TTABLE);
  return intern_source(
      g, &(struct tc_source){.kind = TC_SOURCE_LENGTH, .parent = source, .number = count, .is_integer = true},
      NULL, 0);
}

int tc_guards_length_of(struct tc_guards *g, int source) { return tc_guards_length_before(g, source, 0); }

int tc_guards_object(struct tc_guards *g, lua_State *L, int index, int origin) {
  return intern_source(g, &(struct tc_source){.kind = TC_SOURCE_OBJECT, .parent = origin}, L, index);
}

int tc_guards_constant(struct tc_guards *g, lua_State *L, int index) {
  struct tc_source source = {.kind = TC_SOURCE_CONSTANT, .parent = TC_NO_SOURCE};
  const lua_Number number = lua_tonumber(L, index);
  source.is_integer = lua_isinteger(L, index);
  if (source.is_integer)
    source.integer = lua_tointeger(L, index);
  else
    memcpy(&source.integer, &number,
           sizeof number); /* 1 and 1.0 are two constants, and so are 0.0 and -0.0 */
  return intern_source(g, &source, L, index);
}

/* --- expressions --- */

static bool keeps_integers(int op) {
  return op == LUA_OPADD || op == LUA_OPSUB || op == LUA_OPMUL || op == LUA_OPMOD || op == LUA_OPIDIV ||
         op == LUA_OPUNM;
}
static bool works_on_bits(int op) {
  return op == LUA_OPBAND || op == LUA_OPBOR || op == LUA_OPBXOR || op == LUA_OPSHL || op == LUA_OPSHR ||
         op == LUA_OPBNOT;
}

/* Does what is known make sure that the source is an integer? */
static bool is_surely_integer(const struct tc_guards *g, int source) {
  const struct tc_source *s = &g->sources.data[source];
  if (s->kind == TC_SOURCE_EXPR) {
    if (works_on_bits(s->number)) return true;
    return keeps_integers(s->number) && is_surely_integer(g, s->parent) &&
           (s->integer < 0 || is_surely_integer(g, (int)s->integer));
  }
  return s->is_integer;
}

/* May Lua refuse the operation, whatever the values of its operands? */
static bool may_lack_value(const struct tc_guards *g, int op, int left, int right) {
  if (works_on_bits(op)) return !is_surely_integer(g, left) || (right >= 0 && !is_surely_integer(g, right));
  if (op != LUA_OPIDIV && op != LUA_OPMOD) return false;
  const struct tc_source *divisor = &g->sources.data[right];
  return divisor->kind != TC_SOURCE_CONSTANT || (divisor->is_integer && divisor->integer == 0);
}

int tc_guards_expr(struct tc_guards *g, int op, int left, int right) {
  if (left < 0 || (right < 0 && !tc_guards_is_unary(op))) {
    g->failed = true;
    return TC_NO_SOURCE;
  }
  const struct tc_source *a = &g->sources.data[left], *b = right >= 0 ? &g->sources.data[right] : NULL;
  struct tc_source source = {.kind = TC_SOURCE_EXPR, .parent = left, .number = op, .integer = right};
  source.nodes = 1 + a->nodes + (b ? b->nodes : 0);
  source.depth = a->depth > (b ? b->depth : 0) ? a->depth
                 : b                           ? b->depth
                                               : a->depth; /* the longest path among its operands */
  source.dynamic = a->dynamic || (b && b->dynamic);
  if (source.nodes > TC_MAX_EXPR_NODES) return TC_NO_SOURCE;
  const int item = intern_source(g, &source, NULL, 0);
  if (item >= 0 && may_lack_value(g, op, left, right)) tc_guards_defined(g, item);
  return item;
}

void tc_guards_set_dynamic(struct tc_guards *g, int source) {
  if (source >= 0) g->sources.data[source].dynamic = true;
}
bool tc_guards_is_dynamic(const struct tc_guards *g, int source) {
  return source >= 0 && g->sources.data[source].dynamic;
}

bool tc_guards_is_arg(const struct tc_guards *g, int source) {
  return source >= 0 && g->sources.data[source].kind == TC_SOURCE_ARG;
}
uint64_t tc_guards_path(const struct tc_guards *g, int source) {
  return source >= 0 ? g->sources.data[source].path : 0;
}
