/* Asks the host that workers run on for its facts, and a worker for the figures that must be measured. */
#include "harness/run/environment.h"

#include <lua.h>
#include <string.h>
#include <time.h>

#include "harness/base/build.h"
#include "harness/base/text.h"
#include "harness/run/role.h"

static const double machine_timeout_s =
    600; /* a guard alone: its threads, where others have the cores too, were seen to take 100 s */

static bool warn(struct tc_arena *arena, struct tb_environment *out, const char *text) {
  return text && tc_vec_push(tc_arena_alloc(arena), &out->warnings, text);
}

/* More threads than cores are what was asked for, and yet figures of them are no figures of the cores. */
static bool warn_of_crowd(struct tc_arena *arena, const struct tb_place *place, struct tb_environment *out) {
  if (place->threads <= place->cores) return true;
  const char *how = place->threads > place->pus ? "they take turns" : "siblings share a core";
  return warn(arena, out,
              tb_format(arena, "%d threads on %d core%s: %s", place->threads, place->cores,
                        tb_plural(place->cores), how));
}

/* What is known without measuring: names, versions and warnings of the machine that workers run on. */
static tc_status read_machine(struct tb_run *run, struct tb_environment *out, struct tc_error *err) {
  struct tc_arena *arena = run->arena;
  struct tb_host host;
  const tc_status status = run->transport->kind->host(run->transport, run->topology, arena, &host, err);
  if (status) return status;
  *out = (struct tb_environment){.host = host.name,
                                 .os = host.os,
                                 .kernel = host.kernel,
                                 .llvm = LLVM_VERSION_STRING,
                                 .lua = LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE,
                                 .cpu = {.model = host.cpu_model,
                                         .governor = host.governor,
                                         .packages = host.machine.packages,
                                         .numa = host.machine.numa,
                                         .cores = host.machine.cores,
                                         .pus = host.machine.pus},
                                 .topology = host.topology,
                                 .topology_xml = host.topology_xml};
  bool good = true;
  for (size_t i = 0; i < host.cpu_features.len; i++)
    good = good && tc_vec_push(tc_arena_alloc(arena), &out->cpu.features, host.cpu_features.data[i]);
  for (size_t i = 0; good && i < host.noise.len; i++) {
    const struct tb_noise *cause = &host.noise.data[i];
    const char *warning = tb_noise_warning(arena, cause);
    good = warning && tc_vec_push(tc_arena_alloc(arena), &out->noise, *cause) &&
           (!*warning || warn(arena, out, warning));
  }
  return good ? TC_OK : tc_fail_memory(err, "environment");
}

const char *tb_time_text(struct tc_arena *arena, bool file) {
  char text[64];
  struct tm parts;
  const time_t now = time(NULL);
  gmtime_r(&now, &parts);
  strftime(text, sizeof text, file ? "%Y-%m-%dT%H-%M-%S" : "%Y-%m-%dT%H:%M:%SZ", &parts);
  return tc_arena_text(arena, text);
}

/* Triad, peak and library of the part of the machine that a case uses. */
static tc_status measure_machine(struct tb_run *run, const struct tb_case *kase, struct tb_environment *out,
                                 struct tc_error *err) {
  struct tb_process worker;
  struct tb_launch launch = tb_run_launch(run, kase, NULL);
  launch.memory_mb = 0; /* the machine's figures, not a suite's: memory_mb= is no limit on them */
  launch.suite = "machine";
  cJSON *reply = NULL;
  tc_status status = tb_process_start(&worker, &launch, &run->interrupt, machine_timeout_s, err);
  if (!status) {
    cJSON *request = tb_process_request(TB_REQUEST_machine);
    cJSON_AddNumberToObject(request, "threads", kase->threads);
    status = tb_process_ask(&worker, request, machine_timeout_s, &reply, err);
  }
  if (!status) {
    out->triad_bytes_per_s = tb_json_number(reply, "triad_bytes_per_s", 0);
    out->fma_flops_per_s = tb_json_number(reply, "fma_flops_per_s", 0);
    out->blas = tc_arena_text(run->arena, tb_json_text(reply, "blas", ""));
  } else if (status != TC_INTERRUPTED) {
    status = warn(run->arena, out, tb_format(run->arena, "triad and peak were not measured: %s", worker.why))
                 ? TC_OK
                 : TC_NOMEM;
  }
  if (status == TC_OK && launch.place->binds && !worker.link.bound && !worker.outcome)
    status = warn(run->arena, out,
                  tb_format(run->arena, "not bound to %s: the system refused", launch.place->cpus))
                 ? TC_OK
                 : TC_NOMEM;
  cJSON_Delete(reply);
  tb_process_stop(&worker);
  return status;
}

static int find_environment(const struct tb_run *run, const struct tb_case *kase) {
  for (size_t i = 0; i < run->result.environments.len; i++) {
    const struct tb_environment *e = &run->result.environments.data[i];
    if (!strcmp(e->bound_to, kase->topology) && !strcmp(e->cpus, kase->place->cpus) &&
        e->threads == kase->threads)
      return (int)i;
  }
  return -1;
}

tc_status tb_environments_make(struct tb_run *run, struct tc_error *err) {
  for (size_t i = 0; i < run->result.cases.len; i++) {
    struct tb_case_result *r = &run->result.cases.data[i];
    r->env = find_environment(run, r->kase);
    if (r->env >= 0) continue;
    struct tb_environment environment;
    tb_progress_show(&run->progress, "machine", "triad");
    tc_status status = read_machine(run, &environment, err);
    if (status) return status;
    if (!warn_of_crowd(run->arena, r->kase->place, &environment)) return tc_fail_memory(err, "environment");
    environment.bound_to = r->kase->topology;
    environment.cpus = r->kase->place->cpus;
    environment.threads = r->kase->threads;
    status = measure_machine(run, r->kase, &environment, err);
    if (status) return status;
    r->env = (int)run->result.environments.len;
    if (!tc_vec_push(tc_arena_alloc(run->arena), &run->result.environments, environment))
      return tc_fail_memory(err, "environment");
  }
  return TC_OK;
}
