/* Reads the machine from /proc, /sys, uname and hwloc; asks a worker for the figures that must be
 * measured. */
#include "harness/run/environment.h"

#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/build.h"
#include "harness/base/system_file.h"
#include "harness/base/text.h"
#include "harness/run/role.h"

enum { LINE_BYTES = 8192 };
static const double machine_timeout_s =
    600; /* a guard alone: its threads, where others have the cores too, were seen to take 100 s */

/* Features that decide on the code that is generated and the library kernels that are chosen. */
static const char *const features[] = {"sse4_2",      "avx",         "avx2",        "fma",      "f16c",
                                       "bmi2",        "avx512f",     "avx512bw",    "avx512dq", "avx512vl",
                                       "avx512_bf16", "avx512_fp16", "avx512_vnni", "avx_vnni", "amx_tile",
                                       "amx_bf16",    "amx_int8"};

/* The text after `key` in the first line of a file that begins with it; with quotes taken off. In the arena,
 * or NULL. */
static const char *value_of(struct tc_arena *arena, const char *path, const char *key) {
  char line[LINE_BYTES];
  if (!tb_system_line(path, key, line, sizeof line)) return NULL;
  char *text = line + strlen(key);
  text += strspn(text, "\t :=\"");
  text[strcspn(text, "\"")] = '\0';
  return tc_arena_text(arena, text);
}

static bool has_word(const char *text, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at += length)
    if ((at == text || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
  return false;
}

static bool read_cpu(struct tc_arena *arena, struct tb_topology *topology, struct tb_cpu *out) {
  char governor[64];
  const struct tb_machine machine = tb_topology_machine(topology);
  *out = (struct tb_cpu){
      .packages = machine.packages, .numa = machine.numa, .cores = machine.cores, .pus = machine.pus};
  out->model = value_of(arena, "/proc/cpuinfo", "model name");
  if (tb_system_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", governor, sizeof governor))
    out->governor = tc_arena_text(arena, governor);
  const char *flags = value_of(arena, "/proc/cpuinfo", "flags");
  for (size_t i = 0; flags && i < sizeof features / sizeof *features; i++)
    if (has_word(flags, features[i]) && !tc_vec_push(tc_arena_alloc(arena), &out->features, features[i]))
      return false;
  return true;
}

static bool warn(struct tc_arena *arena, struct tb_environment *out, const char *text) {
  return text && tc_vec_push(tc_arena_alloc(arena), &out->warnings, text);
}

static bool read_noise(struct tc_arena *arena, struct tb_topology *topology, struct tb_environment *out) {
  for (int i = 0; i < tb_noise_count(); i++) {
    const struct tb_noise cause = tb_noise_look(i, topology);
    const char *warning = tb_noise_warning(arena, &cause);
    if (!warning || !tc_vec_push(tc_arena_alloc(arena), &out->noise, cause) ||
        (*warning && !warn(arena, out, warning)))
      return false;
  }
  return true;
}

/* More threads than cores are what was asked for, and yet figures of them are no figures of the cores. */
static bool warn_of_crowd(struct tc_arena *arena, const struct tb_place *place, struct tb_environment *out) {
  if (place->threads <= place->cores) return true;
  const char *how = place->threads > place->pus ? "they take turns" : "siblings share a core";
  return warn(arena, out,
              tb_format(arena, "%d threads on %d core%s: %s", place->threads, place->cores,
                        tb_plural(place->cores), how));
}

/* What is known without measuring: names, versions and warnings of this machine. False: memory is out. */
static bool read_machine(struct tc_arena *arena, struct tb_topology *topology, struct tb_environment *out) {
  char host[256] = "";
  struct utsname system;
  *out = (struct tb_environment){.llvm = LLVM_VERSION_STRING,
                                 .lua = LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE};
  gethostname(host, sizeof host - 1);
  out->host = tc_arena_text(arena, host);
  if (!uname(&system)) out->kernel = tb_format(arena, "%s %s", system.sysname, system.release);
  out->os = value_of(arena, "/etc/os-release", "PRETTY_NAME");
  out->topology = tb_topology_line(topology, arena);
  out->topology_xml = tb_topology_xml(topology, arena);
  return out->host && read_cpu(arena, topology, &out->cpu) && read_noise(arena, topology, out);
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
    if (!read_machine(run->arena, run->topology, &environment) ||
        !warn_of_crowd(run->arena, r->kase->place, &environment))
      return tc_fail(err, TC_NOMEM, "environment", "out of memory");
    environment.bound_to = r->kase->topology;
    environment.cpus = r->kase->place->cpus;
    environment.threads = r->kase->threads;
    const tc_status status = measure_machine(run, r->kase, &environment, err);
    if (status) return status;
    r->env = (int)run->result.environments.len;
    if (!tc_vec_push(tc_arena_alloc(run->arena), &run->result.environments, environment))
      return tc_fail(err, TC_NOMEM, "environment", "out of memory");
  }
  return TC_OK;
}
