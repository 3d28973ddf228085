/* Which exit code wins when several hold: the ranks of exitcode.def. */
#include "results/exitcode.h"

static int rank_of(enum tb_exit exit_code) {
  switch (exit_code) {
#define TB_EXIT(NAME, code, rank, help)                                                                      \
  case TB_EXIT_##NAME: return rank;
#include "results/exitcode.def"
#undef TB_EXIT
  }
  return 0;
}

enum tb_exit tb_exit_worse(enum tb_exit a, enum tb_exit b) { return rank_of(a) <= rank_of(b) ? a : b; }

const char *tb_exit_help(enum tb_exit exit_code) {
  switch (exit_code) {
#define TB_EXIT(NAME, code, rank, help)                                                                      \
  case TB_EXIT_##NAME: return help;
#include "results/exitcode.def"
#undef TB_EXIT
  }
  return "";
}
