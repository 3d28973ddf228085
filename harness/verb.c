/* What verbs share. */
#include "harness/verb.h"

#include <stdarg.h>
#include <stdio.h>

static bool no_flag(const char *name) {
  (void)name;
  return false;
}

static bool known_name(const char *name, const char *const *names, struct tb_nearest *nearest) {
  for (; names && *names; names++) {
    if (tb_name_equal(*names, name)) return true;
    tb_nearest_offer(nearest, *names);
  }
  return false;
}

/* Says which name or word the verb does not take; false where there is one. */
static bool all_known(const struct tb_verb *verb, const char *const *names, size_t words) {
  for (size_t i = 0; i < verb->args.named.len; i++) {
    const char *given = verb->args.named.data[i].name;
    struct tb_nearest nearest = tb_nearest_to(given);
    if (known_name(given, names, &nearest)) continue;
    tb_verb_usage(verb->name, "it takes no '%s'%s (`tbench help %s`)", given, tb_nearest_hint(verb->arena, &nearest), verb->name);
    return false;
  }
  if (verb->args.words.len <= words) return true;
  const char *word = verb->args.words.data[words];
  if (words) tb_verb_usage(verb->name, "'%s' is one word too many (`tbench help %s`)", word, verb->name);
  else if (names) tb_verb_usage(verb->name, "'%s': write name=value, as %s=%s (`tbench help %s`)", word, names[0], word, verb->name);
  else tb_verb_usage(verb->name, "it takes no '%s' (`tbench help %s`)", word, verb->name);
  return false;
}

bool tb_verb_begin(struct tb_verb *verb, const char *name, int argc, char *const *argv, const char *const *names, size_t words) {
  struct tc_error err = {0};
  *verb = (struct tb_verb){.name = name, .arena = tc_arena_new(tc_alloc_system())};
  if (!verb->arena) {
    tb_verb_failed(name, "out of memory");
    return false;
  }
  const bool parsed = !tb_args_parse(verb->arena, argc, argv, no_flag, &verb->args, &err);
  if (!parsed) tb_verb_usage(name, "%s", err.message);
  if (parsed && all_known(verb, names, words)) return true;
  tb_verb_end(verb);
  return false;
}

void tb_verb_end(struct tb_verb *verb) {
  tc_arena_free(verb->arena);
  verb->arena = NULL;
}

static void say(const char *name, const char *format, va_list args) {
  fflush(stdout);
  fprintf(stderr, "tbench %s: ", name);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
}

int tb_verb_usage(const char *name, const char *format, ...) {
  va_list args;
  va_start(args, format);
  say(name, format, args);
  va_end(args);
  return TB_EXIT_USAGE;
}

int tb_verb_failed(const char *name, const char *format, ...) {
  va_list args;
  va_start(args, format);
  say(name, format, args);
  va_end(args);
  return TB_EXIT_FAILED;
}

const char *tb_bytes_text(struct tc_arena *arena, double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  enum { STEP = 1024, LAST = sizeof units / sizeof *units - 1 };
  int unit = 0;
  for (; bytes >= STEP && unit < LAST; unit++) bytes /= STEP;
  return tb_format(arena, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}
