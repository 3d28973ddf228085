/* Reading a history. Invariant: what is passed over is told with its reason. */
#include "harness/verdict/history.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/args.h"
#include "harness/verdict/history_segments.h"
#include "harness/verdict/policy.h"
#include "harness/verdict/stored.h"
#include "results/document.h"
#include "results/stats/history_value.h"

/* What the newest earlier result has of one suite of head's. */
struct last_of_suite {
  const char *suite;
  cJSON *ids;
};

struct reader {
  struct tb_history *history;
  const struct tb_history_source *source;
  const cJSON *head;
  TC_VEC(struct last_of_suite) last;
  struct tb_index head_ids; /* numbered as head_cases; what head left out comes behind them */
  TC_VEC(const cJSON *) head_cases;
  struct tc_error *err;
};

/* --- values --- */

double tb_history_value(const cJSON *one_case, bool *calibrated) {
  const cJSON *ratios = tb_doc_at(one_case, "probe.log_ratios"), *item;
  const int count = cJSON_GetArraySize(ratios);
  double *values = malloc(sizeof *values * ((size_t)count + 1));
  size_t n = 0;
  *calibrated = count > 0;
  cJSON_ArrayForEach(item, ratios)
    if (values && cJSON_IsNumber(item)) values[n++] = item->valuedouble;
  const double value =
      tb_history_value_of(*calibrated, values, n, tb_doc_number(one_case, "steady.median_ns"));
  free(values);
  return value;
}

/* --- which machine --- */

static bool same_machine(const cJSON *a, const cJSON *b) {
  return !strcmp(tb_doc_text(a, "host", "?"), tb_doc_text(b, "host", "?")) &&
         !strcmp(tb_doc_text(a, "cpu.model", "?"), tb_doc_text(b, "cpu.model", "?"));
}

/* --- marks --- */

/* Those of the folders, and those that were named. */
static tc_status read_marks(struct reader *r) {
  struct tc_arena *arena = r->history->arena;
  tc_status status = TC_OK;
  for (size_t i = 0; i < r->source->n_places && !status; i++) {
    struct stat info;
    if (stat(r->source->places[i], &info) || !S_ISDIR(info.st_mode)) continue;
    const char *path = tb_format(arena, "%s/marks.txt", r->source->places[i]);
    status = path ? tb_marks_read(arena, path, false, &r->history->marks, r->err)
                  : tc_fail_memory(r->err, "history");
  }
  if (!status && r->source->marks)
    status = tb_marks_read(arena, r->source->marks, true, &r->history->marks, r->err);
  return status;
}

/* --- points --- */

static struct tb_history_series *series_of(struct reader *r, const char *id) {
  struct tb_history *h = r->history;
  int number;
  const char *kept = tb_format(h->arena, "%s", id);
  if (!kept || !tb_index_add(&h->ids, kept, &number)) return NULL;
  const struct tb_history_series fresh = {.id = kept};
  if (number == (int)h->series.len && !tc_vec_push(tc_arena_alloc(h->arena), &h->series, fresh)) return NULL;
  return &h->series.data[number];
}

static bool list_head(struct reader *r) {
  const cJSON *one;
  int number;
  cJSON_ArrayForEach(one, tb_doc_at(r->head, "cases")) {
    if (!tb_index_add(&r->head_ids, tb_doc_text(one, "id", "?"), &number)) return false;
    if (number == (int)r->head_cases.len &&
        !tc_vec_push(tc_arena_alloc(r->history->arena), &r->head_cases, one))
      return false;
  }
  cJSON_ArrayForEach(one, tb_doc_at(r->head, "left_out"))
    if (!tb_index_add(&r->head_ids, tb_doc_text(one, "id", "?"), &number)) return false;
  return true;
}

/* Whether two values of the history are of one kind. */
static bool comparable(const cJSON *a, const cJSON *b) {
  bool a_calibrated, b_calibrated;
  (void)tb_history_value(a, &a_calibrated);
  (void)tb_history_value(b, &b_calibrated);
  return a_calibrated == b_calibrated &&
         (!a_calibrated || tb_doc_number(a, "probe.version") == tb_doc_number(b, "probe.version"));
}

/* Whether a mark of a case lies behind `from` (NULL: anywhere before) and not behind `to`. */
static bool is_marked(const struct reader *r, const char *id, const char *from, const char *to) {
  for (size_t i = 0; i < r->history->marks.len; i++) {
    const struct tb_mark *mark = &r->history->marks.data[i];
    if (tb_glob(mark->pattern, id) && (!from || strcmp(mark->from, from) > 0) &&
        (!to || strcmp(mark->from, to) <= 0))
      return true;
  }
  return false;
}

/* Of the newest case of a series. */
static bool keep_exact(const struct reader *r, struct tb_history_series *series, const cJSON *document) {
  const char *started = tb_format(r->history->arena, "%s", tb_doc_text(document, "started", "")),
             *before = series->newest_started;
  series->newest_started = started;
  if (!started || !tb_exact_history_add(r->history->arena, &series->past, series->newest, started,
                                        is_marked(r, series->id, before, started)))
    return false;
  series->past.accepted = is_marked(r, series->id, started, tb_doc_text(r->head, "started", NULL));
  return true;
}

/* `compared`: the case of head, or what head left out. */
static tc_status take_point(struct reader *r, const cJSON *document, const cJSON *one_case,
                            const cJSON *compared, const char *file) {
  struct tc_arena *arena = r->history->arena;
  bool calibrated;
  const double value = tb_history_value(one_case, &calibrated);
  struct tb_history_series *series = series_of(r, tb_doc_text(one_case, "id", "?"));
  if (!series) return tc_fail_memory(r->err, "history");
  cJSON_Delete(series->newest);
  series->newest = cJSON_Duplicate(one_case, true);
  if (!series->newest || !keep_exact(r, series, document)) return tc_fail_memory(r->err, "history");
  if (!(value > 0) || !compared || !comparable(one_case, compared)) return TC_OK;
  const struct tb_point point = {value, tb_format(arena, "%s", tb_doc_text(document, "started", "")),
                                 tb_format(arena, "%s", tb_doc_text(document, "tbench.commit", "?")), file};
  if (!point.started || !point.commit || !tc_vec_push(tc_arena_alloc(arena), &series->points, point))
    return tc_fail_memory(r->err, "history");
  series->calibrated = calibrated;
  return TC_OK;
}

static tc_status take_case(struct reader *r, const cJSON *document, const cJSON *one_case, const char *file) {
  const char *id = tb_doc_text(one_case, "id", NULL);
  const int number = id ? tb_index_find(&r->head_ids, id) : -1;
  if (number < 0) return TC_OK;
  const cJSON *compared = number < (int)r->head_cases.len ? r->head_cases.data[number] : NULL;
  if (!same_machine(tb_case_environment(document, one_case), tb_case_environment(r->head, compared)))
    return TC_OK;
  tb_omitted_add(&r->history->omitted, one_case);
  if (!tb_case_right(one_case)) return TC_OK;
  return take_point(r, document, one_case, compared, file);
}

/* --- what vanished --- */

static const char *suite_of(const cJSON *one_case) { return tb_doc_text(one_case, "case.suite", NULL); }

static struct last_of_suite *last_of(struct reader *r, const char *suite) {
  for (size_t i = 0; suite && i < r->last.len; i++)
    if (!strcmp(r->last.data[i].suite, suite)) return &r->last.data[i];
  return NULL;
}

static tc_status list_suites(struct reader *r) {
  for (size_t i = 0; i < r->head_cases.len; i++) {
    const struct last_of_suite fresh = {.suite = suite_of(r->head_cases.data[i])};
    if (!fresh.suite || last_of(r, fresh.suite)) continue;
    if (!tc_vec_push(tc_arena_alloc(r->history->arena), &r->last, fresh))
      return tc_fail_memory(r->err, "history");
  }
  return TC_OK;
}

static bool keep_id(struct last_of_suite *last, const cJSON *one_case) {
  cJSON *kept = cJSON_CreateObject();
  if (!last->ids) last->ids = cJSON_CreateArray();
  if (!kept || !cJSON_AddItemToArray(last->ids, kept)) return cJSON_Delete(kept), false;
  return cJSON_AddStringToObject(kept, "id", tb_doc_text(one_case, "id", "?")) &&
         cJSON_AddStringToObject(kept, "outcome", tb_doc_text(one_case, "outcome", "?"));
}

/* Cases of head's machine, by suite; a newer document takes the place of an older one. */
static tc_status take_ids(struct reader *r, const cJSON *document) {
  const cJSON *one, *machine = tb_case_environment(r->head, r->head_cases.len ? r->head_cases.data[0] : NULL);
  for (size_t i = 0; i < r->last.len; i++) {
    struct last_of_suite *last = &r->last.data[i];
    struct last_of_suite newer = {.suite = last->suite};
    bool good = true;
    cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) {
      const char *suite = suite_of(one);
      if (suite && !strcmp(suite, last->suite) && same_machine(tb_case_environment(document, one), machine))
        good = good && keep_id(&newer, one);
    }
    if (newer.ids) {
      cJSON_Delete(last->ids);
      *last = newer;
    }
    if (!good) return tc_fail_memory(r->err, "history");
  }
  return TC_OK;
}

static tc_status find_vanished(struct reader *r) {
  r->history->vanished = cJSON_CreateArray();
  bool good = r->history->vanished != NULL;
  for (size_t i = 0; i < r->last.len; i++) {
    for (cJSON *one = r->last.data[i].ids ? r->last.data[i].ids->child : NULL, *next; one; one = next) {
      next = one->next;
      if (!good || tb_index_find(&r->head_ids, tb_doc_text(one, "id", "?")) >= 0) continue;
      good = cJSON_AddItemToArray(r->history->vanished, cJSON_DetachItemViaPointer(r->last.data[i].ids, one));
    }
  }
  return good ? TC_OK : tc_fail_memory(r->err, "history");
}

static tc_status pass_over(struct reader *r, const char *file, const char *why) {
  const char *text = tb_format(r->history->arena, "%s: %s", file, why);
  return text && tc_vec_push(tc_arena_alloc(r->history->arena), &r->history->passed_over, text)
             ? TC_OK
             : tc_fail_memory(r->err, "history");
}

/* identity: what copies of a result have in common and two results have not. */
struct stored {
  const char *path, *started, *identity;
};

static int by_time(const void *a, const void *b) {
  const struct stored *x = a, *y = b;
  const int order = strcmp(x->started, y->started), same = order ? order : strcmp(x->identity, y->identity);
  return same ? same : strcmp(x->path, y->path);
}

/* Its machine is head's. Two that began in the same second may be of two suites. */
static const char *identity_of(struct tc_arena *arena, const cJSON *document) {
  const cJSON *cases = tb_doc_at(document, "cases"), *first = cJSON_GetArrayItem(cases, 0);
  return tb_format(arena, "%s %.17g %s %d", tb_doc_text(document, "finished", ""),
                   tb_doc_number(document, "seed"), tb_doc_text(first, "id", ""), cJSON_GetArraySize(cases));
}

/* --- files --- */

/* Why a document is no part of the history; NULL: it is. */
static const char *unfit(const struct reader *r, const cJSON *document) {
  if (!tb_history_finished(document)) return "it was not finished";
  const char *head = tb_doc_text(r->head, "started", NULL), *started = tb_doc_text(document, "started", NULL);
  if (!started) return "it has no start time";
  if (!same_machine(tb_case_environment(document, cJSON_GetArrayItem(tb_doc_at(document, "cases"), 0)),
                    tb_case_environment(r->head, cJSON_GetArrayItem(tb_doc_at(r->head, "cases"), 0))))
    return "it is from another machine";
  return head && !r->source->with_head && strcmp(started, head) >= 0
             ? "it is not older than the result to judge"
             : NULL;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static tc_status drop_copies(struct reader *r, struct stored *all, size_t *count) {
  size_t kept = 0;
  tc_status status = TC_OK;
  for (size_t i = 0; i < *count && !status; i++) {
    const struct stored *last = kept ? &all[kept - 1] : NULL;
    const bool copy =
        last && !strcmp(last->started, all[i].started) && !strcmp(last->identity, all[i].identity);
    const char *why = copy ? tb_format(r->history->arena, "it is a copy of %s", base_name(last->path)) : NULL;
    if (!copy)
      all[kept++] = all[i];
    else
      status = why ? pass_over(r, base_name(all[i].path), why) : tc_fail_memory(r->err, "history");
  }
  *count = kept;
  return status;
}

/* Reads twice, so that only one document is in memory at a time: first the times, then the points in their
 * order. */
static tc_status list_files(struct reader *r, struct stored **out, size_t *count) {
  TC_VEC(struct stored) all = {0};
  struct tc_arena *arena = r->history->arena;
  tb_texts paths = {0};
  tc_status status = tb_history_paths(arena, r->source, &paths, r->err);
  for (size_t i = 0; !status && i < paths.len; i++) {
    struct tc_error why = {0};
    struct stored one = {.path = paths.data[i]};
    struct tc_arena *scratch = tc_arena_new(tc_alloc_system());
    cJSON *document = scratch ? tb_stored_load_result(scratch, one.path, &why) : NULL;
    const char *reason = document ? unfit(r, document) : why.message;
    if (!reason)
      one.started = tb_format(arena, "%s", tb_doc_text(document, "started", "")),
      one.identity = identity_of(arena, document);
    if (!scratch || (!reason && (!one.started || !one.identity)))
      status = tc_fail_memory(r->err, "history");
    else if (reason)
      status = pass_over(r, base_name(one.path), reason);
    else if (!tc_vec_push(tc_arena_alloc(arena), &all, one))
      status = tc_fail_memory(r->err, "history");
    cJSON_Delete(document);
    tc_arena_free(scratch);
  }
  if (all.len) qsort(all.data, all.len, sizeof *all.data, by_time);
  *out = all.data;
  *count = all.len;
  return status ? status : drop_copies(r, all.data, count);
}

static tc_status read_file(struct reader *r, const struct stored *file) {
  struct tc_arena *scratch = tc_arena_new(tc_alloc_system());
  cJSON *document = scratch ? tb_stored_load(scratch, file->path, r->err) : NULL;
  tc_status status = document  ? take_ids(r, document)
                     : scratch ? r->err->status
                               : tc_fail_memory(r->err, "history");
  const cJSON *one;
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases"))
    if (!status) status = take_case(r, document, one, file->path);
  cJSON_Delete(document);
  tc_arena_free(scratch);
  r->history->files += !status;
  return status;
}

/* --- all of it --- */

tc_status tb_history_load(struct tc_arena *arena, const char *folder, const cJSON *head,
                          struct tb_history *out, struct tc_error *err) {
  const struct tb_history_source source = {.places = &folder, .n_places = 1};
  return tb_history_read(arena, &source, head, out, err);
}

tc_status tb_history_read(struct tc_arena *arena, const struct tb_history_source *source, const cJSON *head,
                          struct tb_history *out, struct tc_error *err) {
  *out = (struct tb_history){.arena = arena, .ids = {.arena = arena}};
  struct reader r = {
      .history = out, .source = source, .head = head, .head_ids = {.arena = arena}, .err = err};
  struct stored *files = NULL;
  size_t count = 0;
  tc_status status = list_head(&r) ? list_suites(&r) : tc_fail_memory(r.err, "history");
  if (!status) status = read_marks(&r);
  if (!status) status = list_files(&r, &files, &count);
  for (size_t i = 0; i < count && !status; i++) status = read_file(&r, &files[i]);
  for (size_t i = 0; i < out->series.len && !status; i++)
    status = tb_history_segment(out, head, &out->series.data[i], err);
  if (!status) status = find_vanished(&r);
  for (size_t i = 0; i < r.last.len; i++) cJSON_Delete(r.last.data[i].ids);
  return status;
}

void tb_history_close(struct tb_history *history) {
  for (size_t i = 0; i < history->series.len; i++) cJSON_Delete(history->series.data[i].newest);
  cJSON_Delete(history->vanished);
}

const struct tb_history_series *tb_history_find(const struct tb_history *history, const char *id) {
  const int number = tb_index_find(&history->ids, id);
  return number < 0 ? NULL : &history->series.data[number];
}
