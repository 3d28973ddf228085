/* Functions that are guarded by their code, not by their identity: closures that a program makes anew at each
 * call. What they capture is read from each of them, like the fields of a table.
 *
 * Invariants:
 *  1. Two functions have the same code if lua_dump gives the same bytes for both, with lines and names: so
 *     they raise the same errors too.
 *  2. A function that is the guarded one itself is known by its address. Of another one the lines are
 *     compared before the bytes are, which are compared as they come: nothing is allocated.
 *  3. Which upvalues are one variable is a fact about pairs of functions whose code or identity is guarded
 *     too. */
#include "base/strbuf.h"
#include "guards/program.h"

struct tc_fact_code {
  int first_line, last_line;
  size_t length;
  const char *bytes;
};

static int append_bytes(lua_State *L, const void *bytes, size_t count, void *out) {
  struct tc_strbuf *text = out;
  (void)L;
  tc_strbuf_bytes(text, bytes, count);
  return text->failed;
}

/* What is left of the bytes that are to come. */
struct expected {
  const char *at;
  size_t left;
};

static int compare_bytes(lua_State *L, const void *bytes, size_t count, void *data) {
  struct expected *expected = data;
  (void)L;
  if (count > expected->left || memcmp(expected->at, bytes, count)) return 1;
  expected->at += count;
  expected->left -= count;
  return 0;
}

/* Of the Lua function at `index`; false: memory is out. */
static bool read_code(lua_State *L, int index, struct tc_strbuf *bytes, struct tc_fact_code *out) {
  lua_Debug where;
  lua_pushvalue(L, index);
  const bool dumped = !lua_dump(L, append_bytes, bytes, 0);
  lua_getinfo(L, ">S", &where);
  *out = (struct tc_fact_code){where.linedefined, where.lastlinedefined, bytes->len, bytes->data};
  return dumped && tc_strbuf_text(bytes) != NULL;
}

static bool has_code(lua_State *L, int index, const struct tc_fact_code *code) {
  lua_Debug where;
  if (!lua_isfunction(L, index) || lua_iscfunction(L, index)) return false;
  lua_pushvalue(L, index);
  lua_getinfo(L, ">S", &where);
  if (where.linedefined != code->first_line || where.lastlinedefined != code->last_line) return false;
  struct expected expected = {code->bytes, code->length};
  lua_pushvalue(L, index);
  const bool same = !lua_dump(L, compare_bytes, &expected, 0) && !expected.left;
  lua_pop(L, 1);
  return same;
}

bool tc_guards_has_code(lua_State *G, int at, const struct tc_fact *fact) {
  return has_code(G, at, fact->code);
}

bool tc_guards_same_code(const struct tc_guards *g, int at, int other) {
  lua_State *G = g->thread;
  struct tc_strbuf bytes;
  struct tc_fact_code code;
  if (!lua_isfunction(G, other) || lua_iscfunction(G, other)) return false;
  tc_strbuf_init(&bytes, g->alloc);
  const bool same = read_code(G, other, &bytes, &code) && has_code(G, at, &code);
  tc_strbuf_free(&bytes);
  return same;
}

void tc_guards_code(struct tc_guards *g, lua_State *L, int source, int index) {
  const struct tc_alloc *alloc = tc_arena_alloc(g->arena);
  struct tc_strbuf bytes;
  struct tc_fact_code *code;
  if (source >= 0 && g->sources.data[source].facts & (1u << TC_GUARD_CODE | 1u << TC_GUARD_IDENTITY)) return;
  tc_strbuf_init(&bytes, alloc);
  if (source < 0 || !(code = TC_NEW(alloc, struct tc_fact_code)) || !read_code(L, index, &bytes, code)) {
    g->failed = true;
    return;
  }
  tc_guards_add_fact(g, &(struct tc_fact){.kind = TC_GUARD_CODE,
                                          .source = source,
                                          .type = LUA_TFUNCTION,
                                          .other = tc_guards_anchor(g, L, index),
                                          .pointer = lua_topointer(L, index),
                                          .code = code});
}

void tc_guards_function_by_code(struct tc_guards *g) {
  const int source = tc_guards_function(g);
  if (source >= 0) g->sources.data[source].facts |= 1u << TC_GUARD_CODE;
}

bool tc_guards_is_by_code(const struct tc_guards *g, int source) {
  return source >= 0 && g->sources.data[source].facts >> TC_GUARD_CODE & 1;
}

bool tc_guards_in_code(const struct tc_guards *g, int source) {
  const struct tc_source *s = source >= 0 ? &g->sources.data[source] : NULL;
  return s && s->kind == TC_SOURCE_UPVALUE && tc_guards_is_by_code(g, s->parent);
}

/* --- variables --- */

enum { NUMBER_BITS = 8 }; /* an upvalue has a number below 256 */

static void add_variables(struct tc_guards *g, enum tc_guard_kind kind, int source, int number, int other,
                          int other_number) {
  const int64_t numbers = (int64_t)number << NUMBER_BITS | other_number;
  if (source < 0 || other < 0)
    g->failed = true;
  else
    tc_guards_add_fact(g,
                       &(struct tc_fact){.kind = kind, .source = source, .other = other, .integer = numbers});
}

void tc_guards_one_variable(struct tc_guards *g, int source, int number, int other, int other_number) {
  add_variables(g, TC_GUARD_ONE_VARIABLE, source, number, other, other_number);
}
void tc_guards_two_variables(struct tc_guards *g, int source, int number, int other, int other_number) {
  add_variables(g, TC_GUARD_TWO_VARIABLES, source, number, other, other_number);
}

/* NULL: there is no such upvalue, of which lua_upvalueid is not to be asked. */
static const void *variable_at(lua_State *G, int at, int number) {
  if (!lua_isfunction(G, at) || !lua_getupvalue(G, at, number)) return NULL;
  lua_pop(G, 1);
  return lua_upvalueid(G, at, number);
}

bool tc_guards_is_one_variable(lua_State *G, int at, int other, int64_t numbers) {
  const void *variable = variable_at(G, at, (int)(numbers >> NUMBER_BITS));
  return variable && variable == variable_at(G, other, (int)(numbers & ((1 << NUMBER_BITS) - 1)));
}
