/* The LLVM generator as a module builder: what it refuses, threads, text, and memory that runs out. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/compiler/codegen/kernel_maker.h"
#include "tests/compiler/codegen/kernel_trial.h"

enum { ODD_COUNT = 203 };

static void refusals(void **state) {
  (void)state;
  struct maker maker, *m = &maker;
  char why[128];
  maker_begin(m, "refused");
  const tc_sym i = maker_inner(m, C(8));
  m->kernel.split_inner = true;
  const int a = maker_buffer(m, TC_I64, TC_ROLE_READ), out = maker_buffer(m, TC_I64, TC_ROLE_WRITE),
            p = maker_phase(m, true);
  const struct tc_expr *check =
      &(struct tc_expr){.op = TC_E_CHECK, .dtype = TC_I64, .args = {maker_load(m, a, i)}, .address = C(8)};
  maker_store(m, p, out, i, tc_expr_make(m->exprs, check));
  assert_false(tc_codegen_llvm.supports(trial_target(0), maker_kernel(m), why, sizeof why));
  assert_non_null(strstr(why, "status"));
  maker_buffer(m, TC_I64, TC_ROLE_STATUS);
  assert_true(tc_codegen_llvm.supports(trial_target(0), maker_kernel(m), why, sizeof why));
  struct tc_target odd = *trial_target(0);
  odd.vector_bytes = 16;
  assert_false(tc_codegen_llvm.supports(&odd, maker_kernel(m), why, sizeof why));
  assert_non_null(strstr(why, "16 bytes"));
  m->kernel.lanes = TC_LANES_OUTER;
  assert_false(tc_codegen_llvm.supports(trial_target(0), maker_kernel(m), why, sizeof why));
  maker_end(m);
}

static void make_sum(struct maker *m, const char *name) {
  maker_begin(m, name);
  const tc_sym i = maker_inner(m, C(ODD_COUNT));
  m->kernel.split_inner = true;
  const int a = maker_buffer(m, TC_F32, TC_ROLE_READ), out = maker_buffer(m, TC_F32, TC_ROLE_WRITE),
            p = maker_phase(m, true);
  maker_store(m, p, out, i, E1(TANH, E2(ADD, maker_load(m, a, i), NUM(1))));
}

/* The same kernel gives the same bytes, from any thread; the text is the generator's. */
static tc_status object_of(const struct tc_alloc *alloc, const struct tc_kernel *k, struct tc_blob *blob,
                           struct tc_strbuf *text) {
  struct tc_config config;
  struct tc_module *module;
  struct tc_error err;
  tc_config_default(&config);
  tc_status status = tc_codegen_llvm.begin(alloc, trial_target(0), &config, &module, &err);
  if (status) return status;
  status = tc_codegen_llvm.emit(module, k, &err);
  if (!status) return tc_codegen_llvm.finish(module, blob, text, &err);
  tc_codegen_llvm.discard(module);
  return status;
}

struct job {
  struct tc_blob blob;
  tc_status status;
};
static void *compile_in_thread(void *argument) {
  struct job *job = argument;
  struct maker maker;
  make_sum(&maker, "threaded");
  job->status = object_of(tc_alloc_system(), maker_kernel(&maker), &job->blob, NULL);
  maker_end(&maker);
  return NULL;
}

static void threads_and_text(void **state) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  struct job jobs[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(0, pthread_create(&threads[i], NULL, compile_in_thread, &jobs[i]));
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  struct maker maker;
  struct tc_blob blob;
  struct tc_strbuf text;
  make_sum(&maker, "threaded");
  tc_strbuf_init(&text, tc_alloc_system());
  assert_int_equal(TC_OK, object_of(tc_alloc_system(), maker_kernel(&maker), &blob, &text));
  assert_non_null(strstr(tc_strbuf_text(&text), "define void @threaded("));
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(TC_OK, jobs[i].status);
    assert_int_equal(blob.size, jobs[i].blob.size);
    assert_memory_equal(blob.bytes, jobs[i].blob.bytes, blob.size);
    tc_blob_free(&jobs[i].blob);
  }
  tc_blob_free(&blob);
  tc_strbuf_free(&text);
  maker_end(&maker);
}

/* Memory runs out at each of our own allocations in turn: a status, no crash, nothing left behind. */
struct failing {
  struct tc_alloc alloc;
  int left;
  long live;
};
static void *failing_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct failing *f = self;
  if (new_bytes && f->left-- == 0) return NULL;
  void *result = tc_alloc_system()->resize(tc_alloc_system()->self, block, old_bytes, new_bytes);
  f->live += (long)new_bytes - (long)old_bytes;
  return result;
}

static void memory_runs_out(void **state) {
  (void)state;
  struct maker maker;
  make_sum(&maker, "starved");
  enum { MORE_THAN_IT_MAKES = 10000 };
  for (int n = 0;; n++) {
    assert_true(n < MORE_THAN_IT_MAKES);
    struct failing f = {.left = n};
    f.alloc = (struct tc_alloc){failing_resize, &f};
    struct tc_blob blob;
    const tc_status status = object_of(&f.alloc, maker_kernel(&maker), &blob, NULL);
    if (!status) {
      tc_blob_free(&blob);
      assert_int_equal(0, f.live);
      assert_true(n > 3);
      break;
    }
    assert_int_equal(TC_NOMEM, status);
    assert_int_equal(0, f.live);
  }
  maker_end(&maker);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(refusals), cmocka_unit_test(threads_and_text),
                                     cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
