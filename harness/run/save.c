/* Saving along the way. Invariants:
 * 1. The file holds what was known after some session, or the finished result; never half of one, and never
 *    an older state than before.
 * 2. A name that was made from the time belongs to one run alone. */
#include "harness/run/save.h"

#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/run/record.h"
#include "harness/run/run.h"
#include "harness/run/summary.h"

enum { PAUSE = 20 /* times what the newest write took */ };

/* A name that was made from the time may be another run's by now: then another one is taken. */
static void take_place(struct tb_run *run) {
  struct tb_save *s = &run->save;
  if (!s->asked && !s->there) (void)tb_record_take(run->arena, &s->path);
}

/* The empty file of a name that nothing was written to. */
static void leave_place(const struct tb_save *s) {
  if (!s->asked && !s->there) unlink(s->path);
}

static bool anything_known(const struct tb_result *result) {
  for (size_t i = 0; i < result->cases.len; i++)
    if (tb_case_known(&result->cases.data[i])) return true;
  return false;
}

void tb_save_so_far(struct tb_run *run) {
  struct tb_save *s = &run->save;
  struct tc_error err = {0};
  const int64_t start = tb_now_ns();
  if ((s->cost_ns && start - s->ended_ns < PAUSE * s->cost_ns) || !anything_known(&run->result)) return;
  tb_summarise(run);
  cJSON *document = tb_record_json(&run->result);
  take_place(run);
  const tc_status status = tb_record_write(document, s->path, &err);
  if (status)
    leave_place(s);
  else
    s->there = true;
  if (status && !s->told)
    tb_progress_say(&run->progress, "tbench run: the unfinished result cannot be saved: %s", err.message);
  s->told |= status != TC_OK;
  cJSON_Delete(document);
  s->ended_ns = tb_now_ns();
  s->cost_ns = s->ended_ns - start;
}

tc_status tb_save_finished(struct tb_run *run, const cJSON *document, const char **written,
                           struct tc_error *err) {
  struct tb_save *s = &run->save;
  take_place(run);
  const tc_status status = tb_record_save(run->arena, document, s->path, written, err);
  if (status)
    leave_place(s);
  else
    s->there = true;
  return status;
}
