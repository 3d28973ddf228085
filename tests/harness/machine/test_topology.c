/* Places on synthetic machines: which CPUs, how many threads, where OpenMP puts them, and that nothing claims
 * to be bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitized.h"
#include "harness/machine/topology.h"
#include "harness/machine/triad.h"

/* 2 packages, each a memory node with one L3, 4 cores, 2 hardware threads a core. */
static const char machine_text[] = "pack:2 [numa] l3:1 core:4 pu:2";

struct fixture {
  struct tc_arena *arena;
  struct tb_topology *topology;
};

static int open_machine(void **state) {
  static struct fixture f;
  struct tc_error err = {0};
  f.arena = tc_arena_new(tc_alloc_system());
  *state = &f;
  return !f.arena || tb_topology_open(machine_text, &f.topology, &err);
}
static int close_machine(void **state) {
  struct fixture *f = *state;
  tb_topology_close(f->topology);
  tc_arena_free(f->arena);
  return 0;
}

static void test_places(void **state) {
  static const struct {
    const char *text;
    bool smt;
    int asked;
    const char *name, *cpus;
    int cores, pus, threads;
  } rows[] = {
      {"machine", true, 0, "machine", "0-15", 8, 16, 8},
      {"machine", false, 0, "machine", "0,2,4,6,8,10,12,14", 8, 8, 8},
      {"package:1", true, 0, "package:1", "0-7", 4, 8, 4},
      {"numa:2", true, 0, "numa:2", "0-15", 8, 16, 8},
      {"l3:1", true, 0, "l3:1", "0-7", 4, 8, 4},
      {"core:1", true, 0, "core:1", "0-1", 1, 2, 1},
      {"core", true, 0, "core:1", "0-1", 1, 2, 1},
      {"core:5", true, 0, "core:5", "0-9", 5, 10, 5},
      {"pu:2", true, 0, "pu:2", "0-1", 1, 2, 2},
      {"pu:3", true, 0, "pu:3", "0-2", 2, 3, 3},
      {"core:2", true, 4, "core:2", "0-3", 2, 4, 4},
      {"core:2", false, 0, "core:2", "0,2", 2, 2, 2},
  };
  struct fixture *f = *state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_place place;
    struct tc_error err = {0};
    assert_int_equal(
        tb_topology_place(f->topology, f->arena, rows[i].text, rows[i].smt, rows[i].asked, &place, &err),
        TC_OK);
    assert_string_equal(place.text, rows[i].name);
    assert_string_equal(place.cpus, rows[i].cpus);
    assert_int_equal(place.cores, rows[i].cores);
    assert_int_equal(place.pus, rows[i].pus);
    assert_int_equal(place.threads, rows[i].threads);
    assert_false(place.binds);
  }
}

static void test_openmp_places(void **state) {
  struct fixture *f = *state;
  struct tb_place place;
  struct tc_error err = {0};
  assert_int_equal(tb_topology_place(f->topology, f->arena, "core:2", true, 0, &place, &err), TC_OK);
  assert_string_equal(place.threads_places, "{0,1},{2,3}"); /* a thread may use both siblings of its core */
  assert_int_equal(tb_topology_place(f->topology, f->arena, "core:2", true, 4, &place, &err), TC_OK);
  assert_string_equal(place.threads_places, "{0},{1},{2},{3}");
  assert_int_equal(tb_topology_place(f->topology, f->arena, "core:2", false, 0, &place, &err), TC_OK);
  assert_string_equal(place.threads_places, "{0},{2}");
}

static void test_too_many_and_unknown(void **state) {
  static const struct {
    const char *text, *says;
  } rows[] = {
      {"core:9", "has 8 cores"},   {"package:3", "has 2 packages"}, {"pu:17", "has 16 hardware threads"},
      {"socket:1", "use machine"}, {"core:0", "use machine"},       {"core:x", "use machine"},
      {"", "use machine"},         {"machine:2", "use machine"},
  };
  struct fixture *f = *state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_place place;
    struct tc_error err = {0};
    assert_int_equal(tb_topology_place(f->topology, f->arena, rows[i].text, true, 0, &place, &err), TC_ARG);
    if (!strstr(err.message, rows[i].says)) fail_msg("'%s' said: %s", rows[i].text, err.message);
  }
}

static void test_machine(void **state) {
  struct fixture *f = *state;
  const char *why = NULL;
  const struct tb_machine m = tb_topology_machine(f->topology);
  assert_int_equal(m.packages, 2);
  assert_int_equal(m.numa, 2);
  assert_int_equal(m.cores, 8);
  assert_int_equal(m.pus, 16);
  assert_false(tb_topology_binds(f->topology, &why));
  assert_non_null(strstr(why, "the topology of another machine"));
  assert_false(tb_topology_bind_memory(f->topology, "0-7"));
  assert_non_null(strstr(tb_topology_line(f->topology, f->arena), "Core:4"));
  assert_non_null(strstr(tb_topology_xml(f->topology, f->arena), "<topology"));
}

static void test_no_topology(void **state) {
  (void)state;
  struct tb_topology *t = NULL;
  struct tc_error err = {0};
  assert_int_equal(tb_topology_open("nonsense:1:2", &t, &err), TC_DEVICE);
  assert_null(t);
}

static void test_cpus(void **state) {
  (void)state;
  cpu_set_t set;
  assert_true(tb_cpus_parse("0-2,5", &set));
  assert_int_equal(CPU_COUNT(&set), 4);
  assert_true(CPU_ISSET(5, &set) && !CPU_ISSET(4, &set));
  assert_false(tb_cpus_parse("x", &set));
  assert_false(tb_cpus_parse("100000", &set));
}

/* A team whose threads cannot all be had gives no figure, and ends. */
static void test_incomplete_team(void **state) {
  enum { THREADS = 1000, ROOM = 1 << 30, PATIENCE_S = 300 };
  (void)state;
  if (TC_SANITIZED) skip(); /* it reserves more than any limit */
  const pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    const struct rlimit room = {ROOM, ROOM};
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    alarm(PATIENCE_S);
    _exit(setrlimit(RLIMIT_AS, &room) || tb_triad_bytes_per_s(&cpus, THREADS) != 0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_places, open_machine, close_machine),
      cmocka_unit_test_setup_teardown(test_openmp_places, open_machine, close_machine),
      cmocka_unit_test_setup_teardown(test_too_many_and_unknown, open_machine, close_machine),
      cmocka_unit_test_setup_teardown(test_machine, open_machine, close_machine),
      cmocka_unit_test(test_no_topology),
      cmocka_unit_test(test_cpus),
      cmocka_unit_test(test_incomplete_team),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
