/* `tbench push FILE… to=URL [format=NAME]` and `tbench push spooled=yes`: results on their way to a
 * dashboard. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/push/pusher.h"

enum { TRIES_MOST = 1000, DAY_S = 86400 };

struct wishes {
  bool spooled, refused;
};

static void take_text(const struct tb_verb *verb, const char *name, const char **value) {
  const char *text = tb_args_value(&verb->args, name);
  if (text) *value = text;
}

static bool take_seconds(const struct tb_verb *verb, const char *name, double least, double *value) {
  const char *text = tb_args_value(&verb->args, name);
  char *end = NULL;
  if (!text) return true;
  const double seconds = strtod(text, &end);
  if (end == text || *end || !isfinite(seconds) || seconds < least || seconds > DAY_S) {
    tb_verb_usage(verb->name, "%s=%s: seconds from %g to %d", name, text, least, DAY_S);
    return false;
  }
  *value = seconds;
  return true;
}

static bool take_tries(const struct tb_verb *verb, int *value) {
  const char *text = tb_args_value(&verb->args, "tries");
  long long tries;
  if (!text) return true;
  if (!tb_whole_parse(text, &tries) || tries < 1 || tries > TRIES_MOST) {
    tb_verb_usage(verb->name, "tries=%s: a number from 1 to %d", text, TRIES_MOST);
    return false;
  }
  *value = (int)tries;
  return true;
}

/* False with a line on standard error. */
static bool read_options(const struct tb_verb *verb, struct tb_pusher_options *o, struct wishes *wishes) {
  take_text(verb, "to", &o->to);
  take_text(verb, "format", &o->format);
  take_text(verb, "spool", &o->spool);
  take_text(verb, "token_file", &o->token_file);
  take_text(verb, "branch", &o->branch);
  take_text(verb, "cacert", &o->http.cacert);
  return take_tries(verb, &o->policy.tries) && take_seconds(verb, "wait", 0, &o->policy.wait_s) &&
         take_seconds(verb, "wait_most", 0, &o->policy.wait_most_s) &&
         take_seconds(verb, "connect", 0.001, &o->http.connect_s) &&
         take_seconds(verb, "stall", 1, &o->http.stall_s) &&
         take_seconds(verb, "timeout", 0.001, &o->http.total_s) &&
         tb_verb_flag(verb, "compress", &o->policy.compress) &&
         tb_verb_flag(verb, "plain", &o->policy.plain) && tb_verb_flag(verb, "spooled", &wishes->spooled) &&
         tb_verb_flag(verb, "refused", &wishes->refused);
}

/* False with a line on standard error. */
static bool make_sense(const struct tb_verb *verb, const struct tb_pusher_options *o,
                       const struct wishes *wishes) {
  const size_t files = verb->args.words.len;
  const char *wrong = NULL;
  if (wishes->spooled && files)
    wrong = "spooled=yes sends what is in the spool, and takes no files";
  else if (wishes->refused && !wishes->spooled)
    wrong = "refused=yes belongs to spooled=yes";
  else if (!wishes->spooled && !files)
    wrong = "name result files, or spooled=yes: tbench push results/….json to=URL";
  else if (!wishes->spooled && !*o->to)
    wrong = "name the endpoint: to=URL";
  if (wrong) tb_verb_usage(verb->name, "%s", wrong);
  return !wrong;
}

static int push_all(struct tb_verb *verb, struct tb_pusher *p, const struct wishes *wishes) {
  struct tc_error err = {0};
  tb_spool_names names = {0};
  int code = TB_EXIT_PASS;
  if (wishes->spooled && tb_pusher_spooled(p, wishes->refused, &names, &err)) {
    if (err.status == TC_ARG) return tb_verb_usage(verb->name, "%s", err.message);
    code = tb_verb_failed(verb->name, "%s", err.message);
  }
  for (size_t i = 0; i < verb->args.words.len; i++) tb_pusher_add(p, verb->args.words.data[i], &names);
  tb_pusher_deliver(p, &names);
  tb_pusher_summarise(p, stdout);
  return (int)tb_exit_worse((enum tb_exit)code, tb_pusher_exit(p));
}

static int push(struct tb_verb *verb, const struct tb_pusher_options *options, const struct wishes *wishes) {
  struct tc_error err = {0};
  struct tb_interrupt interrupt;
  struct tb_pusher pusher;
  if (tb_interrupt_open(&interrupt, &err)) return tb_verb_failed(verb->name, "%s", err.message);
  int code;
  if (!tb_pusher_open(&pusher, options, verb->arena, &interrupt, &err))
    code = push_all(verb, &pusher, wishes);
  else if (err.status == TC_ARG)
    code = tb_verb_usage(verb->name, "%s", err.message);
  else
    code = tb_verb_failed(verb->name, "%s", err.message);
  tb_pusher_close(&pusher);
  tb_interrupt_close(&interrupt);
  return code;
}

int tb_verb_push(int argc, char *const *argv) {
  struct tb_verb verb;
  struct tb_pusher_options options = tb_pusher_defaults("push");
  struct wishes wishes = {false, false};
  signal(SIGPIPE, SIG_IGN); /* an endpoint that hangs up is an error of a write */
  if (!tb_verb_begin(&verb, "push", argc, argv, SIZE_MAX)) return TB_EXIT_USAGE;
  int code = TB_EXIT_USAGE;
  if (read_options(&verb, &options, &wishes) && make_sense(&verb, &options, &wishes))
    code = push(&verb, &options, &wishes);
  tb_verb_end(&verb);
  return code;
}
