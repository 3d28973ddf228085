/* The noise report, what disturbed a run, and where its time went. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "harness/machine/disturbance.h"
#include "harness/machine/noise.h"
#include "harness/wire/ledger.h"

static struct tb_noise find(const char *name, struct tb_topology *topology) {
  for (int i = 0; i < tb_noise_count(); i++) {
    const struct tb_noise noise = tb_noise_look(i, topology);
    if (!strcmp(noise.name, name)) return noise;
  }
  fail_msg("no cause '%s'", name);
  return (struct tb_noise){.name = NULL};
}

/* Every cause says how it was seen, what mends it, and what is done already; each name is there once. */
static void test_rows_are_whole(void **state) {
  (void)state;
  for (int i = 0; i < tb_noise_count(); i++) {
    const struct tb_noise noise = tb_noise_look(i, NULL);
    assert_true(*noise.name && *noise.what && *noise.fix && *noise.done && *noise.seen);
    assert_non_null(tb_noise_state_text(noise.state));
    for (int k = 0; k < i; k++) assert_string_not_equal(tb_noise_look(k, NULL).name, noise.name);
  }
}

/* One judge: a run warns of what the report calls worse, in its words, and of nothing else. */
static void test_warnings(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  assert_non_null(arena);
  int warning_rows = 0;
  for (int i = 0; i < tb_noise_count(); i++) {
    struct tb_noise noise = tb_noise_look(i, NULL);
    warning_rows += noise.warns;
    for (int s = TB_NOISE_QUIET; s <= TB_NOISE_UNKNOWN; s++) {
      noise.state = (enum tb_noise_state)s;
      const char *warning = tb_noise_warning(arena, &noise);
      const bool told = noise.warns && s == TB_NOISE_WORSE;
      assert_int_equal(*warning != '\0', told);
      assert_true(!told || (strstr(warning, noise.what) == warning && strstr(warning, noise.seen)));
    }
  }
  assert_true(warning_rows > 0 && warning_rows < tb_noise_count());
  const struct tb_noise pinning = find("pinning", NULL);
  assert_string_equal(tb_noise_warning(arena, &pinning),
                      "binding of threads: not bound: hwloc cannot read the machine");
  tc_arena_free(arena);
}

/* What cannot be looked at is unknown, never quiet. */
static void test_no_topology(void **state) {
  (void)state;
  assert_int_equal(find("smt", NULL).state, TB_NOISE_UNKNOWN);
  assert_int_equal(find("pinning", NULL).state, TB_NOISE_WORSE);
}

static void test_siblings(void **state) {
  (void)state;
  struct tb_topology *topology;
  struct tc_error err = {0};
  assert_int_equal(tb_topology_open("core:2 pu:2", &topology, &err), TC_OK);
  const struct tb_noise smt = find("smt", topology);
  assert_int_equal(smt.state, TB_NOISE_WORSE);
  assert_string_equal(smt.seen, "4 PUs on 2 cores: siblings share a core");
  assert_int_equal(find("pinning", topology).state, TB_NOISE_WORSE); /* it is not this machine's */
  tb_topology_close(topology);
  assert_int_equal(tb_topology_open("core:2 pu:1", &topology, &err), TC_OK);
  assert_int_equal(find("smt", topology).state, TB_NOISE_QUIET);
  tb_topology_close(topology);
}

/* Shares lie between nothing and all; what this process itself works is not others': had it been done before
 * the beginning, all that was busy meanwhile would be. Both are told of the same while, so that whatever else
 * goes on here is in both. */
static void test_disturbance(void **state) {
  (void)state;
  enum { WORKED_MS = 200 };
  static const double worked_s = WORKED_MS / 1e3;
  struct tb_disturbance d, later;
  tb_disturbance_begin(&d);
  assert_true(isnan(d.others_share) && isnan(d.steal_share));
  const clock_t end = clock() + WORKED_MS * (CLOCKS_PER_SEC / 1000);
  while (clock() < end) {}
  tb_disturbance_begin(&later);
  assert_true(later.own - d.own > worked_s / 2);
  struct tb_disturbance not_ours = d, again = d;
  not_ours.own += worked_s;
  tb_disturbance_end(&d);
  tb_disturbance_end(&not_ours);
  tb_disturbance_end(&again);
  if (!d.known) return; /* no /proc/stat here */
  assert_true(d.others_share >= 0 && d.others_share <= 1 && d.steal_share >= 0 && d.steal_share <= 1);
  assert_true(not_ours.others_share > fmax(d.others_share, again.others_share));
  tb_disturbance_end(&d); /* again: still from the beginning */
  assert_true(d.others_share <= 1);
}

/* Requests that overlap, as those of a comparison do, are counted once. */
static void test_ledger(void **state) {
  (void)state;
  struct tb_ledger l = {.wall_ns = 1000};
  tb_ledger_answered(&l, TB_REQUEST_block, 100, 300);
  tb_ledger_answered(&l, TB_REQUEST_check, 400, 600);
  tb_ledger_answered(&l, TB_REQUEST_check, 410, 650);
  tb_ledger_answered(&l, TB_REQUEST_check, 420, 660);
  assert_true(l.request_ns[TB_REQUEST_block] == 200);
  assert_true(l.request_ns[TB_REQUEST_check] == 260);
  assert_true(tb_ledger_work_ns(&l) == 460 && tb_ledger_own_ns(&l) == 540);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_whole), cmocka_unit_test(test_warnings),
                                     cmocka_unit_test(test_no_topology),    cmocka_unit_test(test_siblings),
                                     cmocka_unit_test(test_disturbance),    cmocka_unit_test(test_ledger)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
