/* Instruction counts of one case of a session. Invariants:
 * 1. Nothing here changes the outcome of a case: what cannot be counted is null, with the reason.
 * 2. The processes are counted alike in every run: their arguments and requests hold no time, number or name
 *    that differs in length, and one thread makes the code (with several, which of them waits for which is
 *    chance).
 * 3. A first call counts as cold, disk or memory only where the compiler's own counters do not contradict
 * it. */
#include <math.h>
#include <string.h>

#include "harness/base/folder.h"
#include "harness/run/session.h"
#include "harness/run/states.h"

enum { WARM_CALLS = 1, STEADY_CALLS_MAX = 100 };
static const double steady_instructions = 2e6; /* of all counted steady calls, where one has fewer */
static const double slowdown = 20; /* of a process under callgrind: its time limit is as many times longer */
static const struct {
  const char *name, *value;
} switches[] = {{"isa", "avx2"} /* valgrind knows no AVX-512 */, {"compile_threads", "1"}};

struct counting {
  struct tb_session *s;
  struct tb_member *m;
  struct tb_case kase; /* the member's, with the switches above */
  const char *folder;  /* of valgrind's files, and of the cache that both processes share */
  struct tb_process process;
  struct tb_prepared prepared;
  double timeout_s;
};

static struct tb_instruction_count *count_of(const struct counting *c, enum tb_counted counted) {
  return &c->m->result->instructions.counts[counted];
}

/* All that is not counted yet has this reason. */
static void give_reason(const struct counting *c, const char *why) {
  for (int i = 0; i < TB_COUNTED_COUNT; i++) {
    struct tb_instruction_count *count = count_of(c, (enum tb_counted)i);
    if (!count->known && !count->why) count->why = tb_session_text(c->s, why);
  }
}

static tc_status start(struct counting *c) {
  struct tb_launch launch = tb_run_launch(c->s->run, &c->kase, c->folder);
  launch.callgrind = c->folder;
  launch.program = c->kase.program;
  return tb_role_launch(c->s->run, &c->kase, TB_ROLE_COMPILED, &launch, c->timeout_s, &c->process,
                        &c->prepared, c->s->err);
}

/* --- replies --- */

static tc_status read_count(struct counting *c, const cJSON *reply, double calls,
                            struct tb_instruction_count *out) {
  *out = (struct tb_instruction_count){.known = false};
  const cJSON *json = cJSON_GetObjectItemCaseSensitive(reply, "instructions"),
              *stages = cJSON_GetObjectItemCaseSensitive(json, "stages");
  out->total = tb_json_number(json, "total", NAN) / calls;
  out->known = out->total > 0;
  if (!out->known) out->why = "callgrind counted nothing";
  for (const cJSON *item = stages ? stages->child : NULL; item; item = item->next) {
    const struct tb_stage_count stage = {tb_session_text(c->s, item->string), item->valuedouble};
    if (!tc_vec_push(tc_arena_alloc(c->s->run->arena), &out->stages, stage))
      return tb_session_no_memory(c->s);
  }
  return TC_OK;
}

/* A backend without a cache is cold in every process, and counts no misses. */
static const char *contradiction(struct counting *c, enum tb_counted counted, const cJSON *reply) {
  static const enum tb_state states[] = {TB_STATE_COLD, TB_STATE_DISK, TB_STATE_MEMORY};
  const cJSON *json = cJSON_GetObjectItemCaseSensitive(reply, "evidence");
  const struct tb_evidence evidence = {true, tb_json_number(json, "misses", 0),
                                       tb_json_number(json, "disk_hits", 0),
                                       tb_json_number(json, "memory_hits", 0)};
  if (counted == TB_COUNTED_COLD && !evidence.disk_hits && !evidence.memory_hits) return NULL;
  return tb_state_contradiction(c->s->run->arena, states[counted], &evidence);
}

static tc_status first_call(struct counting *c, enum tb_counted counted) {
  cJSON *reply, *request = tb_process_request(TB_REQUEST_first);
  cJSON_AddBoolToObject(request, "count", true);
  if (counted == TB_COUNTED_MEMORY) cJSON_AddBoolToObject(request, "reset", true);
  tc_status status = tb_process_ask(&c->process, request, c->timeout_s, &reply, c->s->err);
  if (status) return status;
  struct tb_instruction_count *out = count_of(c, counted);
  out->why = contradiction(c, counted, reply);
  if (!out->why) status = read_count(c, reply, 1, out);
  cJSON_Delete(reply);
  return status;
}

static tc_status count_calls(struct counting *c, double warm, double calls,
                             struct tb_instruction_count *out) {
  cJSON *reply, *request = tb_process_request(TB_REQUEST_instructions);
  cJSON_AddNumberToObject(request, "warm", warm);
  cJSON_AddNumberToObject(request, "calls", calls);
  tc_status status = tb_process_ask(&c->process, request, c->timeout_s, &reply, c->s->err);
  if (status) return status;
  status = read_count(c, reply, calls, out);
  cJSON_Delete(reply);
  return status;
}

/* One call says how many calls the mean is over. */
static tc_status steady_calls(struct counting *c) {
  struct tb_instruction_count *out = count_of(c, TB_COUNTED_STEADY);
  const double most = fmin(STEADY_CALLS_MAX, c->prepared.calls_max);
  tc_status status = count_calls(c, fmin(WARM_CALLS, most - 1), 1, out);
  double calls = 1;
  if (!status && out->known) calls = fmax(1, fmin(most, ceil(steady_instructions / out->total)));
  if (!status && calls > 1) status = count_calls(c, 0, calls, out);
  c->m->result->instructions.steady_calls = calls;
  return status;
}

/* --- the processes --- */

static tc_status cold_process(struct counting *c) {
  tc_status status = start(c);
  if (!status) status = first_call(c, TB_COUNTED_COLD);
  return status ? status : first_call(c, TB_COUNTED_MEMORY);
}

static tc_status disk_process(struct counting *c) {
  tc_status status = start(c);
  if (!status) status = first_call(c, TB_COUNTED_DISK);
  return status ? status : steady_calls(c);
}

static tc_status run_process(struct counting *c, tc_status (*steps)(struct counting *)) {
  const tc_status status = steps(c);
  if (status && !tb_session_fatal(status))
    give_reason(c,
                tb_format(c->s->run->arena, "%s: %s", tb_outcome_text(c->process.outcome), c->process.why));
  tb_process_stop(&c->process);
  return tb_session_fatal(status) ? status : TC_OK;
}

static tc_status make_folder(struct counting *c) {
  c->folder = tb_format(c->s->run->arena, "%s-callgrind", c->m->cache_dir);
  return c->folder ? tb_folder_make(c->folder, c->s->err) : TC_NOMEM;
}

tc_status tb_session_instructions(struct tb_session *s, struct tb_member *m) {
  struct counting c = {.s = s, .m = m, .kase = *m->kase, .timeout_s = slowdown * s->timeout_s};
  m->result->instructions.asked = true;
  if (m->kase->peer) {
    give_reason(&c, "instructions of a peer are not counted");
    return TC_OK;
  }
  tc_status status = TC_OK;
  for (size_t i = 0; !status && i < sizeof switches / sizeof *switches; i++)
    status = tc_config_set(&c.kase.config, switches[i].name, switches[i].value, s->err);
  if (!status) status = make_folder(&c);
  if (!status) status = run_process(&c, cold_process);
  if (!status) status = run_process(&c, disk_process);
  if (status && !tb_session_fatal(status)) give_reason(&c, s->err->message);
  tb_folder_remove(c.folder);
  give_reason(&c, "not reached");
  return tb_session_fatal(status) ? status : TC_OK;
}
