/* Plain text, and man(7) macros: .SH, .PP, .TP, .EX. */
#include "harness/cli/help_page.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/build.h"

enum { NAME_WIDTH = 16 };

/* --- characters of a manual page --- */

/* The character that begins at `text`; returns its bytes. What is no UTF-8 counts as one byte. */
static int decode(const char *text, unsigned *code) {
  const unsigned char *c = (const unsigned char *)text;
  const int more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc0 ? 1 : 0;
  *code = more ? *c & (0x3fu >> more) : *c;
  for (int i = 1; i <= more; i++) {
    if ((c[i] & 0xc0) != 0x80) return *code = *c, 1;
    *code = *code << 6 | (c[i] & 0x3fu);
  }
  return more + 1;
}

/* A dash is one to copy into a shell, and no hyphen; a point or quote must not begin a line. */
static void put_escaped(const char *text, size_t length) {
  enum { LAST_OF_ASCII = 0x7f };
  unsigned code;
  for (const char *c = text; c < text + length; c += decode(c, &code)) {
    decode(c, &code);
    if (code > LAST_OF_ASCII)
      printf("\\[u%04X]", code);
    else if (code == '\\')
      fputs("\\(rs", stdout);
    else if (code == '-')
      fputs("\\-", stdout);
    else if (code == '\'')
      fputs("\\(aq", stdout);
    else if (code == '`')
      fputs("\\(ga", stdout);
    else if (code == '^' || code == '~')
      fputs(code == '^' ? "\\(ha" : "\\(ti", stdout);
    else
      putchar((int)code);
  }
}
static void put_line(const char *text, size_t length) {
  fputs("\\&", stdout);
  put_escaped(text, length);
  putchar('\n');
}

/* --- parts --- */

void tb_help_head(enum tb_help_form form, const char *page, const char *what) {
  if (form != TB_HELP_MAN) return;
  puts(".\\\" Made by `tbench help format=man`.");
  fputs(".TH \"", stdout);
  for (const char *c = page; *c; c++) putchar(toupper((unsigned char)*c));
  printf("\" 1 \"\" \"tbench %s\" \"User Commands\"\n.SH NAME\n", PACKAGE_VERSION);
  put_escaped(page, strlen(page));
  fputs(" \\- ", stdout);
  put_escaped(what, strlen(what));
  putchar('\n');
}

void tb_help_section(enum tb_help_form form, const char *title, const char *remark) {
  if (form == TB_HELP_TEXT) {
    printf(*remark ? "\n%s (%s):\n" : "\n%s:\n", title, remark);
    return;
  }
  fputs(".SH ", stdout);
  for (const char *c = title; *c; c++) putchar(toupper((unsigned char)*c));
  putchar('\n');
  if (!*remark) return;
  putchar(toupper((unsigned char)*remark));
  put_escaped(remark + 1, strlen(remark + 1));
  puts(".");
}

void tb_help_paragraph(enum tb_help_form form, const char *text) {
  if (form == TB_HELP_MAN) puts(".PP");
  for (const char *line = text; *line;) {
    const size_t length = strcspn(line, "\n");
    if (form == TB_HELP_MAN)
      put_line(line, length);
    else
      printf("%.*s\n", (int)length, line);
    line += length + (line[length] == '\n');
  }
}

void tb_help_begin(enum tb_help_form form, const char *name, const char *mark) {
  if (form == TB_HELP_TEXT) {
    printf("  %-*s ", NAME_WIDTH, name);
    return;
  }
  fputs(".TP\n\\fB", stdout);
  put_escaped(name, strlen(name));
  printf("\\fP%s\n\\&", mark);
}

void tb_help_put(enum tb_help_form form, const char *text) {
  if (form == TB_HELP_TEXT)
    fputs(text, stdout);
  else
    put_escaped(text, strlen(text));
}

void tb_help_end(enum tb_help_form form) {
  (void)form;
  putchar('\n');
}

void tb_help_below(enum tb_help_form form, const char *text) {
  if (form == TB_HELP_TEXT) {
    printf("  %-*s %s\n", NAME_WIDTH, "", text);
    return;
  }
  puts(".br");
  put_line(text, strlen(text));
}

void tb_help_entry(enum tb_help_form form, const char *name, const char *mark, const char *text,
                   const char *otherwise) {
  tb_help_begin(form, name, mark);
  tb_help_put(form, text);
  if (*otherwise) {
    tb_help_put(form, " (default: ");
    tb_help_put(form, otherwise);
    tb_help_put(form, ")");
  }
  tb_help_end(form);
}

void tb_help_commands(enum tb_help_form form, const char *before, const char *lines) {
  if (form == TB_HELP_MAN) puts(".EX");
  for (const char *line = lines; *line;) {
    const size_t length = strcspn(line, "\n");
    if (form == TB_HELP_TEXT) {
      printf("  %s%.*s\n", before, (int)length, line);
    } else {
      fputs("\\&", stdout);
      put_escaped(before, strlen(before));
      put_escaped(line, length);
      putchar('\n');
    }
    line += length + (line[length] == '\n');
  }
  if (form == TB_HELP_MAN) puts(".EE");
}
