/* Saving along the way. Invariants:
 * 1. The file holds what was known after some session, or the finished result; never half of one, and never an older state than before.
 * 2. A name that was made from the time belongs to one run alone. */
#include "harness/save.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "harness/args.h"
#include "harness/clock.h"
#include "harness/record.h"
#include "harness/run.h"

enum { FILE_MODE = 0666, PAUSE = 20 /* times what the newest write took */ };
static const char suffix[] = ".json";

/* A name that was made from the time may be another run's by now: it is taken by an empty file, or another one is. */
static const char *take_name(struct tc_arena *arena, const char *path) {
  const int length = (int)(strlen(path) - strlen(suffix));
  const char *name = path;
  for (int i = 2; name; i++) {
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (fd >= 0) close(fd);
    if (fd >= 0 || errno != EEXIST) return name;
    name = tb_format(arena, "%.*s-%d%s", length, path, i, suffix);
  }
  return path;
}

static void take_place(struct tb_run *run) {
  struct tb_save *s = &run->save;
  if (!s->asked && !s->there) s->path = take_name(run->arena, s->path);
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
  if (status) leave_place(s);
  else s->there = true;
  if (status && !s->told) tb_progress_say(&run->progress, "tbench run: nothing is saved along the way: %s", err.message);
  s->told |= status != TC_OK;
  cJSON_Delete(document);
  s->ended_ns = tb_now_ns();
  s->cost_ns = s->ended_ns - start;
}

tc_status tb_save_finished(struct tb_run *run, const cJSON *document, const char **written, struct tc_error *err) {
  struct tb_save *s = &run->save;
  take_place(run);
  const tc_status status = tb_record_save(run->arena, document, s->path, written, err);
  if (status) leave_place(s);
  else s->there = true;
  return status;
}
