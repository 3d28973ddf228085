/* What became of a case, from outcome.def. */
#ifndef TB_OUTCOME_H
#define TB_OUTCOME_H

#include "results/exitcode.h"

enum tb_outcome {
#define TB_OUTCOME(NAME, text, exit_name, help) TB_OUTCOME_##NAME,
#include "results/outcome.def"
#undef TB_OUTCOME
  TB_OUTCOME_COUNT
};

const char *tb_outcome_text(enum tb_outcome outcome);
const char *tb_outcome_help(enum tb_outcome outcome);
enum tb_exit tb_outcome_exit(enum tb_outcome outcome);

#endif
