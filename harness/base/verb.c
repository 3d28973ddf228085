/* What verbs share. */
#include "harness/base/verb.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tb_verb_option options[] = {
#define TB_VERB_OPTION(verb, name, dflt, takes, help) {#verb, name, dflt, NULL, takes, help},
#define TB_VERB_CHOICE(verb, name, dflt, more, help)  {#verb, name, dflt, more, "", help},
#include "harness/base/verb_options.def"
#undef TB_VERB_OPTION
#undef TB_VERB_CHOICE
};
enum { N_OPTIONS = sizeof options / sizeof *options };

const struct tb_verb_option *tb_verb_option_next(const char *verb, const struct tb_verb_option *after) {
  for (int i = after ? (int)(after - options) + 1 : 0; i < N_OPTIONS; i++)
    if (!strcmp(options[i].verb, verb)) return &options[i];
  return NULL;
}

const struct tb_verb_option *tb_verb_option_find(const char *verb, const char *name) {
  const struct tb_verb_option *o = tb_verb_option_next(verb, NULL);
  while (o && !tb_name_equal(o->name, name)) o = tb_verb_option_next(verb, o);
  return o;
}

bool tb_verb_option_alone(const struct tb_verb_option *option, const char *next) {
  const bool flag = !strcmp(option->default_text, "yes") || !strcmp(option->default_text, "no");
  bool value;
  return flag && !(next && (tb_flag_parse(next, &value) || (option->more && !strcmp(next, option->more))));
}

/* A name that the verb does not have takes no word away: all_known tells of it. */
static bool stands_alone(const void *verb, const char *name, const char *next) {
  const struct tb_verb_option *option = tb_verb_option_find(verb, name);
  return !option || tb_verb_option_alone(option, next);
}

/* Says which name or word the verb does not take; false where there is one. */
static bool all_known(const struct tb_verb *verb, size_t words) {
  for (size_t i = 0; i < verb->args.named.len; i++) {
    const char *given = verb->args.named.data[i].name;
    struct tb_nearest nearest = tb_nearest_to(given);
    if (tb_verb_option_find(verb->name, given)) continue;
    for (const struct tb_verb_option *o = tb_verb_option_next(verb->name, NULL); o;
         o = tb_verb_option_next(verb->name, o))
      tb_nearest_offer(&nearest, o->name);
    tb_verb_usage(verb->name, "it takes no '%s'%s (`tbench help %s`)", given,
                  tb_nearest_hint(verb->arena, &nearest), verb->name);
    return false;
  }
  if (verb->args.words.len <= words) return true;
  const char *word = verb->args.words.data[words];
  const struct tb_verb_option *first = tb_verb_option_next(verb->name, NULL);
  if (words)
    tb_verb_usage(verb->name, "'%s' is one word too many (`tbench help %s`)", word, verb->name);
  else if (first)
    tb_verb_usage(verb->name, "'%s': write name=value, as %s=%s (`tbench help %s`)", word, first->name, word,
                  verb->name);
  else
    tb_verb_usage(verb->name, "it takes no '%s' (`tbench help %s`)", word, verb->name);
  return false;
}

bool tb_verb_begin(struct tb_verb *verb, const char *name, int argc, char *const *argv, size_t words) {
  struct tc_error err = {0};
  *verb = (struct tb_verb){.name = name, .arena = tc_arena_new(tc_alloc_system())};
  if (!verb->arena) {
    tb_verb_failed(name, "out of memory");
    return false;
  }
  const bool parsed = !tb_args_parse(verb->arena, argc, argv, stands_alone, name, &verb->args, &err);
  if (!parsed) tb_verb_usage(name, "%s", err.message);
  if (parsed && all_known(verb, words)) return true;
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

bool tb_verb_flag(const struct tb_verb *verb, const char *name, bool *value) {
  const char *text = tb_args_value(&verb->args, name);
  if (!text || tb_flag_parse(text, value)) return true;
  tb_verb_usage(verb->name, "%s=%s: use yes or no", name, text);
  return false;
}

const char *tb_bytes_text(struct tc_arena *arena, double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  enum { STEP = 1024, LAST = sizeof units / sizeof *units - 1 };
  int unit = 0;
  for (; bytes >= STEP && unit < LAST; unit++) bytes /= STEP;
  return tb_format(arena, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

bool tb_verb_colour(void) {
  const char *no_colour = getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && (!no_colour || !*no_colour);
}
