/* `tbench doctor`: what of this machine is ready, what makes figures worse, what to install. To add a check:
 * a row in doctor.def and its function here. Exit code: pass unless something is missing that `tbench run`
 * needs. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "cache/cache.h"
#include "device/device.h"
#include "harness/base/sibling_program.h"
#include "harness/base/text.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/machine/counters.h"
#include "harness/machine/noise.h"
#include "harness/machine/topology.h"
#include "harness/plan/suite.h"
#include "harness/push/push_http.h"

enum state { READY, WORSE, MISSING, REQUIRED };
enum { DETAIL = 256, PATH = 4096, INDENT = 31 };

struct finding {
  enum state state;
  char detail[DETAIL];
  const char *advice;
};

struct patient {
  struct tc_arena *arena;
  struct tc_device *device; /* NULL: it did not open; `device_error` says why */
  struct tc_error device_error;
  struct tb_topology *topology; /* NULL: hwloc failed */
  struct tc_config config;
};

typedef struct finding (*check)(struct patient *p);

static struct finding found(enum state state, const char *advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static struct finding found(enum state state, const char *advice, const char *format, ...) {
  struct finding f = {.state = state, .advice = advice};
  va_list args;
  va_start(args, format);
  vsnprintf(f.detail, sizeof f.detail, format, args);
  va_end(args);
  return f;
}

static bool on_path(const char *program) {
  const char *path = getenv("PATH");
  char file[PATH];
  for (const char *at = path ? path : ""; *at;) {
    const size_t n = strcspn(at, ":");
    snprintf(file, sizeof file, "%.*s/%s", (int)n, at, program);
    if (!access(file, X_OK)) return true;
    at += n + (at[n] == ':');
  }
  return false;
}

static struct finding check_isa(struct patient *p) {
  if (!p->device) return found(REQUIRED, "use a machine with AVX2 and FMA", "%s", p->device_error.message);
  return found(READY, NULL, "%s, vectors of %d bytes", p->device->target.name,
               p->device->target.vector_bytes);
}

static struct finding check_blas(struct patient *p) {
  struct tc_error err = {0};
  if (!p->device) return found(MISSING, NULL, "not checked: the device did not open");
  const char *blas = p->device->methods->library(p->device, &err);
  if (blas) return found(READY, NULL, "%s", blas);
  return found(REQUIRED,
               err.status == TC_NOMEM ? "raise the limit of this shell (ulimit -v)"
                                      : "install libopenblas0-openmp",
               "%s", err.message);
}

static struct finding check_suites(struct patient *p) {
  int count;
  const char **names = tb_suite_names(p->arena, &count);
  if (!names) return found(MISSING, NULL, "out of memory");
  if (count) return found(READY, NULL, "%d found", count);
  return found(MISSING, "set TBENCH_SUITES to the folder of the suites, or name a file: suite=./FILE.lua",
               "none; `tbench list` says where it looked");
}

static struct finding check_gnuplot(struct patient *p) {
  (void)p;
  if (on_path("gnuplot")) return found(READY, NULL, "found");
  return found(MISSING, "install gnuplot-nox", "not installed: plots are only written as data and script");
}

static struct finding check_push(struct patient *p) {
  struct tc_error err = {0};
  const char *version = tb_push_http_version(p->arena, &err);
  if (version) return found(READY, NULL, "%.200s", version);
  return found(MISSING, "install libcurl4", "results cannot be sent to a dashboard: %.150s", err.message);
}

static struct finding check_serve(struct patient *p) {
  char path[PATH_MAX];
  (void)p;
  if (tb_sibling_program_find("tbench-serve", path, sizeof path)) return found(READY, NULL, "%.300s", path);
  return found(MISSING, "install libmicrohttpd-dev, libsqlite3-dev and libssl-dev, and build again",
               "tbench-serve is not built: tbench serve does not work");
}

static struct finding check_valgrind(struct patient *p) {
  (void)p;
  if (on_path("valgrind")) return found(READY, NULL, "found");
  return found(MISSING, "install valgrind", "not installed: no instruction counts, which are free of noise");
}

static struct finding check_counters(struct patient *p) {
  (void)p;
  const int n = tb_counter_count();
  struct tb_count *counts = calloc((size_t)n, sizeof *counts);
  struct tb_counting *counting = counts ? tb_counting_open() : NULL;
  struct finding f = found(MISSING, "run `tbench counters` for the reasons", "out of memory");
  if (counting) {
    int known = 0;
    tb_counting_close(counting, counts);
    for (int i = 0; i < n; i++) known += counts[i].known;
    f = found(known == n ? READY : MISSING, known == n ? NULL : "run `tbench counters` for the reasons",
              "%d of %d available", known, n);
  }
  free(counts);
  return f;
}

static struct finding check_cache(struct patient *p) {
  struct tc_cache *cache = tc_cache_open(tc_alloc_system(), p->config.cache_dir, p->config.cache_mb);
  if (!cache) return found(MISSING, NULL, "out of memory");
  struct tc_cache_stat stat;
  struct tc_error err = {0};
  struct finding f;
  const char *directory = tc_cache_directory(cache);
  if (tc_cache_stat(cache, &stat, &err))
    f = found(MISSING, "set cache_dir=DIR to a folder of yours", "%.200s", err.message);
  else if (!access(directory, F_OK) && access(directory, W_OK))
    f = found(MISSING, "set cache_dir=DIR to a folder of yours", "%.200s cannot be written", directory);
  else
    f = found(READY, NULL, "%.200s, %lld entr%s", directory, (long long)stat.entries,
              stat.entries == 1 ? "y" : "ies");
  tc_cache_close(cache);
  return f;
}

static struct finding check_memory(struct patient *p) {
  (void)p;
  static const double need = 2.0 * (1 << 30);
  struct sysinfo info;
  if (sysinfo(&info)) return found(WORSE, NULL, "unknown");
  const double free_bytes = (double)(info.freeram + info.bufferram) * info.mem_unit,
               total = (double)info.totalram * info.mem_unit;
  if (total >= need)
    return found(READY, NULL, "%.1f GiB, %.1f GiB of it unused", total / (1 << 30), free_bytes / (1 << 30));
  return found(WORSE, "use small batch sizes", "%.1f GiB: the largest cases may run out of memory",
               total / (1 << 30));
}

static const struct {
  check run;
  const char *what;
} checks[] = {
#define TB_CHECK(function, what) {function, what},
#include "harness/cli/doctor.def"
#undef TB_CHECK
};

static void tell(const char *word, const char *what, const char *detail) {
  printf("%-9s %-21s %s\n", word, what, detail);
}

/* A cause of noise: what mends it, and what the harness does about it already. */
static enum state tell_noise(int index, struct patient *p) {
  const struct tb_noise n = tb_noise_look(index, p->topology);
  tell(n.state == TB_NOISE_QUIET ? "ready" : n.state == TB_NOISE_WORSE ? "worse" : "unknown", n.what, n.seen);
  if (n.state == TB_NOISE_QUIET) return READY;
  printf("%-*s → %s\n%-*s   (already done: %s)\n", INDENT, "", n.fix, INDENT, "", n.done);
  return WORSE;
}

static int examine(struct patient *p) {
  static const char *const words[] = {
      [READY] = "ready", [WORSE] = "worse", [MISSING] = "missing", [REQUIRED] = "REQUIRED"};
  int counts[REQUIRED + 1] = {0};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    const struct finding f = checks[i].run(p);
    counts[f.state]++;
    tell(words[f.state], checks[i].what, f.detail);
    if (f.advice) printf("%-*s → %s\n", INDENT, "", f.advice);
  }
  for (int i = 0; i < tb_noise_count(); i++) counts[tell_noise(i, p)]++;
  printf("%d ready, %d make figures worse or cannot be checked, %d missing\n", counts[READY], counts[WORSE],
         counts[MISSING] + counts[REQUIRED]);
  return counts[REQUIRED] ? TB_EXIT_FAILED : TB_EXIT_PASS;
}

int tb_verb_doctor(int argc, char *const *argv) {
  struct tb_verb verb;
  struct patient p = {0};
  struct tc_error err = {0};
  if (!tb_verb_begin(&verb, "doctor", argc, argv, 0)) return TB_EXIT_USAGE;
  int code;
  p.arena = verb.arena;
  unsetenv("OPENBLAS_CORETYPE"); /* workers do not see it either */
  tc_config_default(&p.config);
  if (tc_config_from_environment(&p.config, &err)) {
    code = tb_verb_usage("doctor", "%s", err.message);
  } else {
    if (tc_device_cpu_open(tc_alloc_system(), p.config.isa, 0, &p.device, &p.device_error)) p.device = NULL;
    if (tb_topology_open(NULL, &p.topology, &err)) p.topology = NULL;
    code = examine(&p);
    if (p.topology) tb_topology_close(p.topology);
    if (p.device) p.device->methods->close(p.device);
  }
  tb_verb_end(&verb);
  return code;
}
