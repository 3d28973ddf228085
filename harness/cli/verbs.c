/* The table of verbs. */
#include "harness/cli/verbs.h"

#include <string.h>

static const struct tb_verb_row verbs[] = {
#define TB_VERB(name, function, usage, what, more, example, codes)                                           \
  {#name, function, usage, what, more, example, codes},
#include "harness/cli/verbs.def"
#undef TB_VERB
};

int tb_verb_count(void) { return (int)(sizeof verbs / sizeof *verbs); }
const struct tb_verb_row *tb_verb_row_at(int index) { return &verbs[index]; }

const struct tb_verb_row *tb_verb_row_find(const char *name) {
  for (int i = 0; i < tb_verb_count(); i++)
    if (!strcmp(verbs[i].name, name)) return &verbs[i];
  return NULL;
}

bool tb_verb_is_shown(const struct tb_verb_row *verb) { return *verb->example; }
