/* tb.explain(f)(…) as text, in the order in which a reader follows the program: a piece with its graph, what
 * the graph becomes, and what it rests on; the graph break that it ends at; the piece behind that. */
#include <string.h>

#include "lua/compile/compiled_object.h"

struct tc_lua_where tc_lua_where_is(lua_State *L, int piece) {
  const struct compiled_object *o = lua_touserdata(L, piece);
  struct tc_lua_where where = {.kind = o->root == o ? "function" : o->continued ? "continuation" : "callee"};
  lua_Debug info;
  lua_getiuservalue(L, piece, OBJECT_FUNCTION);
  lua_getinfo(L, ">S", &info);
  where.chunk = info.source;
  memcpy(where.file, info.short_src, sizeof where.file);
  where.line = o->first_line ? o->first_line : info.linedefined;
  where.last_line = info.lastlinedefined;
  return where;
}

/* --- a graph --- */

struct telling {
  struct tc_strbuf *out;
  int graphs;
  bool *told; /* by break */
};

/* Each line of a text, indented. */
static void print_lines(struct tc_strbuf *out, const char *text) {
  for (const char *line = text; *line;) {
    const int length = (int)strcspn(line, "\n");
    tc_strbuf_printf(out, "    %.*s\n", length, line);
    line += length + (line[length] == '\n');
  }
}

static void print_launches(struct tc_strbuf *out, const struct tc_launch_list *list) {
  tc_strbuf_puts(out, "  launches:\n");
  for (int i = 0; i < list->n_launches; i++) {
    const struct tc_launch *l = &list->launches[i];
    tc_strbuf_printf(out, "    %2d %-8s %s  (%d operation%s, %.3g MB, %.3g MFLOP%s%s)\n", i + 1,
                     l->kind == TC_LAUNCH_KERNEL ? "kernel" : "library", l->label, l->n_ops,
                     l->n_ops == 1 ? "" : "s", (double)l->bytes / 1e6, (double)l->flops / 1e6,
                     l->kind == TC_LAUNCH_KERNEL ? ", by " : "",
                     l->kind == TC_LAUNCH_KERNEL ? list->codes[l->code].generator : "");
    if (l->kind == TC_LAUNCH_KERNEL) tc_strbuf_printf(out, "                fused: %s\n", l->fused);
  }
  for (int i = 0; i < list->n_tiles; i++) {
    const struct tc_tiles *t = &list->tiles[i];
    tc_strbuf_printf(out,
                     "    %d to %d run together, %lld of %lld rows of one batch of %lld at a time; what "
                     "passes between them stays in the cache\n",
                     t->first + 1, t->first + t->count,
                     (long long)(t->step < tc_sym_hint(t->rows) ? t->step : tc_sym_hint(t->rows)),
                     (long long)tc_sym_hint(t->rows), (long long)tc_sym_hint(t->batches));
  }
  tc_strbuf_printf(out, "    intermediates: %.3g MB pooled (%.3g MB without reuse)\n",
                   (double)tc_sym_hint(list->pool_bytes) / 1e6, (double)list->pool_bytes_without_reuse / 1e6);
}

static void print_guards(struct tc_strbuf *out, const struct tc_guards *guards) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, out->alloc);
  tc_guards_explain(guards, NULL, 0, &text);
  tc_strbuf_puts(out, "  guards:\n");
  print_lines(out, tc_strbuf_text(&text) ? text.data : "(out of memory)");
  tc_strbuf_free(&text);
  tc_strbuf_init(&text, out->alloc);
  tc_guards_open_text(guards, &text);
  if (text.len && tc_strbuf_text(&text)) tc_strbuf_printf(out, "  left open: %s\n", text.data);
  tc_strbuf_free(&text);
}

/* Results of the function, or the registers that its rest takes on. */
static void print_effects(struct tc_strbuf *out, const struct compiled_entry *e) {
  if (e->broke_at)
    tc_strbuf_puts(out, "  hands on: ");
  else
    tc_strbuf_puts(out, "  returns: ");
  if (e->replay) tc_replay_text(e->replay, e->guards, out);
  tc_strbuf_puts(out, "\n");
}

static void print_fuel(struct tc_strbuf *out, const struct tc_fuel_report *fuel) {
  tc_strbuf_puts(out, "  optional transformations (fuel.NAME limits them): ");
  tc_fuel_print(out, fuel);
  tc_strbuf_puts(out, "\n");
}

static void print_entry(struct tc_strbuf *out, const struct compiled_entry *e) {
  const struct tc_launch_list *list = e->compiled ? tc_compiled_list(e->compiled) : NULL;
  if (e->compiled && e->capture_record) {
    tc_strbuf_puts(out, "  captured:\n");
    print_lines(out, e->capture_record->graph);
  }
  if (list) print_launches(out, list);
  if (list && e->fuel) print_fuel(out, e->fuel);
  print_guards(out, e->guards);
  print_effects(out, e);
}

/* --- a break --- */

static void print_break(struct tc_strbuf *out, const struct compiled_object *root, int number) {
  const struct tc_break *b = &root->breaks.data[number - 1];
  tc_strbuf_printf(out, "graph break %d: %s:%d: %s (%s)\n  hint: %s\n  in: %s\n", number, b->source, b->line,
                   tc_break_text(b->reason), b->detail, tc_break_hint(b->reason), b->stack);
}

static void print_end(struct telling *t, const struct compiled_object *root, const struct compiled_entry *e) {
  if (!e->broke_at || e->broke_at > (int)root->breaks.len) return;
  if (!t->told[e->broke_at])
    print_break(t->out, root, e->broke_at);
  else
    tc_strbuf_printf(t->out, "ends at graph break %d, as above\n", e->broke_at);
  t->told[e->broke_at] = true;
}

static void print_piece(lua_State *L, int piece, void *context) {
  const struct compiled_object *o = lua_touserdata(L, piece);
  struct telling *t = context;
  const struct tc_lua_where where = tc_lua_where_is(L, piece);
  static const char *const known[][2] = {{"function", ""},
                                         {"continuation", ", which goes on behind a break"},
                                         {"callee", ", a function that is called there"}};
  const char *what = "";
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i][0], where.kind)) what = known[i][1];
  for (size_t i = 0; i < o->entries.len; i++) {
    const struct compiled_entry *e = &o->entries.data[i];
    tc_strbuf_printf(t->out, "\n%s:%d: ", where.file, where.line);
    if (e->compiled)
      tc_strbuf_printf(t->out, "graph %d", ++t->graphs);
    else
      tc_strbuf_puts(t->out, "nothing to compute");
    tc_strbuf_puts(t->out, what);
    if (o->entries.len > 1)
      tc_strbuf_printf(t->out, ", compiled %zu times: %s", o->entries.len,
                       i ? "an older one" : "the one used last");
    tc_strbuf_printf(t->out, ": captured operations: %d, guards: %d\n", e->n_ops, tc_guards_count(e->guards));
    print_entry(t->out, e);
    print_end(t, o->root, e);
  }
  if (o->eager) tc_strbuf_printf(t->out, "\n%s:%d: runs eagerly%s\n", where.file, where.line, what);
}

/* --- all --- */

static void print_summary(struct tc_strbuf *out, const struct compiled_object *o,
                          const struct tc_lua_totals *sum) {
  const struct tc_compile_report *r = &sum->report;
  tc_strbuf_printf(out,
                   "graphs: %d, graph breaks: %zu, guards: %d, captured operations: %d, recompiles: %d\n",
                   sum->graphs, o->breaks.len, sum->guards, sum->ops, sum->recompiles);
  tc_strbuf_printf(out, "kernels: %d, library calls: %d, cache: %s\n", r->kernels, r->library_calls,
                   tc_cache_answer_name(o->report.answer));
  tc_strbuf_puts(out, "stages (µs):");
  for (int i = 0; i < TC_PASS_COUNT; i++)
    tc_strbuf_printf(out, " %s %.1f", tc_pass_name((enum tc_pass)i), r->stage_ns[i] / 1e3);
  tc_strbuf_puts(out, "\n");
}

/* The compiled object lies at `object`, as userdata. */
static void print_explanation(lua_State *L, int object, struct tc_strbuf *out) {
  const struct compiled_object *o = lua_touserdata(L, object);
  const struct tc_lua_totals sum = tc_lua_sum_up(L, object);
  bool *told = TC_NEW_ARRAY(out->alloc, bool, o->breaks.len + 1);
  struct telling telling = {.out = out, .told = told};
  if (!told) {
    out->failed = true;
    return;
  }
  print_summary(out, o, &sum);
  tc_lua_each_piece(L, object, print_piece, &telling);
  for (int i = 1; i <= (int)o->breaks.len; i++)
    if (!told[i]) print_break(out, o, i);
  for (size_t i = 0; i < o->fallbacks.len; i++)
    tc_strbuf_printf(out, "fallback: %s\n", o->fallbacks.data[i].text);
  for (size_t i = 0; i < o->recompile_notes.len; i++)
    tc_strbuf_printf(out, "recompile %zu: %s\n", i + 1, o->recompile_notes.data[i].text);
  TC_FREE_ARRAY(out->alloc, told, o->breaks.len + 1);
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
  tc_lua_push_stats(L, object);
  tc_lua_set_pieces(L, object);
  struct tc_strbuf text;
  tc_strbuf_init(&text, ((struct compiled_object *)lua_touserdata(L, object))->module->ctx.alloc);
  luaL_checkstack(L, LUA_MINSTACK, "explain");
  print_explanation(L, object, &text);
  tc_lua_push_buffer(L, &text);
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

/* tb.explain(f[, options]) compiles a fresh object; each call of what it returns calls that, and tells what
 * there is then: its stats with `pieces` and `text`, which tostring gives. */
static int explain(lua_State *L) {
  lua_settop(L, 2);
  tc_lua_compiled_new(L, 1, lua_isnil(L, 2) ? 0 : 2)->tells = true;
  lua_pushcclosure(L, explain_call, 1);
  return 1;
}

void tc_lua_open_explain(lua_State *L) {
  static const luaL_Reg functions[] = {{"explain", explain}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  tc_lua_open_stats(L);
  luaL_newmetatable(L, explanation_name);
  lua_pushcfunction(L, explanation_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}
