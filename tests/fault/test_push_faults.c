/* Push through faults: in a thousand random schedules of a failing endpoint, a failing disk, processes that
 * are killed and machines that lose their power, no document is lost, and none is stored twice. And in short
 * scenes the same with the end at each call in turn, with a failure of each call in turn, and with memory
 * that runs out at each allocation in turn. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fault/push_world.h"

enum { SCHEDULES = 1000, RUNS = 12, HEALTHY_RUNS = 3, BODY_BYTES = 2000, NEVER = -1 };
static const char url[] = "http://127.0.0.1:8080/api/v1/results", origin[] = "http://127.0.0.1:8080";

/* Memory of one process: that many more allocations succeed; NEVER less than 0 means all. */
struct meter {
  struct tc_alloc alloc;
  long left;
};

static void *meter_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct meter *m = self;
  (void)old_bytes;
  if (!new_bytes) {
    free(block);
    return NULL;
  }
  if (m->left == 0) return NULL;
  if (m->left > 0) m->left--;
  return realloc(block, new_bytes);
}

struct document {
  char body[BODY_BYTES];
  size_t bytes;
  char key[TC_SHA256_HEX];
  bool added;        /* a process said that it is in the spool */
  int sent, refused; /* processes that said so */
};

struct scene {
  struct world w;
  struct tb_disk disk;
  struct meter meter;
  struct document documents[WORLD_DOCUMENTS];
  int n;
  const char *what; /* for messages */
  uint64_t seed;
};

static void begin(struct scene *s, uint64_t seed, int documents) {
  memset(s, 0, sizeof *s);
  world_begin(&s->w, seed);
  s->disk = world_disk(&s->w);
  s->meter = (struct meter){{meter_resize, &s->meter}, NEVER};
  s->n = documents;
  s->seed = seed;
  for (int i = 0; i < documents; i++) {
    struct document *d = &s->documents[i];
    d->bytes = 20 + tb_random_next(&s->w.random) % (BODY_BYTES - 20);
    const int head = snprintf(d->body, BODY_BYTES, "{\"document\": %d}", i);
    for (size_t c = (size_t)head; c < d->bytes; c++)
      d->body[c] = (char)('a' + tb_random_next(&s->w.random) % 26);
  }
}

/* A key as the spool computes it. */
static void learn_keys(struct scene *s) {
  for (int i = 0; i < s->n; i++)
    tc_sha256_of(s->documents[i].body, s->documents[i].bytes, s->documents[i].key);
}

static bool is_stored(struct scene *s, const struct document *d) {
  return world_document(&s->w, d->key)->stored;
}

static bool is_somewhere(struct scene *s, const struct document *d) {
  return is_stored(s, d) || world_has(&s->w, "", d->key) || world_has(&s->w, "refused", d->key);
}

#define complain(s, ...)                                                                                     \
  do {                                                                                                       \
    print_error("%s, seed %llu: ", (s)->what, (unsigned long long)(s)->seed);                                \
    fail_msg(__VA_ARGS__);                                                                                   \
  } while (0)

/* What was said to be in the spool is there, or at the endpoint, or beside the reason of its refusal. */
static void check(struct scene *s) {
  for (int i = 0; i < s->n; i++) {
    const struct document *d = &s->documents[i];
    if (d->added && !is_somewhere(s, d)) complain(s, "document %d is lost", i);
    if (d->sent && !is_stored(s, d)) complain(s, "document %d was said to be sent, and is not there", i);
    if (d->sent && !world_document(&s->w, d->key)->told)
      complain(s, "document %d was said to be sent, and the endpoint never said so", i);
    if (world_document(&s->w, d->key)->stored > 1) complain(s, "document %d is stored twice", i);
  }
  if (s->w.n_documents != s->n)
    complain(s, "the endpoint saw %d keys of %d documents", s->w.n_documents, s->n);
  if (world_without_reason(&s->w)) complain(s, "an entry is refused for no reason");
  if (s->w.broken_rule) complain(s, "%s", s->w.broken_rule);
}

/* --- processes --- */

enum job { PUSH_FILES, PUSH_SPOOLED, PUSH_REFUSED };

static void note(struct scene *s, const struct tb_spool_name *name, int document,
                 const struct tb_push_outcome *o) {
  (void)name;
  if (s->w.dead || document < 0) return;
  s->documents[document].sent += o->fate == TB_FATE_SENT || o->fate == TB_FATE_KNOWN;
  s->documents[document].refused += o->fate == TB_FATE_REFUSED;
}

static void gather(struct scene *s, struct tb_spool *spool, struct tc_arena *arena, enum job job,
                   tb_spool_names *names, int *of) {
  struct tc_error err = {0};
  for (int i = 0; job == PUSH_FILES && i < s->n; i++) {
    struct document *d = &s->documents[i];
    struct tb_spool_entry entry = {
        .url = url, .format = "tbench", .source = "a file", .body = d->body, .bytes = d->bytes};
    struct tb_spool_name name;
    if (tb_spool_add(spool, arena, &entry, &name, &err)) continue;
    if (!s->w.dead) d->added = true;
    of[names->len] = i;
    if (!tc_vec_push(tc_arena_alloc(arena), names, name)) return;
  }
  tb_spool_names back = {0};
  if (job == PUSH_REFUSED && !tb_spool_list_refused(spool, arena, &back, &err))
    for (size_t i = 0; i < back.len; i++) (void)tb_spool_restore(spool, &back.data[i], &err);
  if (job != PUSH_FILES && tb_spool_list(spool, arena, names, &err)) names->len = 0;
}

static void run_process(struct scene *s, enum job job) {
  struct tb_spool spool = {&s->disk, "spool"};
  struct tc_error err = {0};
  struct tc_arena *arena = tc_arena_new(&s->meter.alloc);
  if (arena && !tb_spool_open(&spool, &err)) {
    struct tb_push push = {.spool = &spool,
                           .world = world_network(&s->w),
                           .arena = arena,
                           .random = {tb_random_next(&s->w.random)},
                           .token = "a-token",
                           .token_origin = origin,
                           .policy = {.tries = 3, .wait_s = 1, .wait_most_s = 60, .compress = true}};
    tb_spool_names names = {0};
    int of[WORLD_DOCUMENTS * 2];
    memset(of, NEVER, sizeof of);
    gather(s, &spool, arena, job, &names, of);
    for (size_t i = 0; i < names.len; i++) {
      struct tb_push_outcome outcome;
      tb_push_deliver(&push, &names.data[i], &outcome);
      note(s, &names.data[i], of[i], &outcome);
    }
  }
  if (arena) tc_arena_free(arena);
}

/* With a healthy world everything arrives, and nothing is left behind. */
static void finish(struct scene *s) {
  s->w.n_answers = 0;
  s->meter.left = NEVER;
  for (int i = 0; i < HEALTHY_RUNS; i++) {
    run_process(s, i ? PUSH_REFUSED : PUSH_FILES);
    world_end_process(&s->w, false);
    s->w.clock_s += 1e6;
    check(s);
  }
  int refused = 0;
  for (int i = 0; i < s->n; i++) {
    const bool bad = s->w.refuses && !strcmp(s->w.refuses, s->documents[i].key);
    refused += bad;
    if (!bad && !is_stored(s, &s->documents[i])) complain(s, "document %d did not arrive", i);
  }
  if (world_count(&s->w, "", ".entry")) complain(s, "%d entries are left", world_count(&s->w, "", ".entry"));
  if (world_count(&s->w, "refused", ".entry") != refused)
    complain(s, "%d entries are refused, not %d", world_count(&s->w, "refused", ".entry"), refused);
  if (world_count(&s->w, "refused", ".reason") != refused)
    complain(s, "there are %d reasons, not %d", world_count(&s->w, "refused", ".reason"), refused);
  if (world_count(&s->w, "", ".part") + world_count(&s->w, "refused", ".part"))
    complain(s, "half-written files are left");
}

/* --- random schedules --- */

static uint64_t draw(struct scene *s, uint64_t below) { return tb_random_next(&s->w.random) % below; }

static void draw_faults(struct scene *s) {
  static const int reasons[] = {ENOSPC, EIO, EDQUOT, EACCES};
  s->w.n_answers = 1 + (int)draw(s, 4);
  for (int i = 0; i < s->w.n_answers; i++)
    s->w.answers[i] = draw(s, 3) ? (enum world_answer)draw(s, WORLD_ANSWERS) : WORLD_GOOD;
  s->w.dies_at = draw(s, 3) ? 1 + (int)draw(s, 70) : 0;
  s->w.dies_after = draw(s, 2);
  s->w.fails_at = draw(s, 4) ? 0 : 1 + (int)draw(s, 70);
  s->w.fails_why = reasons[draw(s, sizeof reasons / sizeof *reasons)];
  s->w.foreign_locks = draw(s, 8) ? 0 : (int)draw(s, 1000);
  s->meter.left = draw(s, 16) ? NEVER : (long)draw(s, 40);
}

static void test_random_schedules(void **state) {
  int deaths = 0, losses_of_power = 0, requests = 0, again = 0;
  (void)state;
  for (int schedule = 0; schedule < SCHEDULES; schedule++) {
    struct scene *s = malloc(sizeof *s);
    begin(s, (uint64_t)schedule * 7919 + 1, 1 + schedule % 5);
    s->what = "random schedule";
    learn_keys(s);
    for (int i = 0; i < s->n; i++) world_document(&s->w, s->documents[i].key);
    if (draw(s, 4) == 0) s->w.refuses = s->documents[draw(s, (uint64_t)s->n)].key;
    for (int run = 0; run < RUNS; run++) {
      draw_faults(s);
      run_process(s, (enum job)draw(s, 3));
      const bool died = s->w.dead, power = draw(s, 3) == 0;
      deaths += died;
      losses_of_power += power;
      world_end_process(&s->w, power);
      s->w.clock_s += (double)draw(s, 10000);
      check(s);
    }
    finish(s);
    for (int i = 0; i < s->w.n_documents; i++)
      requests += s->w.documents[i].requests, again += s->w.documents[i].requests > 1;
    free(s);
  }
  print_message("# %d schedules: %d processes killed, %d losses of power, %d requests, %d documents sent "
                "more than once\n",
                SCHEDULES, deaths, losses_of_power, requests, again);
  assert_true(deaths > SCHEDULES && losses_of_power > SCHEDULES &&
              again > SCHEDULES / 2); /* it was tried hard enough */
}

/* --- each call in turn --- */

/* One process with two documents, of which it ends or fails at call `at`; false: it made fewer calls. */
static bool one_end(enum world_answer how, int at, bool after, bool power, bool fails) {
  struct scene *s = malloc(sizeof *s);
  begin(s, (uint64_t)at, 2);
  s->what = fails ? "a call that fails" : power ? "power lost at a call" : "killed at a call";
  s->seed = (uint64_t)how * 10000 + (uint64_t)at * 2 + after;
  learn_keys(s);
  for (int i = 0; i < s->n; i++) world_document(&s->w, s->documents[i].key);
  s->w.n_answers = 1;
  s->w.answers[0] = how;
  if (fails)
    s->w.fails_at = at, s->w.fails_why = ENOSPC;
  else
    s->w.dies_at = at, s->w.dies_after = after;
  run_process(s, PUSH_FILES);
  const bool reached = s->w.calls >= at;
  world_end_process(&s->w, power);
  s->w.clock_s += 1e6;
  check(s);
  finish(s);
  free(s);
  return reached;
}

static void test_ends_at_each_call(void **state) {
  int ends = 0;
  (void)state;
  for (int how = 0; how < WORLD_ANSWERS; how++)
    for (int kind = 0; kind < 4; kind++)
      for (int at = 1; one_end((enum world_answer)how, at, kind & 1, kind & 2, false); at++) ends++;
  print_message("# %d ends\n", ends);
  assert_true(ends > 1000);
}

/* A process is killed at some call, so that what it changed is there, but not on disk; the next one says that
 * the documents are in the spool, and then the power is lost. */
static void test_killed_then_power(void **state) {
  enum { CALLS = 60, SEEDS = 8 };
  (void)state;
  for (int at = 1; at < CALLS; at++)
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
      struct scene *s = malloc(sizeof *s);
      begin(s, seed, 2);
      s->what = "killed, then power lost";
      learn_keys(s);
      for (int i = 0; i < s->n; i++) world_document(&s->w, s->documents[i].key);
      s->w.n_answers = 1;
      s->w.answers[0] = WORLD_DOWN;
      s->w.dies_at = at;
      s->w.dies_after = seed & 1;
      run_process(s, PUSH_FILES);
      world_end_process(&s->w, false);
      run_process(s, PUSH_FILES);
      world_end_process(&s->w, true);
      s->w.clock_s += 1e6;
      check(s);
      finish(s);
      free(s);
    }
}

/* Somebody has removed refused/; the document is refused, and then the power is lost, at each call in
 * turn. */
static void test_refused_is_made_anew(void **state) {
  enum { SEEDS = 16 };
  (void)state;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    bool more = true;
    for (int at = 1; more; at++) {
      struct scene *s = malloc(sizeof *s);
      begin(s, seed, 1);
      s->what = "refused/ is made anew, then power lost";
      learn_keys(s);
      world_document(&s->w, s->documents[0].key);
      s->w.n_answers = 1;
      s->w.answers[0] = WORLD_DOWN;
      run_process(s, PUSH_FILES);
      world_end_process(&s->w, false);
      s->w.folders[WORLD_REFUSED] = s->w.synced_folders[WORLD_REFUSED] = false;
      s->w.answers[0] = WORLD_TOO_LARGE;
      s->w.dies_at = at;
      s->w.dies_after = true;
      run_process(s, PUSH_SPOOLED);
      more = s->w.calls >= at;
      world_end_process(&s->w, true);
      check(s);
      free(s);
    }
  }
}

static void test_fails_at_each_call(void **state) {
  int failures = 0;
  (void)state;
  for (int how = 0; how < WORLD_ANSWERS; how++)
    for (int power = 0; power < 2; power++)
      for (int at = 1; one_end((enum world_answer)how, at, false, power, true); at++) failures++;
  print_message("# %d failures\n", failures);
  assert_true(failures > 500);
}

static void test_memory_runs_out(void **state) {
  (void)state;
  for (int how = 0; how < WORLD_ANSWERS; how++)
    for (long left = 0; left < 60; left++) {
      struct scene *s = malloc(sizeof *s);
      begin(s, (uint64_t)left, 2);
      s->what = "memory runs out";
      learn_keys(s);
      for (int i = 0; i < s->n; i++) world_document(&s->w, s->documents[i].key);
      s->w.n_answers = 1;
      s->w.answers[0] = (enum world_answer)how;
      s->meter.left = left;
      run_process(s, PUSH_FILES);
      world_end_process(&s->w, false);
      s->w.clock_s += 1e6;
      check(s);
      finish(s);
      free(s);
    }
}

/* --- single rules --- */

static struct scene *one_document(enum world_answer how) {
  struct scene *s = malloc(sizeof *s);
  begin(s, 1, 1);
  s->what = "one document";
  learn_keys(s);
  world_document(&s->w, s->documents[0].key);
  s->w.n_answers = 1;
  s->w.answers[0] = how;
  run_process(s, PUSH_FILES);
  return s;
}

static void test_pauses(void **state) {
  (void)state;
  struct scene *s = one_document(WORLD_DOWN);
  assert_int_equal(s->w.documents[0].requests, 3); /* as often as it may */
  assert_true(s->w.clock_s > 1 + 0.5 + 1 && s->w.clock_s < 1 + 1 + 2 + 1);
  free(s);
  s = one_document(WORLD_BUSY);
  assert_int_equal(s->w.documents[0].requests, 3);
  assert_true(s->w.clock_s > 14); /* twice what the endpoint asked for */
  free(s);
  s = one_document(WORLD_BUSY_LONG);
  assert_int_equal(s->w.documents[0].requests, 1); /* not worth waiting for */
  assert_true(world_has(&s->w, "", s->documents[0].key));
  free(s);
}

static void test_what_is_kept(void **state) {
  (void)state;
  static const struct {
    enum world_answer how;
    bool refused;
    int requests;
  } rows[] = {
      {WORLD_TOO_LARGE, true, 1},  {WORLD_DENIED, true, 1},    {WORLD_UNTRUSTED, false, 1},
      {WORLD_REDIRECT, false, 1},  {WORLD_PAGE, false, 3},     {WORLD_AWAY, false, 3},
      {WORLD_OTHER_KEY, false, 3}, {WORLD_STRANGER, false, 3}, {WORLD_SILENT_201, false, 3},
      {WORLD_CUT_KEY, false, 3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct scene *s = one_document(rows[i].how);
    assert_int_equal(s->w.documents[0].requests, rows[i].requests);
    assert_int_equal(world_count(&s->w, "refused", ".entry"), rows[i].refused);
    assert_int_equal(world_count(&s->w, "refused", ".reason"), rows[i].refused);
    assert_int_equal(world_count(&s->w, "", ".entry"), !rows[i].refused);
    free(s);
  }
}

/* Who denied access, or did not answer, is left alone by this process: the other documents stay in the
 * spool. */
static void test_closed_endpoint(void **state) {
  (void)state;
  static const enum world_answer how[] = {WORLD_DENIED, WORLD_DOWN, WORLD_UNTRUSTED};
  for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
    struct scene *s = malloc(sizeof *s);
    begin(s, 1, 4);
    learn_keys(s);
    s->w.n_answers = 1;
    s->w.answers[0] = how[i];
    run_process(s, PUSH_FILES);
    assert_int_equal(s->w.n_documents, 1);
    assert_int_equal(world_count(&s->w, "", ".entry"), how[i] == WORLD_DENIED ? 3 : 4);
    free(s);
  }
}

/* An entry that another process has is waited for, and then left to it. */
static void test_taken_by_another(void **state) {
  (void)state;
  struct scene *s = malloc(sizeof *s);
  begin(s, 1, 1);
  learn_keys(s);
  s->w.foreign_locks = 5;
  run_process(s, PUSH_FILES);
  assert_int_equal(s->documents[0].sent, 1);
  world_end_process(&s->w, false);
  s->w.foreign_locks = 100000;
  run_process(s, PUSH_FILES);
  assert_int_equal(s->documents[0].sent, 1);
  assert_int_equal(world_count(&s->w, "", ".entry"), 1);
  free(s);
}

/* What was changed on disk behind our back is not sent. */
static void test_damaged(void **state) {
  (void)state;
  struct scene *s = one_document(WORLD_DOWN);
  world_end_process(&s->w, false);
  for (int i = 0; i < WORLD_FILES; i++)
    if (s->w.files[i].used && s->w.files[i].now_bytes) s->w.files[i].now[s->w.files[i].now_bytes - 1] ^= 1;
  const int before = s->w.documents[0].requests;
  s->w.answers[0] = WORLD_GOOD;
  run_process(s, PUSH_SPOOLED);
  assert_int_equal(s->w.documents[0].requests, before);
  assert_int_equal(world_count(&s->w, "refused", ".entry"), 1);
  assert_int_equal(world_count(&s->w, "refused", ".reason"), 1);
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_schedules),     cmocka_unit_test(test_ends_at_each_call),
      cmocka_unit_test(test_fails_at_each_call),   cmocka_unit_test(test_killed_then_power),
      cmocka_unit_test(test_memory_runs_out),      cmocka_unit_test(test_pauses),
      cmocka_unit_test(test_what_is_kept),         cmocka_unit_test(test_closed_endpoint),
      cmocka_unit_test(test_taken_by_another),     cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_refused_is_made_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
