/* tb.stats(object): what a compiled object, and what goes on behind its breaks, tell of themselves as a
 * table. */
#include <stdio.h>
#include <string.h>

#include "lua/compile/compiled_object.h"
#include "lua/inspect/fields.h"

static void set_breaks(lua_State *L, const struct compiled_object *o) {
  lua_createtable(L, (int)o->breaks.len, 0);
  for (size_t i = 0; i < o->breaks.len; i++) {
    const struct tc_break *b = &o->breaks.data[i];
    lua_newtable(L);
    tc_set_text(L, "name", tc_break_name(b->reason));
    tc_set_text(L, "reason", tc_break_text(b->reason));
    tc_set_text(L, "hint", tc_break_hint(b->reason));
    tc_set_text(L, "detail", b->detail);
    tc_set_text(L, "file", b->source);
    tc_set_text(L, "stack", b->stack);
    tc_set_integer(L, "line", b->line);
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

static void set_recompiles(lua_State *L, const struct compiled_object *o) {
  lua_createtable(L, (int)o->recompile_notes.len, 0);
  for (size_t i = 0; i < o->recompile_notes.len; i++) {
    lua_pushstring(L, o->recompile_notes.data[i].text);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "recompile_reasons");
}

/* --- sums over an object and what goes on behind its breaks --- */

static const struct compiled_entry *newest(const struct compiled_object *o) {
  return o->entries.len ? &o->entries.data[0] : NULL;
}

static void add_report(struct tc_compile_report *sum, const struct tc_compile_report *r) {
  sum->kernels += r->kernels;
  sum->library_calls += r->library_calls;
  sum->bytes_moved += r->bytes_moved;
  sum->flops += r->flops;
  if (r->peak_bytes > sum->peak_bytes) sum->peak_bytes = r->peak_bytes;
  if (r->peak_bytes_without_reuse > sum->peak_bytes_without_reuse)
    sum->peak_bytes_without_reuse = r->peak_bytes_without_reuse;
  sum->code_bytes += r->code_bytes;
  for (int i = 0; i < TC_PASS_COUNT; i++) sum->stage_ns[i] += r->stage_ns[i];
}

/* One piece has its own artifact; of several any one that changes has to show. */
static void add_artifact(struct tc_lua_totals *sum, const char *artifact) {
  if (!*artifact) return;
  if (*sum->artifact)
    tc_sha256_join(sum->artifact, artifact);
  else
    snprintf(sum->artifact, sizeof sum->artifact, "%s", artifact);
}

static void add_piece(lua_State *L, int piece, void *context) {
  const struct compiled_object *o = lua_touserdata(L, piece);
  struct tc_lua_totals *sum = context;
  const struct compiled_entry *e = newest(o);
  sum->entries += (int)o->entries.len;
  sum->recompiles += o->recompiles;
  sum->eager |= o->eager;
  sum->ops += o->captured_ops;
  add_report(&sum->report, &o->report);
  if (!e) return;
  sum->guards += tc_guards_count(e->guards);
  sum->graphs += e->compiled != NULL;
  if (e->compiled) add_artifact(sum, tc_compiled_artifact(e->compiled));
}

struct tc_lua_totals tc_lua_sum_up(lua_State *L, int object) {
  const struct compiled_object *o = tc_lua_compiled_at(L, object);
  struct tc_lua_totals sum = {.report.answer = o->report.answer};
  tc_lua_push_object(L, object);
  tc_lua_each_piece(L, lua_gettop(L), add_piece, &sum);
  lua_pop(L, 1);
  return sum;
}

static void set_stages(lua_State *L, const struct tc_compile_report *r) {
  lua_newtable(L);
  for (int i = 0; i < TC_PASS_COUNT; i++) tc_set_number(L, tc_pass_name((enum tc_pass)i), r->stage_ns[i]);
  lua_setfield(L, -2, "stages_ns");
}

struct launches {
  int table, count;
}; /* the list at a stack index */

void tc_lua_push_launch(lua_State *L, const struct tc_launch_list *list, const struct tc_launch *l) {
  const bool is_kernel = l->kind == TC_LAUNCH_KERNEL;
  lua_createtable(L, 0, 7);
  tc_set_text(L, "label", l->label);
  tc_set_text(L, "kind", is_kernel ? "kernel" : "library");
  tc_set_text(L, "generator", is_kernel ? list->codes[l->code].generator : "blas");
  tc_set_text(L, "fused", l->fused);
  tc_set_integer(L, "ops", l->n_ops);
  tc_set_integer(L, "bytes", (int64_t)l->bytes);
  tc_set_integer(L, "flops", (int64_t)l->flops);
}

static void add_launches(lua_State *L, int piece, void *context) {
  const struct compiled_object *o = lua_touserdata(L, piece);
  struct launches *launches = context;
  const struct compiled_entry *e = newest(o);
  const struct tc_launch_list *list = e && e->compiled ? tc_compiled_list(e->compiled) : NULL;
  for (int i = 0; list && i < list->n_launches; i++) {
    tc_lua_push_launch(L, list, &list->launches[i]);
    lua_rawseti(L, launches->table, ++launches->count);
  }
}

static void set_launches(lua_State *L, int object) {
  tc_lua_push_object(L, object);
  const int at = lua_gettop(L);
  lua_newtable(L);
  struct launches launches = {.table = at + 1};
  tc_lua_each_piece(L, at, add_launches, &launches);
  lua_remove(L, at);
  if (launches.count)
    lua_setfield(L, -2, "launches");
  else
    lua_pop(L, 1);
}

static void set_report(lua_State *L, const struct tc_compile_report *r) {
  tc_set_integer(L, "kernels", r->kernels);
  tc_set_integer(L, "library_calls", r->library_calls);
  tc_set_integer(L, "bytes_moved", (int64_t)r->bytes_moved);
  tc_set_integer(L, "flops", (int64_t)r->flops);
  tc_set_integer(L, "peak_bytes", (int64_t)r->peak_bytes);
  tc_set_integer(L, "peak_bytes_without_reuse", (int64_t)r->peak_bytes_without_reuse);
  tc_set_integer(L, "code_bytes", (int64_t)r->code_bytes);
  tc_set_text(L, "cache", tc_cache_answer_name(r->answer));
}

/* Of the newest entry of each piece, and what holds of the object as a whole. */
void tc_lua_push_stats(lua_State *L, int object) {
  struct compiled_object *o = tc_lua_compiled_at(L, object);
  const struct tc_lua_totals sum = tc_lua_sum_up(L, object);
  lua_newtable(L);
  tc_set_text(L, "backend", tc_lua_backend_name(o));
  tc_set_integer(L, "graphs", sum.graphs);
  tc_set_integer(L, "entries", sum.entries);
  tc_set_integer(L, "guards", sum.guards);
  tc_set_integer(L, "recompiles", sum.recompiles);
  tc_set_integer(L, "ops", sum.ops);
  tc_set_text(L, "artifact", sum.artifact);
  tc_set_number(L, "entry_to_kernel_ns", o->entry_to_kernel_ns);
  lua_pushboolean(L, sum.eager);
  lua_setfield(L, -2, "eager");
  set_report(L, &sum.report);
  set_breaks(L, o);
  set_fallbacks(L, o);
  set_recompiles(L, o);
  set_stages(L, &sum.report);
  set_launches(L, object);
}

static int stats(lua_State *L) {
  if (!tc_lua_compiled_at(L, 1))
    return tc_lua_raise_text(L, "stats", "argument 1 is not a compiled function (tb.compile makes one)");
  tc_lua_push_stats(L, 1);
  return 1;
}

void tc_lua_open_stats(lua_State *L) {
  lua_pushcfunction(L, stats);
  lua_setfield(L, -2, "stats");
}
