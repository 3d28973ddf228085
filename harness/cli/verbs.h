/* The verbs of the program, from verbs.def. */
#ifndef TB_VERBS_H
#define TB_VERBS_H

#include <stdbool.h>

#define TB_VERB(name, function, usage, what, more, example, codes) int function(int argc, char *const *argv);
#include "harness/cli/verbs.def"
#undef TB_VERB

/* A row of verbs.def. */
struct tb_verb_row {
  const char *name;
  int (*run)(int argc, char *const *argv);
  const char *usage, *what, *more, *example, *codes;
};

int tb_verb_count(void);
const struct tb_verb_row *tb_verb_row_at(int index);
/* NULL: there is no such verb. */
const struct tb_verb_row *tb_verb_row_find(const char *name);
/* Is it for people? The program starts the others itself. */
bool tb_verb_is_shown(const struct tb_verb_row *verb);

#endif
