/* Graphs whose sizes are variables: compiled once, run at several sizes, and compared with the eager
 * functions at those sizes.
 *
 * Every tensor function has a program in dynamic_cases.def. Each is compiled for the device (LLVM),
 * interpreted from its launch list (the null generator's executor), and run operation by operation; what
 * compiling takes for granted is compared with the program's list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "cache/cache.h"
#include "codegen/null/interpret.h"
#include "decomp/decomp.h"
#include "device/eager.h"
#include "pipeline.h"
#include "sched/sched.h"
#include "tensor/host.h"
#include "tests/compiler/device/program_text.h"

enum { N_SIZES = 4, THREADS = 2, MOST_INPUTS = 8, SEED = 42, INDICES = 4 };

/* The first row is what the graph is captured with. */
static const int64_t size_rows[][N_SIZES] = {{6, 10, 3, 6}, {2, 2, 2, 2},     {7, 33, 5, 8},
                                             {9, 3, 2, 17}, {64, 130, 2, 64}, {6, 10, 4, 6}};
enum { N_ROWS = sizeof size_rows / sizeof *size_rows };

static const struct {
  const char *inputs, *steps, *facts;
} programs[] = {
#define DYNAMIC(inputs, steps, facts) {inputs, steps, facts},
#include "tests/compiler/device/dynamic_cases.def"
#undef DYNAMIC
};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

static const struct tc_codegen *const codegens[] = {&tc_codegen_llvm, NULL};
static struct tc_context ctx;

static int open_context(void **state) {
  struct tc_error err;
  (void)state;
  ctx = (struct tc_context){.alloc = tc_alloc_system(), .codegens = codegens};
  tc_config_default(&ctx.config);
  ctx.config.verify = true;
  ctx.config.cache = false;
  return tc_device_cpu_open(ctx.alloc, "auto", THREADS, &ctx.device, &err) != TC_OK;
}
static int close_context(void **state) {
  (void)state;
  ctx.device->methods->close(ctx.device);
  return 0;
}

#define OK(status, err, number)                                                                              \
  do {                                                                                                       \
    if ((status) != TC_OK)                                                                                   \
      fail_msg("program %d (%s): %s: %s", (number), programs[number].steps, (err).stage, (err).message);     \
  } while (0)

/* --- tensors --- */

static uint64_t random_state;
static double random_real(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (double)(random_state >> 11) / 9007199254740992.0 * 4 - 2;
}

static void fill(struct tc_tensor *t) {
  for (int64_t i = 0; i < tc_tensor_numel(t); i++) {
    const double x = random_real();
    tc_tensor_set_f64(t, i,
                      t->dtype == TC_I64    ? 1 + floor((x + 2) / 4 * INDICES)
                      : t->dtype == TC_BOOL ? x > 0
                                            : x);
  }
}

struct inputs {
  int n;
  struct tc_tensor tensors[MOST_INPUTS];
  const struct tc_tensor *list[MOST_INPUTS];
};

static void make_inputs(int number, const int64_t *sizes, struct inputs *in) {
  struct tc_arena *arena = tc_arena_new(ctx.alloc);
  struct program p = {.tab = tc_symtab_new(tc_arena_alloc(arena)), .sizes = sizes};
  const char *at = programs[number].inputs;
  struct tc_meta meta = {0};
  random_state = SEED + (uint64_t)number;
  for (in->n = 0; program_input(&p, &at, &meta); in->n++) {
    int64_t shape[TC_MAX_DIMS];
    for (int d = 0; d < meta.ndim; d++) shape[d] = tc_sym_value(meta.sizes[d]);
    OK(tc_tensor_new(ctx.device, meta.dtype, meta.ndim, shape, &in->tensors[in->n], &p.err), p.err, number);
    fill(&in->tensors[in->n]);
    in->list[in->n] = &in->tensors[in->n];
  }
  tc_arena_free(arena);
}

static void free_tensors(int n, struct tc_tensor *tensors) {
  for (int i = 0; i < n; i++) tc_tensor_release(&tensors[i]);
}

static bool close_to(double got, double want, tc_dtype dtype) {
  static const double loose = 0.02, tight = 3e-4, exact = 1e-9;
  const double tolerance = dtype == TC_BF16 ? loose : dtype == TC_F32 ? tight : exact;
  return got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tolerance * (1 + fabs(want));
}

static void compare(int number, const int64_t *sizes, const char *how, const struct tc_tensor *got,
                    const struct tc_tensor *want) {
  assert_int_equal(got->dtype, want->dtype);
  assert_int_equal(got->ndim, want->ndim);
  for (int d = 0; d < got->ndim; d++)
    if (got->sizes[d] != want->sizes[d])
      fail_msg("program %d (%s), %s, s0=%d: size %d is %d, not %d", number, programs[number].steps, how,
               (int)sizes[0], d, (int)got->sizes[d], (int)want->sizes[d]);
  for (int64_t i = 0; i < tc_tensor_numel(want); i++) {
    const double a = tc_tensor_get_f64(got, i), b = tc_tensor_get_f64(want, i);
    if (!close_to(a, b, want->dtype))
      fail_msg("program %d (%s), %s, s0=%d s1=%d: element %d is %g, not %g", number, programs[number].steps,
               how, (int)sizes[0], (int)sizes[1], (int)i, a, b);
  }
}

/* --- the eager result --- */

static bool run_eager(int number, const struct inputs *in, const int64_t *sizes, int *n,
                      struct tc_tensor *out) {
  struct tc_arena *arena = tc_arena_new(ctx.alloc);
  struct tc_eager e;
  tc_eager_begin(&e, &ctx);
  struct program p = {.b = &e.builder, .tab = tc_symtab_new(tc_arena_alloc(arena)), .sizes = sizes};
  for (int i = 0; i < in->n; i++) p.values[p.n_values++] = tc_eager_wrap(&e, in->list[i]);
  ctx.rng = (struct tc_rng){SEED, 0};
  const bool good = !program_run(&p, programs[number].steps);
  *n = good ? p.results.count : 0;
  for (int i = 0; i < *n; i++) out[i] = tc_eager_take(p.results.values[i]);
  tc_eager_end(&e);
  tc_arena_free(arena);
  return good;
}

/* --- the graph --- */

static struct tc_graph *capture(int number) {
  struct tc_arena *arena = tc_arena_new(ctx.alloc);
  struct tc_graph *g = tc_graph_new(arena);
  struct tc_graph_builder b;
  tc_graph_builder_init(&b, g);
  for (int i = 0; i < N_SIZES; i++) tc_sym_size(g->tab, i, size_rows[0][i]);
  struct program p = {.b = &b.builder, .tab = g->tab};
  const char *at = programs[number].inputs;
  struct tc_meta meta = {0};
  while (program_input(&p, &at, &meta)) {
    tc_sym strides[TC_MAX_DIMS], stride = tc_sym_const(1);
    for (int d = meta.ndim - 1; d >= 0; d--)
      strides[d] = stride, stride = tc_sym_mul(g->tab, stride, meta.sizes[d]);
    p.values[p.n_values++] = tc_value_of(tc_graph_input(g, &meta, strides));
  }
  OK(program_run(&p, programs[number].steps), p.err, number);
  for (int i = 0; i < p.results.count; i++) assert_true(tc_graph_output(g, tc_node_of(p.results.values[i])));
  return g;
}

/* Each once: what capturing and compiling both rest on is a fact of both. */
static void print_fact(struct tc_strbuf *out, const struct tc_sym_fact *f) {
  struct tc_strbuf one;
  tc_strbuf_init(&one, ctx.alloc);
  tc_sym_print(&one, f->a);
  tc_strbuf_puts(&one, f->less ? " < " : " == ");
  tc_sym_print(&one, f->b);
  tc_strbuf_puts(&one, f->holds ? " holds" : " fails");
  if (!out->len || !strstr(tc_strbuf_text(out), tc_strbuf_text(&one)))
    tc_strbuf_printf(out, "%s%s", out->len ? "; " : "", tc_strbuf_text(&one));
  tc_strbuf_free(&one);
}

/* Do the facts that capturing records hold of these sizes? With text: they are printed too. */
static bool captured_facts_hold(const struct tc_graph *g, const int64_t *sizes, struct tc_strbuf *text) {
  bool hold = true;
  for (int i = 0; i < tc_sym_fact_count(g->tab); i++) {
    const struct tc_sym_fact f = tc_sym_fact_at(g->tab, i);
    hold = tc_sym_fact_true(&f, sizes) && hold;
    if (text) print_fact(text, &f);
  }
  return hold;
}

/* --- the runs --- */

typedef void use(int number, const int64_t *sizes, const struct inputs *in, int n,
                 const struct tc_tensor *want, void *state);

/* Calls `f` with the eager results at every row of sizes that the captured graph serves; gives how many. */
static int at_all_sizes(int number, use *f, void *state) {
  int served = 0;
  for (int row = 0; row < N_ROWS; row++) {
    const int64_t *sizes = size_rows[row];
    struct tc_graph *g = capture(number);
    const bool serves = captured_facts_hold(g, sizes, NULL);
    tc_arena_free(g->arena);
    if (!serves) continue;
    struct inputs in;
    struct tc_tensor want[TC_MAX_RESULTS];
    int n;
    make_inputs(number, sizes, &in);
    if (!run_eager(number, &in, sizes, &n, want))
      fail_msg("program %d (%s): the eager functions refuse s0=%d s1=%d", number, programs[number].steps,
               (int)sizes[0], (int)sizes[1]);
    f(number, sizes, &in, n, want, state);
    free_tensors(n, want);
    free_tensors(in.n, in.tensors);
    served++;
  }
  return served;
}

static void use_compiled(int number, const int64_t *sizes, const struct inputs *in, int n,
                         const struct tc_tensor *want, void *state) {
  struct tc_compiled *c = state;
  struct tc_tensor got[TC_MAX_RESULTS];
  struct tc_error err = {0};
  assert_int_equal(tc_compiled_outputs(c), n);
  for (int turn = 0; turn < 2; turn++) { /* the second finds the list bound */
    ctx.rng = (struct tc_rng){SEED, 0};
    OK(tc_compiled_run(c, in->list, sizes, got, &err), err, number);
    for (int i = 0; i < n; i++)
      compare(number, sizes, tc_compiled_list(c) ? "compiled" : "operation by operation", &got[i], &want[i]);
    free_tensors(n, got);
  }
}

static struct tc_compiled *compile(int number, enum tc_backend backend, struct tc_compile_report *report) {
  struct tc_compiled *c = NULL;
  struct tc_error err = {0};
  OK(tc_compile_graph(&ctx, backend, capture(number), &c, report, &err), err, number);
  assert_int_equal(tc_compiled_sizes(c), N_SIZES);
  return c;
}

/* Tells all that differ before the test fails. */
static bool check_facts(int number, const struct tc_compiled *c) {
  struct tc_strbuf text;
  struct tc_graph *g = capture(number);
  tc_strbuf_init(&text, ctx.alloc);
  captured_facts_hold(g, size_rows[0], &text);
  const struct tc_sym_fact *facts;
  for (int i = 0, n = tc_compiled_facts(c, &facts); i < n; i++) print_fact(&text, &facts[i]);
  const bool same = !strcmp(tc_strbuf_text(&text), programs[number].facts);
  if (!same)
    print_error("program %d (%s): facts \"%s\", not \"%s\"\n", number, programs[number].steps, text.data,
                programs[number].facts);
  tc_strbuf_free(&text);
  tc_arena_free(g->arena);
  return same;
}

static void test_compiled(void **state) {
  (void)state;
  bool facts = true;
  for (int i = 0; i < N_PROGRAMS; i++) {
    struct tc_compile_report report = {0};
    struct tc_compiled *c = compile(i, TC_BACKEND_inductor, &report);
    facts = check_facts(i, c) && facts;
    const int served = at_all_sizes(i, use_compiled, c);
    assert_true(*programs[i].facts ? served > 0 && served < N_ROWS : served == N_ROWS);
    tc_compiled_release(c);
  }
  assert_true(facts);
}

static void test_operation_by_operation(void **state) {
  (void)state;
  for (int i = 0; i < N_PROGRAMS; i++)
    for (int backend = TC_BACKEND_eager; backend <= TC_BACKEND_aot_eager; backend++) {
      struct tc_compile_report report = {0};
      struct tc_compiled *c = compile(i, (enum tc_backend)backend, &report);
      at_all_sizes(i, use_compiled, c);
      tc_compiled_release(c);
    }
}

/* --- the interpreter --- */

static void use_interpreter(int number, const int64_t *sizes, const struct inputs *in, int n,
                            const struct tc_tensor *want, void *state) {
  const struct tc_launch_list *list = state;
  void *inputs[MOST_INPUTS] = {0}, *outputs[TC_MAX_RESULTS] = {0};
  struct tc_error err = {0};
  int64_t status = 0;
  for (int i = 0; i < in->n; i++) inputs[i] = tc_tensor_data(in->list[i]);
  for (int i = 0; i < list->n_allocated; i++)
    outputs[i] = calloc(1, (size_t)tc_sym_eval(list->allocated_bytes[i], sizes) + 1);
  void *pool = calloc(1, (size_t)tc_sym_eval(list->pool_bytes, sizes) + 1);
  const struct tc_interpreted_run run = {.list = list,
                                         .inputs = inputs,
                                         .outputs = outputs,
                                         .pool = pool,
                                         .sizes = sizes,
                                         .status = &status,
                                         .rng = {SEED, 0},
                                         .parts = 3};
  OK(tc_interpret_list(ctx.alloc, &run, &err), err, number);
  for (int i = 0; i < n; i++) {
    const struct tc_output *o = &list->outputs[i];
    const struct tc_slot *slot = &list->slots[o->slot];
    struct tc_storage storage = {.data = slot->kind == TC_SLOT_INPUT ? inputs[slot->index]
                                                                     : outputs[slot->index]};
    struct tc_tensor got = {
        .storage = &storage, .dtype = o->dtype, .ndim = o->ndim, .offset = tc_sym_eval(o->offset, sizes)};
    for (int d = 0; d < o->ndim; d++)
      got.sizes[d] = tc_sym_eval(o->sizes[d], sizes), got.strides[d] = tc_sym_eval(o->strides[d], sizes);
    compare(number, sizes, "interpreted", &got, &want[i]);
  }
  for (int i = 0; i < list->n_allocated; i++) free(outputs[i]);
  free(pool);
}

/* Long ones take the interpreter minutes. */
static bool is_long(int number) {
  return strstr(programs[number].inputs, "000") || strstr(programs[number].inputs, "4096");
}

static void test_interpreted(void **state) {
  (void)state;
  for (int i = 0; i < N_PROGRAMS; i++) {
    struct tc_error err = {0};
    struct tc_loops *loops;
    struct tc_launch_list *list;
    if (is_long(i)) continue;
    struct tc_graph *g = capture(i);
    OK(tc_decompose(g, &ctx.config, &g, &err), err, i);
    OK(tc_lower(g, &ctx.config, &loops, &err), err, i);
    OK(tc_schedule(g, loops, &ctx.device->target, &ctx.config, &list, &err), err, i);
    at_all_sizes(i, use_interpreter, list);
    tc_arena_free(g->arena);
  }
}

/* --- what a call refuses --- */

static int program_of(const char *steps) {
  for (int i = 0; i < N_PROGRAMS; i++)
    if (!strcmp(programs[i].steps, steps)) return i;
  fail_msg("no program '%s'", steps);
  return -1;
}

static tc_status run_at(struct tc_compiled *c, int number, const int64_t *sizes) {
  struct inputs in;
  struct tc_tensor got[TC_MAX_RESULTS];
  make_inputs(number, size_rows[0], &in);
  const tc_status status = tc_compiled_run(c, in.list, sizes, got, NULL);
  if (!status) free_tensors(tc_compiled_outputs(c), got);
  free_tensors(in.n, in.tensors);
  return status;
}

static void test_refused_sizes(void **state) {
  (void)state;
  const int number = program_of("randn s0 s1");
  struct tc_compile_report report = {0};
  struct tc_compiled *c = compile(number, TC_BACKEND_inductor, &report);
  const int64_t one[N_SIZES] = {1, 10, 3, 6}, huge[N_SIZES] = {TC_SYM_SIZE_MAX + 1, 10, 3, 6},
                product[N_SIZES] = {TC_SYM_SIZE_MAX, TC_SYM_SIZE_MAX, 3, 6};
  assert_int_equal(run_at(c, number, NULL), TC_ARG);
  assert_int_equal(run_at(c, number, one), TC_LIMIT);
  assert_int_equal(run_at(c, number, huge), TC_LIMIT);
  assert_int_equal(run_at(c, number, product), TC_LIMIT);
  assert_int_equal(run_at(c, number, size_rows[0]), TC_OK); /* a refused call leaves it as it was */
  tc_compiled_release(c);
}

/* --- caches --- */

static enum tc_cache_answer compile_cached(int number, struct tc_compiled **c) {
  struct tc_compile_report report = {0};
  *c = compile(number, TC_BACKEND_inductor, &report);
  return report.answer;
}

static void open_cache(const char *directory) {
  ctx.cache = tc_cache_open(ctx.alloc, directory, 64);
  ctx.config.cache = true;
}
static void close_cache(void) {
  tc_cache_close(ctx.cache);
  ctx.cache = NULL;
  ctx.config.cache = false;
}

/* An artifact keeps its sizes and facts on the disk. */
static void test_disk(void **state) {
  (void)state;
  static const char *const steps[] = {"linear x0 x1 x2; gelu x4; linear x5 x3; softmax x6 -1",
                                      "transpose x0 1 2; reshape x1 s0 s1; sin x2"};
  char directory[] = "/tmp/tbench-dynamic-XXXXXX";
  assert_non_null(mkdtemp(directory));
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    const int number = program_of(steps[i]);
    struct tc_compiled *c;
    open_cache(directory);
    assert_int_equal(compile_cached(number, &c), TC_CACHE_MISS);
    tc_compiled_release(c);
    assert_int_equal(compile_cached(number, &c), TC_CACHE_MEMORY);
    tc_compiled_release(c);
    close_cache();
    open_cache(directory);
    assert_int_equal(compile_cached(number, &c), TC_CACHE_DISK);
    assert_true(check_facts(number, c));
    assert_int_equal(at_all_sizes(number, use_compiled, c), N_ROWS);
    tc_compiled_release(c);
    close_cache();
  }
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
}

/* --- every function has a program --- */

static bool occurs(const char *name) {
  const size_t n = strlen(name);
  for (int i = 0; i < N_PROGRAMS; i++)
    for (const char *at = programs[i].steps; at; at = strchr(at, ';')) {
      at += strspn(at, "; ");
      if (!strncmp(at, name, n) && (at[n] == ' ' || !at[n])) return true;
    }
  return false;
}

static void test_all_functions(void **state) {
  (void)state;
  for (int i = 0; i < tc_function_count(); i++)
    if (!occurs(tc_function_at(i)->name))
      fail_msg("%s has no program in dynamic_cases.def", tc_function_at(i)->name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_functions),          cmocka_unit_test(test_compiled),
      cmocka_unit_test(test_operation_by_operation), cmocka_unit_test(test_interpreted),
      cmocka_unit_test(test_refused_sizes),          cmocka_unit_test(test_disk),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
