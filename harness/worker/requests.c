/* What a worker does at each request. Invariant: a handler adds to w->reply, or raises; what it raises
 * becomes the reply instead. To add a request: a row in requests.def and a function tb_answer_NAME here
 * (requests_count.c: where something is counted). */
#include "harness/worker/requests.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/machine/triad.h"
#include "harness/worker/description.h"
#include "harness/worker/inputs.h"
#include "harness/worker/luacall.h"
#include "harness/worker/luajson.h"
#include "tcompile.h"

static const double calls_max = 1e15; /* of one request: all whole numbers up to it are doubles */

/* To be followed by luaL_error at once. */
lua_State *tb_request_failing(lua_State *L, struct tb_serving *w, const char *kind) {
  w->kind = kind;
  return L;
}

void tb_request_need_workload(lua_State *L, struct tb_serving *w) {
  if (!w->prepared) luaL_error(tb_request_failing(L, w, "usage"), "prepare must come first");
}

const char *tb_request_need_text(lua_State *L, struct tb_serving *w, const char *field) {
  const char *text = tb_json_text(w->request, field, NULL);
  if (!text) luaL_error(tb_request_failing(L, w, "usage"), "the request lacks '%s'", field);
  return text;
}

struct tb_request_calls tb_request_need_calls(lua_State *L, struct tb_serving *w) {
  const double calls = tb_json_number(w->request, "calls", 0), warm = tb_json_number(w->request, "warm", 0);
  if (!(calls >= 1 && calls <= calls_max && warm >= 0 && warm <= calls_max))
    luaL_error(tb_request_failing(L, w, "usage"), "%s needs calls of 1 or more and warm of 0 or more",
               tb_json_text(w->request, "op", "?"));
  return (struct tb_request_calls){(int64_t)calls, (int64_t)warm};
}

/* --- starting --- */

void tb_answer_describe(lua_State *L, struct tb_serving *w) {
  const char *path = tb_request_need_text(L, w, "suite");
  tb_description_load(L, path);
  cJSON_AddItemToObject(w->reply, "description", tb_description_json(L, -1, path));
}

static void prepare_calibration(lua_State *L, struct tb_serving *w) {
  tb_calibration_close(w->calibration);
  w->calibration = tb_calibration_open();
  if (!w->calibration)
    luaL_error(tb_request_failing(L, w, "unsupported"), "the probe kernel needs AVX2, FMA and 40 MiB");
}

/* Is there the device of a case? Where tests put another in the CPU's place (tc_device_of_tests), cases of
 * the CPU run on that, and their workloads are told so. */
static void check_device(lua_State *L, struct tb_serving *w, cJSON *kase) {
  const char *device = tb_json_text(kase, "device", "cpu");
  const struct tc_context *ctx = tc_lua_context(L);
  if (strcmp(device, "cpu"))
    luaL_error(tb_request_failing(L, w, "unsupported"), "device '%s' is not built", device);
  if (ctx && ctx->device != ctx->cpu) {
    cJSON_DeleteItemFromObjectCaseSensitive(kase, "device");
    cJSON_AddStringToObject(kase, "device", ctx->device->base.name);
  }
}

void tb_answer_prepare(lua_State *L, struct tb_serving *w) {
  enum tb_role role;
  if (!tb_role_parse(tb_request_need_text(L, w, "role"), &role))
    luaL_error(tb_request_failing(L, w, "usage"), "unknown role");
  if (role == TB_ROLE_CALIBRATION) {
    prepare_calibration(L, w);
    return;
  }
  cJSON *kase = cJSON_GetObjectItemCaseSensitive(w->request, "case");
  if (!cJSON_IsObject(kase)) luaL_error(tb_request_failing(L, w, "usage"), "the request lacks 'case'");
  check_device(L, w, kase);
  tb_description_load(L, tb_request_need_text(L, w, "suite"));
  const char *backend = tb_json_text(w->request, "backend", "inductor"),
             *mode = tb_json_text(w->request, "mode", "default");
  tb_workload_make(L, lua_gettop(L), tb_request_need_text(L, w, "workload"), kase, role, backend, mode,
                   &w->workload);
  if (w->workload.unsupported)
    luaL_error(tb_request_failing(L, w, "unsupported"), "%s", w->workload.unsupported);
  w->prepared = true;
  if (w->workload.generated) cJSON_AddNumberToObject(w->reply, "calls_max", TB_GENERATED_MAX);
  if (w->workload.tolerance > 0) cJSON_AddNumberToObject(w->reply, "tolerance", w->workload.tolerance);
  if (w->workload.flops >= 0) cJSON_AddNumberToObject(w->reply, "flops", w->workload.flops);
  if (w->workload.bytes >= 0) cJSON_AddNumberToObject(w->reply, "bytes", w->workload.bytes);
}

static void add_stats(lua_State *L, struct tb_serving *w) {
  if (w->workload.role != TB_ROLE_COMPILED) return;
  tb_workload_stats(L, &w->workload);
  cJSON_AddItemToObject(w->reply, "stats", tb_json_from_lua(L, -1));
  lua_pop(L, 1);
}

/* --- calls --- */

static const struct {
  const char *counter, *name;
} evidence_rows[] = {{"cache_misses", "misses"}, {"disk_hits", "disk_hits"}, {"memory_hits", "memory_hits"}};
enum { N_EVIDENCE = sizeof evidence_rows / sizeof *evidence_rows };

static void read_evidence(lua_State *L, double values[N_EVIDENCE]) {
  tb_lua_call_function(L, "counters", 0, 1);
  for (int i = 0; i < N_EVIDENCE; i++) {
    lua_getfield(L, -1, evidence_rows[i].counter);
    values[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Time that opening the matrix library has taken in this process; 0 while nothing has needed it. */
static double library_ns(lua_State *L) {
  const struct tc_context *ctx = tc_lua_context(L);
  return ctx ? ctx->device->methods->library_opening_ns(ctx->device) : 0;
}

static void time_first(lua_State *L, struct tb_serving *w) {
  const double opened_before = library_ns(L);
  cJSON_AddNumberToObject(w->reply, "ns", tb_workload_call(L, &w->workload, NULL));
  const double opening = library_ns(L) - opened_before;
  if (opening > 0) cJSON_AddNumberToObject(w->reply, "library_ns", opening);
}

void tb_answer_first(lua_State *L, struct tb_serving *w) {
  double before[N_EVIDENCE], after[N_EVIDENCE];
  tb_request_need_workload(L, w);
  tb_serve_use_case_cpus(w);
  if (tb_json_bool(w->request, "reset", false)) tb_workload_reset(L, &w->workload);
  read_evidence(L, before);
  const bool counted = tb_json_bool(w->request, "count", false);
  if (counted)
    tb_answer_counted_first(L, w);
  else
    time_first(L, w);
  read_evidence(L, after);
  cJSON *evidence = cJSON_AddObjectToObject(w->reply, "evidence");
  for (int i = 0; i < N_EVIDENCE; i++)
    cJSON_AddNumberToObject(evidence, evidence_rows[i].name, after[i] - before[i]);
  if (!counted)
    add_stats(L, w); /* its times would make the reply of another length in each run, and move the heap */
}

void tb_answer_call(lua_State *L, struct tb_serving *w) {
  tb_request_need_workload(L, w);
  cJSON_AddNumberToObject(w->reply, "ns", tb_workload_call(L, &w->workload, NULL));
}

/* Times that a thread of this process lost its CPU to another one's, so far. */
static double preempted(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? NAN : (double)usage.ru_nivcsw;
}

void tb_answer_block(lua_State *L, struct tb_serving *w) {
  if (!w->calibration) tb_request_need_workload(L, w);
  tb_serve_use_own_cpus(w);
  const struct tb_request_calls calls = tb_request_need_calls(L, w);
  const double before = preempted();
  const double ns = w->calibration ? tb_calibration_block(w->calibration, calls.warm, calls.timed)
                                   : tb_workload_block(L, &w->workload, calls.warm, calls.timed, NULL);
  cJSON_AddNumberToObject(w->reply, "ns", ns);
  const double lost = preempted() - before;
  if (!isnan(lost)) cJSON_AddNumberToObject(w->reply, "preempted", lost);
}

void tb_answer_check(lua_State *L, struct tb_serving *w) {
  tb_request_need_workload(L, w);
  const char *why;
  if (tb_json_bool(w->request, "send", false)) {
    struct tb_sender sender = {.fd = TB_FD_EXCHANGE};
    tb_workload_send(L, &w->workload, &sender);
  }
  struct tb_sender digest = {.fd = -1};
  tb_workload_send(L, &w->workload, &digest);
  char text[TB_DIGEST_BYTES];
  snprintf(text, sizeof text, "%016" PRIx64, digest.digest);
  cJSON_AddStringToObject(w->reply, "digest", text); /* as text: 64 bits do not fit a JSON number */
  cJSON_AddBoolToObject(w->reply, "good", tb_workload_check(L, &w->workload, &why));
  if (why) cJSON_AddStringToObject(w->reply, "why", why);
}

void tb_answer_stats(lua_State *L, struct tb_serving *w) {
  tb_request_need_workload(L, w);
  add_stats(L, w);
}

/* --- the rest --- */

void tb_answer_explain(lua_State *L, struct tb_serving *w) {
  tb_request_need_workload(L, w);
  if (w->workload.role != TB_ROLE_EXPLAINED)
    luaL_error(tb_request_failing(L, w, "usage"), "explain needs the role explained");
  const char *text = tb_workload_explain(L, &w->workload);
  if (tb_json_bool(w->request, "table", false))
    cJSON_AddItemToObject(w->reply, "explanation", tb_json_from_lua(L, -2));
  else
    cJSON_AddStringToObject(w->reply, "text", text);
}

void tb_answer_inputs(lua_State *L, struct tb_serving *w) {
  tb_request_need_workload(L, w);
  const char *why = tb_inputs_write(L, &w->workload, tb_request_need_text(L, w, "path"));
  if (why) cJSON_AddStringToObject(w->reply, "why", why);
}

void tb_answer_machine(lua_State *L, struct tb_serving *w) {
  const int threads = (int)tb_json_number(w->request, "threads", 1);
  cJSON_AddNumberToObject(w->reply, "triad_bytes_per_s", tb_triad_bytes_per_s(&w->cpus, threads));
  cJSON_AddNumberToObject(w->reply, "fma_flops_per_s", tb_fma_flops_per_s(&w->cpus, threads));
  const struct tc_context *ctx = tc_lua_context(L);
  struct tc_error err = {0};
  const char *blas = ctx ? ctx->device->methods->library(ctx->device, &err) : NULL;
  cJSON_AddStringToObject(w->reply, "blas", blas ? blas : lua_pushfstring(L, "none: %s", err.message));
}

void tb_answer_quit(lua_State *L, struct tb_serving *w) {
  (void)L;
  w->leaving = true;
}
