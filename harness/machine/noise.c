/* Looking at the causes of noise. Invariants:
 * 1. What cannot be read is unknown, never quiet.
 * 2. Nothing is measured and nothing waits: files of /proc and /sys alone.
 * 3. Whether a cause makes figures worse is decided in its see_NAME and nowhere else.
 * To add a cause: a row in noise.def and a function see_NAME here. */
#include "harness/machine/noise.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/base/system_file.h"
#include "harness/base/text.h"

enum { LINE = 8192, PATH = 4096 };
static const double busy_load = 0.25 /* a core */, much_steal = 0.001, much_written_kib = 64 * 1024;
static const char cpu_folder[] = "/sys/devices/system/cpu";

struct sight {
  enum tb_noise_state state;
  char seen[TB_NOISE_SEEN_BYTES];
};

static struct sight sight(enum tb_noise_state state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static struct sight sight(enum tb_noise_state state, const char *format, ...) {
  struct sight s = {.state = state};
  va_list args;
  va_start(args, format);
  vsnprintf(s.seen, sizeof s.seen, format, args);
  va_end(args);
  return s;
}

static bool read_cpu(const char *file, char *line, size_t bytes) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/%s", cpu_folder, file);
  return tb_system_line(path, "", line, bytes);
}

static struct sight see_governor(struct tb_topology *topology) {
  char governor[64];
  (void)topology;
  if (!read_cpu("cpu0/cpufreq/scaling_governor", governor, sizeof governor))
    return sight(TB_NOISE_UNKNOWN, "none visible: the firmware or a hypervisor decides");
  if (!strcmp(governor, "performance")) return sight(TB_NOISE_QUIET, "performance");
  return sight(TB_NOISE_WORSE, "%s: clocks change while measuring", governor);
}

static struct sight see_turbo(struct tb_topology *topology) {
  char value[16];
  bool on;
  (void)topology;
  if (read_cpu("intel_pstate/no_turbo", value, sizeof value))
    on = *value == '0';
  else if (read_cpu("cpufreq/boost", value, sizeof value))
    on = *value == '1';
  else
    return sight(TB_NOISE_UNKNOWN, "not visible");
  return on ? sight(TB_NOISE_WORSE, "on: clocks depend on heat and on the other cores")
            : sight(TB_NOISE_QUIET, "off");
}

static struct sight see_frequency(struct tb_topology *topology) {
  char now[32];
  (void)topology;
  if (!read_cpu("cpu0/cpufreq/scaling_cur_freq", now, sizeof now))
    return sight(TB_NOISE_UNKNOWN, "not readable: a slower clock looks like slower code");
  return sight(TB_NOISE_QUIET, "%.2f GHz now", atof(now) / 1e6);
}

static struct sight see_smt(struct tb_topology *topology) {
  if (!topology) return sight(TB_NOISE_UNKNOWN, "hwloc cannot read the machine");
  const struct tb_machine m = tb_topology_machine(topology);
  if (m.pus == m.cores) return sight(TB_NOISE_QUIET, "one PU per core");
  return sight(TB_NOISE_WORSE, "%d PUs on %d core%s: siblings share a core", m.pus, m.cores,
               tb_plural(m.cores));
}

static struct sight see_load(struct tb_topology *topology) {
  double load;
  char line[128];
  int running = 0;
  const int cores = topology ? tb_topology_machine(topology).cores : 1;
  if (getloadavg(&load, 1) != 1) return sight(TB_NOISE_UNKNOWN, "not readable");
  if (tb_system_line("/proc/loadavg", "", line, sizeof line)) (void)sscanf(line, "%*f %*f %*f %d", &running);
  if (load < busy_load * cores) return sight(TB_NOISE_QUIET, "%.2f", load);
  return sight(TB_NOISE_WORSE, "%.2f on %d core%s in the last minute, %d running now", load, cores,
               tb_plural(cores), running);
}

static struct sight see_pinning(struct tb_topology *topology) {
  const char *why = "hwloc cannot read the machine";
  if (topology && tb_topology_binds(topology, &why)) return sight(TB_NOISE_QUIET, "works");
  return sight(TB_NOISE_WORSE, "not bound: %s", why);
}

static struct sight see_hypervisor(struct tb_topology *topology) {
  char line[LINE];
  (void)topology;
  if (!tb_system_line("/proc/cpuinfo", "flags", line, sizeof line))
    return sight(TB_NOISE_UNKNOWN, "not readable");
  if (!strstr(line, " hypervisor")) return sight(TB_NOISE_QUIET, "none");
  return sight(TB_NOISE_WORSE, "this is a guest: neighbours take time and caches");
}

static struct sight see_steal(struct tb_topology *topology) {
  enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
  char line[LINE];
  double t[FIELDS] = {0}, all = 0;
  (void)topology;
  if (!tb_system_line("/proc/stat", "cpu ", line, sizeof line) ||
      sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
             &t[7]) != FIELDS)
    return sight(TB_NOISE_UNKNOWN, "not readable");
  for (int i = 0; i < FIELDS; i++) all += t[i];
  const double share = all > 0 ? t[STEAL] / all : 0;
  return sight(share > much_steal ? TB_NOISE_WORSE : TB_NOISE_QUIET, "%.2f%% of all CPU time since the start",
               100 * share);
}

/* "150000 100000", "max 100000", or of the older kind "-1". */
static struct sight judge_quota(const char *text) {
  double quota, period = 1e5;
  if (!strncmp(text, "max", 3) || sscanf(text, "%lf %lf", &quota, &period) < 1 || quota < 0)
    return sight(TB_NOISE_QUIET, "none");
  return sight(TB_NOISE_WORSE, "%.2f CPUs in each %.0f ms", quota / period, period / 1e3);
}

static struct sight see_quota(struct tb_topology *topology) {
  char line[LINE], path[LINE + 64];
  (void)topology;
  if (tb_system_line("/proc/self/cgroup", "0::", line, sizeof line)) {
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
    if (tb_system_line(path, "", line, sizeof line) ||
        tb_system_line("/sys/fs/cgroup/cpu.max", "", line, sizeof line))
      return judge_quota(line);
  }
  if (tb_system_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "", line, sizeof line)) return judge_quota(line);
  return sight(TB_NOISE_UNKNOWN, "no cpu.max is visible");
}

static struct sight see_layout(struct tb_topology *topology) {
  char value[16];
  (void)topology;
  if (!tb_system_line("/proc/sys/kernel/randomize_va_space", "", value, sizeof value))
    return sight(TB_NOISE_UNKNOWN, "not readable");
  if (*value == '0')
    return sight(TB_NOISE_WORSE, "off: all replicates share one layout, and their interval is too narrow");
  return sight(TB_NOISE_QUIET, "on: each replicate has its own layout");
}

static struct sight see_huge_pages(struct tb_topology *topology) {
  char value[64];
  (void)topology;
  if (!tb_system_line("/sys/kernel/mm/transparent_hugepage/enabled", "", value, sizeof value))
    return sight(TB_NOISE_UNKNOWN, "not readable");
  if (strstr(value, "[always]")) return sight(TB_NOISE_WORSE, "always: pages merge in the background");
  return sight(TB_NOISE_QUIET, "%s", strstr(value, "[never]") ? "never" : "where a program asks for them");
}

static struct sight see_swap(struct tb_topology *topology) {
  FILE *in = fopen("/proc/swaps", "re");
  char line[LINE];
  double used = 0, one;
  (void)topology;
  if (!in) return sight(TB_NOISE_UNKNOWN, "not readable");
  while (fgets(line, sizeof line, in))
    if (sscanf(line, "%*s %*s %*f %lf", &one) == 1) used += one;
  fclose(in);
  return sight(used > 0 ? TB_NOISE_WORSE : TB_NOISE_QUIET, "%.0f MiB used", used / 1024);
}

static struct sight see_writeback(struct tb_topology *topology) {
  char line[128];
  double dirty = 0, writing = 0;
  (void)topology;
  const bool good =
      tb_system_line("/proc/meminfo", "Dirty:", line, sizeof line) && sscanf(line, "Dirty: %lf", &dirty) == 1;
  if (!good || !tb_system_line("/proc/meminfo", "Writeback:", line, sizeof line) ||
      sscanf(line, "Writeback: %lf", &writing) != 1)
    return sight(TB_NOISE_UNKNOWN, "not readable");
  return sight(dirty + writing > much_written_kib ? TB_NOISE_WORSE : TB_NOISE_QUIET,
               "%.0f MiB wait for the disk", (dirty + writing) / 1024);
}

static struct sight see_timer(struct tb_topology *topology) {
  char source[64];
  (void)topology;
  if (!tb_system_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", "", source,
                      sizeof source))
    return sight(TB_NOISE_UNKNOWN, "not readable");
  const bool fast = !strcmp(source, "tsc") || !strcmp(source, "kvm-clock") ||
                    !strcmp(source, "hyperv_clocksource_tsc_page");
  return fast ? sight(TB_NOISE_QUIET, "%s", source)
              : sight(TB_NOISE_WORSE, "%s: each read of the clock is a system call", source);
}

typedef struct sight (*look)(struct tb_topology *topology);

enum { LISTED, WARNS };

static const struct {
  const char *name, *what, *fix, *done;
  bool warns;
  look see;
} causes[] = {
#define TB_NOISE(name, told, what, fix, done) {#name, what, fix, done, told == WARNS, see_##name},
#include "harness/machine/noise.def"
#undef TB_NOISE
};

const char *tb_noise_state_text(enum tb_noise_state state) {
  static const char *const texts[] = {"quiet", "worse", "unknown"};
  return texts[state];
}

const char *tb_noise_warning(struct tc_arena *arena, const struct tb_noise *noise) {
  return noise->warns && noise->state == TB_NOISE_WORSE ? tb_format(arena, "%s: %s", noise->what, noise->seen)
                                                        : "";
}

int tb_noise_count(void) { return (int)(sizeof causes / sizeof *causes); }

static struct tb_noise noise_of(int index, const struct sight *s) {
  struct tb_noise noise = {causes[index].name,
                           causes[index].what,
                           causes[index].fix,
                           causes[index].done,
                           causes[index].warns,
                           s->state,
                           ""};
  snprintf(noise.seen, sizeof noise.seen, "%s", s->seen);
  return noise;
}

struct tb_noise tb_noise_look(int index, struct tb_topology *topology) {
  const struct sight s = causes[index].see(topology);
  return noise_of(index, &s);
}

bool tb_noise_told(const char *name, const char *state, const char *seen, struct tb_noise *out) {
  for (int i = 0; i < tb_noise_count(); i++) {
    if (strcmp(causes[i].name, name)) continue;
    for (int s = TB_NOISE_QUIET; s <= TB_NOISE_UNKNOWN; s++) {
      if (strcmp(tb_noise_state_text((enum tb_noise_state)s), state)) continue;
      const struct sight told = sight((enum tb_noise_state)s, "%s", seen);
      *out = noise_of(i, &told);
      return true;
    }
  }
  return false;
}
