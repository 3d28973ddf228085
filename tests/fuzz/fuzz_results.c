/* What comes as the body of a request: inflated, parsed, checked, made into rows, stored, and read back.
 *
 * The first byte says whether the rest is taken as gzip, as text, or as text that is packed first. What is
 * taken must come back as the same bytes, be there at the second time, and leave as many points as it has
 * cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "dashboard/ingest/intake.h"

enum {
  MOST_BYTES = 1 << 16,
  MOST_VALUES = 4096,
  MOST_CASES = 64,
  CACHE_KIB = 1024,
  GZIP_WINDOW = 15 + 16,
  DEFLATE_MEMORY = 8
};

static void demand(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "broken: %s\n", what);
  abort();
}

struct target {
  struct tb_schema *schema;
  struct tb_store store;
  struct tb_intake *intake;
};

static struct target *the_target(void) {
  static struct target target; /* libFuzzer gives no place of its own */
  static bool made;
  struct tc_error err;
  char names[TB_STORE_DICTIONARY];
  int64_t id = 0;
  if (made) return &target;
  made = true;
  demand((target.schema = tb_schema_of_results(&err)) != NULL, err.message);
  demand(tb_store_open(&target.store, ":memory:", TB_STORE_WRITE, CACHE_KIB, &err) == TC_OK, err.message);
  const size_t length = tb_schema_names(target.schema, names, sizeof names);
  demand(tb_store_add_dictionary(&target.store, names, length, &id), target.store.error);
  target.intake = tb_intake_new(target.schema, (struct tb_intake_limits){MOST_BYTES, MOST_VALUES, MOST_CASES},
                                names, length, id);
  demand(target.intake != NULL, "memory");
  return &target;
}

static size_t pack(const uint8_t *data, size_t size, unsigned char *out, size_t room) {
  z_stream z = {.next_in = (unsigned char *)(uintptr_t)data,
                .avail_in = (unsigned)size,
                .next_out = out,
                .avail_out = (unsigned)room};
  demand(deflateInit2(&z, 1, Z_DEFLATED, GZIP_WINDOW, DEFLATE_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK,
         "deflateInit2");
  demand(deflate(&z, Z_FINISH) == Z_STREAM_END, "deflate");
  deflateEnd(&z);
  return z.total_out;
}

static void check_stored(struct tb_store *store, const struct tb_submission *s, const char *text) {
  sqlite3_stmt *row = tb_store_get(store, TB_SQL_DOCUMENT_BY_KEY);
  size_t length = 0;
  sqlite3_bind_blob(row, 1, s->key, sizeof s->key, SQLITE_STATIC);
  demand(sqlite3_step(row) == SQLITE_ROW, "a stored document is there");
  char *back = tb_store_unpack(store, row, 0, &length);
  demand(back && length == s->bytes && (!text || !memcmp(back, text, length)),
         "a stored document comes back");
  free(back);
  tb_store_done(row);
  demand(tb_store_meta(store, "points") == (int64_t)s->n_rows, "a point a case");
}

static void store_it(struct target *target, struct tb_submission *s, const char *text) {
  struct tb_store *store = &target->store;
  demand(tb_store_run(store, tb_store_get(store, TB_SQL_BEGIN)), store->error);
  const enum tb_written first = tb_submission_apply(&s->write, store);
  demand(first == TB_WRITTEN_STORED && tb_store_flush_group(store), store->error);
  check_stored(store, s, text);
  demand(tb_submission_apply(&s->write, store) == TB_WRITTEN_THERE, "stored twice");
  demand(tb_store_run(store, tb_store_get(store, TB_SQL_ROLLBACK)), store->error);
  tb_store_forget(store);
  demand(tb_store_meta(store, "documents") == 0, "nothing stays after a rollback");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { PLAIN, GZIP, PACKED, WAYS };
  static unsigned char packed[MOST_BYTES * 2];
  struct target *target = the_target();
  struct tb_submission *s;
  char why[TB_SCHEMA_WHY] = "";
  if (size < 1 || size > MOST_BYTES) return 0;
  const int way = data[0] % WAYS;
  const char *text = (const char *)data + 1, *body = text;
  size_t length = size - 1;
  if (way == PACKED) body = (const char *)packed, length = pack(data + 1, size - 1, packed, sizeof packed);
  if (tb_intake_take(target->intake, body, length, way != PLAIN, NULL, &s, why) != TB_TAKEN_OK) {
    demand(!s && *why, "a refusal without a reason");
    return 0;
  }
  store_it(target, s, way == GZIP ? NULL : text);
  free(s);
  return 0;
}
