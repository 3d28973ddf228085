/* Guards as text, and their hash. Addresses never appear: the text of one program is the same in every run. */
#include <ctype.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "guards/program.h"

enum { LONGEST_TEXT = 60, SPARE_STACK = 4 };

static bool is_name(const char *text) {
  if (!isalpha((unsigned char)*text) && *text != '_') return false;
  for (; *text; text++)
    if (!isalnum((unsigned char)*text) && *text != '_') return false;
  return true;
}

/* A Lua value at `at` of the guards' thread, without running its metamethods. */
static void print_value(lua_State *G, int at, struct tc_strbuf *out) {
  switch (lua_type(G, at)) {
    case LUA_TNIL: tc_strbuf_puts(out, "nil"); break;
    case LUA_TBOOLEAN: tc_strbuf_puts(out, lua_toboolean(G, at) ? "true" : "false"); break;
    case LUA_TNUMBER:
      if (lua_isinteger(G, at)) tc_strbuf_printf(out, "%lld", (long long)lua_tointeger(G, at));
      else tc_strbuf_printf(out, "%.17g", lua_tonumber(G, at));
      break;
    case LUA_TSTRING: {
      size_t length;
      const char *text = lua_tolstring(G, at, &length);
      tc_strbuf_printf(out, length > LONGEST_TEXT ? "\"%.*s…\"" : "\"%.*s\"", LONGEST_TEXT, text);
      break;
    }
    default: tc_strbuf_printf(out, "a %s", lua_typename(G, lua_type(G, at)));
  }
}

static void print_layout(const struct tc_fact_tensor *t, struct tc_strbuf *out) {
  tc_strbuf_printf(out, "%s[", tc_dtype_name(t->dtype));
  for (int d = 0; d < t->ndim; d++) tc_strbuf_printf(out, d ? ", %lld" : "%lld", (long long)t->sizes[d]);
  tc_strbuf_puts(out, "] strides [");
  for (int d = 0; d < t->ndim; d++) tc_strbuf_printf(out, d ? ", %lld" : "%lld", (long long)t->strides[d]);
  tc_strbuf_puts(out, "]");
}

static void print_field(const struct tc_guards *g, const struct tc_source *source, struct tc_strbuf *out) {
  const struct tc_source *parent = &g->sources.data[source->parent];
  const bool is_global = parent->kind == TC_SOURCE_UPVALUE && parent->name && !strcmp(parent->name, "_ENV");
  const bool named = source->name && is_name(source->name);
  if (is_global && named) {
    tc_strbuf_puts(out, source->name);
    return;
  }
  tc_guards_source_text(g, source->parent, out);
  if (named) {
    tc_strbuf_printf(out, ".%s", source->name);
  } else if (!source->number) {
    tc_strbuf_printf(out, "[%lld]", (long long)source->integer);
  } else {
    tc_strbuf_puts(out, "[");
    print_value(g->thread, source->number, out);
    tc_strbuf_puts(out, "]");
  }
}

void tc_guards_source_text(const struct tc_guards *g, int item, struct tc_strbuf *out) {
  if (item < 0) return;
  const struct tc_source *source = &g->sources.data[item];
  switch (source->kind) {
    case TC_SOURCE_FUNCTION: tc_strbuf_puts(out, "the function"); break;
    case TC_SOURCE_ARG:
      if (source->name) tc_strbuf_puts(out, source->name);
      else tc_strbuf_printf(out, "argument %d", source->number + 1);
      break;
    case TC_SOURCE_UPVALUE:
      if (source->name && *source->name) tc_strbuf_puts(out, source->name);
      else tc_strbuf_printf(out, "upvalue %d", source->number);
      break;
    case TC_SOURCE_FIELD: print_field(g, source, out); break;
    case TC_SOURCE_OBJECT:
      if (source->parent >= 0) {
        if (lua_type(g->thread, source->number) == LUA_TTABLE) {
          tc_strbuf_puts(out, "getmetatable(");
          tc_guards_source_text(g, source->parent, out);
          tc_strbuf_puts(out, ")");
        } else {
          tc_guards_source_text(g, source->parent, out);
        }
      } else {
        print_value(g->thread, source->number, out);
      }
      break;
  }
}

static void print_expected(const struct tc_guards *g, const struct tc_fact *fact, struct tc_strbuf *out) {
  lua_State *G = g->thread;
  switch (fact->kind) {
    case TC_GUARD_TYPE: tc_strbuf_puts(out, lua_typename(G, fact->type)); break;
    case TC_GUARD_EQUAL:
      if (fact->type == LUA_TBOOLEAN) {
        tc_strbuf_puts(out, fact->integer ? "true" : "false");
      } else if (fact->type == LUA_TSTRING) {
        print_value(G, fact->other, out);
      } else if (fact->is_integer) {
        tc_strbuf_printf(out, "%lld", (long long)fact->integer);
      } else {
        lua_Number number;
        memcpy(&number, &fact->integer, sizeof number);
        tc_strbuf_printf(out, "%.17g", number);
      }
      break;
    case TC_GUARD_IDENTITY: print_value(G, fact->other, out); break;
    case TC_GUARD_METATABLE: tc_strbuf_puts(out, fact->other ? "the same" : "nil"); break;
    case TC_GUARD_LENGTH:
    case TC_GUARD_ARGS: tc_strbuf_printf(out, "%lld", (long long)fact->integer); break;
    case TC_GUARD_KEYS:
      for (int64_t i = 0; i < fact->integer; i++) {
        if (i) tc_strbuf_puts(out, ", ");
        print_value(G, fact->other + (int)i, out);
      }
      if (!fact->integer) tc_strbuf_puts(out, "none");
      break;
    case TC_GUARD_TENSOR: print_layout(fact->tensor, out); break;
    case TC_GUARD_SAME:
    case TC_GUARD_DISTINCT: tc_guards_source_text(g, fact->other, out); break;
    case TC_GUARD_DEFAULT_DTYPE: tc_strbuf_puts(out, tc_dtype_name((tc_dtype)fact->integer)); break;
    default: break;
  }
}

static void print_fact(const struct tc_guards *g, const struct tc_fact *fact, struct tc_strbuf *out) {
  static const char *const formats[] = {
#define TC_GUARD(NAME, text) text,
#include "guards/guards.def"
#undef TC_GUARD
  };
  struct tc_strbuf source, expected;
  tc_strbuf_init(&source, g->alloc);
  tc_strbuf_init(&expected, g->alloc);
  tc_guards_source_text(g, fact->source, &source);
  print_expected(g, fact, &expected);
  const char *source_text = tc_strbuf_text(&source), *expected_text = tc_strbuf_text(&expected);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the formats are the rows of guards.def */
  if (source_text && expected_text) tc_strbuf_printf(out, formats[fact->kind], source_text, expected_text);
  else out->failed = true;
#pragma GCC diagnostic pop
  tc_strbuf_free(&source);
  tc_strbuf_free(&expected);
}

static void print_present(const struct tc_guards *g, const struct tc_frame *frame, const struct tc_fact *fact, struct tc_strbuf *out) {
  lua_State *G = g->thread;
  if (fact->kind == TC_GUARD_ARGS) tc_strbuf_printf(out, " (now: %d)", frame->n_args);
  if (fact->source < 0 || !lua_checkstack(G, SPARE_STACK)) return;
  tc_guards_evaluate(g, frame, fact->source);
  const int at = lua_gettop(G);
  const struct tc_tensor *tensor = g->host->tensor_at(G, at);
  tc_strbuf_puts(out, " (now: ");
  if (tensor) {
    struct tc_fact_tensor layout = {.dtype = tensor->dtype, .ndim = tensor->ndim};
    memcpy(layout.sizes, tensor->sizes, sizeof layout.sizes);
    memcpy(layout.strides, tensor->strides, sizeof layout.strides);
    print_layout(&layout, out);
  } else if (fact->kind == TC_GUARD_LENGTH && lua_istable(G, at)) {
    tc_strbuf_printf(out, "%lld", (long long)lua_rawlen(G, at));
  } else {
    print_value(G, at, out);
  }
  tc_strbuf_puts(out, ")");
  lua_settop(G, g->n_anchors);
}

void tc_guards_explain(const struct tc_guards *g, const struct tc_frame *frame, int guard, struct tc_strbuf *out) {
  for (size_t i = 0; i < g->facts.len; i++) {
    if (guard && (int)i + 1 != guard) continue;
    print_fact(g, &g->facts.data[i], out);
    if (frame) print_present(g, frame, &g->facts.data[i], out);
    if (!guard) tc_strbuf_puts(out, "\n");
  }
}

uint64_t tc_guards_hash(const struct tc_guards *g) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, g->alloc);
  tc_guards_explain(g, NULL, 0, &text);
  const uint64_t hash = tc_hash_bytes(0, text.data, text.len);
  tc_strbuf_free(&text);
  return hash;
}
