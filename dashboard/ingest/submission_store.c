/* A submission into the tables: the document, a point a case, and what its series now show. */
#include "dashboard/ingest/submission.h"

#include <math.h>

static bool add_document(struct tb_store *store, const struct tb_submission *s, int64_t commit,
                         int64_t machine, int64_t now, int64_t *id) {
  sqlite3_stmt *add = tb_store_get(store, TB_SQL_ADD_DOCUMENT);
  if (!add) return false;
  int at = 0;
  sqlite3_bind_blob(add, ++at, s->key, sizeof s->key, SQLITE_STATIC);
  sqlite3_bind_int64(add, ++at, now);
  sqlite3_bind_int64(add, ++at, s->started);
  sqlite3_bind_int64(add, ++at, commit);
  sqlite3_bind_int64(add, ++at, machine);
  sqlite3_bind_int64(add, ++at, (int64_t)s->n_rows);
  sqlite3_bind_int64(add, ++at, (int64_t)s->bytes);
  sqlite3_bind_int64(add, ++at, s->dictionary);
  sqlite3_bind_blob64(add, ++at, s->packed, s->packed_bytes, SQLITE_STATIC);
  sqlite3_bind_int(add, ++at, s->n_machines);
  if (!tb_store_run(store, add)) return false;
  *id = sqlite3_changes(store->db) ? sqlite3_last_insert_rowid(store->db) : 0;
  return true;
}

/* Not a number becomes null. */
static void bind_figures(sqlite3_stmt *statement, int at, const double *figures) {
  for (int i = 0; i < TB_FIGURE_COUNT; i++)
    if (!isnan(figures[i])) sqlite3_bind_double(statement, at + i, figures[i]);
}

struct place {
  int64_t document, position, series, commit, now;
};

static bool add_point(struct tb_store *store, const struct tb_submission *s, const struct tb_row *row,
                      const struct place *place) {
  sqlite3_stmt *add = tb_store_get(store, TB_SQL_ADD_POINT);
  if (!add) return false;
  int at = 0;
  sqlite3_bind_int64(add, ++at, place->series);
  sqlite3_bind_int64(add, ++at, s->started);
  sqlite3_bind_int64(add, ++at, place->document);
  sqlite3_bind_int64(add, ++at, place->position);
  sqlite3_bind_int64(add, ++at, place->commit);
  sqlite3_bind_int64(add, ++at, row->outcome);
  sqlite3_bind_int64(add, ++at, row->calibration);
  sqlite3_bind_double(add, ++at, row->value);
  bind_figures(add, ++at, row->figures);
  return tb_store_run(store, add);
}

/* The series' newest point. False: a failure. *renewed: there was something that the statement is for. */
static bool renew(struct tb_store *store, enum tb_statement which, const struct tb_submission *s,
                  const struct tb_row *row, const struct place *place, bool *renewed) {
  sqlite3_stmt *statement = tb_store_get(store, which);
  if (!statement) return false;
  int at = 0;
  sqlite3_bind_int64(statement, ++at, place->series);
  sqlite3_bind_int64(statement, ++at, s->started);
  sqlite3_bind_int64(statement, ++at, place->document);
  sqlite3_bind_int64(statement, ++at, place->position);
  sqlite3_bind_int64(statement, ++at, place->commit);
  sqlite3_bind_int64(statement, ++at, row->outcome);
  sqlite3_bind_double(statement, ++at, row->figures[TB_FIGURE_steady]);
  sqlite3_bind_double(statement, ++at, row->figures[TB_FIGURE_speedup]);
  sqlite3_bind_double(statement, ++at, row->figures[TB_FIGURE_speedup_lo]);
  sqlite3_bind_double(statement, ++at, row->figures[TB_FIGURE_speedup_hi]);
  sqlite3_bind_double(statement, ++at, row->figures[TB_FIGURE_cold]);
  sqlite3_bind_int64(statement, ++at, place->now);
  const bool good = tb_store_run(store, statement);
  *renewed = good && sqlite3_changes(store->db) > 0;
  return good;
}

/* Most often nothing that an index holds changes, and then the indexes are left alone. A series that has a
 * newer point gets one point more; it may tell since when the newest one's outcome holds. */
static bool renew_series(struct tb_store *store, const struct tb_submission *s, const struct tb_row *row,
                         const struct place *place) {
  bool renewed = false;
  if (!renew(store, TB_SQL_RENEW_QUIETLY, s, row, place, &renewed)) return false;
  if (!renewed && !renew(store, TB_SQL_RENEW_SERIES, s, row, place, &renewed)) return false;
  sqlite3_stmt *grow = renewed ? NULL : tb_store_get(store, TB_SQL_GROW_SERIES);
  if (!grow) return renewed;
  sqlite3_bind_int64(grow, 1, place->series);
  sqlite3_bind_int64(grow, 2, s->started);
  sqlite3_bind_int64(grow, 3, place->now);
  sqlite3_bind_int64(grow, 4, row->outcome);
  return tb_store_run(store, grow);
}

enum tb_written tb_submission_apply(struct tb_write *self, struct tb_store *store) {
  const struct tb_submission *s = (const struct tb_submission *)self;
  struct place place = {.now = tb_now_ms(), .commit = tb_store_commit_id(store, s->commit)};
  int64_t machines[TB_SUBMISSION_MACHINES];
  if (place.commit < 0) return TB_WRITTEN_FAILED;
  for (int i = 0; i < s->n_machines; i++)
    if ((machines[i] = tb_store_machine_id(store, s->machines[i])) < 0) return TB_WRITTEN_FAILED;
  if (!add_document(store, s, place.commit, machines[0], place.now, &place.document))
    return TB_WRITTEN_FAILED;
  if (!place.document) return TB_WRITTEN_THERE;
  if (!tb_store_measured(store, place.commit, s->started)) return TB_WRITTEN_FAILED;
  for (size_t i = 0; i < s->n_rows; i++) {
    place.position = s->rows[i].position;
    place.series = tb_store_series_id(store, s->rows[i].name, machines[s->rows[i].machine]);
    if (place.series < 0 || !add_point(store, s, &s->rows[i], &place) ||
        !renew_series(store, s, &s->rows[i], &place))
      return TB_WRITTEN_FAILED;
  }
  store->more_documents++;
  store->more_points += (int64_t)s->n_rows;
  return TB_WRITTEN_STORED;
}
