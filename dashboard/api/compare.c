/* GET /api/v1/compare. */
#include "dashboard/api/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/analysis/machine.h"
#include "dashboard/server/answer.h"
#include "harness/base/index.h"
#include "harness/verdict/verdicts.h"
#include "results/document.h"

enum { DOCUMENTS_MOST = 4096, BYTES_MOST = 48 << 20 /* of the documents of a side together */ };

struct side {
  const char *commit, *machine;
  cJSON *whole;
  int documents, environments;
};

/* What no verdict rests on, and most of a document is: samples. */
static void drop_samples(cJSON *item) {
  static const char *const names[] = {"samples", "samples_ns", "topology_xml"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    cJSON_DeleteItemFromObjectCaseSensitive(item, names[i]);
  for (cJSON *child = item->child; child; child = child->next)
    if (child->child) drop_samples(child);
}

/* Cases that the newer documents do not have go over to the whole; environments are numbered anew, from
 * `first`. */
static bool join(cJSON *whole, int first, cJSON *older, struct tb_index *ids) {
  cJSON *environments = cJSON_GetObjectItemCaseSensitive(whole, "environments"),
        *cases = cJSON_GetObjectItemCaseSensitive(whole, "cases");
  cJSON *more = cJSON_GetObjectItemCaseSensitive(older, "environments"), *one, *next;
  if (!more || !cases || !environments) return true;
  cJSON *all = cJSON_GetObjectItemCaseSensitive(older, "cases");
  for (one = all ? all->child : NULL; one; one = next) {
    next = one->next;
    const char *id = tb_doc_text(one, "id", NULL);
    const int known = (int)ids->texts.len;
    int number;
    if (!id || !(id = tc_arena_text(ids->arena, id)) || !tb_index_add(ids, id, &number)) return false;
    if (number < known) continue;
    cJSON *env = cJSON_GetObjectItemCaseSensitive(one, "env");
    if (env) cJSON_SetNumberHelper(env, env->valuedouble + first);
    cJSON_AddItemToArray(cases, cJSON_DetachItemViaPointer(all, one));
  }
  while (more->child) cJSON_AddItemToArray(environments, cJSON_DetachItemFromArray(more, 0));
  return true;
}

static bool index_cases(const cJSON *whole, struct tb_index *ids) {
  const cJSON *one;
  int number;
  cJSON_ArrayForEach(one, tb_doc_at(whole, "cases")) {
    const char *id = tc_arena_text(ids->arena, tb_doc_text(one, "id", "?"));
    if (!id || !tb_index_add(ids, id, &number)) return false;
  }
  return true;
}

/* Of a document of many machines what ran on this side's alone. */
static bool take(struct side *side, cJSON *document, struct tb_index *ids) {
  if (side->machine && !tb_machine_keep(document, side->machine)) {
    cJSON_Delete(document);
    return true;
  }
  const int environments = cJSON_GetArraySize(tb_doc_at(document, "environments"));
  drop_samples(document);
  side->documents++;
  side->environments += environments;
  if (!side->whole) {
    side->whole = document;
    return index_cases(document, ids);
  }
  const bool good = join(side->whole, side->environments - environments, document, ids);
  cJSON_Delete(document);
  return good;
}

/* The whole planned what it has. */
static void set_planned(const struct side *side) {
  cJSON *planned = side->documents > 1 ? cJSON_GetObjectItemCaseSensitive(side->whole, "planned") : NULL;
  if (planned) cJSON_SetNumberHelper(planned, cJSON_GetArraySize(tb_doc_at(side->whole, "cases")));
}

/* One more document. False: the store failed, or memory is out; *fits: it is not too much. */
static bool take_stored(struct tb_store *store, int64_t id, struct side *side, size_t *bytes, bool *fits,
                        struct tb_index *ids) {
  sqlite3_stmt *row = tb_store_get(store, TB_SQL_DOCUMENT_BY_ID);
  size_t length = 0;
  char *text = NULL;
  if (!row) return false;
  sqlite3_bind_int64(row, 1, id);
  if (tb_store_step(store, row) && (*fits = (*bytes += (size_t)sqlite3_column_int64(row, 0)) <= BYTES_MOST))
    text = tb_store_unpack(store, row, 0, &length);
  tb_store_done(row);
  if (!*fits) return true;
  cJSON *document = text ? cJSON_ParseWithLength(text, length) : NULL;
  free(text);
  return document && take(side, document, ids);
}

/* All documents of a commit on a machine as one; of a case the newest counts. With some of them left out,
 * cases would seem to be in one side only: what is too much is refused. */
static bool load(struct tb_query *request, struct tb_store *store, struct tc_arena *arena,
                 struct side *side) {
  struct tb_index ids = {.arena = arena};
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_DOCUMENTS_OF);
  size_t bytes = 0;
  int seen = 0;
  bool good = true, fits = true;
  if (!rows) return tb_answer_store_failed(request, store), false;
  sqlite3_bind_text(rows, 1, side->commit, -1, SQLITE_STATIC);
  sqlite3_bind_text(rows, 2, side->machine, -1, SQLITE_STATIC);
  sqlite3_bind_int(rows, 3, DOCUMENTS_MOST + 1);
  while (good && fits && tb_store_step(store, rows))
    if ((fits = seen++ < DOCUMENTS_MOST))
      good = take_stored(store, sqlite3_column_int64(rows, 0), side, &bytes, &fits, &ids);
  tb_store_done(rows);
  if (store->failed) return tb_answer_store_failed(request, store), false;
  if (!good)
    tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
  else if (!fits)
    tb_answer_error(request, MHD_HTTP_BAD_REQUEST,
                    "commit %s has more than %d results, or %d MiB of them: too much for one comparison; "
                    "name a machine, or use tbench compare",
                    side->commit, DOCUMENTS_MOST, BYTES_MOST >> 20);
  else if (!side->whole)
    tb_answer_error(request, MHD_HTTP_NOT_FOUND, "there is no result of commit %s%s", side->commit,
                    side->machine ? " on that machine" : "");
  if (good && fits && side->whole) set_planned(side);
  return good && fits && side->whole;
}

/* What became of the case on that side; the time of one that is not right is none. */
static void tell_outcome(cJSON *one, const cJSON *side, const char *outcome_name, const char *time_name) {
  cJSON_AddItemToObject(one, outcome_name,
                        side ? cJSON_CreateString(tb_doc_text(side, "outcome", "?")) : cJSON_CreateNull());
  if (side && !tb_case_right(side))
    cJSON_ReplaceItemInObjectCaseSensitive(one, time_name, cJSON_CreateNull());
}

/* A document that has them of all cases, or NULL: memory is out. */
static cJSON *with_outcomes(cJSON *document, const struct tb_verdicts *c) {
  cJSON *one = document ? cJSON_GetObjectItemCaseSensitive(document, "cases")->child : NULL;
  for (size_t i = 0; one && i < c->cases.len; i++, one = one->next) {
    tell_outcome(one, c->cases.data[i].base, "base_outcome", "base_ns");
    tell_outcome(one, c->cases.data[i].head, "head_outcome", "head_ns");
  }
  return document;
}

static cJSON *compare(struct tc_arena *arena, const struct side *base, const struct side *head) {
  struct tb_policy policy;
  struct tc_error err;
  if (tb_policy_load(arena, NULL, &policy, &err) != TC_OK) return NULL;
  struct tb_verdicts c = tb_verdicts_new(arena, &policy, "compare");
  c.base = (struct tb_origin){base->machine ? base->machine : "any machine",
                              tb_doc_text(base->whole, "tbench.version", "?"), base->commit,
                              tb_doc_text(base->whole, "started", "?")};
  c.head = (struct tb_origin){head->machine ? head->machine : "any machine",
                              tb_doc_text(head->whole, "tbench.version", "?"), head->commit,
                              tb_doc_text(head->whole, "started", "?")};
  if (!tb_verdicts_add_documents(&c, base->whole, head->whole) || !tb_verdicts_decide_unpaired(&c) ||
      !tb_verdicts_judge(&c))
    return NULL;
  return with_outcomes(tb_verdicts_json(&c), &c);
}

/* NULL: it was answered why not. */
static cJSON *compare_sides(struct tb_query *request, struct tb_store *store, struct tc_arena *arena,
                            struct side *base, struct side *head) {
  cJSON *document = NULL;
  if (load(request, store, arena, base) && load(request, store, arena, head) &&
      !(document = compare(arena, base, head)))
    tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
  cJSON_Delete(base->whole);
  cJSON_Delete(head->whole);
  return document;
}

bool tb_compare_is_asked(const struct tb_query *request) {
  return tb_argument(request, "base") || tb_argument(request, "head");
}

cJSON *tb_compare_query(struct tb_query *request, struct tb_store *store) {
  const char *machine = tb_argument(request, "machine"), *base_machine = tb_argument(request, "base_machine"),
             *head_machine = tb_argument(request, "head_machine");
  struct side base = {.commit = tb_argument(request, "base"),
                      .machine = base_machine ? base_machine : machine};
  struct side head = {.commit = tb_argument(request, "head"),
                      .machine = head_machine ? head_machine : machine};
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  cJSON *document = NULL;
  if (!base.commit || !head.commit)
    tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "name two commits: base= and head=");
  else if (!arena)
    tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
  else
    document = compare_sides(request, store, arena, &base, &head);
  tc_arena_free(arena);
  return document;
}

static void put_csv(struct tc_strbuf *out, const cJSON *document) {
  static const char *const texts[] = {"presence", "problem", "time.verdict", "time.why"},
                           *const numbers[] = {"time.ratio", "time.lo", "time.hi",
                                               "time.p",     "base_ns", "head_ns"},
                           *const outcomes[] = {"base_outcome", "head_outcome"};
  const cJSON *one;
  tc_strbuf_puts(
      out, "case,presence,problem,verdict,why,ratio,lo,hi,p,base_ns,head_ns,base_outcome,head_outcome\n");
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) {
    tb_csv_put_text(out, tb_doc_text(one, "id", ""));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
      tc_strbuf_puts(out, ","), tb_csv_put_text(out, tb_doc_text(one, texts[i], ""));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
      tc_strbuf_puts(out, ","), tb_csv_put_number(out, tb_doc_number(one, numbers[i]));
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
      tc_strbuf_puts(out, ","), tb_csv_put_text(out, tb_doc_text(one, outcomes[i], ""));
    tc_strbuf_puts(out, "\n");
  }
}

void tb_api_compare(struct tb_query *request, struct tb_store *store) {
  bool csv;
  cJSON *document = tb_argument_csv(request, &csv) ? tb_compare_query(request, store) : NULL;
  if (!document) return;
  if (csv) {
    put_csv(&request->answer.body, document);
    cJSON_Delete(document);
    return;
  }
  char *text = cJSON_PrintUnformatted(document);
  if (text)
    tc_strbuf_puts(&request->answer.body, text);
  else
    tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
  cJSON_free(text);
  cJSON_Delete(document);
}
