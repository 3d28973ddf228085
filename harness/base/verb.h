/* What verbs share. A verb is int tb_verb_NAME(int argc, char *const *argv): argv holds the words after its
 * name; the result is an exit code of exitcode.def. One row each in verbs.def. */
#ifndef TB_VERB_H
#define TB_VERB_H

#include "harness/base/args.h"
#include "results/exitcode.h"

/* A parsed command line with its arena. Closed by tb_verb_end. */
struct tb_verb {
  const char *name;
  struct tc_arena *arena;
  struct tb_args args;
};

/* Parses the command line: the verb takes the names that verb_options.def has of it, and at most `words`
 * words without a name. On failure a line went to standard error, and nothing is left to end. */
bool tb_verb_begin(struct tb_verb *verb, const char *name, int argc, char *const *argv, size_t words);
void tb_verb_end(struct tb_verb *verb);

/* Reads a flag, if it was given; false, with a line on standard error, where it is no flag's value. */
bool tb_verb_flag(const struct tb_verb *verb, const char *name, bool *value);

/* Rows of verb_options.def: the next one of a verb after another, or its first after NULL; NULL: no more. */
struct tb_verb_option {
  const char *verb, *name, *default_text;
  const char *more;  /* a word that a flag takes beside yes and no; NULL: none */
  const char *takes; /* what shells complete (verb_options.def) */
  const char *help;
};
const struct tb_verb_option *tb_verb_option_next(const char *verb, const struct tb_verb_option *after);
/* NULL: the verb has no such option. */
const struct tb_verb_option *tb_verb_option_find(const char *verb, const char *name);
/* Whether a flag stands alone before `next` (tb_stands_alone). */
bool tb_verb_option_alone(const struct tb_verb_option *option, const char *next);

/* "tbench NAME: text" on standard error; returns the usage code. */
int tb_verb_usage(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for any other failure; returns TB_EXIT_FAILED. */
int tb_verb_failed(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Are colours wanted on standard output? It is a terminal, and NO_COLOR is not set, or empty. */
bool tb_verb_colour(void);
/* "12.3 MiB"; in the arena. */
const char *tb_bytes_text(struct tc_arena *arena, double bytes);

#endif
