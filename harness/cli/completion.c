/* Completion: the tables, as two functions that both shells read, behind a front end for each.
 *
 * 1. _tbench_names VERB prints a line for each name that the verb takes, "name=:what it is", and for each
 * plain word.
 * 2. _tbench_values VERB NAME prints a line for each value; @files, @folders and @suites stand for what only
 * the shell finds. */
#include "harness/cli/completion.h"

#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/plan/spec.h"
#include "harness/push/push_format.h"
#include "reporters/reporter.h"

/* --- text within '…' of a shell --- */

static void put_quoted(const char *text) {
  for (const char *c = text; *c; c++)
    if (*c == '\'')
      fputs("'\\''", stdout);
    else
      putchar(*c);
}

static void put_name(const char *name, const char *help) {
  printf("%s=:", name);
  put_quoted(help);
  putchar('\n');
}

/* "a,b" or "a, b": each on a line. */
static void put_list(const char *list) {
  for (const char *word = list; *word; word += strspn(word, ", ")) {
    const int length = (int)strcspn(word, ", ");
    printf("%.*s\n", length, word);
    word += length;
  }
}

/* --- values --- */

static void put_suites(void) { puts("@suites"); }
static void put_files(void) { puts("@files"); }
static void put_folders(void) { puts("@folders"); }

static void put_reporters(void) {
  for (int i = 0; i < tb_reporter_count(); i++) puts(tb_reporter_at(i)->name);
}
static void put_comparisons(void) {
  for (int i = 0; i < tb_reporter_count(); i++)
    if (tb_reporter_at(i)->write_comparison) puts(tb_reporter_at(i)->name);
}
static void put_push_formats(void) {
  for (int i = 0; i < tb_push_format_count(); i++) puts(tb_push_format_at(i)->name);
}
static void put_backends(void) {
#define TC_BACKEND(name, built, help) puts(#name);
#include "backends.def"
#undef TC_BACKEND
  puts("peer:");
}

/* The column `takes` of a table. */
static void put_taken(const char *takes) {
  static const struct {
    const char *word;
    void (*put)(void);
  } kinds[] = {{"SUITES", put_suites},           {"FILE", put_files},
               {"FOLDER", put_folders},          {"REPORTERS", put_reporters},
               {"COMPARISONS", put_comparisons}, {"PUSH_FORMATS", put_push_formats},
               {"BACKENDS", put_backends}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].word, takes)) {
      kinds[i].put();
      return;
    }
  put_list(takes);
}

static void begin_case(const char *pattern) { printf("  '%s') printf %%s '", pattern); }
static void end_case(void) { puts("' ;;"); }

static void print_values_of_switch(const struct tc_config_row *row) {
  begin_case(row->name);
  if (row->type == TC_CONFIG_BOOL)
    put_list("on,off");
  else if (row->takes.words)
    put_list(row->takes.words);
  else if (row->type == TC_CONFIG_TEXT)
    put_files();
  end_case();
}

/* Names that run, explain, ab and bisect share. */
static void print_shared_values(void) {
  puts("_tbench_shared_values() {\n  case $1 in");
  for (int i = 0; i < tb_option_count(); i++) {
    const struct tb_option_row *row = tb_option_row(i);
    begin_case(row->name);
    put_taken(row->type == TB_OPTION_FLAG ? "yes,no" : row->takes);
    end_case();
  }
  for (int i = 0; i < TB_AXIS_COUNT; i++) {
    const struct tb_axis_row *row = tb_axis_row((enum tb_axis_id)i);
    begin_case(row->name);
    put_taken(*row->choices ? row->choices : row->takes);
    end_case();
  }
  for (int i = 0; i < tc_config_count(); i++) print_values_of_switch(tc_config_row(i));
  puts("  esac\n}");
}

static void print_values(void) {
  puts("_tbench_values() {\n  case \"$1 $2\" in");
  for (int v = 0; v < tb_verb_count(); v++) {
    const char *verb = tb_verb_row_at(v)->name;
    for (const struct tb_verb_option *o = tb_verb_option_next(verb, NULL); o;
         o = tb_verb_option_next(verb, o)) {
      const bool flag = !strcmp(o->default_text, "yes") || !strcmp(o->default_text, "no");
      printf("  '%s %s') printf %%s '", verb, o->name);
      put_taken(flag ? "yes,no" : o->takes);
      if (o->more) puts(o->more);
      end_case();
    }
  }
  puts("  run\\ *|explain\\ *|ab\\ *|bisect\\ *) _tbench_shared_values \"$2\" ;;\n  esac\n}");
}

/* --- names and words --- */

static void put_verbs(void) {
  for (int i = 0; i < tb_verb_count(); i++)
    if (tb_verb_is_shown(tb_verb_row_at(i))) puts(tb_verb_row_at(i)->name);
}

/* The words that a usage text has: those in lower case are written as they stand, FILE or X.json is a file.
 * What has a '=' is an option. */
static void put_words_of_usage(const char *usage) {
  bool files = false;
  for (const char *word = usage; *word;) {
    const size_t whole = strcspn(word, " ");
    const char *end = word + whole;
    const bool option = memchr(word, '=', whole);
    for (const char *part = word; part < end && !option; part++) {
      const size_t length = strcspn(part, " |[]");
      if (!strncmp(part, "VERB", length) && length)
        put_verbs();
      else if (length && strspn(part, "abcdefghijklmnopqrstuvwxyz") == length)
        printf("%.*s\n", (int)length, part);
      else
        files |= !strncmp(part, "FILE", strlen("FILE")) || (length && strstr(part, ".json"));
      part += length;
    }
    word = end + strspn(end, " ");
  }
  if (files) put_files();
}

static bool has_shared_names(const char *verb) {
  static const char *const sharing[] = {"run", "explain", "ab", "bisect"};
  for (size_t i = 0; i < sizeof sharing / sizeof *sharing; i++)
    if (!strcmp(sharing[i], verb)) return true;
  return false;
}

/* Does the verb take this option of options.def? */
static bool takes_option(const char *verb, const struct tb_option_row *row) {
  if (!strcmp(verb, "explain")) return !tb_option_measures(row);
  return row->use != TB_OPTION_EXPLAINS && (row->use != TB_OPTION_REPEATS || !strcmp(verb, "run"));
}

static void print_names_of(const struct tb_verb_row *verb) {
  printf("  %s) printf %%s '", verb->name);
  for (const struct tb_verb_option *o = tb_verb_option_next(verb->name, NULL); o;
       o = tb_verb_option_next(verb->name, o))
    put_name(o->name, o->help);
  if (has_shared_names(verb->name))
    for (int i = 0; i < tb_option_count(); i++)
      if (takes_option(verb->name, tb_option_row(i)) &&
          !tb_verb_option_find(verb->name, tb_option_row(i)->name))
        put_name(tb_option_row(i)->name, tb_option_row(i)->help);
  put_words_of_usage(verb->usage);
  printf("'%s ;;\n", has_shared_names(verb->name) ? "; _tbench_shared_names" : "");
}

static void print_names(void) {
  puts("_tbench_shared_names() {\n  printf %s '");
  for (int i = 0; i < TB_AXIS_COUNT; i++)
    put_name(tb_axis_row((enum tb_axis_id)i)->name, tb_axis_row((enum tb_axis_id)i)->help);
  for (int i = 0; i < tc_config_count(); i++) put_name(tc_config_row(i)->name, tc_config_row(i)->help);
  puts("'\n}\n_tbench_names() {\n  case $1 in");
  for (int i = 0; i < tb_verb_count(); i++)
    if (tb_verb_is_shown(tb_verb_row_at(i))) print_names_of(tb_verb_row_at(i));
  puts("  esac\n}\n_tbench_verbs() {\n  printf %s '");
  for (int i = 0; i < tb_verb_count(); i++) {
    const struct tb_verb_row *verb = tb_verb_row_at(i);
    if (!tb_verb_is_shown(verb)) continue;
    printf("%s:", verb->name);
    put_quoted(verb->what);
    putchar('\n');
  }
  puts("'\n}");
}

/* --- front ends --- */

static const char suites_of_shell[] = "# The suites that this tbench finds, if it answers.\n"
                                      "_tbench_suites() {\n"
                                      "  \"$1\" list 2> /dev/null | sed -n 's/^\\([a-z0-9_]*\\): .*/\\1/p'\n"
                                      "}\n";

/* Readline takes = and : for ends of words: it replaces what is behind the last one. */
static const char bash_front[] =
    "_tbench() {\n"
    "  local line=${COMP_LINE:0:COMP_POINT} current name value before line_of offered=()\n"
    "  local -a words\n"
    "  read -ra words <<< \"$line\"\n"
    "  current=${line##*[[:space:]]}\n"
    "  COMPREPLY=()\n"
    "  if [ ${#words[@]} -le 1 ] || { [ ${#words[@]} -eq 2 ] && [ -n \"$current\" ]; }; then\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$(_tbench_verbs | sed 's/:.*//') --help --version\" -- "
    "\"$current\")\n"
    "    return\n"
    "  fi\n"
    "  if [[ $current == *=* ]]; then\n"
    "    value=${current#*=} name=${current%%=*} name=${name#--}\n"
    "    case ${words[1]} in ab | bisect) case $name in base.* | head.*) name=${name#*.} ;; esac ;; esac\n"
    "    before=${current%\"${value##*,}\"}\n"
    "    while read -r line_of; do\n"
    "      case $line_of in\n"
    "        '') ;;\n"
    "        @files) mapfile -t -O ${#offered[@]} offered < <(compgen -f -P \"$before\" -- \"${value##*,}\") "
    ";;\n"
    "        @folders) mapfile -t -O ${#offered[@]} offered < <(compgen -d -P \"$before\" -- "
    "\"${value##*,}\") ;;\n"
    "        @suites)\n"
    "          mapfile -t -O ${#offered[@]} offered < <(_tbench_suites \"${words[0]}\" | sed "
    "\"s|^|$before|\")\n"
    "          mapfile -t -O ${#offered[@]} offered < <(compgen -f -P \"$before\" -X '!*.lua' -- "
    "\"${value##*,}\") ;;\n"
    "        *) offered+=(\"$before$line_of\") ;;\n"
    "      esac\n"
    "    done < <(_tbench_values \"${words[1]}\" \"$name\")\n"
    "  else\n"
    "    before=\n"
    "    case $current in --*) before=-- ;; esac\n"
    "    case ${words[1]}:$current in ab:base.* | bisect:base.* | ab:head.* | bisect:head.*) "
    "before=${current%%.*}. ;; esac\n"
    "    while read -r line_of; do\n"
    "      case $line_of in\n"
    "        '') ;;\n"
    "        @files) mapfile -t -O ${#offered[@]} offered < <(compgen -f -- \"$current\") ;;\n"
    "        *) offered+=(\"$before${line_of%%:*}\") ;;\n"
    "      esac\n"
    "    done < <(_tbench_names \"${words[1]}\")\n"
    "  fi\n"
    "  before=${current%\"${current##*[=:]}\"}\n"
    "  for name in \"${offered[@]}\"; do\n"
    "    [[ $name == \"$current\"* ]] || continue\n"
    "    COMPREPLY+=(\"${name#\"$before\"}\")\n"
    "    case $name in *= | *:) compopt -o nospace 2> /dev/null ;; esac\n"
    "  done\n"
    "}\n"
    "complete -F _tbench tbench\n";

static const char zsh_front[] =
    "_tbench_offer() {\n"
    "  local line\n"
    "  local -a plain open\n"
    "  for line in ${(f)\"$(_tbench_values $1 $2)\"}; do\n"
    "    case $line in\n"
    "      @files) _files ;;\n"
    "      @folders) _files -/ ;;\n"
    "      @suites) plain+=(${(f)\"$(_tbench_suites $words[1])\"}); _files -g '*.lua' ;;\n"
    "      *:) open+=($line) ;;\n"
    "      *) plain+=($line) ;;\n"
    "    esac\n"
    "  done\n"
    "  (( ! $#plain )) || compadd -- $plain\n"
    "  (( ! $#open )) || compadd -S '' -- $open\n"
    "}\n"
    "_tbench() {\n"
    "  local name line\n"
    "  local -a offered named plain\n"
    "  if (( CURRENT == 2 )); then\n"
    "    offered=(${(f)\"$(_tbench_verbs)\"})\n"
    "    _describe -t verbs verb offered\n"
    "    return\n"
    "  fi\n"
    "  if [[ $PREFIX == *=* ]]; then\n"
    "    name=${${PREFIX%%=*}#--}\n"
    "    case $words[2] in ab|bisect) case $name in base.*|head.*) name=${name#*.} ;; esac ;; esac\n"
    "    compset -P '*='\n"
    "    compset -P '*,'\n"
    "    _tbench_offer $words[2] $name\n"
    "    return\n"
    "  fi\n"
    "  case $PREFIX in --*) compset -P -- -- ;; esac\n"
    "  case $words[2]:$PREFIX in (ab|bisect):(base|head).*) compset -P '*.' ;; esac\n"
    "  for line in ${(f)\"$(_tbench_names $words[2])\"}; do\n"
    "    case $line in\n"
    "      @files) _files ;;\n"
    "      *=:*) named+=($line) ;;\n"
    "      *) plain+=($line) ;;\n"
    "    esac\n"
    "  done\n"
    "  (( ! $#plain )) || compadd -- $plain\n"
    "  (( ! $#named )) || _describe -t names name named -S ''\n"
    "}\n"
    "_tbench \"$@\"\n";

void tb_completion_print(enum tb_shell shell) {
  const bool zsh = shell == TB_SHELL_ZSH;
  if (zsh) puts("#compdef tbench");
  printf("# Completion of tbench, made by `tbench help format=%s`.\n", zsh ? "zsh" : "bash");
  print_names();
  print_shared_values();
  print_values();
  fputs(suites_of_shell, stdout);
  fputs(zsh ? zsh_front : bash_front, stdout);
}
