/* Repeated bodies, which generators may roll into loops: the same bits as the kernel's meaning, for bodies of
 * several lengths and numbers of turns, and code that does not grow with the turns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/campaign.h"
#include "tests/compiler/codegen/kernel_maker.h"
#include "tests/compiler/codegen/kernel_trial.h"

enum {
  COUNT = 203,
  PLAIN = 4,
  LONGEST = 6
}; /* up to PLAIN steps each value is used once: kernel_reference.c computes shared ones anew */

static void run(struct maker *m, int64_t elements) {
  struct trial t = {.kernel = maker_kernel(m)};
  for (int i = 0; i < m->kernel.n_buffers; i++) {
    t.buffers[i].elements = elements;
    t.buffers[i].data = trial_data(m->buffers[i].dtype, elements, 3 + (uint64_t)i, false);
  }
  trial_run(&t);
  for (int i = 0; i < m->kernel.n_buffers; i++) free(t.buffers[i].data);
}

/* Step `i` of a body of `period` steps, on the chain's value and one that does not change. */
static const struct tc_expr *step(struct maker *m, const struct tc_expr *x, const struct tc_expr *b, int i) {
  const struct tc_expr *half = tc_expr_num(m->exprs, x->dtype, 0.5);
  switch (i) {
    case 0: return E2(ADD, x, b);
    case 1: return E2(MUL, x, half);
    case 2: return E1(SIN, x);
    case 3: return E2(SUB, E2(MUL, b, half), x); /* a value of the body that does not change with the turns */
    case 4: return E2(MAX, x, E2(MUL, x, E1(NEG, half))); /* one that the body needs twice */
    default: return E3(SELECT, E2(LT, x, b), E2(ADD, x, half), x);
  }
}

static const struct tc_expr *chain(struct maker *m, const struct tc_expr *x, const struct tc_expr *b,
                                   int period, int steps) {
  for (int i = 0; i < steps; i++) x = step(m, x, b, i % period);
  return x;
}

static void begin(struct maker *m, tc_sym *i, int *phase) {
  maker_begin(m, "turns");
  *i = maker_inner(m, C(COUNT));
  m->kernel.split_inner = true;
  *phase = maker_phase(m, true);
}

static void one_chain(tc_dtype dtype, int period, int steps) {
  struct maker maker, *m = &maker;
  tc_sym i;
  int p;
  begin(m, &i, &p);
  const struct tc_expr *a = maker_load(m, maker_buffer(m, dtype, TC_ROLE_READ), i),
                       *b = maker_load(m, maker_buffer(m, dtype, TC_ROLE_READ), i);
  const int out = maker_buffer(m, dtype, TC_ROLE_WRITE);
  maker_store(m, p, out, i, chain(m, a, b, period, steps));
  run(m, COUNT);
  maker_end(m);
}

static void bodies_and_turns(void **state) {
  (void)state;
  static const int steps[] = {5, 16, 47, 48, 100, 331}, shared_steps[] = {16, 18, 23, 25};
  for (int period = 1; period <= PLAIN; period++)
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) one_chain(TC_F32, period, steps[i]);
  for (int period = PLAIN + 1; period <= LONGEST; period++)
    for (unsigned i = 0; i < sizeof shared_steps / sizeof *shared_steps; i++)
      one_chain(TC_F32, period, shared_steps[i]);
  one_chain(TC_F64, 3, 100);
  one_chain(TC_BF16, 2, 100);
}

/* What an earlier turn gives is a result too: the loop ends there, and another goes on. */
static void results_between(void **state) {
  (void)state;
  enum { BETWEEN = 40, AFTER = 61 };
  for (int period = 1; period <= PLAIN; period++) {
    struct maker maker, *m = &maker;
    tc_sym i;
    int p;
    begin(m, &i, &p);
    const struct tc_expr *a = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i),
                         *b = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i);
    const int first = maker_buffer(m, TC_F32, TC_ROLE_WRITE), second = maker_buffer(m, TC_F32, TC_ROLE_WRITE);
    const struct tc_expr *middle = chain(m, a, b, period, BETWEEN), *end = chain(m, middle, b, period, AFTER);
    maker_store(m, p, second, i, E2(ADD, end, middle));
    maker_store(m, p, first, i, chain(m, a, b, period, BETWEEN / 2 + 1));
    run(m, COUNT);
    maker_end(m);
  }
}

/* A generator that looks at an operand to choose its code: a constant is one in the first turn alone. */
static void constant_before_the_first_turn(void **state) {
  (void)state;
  enum { FEWEST = 24, MOST = 27 }; /* of which some are left over, or none */
  for (int turns = FEWEST; turns <= MOST; turns++) {
    struct maker maker, *m = &maker;
    tc_sym i;
    int p;
    begin(m, &i, &p);
    const struct tc_expr *x = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i), *y = NUM(3);
    for (int t = 0; t < turns; t++) y = E1(SIN, E2(DIV, x, y));
    maker_store(m, p, maker_buffer(m, TC_F32, TC_ROLE_WRITE), i, y);
    run(m, COUNT);
    maker_end(m);
  }
}

/* Two values go round, one of them a turn later; and one that is a truth. */
static void several_carried(void **state) {
  (void)state;
  enum { TURNS = 7 };
  struct maker maker, *m = &maker;
  tc_sym i;
  int p;
  begin(m, &i, &p);
  const struct tc_expr *x = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i),
                       *y = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i);
  const struct tc_expr *flag = E2(LT, x, y), *u = x, *v = y;
  for (int t = 0; t < TURNS; t++) {
    const struct tc_expr *next = E2(SUB, E1(SIN, u), v);
    u = v, v = next;
    x = E3(SELECT, flag, E1(SIN, x), E2(ADD, x, y));
    flag = E2(XOR, flag, E2(LT, x, y));
  }
  maker_store(m, p, maker_buffer(m, TC_F32, TC_ROLE_WRITE), i, E2(ADD, u, v));
  maker_store(m, p, maker_buffer(m, TC_F32, TC_ROLE_WRITE), i, x);
  maker_store(m, p, maker_buffer(m, TC_BOOL, TC_ROLE_WRITE), i, flag);
  run(m, COUNT);
  maker_end(m);
}

/* Chains within reductions, and on what a reduction gives: over lanes of the row, and of an outer
 * dimension. */
static void rows(void **state) {
  (void)state;
  enum { ROWS = 7, COLUMNS = 37, STEPS = 50 };
  for (int outer = 0; outer < 2; outer++)
    for (int period = 1; period <= 3; period++) {
      struct maker maker, *m = &maker;
      maker_begin(m, "rows");
      const tc_sym r = maker_outer(m, C(ROWS)), c = maker_inner(m, C(COLUMNS));
      if (outer) m->kernel.lanes = TC_LANES_OUTER, m->kernel.block = ROWS;
      const int over = maker_phase(m, true), once = maker_phase(m, false);
      const tc_sym at = PLUS(TIMES(r, C(COLUMNS)), c);
      const struct tc_expr *a = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), at),
                           *b = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), at);
      const struct tc_expr *most =
          maker_reduce(m, over, TC_RED_MAX, chain(m, a, b, period, STEPS), TC_SYM_INVALID);
      maker_store(m, once, maker_buffer(m, TC_F32, TC_ROLE_WRITE), r,
                  chain(m, most, NUM(0.25), period, STEPS));
      run(m, ROWS * COLUMNS);
      maker_end(m);
    }
}

/* --- random bodies, rolled and not --- */

enum { VALUES = 4, BODY_MOST = 7, TURNS_LEAST = 6, TURNS_MOST = 40, BODIES = 300, RESULTS = 3 };

static const struct tc_expr *any_of(uint64_t *seed, const struct tc_expr *const *values, int n) {
  return values[trial_random(seed) % (uint64_t)n];
}

/* One step of a random body: the same choices in each turn. */
static const struct tc_expr *random_step(struct maker *m, uint64_t *seed, const struct tc_expr *const *values,
                                         int n) {
  const struct tc_expr *a = any_of(seed, values, n), *b = any_of(seed, values, n),
                       *c = any_of(seed, values, n);
  switch (trial_random(seed) % 9) {
    case 0: return E2(ADD, a, b);
    case 1: return E2(SUB, a, b);
    case 2: return E2(MUL, a, b);
    case 3: return E2(DIV, a, b);
    case 4: return E2(MAX, a, b);
    case 5: return E1(SIN, a);
    case 6: return E3(SELECT, E2(LT, a, b), c, a);
    case 7: return E3(FMA, a, b, c);
    default: return E1(NEG, a);
  }
}

/* Values that go round, from loads and constants, and results from some turn on. */
static void random_kernel(struct maker *m, uint64_t seed) {
  tc_sym i;
  int p;
  begin(m, &i, &p);
  const struct tc_expr *a = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i),
                       *b = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i);
  const struct tc_expr *values[VALUES] = {a, b, NUM(1.25), E2(MUL, a, NUM(0.75))};
  const int steps = 1 + (int)(trial_random(&seed) % BODY_MOST),
            turns = TURNS_LEAST + (int)(trial_random(&seed) % (TURNS_MOST - TURNS_LEAST));
  const int told = (int)(trial_random(&seed) % (uint64_t)turns);
  const uint64_t body = trial_random(&seed);
  for (int t = 0; t < turns; t++) {
    uint64_t choices = body;
    for (int s = 0; s < steps; s++) {
      const struct tc_expr *next = random_step(m, &choices, values, VALUES);
      values[trial_random(&choices) % VALUES] = next;
    }
    if (t == told) maker_store(m, p, maker_buffer(m, TC_F32, TC_ROLE_WRITE), i, values[0]);
  }
  for (int r = 1; r < RESULTS; r++) maker_store(m, p, maker_buffer(m, TC_F32, TC_ROLE_WRITE), i, values[r]);
}

static void run_random(const struct maker *m, const struct tc_codegen *generator,
                       const struct tc_target *target, bool roll, float *results) {
  struct tc_config config;
  void *buffers[TRIAL_BUFFERS];
  tc_config_default(&config);
  config.roll = roll;
  struct trial_code code = trial_compile_as(generator, &m->kernel, target, &config);
  for (int i = 0, r = 0; i < m->kernel.n_buffers; i++)
    buffers[i] = m->buffers[i].role == TC_ROLE_READ ? trial_data(TC_F32, COUNT, 5 + (uint64_t)i, true)
                                                    : results + (size_t)COUNT * (size_t)r++;
  code.run(buffers, NULL, 0, COUNT);
  for (int i = 0; i < m->kernel.n_buffers; i++)
    if (m->buffers[i].role == TC_ROLE_READ) free(buffers[i]);
  trial_free(&code);
}

static void random_bodies(void **state) {
  (void)state;
  static float rolled[RESULTS * COUNT], plain[RESULTS * COUNT];
  for (uint64_t seed = 1; seed <= (uint64_t)campaign(BODIES); seed++) {
    struct maker maker, *m = &maker;
    random_kernel(m, seed * 0x9E3779B97F4A7C15u);
    maker_kernel(m);
    for (int g = 0; g < TRIAL_GENERATORS; g++)
      for (int t = 0; t < TRIAL_TARGETS; t++) {
        if (!trial_target(t) || !trial_takes(trial_generator(g), &m->kernel, trial_target(t))) continue;
        run_random(m, trial_generator(g), trial_target(t), true, rolled);
        run_random(m, trial_generator(g), trial_target(t), false, plain);
        for (int i = 0; i < RESULTS * COUNT; i++)
          if (memcmp(&rolled[i], &plain[i], sizeof *plain) &&
              !(isnan(rolled[i]) && isnan(plain[i]))) /* which NaN is nobody's promise */
            fail_msg("body %d on %s: %d is %.9g rolled, %.9g plain", (int)seed, trial_target(t)->name, i,
                     (double)rolled[i], (double)plain[i]);
      }
    maker_end(m);
  }
}

static size_t code_bytes(const struct tc_codegen *generator, const struct tc_target *target, int steps) {
  struct maker maker, *m = &maker;
  struct tc_module *module;
  struct tc_blob blob;
  struct tc_config config;
  struct tc_error err = {0};
  tc_sym i;
  int p;
  begin(m, &i, &p);
  const struct tc_expr *a = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i),
                       *b = maker_load(m, maker_buffer(m, TC_F32, TC_ROLE_READ), i);
  maker_store(m, p, maker_buffer(m, TC_F32, TC_ROLE_WRITE), i, chain(m, a, b, 3, steps));
  tc_config_default(&config);
  assert_int_equal(generator->begin(tc_alloc_system(), target, &config, &module, &err), TC_OK);
  assert_int_equal(generator->emit(module, maker_kernel(m), &err), TC_OK);
  assert_int_equal(generator->finish(module, &blob, NULL, &err), TC_OK);
  const size_t size = blob.size;
  tc_blob_free(&blob);
  maker_end(m);
  return size;
}

static void code_does_not_grow(void **state) {
  (void)state;
  enum { FEW = 60, MANY = 480, SLACK_BYTES = 256 };
  for (int g = 0; g < TRIAL_GENERATORS; g++)
    for (int t = 0; t < TRIAL_TARGETS; t++) {
      if (!trial_target(t)) continue;
      assert_true(code_bytes(trial_generator(g), trial_target(t), MANY) <=
                  code_bytes(trial_generator(g), trial_target(t), FEW) + SLACK_BYTES);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies_and_turns),   cmocka_unit_test(results_between),
      cmocka_unit_test(several_carried),    cmocka_unit_test(rows),
      cmocka_unit_test(code_does_not_grow), cmocka_unit_test(constant_before_the_first_turn),
      cmocka_unit_test(random_bodies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
