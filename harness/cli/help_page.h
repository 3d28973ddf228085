/* The parts of a help text, written to standard output as plain text or as a manual page (man(7) macros).
 * Both come from the same calls, so that they say the same. Texts are UTF-8; a manual page is ASCII. */
#ifndef TB_HELP_PAGE_H
#define TB_HELP_PAGE_H

enum tb_help_form { TB_HELP_TEXT, TB_HELP_MAN };

/* Head of a manual page: "tbench-run", "measure a suite". Plain text has none. */
void tb_help_head(enum tb_help_form form, const char *page, const char *what);
/* A heading, with a remark on the whole section ("": none). */
void tb_help_section(enum tb_help_form form, const char *title, const char *remark);
/* A paragraph. In plain text its lines stay as they are. */
void tb_help_paragraph(enum tb_help_form form, const char *text);
/* A name and what it means: begin, then any number of puts, then end. `mark` follows the name: "=" in a
 * manual page alone. */
void tb_help_begin(enum tb_help_form form, const char *name, const char *mark);
void tb_help_put(enum tb_help_form form, const char *text);
void tb_help_end(enum tb_help_form form);
/* A further line below the last name. */
void tb_help_below(enum tb_help_form form, const char *text);
/* All three at once; " (default: X)" unless `otherwise` is "". */
void tb_help_entry(enum tb_help_form form, const char *name, const char *mark, const char *text,
                   const char *otherwise);
/* Lines of commands, each after `before`. */
void tb_help_commands(enum tb_help_form form, const char *before, const char *lines);

#endif
