/* The storage allocator: alignment, reuse of warm blocks, counters, threads, and memory that runs out. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"

/* An allocator that fails from its n-th allocation on, and counts what is out. */
struct meter {
  struct tc_alloc alloc;
  long left, live;
};

static void *meter_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct meter *m = self;
  if (new_bytes == 0) {
    m->live -= (long)old_bytes;
    free(block);
    return NULL;
  }
  if (m->left-- <= 0) return NULL;
  m->live += (long)new_bytes - (long)old_bytes;
  return realloc(block, new_bytes);
}

static struct meter meter_of(struct meter *m, long left) {
  *m = (struct meter){{meter_resize, m}, left, 0};
  return *m;
}

static struct tc_device *open_device(const struct tc_alloc *alloc) {
  struct tc_device *device = NULL;
  struct tc_error err;
  assert_int_equal(tc_device_cpu_open(alloc, "auto", 1, &device, &err), TC_OK);
  return device;
}

static void test_sizes(void **state) {
  (void)state;
  struct tc_device *device = open_device(tc_alloc_system());
  for (size_t bytes = 0; bytes < (size_t)20 << 20; bytes += 1 + bytes / 3) {
    struct tc_storage *s = device->methods->alloc(device, bytes);
    assert_non_null(s);
    assert_int_equal((uintptr_t)s->data % TC_STORAGE_ALIGN, 0);
    assert_int_equal(s->bytes, bytes);
    assert_int_equal(device->bytes_live, bytes);
    memset(s->data, 1, bytes);
    tc_storage_release(s);
  }
  assert_int_equal(device->bytes_live, 0);
  device->methods->close(device);
}

static void test_reuse(void **state) {
  (void)state;
  struct tc_device *device = open_device(tc_alloc_system());
  struct tc_storage *a = device->methods->alloc(device, 1000), *b = device->methods->alloc(device, 1000);
  void *warm = b->data;
  const uint64_t id = b->id;
  assert_ptr_not_equal(a->data, b->data);
  tc_storage_release(a);
  tc_storage_release(b);
  struct tc_storage *c = device->methods->alloc(device, 990);
  assert_ptr_equal(c->data, warm); /* the last one freed comes first */
  assert_int_not_equal(c->id, id);
  assert_int_equal(c->version, 0);
  tc_storage_release(c);
  assert_int_equal(device->bytes_peak, 2000);
  device->methods->close(device);
}

static void test_trim(void **state) {
  struct meter m;
  (void)state;
  meter_of(&m, 1000);
  struct tc_device *device = open_device(&m.alloc);
  const long open = m.live;
  struct tc_storage *all[20];
  for (int i = 0; i < 20; i++) all[i] = device->methods->alloc(device, (size_t)1 << i);
  for (int i = 0; i < 20; i++) tc_storage_release(all[i]);
  assert_true(m.live > open);
  device->methods->trim(device);
  assert_int_equal(m.live, open);
  device->methods->close(device);
  assert_int_equal(m.live, 0);
}

/* When memory is out, what the free lists hold is given back before giving up; and a failed allocation
 * changes nothing. */
static void test_out_of_memory(void **state) {
  struct meter m;
  struct tc_tensor t;
  struct tc_error err;
  (void)state;
  meter_of(&m, 1000);
  struct tc_device *device = open_device(&m.alloc);
  m.left = 0;
  assert_null(device->methods->alloc(device, 100));
  assert_int_equal(tc_tensor_new(device, TC_F32, 1, (int64_t[]){100}, &t, &err), TC_NOMEM);
  assert_int_equal(device->bytes_live, 0);
  assert_null(device->methods->alloc(device, SIZE_MAX / 2));
  m.left = 1;
  struct tc_storage *s = device->methods->alloc(device, 100);
  assert_non_null(s);
  tc_storage_release(s);
  device->methods->close(device);
  assert_int_equal(m.live, 0);
}

static void test_open_without_memory(void **state) {
  struct meter m;
  struct tc_device *device;
  struct tc_error err;
  (void)state;
  meter_of(&m, 0);
  assert_int_equal(tc_device_cpu_open(&m.alloc, "auto", 1, &device, &err), TC_NOMEM);
  assert_int_equal(m.live, 0);
}

enum { THREADS = 4, TURNS = 20000, HELD = 16 };

static void *churn(void *argument) {
  struct tc_device *device = argument;
  struct tc_storage *held[HELD] = {NULL};
  uint64_t r = (uintptr_t)&held | 1;
  for (int i = 0; i < TURNS; i++) {
    r = r * 6364136223846793005u + 1442695040888963407u;
    const int at = (int)(r >> 33) % HELD;
    if (held[at]) {
      const unsigned char *data = held[at]->data;
      if (data[0] != at || data[held[at]->bytes - 1] != at) return (void *)1; /* somebody else wrote here */
      tc_storage_release(held[at]);
    }
    held[at] = device->methods->alloc(device, 1 + (r >> 40) % 3000);
    memset(held[at]->data, at, held[at]->bytes);
  }
  for (int i = 0; i < HELD; i++)
    if (held[i]) tc_storage_release(held[i]);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  struct tc_device *device = open_device(tc_alloc_system());
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, churn, device), 0);
  for (int i = 0; i < THREADS; i++) {
    void *bad;
    assert_int_equal(pthread_join(threads[i], &bad), 0);
    assert_null(bad);
  }
  assert_int_equal(device->bytes_live, 0);
  device->methods->close(device);
}

/* Names of instruction sets, and what the target says. */
static void test_target(void **state) {
  struct tc_device *device;
  struct tc_error err;
  (void)state;
  assert_int_equal(tc_device_cpu_open(tc_alloc_system(), "sse9", 0, &device, &err), TC_ARG);
  assert_non_null(strstr(err.message, "sse9"));
  assert_int_equal(tc_device_cpu_open(tc_alloc_system(), "avx2", 3, &device, &err), TC_OK);
  assert_string_equal(device->target.name, "avx2");
  assert_string_equal(device->target.llvm_cpu, "x86-64-v3");
  assert_int_equal(device->target.vector_bytes, 32);
  assert_int_equal(device->threads, 3);
  assert_true(device->target.l1_bytes > 0 && device->target.l2_bytes >= device->target.l1_bytes &&
              device->target.l3_bytes > 0);
  device->methods->close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_reuse),
      cmocka_unit_test(test_trim),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_open_without_memory),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_target),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
