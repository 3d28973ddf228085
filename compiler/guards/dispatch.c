/* Choice among several programs of one function.
 *
 * Invariants:
 *  1. A *probe* is a source about which programs demand different values (an argument's shape, a scalar), or
 *     the number of arguments. A program that demands a value of each probe has a key, the hash of those
 *     values; the others have none.
 *  2. A program with another key than the call's does not hold, but for the chance of a hash: so it is tried
 *     last, and what is found never depends on keys.
 *  3. Whatever is found has passed its whole check. */
#include <stdlib.h>

#include "base/hash.h"
#include "guards/program.h"

enum { MOST_PROBES = 3, NUMBER_OF_ARGS = -1, HASHED_TEXT = 64 /* bytes at the front of a string */ };

struct probe {
  int program, source;
};

struct tc_guard_dispatch {
  const struct tc_alloc *alloc;
  int count, n_probes, n_keyless;
  struct tc_guards **programs;
  uint64_t *keys;
  bool *has_key;
  int *keyless;
  struct tc_hash_index by_key;
  struct probe probes[MOST_PROBES];
};

/* --- values --- */

static uint64_t hash_tensor(tc_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides) {
  uint64_t hash = tc_hash_u64(LUA_TUSERDATA, (uint64_t)dtype << 8 | (uint64_t)ndim);
  for (int d = 0; d < ndim; d++)
    hash = tc_hash_u64(tc_hash_u64(hash, (uint64_t)sizes[d]), (uint64_t)strides[d]);
  return hash;
}
static uint64_t hash_text(const char *text, size_t length) {
  return tc_hash_bytes(length, text, length < HASHED_TEXT ? length : HASHED_TEXT);
}
static uint64_t hash_scalar(int type, bool is_integer, int64_t bits) {
  return tc_hash_u64(tc_hash_u64((uint64_t)type, is_integer), (uint64_t)bits);
}
static uint64_t hash_object(int type, const void *pointer) {
  return tc_hash_u64((uint64_t)type, (uint64_t)(uintptr_t)pointer);
}

/* What a value hashes to for which the fact holds; false: many values may. */
static bool hash_demand(const struct tc_guards *g, const struct tc_fact *fact, uint64_t *hash) {
  const struct tc_fact_tensor *t = fact->tensor;
  switch (fact->kind) {
    case TC_GUARD_ABSENT: return *hash = hash_scalar(LUA_TNIL, false, 0), true;
    case TC_GUARD_EQUAL:
      *hash = fact->type == LUA_TSTRING ? hash_text(fact->pointer, fact->length)
                                        : hash_scalar(fact->type, fact->is_integer, fact->integer);
      return true;
    case TC_GUARD_IDENTITY:
      return *hash = hash_object(fact->type, fact->pointer), !g->host->tensor_at(g->thread, fact->other);
    case TC_GUARD_TENSOR:
      if (t->dims) return false;
      return *hash = hash_tensor(t->dtype, t->ndim, t->sizes, t->strides), true;
    case TC_GUARD_ARGS: return *hash = (uint64_t)fact->integer, true;
    default: return false;
  }
}

static uint64_t hash_value(const struct tc_guards *g, lua_State *L, int at) {
  size_t length;
  const char *text;
  const int type = lua_type(L, at);
  switch (type) {
    case LUA_TNIL: return hash_scalar(LUA_TNIL, false, 0);
    case LUA_TBOOLEAN: return hash_scalar(LUA_TBOOLEAN, false, lua_toboolean(L, at));
    case LUA_TNUMBER: {
      const lua_Number number = lua_tonumber(L, at);
      int64_t bits;
      if (lua_isinteger(L, at)) return hash_scalar(LUA_TNUMBER, true, lua_tointeger(L, at));
      memcpy(&bits, &number, sizeof bits);
      return hash_scalar(LUA_TNUMBER, false, bits);
    }
    case LUA_TSTRING: text = lua_tolstring(L, at, &length); return hash_text(text, length);
    case LUA_TUSERDATA: {
      const struct tc_tensor *t = g->host->tensor_at(L, at);
      if (t) return hash_tensor(t->dtype, t->ndim, t->sizes, t->strides);
      break;
    }
    default: break;
  }
  return hash_object(type, lua_topointer(L, at));
}

static uint64_t hash_present(const struct tc_guards *g, const struct tc_frame *frame, int source) {
  if (source == NUMBER_OF_ARGS) return (uint64_t)frame->n_args;
  const struct tc_source *s = &g->sources.data[source];
  if (s->kind == TC_SOURCE_ARG && s->number < frame->n_args)
    return hash_value(g, frame->L, frame->first_arg + s->number);
  tc_guards_evaluate(g, frame, source);
  const uint64_t hash = hash_value(g, g->thread, lua_gettop(g->thread));
  lua_settop(g->thread, g->n_anchors);
  return hash;
}

/* --- choosing the probes --- */

/* A program demands a value of a source; the source is known by its hash, which programs share. */
struct demand {
  uint64_t source_hash, value;
  int program, source, depth;
};
typedef TC_VEC(struct demand) demand_list;

static int by_source(const void *left, const void *right) {
  const struct demand *a = left, *b = right;
  if (a->source_hash != b->source_hash) return a->source_hash < b->source_hash ? -1 : 1;
  return a->program < b->program ? -1 : a->program > b->program;
}
static int by_value(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

static bool collect(const struct tc_guard_dispatch *d, demand_list *all) {
  for (int p = 0; p < d->count; p++) {
    const struct tc_guards *g = d->programs[p];
    for (size_t i = 0; i < g->facts.len; i++) {
      const struct tc_fact *fact = &g->facts.data[i];
      const struct tc_source *s = fact->source >= 0 ? &g->sources.data[fact->source] : NULL;
      struct demand demand = {.source_hash = s ? s->identity : 0,
                              .program = p,
                              .source = s ? fact->source : NUMBER_OF_ARGS,
                              .depth = s ? s->depth : 0};
      if (!hash_demand(g, fact, &demand.value)) continue;
      if (!tc_vec_push(d->alloc, all, demand)) return false;
    }
  }
  if (all->len) qsort(all->data, all->len, sizeof *all->data, by_source);
  return true;
}

/* The keys that programs would have with one more probe, `group` (its demands, by program), into `keys`. */
static int extend_keys(const struct tc_guard_dispatch *d, const struct demand *group, size_t n,
                       uint64_t *keys, bool *has_key) {
  int n_keyed = 0;
  memset(has_key, 0, sizeof *has_key * (size_t)d->count);
  for (size_t i = 0; i < n; i++) {
    const int p = group[i].program;
    if (!d->has_key[p] || has_key[p]) continue;
    has_key[p] = true;
    keys[p] = tc_hash_u64(d->keys[p], group[i].value);
    n_keyed++;
  }
  return n_keyed;
}

/* How many checks it takes to find each program once. `room` is for the keys, sorted. */
static double cost_of(int count, const uint64_t *keys, const bool *has_key, uint64_t *room) {
  size_t n = 0;
  for (int p = 0; p < count; p++)
    if (has_key[p]) room[n++] = keys[p];
  if (n) qsort(room, n, sizeof *room, by_value);
  double cost = ((double)count - (double)n) * count;
  for (size_t i = 0, same; i < n; i += same) {
    for (same = 1; i + same < n && room[i + same] == room[i];) same++;
    cost += (double)same * (double)same;
  }
  return cost;
}

/* Adds the probe that helps most; false when none does. The last two are room. */
static bool add_probe(struct tc_guard_dispatch *d, const demand_list *all, uint64_t *keys, bool *has_key,
                      uint64_t *room) {
  double least = cost_of(d->count, d->keys, d->has_key, room);
  const struct demand *best = NULL;
  size_t best_count = 0;
  for (size_t i = 0, n; i < all->len; i += n) {
    const struct demand *group = &all->data[i];
    for (n = 1; i + n < all->len && group[n].source_hash == group->source_hash;) n++;
    if (n < 2 || !extend_keys(d, group, n, keys, has_key)) continue;
    const double cost = cost_of(d->count, keys, has_key, room);
    if (cost > least || (cost == least && (!best || group->depth >= best->depth))) continue;
    least = cost;
    best = group;
    best_count = n;
  }
  if (!best) return false;
  extend_keys(d, best, best_count, keys, has_key);
  memcpy(d->keys, keys, sizeof *keys * (size_t)d->count);
  memcpy(d->has_key, has_key, sizeof *has_key * (size_t)d->count);
  d->probes[d->n_probes++] = (struct probe){best->program, best->source};
  return true;
}

static bool choose_probes(struct tc_guard_dispatch *d) {
  demand_list all = {0};
  const size_t n = (size_t)d->count;
  uint64_t *keys = TC_NEW_ARRAY(d->alloc, uint64_t, n), *room = TC_NEW_ARRAY(d->alloc, uint64_t, n);
  bool *has_key = TC_NEW_ARRAY(d->alloc, bool, n);
  const bool good = keys && room && has_key && collect(d, &all);
  while (good && d->n_probes < MOST_PROBES && add_probe(d, &all, keys, has_key, room)) {}
  TC_FREE_ARRAY(d->alloc, keys, n);
  TC_FREE_ARRAY(d->alloc, room, n);
  TC_FREE_ARRAY(d->alloc, has_key, n);
  tc_vec_free(d->alloc, &all);
  return good;
}

/* --- the dispatch --- */

static bool fill(struct tc_guard_dispatch *d, struct tc_guards *const *programs) {
  const size_t n = (size_t)d->count;
  d->programs = TC_NEW_ARRAY(d->alloc, struct tc_guards *, n);
  d->keys = TC_NEW_ARRAY(d->alloc, uint64_t, n);
  d->has_key = TC_NEW_ARRAY(d->alloc, bool, n);
  d->keyless = TC_NEW_ARRAY(d->alloc, int, n);
  if (!d->programs || !d->keys || !d->has_key || !d->keyless) return false;
  memcpy(d->programs, programs, sizeof *programs * n);
  for (size_t p = 0; p < n; p++) d->has_key[p] = true; /* the empty key, until there are probes */
  if (!choose_probes(d)) return false;
  for (int p = 0; p < d->count; p++) {
    if (!d->has_key[p])
      d->keyless[d->n_keyless++] = p;
    else if (!tc_hash_index_add(d->alloc, &d->by_key, d->keys[p], p))
      return false;
  }
  return true;
}

tc_status tc_guards_dispatch_build(const struct tc_alloc *alloc, int count, struct tc_guards *const *programs,
                                   struct tc_guard_dispatch **out, struct tc_error *err) {
  struct tc_guard_dispatch *d = TC_NEW(alloc, struct tc_guard_dispatch);
  *out = NULL;
  if (d) *d = (struct tc_guard_dispatch){.alloc = alloc, .count = count};
  if (!d || (count && !fill(d, programs))) {
    tc_guards_dispatch_free(d);
    return tc_fail(err, TC_NOMEM, "guards", "out of memory for the choice among compiled entries");
  }
  *out = d;
  return TC_OK;
}

void tc_guards_dispatch_free(struct tc_guard_dispatch *d) {
  if (!d) return;
  const size_t n = (size_t)d->count;
  TC_FREE_ARRAY(d->alloc, d->programs, n);
  TC_FREE_ARRAY(d->alloc, d->keys, n);
  TC_FREE_ARRAY(d->alloc, d->has_key, n);
  TC_FREE_ARRAY(d->alloc, d->keyless, n);
  tc_hash_index_free(d->alloc, &d->by_key);
  TC_FREE(d->alloc, d);
}

/* Those with the key, of which the one that holds comes first the next time. */
static int find_by_key(struct tc_guard_dispatch *d, uint64_t key, const struct tc_frame *frame,
                       const struct tc_guard_values *values, int *tried) {
  struct tc_hash_entry *first = NULL;
  size_t at = tc_hash_index_first(&d->by_key, key);
  for (int p; (p = tc_hash_index_next(&d->by_key, key, &at)) >= 0;) {
    struct tc_hash_entry *entry = tc_hash_index_newest(&d->by_key, at);
    if (!first) first = entry;
    ++*tried;
    if (tc_guards_match(d->programs[p], frame, values)) continue;
    entry->number = first->number;
    first->number = p + 1;
    return p;
  }
  return -1;
}

static int find_keyless(struct tc_guard_dispatch *d, const struct tc_frame *frame,
                        const struct tc_guard_values *values, int *tried) {
  for (int i = 0; i < d->n_keyless; i++) {
    const int p = d->keyless[i];
    ++*tried;
    if (tc_guards_match(d->programs[p], frame, values)) continue;
    d->keyless[i] = d->keyless[0];
    return d->keyless[0] = p;
  }
  return -1;
}

static int find_elsewhere(struct tc_guard_dispatch *d, uint64_t key, const struct tc_frame *frame,
                          const struct tc_guard_values *values, int *tried) {
  for (int p = 0; p < d->count; p++) {
    if (!d->has_key[p] || d->keys[p] == key) continue;
    ++*tried;
    if (!tc_guards_match(d->programs[p], frame, values)) return p;
  }
  return -1;
}

int tc_guards_dispatch_find(struct tc_guard_dispatch *d, const struct tc_frame *frame,
                            const struct tc_guard_values *values, int *tried) {
  int checks = 0;
  uint64_t key = 0;
  for (int i = 0; i < d->n_probes; i++)
    key = tc_hash_u64(key, hash_present(d->programs[d->probes[i].program], frame, d->probes[i].source));
  int found = find_by_key(d, key, frame, values, &checks);
  if (found < 0) found = find_keyless(d, frame, values, &checks);
  if (found < 0) found = find_elsewhere(d, key, frame, values, &checks);
  if (tried) *tried = checks;
  return found;
}

void tc_guards_dispatch_text(const struct tc_guard_dispatch *d, struct tc_strbuf *out) {
  for (int i = 0; i < d->n_probes; i++) {
    if (i) tc_strbuf_puts(out, ", ");
    if (d->probes[i].source == NUMBER_OF_ARGS)
      tc_strbuf_puts(out, "number of arguments");
    else
      tc_guards_source_text(d->programs[d->probes[i].program], d->probes[i].source, out);
  }
}
