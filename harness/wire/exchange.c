/* Worker side of the value stream. Invariants:
 * 1. What is sent depends on values alone: not on addresses, strides or the order of hash tables.
 * 2. Every stream ends, and with END, also when a value was too deep or stands inside of itself. */
#include "harness/wire/exchange.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "tcompile.h"
#include "tensor/host.h"

static void put(struct tb_sender *s, const void *data, size_t bytes) {
  s->digest = tc_hash_bytes(s->digest, data, bytes);
  for (const char *at = data; s->fd >= 0 && !s->failed && bytes;) {
    const ssize_t sent = write(s->fd, at, bytes);
    if (sent < 0) {
      s->failed = true;
      return;
    }
    at += sent;
    bytes -= (size_t)sent;
  }
}

static struct tb_item item_of(enum tb_item_kind kind, const char *path, int64_t count) {
  struct tb_item item = {.magic = TB_ITEM_MAGIC, .kind = kind, .count = count};
  snprintf(item.path, sizeof item.path, "%s", path);
  return item;
}

static void put_item(struct tb_sender *s, enum tb_item_kind kind, const char *path, int64_t count,
                     const void *data, size_t bytes) {
  if (s->tensors_alone && kind != TB_ITEM_END) return;
  const struct tb_item item = item_of(kind, path, count);
  put(s, &item, sizeof item);
  if (bytes) put(s, data, bytes);
}

/* Elements [first, first + n) of a tensor in row-major order, widened to 8 bytes. */
static void widen(const struct tc_host_view *view, int64_t first, int64_t n, bool contiguous, int64_t *out) {
  const struct tc_tensor *t = &view->tensor;
  const bool floating = tc_dtype_is_float(t->dtype);
  const void *data = contiguous ? view->data : NULL;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = first + i;
    if (!floating) {
      out[i] = tc_host_i64(view, at);
      continue;
    }
    double value;
    if (data && t->dtype == TC_F32)
      value = ((const float *)data)[at];
    else if (data && t->dtype == TC_F64)
      value = ((const double *)data)[at];
    else
      value = tc_host_f64(view, at);
    memcpy(&out[i], &value, sizeof value);
  }
}

/* Back from widen, in place: exact, as the values came from there. An element never comes to lie behind its
 * wide one. */
static void narrow(tc_dtype dtype, int64_t n, int64_t *elements) {
  const size_t bytes = (size_t)tc_dtype_bytes(dtype);
  char *out = (char *)elements;
  for (int64_t i = 0; i < n && bytes < sizeof *elements; i++) {
    double value;
    memcpy(&value, &elements[i], sizeof value);
    const float single = (float)value;
    const uint16_t half = tc_f32_to_bf16(single);
    const uint8_t boolean = dtype == TC_BOOL && elements[i] != 0;
    const void *from = dtype == TC_F32    ? (const void *)&single
                       : dtype == TC_BF16 ? (const void *)&half
                                          : (const void *)&boolean;
    memcpy(out + (size_t)i * bytes, from, bytes);
  }
}

static void send_tensor(const struct tc_tensor *t, const char *path, struct tb_sender *s) {
  const int64_t count = tc_tensor_numel(t);
  struct tb_item item = item_of(TB_ITEM_TENSOR, path, count);
  const bool contiguous = tc_tensor_is_contiguous(t);
  item.dtype = t->dtype;
  item.ndim = (uint32_t)t->ndim;
  memcpy(item.sizes, t->sizes, sizeof *t->sizes * (size_t)t->ndim);
  put(s, &item, sizeof item);
  struct tc_host_view view;
  if (tc_host_read(t, &view, NULL)) {
    s->failed = true;
    return;
  }
  const bool as_it_is = contiguous && (s->fd < 0 || s->own_elements); /* the digest alone needs no widening */
  if (as_it_is) put(s, view.data, (size_t)count * (size_t)tc_dtype_bytes(t->dtype));
  int64_t chunk[TB_CHUNK];
  for (int64_t first = 0; !as_it_is && first < count && !s->failed; first += TB_CHUNK) {
    const int64_t n = count - first < TB_CHUNK ? count - first : TB_CHUNK;
    widen(&view, first, n, contiguous, chunk);
    if (s->own_elements) narrow(t->dtype, n, chunk);
    put(s, chunk, (size_t)n * (s->own_elements ? (size_t)tc_dtype_bytes(t->dtype) : sizeof *chunk));
  }
  (void)tc_host_end(&view, NULL); /* nothing is written back */
}

static void send_number(lua_State *L, int index, const char *path, struct tb_sender *s) {
  if (lua_isinteger(L, index)) {
    const int64_t value = lua_tointeger(L, index);
    put_item(s, TB_ITEM_INTEGER, path, 1, &value, sizeof value);
  } else {
    const double value = lua_tonumber(L, index);
    put_item(s, TB_ITEM_NUMBER, path, 1, &value, sizeof value);
  }
}

static void send_at(lua_State *L, int index, const char *path, struct tb_sender *s, int depth);

/* Pushes the sorted list of a table's number and string keys: numbers first, each kind in its order. */
static void push_sorted_keys(lua_State *L, int table) {
  lua_newtable(L);
  const int keys = lua_gettop(L);
  lua_Integer count = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    const int type = lua_type(L, -2);
    if (type != LUA_TSTRING && type != LUA_TNUMBER) continue;
    lua_Integer at = ++count;
    for (; at > 1; at--) { /* insertion: results are small tables */
      const int other = lua_rawgeti(L, keys, at - 1);
      const bool in_order = other != type ? other == LUA_TNUMBER : !lua_compare(L, -3, -1, LUA_OPLT);
      if (in_order) {
        lua_pop(L, 1);
        break;
      }
      lua_rawseti(L, keys, at);
    }
    lua_pushvalue(L, -2);
    lua_rawseti(L, keys, at);
  }
}

static void send_table(lua_State *L, int table, const char *path, struct tb_sender *s, int depth) {
  luaL_checkstack(L, 8, "nested results");
  push_sorted_keys(L, table);
  const int keys = lua_gettop(L);
  const lua_Integer count = (lua_Integer)lua_rawlen(L, keys);
  put_item(s, TB_ITEM_TABLE, path, count, NULL, 0);
  for (lua_Integer i = 1; i <= count; i++) {
    char inner[TB_PATH_MAX];
    const bool named = lua_rawgeti(L, keys, i) == LUA_TSTRING;
    lua_pushvalue(L, -1); /* a copy: tolstring would change a number in place */
    snprintf(inner, sizeof inner, named ? "%s.%s" : "%s[%s]", path, lua_tostring(L, -1));
    lua_pop(L, 1);
    lua_rawget(L, table);
    send_at(L, lua_gettop(L), inner, s, depth + 1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* False for a table that is too deep, or inside of itself: a few cycles would make a stream without end. */
static bool enter_table(lua_State *L, int index, struct tb_sender *s, int depth) {
  const void *table = lua_topointer(L, index);
  for (int i = 0; i < depth; i++)
    if (s->tables[i] == table) return false;
  if (depth == TB_DEPTH_MAX) return false;
  s->tables[depth] = table;
  return true;
}

static void send_at(lua_State *L, int index, const char *path, struct tb_sender *s, int depth) {
  switch (lua_type(L, index)) {
    case LUA_TNIL: put_item(s, TB_ITEM_NIL, path, 0, NULL, 0); return;
    case LUA_TNUMBER: send_number(L, index, path, s); return;
    case LUA_TBOOLEAN: {
      const int64_t value = lua_toboolean(L, index);
      put_item(s, TB_ITEM_BOOLEAN, path, 1, &value, sizeof value);
      return;
    }
    case LUA_TSTRING: {
      size_t length;
      const char *text = lua_tolstring(L, index, &length);
      put_item(s, TB_ITEM_STRING, path, (int64_t)length, text, length);
      return;
    }
    case LUA_TTABLE:
      if (enter_table(L, index, s, depth))
        send_table(L, index, path, s, depth);
      else
        put_item(s, TB_ITEM_OTHER, path, 0, NULL, 0);
      return;
    default: {
      const struct tc_tensor *t = tc_lua_tensor(L, index);
      if (t)
        send_tensor(t, path, s);
      else
        put_item(s, TB_ITEM_OTHER, path, 0, NULL, 0);
    }
  }
}

void tb_send_value(lua_State *L, int index, const char *path, struct tb_sender *sender) {
  send_at(L, lua_absindex(L, index), path, sender, 0);
}

void tb_send_same(const char *path, struct tb_sender *sender) {
  put_item(sender, TB_ITEM_SAME, path, 0, NULL, 0);
}

void tb_send_end(struct tb_sender *sender) { put_item(sender, TB_ITEM_END, "", 0, NULL, 0); }

uint64_t tb_value_digest(lua_State *L, int index) {
  struct tb_sender sender = {.fd = -1};
  tb_send_value(L, index, "", &sender);
  return sender.digest;
}
