/* Queues of the CPU: each call does its work before it returns, so that an event is a time and a wait is
 * nothing. */
#include <string.h>

#include "base/clock.h"
#include "device/cpu/launches.h"

struct tc_queue {
  const struct tc_alloc *alloc;
};
struct tc_event {
  const struct tc_alloc *alloc;
  double ns; /* when it happened */
};

tc_status tc_cpu_queue_new(struct tc_device *device, struct tc_queue **out, struct tc_error *err) {
  const struct tc_alloc *alloc = tc_cpu_of(device)->alloc;
  *out = TC_NEW(alloc, struct tc_queue);
  if (!*out) return tc_fail(err, TC_NOMEM, "cpu", "no memory for a queue");
  (*out)->alloc = alloc;
  return TC_OK;
}

void tc_cpu_queue_free(struct tc_device *device, struct tc_queue *queue) {
  (void)device;
  TC_FREE(queue->alloc, queue);
}

tc_status tc_cpu_event_new(struct tc_device *device, struct tc_event **out, struct tc_error *err) {
  const struct tc_alloc *alloc = tc_cpu_of(device)->alloc;
  *out = TC_NEW(alloc, struct tc_event);
  if (!*out) return tc_fail(err, TC_NOMEM, "cpu", "no memory for an event");
  (*out)->alloc = alloc;
  return TC_OK;
}

void tc_cpu_event_free(struct tc_device *device, struct tc_event *event) {
  (void)device;
  TC_FREE(event->alloc, event);
}

tc_status tc_cpu_event_record(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                              struct tc_error *err) {
  (void)device, (void)queue, (void)err;
  event->ns = tc_now_ns();
  return TC_OK;
}

tc_status tc_cpu_event_wait(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                            struct tc_error *err) {
  (void)device, (void)event, (void)queue, (void)err;
  return TC_OK;
}

tc_status tc_cpu_event_synchronize(struct tc_device *device, struct tc_event *event, struct tc_error *err) {
  (void)device, (void)event, (void)err;
  return TC_OK;
}

tc_status tc_cpu_event_elapsed(struct tc_device *device, struct tc_event *from, struct tc_event *to,
                               double *ns, struct tc_error *err) {
  (void)device, (void)err;
  *ns = to->ns - from->ns;
  return TC_OK;
}

tc_status tc_cpu_copy_rows(struct tc_device *device, struct tc_queue *queue, const struct tc_copy *copy,
                           struct tc_error *err) {
  (void)device, (void)queue, (void)err;
  for (size_t i = 0; i < copy->rows && copy->row_bytes; i++)
    memcpy((char *)copy->to + i * copy->to_pitch, (const char *)copy->from + i * copy->from_pitch,
           copy->row_bytes);
  return TC_OK;
}

tc_status tc_cpu_fill(struct tc_device *device, struct tc_queue *queue, void *to, int byte, size_t bytes,
                      struct tc_error *err) {
  (void)device, (void)queue, (void)err;
  if (bytes) memset(to, byte, bytes);
  return TC_OK;
}
