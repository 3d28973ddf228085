/* Where blocks of symbolic sizes lie (sched/place.c), against the rule itself, carried out without any
 * structure: each in its turn takes the first offset of its size at which no block of its life lies, else the
 * end of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "results/stats/random.h"
#include "sched/plan.h"

enum { ROUNDS = 200, BLOCKS_MAX = 120, SIZES = 5, LIFE_MAX = 30, MANY = 20000, SEED = 7 };

struct plan {
  struct tc_arena *arena;
  struct tc_launch_list list;
  struct tc_sched sched;
  struct tc_planner planner;
};

static void open_plan(struct plan *plan, int n) {
  *plan = (struct plan){.arena = tc_arena_new(tc_alloc_system())};
  assert_non_null(plan->arena);
  const struct tc_alloc *alloc = tc_arena_alloc(plan->arena);
  plan->sched = (struct tc_sched){.alloc = alloc, .tab = tc_symtab_new(alloc), .list = &plan->list};
  plan->planner = (struct tc_planner){
      .s = &plan->sched, .n_blocks = n, .blocks = TC_NEW_ARRAY(alloc, struct tc_block, (size_t)n)};
  assert_true(plan->sched.tab && plan->planner.blocks);
}

static void close_plan(struct plan *plan) {
  tc_symtab_free(plan->sched.tab);
  tc_arena_free(plan->arena);
}

/* Begins of lives rise, as those of a launch list do. */
static void fill(struct plan *plan, struct tb_random *random, tc_sym size, int n_sizes) {
  int first = 0;
  for (int i = 0; i < plan->planner.n_blocks; i++) {
    const int kind = (int)(tb_random_next(random) % (uint64_t)n_sizes);
    first += (int)(tb_random_next(random) % 3);
    const tc_sym bytes = tc_sym_mul(plan->sched.tab, size, tc_sym_const(4 + 4 * kind));
    plan->planner.blocks[i] = (struct tc_block){.tiles = -1,
                                                .first = first,
                                                .last = first + (int)(tb_random_next(random) % LIFE_MAX),
                                                .bytes = bytes};
  }
}

static bool is_free(const struct tc_block *blocks, const tc_sym *offsets, int i, tc_sym offset) {
  for (int k = 0; k < i; k++)
    if (tc_sym_same(offsets[k], offset) && blocks[k].last >= blocks[i].first &&
        blocks[i].last >= blocks[k].first)
      return false;
  return true;
}

static void check_against_rule(const struct plan *plan) {
  const struct tc_block *blocks = plan->planner.blocks;
  struct tc_symtab *tab = plan->sched.tab;
  tc_sym offsets[BLOCKS_MAX], top = tc_sym_const(0);
  for (int i = 0; i < plan->planner.n_blocks; i++) {
    int k = 0;
    while (k < i &&
           !(tc_sym_same(blocks[k].bytes, blocks[i].bytes) && is_free(blocks, offsets, i, offsets[k])))
      k++;
    offsets[i] = k < i ? offsets[k] : top;
    const tc_sym units =
        tc_sym_div(tab, tc_sym_add(tab, blocks[i].bytes, tc_sym_const(63)), tc_sym_const(64));
    if (k == i) top = tc_sym_add(tab, top, tc_sym_mul(tab, units, tc_sym_const(64)));
    assert_true(tc_sym_same(blocks[i].offset, offsets[i]));
  }
  assert_true(tc_sym_same(plan->list.pool_bytes, top));
}

static void test_rule(void **state) {
  struct tb_random random = {SEED};
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    struct plan plan;
    open_plan(&plan, 1 + (int)(tb_random_next(&random) % BLOCKS_MAX));
    fill(&plan, &random, tc_sym_size(plan.sched.tab, 0, 8), 1 + round % SIZES);
    assert_true(tc_plan_place(&plan.planner));
    check_against_rule(&plan);
    close_plan(&plan);
  }
}

/* So many blocks that comparing each with all others, and those with all, would not end. */
static void test_many(void **state) {
  struct tb_random random = {SEED};
  struct plan plan;
  (void)state;
  open_plan(&plan, MANY);
  fill(&plan, &random, tc_sym_size(plan.sched.tab, 0, 8), SIZES);
  assert_true(tc_plan_place(&plan.planner));
  for (int i = 0; i < MANY; i++) assert_true(plan.planner.blocks[i].placed);
  close_plan(&plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rule), cmocka_unit_test(test_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
