/* `tbench help [VERB|switches|codes]`: texts made from the tables, so that they cannot grow old. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/plan/spec.h"
#include "harness/push/push_format.h"
#include "reporters/reporter.h"
#include "results/outcome.h"
#include "results/stats/decide.h"

enum { NAME_WIDTH = 16 };

static const struct verb_row {
  const char *name, *usage, *what, *more, *example, *codes;
} verbs[] = {
#define TB_VERB(name, function, usage, what, more, example, codes) {#name, usage, what, more, example, codes},
#include "harness/cli/verbs.def"
#undef TB_VERB
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static const struct {
  int code;
  const char *help;
} codes[] = {
#define TB_EXIT(NAME, code, rank, help) {code, help},
#include "results/exitcode.def"
#undef TB_EXIT
};

static void row(const char *name, const char *help) { printf("  %-*s %s\n", NAME_WIDTH, name, help); }

static void row_with_default(const char *name, const char *help, const char *otherwise) {
  if (*otherwise)
    printf("  %-*s %s (default: %s)\n", NAME_WIDTH, name, help, otherwise);
  else
    row(name, help);
}

/* --- one verb --- */

/* Options of run, or those that explain takes of them; then the axes. */
static void print_run_options(bool explain) {
  puts("\noptions:");
  for (int i = 0; i < tb_option_count(); i++) {
    const struct tb_option_row *option = tb_option_row(i);
    if (option->use != (explain ? TB_OPTION_MEASURES : TB_OPTION_EXPLAINS))
      row_with_default(option->name, option->help, tb_option_default(option));
  }
  puts("\naxes (each takes several values with commas; a suite's own axes too, as batch=1,8):");
  for (int i = 0; i < TB_AXIS_COUNT; i++) {
    const struct tb_axis_row *axis = tb_axis_row((enum tb_axis_id)i);
    row_with_default(axis->name, axis->help, axis->default_text);
    if (*axis->choices) printf("  %-*s %s\n", NAME_WIDTH, "", axis->choices);
  }
  puts("\nswitches of the compiler: tbench help switches");
}

/* Lines of a text, each after `before`. */
static void print_lines(const char *before, const char *text) {
  for (const char *line = text; *line;) {
    const int length = (int)strcspn(line, "\n");
    printf("%s%.*s\n", before, length, line);
    line += length + (line[length] == '\n');
  }
}

/* The codes that a text names, with what they mean. */
static void print_codes_of(const char *text) {
  puts("\nexit codes:");
  char *end;
  for (long code = strtol(text, &end, 10); end != text; text = end, code = strtol(text, &end, 10))
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
      if (codes[i].code == code) printf("  %-*d %s\n", NAME_WIDTH, codes[i].code, codes[i].help);
}

static void print_verb(const struct verb_row *verb) {
  const bool run = !strcmp(verb->name, "run"), explain = !strcmp(verb->name, "explain");
  const char *end = verb->what[strlen(verb->what) - 1] == '?' ? "" : ".";
  printf("tbench %s%s%s\n\n%c%s%s\n", verb->name, *verb->usage ? " " : "", verb->usage,
         toupper((unsigned char)*verb->what), verb->what + 1, end);
  print_lines("", verb->more);
  if (run || explain)
    print_run_options(explain);
  else {
    const struct tb_verb_option *option = tb_verb_option_next(verb->name, NULL);
    if (option) puts("\noptions:");
    for (; option; option = tb_verb_option_next(verb->name, option))
      row_with_default(option->name, option->help, option->default_text);
  }
  if (!strcmp(verb->name, "report")) {
    puts("\nformats:");
    for (int i = 0; i < tb_reporter_count(); i++) row(tb_reporter_at(i)->name, tb_reporter_at(i)->help);
  }
  if (!strcmp(verb->name, "push")) {
    puts("\nformats:");
    for (int i = 0; i < tb_push_format_count(); i++) {
      const struct tb_push_format *f = tb_push_format_at(i);
      row(f->name, f->help);
      if (f->twice == TB_TWICE_TWICE)
        row("", "(it knows no key: what is sent again after a lost answer is there twice)");
    }
  }
  puts("\nexamples:");
  print_lines("  tbench ", verb->example);
  print_codes_of(verb->codes);
}

/* --- what is no verb --- */

static void print_switches(void) {
  puts("Switches of the compiler: name=value, or TB_NAME in the environment. Those marked * enter the cache "
       "key.\n");
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *r = tc_config_row(i);
    static const char *const types[] = {"on|off", "number", "text"};
    char range[64];
    snprintf(range, sizeof range, "%lld to %lld", (long long)r->takes.least, (long long)r->takes.most);
    const bool bounded = r->type == TC_CONFIG_INT && r->takes.most != INT64_MAX,
               units = r->type == TC_CONFIG_INT && r->takes.words;
    printf("  %-*s%s %s (%s%s; default %s)\n", NAME_WIDTH, r->name, r->in_key ? "*" : " ", r->help,
           r->takes.list ? "any of " : "",
           units            ? "number"
           : r->takes.words ? r->takes.words
           : bounded        ? range
                            : types[r->type],
           r->type == TC_CONFIG_BOOL ? (strcmp(r->default_text, "0") ? "on" : "off")
           : units                   ? r->takes.words
                                     : r->default_text);
  }
}

static void print_codes(void) {
  puts("Exit codes:");
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    printf("  %-*d %s\n", NAME_WIDTH, codes[i].code, codes[i].help);
  puts("\nOutcomes of a case:");
  for (int i = 0; i < TB_OUTCOME_COUNT; i++)
    row(tb_outcome_text((enum tb_outcome)i), tb_outcome_help((enum tb_outcome)i));
  puts("\nVerdicts on a time (the limit is the larger of threshold and noise floor; against a history see "
       "`tbench help gate`), and what to do:");
  for (int i = 0; i < TB_VERDICT_COUNT; i++) {
    row(tb_verdict_word((enum tb_verdict)i), tb_verdict_meaning((enum tb_verdict)i));
    printf("  %-*s → %s\n", NAME_WIDTH, "", tb_verdict_todo((enum tb_verdict)i));
  }
}

static bool print_topic(const char *name) {
  static const struct {
    const char *name;
    void (*print)(void);
  } topics[] = {{"switches", print_switches}, {"codes", print_codes}};
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
    if (!strcmp(topics[i].name, name)) return topics[i].print(), true;
  for (int i = 0; i < N_VERBS; i++)
    if (!strcmp(verbs[i].name, name) && *verbs[i].example) return print_verb(&verbs[i]), true;
  return false;
}

int tb_verb_help(int argc, char *const *argv) {
  if (argc > 1) return tb_verb_usage("help", "'%s' is one word too many", argv[1]);
  if (!argc) {
    puts("tbench VERB name=value…   (also --name value, --name=value)\n");
    for (int i = 0; i < N_VERBS; i++)
      if (strcmp(verbs[i].name, "worker")) row(verbs[i].name, verbs[i].what);
    puts("\n  --version        the version, its commit and its libraries\n");
    puts("tbench help VERB says how each is used. To begin: tbench doctor, then tbench run suite=mlp "
         "quick=yes");
  } else if (!print_topic(argv[0]))
    return tb_verb_usage(
        "help", "there is nothing on '%s'; name a verb (`tbench --help` shows them), switches or codes",
        argv[0]);
  return TB_EXIT_PASS;
}
