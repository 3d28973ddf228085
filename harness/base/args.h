/* The command line behind a verb: name=value, --name value, --name=value, in any order.
 *
 * Ownership: texts point into argv or the arena. '-' and '_' in names are the same. A name given twice is an
 * error. Words without a name are kept in order. Nothing here knows which names exist: `tb_stands_alone` says
 * which ones need no value (--quick means quick=yes). */
#ifndef TB_ARGS_H
#define TB_ARGS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct tb_arg {
  const char *name, *value;
};

struct tb_args {
  TC_VEC(struct tb_arg) named;
  TC_VEC(const char *) words;
};

/* Whether `--name` takes no value from the word behind it, `next` (NULL: there is none), and so means yes.
 * `names` is what the caller of tb_args_parse gave with it. */
typedef bool tb_stands_alone(const void *names, const char *name, const char *next);

tc_status tb_args_parse(struct tc_arena *arena, int argc, char *const *argv, tb_stands_alone *alone,
                        const void *names, struct tb_args *out, struct tc_error *err);

/* Value of a name; NULL when it was not given. */
const char *tb_args_value(const struct tb_args *args, const char *name);
bool tb_name_equal(const char *a, const char *b);
/* yes, on, true, 1 and their opposites. */
bool tb_flag_parse(const char *text, bool *value);
/* Whole number from 0 up. */
bool tb_whole_parse(const char *text, long long *value);

/* A search for the name that a mistyped one may have meant: offer each known name, then read `best`. */
struct tb_nearest {
  const char *word, *best; /* best: NULL while nothing is near */
  int distance;
};
struct tb_nearest tb_nearest_to(const char *word);
void tb_nearest_offer(struct tb_nearest *nearest, const char *candidate);
/* "; did you mean 'x'?" or "". Valid while the arena lives. */
const char *tb_nearest_hint(struct tc_arena *arena, const struct tb_nearest *nearest);

/* Formatted text in the arena; NULL when memory is out. */
const char *tb_format(struct tc_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Parts of "a,b,c", in the arena: *count of them; NULL when memory is out. An empty text has no parts. */
const char **tb_split(struct tc_arena *arena, const char *text, int *count);

#endif
