/* What a compiled object tells of itself: tb.stats(object) as a table, tb.explain(f)(…) as text. */
#include <string.h>

#include "lua/compiled_object.h"

static void set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static void set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, name);
}

static void set_breaks(lua_State *L, const struct compiled_object *o) {
  lua_createtable(L, (int)o->breaks.len, 0);
  for (size_t i = 0; i < o->breaks.len; i++) {
    const struct tc_break *b = &o->breaks.data[i];
    lua_newtable(L);
    set_text(L, "name", tc_break_name(b->reason));
    set_text(L, "reason", tc_break_text(b->reason));
    set_text(L, "hint", tc_break_hint(b->reason));
    set_text(L, "detail", b->detail);
    set_text(L, "file", b->source);
    set_text(L, "stack", b->stack);
    set_integer(L, "line", b->line);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "breaks");
}

static void set_fallbacks(lua_State *L, const struct compiled_object *o) {
  lua_createtable(L, (int)o->fallbacks.len, 0);
  for (size_t i = 0; i < o->fallbacks.len; i++) {
    lua_pushstring(L, o->fallbacks.data[i].text);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "fallbacks");
}

/* --- sums over an object and what goes on behind its breaks --- */

struct totals {
  int graphs, entries, guards, recompiles, ops, next_launch;
  bool eager;
  struct tc_compile_report report;
  const char *artifact; /* of the first graph */
  lua_State *L;         /* whose table at `table` takes the launches */
  int table;
  struct tc_strbuf *text;
};

static const struct compiled_entry *newest(const struct compiled_object *o) { return o->entries.len ? &o->entries.data[0] : NULL; }

static void add_report(struct tc_compile_report *sum, const struct tc_compile_report *r) {
  sum->kernels += r->kernels;
  sum->library_calls += r->library_calls;
  sum->bytes_moved += r->bytes_moved;
  sum->flops += r->flops;
  if (r->peak_bytes > sum->peak_bytes) sum->peak_bytes = r->peak_bytes;
  if (r->peak_bytes_without_reuse > sum->peak_bytes_without_reuse) sum->peak_bytes_without_reuse = r->peak_bytes_without_reuse;
  sum->code_bytes += r->code_bytes;
  for (int i = 0; i < TC_PASS_COUNT; i++) sum->stage_ns[i] += r->stage_ns[i];
}

static void add_piece(const struct compiled_object *o, void *context) {
  struct totals *sum = context;
  const struct compiled_entry *e = newest(o);
  sum->entries += (int)o->entries.len;
  sum->recompiles += o->recompiles;
  sum->eager |= o->eager;
  sum->ops += o->captured_ops;
  add_report(&sum->report, &o->report);
  if (!e) return;
  sum->guards += tc_guards_count(e->guards);
  sum->graphs += e->compiled != NULL;
  if (e->compiled && !*sum->artifact) sum->artifact = tc_compiled_artifact(e->compiled);
}

static struct totals sum_up(lua_State *L, int object) {
  const struct compiled_object *o = tc_lua_compiled_at(L, object);
  struct totals sum = {.artifact = "", .report.answer = o->report.answer};
  tc_lua_push_object(L, object);
  tc_lua_each_piece(L, lua_gettop(L), add_piece, &sum);
  lua_pop(L, 1);
  return sum;
}

static void set_stages(lua_State *L, const struct tc_compile_report *r) {
  lua_newtable(L);
  for (int i = 0; i < TC_PASS_COUNT; i++) set_number(L, tc_pass_name((enum tc_pass)i), r->stage_ns[i]);
  lua_setfield(L, -2, "stages_ns");
}

static void add_launches(const struct compiled_object *o, void *context) {
  struct totals *sum = context;
  lua_State *L = sum->L;
  const struct compiled_entry *e = newest(o);
  const struct tc_launch_list *list = e && e->compiled ? tc_compiled_list(e->compiled) : NULL;
  if (!list) return;
  for (int i = 0; i < list->n_launches; i++) {
    const struct tc_launch *l = &list->launches[i];
    lua_newtable(L);
    set_text(L, "label", l->label);
    set_text(L, "kind", l->kind == TC_LAUNCH_KERNEL ? "kernel" : "library");
    set_text(L, "generator", l->kind == TC_LAUNCH_KERNEL ? list->codes[l->code].generator : "blas");
    set_text(L, "fused", l->fused);
    set_integer(L, "ops", l->n_ops);
    set_integer(L, "bytes", (int64_t)l->bytes);
    set_integer(L, "flops", (int64_t)l->flops);
    lua_rawseti(L, sum->table, ++sum->next_launch);
  }
}

static void set_launches(lua_State *L, int object) {
  tc_lua_push_object(L, object);
  const int at = lua_gettop(L);
  lua_newtable(L);
  struct totals sum = {.L = L, .table = at + 1};
  tc_lua_each_piece(L, at, add_launches, &sum);
  lua_remove(L, at);
  if (sum.next_launch) lua_setfield(L, -2, "launches");
  else lua_pop(L, 1);
}

static void set_report(lua_State *L, const struct tc_compile_report *r) {
  set_integer(L, "kernels", r->kernels);
  set_integer(L, "library_calls", r->library_calls);
  set_integer(L, "bytes_moved", (int64_t)r->bytes_moved);
  set_integer(L, "flops", (int64_t)r->flops);
  set_integer(L, "peak_bytes", (int64_t)r->peak_bytes);
  set_integer(L, "peak_bytes_without_reuse", (int64_t)r->peak_bytes_without_reuse);
  set_integer(L, "code_bytes", (int64_t)r->code_bytes);
  set_text(L, "cache", tc_cache_answer_name(r->answer));
}

/* tb.stats(object) → table: the newest entries' compiles, and what holds of the object at an index. */
static void push_stats(lua_State *L, int object) {
  struct compiled_object *o = tc_lua_compiled_at(L, object);
  const struct totals sum = sum_up(L, object);
  lua_newtable(L);
  set_text(L, "backend", tc_backend_name(o->backend));
  set_integer(L, "graphs", sum.graphs);
  set_integer(L, "entries", sum.entries);
  set_integer(L, "guards", sum.guards);
  set_integer(L, "recompiles", sum.recompiles);
  set_integer(L, "ops", sum.ops);
  set_text(L, "artifact", sum.artifact);
  set_number(L, "entry_to_kernel_ns", o->entry_to_kernel_ns);
  lua_pushboolean(L, sum.eager);
  lua_setfield(L, -2, "eager");
  set_report(L, &sum.report);
  set_breaks(L, o);
  set_fallbacks(L, o);
  set_stages(L, &sum.report);
  set_launches(L, object);
}

static int stats(lua_State *L) {
  if (!tc_lua_compiled_at(L, 1)) return tc_lua_raise_text(L, "stats", "argument 1 is no compiled function (tb.compile makes one)");
  push_stats(L, 1);
  return 1;
}

/* --- text --- */

static void print_breaks(struct tc_strbuf *out, const struct compiled_object *o) {
  for (size_t i = 0; i < o->breaks.len; i++) {
    const struct tc_break *b = &o->breaks.data[i];
    tc_strbuf_printf(out, "graph break %zu: %s:%d: %s (%s)\n  hint: %s\n  in: %s\n", i + 1, b->source, b->line, tc_break_text(b->reason), b->detail,
                     tc_break_hint(b->reason), b->stack);
  }
  for (size_t i = 0; i < o->fallbacks.len; i++) tc_strbuf_printf(out, "fallback: %s\n", o->fallbacks.data[i].text);
}

static void print_launches(struct tc_strbuf *out, const struct tc_launch_list *list) {
  tc_strbuf_puts(out, "launches:\n");
  for (int i = 0; i < list->n_launches; i++) {
    const struct tc_launch *l = &list->launches[i];
    tc_strbuf_printf(out, "  %2d %-8s %s  (%d operation%s, %.3g MB, %.3g MFLOP%s%s)\n", i + 1, l->kind == TC_LAUNCH_KERNEL ? "kernel" : "library",
                     l->label, l->n_ops, l->n_ops == 1 ? "" : "s", (double)l->bytes / 1e6, (double)l->flops / 1e6, l->kind == TC_LAUNCH_KERNEL ? ", by " : "",
                     l->kind == TC_LAUNCH_KERNEL ? list->codes[l->code].generator : "");
    if (l->kind == TC_LAUNCH_KERNEL) tc_strbuf_printf(out, "              fused: %s\n", l->fused);
  }
  for (int i = 0; i < list->n_tiles; i++) {
    const struct tc_tiles *t = &list->tiles[i];
    tc_strbuf_printf(out, "  %d to %d run together, %lld of %lld rows of one batch of %lld at a time; what passes between them stays in the cache\n",
                     t->first + 1, t->first + t->count, (long long)(t->step < tc_sym_hint(t->rows) ? t->step : tc_sym_hint(t->rows)),
                     (long long)tc_sym_hint(t->rows), (long long)tc_sym_hint(t->batches));
  }
  tc_strbuf_printf(out, "intermediates: %.3g MB pooled (%.3g MB without reuse)\n", (double)tc_sym_hint(list->pool_bytes) / 1e6,
                   (double)list->pool_bytes_without_reuse / 1e6);
}

static void print_graph(const struct compiled_object *o, void *context) {
  struct totals *sum = context;
  const struct compiled_entry *e = newest(o);
  const struct tc_launch_list *list = e && e->compiled ? tc_compiled_list(e->compiled) : NULL;
  if (!e || !e->compiled) return;
  sum->graphs++;
  tc_strbuf_printf(sum->text, "graph %d: captured operations: %d, guards: %d\n", sum->graphs, o->captured_ops, tc_guards_count(e->guards));
  if (list) print_launches(sum->text, list);
  tc_strbuf_puts(sum->text, "guards:\n");
  tc_guards_explain(e->guards, NULL, 0, sum->text);
}

/* The compiled object lies at `object`, as userdata. */
static void print_explanation(lua_State *L, int object, struct tc_strbuf *out) {
  const struct compiled_object *o = lua_touserdata(L, object);
  struct totals sum = {.artifact = ""}, graphs = {.text = out};
  tc_lua_each_piece(L, object, add_piece, &sum);
  const struct tc_compile_report *r = &sum.report;
  tc_strbuf_printf(out, "graphs: %d, graph breaks: %zu, guards: %d, captured operations: %d\n", sum.graphs, o->breaks.len, sum.guards, sum.ops);
  tc_strbuf_printf(out, "kernels: %d, library calls: %d, cache: %s\n", r->kernels, r->library_calls, tc_cache_answer_name(o->report.answer));
  tc_strbuf_puts(out, "stages (µs):");
  for (int i = 0; i < TC_PASS_COUNT; i++) tc_strbuf_printf(out, " %s %.1f", tc_pass_name((enum tc_pass)i), r->stage_ns[i] / 1e3);
  tc_strbuf_puts(out, "\n");
  print_breaks(out, o);
  tc_lua_each_piece(L, object, print_graph, &graphs);
}

static int explanation_tostring(lua_State *L) {
  lua_getfield(L, 1, "text");
  return 1;
}

static const char explanation_name[] = "tbench.explanation";

/* After the call. */
static int explained(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_pushvalue(L, lua_upvalueindex(1));
  const int object = lua_gettop(L);
  push_stats(L, object);
  struct tc_strbuf text;
  tc_strbuf_init(&text, ((struct compiled_object *)lua_touserdata(L, object))->module->ctx.alloc);
  luaL_checkstack(L, LUA_MINSTACK, "explain");
  print_explanation(L, object, &text);
  const bool good = tc_strbuf_text(&text) != NULL;
  luaL_Buffer copy; /* Lua owns the text before anything can raise with the C buffer alive, but for memory itself */
  luaL_buffinit(L, &copy);
  if (good) luaL_addlstring(&copy, text.data, text.len);
  tc_strbuf_free(&text);
  luaL_pushresult(&copy);
  lua_setfield(L, -2, "text");
  luaL_setmetatable(L, explanation_name);
  return 1;
}

/* The function that tb.explain returns: upvalue 1 is the compiled object. */
static int explain_call(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_callk(L, lua_gettop(L) - 1, 0, 0, explained);
  return explained(L, LUA_OK, 0);
}

/* tb.explain(f[, options])(…) compiles a fresh object, calls it once, and returns its stats; tostring gives the text. */
static int explain(lua_State *L) {
  lua_settop(L, 2);
  tc_lua_compiled_new(L, 1, lua_isnil(L, 2) ? 0 : 2);
  lua_pushcclosure(L, explain_call, 1);
  return 1;
}

void tc_lua_open_explain(lua_State *L) {
  static const luaL_Reg functions[] = {{"stats", stats}, {"explain", explain}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  luaL_newmetatable(L, explanation_name);
  lua_pushcfunction(L, explanation_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}
