/* `pieces` of tb.explain: one item a piece of the program, in the order of its text, with all that is
 * compiled of it; and `stages`, the names in stages_ns, in the order in which they run. */
#include "lua/compile/compiled_object.h"
#include "lua/inspect/fields.h"

void tc_lua_push_buffer(lua_State *L, struct tc_strbuf *text) {
  luaL_Buffer
      copy; /* Lua owns the text before anything can raise with the C buffer alive, but for memory itself */
  const bool good = tc_strbuf_text(text) != NULL;
  luaL_buffinit(L, &copy);
  if (good) luaL_addlstring(&copy, text->data, text->len);
  tc_strbuf_free(text);
  luaL_pushresult(&copy);
}

static void set_guards(lua_State *L, const struct tc_alloc *alloc, const struct tc_guards *guards) {
  const int count = tc_guards_count(guards);
  struct tc_strbuf text;
  lua_createtable(L, count, 0);
  for (int i = 1; i <= count; i++) {
    tc_strbuf_init(&text, alloc);
    tc_guards_explain(guards, NULL, i, &text);
    tc_lua_push_buffer(L, &text);
    lua_rawseti(L, -2, i);
  }
  lua_setfield(L, -2, "guards");
  tc_strbuf_init(&text, alloc);
  tc_guards_open_text(guards, &text);
  tc_lua_push_buffer(L, &text);
  lua_setfield(L, -2, "open");
}

static void set_capture_record(lua_State *L, const struct tc_capture_record *capture_record) {
  tc_set_text(L, "graph", capture_record->graph);
  lua_createtable(L, capture_record->n_ops, 0);
  for (int i = 0; i < capture_record->n_ops; i++) {
    lua_createtable(L, 0, 3);
    tc_set_text(L, "text", capture_record->ops[i].text);
    tc_set_text(L, "file", capture_record->ops[i].source);
    tc_set_integer(L, "line", capture_record->ops[i].line);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "operations");
}

static void set_launches(lua_State *L, const struct tc_launch_list *list) {
  lua_createtable(L, list->n_launches, 0);
  for (int i = 0; i < list->n_launches; i++) {
    tc_lua_push_launch(L, list, &list->launches[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "launches");
}

/* By name: how many were made, and what the last one was where they were limited to so many. */
static void set_fuel(lua_State *L, const struct tc_fuel_report *fuel) {
  lua_createtable(L, 0, TC_FUEL_COUNT);
  for (int i = 0; i < TC_FUEL_COUNT; i++) {
    lua_createtable(L, 0, 2);
    tc_set_integer(L, "spent", fuel->spent[i]);
    if (*fuel->last[i]) tc_set_text(L, "last", fuel->last[i]);
    lua_setfield(L, -2, tc_fuel_name((enum tc_fuel_kind)i));
  }
  lua_setfield(L, -2, "fuel");
}

static void push_entry(lua_State *L, const struct tc_alloc *alloc, const struct compiled_entry *e) {
  const struct tc_launch_list *list = e->compiled ? tc_compiled_list(e->compiled) : NULL;
  struct tc_strbuf text;
  lua_newtable(L);
  set_guards(L, alloc, e->guards);
  if (e->capture_record) set_capture_record(L, e->capture_record);
  if (list) set_launches(L, list);
  if (list && e->fuel) set_fuel(L, e->fuel);
  if (e->compiled) tc_set_text(L, "artifact", tc_compiled_artifact(e->compiled));
  tc_set_integer(L, "ops", e->n_ops);
  if (e->broke_at) tc_set_integer(L, "break_number", e->broke_at);
  tc_strbuf_init(&text, alloc);
  if (e->replay) tc_replay_text(e->replay, e->guards, &text);
  tc_lua_push_buffer(L, &text);
  lua_setfield(L, -2, e->broke_at ? "hands_on" : "returns");
}

struct list {
  int table, count;
};

static void add_piece(lua_State *L, int piece, void *context) {
  const struct compiled_object *o = lua_touserdata(L, piece);
  struct list *list = context;
  const struct tc_lua_where where = tc_lua_where_is(L, piece);
  lua_createtable(L, 0, 9);
  tc_set_text(L, "kind", where.kind);
  tc_set_text(L, "file", where.file);
  tc_set_text(L, "chunk", *where.chunk == '@' || *where.chunk == '=' ? where.chunk : "");
  tc_set_integer(L, "line", where.line);
  tc_set_integer(L, "last_line", where.last_line);
  tc_set_integer(L, "recompiles", o->recompiles);
  lua_pushboolean(L, o->eager);
  lua_setfield(L, -2, "eager");
  lua_createtable(L, (int)o->entries.len, 0);
  for (size_t i = 0; i < o->entries.len; i++) {
    push_entry(L, o->module->ctx.alloc, &o->entries.data[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "entries");
  lua_rawseti(L, list->table, ++list->count);
}

void tc_lua_set_pieces(lua_State *L, int object) {
  lua_newtable(L);
  struct list list = {.table = lua_gettop(L)};
  tc_lua_each_piece(L, object, add_piece, &list);
  lua_setfield(L, -2, "pieces");
  lua_createtable(L, TC_PASS_COUNT, 0);
  for (int i = 0; i < TC_PASS_COUNT; i++) {
    lua_pushstring(L, tc_pass_name((enum tc_pass)i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "stages");
}
