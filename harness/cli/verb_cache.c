/* `tbench cache stat|verify|clear|export|import [FILE] [cache_dir=DIR]`: upkeep of the on-disk cache. */
#include <stdio.h>
#include <string.h>

#include "cache/cache.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"

typedef int (*cache_action)(struct tb_verb *verb, struct tc_cache *cache);

/* A file that was named wrongly, or is not what it should be, is broken input. */
static int failed(const struct tc_error *err) {
  if (err->status == TC_ARG || err->status == TC_CORRUPT) return tb_verb_usage("cache", "%s", err->message);
  return tb_verb_failed("cache", "%s", err->message);
}

/* What searches chose lies beside the artifacts, and is counted apart. */
static void print_stat(struct tb_verb *verb, const char *what, const struct tc_cache_stat *stat) {
  const int64_t artifacts = stat->entries - stat->choices;
  printf("%lld entr%s %s, %s: %lld artifact%s, %lld choice%s of a search\n", (long long)stat->entries,
         stat->entries == 1 ? "y" : "ies", what, tb_bytes_text(verb->arena, (double)stat->bytes),
         (long long)artifacts, artifacts == 1 ? "" : "s", (long long)stat->choices,
         stat->choices == 1 ? "" : "s");
}

static int stat_action(struct tb_verb *verb, struct tc_cache *cache) {
  struct tc_cache_stat stat;
  struct tc_error err = {0};
  if (tc_cache_stat(cache, &stat, &err)) return failed(&err);
  printf("%s\n", tc_cache_directory(cache));
  print_stat(verb, "stored", &stat);
  return TB_EXIT_PASS;
}

static int verify_action(struct tb_verb *verb, struct tc_cache *cache) {
  struct tc_cache_stat stat;
  struct tc_error err = {0};
  if (tc_cache_verify(cache, false, &stat, &err)) return failed(&err);
  print_stat(verb, "read", &stat);
  if (!stat.bad) return TB_EXIT_PASS;
  return tb_verb_failed("cache", "%lld damaged; they count as misses, and `tbench cache clear` removes all",
                        (long long)stat.bad);
}

static int clear_action(struct tb_verb *verb, struct tc_cache *cache) {
  struct tc_cache_stat stat;
  struct tc_error err = {0};
  if (tc_cache_clear(cache, &stat, &err)) return failed(&err);
  print_stat(verb, "removed", &stat);
  return TB_EXIT_PASS;
}

static const char *file_word(struct tb_verb *verb) {
  return verb->args.words.len == 2 ? verb->args.words.data[1] : NULL;
}

static int export_action(struct tb_verb *verb, struct tc_cache *cache) {
  struct tc_cache_stat stat;
  struct tc_error err = {0};
  if (!file_word(verb)) return tb_verb_usage("cache", "name the file to write: tbench cache export FILE");
  if (tc_cache_export(cache, file_word(verb), &stat, &err)) return failed(&err);
  print_stat(verb, "exported", &stat);
  if (stat.bad) return tb_verb_failed("cache", "%lld damaged, left out", (long long)stat.bad);
  return TB_EXIT_PASS;
}

static int import_action(struct tb_verb *verb, struct tc_cache *cache) {
  struct tc_cache_stat stat;
  struct tc_error err = {0};
  if (!file_word(verb)) return tb_verb_usage("cache", "name the file to read: tbench cache import FILE");
  if (tc_cache_import(cache, file_word(verb), &stat, &err)) return failed(&err);
  print_stat(verb, "imported", &stat);
  if (stat.bad) return tb_verb_usage("cache", "%lld damaged, left out", (long long)stat.bad);
  return TB_EXIT_PASS;
}

static const struct {
  const char *name;
  cache_action run;
  size_t words;
} actions[] = {{"stat", stat_action, 1},
               {"verify", verify_action, 1},
               {"clear", clear_action, 1},
               {"export", export_action, 2},
               {"import", import_action, 2}};

static cache_action find_action(const struct tb_verb *verb) {
  if (!verb->args.words.len) return NULL;
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    if (!strcmp(actions[i].name, verb->args.words.data[0]) && verb->args.words.len <= actions[i].words)
      return actions[i].run;
  return NULL;
}

int tb_verb_cache(int argc, char *const *argv) {
  struct tb_verb verb;
  struct tc_config config;
  struct tc_error err = {0};
  if (!tb_verb_begin(&verb, "cache", argc, argv, 2)) return TB_EXIT_USAGE;
  int code = TB_EXIT_PASS;
  tc_config_default(&config);
  if (tc_config_from_environment(&config, &err)) code = tb_verb_usage("cache", "%s", err.message);
  for (size_t i = 0; i < verb.args.named.len && !code; i++)
    if (tc_config_set(&config, verb.args.named.data[i].name, verb.args.named.data[i].value, &err))
      code = tb_verb_usage("cache", "%s", err.message);
  const cache_action action = find_action(&verb);
  if (!code && !action)
    code = tb_verb_usage("cache",
                         "say what to do: tbench cache stat|verify|clear, or export FILE, or import FILE");
  struct tc_cache *cache = code ? NULL : tc_cache_open(tc_alloc_system(), config.cache_dir, config.cache_mb);
  if (!code) code = cache ? action(&verb, cache) : tb_verb_failed("cache", "out of memory");
  tc_cache_close(cache);
  tb_verb_end(&verb);
  return code;
}
