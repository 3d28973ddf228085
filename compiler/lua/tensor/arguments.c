/* Lua values become arguments of a tensor function.
 *
 * Invariants:
 *  1. Nothing raises. Lists lie in the call's own array, or in a block of their own where they are too long
 *     for it.
 *  2. Tensors and texts are borrowed from the Lua stack, which the caller leaves alone meanwhile. A text that
 *     lies in a table stays alive with the table.
 *  3. The last argument is a table of named arguments when it has a text key. Its sequence part is then an
 *     error.
 *  4. Of a function whose signature ends in "*" (creation functions: they take a case table) only the names
 *     that the signature has are read; the others may hold anything. */
#include <string.h>

#include "device/eager.h"
#include "lua/module.h"

struct reader {
  lua_State *L;
  struct tc_eager *e;
  const struct tc_function *f;
  struct tc_lua_arguments *out;
  struct tc_error *err;
};

enum { LIST_DEPTH = 4, STACK_SLOTS = 4 };

struct tc_lua_more_items {
  struct tc_lua_more_items *next;
  size_t bytes; /* of this block */
  struct tc_arg items[];
};

void tc_lua_free_items(const struct tc_alloc *alloc, struct tc_lua_more_items *more) {
  while (more) {
    struct tc_lua_more_items *const block = more;
    more = block->next;
    tc_free_bytes(alloc, block, block->bytes);
  }
}

/* Room for the items of a list; NULL when memory is out. */
static struct tc_arg *take_items(struct reader *r, int count) {
  struct tc_lua_arguments *out = r->out;
  if (count <= TC_LUA_ITEMS - out->n_items) {
    out->n_items += count;
    return &out->items[out->n_items - count];
  }
  const size_t bytes = sizeof *out->more + sizeof *out->more->items * (size_t)count;
  struct tc_lua_more_items *block = tc_new_bytes(r->e->ctx->alloc, bytes);
  if (!block) return NULL;
  block->next = out->more;
  block->bytes = bytes;
  out->more = block;
  return block->items;
}

static tc_status read_value(struct reader *r, int index, int depth, struct tc_arg *arg);

static tc_status read_list(struct reader *r, int index, int depth, struct tc_arg *arg) {
  const lua_Unsigned length = lua_rawlen(r->L, index);
  if (length > TC_MAX_LIST)
    return tc_fail(r->err, TC_LIMIT, "lua", "a list of %llu items; at most %d can be taken",
                   (unsigned long long)length, TC_MAX_LIST);
  if (depth >= LIST_DEPTH || !lua_checkstack(r->L, STACK_SLOTS))
    return tc_fail(r->err, TC_LIMIT, "lua", "lists are nested too deeply");
  const int count = (int)length;
  struct tc_arg *items = take_items(r, count);
  if (!items) return tc_fail(r->err, TC_NOMEM, "lua", "out of memory for a list of %d items", count);
  tc_status status = TC_OK;
  for (int i = 0; i < count && !status; i++) {
    lua_rawgeti(r->L, index, i + 1);
    status = read_value(r, lua_gettop(r->L), depth + 1, &items[i]);
    lua_pop(r->L, 1);
  }
  arg->kind = TC_ARG_LIST;
  arg->list.items = items;
  arg->list.count = count;
  return status;
}

static tc_status read_number(struct reader *r, int index, struct tc_arg *arg) {
  if (!lua_isinteger(r->L, index)) {
    arg->kind = TC_ARG_NUM;
    arg->number = lua_tonumber(r->L, index);
    return TC_OK;
  }
  *arg = tc_arg_integer(lua_tointeger(r->L, index));
  return TC_OK;
}

static tc_status read_tensor(struct reader *r, int index, struct tc_arg *arg) {
  const struct tc_tensor *tensor = tc_lua_tensor(r->L, index);
  if (!tensor) return tc_fail(r->err, TC_ARG, "lua", "a userdata that is no tensor");
  arg->kind = TC_ARG_VALUE;
  arg->value = tc_eager_wrap(r->e, tensor);
  return arg->value ? TC_OK : tc_fail(r->err, TC_LIMIT, "lua", "too many tensors in one call");
}

static tc_status read_value(struct reader *r, int index, int depth, struct tc_arg *arg) {
  switch (lua_type(r->L, index)) {
    case LUA_TUSERDATA: return read_tensor(r, index, arg);
    case LUA_TNUMBER: return read_number(r, index, arg);
    case LUA_TTABLE: return read_list(r, index, depth, arg);
    case LUA_TNIL: arg->kind = TC_ARG_NIL; return TC_OK;
    case LUA_TBOOLEAN:
      arg->kind = TC_ARG_BOOL;
      arg->boolean = lua_toboolean(r->L, index);
      return TC_OK;
    case LUA_TSTRING:
      arg->kind = TC_ARG_TEXT;
      arg->text = lua_tostring(r->L, index);
      return TC_OK;
    default:
      return tc_fail(r->err, TC_ARG, "lua", "a %s is no argument of a tensor function",
                     luaL_typename(r->L, index));
  }
}

/* Does the table at `index` have a text key? */
static bool has_names(lua_State *L, int index) {
  if (!lua_checkstack(L, STACK_SLOTS)) return false;
  bool found = false;
  lua_pushnil(L);
  while (!found && lua_next(L, index)) {
    found = lua_type(L, -2) == LUA_TSTRING;
    lua_pop(L, found ? 2 : 1);
  }
  return found;
}

static bool takes_any_name(const struct tc_function *f) {
  const size_t length = strlen(f->signature);
  return length > 0 && f->signature[length - 1] == '*';
}

static bool has_parameter(const struct tc_function *f, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = f->signature; (at = strstr(at, name)); at += length) {
    const bool starts = at == f->signature || at[-1] == ' ',
               ends = at[length] == '\0' || strchr(",= ", at[length]);
    if (starts && ends) return true;
  }
  return false;
}

/* The pair at the stack top. */
static tc_status read_named(struct reader *r) {
  if (lua_type(r->L, -2) != LUA_TSTRING) {
    return tc_fail(r->err, TC_ARG, "lua",
                   "a table mixes named arguments with others; pass a list and a table of names apart");
  }
  const char *name = lua_tostring(r->L, -2);
  if (!has_parameter(r->f, name) && takes_any_name(r->f)) return TC_OK;
  if (r->out->n_named == TC_MAX_ARGS)
    return tc_fail(r->err, TC_LIMIT, "lua", "more than %d named arguments", TC_MAX_ARGS);
  struct tc_named_arg *named = &r->out->named[r->out->n_named];
  named->name = name;
  const tc_status status = read_value(r, lua_gettop(r->L), 0, &named->arg);
  if (!status) r->out->n_named++;
  return status;
}

static tc_status read_names(struct reader *r, int index) {
  lua_pushnil(r->L);
  while (lua_next(r->L, index)) {
    const tc_status status = read_named(r);
    lua_pop(r->L, status ? 2 : 1);
    if (status) return status;
  }
  return TC_OK;
}

tc_status tc_lua_read_arguments(lua_State *L, int n, struct tc_eager *e, const struct tc_function *f,
                                struct tc_lua_arguments *out, struct tc_error *err) {
  struct reader r = {L, e, f, out, err};
  out->n_positional = out->n_named = out->n_items = 0;
  out->more = NULL;
  int n_positional = n;
  if (n > 0 && lua_type(L, n) == LUA_TTABLE && has_names(L, n)) {
    const tc_status status = read_names(&r, n);
    if (status) return status;
    n_positional--;
  }
  if (n_positional > TC_LUA_MAX_POSITIONAL) {
    return tc_fail(err, TC_LIMIT, "lua", "%d arguments; at most %d are supported (pass a list)", n_positional,
                   TC_LUA_MAX_POSITIONAL);
  }
  for (int i = 0; i < n_positional; i++) {
    const tc_status status = read_value(&r, i + 1, 0, &out->positional[i]);
    if (status) {
      tc_error_at(err, "argument %d", i + 1);
      return status;
    }
  }
  out->n_positional = n_positional;
  return TC_OK;
}
