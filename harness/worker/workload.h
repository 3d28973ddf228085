/* Worker side of one case: the function, its arguments, its calls, and the newest call's results.
 *
 * All of these are called under lua_pcall on the state they belong to and raise Lua errors. Values live in
 * the registry. Threads: that of the Lua state. */
#ifndef TB_WORKLOAD_H
#define TB_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>
#include <lua.h>

#include "harness/wire/exchange.h"

enum tb_role {
  TB_ROLE_BASELINE,
  TB_ROLE_COMPILED,
  TB_ROLE_REFERENCE,
  TB_ROLE_EXPLAINED,
  TB_ROLE_CALIBRATION /* no workload: calibration.h */,
  TB_ROLE_COUNT
};
const char *tb_role_name(enum tb_role role);
bool tb_role_parse(const char *name, enum tb_role *role);

/* What counts the calls and nothing else: called right before the first of them and right behind the last. */
struct tb_stretch {
  void *self;
  void (*begin)(void *self), (*end)(void *self);
};

enum {
  TB_ARGUMENTS_MAX = 32,
  TB_GENERATED_MAX = 64 /* argument lists made ahead of a block by args = function(i) */
};

struct tb_workload {
  enum tb_role role;
  int fn;              /* registry reference of what is called: the function, or the compiled object */
  int parts;           /* list of compiled objects, where the function calls them (parts.h), or LUA_NOREF */
  int args;            /* the list, or the function that makes call i's list */
  int check;           /* the suite's own check(result), or LUA_NOREF */
  int results;         /* list of the newest call's results, with .n */
  int last_args;       /* list of its arguments */
  double tolerance;    /* that the suite allows the baseline; 0: the table's */
  double flops, bytes; /* of one call, as the suite says; -1: it does not */
  const char *unsupported;                     /* why the suite lists it and cannot give it; NULL: it can */
  bool generated;                              /* args is a function */
  int64_t calls;                               /* made so far */
  bool was_reset;                              /* the next call is the first after a reset */
  uint64_t argument_digests[TB_ARGUMENTS_MAX]; /* of the newest arguments, before a call changed them */
};

/* Makes the workload of a suite's description at `suite` (an index) for a case; `seed` reaches tb.manual_seed
 * first. For TB_ROLE_COMPILED the function goes through tb.compile with the workload's options, `backend` and
 * `mode`, for TB_ROLE_EXPLAINED through tb.explain. */
void tb_workload_make(lua_State *L, int suite, const char *name, const cJSON *kase, enum tb_role role,
                      const char *backend, const char *mode, struct tb_workload *out);
/* For TB_ROLE_EXPLAINED, whose function is tb.explain's: calls it and leaves the explanation and its text on
 * the stack. */
const char *tb_workload_explain(lua_State *L, struct tb_workload *w);
/* One call, with the digests of its arguments taken before it; returns its time in nanoseconds. `stretch` may
 * be NULL. */
double tb_workload_call(lua_State *L, struct tb_workload *w, const struct tb_stretch *stretch);
/* `warm` calls that are not timed, then `calls` (1 or more), in the stretch (may be NULL); returns the time
 * of the latter in nanoseconds. */
double tb_workload_block(lua_State *L, struct tb_workload *w, int64_t warm, int64_t calls,
                         const struct tb_stretch *stretch);
/* Forgets what the compiled object has learnt; in-memory and disk caches stay. */
void tb_workload_reset(lua_State *L, struct tb_workload *w);
/* Pushes tb.stats of the compiled object, or of the compiled parts together. */
void tb_workload_stats(lua_State *L, struct tb_workload *w);
/* Sends results and arguments of the newest call (see exchange.h). */
void tb_workload_send(lua_State *L, struct tb_workload *w, struct tb_sender *sender);
/* The suite's own check on the newest results; true where it has none. A string is its reason. */
bool tb_workload_check(lua_State *L, struct tb_workload *w, const char **why);

#endif
