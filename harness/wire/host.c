/* Reads a host from /proc, /sys, uname and hwloc. */
#include "harness/wire/host.h"

#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/base/system_file.h"
#include "harness/wire/protocol.h"

enum { LINE_BYTES = 8192, HOST_BYTES = 256, GOVERNOR_BYTES = 64, MIB = 1 << 20 };

/* Features that decide on the code that is generated and the library kernels that are chosen. */
static const char *const features[] = {"sse4_2",      "avx",         "avx2",        "fma",      "f16c",
                                       "bmi2",        "avx512f",     "avx512bw",    "avx512dq", "avx512vl",
                                       "avx512_bf16", "avx512_fp16", "avx512_vnni", "avx_vnni", "amx_tile",
                                       "amx_bf16",    "amx_int8"};

/* --- reading --- */

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

static bool read_cpu(struct tc_arena *arena, struct tb_host *out) {
  char governor[GOVERNOR_BYTES];
  out->cpu_model = value_of(arena, "/proc/cpuinfo", "model name");
  if (tb_system_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", governor, sizeof governor))
    out->governor = tc_arena_text(arena, governor);
  const char *flags = value_of(arena, "/proc/cpuinfo", "flags");
  for (size_t i = 0; flags && i < sizeof features / sizeof *features; i++)
    if (has_word(flags, features[i]) && !tc_vec_push(tc_arena_alloc(arena), &out->cpu_features, features[i]))
      return false;
  return true;
}

long long tb_host_memory_mb(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages <= 0 || page <= 0 ? 0 : (long long)pages * page / MIB;
}

bool tb_host_read(struct tc_arena *arena, struct tb_topology *topology, struct tb_host *out) {
  char name[HOST_BYTES] = "";
  struct utsname system;
  *out = (struct tb_host){.machine = tb_topology_machine(topology),
                          .binds = tb_topology_binds(topology, NULL),
                          .memory_mb = tb_host_memory_mb()};
  gethostname(name, sizeof name - 1);
  out->name = tc_arena_text(arena, name);
  if (!uname(&system)) out->kernel = tb_format(arena, "%s %s", system.sysname, system.release);
  out->os = value_of(arena, "/etc/os-release", "PRETTY_NAME");
  out->topology = tb_topology_line(topology, arena);
  out->topology_xml = tb_topology_xml(topology, arena);
  if (!out->name || !read_cpu(arena, out)) return false;
  for (int i = 0; i < tb_noise_count(); i++)
    if (!tc_vec_push(tc_arena_alloc(arena), &out->noise, tb_noise_look(i, topology))) return false;
  return true;
}

/* --- sending --- */

static const struct {
  const char *name;
  size_t offset;
} texts[] = {
    {"name", offsetof(struct tb_host, name)},
    {"os", offsetof(struct tb_host, os)},
    {"kernel", offsetof(struct tb_host, kernel)},
    {"cpu_model", offsetof(struct tb_host, cpu_model)},
    {"governor", offsetof(struct tb_host, governor)},
    {"topology", offsetof(struct tb_host, topology)},
    {"topology_xml", offsetof(struct tb_host, topology_xml)},
};
enum { N_TEXTS = sizeof texts / sizeof *texts };

cJSON *tb_host_json(const struct tb_host *host) {
  cJSON *json = cJSON_CreateObject();
  for (int i = 0; i < N_TEXTS; i++) {
    const char *text = *(const char *const *)((const char *)host + texts[i].offset);
    if (text) cJSON_AddStringToObject(json, texts[i].name, text);
  }
  cJSON_AddNumberToObject(json, "packages", host->machine.packages);
  cJSON_AddNumberToObject(json, "numa", host->machine.numa);
  cJSON_AddNumberToObject(json, "cores", host->machine.cores);
  cJSON_AddNumberToObject(json, "pus", host->machine.pus);
  cJSON_AddBoolToObject(json, "binds", host->binds);
  cJSON_AddNumberToObject(json, "memory_mb", (double)host->memory_mb);
  cJSON *list = cJSON_AddArrayToObject(json, "cpu_features");
  for (size_t i = 0; i < host->cpu_features.len; i++)
    cJSON_AddItemToArray(list, cJSON_CreateString(host->cpu_features.data[i]));
  cJSON *noise = cJSON_AddArrayToObject(json, "noise");
  for (size_t i = 0; i < host->noise.len; i++) {
    cJSON *one = cJSON_CreateObject();
    cJSON_AddStringToObject(one, "cause", host->noise.data[i].name);
    cJSON_AddStringToObject(one, "state", tb_noise_state_text(host->noise.data[i].state));
    cJSON_AddStringToObject(one, "seen", host->noise.data[i].seen);
    cJSON_AddItemToArray(noise, one);
  }
  return json;
}

bool tb_host_parse(struct tc_arena *arena, const cJSON *json, struct tb_host *out) {
  const struct tc_alloc *alloc = tc_arena_alloc(arena);
  *out = (struct tb_host){
      .machine = {(int)tb_json_number(json, "packages", 0), (int)tb_json_number(json, "numa", 0),
                  (int)tb_json_number(json, "cores", 0), (int)tb_json_number(json, "pus", 0)},
      .binds = tb_json_bool(json, "binds", false),
      .memory_mb = (long long)tb_json_number(json, "memory_mb", 0)};
  for (int i = 0; i < N_TEXTS; i++) {
    const char *text = tb_json_text(json, texts[i].name, NULL);
    const char **field = (const char **)((char *)out + texts[i].offset);
    if (text && !(*field = tc_arena_text(arena, text))) return false;
  }
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "cpu_features"),
              *noise = cJSON_GetObjectItemCaseSensitive(json, "noise");
  for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
    const char *text = tc_arena_text(arena, cJSON_IsString(item) ? item->valuestring : "");
    if (!text || !tc_vec_push(alloc, &out->cpu_features, text)) return false;
  }
  for (const cJSON *item = noise ? noise->child : NULL; item; item = item->next) {
    struct tb_noise cause;
    if (tb_noise_told(tb_json_text(item, "cause", ""), tb_json_text(item, "state", ""),
                      tb_json_text(item, "seen", ""), &cause) &&
        !tc_vec_push(alloc, &out->noise, cause))
      return false;
  }
  return true;
}
