/* The present value of a single source, without a check: paths that lead nowhere and operands that are no
 * numbers give nil.
 *
 * Invariants: as in check.c; the stack that it needs was reserved by tc_guards_seal. */
#include <math.h>

#include "guards/program.h"

void tc_guards_push_root(const struct tc_frame *frame, const struct tc_source *s) {
  switch (s->kind) {
    case TC_SOURCE_FUNCTION: lua_pushvalue(frame->L, frame->function); return;
    case TC_SOURCE_ARG:
      if (s->number < frame->n_args)
        lua_pushvalue(frame->L, frame->first_arg + s->number);
      else
        lua_pushnil(frame->L);
      return;
    default: /* of the function */
      if (!lua_getupvalue(frame->L, frame->function, s->number)) lua_pushnil(frame->L);
  }
}

static bool works_on_bits(int op) {
  return op == LUA_OPBAND || op == LUA_OPBOR || op == LUA_OPBXOR || op == LUA_OPSHL || op == LUA_OPSHR ||
         op == LUA_OPBNOT;
}

static bool is_integral(lua_State *L, int at) {
  int is;
  lua_tointegerx(L, at, &is);
  return is;
}

/* Does Lua give a value, and no error, for these operands? */
static bool has_value(lua_State *L, int op, int n_operands) {
  for (int i = 1; i <= n_operands; i++)
    if (lua_type(L, -i) != LUA_TNUMBER || (works_on_bits(op) && !is_integral(L, -i))) return false;
  if (op != LUA_OPIDIV && op != LUA_OPMOD) return true;
  return !lua_isinteger(L, -1) || !lua_isinteger(L, -2) || lua_tointeger(L, -1) != 0;
}

/* As Lua's library has it. */
#define TC_GUARD_PI 3.141592653589793238462643383279502884

static lua_Number function_of(int op, lua_Number x, lua_Number y) {
  switch (op) {
#define TC_GUARD_FUNCTION(NAME, name, value)                                                                 \
  case TC_GUARD_OP_##NAME: return value;
#include "guards/functions.def"
#undef TC_GUARD_FUNCTION
    case TC_GUARD_OP_ATAN: return atan2(x, y);
    default:
      if (y == 2.0) return log2(x);
      return y == 10.0 ? log10(x) : log(x) / log(y);
  }
}

void tc_guards_compute(lua_State *L, int op) {
  const int n_operands = tc_guards_is_unary(op) ? 1 : 2;
  static const int comparisons[] = {LUA_OPEQ, LUA_OPLT, LUA_OPLE};
  if (!has_value(L, op, n_operands)) {
    lua_pop(L, n_operands);
    lua_pushnil(L);
  } else if (tc_guards_is_function(op)) {
    const lua_Number result = function_of(op, lua_tonumber(L, -n_operands), lua_tonumber(L, -1));
    lua_pop(L, n_operands);
    lua_pushnumber(L, result);
  } else if (op >= TC_GUARD_OP_EQ) {
    const int result = lua_compare(L, -2, -1, comparisons[op - TC_GUARD_OP_EQ]);
    lua_pop(L, 2);
    lua_pushboolean(L, result);
  } else {
    lua_arith(L, op); /* numbers: no metamethod */
  }
}

/* Replaces the parent at the stack top by the source's value. */
static void step(const struct tc_guards *g, const struct tc_source *s) {
  lua_State *G = g->thread;
  const int parent = lua_gettop(G);
  if (s->kind == TC_SOURCE_DIM) {
    const struct tc_tensor *tensor = g->host->tensor_at(G, parent);
    if (tensor && s->number < tensor->ndim)
      lua_pushinteger(G, tensor->sizes[s->number]);
    else
      lua_pushnil(G);
    lua_replace(G, parent);
    return;
  }
  const bool fits = lua_type(G, parent) == (s->kind == TC_SOURCE_UPVALUE ? LUA_TFUNCTION : LUA_TTABLE);
  if (!fits) {
    lua_pushnil(G);
  } else if (s->kind == TC_SOURCE_LENGTH) {
    tc_guards_push_length(G, parent, s->number);
  } else if (s->kind == TC_SOURCE_UPVALUE) {
    if (!lua_getupvalue(G, parent, s->number)) lua_pushnil(G);
  } else if (s->number) {
    lua_pushvalue(G, s->number);
    lua_rawget(G, parent);
  } else {
    lua_rawgeti(G, parent, s->integer);
  }
  lua_replace(G, parent);
}

static void push_path(const struct tc_guards *g, const struct tc_frame *frame, int item) {
  int length = 0;
  const struct tc_source *s = &g->sources.data[item];
  for (; tc_guards_is_inner(s); s = &g->sources.data[item = s->parent]) g->path[length++] = item;
  if (tc_guards_is_anchored(s)) {
    lua_pushvalue(g->thread, s->number);
  } else if (lua_checkstack(frame->L, 1)) {
    tc_guards_push_root(frame, s);
    lua_xmove(frame->L, g->thread, 1);
  } else {
    lua_pushnil(g->thread);
  }
  while (length) step(g, &g->sources.data[g->path[--length]]);
}

void tc_guards_evaluate(const struct tc_guards *g, const struct tc_frame *frame, int item) {
  const struct tc_source *s = &g->sources.data[item];
  if (s->kind != TC_SOURCE_EXPR) {
    push_path(g, frame, item);
    return;
  }
  tc_guards_evaluate(g, frame, s->parent); /* TC_MAX_EXPR_NODES bounds the depth */
  if (s->integer >= 0) tc_guards_evaluate(g, frame, (int)s->integer);
  tc_guards_compute(g->thread, s->number);
}

void tc_guards_push_source(const struct tc_guards *g, const struct tc_frame *frame, int source) {
  tc_guards_evaluate(g, frame, source);
  lua_xmove(g->thread, frame->L, 1);
}
