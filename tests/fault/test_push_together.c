/* Two processes push one document at a time: right before each call of the one in turn, the other one does
 * all that it has to. Whatever comes of it, both tell the same: what was refused is told to be refused by
 * both, and what is stored is refused by none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fault/push_world.h"

static const char url[] = "http://127.0.0.1:8080/api/v1/results", origin[] = "http://127.0.0.1:8080",
                  body[] = "{\"document\": 1}";

struct process {
  struct tc_arena *arena;
  struct tb_spool spool;
  struct tb_push push;
  struct tb_spool_name name;
  struct tb_push_outcome outcome;
  bool restores; /* it puts what was refused back, and sends nothing */
};

struct scene {
  struct world w;
  struct tb_disk disk;
  struct process first, second;
  char key[TC_SHA256_HEX];
};

/* Opens the spool, and puts the document into it. */
static void start(struct scene *s, struct process *p) {
  struct tc_error err = {0};
  struct tb_spool_entry entry = {
      .url = url, .format = "tbench", .source = "a file", .body = body, .bytes = strlen(body)};
  *p = (struct process){.arena = tc_arena_new(tc_alloc_system()), .spool = {&s->disk, "spool"}};
  p->push = (struct tb_push){.spool = &p->spool,
                             .world = world_network(&s->w),
                             .arena = p->arena,
                             .random = {1},
                             .token = "a-token",
                             .token_origin = origin,
                             .policy = {.tries = 2, .wait_s = 1, .wait_most_s = 1}};
  assert_int_equal(tb_spool_open(&p->spool, &err), TC_OK);
  assert_int_equal(tb_spool_add(&p->spool, p->arena, &entry, &p->name, &err), TC_OK);
}

static void deliver(void *data) {
  struct process *p = data;
  struct tc_error err = {0};
  if (p->restores)
    tb_spool_restore(&p->spool, &p->name, &err);
  else
    tb_push_deliver(&p->push, &p->name, &p->outcome);
}

static struct scene *begin(enum world_answer how) {
  struct scene *s = calloc(1, sizeof *s);
  assert_non_null(s);
  world_begin(&s->w, 1);
  s->disk = world_disk(&s->w);
  s->w.n_answers = 1;
  s->w.answers[0] = how;
  tc_sha256_of(body, strlen(body), s->key);
  world_document(&s->w, s->key);
  return s;
}

static void end(struct scene *s) {
  tc_arena_free(s->first.arena);
  tc_arena_free(s->second.arena);
  free(s);
}

/* The second one's delivery, with that of the first one before its call `at`, counted from 1; false: it makes
 * fewer calls. */
static bool both(struct scene *s, int at) {
  s->w.meanwhile = deliver;
  s->w.meanwhile_data = &s->first;
  s->w.meanwhile_in = at;
  deliver(&s->second);
  const bool reached = !s->w.meanwhile_in;
  s->w.meanwhile_in = 0;
  assert_null(s->w.broken_rule);
  return reached;
}

static bool is_sent(const struct process *p) {
  return p->outcome.fate == TB_FATE_SENT || p->outcome.fate == TB_FATE_KNOWN;
}

/* What is told holds: of a process that waited for the other one in vain, too. */
static void check(struct scene *s, const struct process *p) {
  if (is_sent(p)) assert_int_equal(world_document(&s->w, s->key)->stored, 1);
  if (p->outcome.fate == TB_FATE_REFUSED) assert_true(world_has(&s->w, "refused", s->key) && *p->outcome.why);
  if (p->outcome.fate == TB_FATE_REFUSED) assert_string_equal(p->outcome.source, "a file");
}

/* How one process alone ends. */
static enum tb_push_fate alone(enum world_answer how) {
  struct scene *s = begin(how);
  start(s, &s->first);
  start(s, &s->second);
  deliver(&s->first);
  const enum tb_push_fate fate = s->first.outcome.fate;
  end(s);
  return fate;
}

static void test_same_told(void **state) {
  static const enum world_answer answers[] = {WORLD_GOOD,         WORLD_TOO_LARGE, WORLD_DENIED,
                                              WORLD_DOWN,         WORLD_UNTRUSTED, WORLD_CUT_ANSWER,
                                              WORLD_BROKEN_STORED};
  int orders = 0;
  (void)state;
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    bool more = true;
    const bool refused = alone(answers[i]) == TB_FATE_REFUSED;
    for (int at = 1; more; at++) {
      struct scene *s = begin(answers[i]);
      start(s, &s->first);
      start(s, &s->second);
      more = both(s, at);
      check(s, &s->second);
      if (more) check(s, &s->first);
      if (refused) assert_int_equal(s->second.outcome.fate, TB_FATE_REFUSED);
      if (refused && more) assert_false(is_sent(&s->first));
      if (at == 1 && refused)
        assert_non_null(strstr(s->second.outcome.why, answers[i] == WORLD_DENIED ? "no such token" : "413"));
      if (at == 1 && refused) assert_int_equal(world_document(&s->w, s->key)->requests, 1);
      if (answers[i] == WORLD_GOOD) assert_true(is_sent(&s->second));
      orders += more;
      end(s);
    }
  }
  print_message("# %d orders of two processes\n", orders);
  assert_true(orders > 50);
}

/* A document that was refused is pushed anew, and stored: the process that finds its entry gone does not take
 * the old refusal for an answer. */
static void test_old_refusal(void **state) {
  bool more = true;
  (void)state;
  for (int at = 1; more; at++) {
    struct scene *s = begin(WORLD_TOO_LARGE);
    start(s, &s->first);
    deliver(&s->first);
    assert_int_equal(s->first.outcome.fate, TB_FATE_REFUSED);
    tc_arena_free(s->first.arena);
    s->w.answers[0] = WORLD_GOOD;
    start(s, &s->first);
    start(s, &s->second);
    more = both(s, at);
    assert_true(is_sent(&s->second));
    assert_true(!more || is_sent(&s->first) ||
                s->first.outcome.fate == TB_FATE_KEPT); /* kept: it waited for the second one in vain */
    assert_int_equal(world_count(&s->w, "refused", ".entry") + world_count(&s->w, "refused", ".reason"), 0);
    end(s);
  }
}

/* What another process has refused is put back while it is looked for: it is found in one of the two
 * places. */
static void test_put_back(void **state) {
  bool more = true;
  (void)state;
  for (int at = 1; more; at++) {
    struct scene *s = begin(WORLD_TOO_LARGE);
    start(s, &s->first);
    start(s, &s->second);
    deliver(&s->first);
    s->first.restores = true;
    more = both(s, at);
    assert_int_equal(s->second.outcome.fate, TB_FATE_REFUSED);
    end(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_told), cmocka_unit_test(test_old_refusal),
                                     cmocka_unit_test(test_put_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
