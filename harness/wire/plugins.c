/* Plug-ins of a command line. Invariants:
 * 1. A path becomes an absolute one: the loader takes that file, and never a library of the same name from
 *    elsewhere.
 * 2. A worker gets each as a word of its own, plugin.NAME=PATH: a folder may have a comma in its name. */
#include "harness/wire/plugins.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/base/value.h"

static const char prefix[] = "plugin.";

/* --- command line --- */

static tc_status find_file(struct tc_arena *arena, const char *text, const char *given, const char **path,
                           struct tc_error *err) {
  char full[PATH_MAX];
  struct stat facts;
  if (!realpath(given, full) || stat(full, &facts) || access(full, R_OK))
    return tc_fail(err, TC_ARG, "command line", "plugin=%s: %s: %s", text, given, strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return tc_fail(err, TC_ARG, "command line", "plugin=%s: %s is not a file", text, given);
  *path = tc_arena_text(arena, full);
  return *path ? TC_OK : tc_fail_memory(err, "command line");
}

static tc_status parse_one(struct tc_arena *arena, const char *text, struct tb_plugins *out,
                           struct tc_error *err) {
  const char *colon = strchr(text, ':');
  if (!colon || colon == text || !colon[1])
    return tc_fail(err, TC_ARG, "command line",
                   "plugin=%s: use NAME:PATH, the name of a backend and the file of its plug-in", text);
  if (out->count == TB_PLUGINS_MAX)
    return tc_fail(err, TC_ARG, "command line", "plugin=%s: more than %d plug-ins", text, TB_PLUGINS_MAX);
  struct tb_plugin *one = &out->items[out->count];
  one->name = tb_format(arena, "%.*s", (int)(colon - text), text);
  if (!one->name) return tc_fail_memory(err, "command line");
  if (!tb_value_is_word(one->name))
    return tc_fail(err, TC_ARG, "command line",
                   "plugin=%s: a name may not hold ; / = or what cannot be printed", text);
  for (int i = 0; i < out->count; i++)
    if (tb_name_equal(out->items[i].name, one->name))
      return tc_fail(err, TC_ARG, "command line", "plugin=%s: the name '%s' is there twice", text, one->name);
  const tc_status status = find_file(arena, text, colon + 1, &one->path, err);
  if (!status) out->count++;
  return status;
}

tc_status tb_plugins_parse(struct tc_arena *arena, const char *text, struct tb_plugins *out,
                           struct tc_error *err) {
  int count;
  const char **parts = tb_split(arena, text, &count);
  tc_status status = parts ? TC_OK : tc_fail_memory(err, "command line");
  *out = (struct tb_plugins){.count = 0};
  for (int i = 0; !status && i < count; i++) status = parse_one(arena, parts[i], out, err);
  return status;
}

/* --- workers --- */

const char *tb_plugin_word(struct tc_arena *arena, const struct tb_plugin *plugin) {
  return tb_format(arena, "%s%s=%s", prefix, plugin->name, plugin->path);
}

tc_status tb_plugin_take(const char *name, const char *value, struct tb_plugins *out, bool *taken,
                         struct tc_error *err) {
  *taken = !strncmp(name, prefix, strlen(prefix));
  if (!*taken) return TC_OK;
  if (out->count == TB_PLUGINS_MAX)
    return tc_fail(err, TC_LIMIT, "worker", "more than %d plug-ins", TB_PLUGINS_MAX);
  out->items[out->count++] = (struct tb_plugin){name + strlen(prefix), value};
  return TC_OK;
}
