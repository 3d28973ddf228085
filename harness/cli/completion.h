/* Completion scripts for shells: verbs, the names that each takes, and the values of those names. */
#ifndef TB_COMPLETION_H
#define TB_COMPLETION_H

enum tb_shell { TB_SHELL_BASH, TB_SHELL_ZSH };

/* Writes a whole script to standard output. */
void tb_completion_print(enum tb_shell shell);

#endif
