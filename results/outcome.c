/* Projections of outcome.def. */
#include "results/outcome.h"

static const struct {
  const char *text, *help;
  enum tb_exit exit_code;
} rows[] = {
#define TB_OUTCOME(NAME, text, exit_name, help) {text, help, TB_EXIT_##exit_name},
#include "results/outcome.def"
#undef TB_OUTCOME
};

const char *tb_outcome_text(enum tb_outcome outcome) { return rows[outcome].text; }
const char *tb_outcome_help(enum tb_outcome outcome) { return rows[outcome].help; }
enum tb_exit tb_outcome_exit(enum tb_outcome outcome) { return rows[outcome].exit_code; }
