/* `tbench help [VERB|switches|codes]`: texts made from the tables, so that they cannot grow old. */
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "harness/outcome.h"
#include "harness/spec.h"
#include "harness/verb.h"
#include "harness/verbs.h"
#include "reporters/reporter.h"

enum { NAME_WIDTH = 16 };

static void row(const char *name, const char *help) { printf("  %-*s %s\n", NAME_WIDTH, name, help); }

static void print_verbs(void) {
  puts("tbench VERB name=value…   (also --name value, --name=value)\n");
#define TB_VERB(name, function, help) \
  if (strcmp(#name, "worker")) row(#name, help);
#include "harness/verbs.def"
#undef TB_VERB
  puts("\n  --version        the version, its commit and its libraries");
}

static void print_run(void) {
  puts("tbench run suite=NAME|FILE [option=value…] [axis=v1,v2…] [switch=value…]\n\noptions:");
  for (int i = 0; i < tb_option_count(); i++) row(tb_option_row(i)->name, tb_option_row(i)->help);
  puts("\naxes (each takes several values with commas; a suite's own axes too, as batch=1,8):");
  for (int i = 0; i < TB_AXIS_COUNT; i++) {
    const struct tb_axis_row *axis = tb_axis_row((enum tb_axis_id)i);
    row(axis->name, axis->help);
    if (*axis->choices) printf("  %-*s %s\n", NAME_WIDTH, "", axis->choices);
  }
  puts("\nswitches of the compiler: tbench help switches. Exit codes: tbench help codes.");
}

static void print_switches(void) {
  puts("Switches of the compiler: name=value, or TB_NAME in the environment. Those marked * enter the cache key.\n");
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *r = tc_config_row(i);
    static const char *const types[] = {"on|off", "number", "text"};
    char range[64];
    snprintf(range, sizeof range, "%lld to %lld", (long long)r->takes.least, (long long)r->takes.most);
    const bool bounded = r->type == TC_CONFIG_INT && r->takes.most != INT64_MAX;
    printf("  %-*s%s %s (%s%s; default %s)\n", NAME_WIDTH, r->name, r->in_key ? "*" : " ", r->help, r->takes.list ? "any of " : "",
           r->takes.words ? r->takes.words : bounded ? range : types[r->type],
           r->type == TC_CONFIG_BOOL ? (strcmp(r->default_text, "0") ? "on" : "off") : r->default_text);
  }
}

static void print_codes(void) {
  puts("Exit codes:");
#define TB_EXIT(NAME, code, rank, help) printf("  %-*d %s\n", NAME_WIDTH, code, help);
#include "harness/exitcode.def"
#undef TB_EXIT
  puts("\nOutcomes of a case:");
  for (int i = 0; i < TB_OUTCOME_COUNT; i++) row(tb_outcome_text((enum tb_outcome)i), tb_outcome_help((enum tb_outcome)i));
}

static void print_report(void) {
  puts("tbench report FILE [format=NAME]\n\nformats (default: console):");
  for (int i = 0; i < tb_reporter_count(); i++) row(tb_reporter_at(i)->name, tb_reporter_at(i)->help);
}

static const char *verb_help(const char *name) {
#define TB_VERB(verb, function, help) \
  if (!strcmp(#verb, name)) return help;
#include "harness/verbs.def"
#undef TB_VERB
  return NULL;
}

int tb_verb_help(int argc, char *const *argv) {
  static const struct { const char *name; void (*print)(void); } topics[] = {
      {"run", print_run}, {"switches", print_switches}, {"codes", print_codes}, {"report", print_report}};
  if (!argc) {
    print_verbs();
    return TB_EXIT_PASS;
  }
  if (argc > 1) return tb_verb_usage("help", "'%s' is one word too many", argv[1]);
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
    if (strcmp(topics[i].name, argv[0])) continue;
    topics[i].print();
    return TB_EXIT_PASS;
  }
  const char *help = verb_help(argv[0]);
  if (!help) return tb_verb_usage("help", "there is nothing on '%s'; name a verb (`tbench --help` shows them), switches or codes", argv[0]);
  row(argv[0], help);
  return TB_EXIT_PASS;
}
