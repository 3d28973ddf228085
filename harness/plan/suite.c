/* Finding suites and asking for their descriptions. */
#include "harness/plan/suite.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "harness/base/args.h"
#include "harness/base/build.h"
#include "harness/base/regular_file.h"

static const double timeout_default_s = 30;
static const char suffix[] = ".lua";

/* --- finding --- */

/* Folder of this program's file; false: the system does not say. */
static bool program_folder(char folder[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  if (length <= 0) return false;
  folder[length] = '\0';
  *strrchr(folder, '/') = '\0';
  return true;
}

static bool inside(const char *folder, const char *parent) {
  const size_t length = strlen(parent);
  return !strncmp(folder, parent, length) && (!folder[length] || folder[length] == '/');
}

typedef TC_VEC(const char *) names;

static bool add_colon_list(struct tc_arena *arena, const char *list, names *out) {
  while (list && *list) {
    const size_t length = strcspn(list, ":");
    const char *folder = tb_format(arena, "%.*s", (int)length, list);
    if (!folder || (length && !tc_vec_push(tc_arena_alloc(arena), out, folder))) return false;
    list += length + (list[length] == ':');
  }
  return true;
}

/* Suites that came with the program: the source tree's while it runs out of its build tree, else where they
 * were installed, and where they are if the whole installation was moved since. */
static bool add_own_folders(struct tc_arena *arena, names *out) {
  static const char installed[] = TB_PKGDATADIR "/suites", moved[] = "../share/tbench/suites";
  char program[PATH_MAX];
  const struct tc_alloc *alloc = tc_arena_alloc(arena);
  const bool known = program_folder(program);
  if (known && inside(program, TB_BUILDDIR)) return tc_vec_push(alloc, out, TB_SRCDIR "/suites");
  const char *beside = known ? tb_format(arena, "%s/%s", program, moved) : NULL;
  if (!tc_vec_push(alloc, out, installed) || (known && !beside)) return false;
  return !known || !access(installed, F_OK) || tc_vec_push(alloc, out, beside);
}

const char **tb_suite_path(struct tc_arena *arena, int *count) {
  names folders = {0};
  *count = 0;
  if (!add_colon_list(arena, getenv("TBENCH_SUITES"), &folders) || !add_own_folders(arena, &folders))
    return NULL;
  if (!tc_vec_push(tc_arena_alloc(arena), &folders, ".")) return NULL;
  *count = (int)folders.len;
  return folders.data;
}

const char *tb_suite_places(struct tc_arena *arena) {
  int count;
  const char **folders = tb_suite_path(arena, &count), *all = folders ? "" : NULL;
  for (int i = 0; i < count && all; i++) {
    const bool there = !access(folders[i], R_OK | X_OK);
    all = tb_format(arena, "%s%s%s%s", all, i ? ", " : "", folders[i], there ? "" : " (cannot be read)");
  }
  return all ? tb_format(arena, "looked in %s; set TBENCH_SUITES to the folder of the suites", all)
             : "out of memory";
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **tb_suite_names(struct tc_arena *arena, int *count) {
  int n_folders;
  names found = {0};
  const char **folders = tb_suite_path(arena, &n_folders);
  *count = 0;
  if (!folders || !tc_vec_push(tc_arena_alloc(arena), &found, (const char *)NULL)) return NULL;
  found.len = 0;
  for (int i = 0; i < n_folders; i++) {
    if (!strcmp(folders[i], ".")) continue; /* any Lua file may lie in the current folder */
    DIR *folder = opendir(folders[i]);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
      const size_t stem = tc_text_stem(entry->d_name, suffix);
      if (!stem) continue;
      const char *name = tb_format(arena, "%.*s", (int)stem, entry->d_name);
      if (!name || !tc_vec_push(tc_arena_alloc(arena), &found, name)) return closedir(folder), NULL;
    }
    if (folder) closedir(folder);
  }
  qsort(found.data, found.len, sizeof *found.data, by_text);
  for (size_t i = 0; i < found.len; i++)
    if (!*count || strcmp(found.data[*count - 1], found.data[i])) found.data[(*count)++] = found.data[i];
  return found.data;
}

static tc_status unknown_suite(struct tc_arena *arena, const char *name, struct tc_error *err) {
  int count;
  const char **known = tb_suite_names(arena, &count);
  if (!known) return tc_fail_memory(err, "suite");
  if (!count)
    return tc_fail(err, TC_ARG, "suite", "there is no suite '%s', nor any other: %s", name,
                   tb_suite_places(arena));
  struct tb_nearest nearest = tb_nearest_to(name);
  const char *all = "";
  for (int i = 0; i < count && all; i++) {
    tb_nearest_offer(&nearest, known[i]);
    all = tb_format(arena, "%s%s%s", all, i ? ", " : "", known[i]);
  }
  const char *hint = tb_nearest_hint(arena, &nearest);
  return tc_fail(err, TC_ARG, "suite", "there is no suite '%s'%s%s", name, hint,
                 *hint || !all ? "" : tb_format(arena, "; suites: %s", all));
}

/* A worker that waits for a pipe would be told as one that is slow. */
static tc_status check_readable(const char *name, const char *path, struct tc_error *err) {
  const char *why;
  FILE *in = tb_regular_open(path, &why);
  if (!in)
    return tc_fail(err, TC_ARG, "suite", "suite=%s: the file cannot be read: %s%s%s", name,
                   path == name ? "" : path, path == name ? "" : ": ", why);
  fclose(in);
  return TC_OK;
}

tc_status tb_suite_find(struct tc_arena *arena, const char *name, const char **path, struct tc_error *err) {
  if (strchr(name, '/') || tc_text_stem(name, suffix)) {
    *path = name;
    return check_readable(name, name, err);
  }
  int count;
  const char **folders = tb_suite_path(arena, &count);
  if (!folders) return tc_fail_memory(err, "suite");
  for (int i = 0; i < count; i++) {
    *path = tb_format(arena, "%s/%s%s", folders[i], name, suffix);
    if (!*path) return tc_fail_memory(err, "suite");
    if (!access(*path, R_OK)) return check_readable(name, *path, err);
  }
  return unknown_suite(arena, name, err);
}

/* --- describing --- */

static const char **read_texts(struct tc_arena *arena, const cJSON *array, int *count) {
  *count = cJSON_GetArraySize(array);
  const char **texts = tc_arena_bytes(arena, sizeof *texts * (size_t)(*count + 1));
  int i = 0;
  for (const cJSON *item = array ? array->child : NULL; texts && item; item = item->next) {
    texts[i] = tc_arena_text(arena, cJSON_IsString(item) ? item->valuestring : "");
    if (!texts[i++]) return NULL;
  }
  return texts;
}

static bool read_axis(struct tc_arena *arena, const cJSON *json, struct tb_suite_axis *axis) {
  const cJSON *values = cJSON_GetObjectItemCaseSensitive(json, "values");
  axis->name = tc_arena_text(arena, tb_json_text(json, "name", ""));
  axis->values = tc_arena_bytes(arena, sizeof *axis->values * (size_t)(cJSON_GetArraySize(values) + 1));
  axis->count = 0;
  if (!axis->name || !axis->values) return false;
  for (const cJSON *value = values ? values->child : NULL; value; value = value->next)
    if (!tb_value_from_json(arena, value, &axis->values[axis->count++])) return false;
  return true;
}

static bool read_axes(struct tc_arena *arena, const cJSON *json, const char *field,
                      struct tb_suite_axis **axes, int *count) {
  const cJSON *array = cJSON_GetObjectItemCaseSensitive(json, field);
  *count = 0;
  *axes = tc_arena_bytes(arena, sizeof **axes * (size_t)(cJSON_GetArraySize(array) + 1));
  if (!*axes) return false;
  for (const cJSON *axis = array ? array->child : NULL; axis; axis = axis->next)
    if (!read_axis(arena, axis, &(*axes)[(*count)++])) return false;
  return true;
}

static tc_status read_description(struct tc_arena *arena, const cJSON *json, const char *path,
                                  struct tb_suite *out, struct tc_error *err) {
  const cJSON *workloads = cJSON_GetObjectItemCaseSensitive(json, "workloads"),
              *modes = cJSON_GetObjectItemCaseSensitive(json, "modes"),
              *devices = cJSON_GetObjectItemCaseSensitive(json, "devices");
  *out = (struct tb_suite){.path = path, .timeout_s = tb_json_number(json, "timeout", 0)};
  out->name = tc_arena_text(arena, tb_json_text(json, "name", ""));
  out->about = tc_arena_text(arena, tb_json_text(json, "about", ""));
  out->counters = tc_arena_text(arena, tb_json_text(json, "counters", ""));
  out->workloads = read_texts(arena, workloads, &out->n_workloads);
  out->modes = read_texts(arena, modes, &out->n_modes);
  out->devices = read_texts(arena, devices, &out->n_devices);
  out->switches = read_texts(arena, cJSON_GetObjectItemCaseSensitive(json, "switches"), &out->n_switches);
  out->backends = read_texts(arena, cJSON_GetObjectItemCaseSensitive(json, "backends"), &out->n_backends);
  const bool good = out->name && out->about && out->counters && out->workloads && out->modes &&
                    out->devices && out->switches && out->backends;
  return good && read_axes(arena, json, "axes", &out->axes, &out->n_axes) &&
                 read_axes(arena, json, "modes_of", &out->modes_of, &out->n_modes_of)
             ? TC_OK
             : tc_fail_memory(err, "suite");
}

/* A worker's error as the reader's: broken input. */
static tc_status broken(struct tc_arena *arena, const struct tb_process *worker, const char *path,
                        const char **trace, struct tc_error *err) {
  *trace = worker->trace ? tc_arena_text(arena, worker->trace) : NULL;
  return worker->outcome == TB_OUTCOME_ERROR ? tc_fail(err, TC_ARG, "suite", "%s", worker->why)
                                             : tc_fail(err, TC_ARG, "suite", "%s: cannot be loaded: %s: %s",
                                                       path, tb_outcome_text(worker->outcome), worker->why);
}

tc_status tb_suite_describe(struct tc_arena *arena, const char *path, const struct tb_describer *describer,
                            struct tb_suite *out, const char **trace, struct tc_error *err) {
  struct tb_process worker;
  const struct tb_transport *transport = describer->transport ? describer->transport : tb_transport_local();
  const struct tb_launch launch = {.transport = transport,
                                   .own = describer->own,
                                   .config = describer->config,
                                   .memory_mb = describer->memory_mb,
                                   .worker_output = describer->worker_output,
                                   .plugins = describer->plugins,
                                   .suite = path};
  const double timeout_s = describer->timeout_s > 0 ? describer->timeout_s : timeout_default_s;
  cJSON *reply = NULL;
  *trace = NULL;
  const char *name;
  tb_process_clear(&worker);
  tc_status status = tb_transport_file(transport, arena, path, &name, err);
  if (status) return status;
  status = tb_process_start(&worker, &launch, describer->interrupt, timeout_s, err);
  if (!status) {
    cJSON *request = tb_process_request(TB_REQUEST_describe);
    cJSON_AddStringToObject(request, "suite", name);
    status = tb_process_ask(&worker, request, timeout_s, &reply, err);
  }
  if (!status)
    status = read_description(arena, cJSON_GetObjectItemCaseSensitive(reply, "description"), path, out, err);
  else if (status != TC_INTERRUPTED)
    status = broken(arena, &worker, path, trace, err);
  cJSON_Delete(reply);
  tb_process_stop(&worker);
  return status;
}
