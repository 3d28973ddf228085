/* The policy file. Invariants:
 * 1. The file can do nothing but assign: its environment is one table whose metamethods are below, there are
 *    no libraries, and memory and steps are bounded.
 * 2. A mistake is told with the line of the assignment that makes it.
 * 3. What the file does not say has the default of policy.def and results/fields.def.
 * To add a field: a row in policy.def, and its lines in results/policy.lua. */
#include "harness/verdict/policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/base/regular_file.h"

enum { MEMORY_MAX = 8 << 20, STEPS_MAX = 1000000, FILE_MAX = 1 << 20, MESSAGE = 256 };

enum kind { SHARE, NUMBER, WHOLE, YES_NO };
enum scope { CASE, RUN };

static const struct field {
  const char *name;
  enum kind kind;
  enum scope scope;
  double initial, lowest, highest;
} fields[] = {
#define TB_POLICY(NAME, name, kind, scope, initial, lowest, highest, help)                                   \
  {#name, kind, scope, initial, lowest, highest},
#include "harness/verdict/policy.def"
#undef TB_POLICY
};
static const char exact_name[] = "exact", default_name[] = "default";

struct reader {
  struct tc_arena *arena;
  struct tb_policy *policy;
  const char *text;
  size_t length, memory; /* memory: that Lua holds */
  bool no_memory;        /* of the arena */
};

/* --- values --- */

static struct reader *reader_of(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

static int out_of_memory(lua_State *L, struct reader *r) {
  r->no_memory = true;
  return luaL_error(L, "out of memory");
}

static int line_now(lua_State *L) {
  lua_Debug where;
  return lua_getstack(L, 1, &where) && lua_getinfo(L, "l", &where) ? where.currentline : 0;
}

static bool optional(const struct field *f) { return isnan(f->initial); }

/* The value at the top as one of the field; a Lua error where it is none. */
static double field_value(lua_State *L, const struct field *f) {
  if (f->kind == YES_NO) {
    if (!lua_isboolean(L, -1)) return luaL_error(L, "%s must be true or false", f->name);
    return lua_toboolean(L, -1);
  }
  if (optional(f) && lua_isboolean(L, -1) && !lua_toboolean(L, -1)) return NAN;
  const double value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
  const bool whole = f->kind != WHOLE || floor(value) == value;
  if (!(value >= f->lowest && value <= f->highest) || !whole) {
    char message[MESSAGE];
    snprintf(message, sizeof message, "%s must be a %snumber from %.15g to %.15g%s", f->name,
             f->kind == WHOLE ? "whole " : "", f->lowest, f->highest,
             f->kind == SHARE ? " (a share: 0.01 is 1%)"
             : optional(f)    ? ", or false for no limit"
                              : "");
    luaL_error(L, "%s", message);
  }
  return value;
}

static void add_rule(lua_State *L, struct reader *r, enum tb_policy_field field, const char *pattern) {
  const struct tb_policy_rule rule = {field, pattern, field_value(L, &fields[field]), line_now(L)};
  for (size_t i = 0; i < r->policy->rules.len; i++) {
    const struct tb_policy_rule *other = &r->policy->rules.data[i];
    const bool same_pattern =
        pattern && other->pattern ? !strcmp(pattern, other->pattern) : pattern == other->pattern;
    if (other->field == field && same_pattern)
      luaL_error(L, "%s is given a second time; the first is in line %d", fields[field].name, other->line);
  }
  if (!tc_vec_push(tc_arena_alloc(r->arena), &r->policy->rules, rule)) out_of_memory(L, r);
}

/* --- what an assignment does --- */

/* The field of a name; a Lua error that names the nearest where there is none. */
static enum tb_policy_field find_field(lua_State *L, struct reader *r, const char *name) {
  struct tb_nearest nearest = tb_nearest_to(name);
  for (int i = 0; i < TB_POLICY_COUNT; i++) {
    if (!strcmp(fields[i].name, name)) return (enum tb_policy_field)i;
    tb_nearest_offer(&nearest, fields[i].name);
  }
  tb_nearest_offer(&nearest, exact_name);
  luaL_error(L, "there is no field '%s'%s", name, tb_nearest_hint(r->arena, &nearest));
  return TB_POLICY_COUNT;
}

static const char *name_at(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TSTRING)
    luaL_error(L, "a name or pattern must be a string, not a %s", luaL_typename(L, index));
  return lua_tostring(L, index);
}

/* FIELD = value */
static int on_field_set(lua_State *L) {
  struct reader *r = reader_of(L);
  const char *name = name_at(L, 2);
  if (!strcmp(name, exact_name))
    return luaL_error(L, "exact has one rule for each figure: exact.kernels = 0");
  add_rule(L, r, find_field(L, r, name), NULL);
  return 0;
}

/* FIELD["pattern"] = value; the field is the second upvalue. */
static int on_pattern_set(lua_State *L) {
  struct reader *r = reader_of(L);
  const char *pattern = name_at(L, 2), *kept = tc_arena_text(r->arena, pattern);
  if (!kept) return out_of_memory(L, r);
  if (!*pattern) return luaL_error(L, "an empty pattern matches no case; \"*\" matches all");
  add_rule(L, r, (enum tb_policy_field)lua_tointeger(L, lua_upvalueindex(2)), kept);
  return 0;
}

/* exact.FIGURE = false, true or a tolerance */
static int on_exact_set(lua_State *L) {
  struct reader *r = reader_of(L);
  const char *name = name_at(L, 2);
  struct tb_nearest nearest = tb_nearest_to(name);
  const struct tb_field *figure = tb_exact_find(name);
  for (int i = 0; i < tb_exact_count(); i++) tb_nearest_offer(&nearest, tb_exact_at(i)->exact.name);
  if (!figure) luaL_error(L, "there is no exact figure '%s'%s", name, tb_nearest_hint(r->arena, &nearest));
  struct tb_policy_exact entry = {
      .figure = figure, .rule = {.on = true, .tolerance = figure->exact.tolerance}, .line = line_now(L)};
  for (size_t i = 0; i < r->policy->exact.len; i++)
    if (r->policy->exact.data[i].figure == figure)
      return luaL_error(L, "exact.%s is given a second time; the first is in line %d", figure->exact.name,
                        r->policy->exact.data[i].line);
  if (lua_isboolean(L, 3))
    entry.rule.on = lua_toboolean(L, 3);
  else if (lua_type(L, 3) == LUA_TNUMBER && figure->exact.kind != TB_EXACT_TEXT && lua_tonumber(L, 3) >= 0)
    entry.rule.tolerance = lua_tonumber(L, 3);
  else
    return luaL_error(L, "exact.%s must be true or false%s", figure->exact.name,
                      figure->exact.kind == TB_EXACT_TEXT ? "" : ", or a tolerance as a share (0.01 is 1%)");
  return tc_vec_push(tc_arena_alloc(r->arena), &r->policy->exact, entry) ? 0 : out_of_memory(L, r);
}

static int on_read(lua_State *L) {
  return luaL_error(L, "a policy only assigns values; it cannot read them");
}

/* Pushes a table that holds nothing: assigning to it calls `set`, reading it `get`, both with the reader and
 * the field as upvalues. */
static void push_assignable(lua_State *L, struct reader *r, lua_CFunction set, lua_CFunction get,
                            enum tb_policy_field field) {
  const struct {
    const char *event;
    lua_CFunction function;
  } events[] = {{"__newindex", set}, {"__index", get}};
  lua_newtable(L);
  lua_createtable(L, 0, 2);
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
    lua_pushlightuserdata(L, r);
    lua_pushinteger(L, (lua_Integer)field);
    lua_pushcclosure(L, events[i].function, 2);
    lua_setfield(L, -2, events[i].event);
  }
  lua_setmetatable(L, -2);
}

/* FIELD in front of ["pattern"], or exact in front of .FIGURE */
static int on_field_get(lua_State *L) {
  struct reader *r = reader_of(L);
  const char *name = name_at(L, 2);
  if (!strcmp(name, exact_name)) {
    push_assignable(L, r, on_exact_set, on_read, TB_POLICY_COUNT);
    return 1;
  }
  const enum tb_policy_field field = find_field(L, r, name);
  if (fields[field].scope == RUN)
    return luaL_error(L, "%s applies to the whole run, not to a case: %s = value", name, name);
  push_assignable(L, r, on_pattern_set, on_read, field);
  return 1;
}

/* --- running --- */

static void *allocate(void *data, void *block, size_t old_bytes, size_t bytes) {
  struct reader *r = data;
  const size_t held = block ? old_bytes : 0;
  if (!bytes) {
    free(block);
    r->memory -= held;
    return NULL;
  }
  if (bytes > held && r->memory - held + bytes > MEMORY_MAX) return NULL;
  void *moved = realloc(block, bytes);
  if (moved) r->memory += bytes - held;
  return moved;
}

static void on_steps(lua_State *L, lua_Debug *where) {
  lua_getinfo(L, "l", where);
  luaL_error(L, ":%d: this goes on for more than %d steps; a policy only assigns values", where->currentline,
             STEPS_MAX);
}

static int run_file(lua_State *L) {
  struct reader *r = lua_touserdata(L, 1);
  if (luaL_loadbufferx(L, r->text, r->length, "=", "t")) return lua_error(L);
  push_assignable(L, r, on_field_set, on_field_get, TB_POLICY_COUNT);
  lua_setupvalue(L, -2, 1);
  lua_sethook(L, on_steps, LUA_MASKCOUNT, STEPS_MAX);
  lua_call(L, 0, 0);
  return 0;
}

tc_status tb_policy_parse(struct tc_arena *arena, const char *name, const char *text, size_t length,
                          struct tb_policy *out, struct tc_error *err) {
  struct reader r = {.arena = arena, .policy = out, .text = text, .length = length};
  *out = (struct tb_policy){.path = tc_arena_text(arena, name)};
  lua_State *L = out->path ? lua_newstate(allocate, &r) : NULL;
  if (!L) return tc_fail_memory(err, "policy");
  lua_pushcfunction(L, run_file);
  lua_pushlightuserdata(L, &r);
  tc_status status = TC_OK;
  if (lua_pcall(L, 1, 0, 0)) {
    /* The chunk has no name, so that Lua cannot shorten it: a message with a line starts with ":LINE: ". */
    const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error that is no text";
    status = r.no_memory
                 ? tc_fail_memory(err, "policy")
                 : tc_fail(err, TC_ARG, "policy", "%s%s%s", name, *message == ':' ? "" : ": ", message);
  }
  lua_close(L);
  return status;
}

static const unsigned char default_text[] = {
#include "results/policy.lua.inc"
    '\0'};

const char *tb_policy_default_text(void) { return (const char *)default_text; }

tc_status tb_policy_load(struct tc_arena *arena, const char *path, struct tb_policy *out,
                         struct tc_error *err) {
  if (!path || !strcmp(path, default_name))
    return tb_policy_parse(arena, default_name, tb_policy_default_text(), sizeof default_text - 1, out, err);
  const char *why;
  FILE *in = tb_regular_open(path, &why);
  if (!in) return tc_fail(err, TC_ARG, "policy", "%s: %s", path, why);
  char *text = malloc(FILE_MAX + 1);
  errno = 0;
  const size_t length = text ? fread(text, 1, FILE_MAX + 1, in) : 0;
  tc_status status = TC_OK;
  if (!text)
    status = tc_fail_memory(err, "policy");
  else if (ferror(in))
    status = tc_fail(err, TC_ARG, "policy", "%s: %s", path, strerror(errno));
  else if (length > FILE_MAX)
    status = tc_fail(err, TC_ARG, "policy", "%s: more than %d bytes", path, FILE_MAX);
  else
    status = tb_policy_parse(arena, path, text, length, out, err);
  fclose(in);
  free(text);
  return status;
}

/* --- asking --- */

bool tb_glob(const char *pattern, const char *text) { return !fnmatch(pattern, text, FNM_NOESCAPE); }

/* A pattern is nearer to a case than the value for all, wherever in the file that stands. */
double tb_policy_value(const struct tb_policy *policy, enum tb_policy_field field, const char *case_id) {
  double value = fields[field].initial, by_pattern = 0;
  bool matched = false;
  for (size_t i = 0; i < policy->rules.len; i++) {
    const struct tb_policy_rule *rule = &policy->rules.data[i];
    if (rule->field != field) continue;
    if (!rule->pattern)
      value = rule->value;
    else if (case_id && tb_glob(rule->pattern, case_id)) {
      by_pattern = rule->value;
      matched = true;
    }
  }
  return matched ? by_pattern : value;
}

struct tb_exact_rule tb_policy_exact_rule(const void *policy, const struct tb_field *figure) {
  const struct tb_policy *p = policy;
  for (size_t i = 0; i < p->exact.len; i++)
    if (p->exact.data[i].figure == figure) return p->exact.data[i].rule;
  return (struct tb_exact_rule){true, figure->exact.tolerance};
}

static bool matches_one(const char *pattern, const char *const *ids, int n_ids) {
  for (int i = 0; i < n_ids; i++)
    if (tb_glob(pattern, ids[i])) return true;
  return false;
}

/* A case that has to be there. */
static bool demands(const struct tb_policy_rule *rule) {
  return rule->field == TB_POLICY_REQUIRED && rule->pattern && rule->value != 0;
}

const char **tb_policy_idle(struct tc_arena *arena, const struct tb_policy *policy, const char *const *ids,
                            int n_ids, int *count) {
  const char **out = tc_arena_bytes(arena, (policy->rules.len + 1) * sizeof *out);
  *count = 0;
  for (size_t i = 0; out && i < policy->rules.len; i++) {
    const struct tb_policy_rule *rule = &policy->rules.data[i];
    if (!rule->pattern || demands(rule) || matches_one(rule->pattern, ids, n_ids)) continue;
    out[*count] =
        tb_format(arena, "%s[\"%s\"] in line %d", fields[rule->field].name, rule->pattern, rule->line);
    if (!out[(*count)++]) return NULL;
  }
  return out;
}

const char **tb_policy_unmatched(struct tc_arena *arena, const struct tb_policy *policy,
                                 const char *const *ids, int n_ids, int *count) {
  const char **out = tc_arena_bytes(arena, (policy->rules.len + 1) * sizeof *out);
  *count = 0;
  for (size_t i = 0; out && i < policy->rules.len; i++) {
    const struct tb_policy_rule *rule = &policy->rules.data[i];
    if (demands(rule) && !matches_one(rule->pattern, ids, n_ids)) out[(*count)++] = rule->pattern;
  }
  return out;
}
