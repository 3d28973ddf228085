/* Scalars: texts, the way to and from Lua's stack, and what it means to use one.
 *
 * Invariant: a scalar with a source has no guard yet; tc_use guards it and takes the source away. */
#include <string.h>

#include "base/hash.h"
#include "capture/trace/lazy.h"
#include "capture/trace/trace.h"

int tc_tracked_type(const struct tc_tracked *v) {
  switch (v->kind) {
    case TC_IS_NIL: return LUA_TNIL;
    case TC_IS_BOOL: return LUA_TBOOLEAN;
    case TC_IS_INT:
    case TC_IS_NUM: return LUA_TNUMBER;
    case TC_IS_TEXT: return LUA_TSTRING;
    case TC_IS_TABLE: return LUA_TTABLE;
    case TC_IS_CLOSURE:
    case TC_IS_NATIVE: return LUA_TFUNCTION;
    default: return LUA_TUSERDATA; /* opaque ones of other types are asked of Lua by whoever needs it */
  }
}

tc_status tc_text_of(struct tc_trace *t, const char *bytes, size_t length, struct tc_tracked *out) {
  const uint64_t hash = tc_hash_bytes(0, bytes, length);
  size_t at = tc_hash_index_first(&t->by_text, hash);
  for (int i; (i = tc_hash_index_next(&t->by_text, hash, &at)) >= 0;) {
    struct tc_text *text = t->texts.data[i];
    if (text->length != length || memcmp(text->bytes, bytes, length)) continue;
    *out = tc_string(text);
    return TC_OK;
  }
  const struct tc_alloc *alloc = tc_arena_alloc(t->arena);
  struct tc_text *text = tc_arena_bytes(t->arena, sizeof *text);
  char *copy = tc_arena_bytes(t->arena, length + 1);
  if (!text || !copy) return tc_trace_nomem(t);
  memcpy(copy, bytes, length);
  copy[length] = '\0';
  *text = (struct tc_text){.length = length, .hash = hash, .bytes = copy};
  const int item = (int)t->texts.len;
  if (!tc_vec_push(alloc, &t->texts, text) || !tc_hash_index_add(alloc, &t->by_text, hash, item))
    return tc_trace_nomem(t);
  *out = tc_string(text);
  return TC_OK;
}

bool tc_push(struct tc_trace *t, const struct tc_tracked *v) {
  lua_State *L = t->L;
  switch (v->kind) {
    case TC_IS_NIL: lua_pushnil(L); return true;
    case TC_IS_BOOL: lua_pushboolean(L, v->boolean); return true;
    case TC_IS_INT: lua_pushinteger(L, v->integer); return true;
    case TC_IS_NUM: lua_pushnumber(L, v->number); return true;
    case TC_IS_TEXT: lua_pushlstring(L, v->text->bytes, v->text->length); return true;
    default:
      if (!v->origin->object) return false;
      lua_rawgeti(L, t->objects, v->origin->object);
      return true;
  }
}

tc_status tc_pop_scalar(struct tc_trace *t, bool *is_scalar, struct tc_tracked *out) {
  lua_State *L = t->L;
  tc_status status = TC_OK;
  *is_scalar = true;
  switch (lua_type(L, -1)) {
    case LUA_TNIL: *out = tc_nil(); break;
    case LUA_TBOOLEAN: *out = tc_bool(lua_toboolean(L, -1)); break;
    case LUA_TNUMBER:
      *out = lua_isinteger(L, -1) ? tc_int(lua_tointeger(L, -1)) : tc_num(lua_tonumber(L, -1));
      break;
    case LUA_TSTRING: {
      size_t length;
      const char *bytes = lua_tolstring(L, -1, &length);
      status = tc_text_of(t, bytes, length, out);
      break;
    }
    default: *is_scalar = false; return TC_OK;
  }
  lua_pop(L, 1);
  return status;
}

tc_status tc_use(struct tc_trace *t, struct tc_tracked *v) {
  if (!tc_is_scalar(v) || v->source == TC_NO_SOURCE) return TC_OK;
  tc_push(t, v);
  tc_guards_equal(t->guards, t->L, v->source, lua_gettop(t->L));
  lua_pop(t->L, 1);
  v->source = TC_NO_SOURCE;
  return TC_OK;
}

void tc_use_type(struct tc_trace *t, const struct tc_tracked *v) {
  const int source = tc_is_scalar(v) ? v->source : v->origin->source;
  if (source == TC_NO_SOURCE) return;
  tc_push(t, v);
  tc_guards_type(t->guards, source, lua_type(t->L, -1));
  lua_pop(t->L, 1);
}

tc_status tc_truth(struct tc_trace *t, struct tc_tracked *v, bool *truth) {
  *truth = v->kind != TC_IS_NIL && !(v->kind == TC_IS_BOOL && !v->boolean);
  if (v->kind <= TC_IS_BOOL) return tc_use(t, v);
  tc_use_type(t, v);
  return TC_OK;
}

tc_status tc_guard_distinct(struct tc_trace *t, const struct tc_origin *a, const struct tc_origin *b) {
  const int low = a->source < b->source ? a->source : b->source;
  const int high = a->source < b->source ? b->source : a->source;
  const uint64_t pair = tc_hash_u64((uint64_t)low, (uint64_t)high);
  size_t at = tc_hash_index_first(&t->by_pair, pair);
  for (int item; (item = tc_hash_index_next(&t->by_pair, pair, &at)) >= 0;)
    if (item == low) return TC_OK;
  tc_guards_distinct(t->guards, low, high);
  return tc_hash_index_add(tc_arena_alloc(t->arena), &t->by_pair, pair, low) ? TC_OK : tc_trace_nomem(t);
}

tc_status tc_raw_equal(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, bool *equal) {
  *equal = false;
  const bool same_type = tc_tracked_type(a) == tc_tracked_type(b);
  if (tc_is_scalar(a) && same_type) {
    if (tc_is_lazy(t, a) || tc_is_lazy(t, b)) {
      tc_push(t, a);
      tc_push(t, b);
      *equal = lua_rawequal(t->L, -1, -2);
      lua_pop(t->L, 2);
      return tc_lazy_compare(t, TC_GUARD_OP_EQ, a, b, *equal);
    }
    tc_status status = tc_use(t, a);
    if (!status) status = tc_use(t, b);
    if (status) return status;
    if (a->kind == TC_IS_TEXT) {
      *equal = a->text == b->text;
    } else if (a->kind == TC_IS_INT && b->kind == TC_IS_INT) {
      *equal = a->integer == b->integer;
    } else {
      tc_push(t, a);
      tc_push(t, b);
      *equal = lua_rawequal(t->L, -1, -2);
      lua_pop(t->L, 2);
    }
    return TC_OK;
  }
  if (!tc_is_scalar(a) && !tc_is_scalar(b) && same_type) {
    *equal = a->origin == b->origin; /* equal objects have one record, and importing guarded their sources */
    return !*equal && tc_is_external(a) && tc_is_external(b) ? tc_guard_distinct(t, a->origin, b->origin)
                                                             : TC_OK;
  }
  tc_use_type(t, a);
  tc_use_type(t, b);
  return TC_OK;
}
