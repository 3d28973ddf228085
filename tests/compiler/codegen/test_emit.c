/* The pipeline with the null generator, without LLVM: graph to kernels to emitted programs, which the
 * interpreter runs; and what emit.c promises of any generator: which one takes a kernel, how kernels are
 * dealt to threads, what a failure leaves behind. */
#include "codegen/emit.h"
#include "tests/compiler/ir/lowered.h"

/* Several kernels with matrix products between them; a softmax, a sum of columns and pointwise work. */
static const char text[] = "graph {\n"
                           "  v0 = input [0] : f32[32, 32] strides [32, 1]\n"
                           "  v1 = input [1] : f32[40, 32] strides [32, 1]\n"
                           "  v2 = input [2] : f32[40] strides [1]\n"
                           "  v3 = linear v0 v1 v2 : f32[32, 40]\n"
                           "  v4 = relu v3 : f32[32, 40]\n"
                           "  v5 = matmul v4 v1 : f32[32, 32]\n"
                           "  v6 = softmax v5 [1] : f32[32, 32]\n"
                           "  v7 = matmul v6 v0 : f32[32, 32]\n"
                           "  v8 = tanh v7 : f32[32, 32]\n"
                           "  v9 = sum v6 [0, 0] : f32[32]\n"
                           "  v10 = exp v9 : f32[32]\n"
                           "  return v10 v8 v6\n"
                           "}\n";

static const struct tc_codegen *const null_alone[] = {&tc_codegen_null, NULL};

struct emitted {
  struct lowered l;
  struct tc_blobs blobs;
  struct tc_code_text text;
  tc_status status;
  struct tc_error err;
};

static void emit_with(struct emitted *e, const struct tc_codegen *const *codegens,
                      const struct tc_alloc *alloc, int threads) {
  struct tc_config config;
  tc_config_default(&config);
  config.compile_threads = threads;
  *e = (struct emitted){.l = lower_text(text, true)};
  tc_strbuf_init(&e->text.code, tc_alloc_system());
  tc_strbuf_init(&e->text.assembly, tc_alloc_system());
  e->status =
      tc_emit_kernels(alloc, codegens, &lowered_target, &config, e->l.list, &e->blobs, &e->text, &e->err);
}
static void emit(struct emitted *e, const struct tc_codegen *const *codegens, int threads) {
  emit_with(e, codegens, tc_alloc_system(), threads);
}
static void discard(struct emitted *e) {
  tc_blobs_free(&e->blobs);
  tc_strbuf_free(&e->text.code);
  tc_strbuf_free(&e->text.assembly);
  tc_arena_free(e->l.arena);
}

static int times_in(const char *bytes, size_t size, const char *word) {
  const size_t length = strlen(word);
  int count = 0;
  for (size_t i = 0; i + length <= size; i++) count += !memcmp(bytes + i, word, length);
  return count;
}

/* In how many places of the blobs the kernel's program stands. */
static int programs_of(const struct emitted *e, const struct tc_kernel *kernel) {
  struct tc_strbuf program;
  int count = 0;
  tc_strbuf_init(&program, tc_alloc_system());
  tc_kernel_print(&program, kernel);
  for (int i = 0; i < e->blobs.count; i++)
    count += times_in((const char *)e->blobs.blob[i].bytes, e->blobs.blob[i].size, tc_strbuf_text(&program));
  tc_strbuf_free(&program);
  return count;
}

/* --- the pipeline --- */

static void test_emit_and_run(void **state) {
  static const int threads[] = {1, 2, 3, 100};
  (void)state;
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    struct emitted e;
    emit(&e, null_alone, threads[t]);
    LOWERED_OK(e.status, e.err);
    const int codes = e.l.list->n_codes;
    assert_true(codes >= 3);
    assert_int_equal(e.blobs.count, threads[t] < codes       ? threads[t]
                                    : codes < TC_MAX_MODULES ? codes
                                                             : TC_MAX_MODULES);
    size_t bytes = 0;
    for (int i = 0; i < e.blobs.count; i++) bytes += e.blobs.blob[i].size;
    assert_int_equal(e.text.code.len, bytes);
    for (int i = 0; i < codes; i++) {
      assert_string_equal(e.l.list->codes[i].generator, "null");
      assert_int_equal(programs_of(&e, e.l.list->codes[i].kernel), 1);
    }
    run_and_compare(&e.l, 1 + (int)t, 1);
    discard(&e);
  }
}

/* The order in which threads finish does not show. */
static void test_repeats(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    struct emitted a, b;
    emit(&a, null_alone, 3);
    emit(&b, null_alone, 3);
    assert_int_equal(a.blobs.count, b.blobs.count);
    for (int k = 0; k < a.blobs.count; k++) {
      assert_int_equal(a.blobs.blob[k].size, b.blobs.blob[k].size);
      assert_memory_equal(a.blobs.blob[k].bytes, b.blobs.blob[k].bytes, a.blobs.blob[k].size);
    }
    assert_string_equal(tc_strbuf_text(&a.text.code), tc_strbuf_text(&b.text.code));
    discard(&a);
    discard(&b);
  }
}

/* --- several generators --- */

static bool reduces(const struct tc_kernel *kernel) {
  for (int i = 0; i < kernel->n_phases; i++)
    if (kernel->phases[i].n_reductions) return true;
  return false;
}
static bool takes_reductions(const struct tc_target *target, const struct tc_kernel *kernel, char *why,
                             size_t why_bytes) {
  (void)target;
  if (!reduces(kernel)) snprintf(why, why_bytes, "no reduction");
  return reduces(kernel);
}
/* The null generator under another name, for some kernels. */
static struct tc_codegen picky_codegen(void) {
  struct tc_codegen picky = tc_codegen_null;
  picky.name = "picky";
  picky.supports = takes_reductions;
  return picky;
}

static void test_first_that_supports(void **state) {
  const struct tc_codegen picky = picky_codegen();
  const struct tc_codegen *const both[] = {&picky, &tc_codegen_null, NULL};
  struct emitted e;
  int taken[2] = {0};
  (void)state;
  emit(&e, both, 1);
  LOWERED_OK(e.status, e.err);
  for (int i = 0; i < e.l.list->n_codes; i++) {
    const struct tc_code *code = &e.l.list->codes[i];
    assert_string_equal(code->generator, reduces(code->kernel) ? "picky" : "null");
    assert_int_equal(programs_of(&e, code->kernel), 1);
    taken[reduces(code->kernel)]++;
  }
  assert_true(taken[0] && taken[1]);
  assert_int_equal(e.blobs.count, 2); /* a module a generator */
  run_and_compare(&e.l, 2, 1);
  discard(&e);
}

static void test_none_supports(void **state) {
  const struct tc_codegen picky = picky_codegen();
  const struct tc_codegen *const alone[] = {&picky, NULL};
  struct emitted e;
  (void)state;
  emit(&e, alone, 1);
  assert_int_equal(e.status, TC_CODEGEN);
  assert_non_null(strstr(e.err.message, "no reduction"));
  assert_int_equal(e.blobs.count, 0);
  discard(&e);
}

/* A kernel that breaks its specification is refused with the reason. */
static void test_refusal(void **state) {
  struct emitted e;
  char why[128] = "";
  (void)state;
  emit(&e, null_alone, 1);
  struct tc_kernel broken = *e.l.list->codes[0].kernel;
  assert_true(tc_codegen_null.supports(&lowered_target, &broken, why, sizeof why));
  broken.n_buffers = 0; /* what it loads and stores is no buffer of it */
  assert_false(tc_codegen_null.supports(&lowered_target, &broken, why, sizeof why));
  assert_true(*why);
  discard(&e);
}

/* --- failures --- */

static tc_status emit_fails(struct tc_module *module, const struct tc_kernel *kernel, struct tc_error *err) {
  if (!reduces(kernel)) return tc_codegen_null.emit(module, kernel, err);
  return tc_fail(err, TC_UNSUPPORTED, "test", "never");
}

/* One module of several fails: its error is told, and the blobs of the others are freed. */
static void test_one_module_fails(void **state) {
  struct tc_codegen failing = tc_codegen_null;
  const struct tc_codegen *const alone[] = {&failing, NULL};
  failing.emit = emit_fails;
  (void)state;
  for (int threads = 1; threads <= 4; threads++) {
    struct emitted e;
    emit(&e, alone, threads);
    assert_int_equal(e.status, TC_UNSUPPORTED);
    assert_non_null(strstr(e.err.where, "kernel "));
    assert_int_equal(e.blobs.count, 0);
    discard(&e);
  }
}

struct starving {
  struct tc_alloc alloc;
  int left;
  long live;
};
static void *starving_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct starving *s = self;
  if (new_bytes && s->left-- == 0) return NULL;
  s->live += (long)new_bytes - (long)old_bytes;
  return tc_alloc_system()->resize(tc_alloc_system()->self, block, old_bytes, new_bytes);
}

static void test_memory_runs_out(void **state) {
  enum { MORE_THAN_IT_MAKES = 1000 };
  (void)state;
  for (int n = 0;; n++) {
    assert_true(n < MORE_THAN_IT_MAKES);
    struct starving s = {.left = n};
    s.alloc = (struct tc_alloc){starving_resize, &s};
    struct emitted e;
    emit_with(&e, null_alone, &s.alloc, 1);
    const tc_status status = e.status;
    discard(&e);
    assert_int_equal(s.live, 0);
    if (status == TC_OK) {
      assert_true(n > 3);
      break;
    }
    assert_int_equal(status, TC_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_emit_and_run),
      cmocka_unit_test(test_repeats),
      cmocka_unit_test(test_first_that_supports),
      cmocka_unit_test(test_none_supports),
      cmocka_unit_test(test_refusal),
      cmocka_unit_test(test_one_module_fails),
      cmocka_unit_test(test_memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
