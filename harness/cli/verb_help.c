/* `tbench help [VERB|switches|codes|environment] [format=…]`: texts made from the tables, so that they cannot
 * grow old. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "harness/base/verb.h"
#include "harness/cli/completion.h"
#include "harness/cli/help_page.h"
#include "harness/cli/verbs.h"
#include "harness/plan/spec.h"
#include "harness/push/push_format.h"
#include "reporters/reporter.h"
#include "results/outcome.h"
#include "results/stats/decide.h"

static const struct {
  int code;
  const char *help;
} codes[] = {
#define TB_EXIT(NAME, code, rank, help) {code, help},
#include "results/exitcode.def"
#undef TB_EXIT
};

/* --- one verb --- */

/* Options of run, or those that explain takes of them; then the axes. */
static void print_run_options(enum tb_help_form form, bool explain) {
  tb_help_section(form, "options", "");
  for (int i = 0; i < tb_option_count(); i++) {
    const struct tb_option_row *option = tb_option_row(i);
    if (explain ? !tb_option_measures(option) : option->use != TB_OPTION_EXPLAINS)
      tb_help_entry(form, option->name, "=", option->help, tb_option_default(option));
  }
  tb_help_section(form, "axes",
                  "each takes several values, with commas between them; so do a suite's own axes, such as "
                  "batch=1,8");
  for (int i = 0; i < TB_AXIS_COUNT; i++) {
    const struct tb_axis_row *axis = tb_axis_row((enum tb_axis_id)i);
    tb_help_entry(form, axis->name, "=", axis->help, axis->default_text);
    if (*axis->choices) tb_help_below(form, axis->choices);
  }
  puts(form == TB_HELP_TEXT ? "\nswitches of the compiler: tbench help switches"
                            : ".SH SWITCHES\n.BR tbench (1)\nlists the switches of the compiler.");
}

static void print_own_options(enum tb_help_form form, const char *verb) {
  const struct tb_verb_option *option = tb_verb_option_next(verb, NULL);
  if (option) tb_help_section(form, "options", "");
  for (; option; option = tb_verb_option_next(verb, option))
    tb_help_entry(form, option->name, "=", option->help, option->default_text);
}

static void print_formats(enum tb_help_form form) {
  tb_help_section(form, "formats", "");
  for (int i = 0; i < tb_reporter_count(); i++)
    tb_help_entry(form, tb_reporter_at(i)->name, "", tb_reporter_at(i)->help, "");
}

static void print_push_formats(enum tb_help_form form) {
  tb_help_section(form, "formats", "");
  for (int i = 0; i < tb_push_format_count(); i++) {
    const struct tb_push_format *f = tb_push_format_at(i);
    tb_help_entry(form, f->name, "", f->help, "");
    if (f->twice == TB_TWICE_TWICE)
      tb_help_below(form,
                    "(it has no key: a document that is sent again after a lost answer is stored twice)");
  }
}

/* The codes that a text names, with what they mean. */
static void print_codes_of(enum tb_help_form form, const char *text) {
  char *end, number[sizeof "-2147483648"];
  tb_help_section(form, form == TB_HELP_TEXT ? "exit codes" : "exit status", "");
  for (long code = strtol(text, &end, 10); end != text; text = end, code = strtol(text, &end, 10))
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
      if (codes[i].code != code) continue;
      snprintf(number, sizeof number, "%d", codes[i].code);
      tb_help_entry(form, number, "", codes[i].help, "");
    }
}

static void print_verb(enum tb_help_form form, const struct tb_verb_row *verb) {
  const bool run = !strcmp(verb->name, "run"), explain = !strcmp(verb->name, "explain");
  const char *end = verb->what[strlen(verb->what) - 1] == '?' ? "" : ".";
  if (form == TB_HELP_TEXT) {
    printf("tbench %s%s%s\n\n", verb->name, *verb->usage ? " " : "", verb->usage);
  } else {
    char page[64];
    snprintf(page, sizeof page, "tbench-%s", verb->name);
    tb_help_head(form, page, verb->what);
    printf(".SH SYNOPSIS\n.B tbench %s\n", verb->name);
    if (*verb->usage) tb_help_put(form, verb->usage), tb_help_end(form);
    puts(".SH DESCRIPTION");
  }
  printf("%c%s%s\n", toupper((unsigned char)*verb->what), verb->what + 1, end);
  if (*verb->more) tb_help_paragraph(form, verb->more);
  if (run || explain)
    print_run_options(form, explain);
  else
    print_own_options(form, verb->name);
  if (!strcmp(verb->name, "report")) print_formats(form);
  if (!strcmp(verb->name, "push")) print_push_formats(form);
  tb_help_section(form, "examples", "");
  tb_help_commands(form, "tbench ", verb->example);
  print_codes_of(form, verb->codes);
  if (form == TB_HELP_MAN) puts(".SH SEE ALSO\n.BR tbench (1)");
}

/* --- what is no verb --- */

/* " (1 to 8; default 2)" */
static void print_takes(enum tb_help_form form, const struct tc_config_row *r) {
  static const char *const types[] = {"on|off", "number", "text"};
  char range[64];
  snprintf(range, sizeof range, "%lld to %lld", (long long)r->takes.least, (long long)r->takes.most);
  const bool bounded = r->type == TC_CONFIG_INT && r->takes.most != INT64_MAX,
             units = r->type == TC_CONFIG_INT && r->takes.words;
  tb_help_put(form, r->takes.list ? " (any of " : " (");
  tb_help_put(form, units ? "number" : r->takes.words ? r->takes.words : bounded ? range : types[r->type]);
  tb_help_put(form, "; default ");
  tb_help_put(form, r->type == TC_CONFIG_BOOL ? (strcmp(r->default_text, "0") ? "on" : "off")
                    : units                   ? r->takes.words
                                              : r->default_text);
  tb_help_put(form, ")");
}

static void print_switches(enum tb_help_form form) {
  tb_help_section(form, "switches",
                  "of the compiler: name=value, or TB_NAME in the environment; * marks those that enter the "
                  "cache key");
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *r = tc_config_row(i);
    tb_help_begin(form, r->name, r->in_key ? "= *" : "=");
    if (form == TB_HELP_TEXT) tb_help_put(form, r->in_key ? "* " : "  ");
    tb_help_put(form, r->help);
    print_takes(form, r);
    tb_help_end(form);
  }
}

static void print_codes(enum tb_help_form form) {
  char number[sizeof "-2147483648"];
  tb_help_section(form, form == TB_HELP_TEXT ? "exit codes" : "exit status", "");
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    snprintf(number, sizeof number, "%d", codes[i].code);
    tb_help_entry(form, number, "", codes[i].help, "");
  }
  tb_help_section(form, "outcomes of a case", "");
  for (int i = 0; i < TB_OUTCOME_COUNT; i++)
    tb_help_entry(form, tb_outcome_text((enum tb_outcome)i), "", tb_outcome_help((enum tb_outcome)i), "");
  tb_help_section(
      form, "verdicts on a time",
      "the limit is the larger of threshold and noise floor; `tbench help gate` has the rule against "
      "a history. Below each: what to do");
  for (int i = 0; i < TB_VERDICT_COUNT; i++) {
    char todo[256];
    snprintf(todo, sizeof todo, "→ %s", tb_verdict_todo((enum tb_verdict)i));
    tb_help_entry(form, tb_verdict_word((enum tb_verdict)i), "", tb_verdict_meaning((enum tb_verdict)i), "");
    tb_help_below(form, todo);
  }
}

static void print_environment(enum tb_help_form form) {
  tb_help_section(form, "environment", "");
#define TB_ENVIRONMENT(name, help) tb_help_entry(form, name, "", help, "");
#include "harness/cli/environment.def"
#undef TB_ENVIRONMENT
  tb_help_entry(form, "TB_NAME", "", "a switch of the compiler, as TB_CACHE=off (`tbench help switches`)",
                "");
}

/* --- the overview --- */

static void print_overview(void) {
  puts("tbench VERB name=value…   (also --name value, --name=value)\n");
  for (int i = 0; i < tb_verb_count(); i++)
    if (tb_verb_is_shown(tb_verb_row_at(i)))
      tb_help_entry(TB_HELP_TEXT, tb_verb_row_at(i)->name, "", tb_verb_row_at(i)->what, "");
  puts("\n  --version        the version, its commit and its libraries\n");
  puts("tbench help VERB says how to use each. To begin: tbench doctor, then tbench run suite=mlp quick=yes");
}

/* tbench(1): the overview, and what all verbs share. */
static void print_main_page(void) {
  tb_help_head(TB_HELP_MAN, "tbench", "benchmark and compile-time regression harness for tensor programs");
  puts(".SH SYNOPSIS\n.B tbench\n.I VERB\n.RI [ name = value ...]\n.SH DESCRIPTION");
  puts("tbench runs a Lua function over tensors in two ways, eagerly and compiled, and measures both.\n"
       "It tells how much faster the compiled function is, what compiling costs, and what changed between "
       "two\n"
       "versions. Each figure comes with an interval, and each result is compared with a float64 reference.\n"
       ".PP\nAn option is written\n.IR name = value ,\n.BI \\-\\- name\\~value\nor\n.BI \\-\\- name = value "
       "\\fR.");
  tb_help_section(TB_HELP_MAN, "verbs", "");
  for (int i = 0; i < tb_verb_count(); i++) {
    const struct tb_verb_row *verb = tb_verb_row_at(i);
    if (!tb_verb_is_shown(verb)) continue;
    printf(".TP\n.BR tbench\\-%s (1)\n", verb->name);
    tb_help_put(TB_HELP_MAN, verb->what);
    tb_help_end(TB_HELP_MAN);
  }
  print_switches(TB_HELP_MAN);
  print_environment(TB_HELP_MAN);
  print_codes(TB_HELP_MAN);
  tb_help_section(TB_HELP_MAN, "examples", "");
  tb_help_commands(TB_HELP_MAN, "tbench ", "doctor\nrun suite=mlp quick=yes\nhelp run");
}

/* --- the verb --- */

static bool print_topic(const char *name) {
  static const struct {
    const char *name;
    void (*print)(enum tb_help_form form);
  } topics[] = {{"switches", print_switches}, {"codes", print_codes}, {"environment", print_environment}};
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
    if (!strcmp(topics[i].name, name)) return topics[i].print(TB_HELP_TEXT), true;
  return false;
}

/* `word`: a verb or a topic; NULL: all. */
static int print_help(const char *word, bool manual) {
  const struct tb_verb_row *verb = word ? tb_verb_row_find(word) : NULL;
  if (verb && tb_verb_is_shown(verb))
    print_verb(manual ? TB_HELP_MAN : TB_HELP_TEXT, verb);
  else if (!word && manual)
    print_main_page();
  else if (!word)
    print_overview();
  else if (manual)
    return tb_verb_usage("help", "there is no manual page on '%s'; name a verb, or nothing for tbench(1)",
                         word);
  else if (!print_topic(word))
    return tb_verb_usage(
        "help",
        "there is nothing on '%s'; name a verb (`tbench --help` shows them), switches, codes or "
        "environment",
        word);
  return TB_EXIT_PASS;
}

static int run_help(const struct tb_verb *verb) {
  const char *word = verb->args.words.len ? verb->args.words.data[0] : NULL,
             *format = tb_args_value(&verb->args, "format");
  if (!format || !strcmp(format, "text")) return print_help(word, false);
  if (!strcmp(format, "man")) return print_help(word, true);
  const bool zsh = !strcmp(format, "zsh");
  if (!zsh && strcmp(format, "bash"))
    return tb_verb_usage("help", "format=%s: use text, man, bash or zsh", format);
  if (word) return tb_verb_usage("help", "format=%s is for all verbs at once: leave out '%s'", format, word);
  tb_completion_print(zsh ? TB_SHELL_ZSH : TB_SHELL_BASH);
  return TB_EXIT_PASS;
}

int tb_verb_help(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "help", argc, argv, 1)) return TB_EXIT_USAGE;
  const int code = run_help(&verb);
  tb_verb_end(&verb);
  return code;
}
