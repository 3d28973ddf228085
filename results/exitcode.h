/* Exit codes of the program, from exitcode.def. */
#ifndef TB_EXITCODE_H
#define TB_EXITCODE_H

enum tb_exit {
#define TB_EXIT(NAME, code, rank, help) TB_EXIT_##NAME = (code),
#include "results/exitcode.def"
#undef TB_EXIT
};

/* The one of two codes that a caller is told when both hold. */
enum tb_exit tb_exit_worse(enum tb_exit a, enum tb_exit b);

/* What a code means, from its row. */
const char *tb_exit_help(enum tb_exit code);

#endif
