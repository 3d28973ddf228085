/* Choosing cases by their artifacts. Invariant: a case is left out only where both artifacts are known and
 * equal. */
#include "harness/compare/selection.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "harness/base/folder.h"
#include "harness/base/index.h"
#include "harness/base/text.h"
#include "harness/run/role.h"
#include "harness/run/states.h"
#include "harness/verdict/stored.h"
#include "results/document.h"

static const char changed_word[] = "changed", new_word[] = "new", sample_word[] = "sample";

tc_status tb_selection_open(struct tb_run *run, struct tb_selection *out, struct tc_error *err) {
  *out = (struct tb_selection){.since = run->spec.options.changed_since};
  if (!*out->since) return TC_OK;
  out->earlier = tb_stored_load_result(run->arena, out->since, err);
  return out->earlier ? TC_OK : err->status;
}

void tb_selection_close(struct tb_selection *selection) { cJSON_Delete(selection->earlier); }

/* --- what the earlier result has --- */

struct earlier {
  struct tb_index ids;
  TC_VEC(const char *) artifacts; /* NULL: not known */
};

static bool add_earlier(struct tc_arena *arena, struct earlier *e, const cJSON *one, const char *artifact) {
  int number;
  if (!tb_index_add(&e->ids, tb_doc_text(one, "id", "?"), &number)) return false;
  return number < (int)e->artifacts.len || tc_vec_push(tc_arena_alloc(arena), &e->artifacts, artifact);
}

/* What it left out itself it had compiled, so that artifact is known too. */
static bool list_earlier(struct tc_arena *arena, const cJSON *document, struct earlier *e) {
  const cJSON *one;
  *e = (struct earlier){.ids = {.arena = arena}};
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) {
    const bool ok = !strcmp(tb_doc_text(one, "outcome", ""), "ok");
    if (!add_earlier(arena, e, one, ok ? tb_doc_text(one, "graph.artifact", NULL) : NULL)) return false;
  }
  cJSON_ArrayForEach(one, tb_doc_at(document, "left_out"))
    if (!add_earlier(arena, e, one, tb_doc_text(one, "artifact", NULL))) return false;
  return true;
}

/* --- compiling --- */

/* *artifact: NULL where it cannot be told, as when the compile failed, or is a peer's: then the case is
 * timed, and its outcome recorded. */
static tc_status compile(struct tb_run *run, size_t index, const char **artifact, struct tc_error *err) {
  const struct tb_case *kase = &run->plan.cases.data[index];
  const char *cache_dir = tb_format(run->arena, "%s/select%zu", run->cache_root, index);
  struct tb_process process;
  struct tb_prepared prepared;
  struct tb_first first = {.stats = NULL};
  *artifact = NULL;
  if (!cache_dir) return tc_fail_memory(err, "changed-since");
  if (kase->peer) return TC_OK; /* it has no artifact of ours: a compile would be for nothing */
  tb_progress_show(&run->progress, tb_case_label(run->arena, kase), "artifact");
  tc_status status = tb_role_start(run, kase, TB_ROLE_COMPILED, cache_dir, &process, &prepared, err);
  if (!status) status = tb_first_call(&process, false, tb_run_timeout(run, kase), &first, err);
  const char *text = status ? "" : tb_doc_text(first.stats, "artifact", "");
  if (*text) {
    *artifact = tb_format(run->arena, "%s", text);
    if (!*artifact) status = tc_fail_memory(err, "changed-since");
  }
  cJSON_Delete(first.stats);
  tb_process_stop(&process);
  tb_folder_remove(cache_dir);
  return status == TC_INTERRUPTED || status == TC_NOMEM ? status : TC_OK;
}

/* Sets `selection` of each case, NULL for those that did not change; artifacts[i] is that of case i. */
static tc_status compare_all(struct tb_run *run, struct tb_selection *s, const char **artifacts,
                             struct tc_error *err) {
  struct earlier earlier;
  if (!list_earlier(run->arena, s->earlier, &earlier)) return tc_fail_memory(err, "changed-since");
  for (size_t i = 0; i < run->plan.cases.len; i++) {
    struct tb_case *kase = &run->plan.cases.data[i];
    const int number = tb_index_find(&earlier.ids, kase->id);
    if (tb_interrupt_poll(&run->interrupt))
      return tc_fail(err, TC_INTERRUPTED, "changed-since", "interrupted");
    const tc_status status = compile(run, i, &artifacts[i], err);
    if (status) return status;
    const char *before = number < 0 ? NULL : earlier.artifacts.data[number];
    const bool equal = before && artifacts[i] && !strcmp(before, artifacts[i]);
    kase->selection = number < 0 ? new_word : equal ? NULL : changed_word;
    s->fresh += number < 0;
    s->changed += number >= 0 && !equal;
    run->progress.done++;
  }
  return TC_OK;
}

/* --- drawing --- */

uint64_t tb_selection_seed(uint64_t seed, const char *started) {
  return tc_hash_bytes(seed, started, strlen(started));
}

void tb_selection_draw(uint64_t seed, int n, int count, int *scratch, bool *out) {
  struct tb_random random = {seed};
  for (int i = 0; i < n; i++) {
    scratch[i] = i;
    out[i] = false;
  }
  tb_random_shuffle(&random, scratch, n);
  for (int i = 0; i < count && i < n; i++) out[scratch[i]] = true;
}

static tc_status draw_sample(struct tb_run *run, struct tb_selection *s, struct tc_error *err) {
  const size_t cases = run->plan.cases.len;
  const int rest = (int)cases - s->changed - s->fresh;
  int *scratch = tc_arena_bytes(run->arena, sizeof *scratch * (cases + 1)), next = 0;
  bool *drawn = tc_arena_bytes(run->arena, sizeof *drawn * (cases + 1));
  if (!scratch || !drawn) return tc_fail_memory(err, "changed-since");
  s->sampled = rest ? (int)fmax(1, ceil(run->spec.options.share * rest)) : 0;
  tb_selection_draw(
      tb_selection_seed((uint64_t)run->spec.options.seed, tb_doc_text(s->earlier, "started", "")), rest,
      s->sampled, scratch, drawn);
  for (size_t i = 0; i < cases; i++)
    if (!run->plan.cases.data[i].selection && drawn[next++]) run->plan.cases.data[i].selection = sample_word;
  return TC_OK;
}

/* --- the plan without the others --- */

static tc_status keep_selected(struct tb_run *run, struct tb_selection *s, const char *const *artifacts,
                               struct tc_error *err) {
  const struct tc_alloc *alloc = tc_arena_alloc(run->arena);
  struct tb_plan kept = {.n_groups = 0};
  int *groups = tc_arena_bytes(run->arena, sizeof *groups * (size_t)(run->plan.n_groups + 1));
  if (!groups) return tc_fail_memory(err, "changed-since");
  for (int i = 0; i < run->plan.n_groups; i++) groups[i] = -1;
  for (size_t i = 0; i < run->plan.cases.len; i++) {
    struct tb_case kase = run->plan.cases.data[i];
    const struct tb_left_out out = {kase.id, artifacts[i]};
    bool good;
    if (kase.selection) {
      if (groups[kase.group] < 0) groups[kase.group] = kept.n_groups++;
      kase.group = groups[kase.group];
      good = tc_vec_push(alloc, &kept.cases, kase);
    } else {
      good = tc_vec_push(alloc, &s->left_out, out);
    }
    if (!good) return tc_fail_memory(err, "changed-since");
  }
  run->plan = kept;
  return TC_OK;
}

tc_status tb_selection_apply(struct tb_run *run, struct tb_selection *s, struct tc_error *err) {
  if (!s->earlier) return TC_OK;
  const char **artifacts = tc_arena_bytes(run->arena, sizeof *artifacts * (run->plan.cases.len + 1));
  if (!artifacts) return tc_fail_memory(err, "changed-since");
  tb_progress_begin(&run->progress, (int)run->plan.cases.len);
  tc_status status = compare_all(run, s, artifacts, err);
  tb_progress_end(&run->progress);
  if (!status) status = draw_sample(run, s, err);
  if (!status) status = keep_selected(run, s, artifacts, err);
  if (!status) {
    const size_t rest = (size_t)s->sampled + s->left_out.len;
    fprintf(stderr, "changed since %s: %d case%s; new: %d; a sample of the %zu unchanged: %d; left out: %zu",
            s->since, s->changed, tb_plural(s->changed), s->fresh, rest, s->sampled, s->left_out.len);
    if (s->left_out.len)
      fprintf(stderr, " (drawn by seed=%lld and its start, %s)", (long long)run->spec.options.seed,
              tb_doc_text(s->earlier, "started", "not known"));
    fputc('\n', stderr);
  }
  return status;
}

void tb_selection_record(const struct tb_selection *s, struct tb_result *result) {
  if (!s->earlier) return;
  result->changed_since = s->since;
  result->left_out.data = s->left_out.data; /* of the same arena */
  result->left_out.len = s->left_out.len;
}
