/* What verbs share. */
#include "harness/verb.h"

#include <stdarg.h>
#include <stdio.h>

static bool no_flag(const char *name) {
  (void)name;
  return false;
}

static bool known_name(const char *name, const char *const *names, bool (*accepts)(const char *name), struct tb_nearest *nearest) {
  for (; names && *names; names++) {
    if (tb_name_equal(*names, name)) return true;
    tb_nearest_offer(nearest, *names);
  }
  return accepts && accepts(name);
}

bool tb_verb_begin(struct tb_verb *verb, const char *name, int argc, char *const *argv, const char *const *names, bool (*accepts)(const char *name)) {
  struct tc_error err = {0};
  *verb = (struct tb_verb){.name = name, .arena = tc_arena_new(tc_alloc_system())};
  if (!verb->arena) {
    tb_verb_failed(name, "out of memory");
    return false;
  }
  if (tb_args_parse(verb->arena, argc, argv, no_flag, &verb->args, &err)) {
    tb_verb_usage(name, "%s", err.message);
    tb_verb_end(verb);
    return false;
  }
  for (size_t i = 0; i < verb->args.named.len; i++) {
    const char *given = verb->args.named.data[i].name;
    struct tb_nearest nearest = tb_nearest_to(given);
    if (known_name(given, names, accepts, &nearest)) continue;
    tb_verb_usage(name, "it takes no '%s'%s (`tbench help %s`)", given, tb_nearest_hint(verb->arena, &nearest), name);
    tb_verb_end(verb);
    return false;
  }
  return true;
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
