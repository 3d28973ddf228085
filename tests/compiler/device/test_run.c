/* Launch lists on the CPU, with kernels written in C: items are covered once whatever the threads, dependent
 * entries see what came before, scratch is private, sizes are symbolic, and matrix products take any
 * strides. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/cpu/cpu.h"
#include "sym/sym.h"

enum { THREADS = 4, MANY = 1 << 20 };

static struct tc_device *device;
static int open_device(void **state) {
  struct tc_error err;
  (void)state;
  return tc_device_cpu_open(tc_alloc_system(), "auto", THREADS, &device, &err) != TC_OK;
}
static int close_device(void **state) {
  (void)state;
  device->methods->close(device);
  return 0;
}

/* --- kernels --- */

static void count_items(void *const *buffers, const int64_t *sizes, int64_t first, int64_t last) {
  int32_t *counts = buffers[0];
  (void)sizes;
  for (int64_t i = first; i < last; i++) counts[i]++;
}

/* out[i] = in[n - 1 - i] + 1: reads what other threads wrote. */
static void reverse_add(void *const *buffers, const int64_t *sizes, int64_t first, int64_t last) {
  const int32_t *in = buffers[0];
  int32_t *out = buffers[1];
  for (int64_t i = first; i < last; i++) out[i] = in[sizes[0] - 1 - i] + 1;
}

/* Writes its rows through scratch: another thread's scratch in its place would show. */
static void through_scratch(void *const *buffers, const int64_t *sizes, int64_t first, int64_t last) {
  enum { ROW = 256 };
  int32_t *out = buffers[0], *scratch = buffers[1], *other = buffers[2];
  (void)sizes;
  for (int64_t i = first; i < last; i++) {
    for (int j = 0; j < ROW; j++) scratch[j] = (int32_t)i * ROW + j, other[j] = -1;
    for (int j = 0; j < ROW; j++) out[i * ROW + j] = scratch[j];
  }
}

static void status_and_draw(void *const *buffers, const int64_t *sizes, int64_t first, int64_t last) {
  const uint64_t *rng = buffers[1];
  uint64_t *out = buffers[2];
  (void)sizes;
  if (first < last) *(int64_t *)buffers[0] |= 1;
  for (int64_t i = first; i < last; i++) out[i] = rng[0] + rng[1];
}

/* --- lists --- */

static enum tc_buffer_role all_write[] = {TC_ROLE_WRITE, TC_ROLE_WRITE, TC_ROLE_WRITE};
static tc_sym no_scratch[3];

static struct tc_code code_of(int n_buffers) {
  return (struct tc_code){.symbol = "c",
                          .generator = "test",
                          .n_buffers = n_buffers,
                          .roles = all_write,
                          .scratch_bytes = no_scratch};
}
static struct tc_launch launch_of(int code, int *slots, tc_sym items, tc_sym work) {
  return (struct tc_launch){
      .kind = TC_LAUNCH_KERNEL, .code = code, .slots = slots, .items = items, .work = work, .label = "test"};
}
static tc_sym number(int64_t value) { return tc_sym_const(value); }

static const struct tc_kernel_handle *handle_of(tc_cpu_kernel kernel) {
  return (const struct tc_kernel_handle *)(uintptr_t)kernel;
}

static void run_list(const struct tc_run *run) {
  struct tc_error err;
  const tc_status status = device->methods->run(device, run, &err);
  if (status) fail_msg("%s", err.message);
}

static int32_t counts[MANY + 1], results[MANY + 1];

/* Every item once, for awkward counts. */
static void test_items(void **state) {
  static const int64_t items[] = {0, 1, 2, 3, 1023, 1024, 1025, 4097, 100003, MANY};
  const struct tc_kernel_handle *const codes[] = {handle_of(count_items)};
  struct tc_code code = code_of(1);
  struct tc_slot slots[] = {{.kind = TC_SLOT_OUTPUT, .index = 0, .dtype = TC_F32}};
  int slot[] = {0};
  void *outputs[] = {counts};
  (void)state;
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    for (int heavy = 0; heavy < 2; heavy++) {
      struct tc_launch launch =
          launch_of(0, slot, number(items[i]), number(heavy ? items[i] * 1000 : items[i]));
      const struct tc_launch_list list = {
          .n_launches = 1, .n_codes = 1, .n_slots = 1, .launches = &launch, .codes = &code, .slots = slots};
      const struct tc_run run = {.list = &list, .outputs = outputs, .codes = codes};
      memset(counts, 0, sizeof counts);
      run_list(&run);
      for (int64_t j = 0; j <= MANY; j++)
        if (counts[j] != (j < items[i]))
          fail_msg("item %lld of %lld ran %d times", (long long)j, (long long)items[i], counts[j]);
    }
  }
}

/* A chain in one region, over the pool, with symbolic sizes. */
static void test_chain(void **state) {
  enum { STEPS = 7 };
  struct tc_symtab *tab = tc_symtab_new(tc_alloc_system());
  const tc_sym n = tc_sym_size(tab, 0, 1000), bytes = tc_sym_mul(tab, n, number(4)),
               offset = tc_sym_mul(tab, tc_sym_div(tab, tc_sym_add(tab, bytes, number(63)), number(64)),
                                   number(64));
  const struct tc_kernel_handle *const codes[] = {handle_of(reverse_add)};
  struct tc_code code = code_of(2);
  struct tc_slot slots[] = {{.kind = TC_SLOT_POOL, .offset = number(0)},
                            {.kind = TC_SLOT_POOL, .offset = offset},
                            {.kind = TC_SLOT_OUTPUT, .index = 0},
                            {.kind = TC_SLOT_INPUT, .index = 0}};
  int slot[STEPS][2], depends[STEPS];
  struct tc_launch launches[STEPS];
  (void)state;
  for (int i = 0; i < STEPS; i++) {
    slot[i][0] = i == 0 ? 3 : (i + 1) % 2;
    slot[i][1] = i == STEPS - 1 ? 2 : i % 2;
    depends[i] = i - 1;
    launches[i] = launch_of(0, slot[i], n, n);
    launches[i].depends = &depends[i];
    launches[i].n_depends = i > 0;
  }
  const struct tc_launch_list list = {.n_launches = STEPS,
                                      .n_codes = 1,
                                      .n_slots = 4,
                                      .launches = launches,
                                      .codes = &code,
                                      .slots = slots,
                                      .n_sizes = 1};
  for (int64_t size = 5; size <= 200000; size = size * 7 + 3) {
    struct tc_storage *pool = device->methods->alloc(device, (size_t)size * 8 + 128);
    void *inputs[] = {counts}, *outputs[] = {results};
    double ns[STEPS];
    struct tc_error err;
    for (int64_t i = 0; i < size; i++) counts[i] = (int32_t)(i * 3);
    const struct tc_run run = {.list = &list,
                               .inputs = inputs,
                               .outputs = outputs,
                               .pool = pool->data,
                               .sizes = &size,
                               .codes = codes};
    for (int timed = 0; timed < 2; timed++) {
      memset(results, 0, sizeof results);
      if (timed)
        assert_int_equal(device->methods->time(device, &run, ns, &err), TC_OK);
      else
        run_list(&run);
      for (int64_t i = 0; i < size; i++) /* an odd number of reversals */
        if (results[i] != (int32_t)((size - 1 - i) * 3) + STEPS)
          fail_msg("element %lld of %lld: %d", (long long)i, (long long)size, results[i]);
    }
    tc_storage_release(pool);
  }
  tc_symtab_free(tab);
}

static void test_scratch(void **state) {
  enum { ROWS = 3000, ROW = 256 };
  static enum tc_buffer_role roles[] = {TC_ROLE_WRITE, TC_ROLE_SCRATCH, TC_ROLE_SCRATCH};
  tc_sym bytes[] = {TC_SYM_INVALID, number(ROW * 4), number(ROW * 4)};
  const struct tc_kernel_handle *const codes[] = {handle_of(through_scratch)};
  struct tc_code code = {.n_buffers = 3, .roles = roles, .scratch_bytes = bytes};
  struct tc_slot slots[] = {{.kind = TC_SLOT_OUTPUT, .index = 0}};
  int slot[] = {0, -1, -1};
  struct tc_launch launch = launch_of(0, slot, number(ROWS), number(ROWS * ROW));
  const struct tc_launch_list list = {
      .n_launches = 1, .n_codes = 1, .n_slots = 1, .launches = &launch, .codes = &code, .slots = slots};
  void *outputs[] = {results};
  const struct tc_run run = {.list = &list, .outputs = outputs, .codes = codes};
  (void)state;
  for (int turn = 0; turn < 5; turn++) {
    memset(results, 0, sizeof results);
    run_list(&run);
    for (int i = 0; i < ROWS * ROW; i++)
      if (results[i] != i) fail_msg("element %d: %d", i, results[i]);
  }
}

/* Each call of a kernel is a thread's share. */
static atomic_int shares;
static void count_shares(void *const *buffers, const int64_t *sizes, int64_t first, int64_t last) {
  atomic_fetch_add(&shares, 1);
  through_scratch(buffers, sizes, first, last);
}

/* A recorded run when the device has other threads than it was recorded with: as many work as work in a run
 * that is not recorded, and each has scratch of its own. */
static void test_recorded_threads(void **state) {
  enum { ROWS = 3000, ROW = 256 };
  static const int threads[] = {THREADS, 1, 2, THREADS, 3, 1, THREADS};
  static enum tc_buffer_role roles[] = {TC_ROLE_WRITE, TC_ROLE_SCRATCH, TC_ROLE_SCRATCH};
  tc_sym bytes[] = {TC_SYM_INVALID, number(ROW * 4), number(ROW * 4)};
  const struct tc_kernel_handle *const codes[] = {handle_of(count_shares)};
  struct tc_code code = {.n_buffers = 3, .roles = roles, .scratch_bytes = bytes};
  struct tc_slot slots[] = {{.kind = TC_SLOT_OUTPUT, .index = 0}};
  int slot[] = {0, -1, -1};
  struct tc_launch launch = launch_of(0, slot, number(ROWS), number(ROWS * ROW));
  const struct tc_launch_list list = {.n_launches = 1,
                                      .n_codes = 1,
                                      .n_slots = 1,
                                      .n_allocated = 1,
                                      .launches = &launch,
                                      .codes = &code,
                                      .slots = slots};
  void *outputs[] = {results};
  struct tc_run run = {.list = &list, .outputs = outputs, .codes = codes};
  struct tc_error err;
  (void)state;
  assert_int_equal(device->methods->record(device, &run, &run.recorded, &err), TC_OK);
  for (size_t turn = 0; turn < sizeof threads / sizeof *threads; turn++) {
    device->threads = threads[turn];
    memset(results, 0, sizeof results);
    atomic_store(&shares, 0);
    run_list(&run);
    assert_int_equal(atomic_load(&shares), threads[turn]);
    for (int i = 0; i < ROWS * ROW; i++)
      if (results[i] != i) fail_msg("on %d threads, element %d: %d", threads[turn], i, results[i]);
  }
  device->threads = THREADS;
  device->methods->forget(device, run.recorded);
}

static void test_status_and_rng(void **state) {
  const struct tc_kernel_handle *const codes[] = {handle_of(status_and_draw)};
  struct tc_code code = code_of(3);
  struct tc_slot slots[] = {
      {.kind = TC_SLOT_STATUS}, {.kind = TC_SLOT_RNG}, {.kind = TC_SLOT_OUTPUT, .index = 0}};
  int slot[] = {0, 1, 2};
  struct tc_launch launch = launch_of(0, slot, number(3), number(3));
  const struct tc_launch_list list = {
      .n_launches = 1, .n_codes = 1, .n_slots = 3, .launches = &launch, .codes = &code, .slots = slots};
  uint64_t out[4] = {0};
  int64_t status = 0;
  void *outputs[] = {out};
  const struct tc_run run = {
      .list = &list, .outputs = outputs, .codes = codes, .status = &status, .rng = {40, 2}};
  (void)state;
  run_list(&run);
  assert_int_equal(status, 1);
  assert_true(out[0] == 42 && out[1] == 42 && out[2] == 42 && out[3] == 0);
}

/* --- matrix products --- */

enum { M = 5, N = 6, K = 7, BATCH = 3, ROOM = 4096 };
static float a[ROOM], b[ROOM], c[ROOM];
struct strides {
  int64_t row, col, batch;
};

static void check_gemm(struct strides sa, struct strides sb, struct strides sc) {
  struct tc_slot slots[] = {{.kind = TC_SLOT_INPUT, .index = 0},
                            {.kind = TC_SLOT_INPUT, .index = 1},
                            {.kind = TC_SLOT_OUTPUT, .index = 0}};
  struct tc_launch launch = {
      .kind = TC_LAUNCH_GEMM,
      .label = "matmul",
      .gemm = {.dtype = TC_F32,
               .m = number(M),
               .n = number(N),
               .k = number(K),
               .n_batch = 1,
               .batch = {number(BATCH)},
               .a = {0, number(1), number(sa.row), number(sa.col), {number(sa.batch)}},
               .b = {1, number(2), number(sb.row), number(sb.col), {number(sb.batch)}},
               .c = {2, number(3), number(sc.row), number(sc.col), {number(sc.batch)}}}};
  const struct tc_launch_list list = {.n_launches = 1, .n_slots = 3, .launches = &launch, .slots = slots};
  void *inputs[] = {a, b}, *outputs[] = {c};
  const struct tc_run run = {.list = &list, .inputs = inputs, .outputs = outputs};
  for (int i = 0; i < ROOM; i++) a[i] = (float)(i * 37 % 17) - 8, b[i] = (float)(i * 23 % 13) - 6, c[i] = NAN;
  run_list(&run);
  int written = 0;
  for (int64_t batch = 0; batch < BATCH; batch++)
    for (int64_t i = 0; i < M; i++)
      for (int64_t j = 0; j < N; j++) {
        float want = 0;
        for (int64_t k = 0; k < K; k++)
          want += a[1 + batch * sa.batch + i * sa.row + k * sa.col] *
                  b[2 + batch * sb.batch + k * sb.row + j * sb.col];
        const float got = c[3 + batch * sc.batch + i * sc.row + j * sc.col];
        if (got != want)
          fail_msg("[%d, %d, %d]: %g, want %g", (int)batch, (int)i, (int)j, (double)got,
                   (double)want); /* small integers: exact */
      }
  for (int i = 0; i < ROOM; i++) written += !isnan(c[i]);
  assert_int_equal(written, BATCH * M * N); /* nothing between the rows */
}

static void test_gemm(void **state) {
  (void)state;
  check_gemm((struct strides){K, 1, M * K}, (struct strides){N, 1, K * N}, (struct strides){N, 1, M * N});
  check_gemm((struct strides){1, M, M * K}, (struct strides){1, K, K * N},
             (struct strides){N, 1, M * N}); /* both transposed */
  check_gemm((struct strides){K + 3, 1, 60}, (struct strides){N + 5, 1, 0},
             (struct strides){N + 2, 1, 100}); /* gaps, one B for all */
  check_gemm((struct strides){K, 1, M * K}, (struct strides){N, 1, 0},
             (struct strides){N, 1, M * N}); /* batches are rows */
  check_gemm((struct strides){2, 11, 99}, (struct strides){3, 40, 200},
             (struct strides){N, 1, M * N}); /* strides of no library */
  check_gemm((struct strides){0, 1, 9}, (struct strides){N, 1, K * N},
             (struct strides){N, 1, M * N}); /* one row for all */
  check_gemm((struct strides){BATCH * K, 1, K}, (struct strides){BATCH * N, 1, N},
             (struct strides){BATCH * N, 1, N}); /* heads side by side */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_items),   cmocka_unit_test(test_chain),
      cmocka_unit_test(test_scratch), cmocka_unit_test(test_status_and_rng),
      cmocka_unit_test(test_gemm),    cmocka_unit_test(test_recorded_threads),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
