/* Guards as text, with present values. It is the verbose counterpart of check.c: each kind of fact has a
 * text, and a value to show beside it. Addresses never appear. */
#include "base/strbuf.h"
#include "guards/program.h"

static void print_layout(const struct tc_fact_tensor *t, struct tc_strbuf *out) {
  tc_strbuf_printf(out, "%s[", tc_dtype_name(t->dtype));
  for (int d = 0; d < t->ndim; d++) {
    if (d) tc_strbuf_puts(out, ", ");
    if (t->dims && t->dims->ids[d] >= 0)
      tc_strbuf_printf(out, "s%d", t->dims->ids[d]);
    else
      tc_strbuf_printf(out, "%lld", (long long)t->sizes[d]);
  }
  tc_strbuf_puts(out, "] strides [");
  for (int d = 0; d < t->ndim; d++) {
    if (d) tc_strbuf_puts(out, ", ");
    if (t->dims)
      tc_sym_print(out, t->dims->strides[d]);
    else
      tc_strbuf_printf(out, "%lld", (long long)t->strides[d]);
  }
  tc_strbuf_puts(out, "]");
}

static void print_equal(const struct tc_guards *g, const struct tc_fact *fact, struct tc_strbuf *out) {
  lua_Number number;
  memcpy(&number, &fact->integer, sizeof number);
  if (fact->type == LUA_TBOOLEAN)
    tc_strbuf_puts(out, fact->integer ? "true" : "false");
  else if (fact->type == LUA_TSTRING)
    tc_guards_value_text(g, fact->other, out);
  else if (fact->is_integer)
    tc_strbuf_printf(out, "%lld", (long long)fact->integer);
  else
    tc_guards_float_text(number, out);
}

static void print_expected(const struct tc_guards *g, const struct tc_fact *fact, struct tc_strbuf *out) {
  lua_State *G = g->thread;
  switch (fact->kind) {
    case TC_GUARD_TYPE: tc_strbuf_puts(out, lua_typename(G, fact->type)); break;
    case TC_GUARD_EQUAL: print_equal(g, fact, out); break;
    case TC_GUARD_IDENTITY:
    case TC_GUARD_CODE: tc_guards_value_text(g, fact->other, out); break;
    case TC_GUARD_METATABLE: tc_strbuf_puts(out, fact->other ? "the same" : "nil"); break;
    case TC_GUARD_LENGTH:
    case TC_GUARD_ARGS: tc_strbuf_printf(out, "%lld", (long long)fact->integer); break;
    case TC_GUARD_KEYS:
      for (int64_t i = 0; i < fact->integer; i++) {
        if (i) tc_strbuf_puts(out, ", ");
        tc_guards_value_text(g, fact->other + (int)i, out);
      }
      if (!fact->integer) tc_strbuf_puts(out, "none");
      break;
    case TC_GUARD_TENSOR: print_layout(fact->tensor, out); break;
    case TC_GUARD_NUMBER: tc_strbuf_puts(out, fact->is_integer ? "integer" : "float"); break;
    case TC_GUARD_SIZE: tc_strbuf_printf(out, "s%d", fact->other); break;
    case TC_GUARD_SCALAR: tc_strbuf_printf(out, "%d", fact->other); break;
    case TC_GUARD_SAME:
    case TC_GUARD_DISTINCT:
    case TC_GUARD_ONE_VARIABLE:
    case TC_GUARD_TWO_VARIABLES: tc_guards_source_text(g, fact->other, out); break;
    case TC_GUARD_SHAPE:
      tc_sym_print(out, fact->shape.a);
      if (fact->shape.less)
        tc_strbuf_puts(out, fact->shape.holds ? " < " : " >= ");
      else
        tc_strbuf_puts(out, fact->shape.holds ? " == " : " ~= ");
      tc_sym_print(out, fact->shape.b);
      break;
    case TC_GUARD_DEFAULT_DTYPE: tc_strbuf_puts(out, tc_dtype_name((tc_dtype)fact->integer)); break;
    case TC_GUARD_ABSENT:
    case TC_GUARD_DEFINED:
    case TC_GUARD_SEQUENCE:
    case TC_GUARD_KIND_COUNT: break;
  }
}

/* A comparison that came out one way: "n < 3", "not (n < 3)", rather than "n < 3 == true". */
static bool print_comparison(const struct tc_guards *g, const struct tc_fact *fact, struct tc_strbuf *out) {
  if (fact->kind != TC_GUARD_EQUAL || fact->type != LUA_TBOOLEAN) return false;
  const struct tc_source *source = &g->sources.data[fact->source];
  if (source->kind != TC_SOURCE_EXPR || source->number < TC_GUARD_OP_EQ) return false;
  if (!fact->integer) tc_strbuf_puts(out, "not (");
  tc_guards_source_text(g, fact->source, out);
  if (!fact->integer) tc_strbuf_puts(out, ")");
  return true;
}

void tc_guards_print_fact(const struct tc_guards *g, const struct tc_fact *fact, struct tc_strbuf *out) {
  static const char *const formats[] = {
#define TC_GUARD(NAME, text) text,
#include "guards/guards.def"
#undef TC_GUARD
  };
  struct tc_strbuf source, expected;
  if (print_comparison(g, fact, out)) return;
  tc_strbuf_init(&source, g->alloc);
  tc_strbuf_init(&expected, g->alloc);
  tc_guards_source_text(g, fact->source, &source);
  print_expected(g, fact, &expected);
  const char *source_text = tc_strbuf_text(&source), *expected_text = tc_strbuf_text(&expected);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the formats are the rows of guards.def */
  if (source_text && expected_text)
    tc_strbuf_printf(out, formats[fact->kind], source_text, expected_text);
  else
    out->failed = true;
#pragma GCC diagnostic pop
  tc_strbuf_free(&source);
  tc_strbuf_free(&expected);
}

void tc_guards_keep_text(struct tc_guards *g) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, g->alloc);
  tc_guards_print_fact(g, &g->facts.data[g->facts.len - 1], &text);
  const char *made = tc_strbuf_text(&text), *kept = made ? tc_arena_text(g->arena, made) : NULL;
  if (!kept || !tc_vec_push(tc_arena_alloc(g->arena), &g->texts, kept)) g->failed = true;
  tc_strbuf_free(&text);
}

/* --- present values --- */

static void print_keys(const struct tc_guards *g, int table, struct tc_strbuf *out) {
  lua_State *G = g->thread;
  bool any = false;
  lua_pushnil(G);
  while (lua_next(G, table)) {
    if (any) tc_strbuf_puts(out, ", ");
    tc_guards_value_text(g, lua_gettop(G) - 1, out);
    lua_pop(G, 1);
    any = true;
  }
  if (!any) tc_strbuf_puts(out, "none");
}

static void print_metatable(const struct tc_guards *g, int at, const struct tc_fact *fact,
                            struct tc_strbuf *out) {
  lua_State *G = g->thread;
  if (!lua_getmetatable(G, at))
    tc_strbuf_puts(out, "nil");
  else
    tc_strbuf_puts(out, fact->other && lua_rawequal(G, -1, fact->other) ? "the same"
                        : fact->other                                   ? "another"
                                                                        : "a table");
}

/* How the two values of a fact on a pair stand to each other. */
static void print_pair(const struct tc_guards *g, const struct tc_frame *frame, const struct tc_fact *fact,
                       int at, struct tc_strbuf *out) {
  lua_State *G = g->thread;
  tc_guards_evaluate(g, frame, fact->other);
  if (fact->kind == TC_GUARD_ONE_VARIABLE || fact->kind == TC_GUARD_TWO_VARIABLES)
    tc_strbuf_puts(out, tc_guards_is_one_variable(G, at, lua_gettop(G), fact->integer) ? "one variable"
                                                                                       : "not one variable");
  else
    tc_strbuf_puts(out, lua_rawequal(G, at, -1) ? "the same" : "not the same");
}

static void print_present(const struct tc_guards *g, const struct tc_frame *frame, const struct tc_fact *fact,
                          struct tc_strbuf *out) {
  lua_State *G = g->thread;
  tc_guards_evaluate(g, frame, fact->source);
  const int at = lua_gettop(G);
  const bool is_table = lua_istable(G, at);
  const struct tc_tensor *tensor = g->host->tensor_at(G, at);
  if (tc_guards_is_pair(fact->kind)) {
    print_pair(g, frame, fact, at, out);
  } else if (fact->kind == TC_GUARD_METATABLE) {
    print_metatable(g, at, fact, out);
  } else if (fact->kind == TC_GUARD_LENGTH && is_table) {
    tc_strbuf_printf(out, "%lld", (long long)lua_rawlen(G, at));
  } else if (fact->kind == TC_GUARD_SEQUENCE && is_table) {
    tc_strbuf_puts(out, tc_guards_is_sequence(G, at) ? "none" : "holes");
  } else if (fact->kind == TC_GUARD_KEYS && is_table) {
    print_keys(g, at, out);
  } else if (fact->kind == TC_GUARD_CODE && lua_isfunction(G, at)) {
    const bool same = lua_topointer(G, at) == fact->pointer || tc_guards_has_code(G, at, fact);
    tc_strbuf_puts(out, same ? "the same code" : "other code");
  } else if (fact->kind == TC_GUARD_IDENTITY) {
    const bool alike = lua_type(G, at) == lua_type(G, fact->other) && !lua_rawequal(G, at, fact->other);
    if (alike)
      tc_strbuf_printf(out, "another %s", tensor ? "tensor" : lua_typename(G, lua_type(G, at)));
    else
      tc_guards_value_text(g, at, out);
  } else if (tensor) {
    struct tc_fact_tensor now = {.dtype = tensor->dtype, .ndim = tensor->ndim};
    memcpy(now.sizes, tensor->sizes, sizeof now.sizes);
    memcpy(now.strides, tensor->strides, sizeof now.strides);
    print_layout(&now, out);
    if (fact->kind == TC_GUARD_TENSOR && tensor->storage && tensor->storage->device != fact->tensor->device)
      tc_strbuf_puts(out, " on another device");
  } else {
    tc_guards_value_text(g, at, out);
  }
  lua_settop(G, g->n_anchors);
}

/* What the size variables would be, as far as their sources give values; 0 for the others. */
static void read_sizes(const struct tc_guards *g, const struct tc_frame *frame) {
  lua_State *G = g->thread;
  for (int i = 0; i < g->n_sizes; i++) g->sizes[i] = 0;
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    const struct tc_fact_dims *dims = fact->kind == TC_GUARD_TENSOR ? fact->tensor->dims : NULL;
    if (!dims && fact->kind != TC_GUARD_SIZE) continue;
    tc_guards_evaluate(g, frame, fact->source);
    const struct tc_tensor *tensor = g->host->tensor_at(G, lua_gettop(G));
    if (fact->kind == TC_GUARD_SIZE && !g->sizes[fact->other]) g->sizes[fact->other] = lua_tointeger(G, -1);
    for (int d = 0; dims && tensor && d < tensor->ndim && d < fact->tensor->ndim; d++)
      if (dims->ids[d] >= 0 && !g->sizes[dims->ids[d]]) g->sizes[dims->ids[d]] = tensor->sizes[d];
    lua_settop(G, g->n_anchors);
  }
}

static void print_symbol(const struct tc_guards *g, tc_sym symbol, struct tc_strbuf *out) {
  int64_t value;
  if (tc_sym_eval_checked(symbol, g->sizes, &value))
    tc_strbuf_printf(out, "%lld", (long long)value);
  else
    tc_strbuf_puts(out, "no value");
}

static void print_present_of_none(const struct tc_guards *g, const struct tc_frame *frame,
                                  const struct tc_fact *fact, struct tc_strbuf *out) {
  switch (fact->kind) {
    case TC_GUARD_ARGS: tc_strbuf_printf(out, "%d", frame->n_args); break;
    case TC_GUARD_DEFAULT_DTYPE: tc_strbuf_puts(out, tc_dtype_name(g->host->default_dtype(g->thread))); break;
    default:
      read_sizes(g, frame);
      print_symbol(g, fact->shape.a, out);
      tc_strbuf_puts(out, " and ");
      print_symbol(g, fact->shape.b, out);
  }
}

void tc_guards_explain(const struct tc_guards *g, const struct tc_frame *frame, int guard,
                       struct tc_strbuf *out) {
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (guard && (int)i + 1 != guard) continue;
    if (i < g->texts.len)
      tc_strbuf_puts(out, g->texts.data[i]);
    else
      tc_guards_print_fact(g, fact, out);
    if (frame) {
      tc_strbuf_puts(out, " (now: ");
      if (fact->source >= 0)
        print_present(g, frame, fact, out);
      else
        print_present_of_none(g, frame, fact, out);
      tc_strbuf_puts(out, ")");
    }
    if (!guard) tc_strbuf_puts(out, "\n");
  }
}

/* --- what the graph takes --- */

void tc_guards_input_text(const struct tc_guards *g, int input, struct tc_strbuf *out) {
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (fact->kind != TC_GUARD_TENSOR || fact->tensor->input != input) continue;
    tc_guards_source_text(g, fact->source, out);
    return;
  }
}

void tc_guards_open_text(const struct tc_guards *g, struct tc_strbuf *out) {
  const char *before = "";
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (fact->kind == TC_GUARD_TENSOR) {
      for (int d = 0; fact->tensor->dims && d < fact->tensor->ndim; d++) {
        if (fact->tensor->dims->ids[d] < 0) continue;
        tc_strbuf_puts(out, before);
        tc_guards_source_text(g, fact->source, out);
        tc_strbuf_printf(out, ":size(%d) = s%d", d + 1, fact->tensor->dims->ids[d]);
        before = ", ";
      }
    }
  }
  for (size_t i = 0; i < g->sources.len; i++) {
    const struct tc_source *source = &g->sources.data[i];
    if (!source->dynamic || source->kind == TC_SOURCE_EXPR || source->kind == TC_SOURCE_DIM) continue;
    tc_strbuf_puts(out, before);
    tc_guards_source_text(g, (int)i, out);
    before = ", ";
  }
}
