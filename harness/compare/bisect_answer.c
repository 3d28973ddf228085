/* The answer, and the command that shows it again. Invariant: what is printed as reproducing was run as the
 * last step, with an output file of its own as the only difference. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/compare/bisect.h"
#include "harness/wire/process.h"

/* --- the answer --- */

static const char *trouble_text(const struct tb_bisect *b) {
  static const char *const texts[] = {"", "wrong", "failing", "slower than base"};
  return texts[b->trouble];
}

static const char *trouble_verb(const struct tb_bisect *b) {
  return b->trouble == TB_TROUBLE_FAILED ? "fail" : trouble_text(b);
}

static const char *shown(const char *value, bool program) {
  return value ? value : program ? "self" : "its default";
}

static void tell_switches(const struct tb_bisect *b) {
  for (size_t i = 0; i < b->differences.len; i++) {
    const struct tb_difference *d = &b->differences.data[i];
    if (b->found.from_head[i])
      printf("  %-10s %s=%s (base: %s)\n", d->program ? "program" : "switch", d->name,
             shown(d->head, d->program), shown(d->base, d->program));
  }
  if (b->aside_evidence && b->others_alike)
    printf("  %-10s head without that is nearly as slow, or slower, because of what follows \"not\": these "
           "causes hide each other; fix all of them (%s)\n",
           "and", b->others);
  else if (b->others && b->others_unsure)
    printf("  %-10s it is unclear whether head without that is %s too (%s)\n", "and", trouble_text(b),
           b->others);
  else if (b->others)
    printf("  %-10s head without that is %s too: there is another cause; fix this one, then run bisect again "
           "(%s)\n",
           "and", trouble_text(b), b->others);
  for (size_t i = 0; i < b->differences.len; i++) {
    const struct tb_difference *d = &b->differences.data[i];
    if (b->aside[i])
      printf("  %-10s %s=%s: it makes base slower, but does not explain head, which is still more than half "
             "as much slower without it\n",
             "not", d->name, shown(d->head, d->program));
  }
  if (b->aside_evidence) printf("             (head without all of that is %s)\n", b->aside_evidence);
}

static void tell_backend(const struct tb_bisect *b) {
  static const struct {
    const char *backend, *part;
  } parts[] = {{"eager", "capture, its guards, or an eager kernel"},
               {"aot_eager", "a decomposition"},
               {"inductor", "lowering, scheduling, code, or what runs it"}};
  if (!b->backend) return;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strcmp(parts[i].backend, b->backend)) continue;
    printf("  %-10s %s is the first that is %s%s%s; so the cause is %s\n", "backend", b->backend,
           trouble_text(b), b->backend_before ? ", and not " : "", b->backend_before ? b->backend_before : "",
           parts[i].part);
    return;
  }
  printf("  %-10s %s alone is %s; so the cause is that backend itself, which the suite or a plug-in "
         "registered\n",
         "backend", b->backend, trouble_text(b));
}

/* What had to be left out before a fuel told anything: no kind alone is the cause. */
static void tell_left_out(const struct tb_culprit *c) {
  const char *before = "             left out in both, since no kind alone is the cause:";
  for (int i = 0; i < TC_FUEL_COUNT; i++) {
    if ((enum tc_fuel_kind)i == c->kind || c->trial.limit[i] == TC_CONFIG_UNLIMITED) continue;
    printf("%s fuel.%s=%lld", before, tc_fuel_name((enum tc_fuel_kind)i), c->trial.limit[i]);
    before = "";
  }
  if (!*before) puts("");
}

static void tell_culprits(const struct tb_bisect *b) {
  for (int i = 0; i < b->n_culprits; i++) {
    const struct tb_culprit *c = &b->culprits[i];
    const char *name = tc_fuel_name(c->kind);
    printf("  %-10s #%lld of %lld: %s\n", name, c->units, c->of, c->what ? c->what : "(it does not say)");
    const char *is_not = b->half.ns > 0 ? "is not, or by less than half as much," : "is not";
    printf("             fuel.%s=%lld %s %s; fuel.%s=%lld is: %s\n", name, c->units - 1, is_not,
           trouble_text(b), name, c->units, c->evidence ? c->evidence : "out of memory");
    tell_left_out(c);
  }
  if (b->partly)
    printf("  fuel       without any optional transformation head is slower too, by less than half as much: "
           "part of the cause is in none of them (%s)\n",
           b->partly);
  if (b->always)
    puts("  fuel       also without any optional transformation: the cause is what cannot be left out "
         "(lowering, the stages of long sums, code, runtime), or a library call");
}

/* --- the command --- */

struct command {
  struct tc_arena *arena;
  TC_VEC(char *) words;
  bool failed;
};

static void add(struct command *c, const char *word) {
  c->failed |= !word || !tc_vec_push(tc_arena_alloc(c->arena), &c->words, (char *)word);
}

static bool names(const char *word, const char *name) {
  const size_t length = strlen(name);
  while (*word == '-') word++;
  return !strncmp(word, name, length) && (word[length] == '=' || !word[length]);
}

static void add_setting(struct command *c, const char *arm, const char *name, const char *value) {
  add(c, tb_format(c->arena, "%s%s=%s", arm, name, value));
}

/* An arm of the answer's trial: settings, and limits. `is_head`: with what was found. */
static void add_arm(struct command *c, const struct tb_bisect *b, const struct tb_trial *trial,
                    const char *prefix, bool is_head) {
  const struct tb_arm *given = &b->arms->arm[TB_ARM_HEAD];
  for (size_t i = 0; i < given->settings.len; i++) {
    bool differs = false;
    for (size_t k = 0; k < b->differences.len; k++)
      differs |= tb_name_equal(b->differences.data[k].name, given->settings.data[i].name);
    if (!differs && !(is_head && tb_trial_drops(trial, given->settings.data[i].name)))
      add_setting(c, prefix, given->settings.data[i].name, given->settings.data[i].value);
  }
  for (size_t i = 0; i < b->differences.len; i++) {
    const struct tb_difference *d = &b->differences.data[i];
    const char *value = is_head && trial->from_head[i] ? d->head : d->base;
    if (!d->program && value && !(is_head && tb_trial_drops(trial, d->name)))
      add_setting(c, prefix, d->name, value);
  }
  if (is_head && trial->backend) add_setting(c, prefix, "backend", trial->backend);
  for (int i = 0; i < TC_FUEL_COUNT && (is_head || tb_trial_limits_base(b)); i++)
    if (trial->limit[i] != TC_CONFIG_UNLIMITED)
      add(c,
          tb_format(c->arena, "%sfuel.%s=%lld", prefix, tc_fuel_name((enum tc_fuel_kind)i), trial->limit[i]));
}

static const char *program_of(const struct tb_bisect *b, bool is_head) {
  for (size_t i = 0; i < b->differences.len; i++)
    if (b->differences.data[i].program)
      return is_head && b->found.from_head[i] ? b->differences.data[i].head : b->differences.data[i].base;
  return b->arms->arm[TB_ARM_HEAD].program;
}

static struct command make_command(const struct tb_bisect *b, const struct tb_trial *trial) {
  struct command c = {.arena = b->run->arena};
  const bool slower = b->trouble == TB_TROUBLE_SLOWER;
  const char *program = slower ? NULL : program_of(b, true);
  add(&c, program ? program : b->run->program.path);
  add(&c, slower ? "ab" : "run");
  /* The words that both arms have, as given. */
  for (int i = 0; i < b->arms->argc; i++) {
    const char *word = b->arms->argv[i];
    if (!names(word, "out") && !names(word, "quick") &&
        !(b->found.backend && (names(word, "backend") || names(word, "mode"))))
      add(&c, word);
  }
  for (int s = 0; s < TB_ARM_COUNT && slower; s++) {
    const bool is_head = s == TB_ARM_HEAD;
    const char *prefix = is_head ? "head" : "base", *other = program_of(b, is_head);
    add(&c, tb_format(c.arena, "%s=%s", prefix, other ? other : "self"));
    add_arm(&c, b, trial, tb_format(c.arena, "%s.", prefix), is_head);
  }
  if (slower)
    add(&c, tb_format(c.arena, "seconds=%.0f", b->seconds)),
        add(&c, tb_format(c.arena, "pairs=%d", b->pairs)), add(&c, "attribute=no");
  else
    add_arm(&c, b, trial, "", true), add(&c, "quick=yes");
  return c;
}

/* As a shell takes it. */
static void print_word(const char *word) {
  static const char special[] = " \t\n*?[]{}$'\"`\\;&|<>()#~!";
  if (*word && !strpbrk(word, special)) {
    fputs(word, stdout);
    return;
  }
  putchar('\'');
  for (; *word; word++)
    if (*word == '\'')
      fputs("'\\''", stdout);
    else
      putchar(*word);
  putchar('\'');
}

static void print_command(const struct tb_bisect *b, const struct command *c) {
  const bool self = b->trouble == TB_TROUBLE_SLOWER || !program_of(b, true);
  printf("reproduce: ");
  print_word(self ? "tbench" : c->words.data[0]);
  for (size_t i = 1; i < c->words.len; i++) putchar(' '), print_word(c->words.data[i]);
  puts("");
  fflush(stdout);
}

/* Its exit code; -1: it could not be started; -2: Ctrl-C ended it. A signal to this program is passed on. */
enum { NOT_STARTED = -1, INTERRUPTED = -2 };

static int wait_for(struct tb_bisect *b, pid_t pid) {
  enum { POLL_MS = 50 };
  int status = 0, passed_on = 0;
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0) return NOT_STARTED;
    const int signals = tb_interrupt_poll(&b->run->interrupt);
    for (; passed_on < signals; passed_on++) kill(pid, SIGINT);
    poll(NULL, 0, POLL_MS);
  }
  if (passed_on) return INTERRUPTED;
  return WIFEXITED(status) ? WEXITSTATUS(status) : NOT_STARTED;
}

static int run_command(struct tb_bisect *b, struct command *c) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  pid_t pid;
  add(c, tb_format(c->arena, "out=%s/reproduced.json", b->run->cache_root));
  if (c->failed || !tc_vec_push(tc_arena_alloc(c->arena), &c->words, NULL)) return NOT_STARTED;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  posix_spawnattr_setsigmask(&attributes, &b->run->interrupt.before);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failed = posix_spawn(&pid, c->words.data[0], &files, &attributes, c->words.data, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failed ? NOT_STARTED : wait_for(b, pid);
}

static bool is_expected(const struct tb_bisect *b, int code) {
  if (b->trouble == TB_TROUBLE_SLOWER) return code == TB_EXIT_REGRESSION;
  return code == TB_EXIT_WRONG ||
         code == TB_EXIT_FAILED; /* either is bad: what is wrong here may crash there */
}

enum tb_exit tb_bisect_answer(struct tb_bisect *b) {
  const struct tb_trial *trial = b->n_culprits ? &b->culprits[0].trial : &b->found;
  struct command command = make_command(b, trial);
  if (command.failed) return fputs("tbench bisect: out of memory\n", stderr), TB_EXIT_FAILED;
  printf("\nanswer: what makes head %s%s\n", trouble_verb(b),
         b->doubtful ? ", as far as could be found" : "");
  tell_switches(b);
  tell_backend(b);
  tell_culprits(b);
  print_command(b, &command);
  const int code = run_command(b, &command);
  if (code == INTERRUPTED) return TB_EXIT_INTERRUPTED;
  if (code == NOT_STARTED) return puts("           it could not be run"), TB_EXIT_FAILED;
  printf("           ran it: exit code %d, %s%s\n", code, tb_exit_help((enum tb_exit)code),
         is_expected(b, code) ? "" : ": that differs from the finding above");
  return is_expected(b, code) && !b->doubtful ? TB_EXIT_PASS : TB_EXIT_NOT_MEASURABLE;
}
