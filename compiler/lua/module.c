/* The Lua module `tbench`: one context a Lua state.
 *
 * Invariants:
 *  1. The module lies in a userdata in the registry, made before any tensor: Lua finalizes in reverse order,
 *     so that it closes the device and the cache after the last tensor has gone. After that its functions
 *     raise.
 *  2. Opening twice gives a new table over the same context.
 *  3. The table and all below it are plain tables with plain fields, so that capture reads them without
 *     running code. What loads late (tb.nn, opt.lazy_library) comes with the first field that the table
 *     lacks, and the metatable that saw to it goes then; capture asks for it by tc_host. */
#include <string.h>

#include "base/sanitized.h"
#include "cache/cache.h"
#include "cache/key.h"
#include "capture/capture.h"
#include "lua/module.h"

static const char module_key = 'm', settings_key = 's', late_key = 'l';

struct settings {
  struct tc_config config;
  int threads;
};

static const unsigned char nn_source[] = {
#include "lua/tensor/nn.lua.inc"
};

static const struct tc_codegen *const codegens[] = {&tc_codegen_llvm, NULL};

struct tc_lua_module *tc_lua_find_module(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &module_key);
  struct tc_lua_module *m = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return m && m->ctx.device ? m : NULL;
}

struct tc_context *tc_lua_context(lua_State *L) {
  struct tc_lua_module *m = tc_lua_find_module(L);
  return m ? &m->ctx : NULL;
}

uint64_t tc_generators(const struct tc_context *ctx) { return tc_cache_generators(ctx->codegens); }

struct tc_lua_module *tc_lua_module(lua_State *L) {
  struct tc_lua_module *m = tc_lua_find_module(L);
  if (!m) luaL_error(L, "tbench is not open in this state");
  return m;
}

struct tc_lua_module *tc_lua_closure_module(lua_State *L) {
  struct tc_lua_module *m = lua_touserdata(L, lua_upvalueindex(2));
  if (__builtin_expect(!m->ctx.device, 0)) luaL_error(L, "tbench is closed");
  return m;
}

static void push_upvalues(lua_State *L, const void *data) {
  lua_pushlightuserdata(L, (void *)(uintptr_t)data);
  lua_pushlightuserdata(L, tc_lua_module(L));
  tc_lua_push_metatable(L);
}

void tc_lua_closure(lua_State *L, lua_CFunction function, const void *data) {
  push_upvalues(L, data);
  lua_pushcclosure(L, function, TC_LUA_METATABLE);
}

void tc_lua_closure_over(lua_State *L, lua_CFunction function, const void *data) {
  push_upvalues(L, data);
  lua_rotate(L, -(TC_LUA_METATABLE + 1), -1); /* the extra value, below them, becomes the last */
  lua_pushcclosure(L, function, TC_LUA_EXTRA);
}

void tc_lua_configure(lua_State *L, const struct tc_config *config, int threads) {
  struct settings *settings = lua_newuserdatauv(L, sizeof *settings, 0);
  settings->config = *config;
  settings->threads = threads;
  lua_rawsetp(L, LUA_REGISTRYINDEX, &settings_key);
}

static tc_status read_settings(lua_State *L, struct settings *out, struct tc_error *err) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &settings_key);
  const struct settings *given = lua_touserdata(L, -1);
  if (given) *out = *given;
  lua_pop(L, 1);
  if (given) return TC_OK;
  out->threads = 0;
  tc_config_default(&out->config);
  return tc_config_from_environment(&out->config, err);
}

static int module_gc(lua_State *L) {
  struct tc_lua_module *m = lua_touserdata(L, 1);
  struct tc_device *device = m->ctx.device, *cpu = m->ctx.cpu;
  if (m->ctx.cache) tc_cache_close(m->ctx.cache); /* its compiled objects unload from the device */
  m->ctx.cache = NULL;
  m->ctx.device = m->ctx.cpu = NULL;
  if (device) device->methods->close(device);
  if (cpu && cpu != device) cpu->methods->close(cpu);
  tc_reserve_close(&m->reserve);
  return 0;
}

/* Off (opt.lazy_library): a module of code begun once, so that the generator's registries and target are
 * there before anyone compiles. */
static tc_status warm_generators(const struct tc_context *ctx, struct tc_error *err) {
  tc_status status = TC_OK;
  for (int i = 0; codegens[i] && !status; i++) {
    struct tc_module *module = NULL;
    status = codegens[i]->begin(ctx->alloc, &ctx->device->target, &ctx->config, &module, err);
    if (!status) codegens[i]->discard(module);
  }
  return status;
}

/* Large blocks that are kept for the next compile: what a capture of some 100,000 operations fills. */
enum { KEPT_BYTES = TC_SANITIZED ? 0 : 128 << 20 };

static tc_status open_context(struct tc_lua_module *m, const struct settings *settings,
                              struct tc_error *err) {
  struct tc_context *ctx = &m->ctx;
  const struct tc_alloc *alloc = tc_alloc_system();
  tc_reserve_open(&m->reserve, alloc, KEPT_BYTES);
  ctx->alloc = &m->reserve.alloc;
  ctx->config = settings->config;
  ctx->codegens = codegens;
  tc_status status = tc_log_parse(&ctx->log, ctx->config.logs, err);
  if (status) return status;
  ctx->cache = tc_cache_open(alloc, ctx->config.cache_dir, ctx->config.cache_mb);
  if (ctx->cache && ctx->config.share_choices) tc_cache_share_choices(ctx->cache);
  if (!ctx->cache) return tc_fail(err, TC_NOMEM, "lua", "no memory for the cache");
  status = tc_device_cpu_open(alloc, ctx->config.isa, settings->threads, &ctx->cpu, err);
  if (!status) status = tc_device_of_tests(alloc, ctx->cpu, &ctx->device, err);
  return status || ctx->config.opt_lazy_library ? status : warm_generators(ctx, err);
}

/* Makes the module of this state, unless it is there. */
static void open_module(lua_State *L) {
  struct settings settings;
  struct tc_error err = {.message = ""};
  if (tc_lua_find_module(L)) return;
  struct tc_lua_module *m = lua_newuserdatauv(L, sizeof *m, 0);
  memset(m, 0, sizeof *m);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, module_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  tc_status status = read_settings(L, &settings, &err);
  if (!status) status = open_context(m, &settings, &err);
  if (status) {
    lua_pushfstring(L, "tbench: %s", err.message[0] ? err.message : tc_status_text(status));
    tc_lua_raise_top(L, status);
  }
  m->default_dtype = TC_F32;
  tc_lua_fill_host(&m->host);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &module_key);
  lua_createtable(L, 0, 0);
  tc_lua_fill_metatable(L);
  lua_pop(L, 1);
  tc_lua_gc_open(L, m);
  tc_capture_prepare(L);
}

/* Adds the tensor functions to the table at the stack top. */
static void add_functions(lua_State *L, bool functional) {
  for (int i = 0; i < tc_function_count(); i++) {
    const struct tc_function *f = tc_function_at(i);
    if (functional ? !f->is_functional : !f->is_function) continue;
    tc_lua_push_function(L, f);
    lua_setfield(L, -2, f->name);
  }
}

/* Runs nn.lua with (module, functional); it returns the table nn. Stack: module table at the top. */
static void add_nn(lua_State *L) {
  if (luaL_loadbufferx(L, (const char *)nn_source, sizeof nn_source, TC_LUA_NN_CHUNK, "t") != LUA_OK)
    lua_error(L);
  lua_pushvalue(L, -2);
  lua_newtable(L);
  add_functions(L, true);
  lua_call(L, 2, 1);
  lua_setfield(L, -2, "nn");
}

bool tc_lua_load_late(lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &late_key);
  const bool is_late = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  if (!is_late) return false;
  lua_pushvalue(L, index);
  add_nn(L);
  lua_pushnil(L);
  lua_setmetatable(L, -2); /* it is whole now */
  lua_pop(L, 1);
  return true;
}

/* __index of the module (module, key), __pairs of it (module). */
static int late_field(lua_State *L) {
  tc_lua_load_late(L, 1);
  lua_settop(L, 2);
  lua_rawget(L, 1);
  return 1;
}
static int late_pairs(lua_State *L) {
  tc_lua_load_late(L, 1);
  lua_getglobal(L, "next");
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

/* The table at the stack top gets tb.nn, now or when it is asked for. Off: now. */
static void open_nn(lua_State *L) {
  static const luaL_Reg events[] = {{"__index", late_field}, {"__pairs", late_pairs}, {NULL, NULL}};
  if (!tc_lua_module(L)->ctx.config.opt_lazy_library) {
    add_nn(L);
    return;
  }
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &late_key) == LUA_TNIL) {
    lua_pop(L, 1);
    luaL_newlib(L, events);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &late_key);
  }
  lua_setmetatable(L, -2);
}

int luaopen_tbench(lua_State *L) {
  luaL_checkversion(L);
  open_module(L);
  lua_newtable(L);
  add_functions(L, false);
  tc_lua_open_create(L);
  tc_lua_open_compile(L);
  open_nn(L);
  return 1;
}
