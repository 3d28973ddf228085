/* Launches as JSON. Invariant: what tb_launch_add wrote, tb_launch_parse reads. */
#include "harness/wire/launch_json.h"

#include <stddef.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/wire/protocol.h"

static const struct {
  const char *name;
  size_t offset;
} texts[] = {{"program", offsetof(struct tb_launch, program)},
             {"script", offsetof(struct tb_launch, script)},
             {"library", offsetof(struct tb_launch, library)},
             {"callgrind", offsetof(struct tb_launch, callgrind)},
             {"cache_dir", offsetof(struct tb_launch, cache_dir)}};
enum { N_TEXTS = sizeof texts / sizeof *texts };

static bool add_switches(cJSON *json, const struct tc_config *config) {
  cJSON *switches = cJSON_AddObjectToObject(json, "switches");
  bool good = switches;
  for (int i = 0; good && i < tc_config_count(); i++) {
    const char *name = tc_config_row(i)->name;
    if (tc_config_is_default(config, i) || !strcmp(name, "cache_dir")) continue; /* a folder of this host */
    struct tc_strbuf text;
    tc_strbuf_init(&text, tc_alloc_system());
    tc_config_get(config, i, &text);
    const char *value = tc_strbuf_text(&text);
    good = value && cJSON_AddStringToObject(switches, name, value);
    tc_strbuf_free(&text);
  }
  return good;
}

bool tb_launch_add(cJSON *json, const struct tb_launch *launch) {
  bool good = true;
  for (int i = 0; i < N_TEXTS; i++) {
    const char *text = *(const char *const *)((const char *)launch + texts[i].offset);
    if (text) good = good && cJSON_AddStringToObject(json, texts[i].name, text);
  }
  good = good && cJSON_AddNumberToObject(json, "memory_mb", (double)launch->memory_mb);
  if (launch->place) {
    cJSON *place = cJSON_AddObjectToObject(json, "place");
    good = good && cJSON_AddStringToObject(place, "cpus", launch->place->cpus) &&
           cJSON_AddStringToObject(place, "threads_places", launch->place->threads_places) &&
           cJSON_AddNumberToObject(place, "threads", launch->place->threads) &&
           cJSON_AddBoolToObject(place, "binds", launch->place->binds);
  }
  cJSON *plugins = cJSON_AddObjectToObject(json, "plugins");
  for (int i = 0; launch->plugins && i < launch->plugins->count; i++)
    good = good &&
           cJSON_AddStringToObject(plugins, launch->plugins->items[i].name, launch->plugins->items[i].path);
  return good && plugins && add_switches(json, launch->config);
}

static tc_status parse_switches(struct tc_arena *arena, const cJSON *json, struct tc_config *config,
                                struct tc_error *err) {
  const cJSON *switches = cJSON_GetObjectItemCaseSensitive(json, "switches");
  tc_config_default(config);
  for (const cJSON *item = switches ? switches->child : NULL; item; item = item->next) {
    const char *name = tc_arena_text(arena, item->string),
               *text = tc_arena_text(arena, cJSON_IsString(item) ? item->valuestring : "");
    if (!name || !text) return tc_fail_memory(err, "launch");
    const tc_status status = tc_config_set(config, name, text, err);
    if (status) return status;
  }
  return TC_OK;
}

static tc_status parse_plugins(struct tc_arena *arena, const cJSON *json, struct tb_plugins *out,
                               struct tc_error *err) {
  const cJSON *plugins = cJSON_GetObjectItemCaseSensitive(json, "plugins");
  for (const cJSON *item = plugins ? plugins->child : NULL; item; item = item->next) {
    if (out->count == TB_PLUGINS_MAX || !cJSON_IsString(item))
      return tc_fail(err, TC_ARG, "launch", "plug-ins that are none");
    struct tb_plugin *one = &out->items[out->count++];
    *one = (struct tb_plugin){tc_arena_text(arena, item->string), tc_arena_text(arena, item->valuestring)};
    if (!one->name || !one->path) return tc_fail_memory(err, "launch");
  }
  return TC_OK;
}

tc_status tb_launch_parse(struct tc_arena *arena, const cJSON *json, struct tb_told_launch *out,
                          struct tc_error *err) {
  *out = (struct tb_told_launch){.launch = {.memory_mb = (long long)tb_json_number(json, "memory_mb", 0)}};
  bool good = true;
  for (int i = 0; i < N_TEXTS; i++) {
    const char *text = tb_json_text(json, texts[i].name, NULL);
    const char **field = (const char **)((char *)&out->launch + texts[i].offset);
    if (text) good = (*field = tc_arena_text(arena, text)) && good;
  }
  const cJSON *place = cJSON_GetObjectItemCaseSensitive(json, "place");
  if (place) {
    out->place =
        (struct tb_place){.cpus = tc_arena_text(arena, tb_json_text(place, "cpus", "")),
                          .threads_places = tc_arena_text(arena, tb_json_text(place, "threads_places", "")),
                          .threads = (int)tb_json_number(place, "threads", 1),
                          .binds = tb_json_bool(place, "binds", false)};
    good = good && out->place.cpus && out->place.threads_places;
    out->launch.place = &out->place;
  }
  if (!good) return tc_fail_memory(err, "launch");
  out->launch.config = &out->config;
  out->launch.plugins = &out->plugins;
  const tc_status status = parse_switches(arena, json, &out->config, err);
  return status ? status : parse_plugins(arena, json, &out->plugins, err);
}
