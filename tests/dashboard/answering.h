/* Answers without a network: a database in memory, documents that are stored in it, and the routes'
 * functions. libmicrohttpd's part, the arguments of a query, is played by the test that includes this. */
#ifndef TESTS_UNIT_ANSWERING_H
#define TESTS_UNIT_ANSWERING_H

#include <stdlib.h>
#include <string.h>

#include "dashboard/ingest/submission.h"
#include "dashboard/server/answer.h"
#include "tests/dashboard/documents.h"

enum { ARGUMENTS = 5 };

static struct {
  const char *name, *value;
} arguments[ARGUMENTS];

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key) {
  (void)connection, (void)kind;
  for (int i = 0; i < ARGUMENTS; i++)
    if (arguments[i].name && !strcmp(arguments[i].name, key)) return arguments[i].value;
  return NULL;
}

/* --- a database, and documents --- */

struct fixture {
  struct tb_store store;
  struct tb_schema *schema;
  struct tb_intake *intake;
};

static inline int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  struct tc_error err;
  int64_t id;
  assert_non_null(f);
  memset(arguments, 0, sizeof arguments);
  assert_int_equal(tb_store_open(&f->store, ":memory:", TB_STORE_WRITE, 4096, &err), TC_OK);
  f->schema = tb_schema_of_results(&err);
  assert_non_null(f->schema);
  assert_true(tb_store_add_dictionary(&f->store, "words", 5, &id));
  f->intake = tb_intake_new(f->schema, (struct tb_intake_limits){4 << 20, 1 << 18, 1000}, "words", 5, id);
  assert_non_null(f->intake);
  *state = f;
  return 0;
}

static inline int tear_down(void **state) {
  struct fixture *f = *state;
  tb_intake_free(f->intake);
  tb_schema_free(f->schema);
  tb_store_close(&f->store);
  free(f);
  return 0;
}

/* "": it was stored; else why not. */
static inline const char *store(struct fixture *f, const char *text) {
  static char why[TB_SCHEMA_WHY];
  struct tb_submission *s;
  *why = '\0';
  if (tb_intake_take(f->intake, text, strlen(text), false, NULL, &s, why) != TB_TAKEN_OK) return why;
  assert_true(tb_store_run(&f->store, tb_store_get(&f->store, TB_SQL_BEGIN)));
  assert_int_equal(tb_submission_apply(&s->write, &f->store), TB_WRITTEN_STORED);
  assert_true(tb_store_flush_group(&f->store) &&
              tb_store_run(&f->store, tb_store_get(&f->store, TB_SQL_COMMIT)));
  free(s);
  return why;
}

static inline void store_document(struct fixture *f, long long number, int cases) {
  char *text = malloc(DOCUMENT_HEAD + (size_t)cases * DOCUMENT_CASE);
  assert_non_null(text);
  document_write(text, number, cases);
  assert_string_equal(store(f, text), "");
  free(text);
}

/* A copy of a text with one part of it replaced; free() it. */
static inline char *with_first(const char *text, const char *what, const char *instead) {
  const char *at = strstr(text, what);
  assert_non_null(at);
  char *made = malloc(strlen(text) + strlen(instead) + 1);
  assert_non_null(made);
  sprintf(made, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(what));
  return made;
}

/* --- queries --- */

static inline void begin(struct tb_query *request) {
  *request = (struct tb_query){0};
  tc_strbuf_init(&request->answer.body, tc_alloc_system());
}

static inline void end(struct tb_query *request) {
  tc_strbuf_free(&request->answer.body);
  free(request->answer.problem);
}

static const struct tb_route routes[] = {
#define TB_ROUTE(METHOD, path, scope, way, function, help)                                                   \
  {#METHOD, path, TB_SCOPE_##scope, TB_WAY_##way, function, help},
#include "dashboard/server/routes.def"
#undef TB_ROUTE
};

static inline void ask_route(struct fixture *f, const char *path, struct tb_query *request) {
  begin(request);
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
    if (!strcmp(routes[i].path, path)) request->route = &routes[i];
  tb_query_read(request, &f->store);
}

/* The answer of a route, in `request`: end it. */
static inline const char *answer_of(struct fixture *f, const char *path, struct tb_query *request) {
  ask_route(f, path, request);
  assert_int_equal(request->answer.status, MHD_HTTP_OK);
  return tc_strbuf_text(&request->answer.body);
}

#endif
