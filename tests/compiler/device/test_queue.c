/* Queues, events, copies and fills, as device.h has them: what holds on every device. Then what the shadow
 * device is for: two faults are planted, a host that follows an address and one that does not wait, and each
 * is seen. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"
#include "tensor/host.h"

enum { BYTES = 1 << 12, ROWS = 5, ROW_BYTES = 12, FROM_PITCH = 20, TO_PITCH = 16 };

static struct tc_device *device, *cpu;
static struct tc_error err;

#define OK(call) assert_int_equal((call), TC_OK)

static int open_cpu(void **state) {
  (void)state;
  return tc_device_cpu_open(tc_alloc_system(), "auto", 1, &device, &err) != TC_OK;
}
static int close_cpu(void **state) {
  (void)state;
  device->methods->close(device);
  return 0;
}
static int open_shadow(void **state) {
  (void)state;
  if (tc_device_cpu_open(tc_alloc_system(), "auto", 1, &cpu, &err)) return 1;
  return tc_device_shadow_open(tc_alloc_system(), cpu, &device, &err) != TC_OK;
}
static int close_shadow(void **state) {
  (void)state;
  assert_true(device->bytes_live == 0);
  device->methods->close(device);
  cpu->methods->close(cpu);
  return 0;
}

static struct tc_storage *storage_of(size_t bytes) {
  struct tc_storage *s = device->methods->alloc(device, bytes);
  assert_non_null(s);
  return s;
}

static void copy_plain(struct tc_queue *queue, enum tc_copy_kind kind, void *to, const void *from,
                       size_t bytes) {
  const struct tc_copy copy = {.kind = kind, .to = to, .from = from, .rows = 1, .row_bytes = bytes};
  OK(device->methods->copy(device, queue, &copy, &err));
}

/* To the device, within it, and back: in the order of the queue, whatever becomes of the source. */
static void test_copies(void **state) {
  unsigned char sent[BYTES], got[BYTES];
  struct tc_storage *a = storage_of(BYTES), *b = storage_of(BYTES);
  (void)state;
  for (int i = 0; i < BYTES; i++) sent[i] = (unsigned char)(i * 7);
  copy_plain(NULL, TC_COPY_TO_DEVICE, a->data, sent, BYTES);
  memset(sent, 0, sizeof sent);
  copy_plain(NULL, TC_COPY_WITHIN, b->data, a->data, BYTES);
  OK(device->methods->fill(device, NULL, a->data, 0x11, BYTES, &err));
  copy_plain(NULL, TC_COPY_TO_HOST, got, b->data, BYTES);
  OK(device->methods->synchronize(device, &err));
  for (int i = 0; i < BYTES; i++) assert_int_equal(got[i], (unsigned char)(i * 7));
  copy_plain(NULL, TC_COPY_TO_HOST, got, a->data, BYTES);
  OK(device->methods->synchronize(device, &err));
  for (int i = 0; i < BYTES; i++) assert_int_equal(got[i], 0x11);
  tc_storage_release(a);
  tc_storage_release(b);
}

/* Rows with gaps on both sides: the gaps stay. */
static void test_rows(void **state) {
  unsigned char from[ROWS * FROM_PITCH], to[ROWS * TO_PITCH];
  struct tc_storage *s = storage_of(sizeof to);
  (void)state;
  for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)(i + 1);
  OK(device->methods->fill(device, NULL, s->data, 0xEE, sizeof to, &err));
  const struct tc_copy copy = {.kind = TC_COPY_TO_DEVICE,
                               .to = s->data,
                               .from = from,
                               .rows = ROWS,
                               .row_bytes = ROW_BYTES,
                               .to_pitch = TO_PITCH,
                               .from_pitch = FROM_PITCH};
  OK(device->methods->copy(device, NULL, &copy, &err));
  copy_plain(NULL, TC_COPY_TO_HOST, to, s->data, sizeof to);
  OK(device->methods->synchronize(device, &err));
  for (int row = 0; row < ROWS; row++)
    for (int i = 0; i < TO_PITCH; i++)
      assert_int_equal(to[row * TO_PITCH + i],
                       i < ROW_BYTES ? (unsigned char)(row * FROM_PITCH + i + 1) : 0xEE);
  tc_storage_release(s);
}

/* A second queue reads what the first wrote once it has waited for the event. */
static void test_events(void **state) {
  unsigned char got[BYTES];
  struct tc_storage *s = storage_of(BYTES);
  struct tc_queue *queue;
  struct tc_event *written, *read;
  double ns = -1;
  (void)state;
  OK(device->methods->queue_new(device, &queue, &err));
  OK(device->methods->event_new(device, &written, &err));
  OK(device->methods->event_new(device, &read, &err));
  OK(device->methods->fill(device, NULL, s->data, 0x22, BYTES, &err));
  OK(device->methods->event_record(device, written, NULL, &err));
  OK(device->methods->event_wait(device, written, queue, &err));
  copy_plain(queue, TC_COPY_TO_HOST, got, s->data, BYTES);
  OK(device->methods->event_record(device, read, queue, &err));
  OK(device->methods->event_synchronize(device, read, &err));
  for (int i = 0; i < BYTES; i++) assert_int_equal(got[i], 0x22);
  OK(device->methods->event_elapsed(device, written, read, &ns, &err));
  assert_true(ns >= 0);
  device->methods->event_free(device, written);
  device->methods->event_free(device, read);
  device->methods->queue_free(device, queue);
  tc_storage_release(s);
}

/* --- planted faults --- */

static struct tc_tensor three_halves(void) {
  struct tc_tensor x;
  const int64_t sizes[] = {2};
  OK(tc_tensor_new(device, TC_F64, 1, sizes, &x, &err));
  tc_tensor_set_f64(&x, 0, 1.5);
  return x;
}

static void test_host_may_not_follow(void **state) {
  struct tc_tensor x = three_halves();
  int status;
  (void)state;
  assert_true(tc_tensor_get_f64(&x, 0) == 1.5);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    _exit(*(volatile double *)tc_tensor_data(&x) == 1.5); /* the fault */
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  tc_tensor_release(&x);
}

static tc_status do_not_wait(struct tc_device *which, struct tc_error *unused) {
  (void)which, (void)unused;
  return TC_OK;
}

static void test_host_must_wait(void **state) {
  struct tc_tensor x = three_halves();
  const struct tc_device_methods *methods = device->methods;
  struct tc_device_methods hasty = *methods;
  unsigned char got[sizeof(double)];
  (void)state;
  hasty.synchronize = do_not_wait; /* the fault */
  device->methods = &hasty;
  OK(tc_host_get(&x, got, sizeof got, &err));
  device->methods = methods;
  for (size_t i = 0; i < sizeof got; i++) assert_int_equal(got[i], 0xCB);
  OK(device->methods->synchronize(device, &err));
  double value;
  memcpy(&value, got, sizeof value);
  assert_true(value == 1.5);
  tc_tensor_release(&x);
}

/* Fresh memory, and memory that was freed and taken again, holds nothing of before. */
static void test_memory_is_poisoned(void **state) {
  (void)state;
  for (int turn = 0; turn < 2; turn++) {
    struct tc_storage *s = storage_of(BYTES);
    unsigned char got[BYTES];
    copy_plain(NULL, TC_COPY_TO_HOST, got, s->data, BYTES);
    OK(device->methods->fill(device, NULL, s->data, 0, BYTES, &err));
    OK(device->methods->synchronize(device, &err));
    for (int i = 0; i < BYTES; i++) assert_int_equal(got[i], 0xCB);
    tc_storage_release(s);
    OK(device->methods->synchronize(device, &err));
  }
}

int main(void) {
  const struct CMUnitTest on_cpu[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_rows),
                                      cmocka_unit_test(test_events)};
  const struct CMUnitTest shadow[] = {
      cmocka_unit_test(test_copies),         cmocka_unit_test(test_rows),
      cmocka_unit_test(test_events),         cmocka_unit_test(test_host_may_not_follow),
      cmocka_unit_test(test_host_must_wait), cmocka_unit_test(test_memory_is_poisoned)};
  return cmocka_run_group_tests_name("cpu", on_cpu, open_cpu, close_cpu) +
         cmocka_run_group_tests_name("shadow", shadow, open_shadow, close_shadow);
}
