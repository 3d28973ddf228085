/* A thread that looks at series with new points, one after the other, and hands what it finds to the writer. It takes a share of one core
 * at most, and waits while documents come fast. */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "dashboard/analysis.h"
#include "dashboard/server.h"

enum { CACHE_KIB = 2048, QUIET_MS = 300, BUSY_MS = 60000, BUSY_RATE = 2000 /* documents a second */, IDLE_MS = 250, NS_PER_MS = 1000000, SHARE = 3 /* of the time it rests */ };

struct tb_analyst {
  struct tb_server *server;
  struct tb_store store;
  pthread_t thread;
  atomic_bool stopping;
  atomic_bool pending; /* the writer has a finding */
  uint64_t items;   /* of the writer, when it was last asked */
  double asked_ns;
  double rate;
};

struct points { int64_t started[TB_ANALYSIS_POINTS], commits[TB_ANALYSIS_POINTS]; double values[TB_ANALYSIS_POINTS]; size_t count; };

/* What the writer writes. */
struct finding { struct tb_write write; int64_t series, seen; struct points points; struct tb_analysis analysis; };

/* --- on the writer's thread --- */

static bool set_series(struct tb_store *store, const struct finding *f) {
  sqlite3_stmt *set = tb_store_get(store, TB_SQL_SET_ANALYSIS);
  const struct tb_analysis *a = &f->analysis;
  if (!set) return false;
  int at = 0;
  sqlite3_bind_int64(set, ++at, f->series);
  sqlite3_bind_int64(set, ++at, f->seen);
  sqlite3_bind_int(set, ++at, (int)a->verdict);
  sqlite3_bind_int(set, ++at, (int)a->basis);
  sqlite3_bind_double(set, ++at, a->move);
  sqlite3_bind_double(set, ++at, a->lo);
  sqlite3_bind_double(set, ++at, a->hi);
  if (f->points.count) sqlite3_bind_int64(set, at + 1, f->points.started[a->moved]), sqlite3_bind_int64(set, at + 2, f->points.commits[a->moved]);
  sqlite3_bind_double(set, at + 3, a->score);
  return tb_store_run(store, set);
}

static bool add_change(struct tb_store *store, const struct finding *f, size_t i) {
  sqlite3_stmt *add = tb_store_get(store, TB_SQL_ADD_CHANGE);
  const struct tb_change *change = &f->analysis.changes[i];
  if (!add) return false;
  const bool slower = change->after > change->before;
  const size_t closed = slower ? tb_analysis_closed_by(&f->analysis, i) : f->analysis.n_changes;
  int at = 0;
  sqlite3_bind_int64(add, ++at, f->series);
  sqlite3_bind_int64(add, ++at, f->points.started[change->at]);
  sqlite3_bind_int64(add, ++at, f->points.commits[change->at]);
  sqlite3_bind_int(add, ++at, slower);
  sqlite3_bind_double(add, ++at, change->before);
  sqlite3_bind_double(add, ++at, change->after);
  sqlite3_bind_double(add, ++at, change->p);
  if (closed < f->analysis.n_changes) {
    const size_t point = f->analysis.changes[closed].at;
    sqlite3_bind_int64(add, ++at, f->points.started[point]);
    sqlite3_bind_int64(add, ++at, f->points.commits[point]);
  }
  return tb_store_run(store, add);
}

static enum tb_written apply(struct tb_write *self, struct tb_store *store) {
  const struct finding *f = (const struct finding *)self;
  sqlite3_stmt *remove = tb_store_get(store, TB_SQL_REMOVE_CHANGES);
  if (!remove) return TB_WRITTEN_FAILED;
  sqlite3_bind_int64(remove, 1, f->series);
  sqlite3_bind_int64(remove, 2, f->points.count ? f->points.started[0] : 0); /* older ones stay as they were found */
  if (!tb_store_run(store, remove) || !set_series(store, f)) return TB_WRITTEN_FAILED;
  for (size_t i = 0; i < f->analysis.n_changes; i++)
    if (!add_change(store, f, i)) return TB_WRITTEN_FAILED;
  return TB_WRITTEN_STORED;
}

static void done(struct tb_write *self) {
  struct tb_analyst *analyst = self->owner;
  free(self);
  atomic_store(&analyst->pending, false);
}

/* --- on its own --- */

/* The newest values that are of one kind (one version of the probe, or none), oldest first. */
static bool load_points(struct tb_store *store, int64_t series, struct points *out) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_NEWEST_VALUES);
  int64_t probe = 0;
  int status;
  size_t at = TB_ANALYSIS_POINTS;
  if (!rows) return false;
  sqlite3_bind_int64(rows, 1, series);
  sqlite3_bind_int(rows, 2, TB_ANALYSIS_POINTS);
  while ((status = sqlite3_step(rows)) == SQLITE_ROW) {
    if (at == TB_ANALYSIS_POINTS) probe = sqlite3_column_int64(rows, 2);
    if (sqlite3_column_int64(rows, 2) != probe || !at) continue;
    out->started[--at] = sqlite3_column_int64(rows, 0);
    out->commits[at] = sqlite3_column_int64(rows, 1);
    out->values[at] = sqlite3_column_double(rows, 3);
  }
  out->count = TB_ANALYSIS_POINTS - at;
  memmove(out->started, out->started + at, out->count * sizeof *out->started);
  memmove(out->commits, out->commits + at, out->count * sizeof *out->commits);
  memmove(out->values, out->values + at, out->count * sizeof *out->values);
  tb_store_done(rows);
  return status == SQLITE_DONE;
}

/* The series that waits longest; false: none has waited long enough. */
static bool next_series(struct tb_analyst *analyst, int64_t waited_ms, int64_t *series, int64_t *points) {
  sqlite3_stmt *next = tb_store_get(&analyst->store, TB_SQL_DIRTY_SERIES);
  if (!next) return false;
  sqlite3_bind_int64(next, 1, tb_now_ms() - waited_ms);
  const bool found = sqlite3_step(next) == SQLITE_ROW;
  if (found) *series = sqlite3_column_int64(next, 0), *points = sqlite3_column_int64(next, 1);
  tb_store_done(next);
  return found;
}

/* Documents come too fast to look at each: only what has waited long is looked at. */
static int64_t patience(struct tb_analyst *analyst) {
  enum { EVERY_MS = 500 };
  const double now = tc_now_ns();
  if (now - analyst->asked_ns > (double)EVERY_MS * NS_PER_MS) {
    const uint64_t items = tb_writer_counts(analyst->server->writer).items;
    analyst->rate = (double)(items - analyst->items) / (now - analyst->asked_ns) * 1e9;
    analyst->items = items;
    analyst->asked_ns = now;
  }
  return analyst->rate > BUSY_RATE ? BUSY_MS : QUIET_MS;
}

/* False: there was nothing to do. */
static bool look(struct tb_analyst *analyst) {
  int64_t series, seen;
  if (atomic_load(&analyst->pending) || tb_writer_waiting(analyst->server->writer) > TB_WRITER_GROUP || !next_series(analyst, patience(analyst), &series, &seen)) return false;
  struct finding *f = calloc(1, sizeof *f);
  if (!f) return false;
  *f = (struct finding){.write = {.apply = apply, .done = done, .owner = analyst}, .series = series, .seen = seen};
  if (load_points(&analyst->store, series, &f->points) && tb_analyse(f->points.values, f->points.count, &f->analysis)) {
    atomic_store(&analyst->pending, true);
    tb_writer_put(analyst->server->writer, &f->write);
    return true;
  }
  free(f);
  return false;
}

static void *run(void *self) {
  struct tb_analyst *analyst = self;
  while (!atomic_load(&analyst->stopping)) {
    const double started = tc_now_ns();
    const bool found = look(analyst);
    const double ms = (tc_now_ns() - started) / NS_PER_MS;
    poll(NULL, 0, found ? 1 + (int)(ms * SHARE) : IDLE_MS);
  }
  return NULL;
}

struct tb_analyst *tb_analyst_start(struct tb_server *server, struct tc_error *err) {
  struct tb_analyst *analyst = calloc(1, sizeof *analyst);
  if (!analyst) return tc_fail(err, TC_NOMEM, "serve", "out of memory"), NULL;
  analyst->server = server;
  analyst->asked_ns = tc_now_ns();
  if (tb_store_open(&analyst->store, server->settings->db, TB_STORE_READ, CACHE_KIB, err) == TC_OK) {
    if (!pthread_create(&analyst->thread, NULL, run, analyst)) return analyst;
    tc_fail(err, TC_NOMEM, "serve", "threads cannot be started");
    tb_store_close(&analyst->store);
  }
  free(analyst);
  return NULL;
}

void tb_analyst_stop(struct tb_analyst *analyst) {
  if (!analyst) return;
  atomic_store(&analyst->stopping, true);
  pthread_join(analyst->thread, NULL);
  while (atomic_load(&analyst->pending)) poll(NULL, 0, 1); /* the writer runs still */
  tb_store_close(&analyst->store);
  free(analyst);
}
