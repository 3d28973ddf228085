/* What a run needs before it measures and says when it is done. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/build.h"
#include "harness/base/folder.h"
#include "harness/run/environment.h"
#include "harness/run/run.h"
#include "tcompile.h"

tc_status tb_run_choose_out(struct tb_run *run, const char *tag, struct tc_error *err) {
  static const char folder[] = "results";
  run->save = (struct tb_save){.path = run->spec.options.out, .asked = *run->spec.options.out};
  if (run->save.asked) return tb_folder_writable(run->arena, run->save.path, err);
  const char *names = "";
  for (int i = 0; i < run->spec.n_suites && names; i++)
    names = tb_format(run->arena, "%s%s%s", names, i ? "+" : "", run->suites[i].name);
  const char *time = tb_time_text(run->arena, true);
  run->save.path = names && time ? tb_format(run->arena, "%s/%s_%s%s.json", folder, time, tag, names) : NULL;
  if (!run->save.path) return tc_fail_memory(err, "harness");
  const tc_status status = tb_folder_make(folder, err);
  return status ? status : tb_folder_writable(run->arena, run->save.path, err);
}

/* The folder of this run's caches: under cache_dir where it is given, else under $TMPDIR or /tmp. */
tc_status tb_run_make_cache(struct tb_run *run, struct tc_error *err) {
  const char *parent = run->config.cache_dir;
  for (size_t i = 0; i < run->spec.switches.len; i++)
    if (!strcmp(run->spec.switches.data[i].name, "cache_dir")) parent = run->spec.switches.data[i].values[0];
  if (*parent && mkdir(parent, 0777) && errno != EEXIST)
    return tc_fail(err, TC_ARG, "harness", "cache_dir=%s cannot be made: %s", parent, strerror(errno));
  if (*parent && access(parent, R_OK | W_OK | X_OK))
    return tc_fail(err, TC_ARG, "harness", "cache_dir=%s cannot be used: %s", parent, strerror(errno));
  const char *temporary = getenv("TMPDIR");
  if (!*parent) parent = temporary && *temporary ? temporary : "/tmp";
  run->cache_root = tb_folder_private(run->arena, parent, err);
  if (run->command) tb_transport_command_keep(run->command, run->cache_root);
  return run->cache_root ? TC_OK : err->status;
}

tc_status tb_run_begin_result(struct tb_run *run, const char *verb, int argc, char *const *argv,
                              struct tc_error *err) {
  struct tb_result *r = &run->result;
  const struct tc_alloc *alloc = tc_arena_alloc(run->arena);
  *r = (struct tb_result){.arena = run->arena,
                          .version = PACKAGE_VERSION,
                          .commit = TB_COMMIT,
                          .commit_whole = *TB_COMMIT_WHOLE ? TB_COMMIT_WHOLE : NULL,
                          .build = TB_COMPILER,
                          .artifact_abi = TC_ARTIFACT_ABI};
  r->seed = (double)run->spec.options.seed;
  r->planned = (int)run->plan.cases.len;
  r->started = tb_time_text(run->arena, false);
  bool good = r->started && tc_vec_push(alloc, &r->argv, "tbench") && tc_vec_push(alloc, &r->argv, verb);
  for (int i = 0; good && i < argc; i++) good = tc_vec_push(alloc, &r->argv, (const char *)argv[i]);
  for (size_t i = 0; good && i < run->plan.cases.len; i++)
    good = tc_vec_push(alloc, &r->cases, tb_case_result_new(&run->plan.cases.data[i]));
  run->tracks = tc_new_zeroed(alloc, run->plan.cases.len + 1, sizeof *run->tracks);
  return good && run->tracks ? TC_OK : tc_fail_memory(err, "harness");
}

size_t tb_run_end_result(struct tb_run *run) {
  struct tb_result *result = &run->result;
  result->interrupted = tb_interrupt_poll(&run->interrupt) > 0;
  result->finished = tb_time_text(run->arena, false);
  size_t known = 0;
  for (size_t i = 0; i < result->cases.len; i++) {
    struct tb_case_result *r = &result->cases.data[i];
    if (tb_case_known(r)) {
      known++;
      continue;
    }
    r->outcome = TB_OUTCOME_ERROR;
    r->interrupted = result->interrupted;
    r->error =
        result->interrupted ? "interrupted before it was measured" : "no round of blocks was completed";
  }
  return known;
}
