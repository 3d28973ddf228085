/* The database of results: SQLite, in WAL mode, `synchronous=FULL`, so that what was committed is there after
 * a crash or a cut of power.
 *
 * 1. One connection writes (writer.h); others read. A connection is used by one thread at a time.
 * 2. A document is stored once for its key, with all of its points, or not at all.
 * 3. What comes from outside is bound to prepared statements (statements.def).
 * 4. Tables that pages show at once (series) are kept up to date by each insertion; nothing is counted over
 *    all points.
 * Times are milliseconds since 1970. Functions that return bool: false with store->error. */
#ifndef TB_DASHBOARD_STORE_H
#define TB_DASHBOARD_STORE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "results/fields.h"

enum {
  TB_STORE_VERSION = 5,
  TB_STORE_DICTIONARY = 32768,
  TB_STORE_DICTIONARIES = 32,
  TB_STORE_MEASURED = 16
};

/* The figures that each point keeps: results/fields.def, the rows with a COLUMN, by its place. */
enum tb_figure {
#define TB_FIELD(path, member, shape, unit, better, metric, column, ...) column
#define COLUMN(place, name, meaning)                                     TB_FIGURE_##name = place,
#define NONE
#include "results/fields.def"
  TB_FIGURE_COUNT = 0
#define TB_FIELD(path, member, shape, unit, better, metric, column, ...) column
#define COLUMN(place, name, meaning)                                     +1
#define NONE
#include "results/fields.def"
};
const struct tb_field *tb_figure_field(enum tb_figure figure);
const char *tb_figure_name(enum tb_figure figure);
const char *tb_figure_path(enum tb_figure figure);
const char *tb_figure_meaning(enum tb_figure figure);

enum tb_statement {
#define TB_STATEMENT(NAME, sql) TB_SQL_##NAME,
#include "dashboard/store/statements.def"
#undef TB_STATEMENT
  TB_STATEMENT_COUNT
};

struct tb_name_cache; /* ids of names that were looked up lately */

struct tb_store {
  sqlite3 *db;
  sqlite3_stmt *statements[TB_STATEMENT_COUNT];
  struct tb_name_cache *commits, *machines, *series; /* of the writer */
  void *unpack;                                      /* of the decompressor; made at its first use */
  void *dictionaries[TB_STORE_DICTIONARIES];         /* by number, as the decompressor wants them */
  /* What a transaction changes for many of its documents at once: written by tb_store_flush_group. */
  int64_t more_documents, more_points;
  struct {
    int64_t commit, started;
  } measured[TB_STORE_MEASURED];
  int n_measured;
  char error[256];
  int failed; /* SQLite's code of the last failure, SQLITE_ERROR where it has none; 0: none since it was set
                 to 0 */
};

enum tb_store_use { TB_STORE_WRITE, TB_STORE_READ };

/* Opens a file; with TB_STORE_WRITE it is made where it is not there, and older tables are brought to this
 * version (migrate.h). An error says what to do. */
tc_status tb_store_open(struct tb_store *store, const char *path, enum tb_store_use use, int cache_kib,
                        struct tc_error *err);
void tb_store_close(struct tb_store *store);

/* A statement, ready to be bound; NULL with store->error. After use: tb_store_done. */
sqlite3_stmt *tb_store_get(struct tb_store *store, enum tb_statement which);
static inline void tb_store_done(sqlite3_stmt *statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}
/* Whether there is a next row. False at the end, and on a failure, also of tb_store_get (NULL): then `failed`
 * is set. */
bool tb_store_step(struct tb_store *store, sqlite3_stmt *rows);
/* A text of the row that a step gave; NULL: null. The statement's, until its next step. */
const char *tb_column_text(sqlite3_stmt *row, int column);
/* Runs a statement that gives no rows, and ends its use. */
bool tb_store_run(struct tb_store *store, sqlite3_stmt *statement);
/* Runs statements without arguments and rows; FIGURES and MARKS stand for what they do in statements.def. */
bool tb_store_execute(struct tb_store *store, const char *sql);
/* Keeps SQLite's message; returns false. */
bool tb_store_failed(struct tb_store *store, const char *what);

/* A number of meta; 0 where it is not there. */
int64_t tb_store_meta(struct tb_store *store, const char *name);
bool tb_store_set_meta(struct tb_store *store, const char *name, int64_t value, bool add);

/* A commit has a document of that time. */
bool tb_store_measured(struct tb_store *store, int64_t commit, int64_t started);
/* Writes totals into meta, and when commits were last measured: before the transaction's end, and before
 * documents are removed. */
bool tb_store_flush_group(struct tb_store *store);

/* The newest dictionary, and its number; false where there is none. `out` has TB_STORE_DICTIONARY bytes. */
bool tb_store_dictionary(struct tb_store *store, int64_t *id, char *out, size_t *length);
bool tb_store_add_dictionary(struct tb_store *store, const void *bytes, size_t length, int64_t *id);

/* Ids of names, which are added where they are not there. -1 on failure. */
int64_t tb_store_commit_id(struct tb_store *store, const char *name);
int64_t tb_store_machine_id(struct tb_store *store, const char *name);
int64_t tb_store_series_id(struct tb_store *store, const char *name, int64_t machine);
/* After a rollback: ids and totals that were added are none. */
void tb_store_forget(struct tb_store *store);
/* The same of ids alone: some of those that were looked up lately are gone. */
void tb_name_cache_forget(struct tb_store *store);

/* The document of a row (bytes, dictionary, body at these columns), zero-terminated; free() it. NULL with
 * store->error. */
char *tb_store_unpack(struct tb_store *store, sqlite3_stmt *row, int first_column, size_t *length);

int64_t tb_now_ms(void);
/* RFC 3339 (as the schema checks it) to milliseconds; false where it is no such time. */
bool tb_time_parse(const char *text, int64_t *ms);
/* "2026-11-20T14:02:11Z"; at least 32 bytes. */
void tb_time_text(int64_t ms, char *out, size_t size);

#endif
