/* The explicit context: first argument of whatever needs more than its operands.
 *
 * One context a Lua state (or a C embedder); used by one thread at a time. Compile threads get what
 * they need (target, kernel) by argument and never touch the context. It owns nothing below: who
 * made the device, the cache and the generators frees them after the context's last user. */
#ifndef TC_BASE_CONTEXT_H
#define TC_BASE_CONTEXT_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/config.h"
#include "base/log.h"

struct tc_device;
struct tc_codegen;
struct tc_cache;

/* Philox 4x32-10 generator state: an operation that draws takes one `next` and adds one. */
struct tc_rng {
  uint64_t seed, next;
};

/* Counted by the compiler itself; the harness asserts the state of a compile on them. */
enum { TC_MAX_BREAK_REASONS = 32 };
struct tc_counters {
  uint64_t compiles, cache_misses, disk_hits, memory_hits, disk_bad_entries;
  uint64_t guard_failures, recompiles, graph_breaks, eager_fallbacks, llvm_modules;
  uint64_t searches;                     /* matrix products that were tried in each way (tune/) */
  uint64_t breaks[TC_MAX_BREAK_REASONS]; /* graph_breaks by reason: enum tc_break_reason */
};

/* Who is told which stage of a compile runs, as to count instructions by stage. Stages lie in one another;
 * names are static. */
struct tc_stage_watch {
  void *self;
  void (*enter)(void *self, const char *stage);
  void (*leave)(void *self);
};

struct tc_context {
  const struct tc_alloc *alloc;
  struct tc_config config;
  struct tc_log log;
  struct tc_rng rng;
  struct tc_counters counters;
  struct tc_device *device;                 /* on which tensors are created, and graphs run */
  struct tc_device *cpu;                    /* `device`, or beside it; NULL: no more than `device` */
  const struct tc_codegen *const *codegens; /* in order of preference, NULL-terminated */
  struct tc_cache *cache;                   /* NULL: no cache */
  const struct tc_stage_watch
      *watch; /* NULL: nobody; what it costs then is this test. While somebody counts, times mean nothing. */
};

static inline void tc_stage_enter(const struct tc_context *ctx, const char *stage) {
  if (ctx->watch) ctx->watch->enter(ctx->watch->self, stage);
}
static inline void tc_stage_leave(const struct tc_context *ctx) {
  if (ctx->watch) ctx->watch->leave(ctx->watch->self);
}

#endif
