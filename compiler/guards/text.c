/* Values and sources as text. Addresses never appear: the text of one program is the same in every run. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "guards/program.h"

enum {
  LONGEST_TEXT = 60, /* bytes of a string that are shown */
  LONGEST_PATH = 32, /* steps of a path that are shown, the last ones */
  NUMBER_TEXT = 40,
};

bool tc_guards_is_name(const char *text) {
  if (!isalpha((unsigned char)*text) && *text != '_') return false;
  for (; *text; text++)
    if (!isalnum((unsigned char)*text) && *text != '_') return false;
  return true;
}

/* The shortest text that reads back as this number, as Lua writes floats. */
void tc_guards_float_text(double number, struct tc_strbuf *out) {
  static const int digits[] = {14, 15, 16, 17};
  char text[NUMBER_TEXT];
  for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
    snprintf(text, sizeof text, "%.*g", digits[i], number);
    if (isnan(number) || strtod(text, NULL) == number) break;
  }
  tc_strbuf_puts(out, text);
  if (isfinite(number) && !text[strcspn(text, ".eE")]) tc_strbuf_puts(out, ".0");
}

/* A Lua value at `at` of the guards' thread, without running its metamethods. */
void tc_guards_value_text(const struct tc_guards *g, int at, struct tc_strbuf *out) {
  lua_State *G = g->thread;
  switch (lua_type(G, at)) {
    case LUA_TNIL: tc_strbuf_puts(out, "nil"); break;
    case LUA_TBOOLEAN: tc_strbuf_puts(out, lua_toboolean(G, at) ? "true" : "false"); break;
    case LUA_TNUMBER:
      if (lua_isinteger(G, at))
        tc_strbuf_printf(out, "%lld", (long long)lua_tointeger(G, at));
      else
        tc_guards_float_text(lua_tonumber(G, at), out);
      break;
    case LUA_TSTRING: {
      size_t length;
      const char *text = lua_tolstring(G, at, &length);
      tc_strbuf_printf(out, length > LONGEST_TEXT ? "\"%.*s…\"" : "\"%.*s\"", LONGEST_TEXT, text);
      break;
    }
    case LUA_TUSERDATA: tc_strbuf_puts(out, g->host->tensor_at(G, at) ? "a tensor" : "a userdata"); break;
    default: tc_strbuf_printf(out, "a %s", lua_typename(G, lua_type(G, at)));
  }
}

static void print_source(const struct tc_guards *g, int item, int steps, struct tc_strbuf *out);

static void print_field(const struct tc_guards *g, const struct tc_source *source, int steps,
                        struct tc_strbuf *out) {
  const struct tc_source *parent = &g->sources.data[source->parent];
  const bool is_global = parent->kind == TC_SOURCE_UPVALUE && parent->name && !strcmp(parent->name, "_ENV");
  const bool named = source->name && tc_guards_is_name(source->name);
  if (is_global && named) {
    tc_strbuf_puts(out, source->name);
    return;
  }
  print_source(g, source->parent, steps, out);
  if (named) {
    tc_strbuf_printf(out, ".%s", source->name);
  } else if (!source->number) {
    tc_strbuf_printf(out, "[%lld]", (long long)source->integer);
  } else {
    tc_strbuf_puts(out, "[");
    tc_guards_value_text(g, source->number, out);
    tc_strbuf_puts(out, "]");
  }
}

static void print_object(const struct tc_guards *g, const struct tc_source *source, int steps,
                         struct tc_strbuf *out) {
  const bool is_metatable = source->parent >= 0 && lua_type(g->thread, source->number) == LUA_TTABLE &&
                            !(g->sources.data[source->parent].facts >> TC_GUARD_IDENTITY & 1);
  if (source->parent < 0) {
    tc_guards_value_text(g, source->number, out);
    return;
  }
  if (is_metatable) tc_strbuf_puts(out, "getmetatable(");
  print_source(g, source->parent, steps, out);
  if (is_metatable) tc_strbuf_puts(out, ")");
}

static const char *const operators[] = {
    [LUA_OPADD] = "+",       [LUA_OPSUB] = "-",  [LUA_OPMUL] = "*",       [LUA_OPMOD] = "%",
    [LUA_OPPOW] = "^",       [LUA_OPDIV] = "/",  [LUA_OPIDIV] = "//",     [LUA_OPBAND] = "&",
    [LUA_OPBOR] = "|",       [LUA_OPBXOR] = "~", [LUA_OPSHL] = "<<",      [LUA_OPSHR] = ">>",
    [LUA_OPUNM] = "-",       [LUA_OPBNOT] = "~", [TC_GUARD_OP_EQ] = "==", [TC_GUARD_OP_LT] = "<",
    [TC_GUARD_OP_LE] = "<=",
};

static void print_operand(const struct tc_guards *g, int item, int steps, struct tc_strbuf *out) {
  const bool brackets = g->sources.data[item].kind == TC_SOURCE_EXPR;
  if (brackets) tc_strbuf_puts(out, "(");
  print_source(g, item, steps, out);
  if (brackets) tc_strbuf_puts(out, ")");
}

static void print_function(const struct tc_guards *g, const struct tc_source *source, int steps,
                           struct tc_strbuf *out) {
  static const char *const names[] = {
#define TC_GUARD_FUNCTION(NAME, name, value) [TC_GUARD_OP_##NAME - TC_GUARD_OP_LE] = #name,
#include "guards/functions.def"
#undef TC_GUARD_FUNCTION
      [TC_GUARD_OP_ATAN - TC_GUARD_OP_LE] = "atan",
      [TC_GUARD_OP_LOG_OF - TC_GUARD_OP_LE] = "log",
  };
  tc_strbuf_printf(out, "math.%s(", names[source->number - TC_GUARD_OP_LE]);
  print_source(g, source->parent, steps, out);
  if (source->integer >= 0) {
    tc_strbuf_puts(out, ", ");
    print_source(g, (int)source->integer, steps, out);
  }
  tc_strbuf_puts(out, ")");
}

static void print_expr(const struct tc_guards *g, const struct tc_source *source, int steps,
                       struct tc_strbuf *out) {
  if (tc_guards_is_function(source->number)) {
    print_function(g, source, steps, out);
    return;
  }
  const char *op = operators[source->number];
  if (tc_guards_is_unary(source->number)) {
    tc_strbuf_puts(out, op);
    print_operand(g, source->parent, steps, out);
    return;
  }
  print_operand(g, source->parent, steps, out);
  tc_strbuf_printf(out, " %s ", op);
  print_operand(g, (int)source->integer, steps, out);
}

static void print_source(const struct tc_guards *g, int item, int steps, struct tc_strbuf *out) {
  const struct tc_source *source = &g->sources.data[item];
  if (source->kind != TC_SOURCE_EXPR && --steps < 0) {
    tc_strbuf_puts(out, "…");
    return;
  }
  switch (source->kind) {
    case TC_SOURCE_FUNCTION: tc_strbuf_puts(out, "the function"); break;
    case TC_SOURCE_ARG:
      if (source->name)
        tc_strbuf_puts(out, source->name);
      else
        tc_strbuf_printf(out, "argument %d", source->number + 1);
      break;
    case TC_SOURCE_UPVALUE:
      if (source->name && *source->name)
        tc_strbuf_puts(out, source->name);
      else
        tc_strbuf_printf(out, "upvalue %d", source->number);
      break;
    case TC_SOURCE_FIELD: print_field(g, source, steps, out); break;
    case TC_SOURCE_DIM:
      print_source(g, source->parent, steps, out);
      tc_strbuf_printf(out, ":size(%d)", source->number + 1);
      break;
    case TC_SOURCE_LENGTH:
      tc_strbuf_puts(out, "#");
      print_source(g, source->parent, steps, out);
      if (source->number) tc_strbuf_printf(out, " (with nothing behind the next %d)", source->number);
      break;
    case TC_SOURCE_OBJECT: print_object(g, source, steps, out); break;
    case TC_SOURCE_CONSTANT: tc_guards_value_text(g, source->number, out); break;
    case TC_SOURCE_EXPR: print_expr(g, source, steps, out); break;
  }
}

void tc_guards_source_text(const struct tc_guards *g, int item, struct tc_strbuf *out) {
  if (item >= 0) print_source(g, item, LONGEST_PATH, out);
}
