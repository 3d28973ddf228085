/* A thread that looks at series with new points, one after the other, and hands what it finds to the writer.
 * It takes a share of one core at most, and waits while documents come fast. */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "dashboard/analysis/analysis.h"
#include "dashboard/analysis/movers.h"
#include "dashboard/server/server.h"

enum {
  CACHE_KIB = 2048,
  QUIET_MS = 300,
  BUSY_MS = 60000,
  BUSY_RATE = 2000 /* documents a second */,
  IDLE_MS = 250,
  PENDING_MS = 5,
  LATER_MS = 10000 /* what could not be analysed waits */,
  SHARE = 3 /* of the time it rests */
};

struct tb_analyst {
  struct tb_server *server;
  struct tb_store store;
  pthread_t thread;
  atomic_bool stopping;
  atomic_bool pending; /* the writer has a finding */
  uint64_t items;      /* of the writer, when it was last asked */
  double asked_ns;
  double rate;
  double level; /* at which newest values are shown as moved (movers.h); 0 until it is known: none is */
  bool fresh;   /* what was found since they were judged together */
  double judged_ns, judging_ns; /* when that was, and how long it took */
};

/* A window slides on, and a step at its old end has too few points before it to be found again. So where
 * older points have been left behind (there are more than fit, or retention removes them), the steps of the
 * oldest quarter stay as they were found while they stood further in, as do those that have left the window.
 * Retention (maintenance.c) removes a step together with the point that it begins at, whether it is open or
 * not. */
enum { OLDEST = 4 /* the quarter */, NEAR = 5 /* points within which two steps are the same one */ };

struct points {
  int64_t calibration, started[TB_ANALYSIS_POINTS], commits[TB_ANALYSIS_POINTS];
  double values[TB_ANALYSIS_POINTS];
  size_t count, anew /* index of the first point from which on steps are found anew; 0: of all */;
};

/* What the writer writes. */
struct finding {
  struct tb_write write;
  int64_t series, seen;
  double level;
  struct points points;
  struct tb_analysis analysis;
};

/* --- on the writer's thread --- */

/* Time and commit of a point, behind column `at`. */
static void bind_place(sqlite3_stmt *set, int at, const struct finding *f, size_t point) {
  if (!f->points.count) return;
  sqlite3_bind_int64(set, at + 1, f->points.started[point]);
  sqlite3_bind_int64(set, at + 2, f->points.commits[point]);
}

static bool set_series(struct tb_store *store, const struct finding *f) {
  sqlite3_stmt *set = tb_store_get(store, TB_SQL_SET_ANALYSIS);
  const struct tb_analysis *a = &f->analysis;
  const struct tb_evidence *e = &a->evidence;
  const double fresh[] = {e->point_move, e->p, e->error, e->freedom},
               step[] = {e->step_move, e->step_lo, e->step_hi};
  if (!set) return false;
  int at = 0;
  sqlite3_bind_int64(set, ++at, f->series);
  sqlite3_bind_int64(set, ++at, f->seen);
  sqlite3_bind_int64(set, ++at, tb_now_ms()); /* points that came meanwhile wait like those of others */
  sqlite3_bind_int(set, ++at, (int)e->point);
  for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++) sqlite3_bind_double(set, ++at, fresh[i]);
  bind_place(set, at, f, a->point);
  at += 2;
  for (size_t i = 0; i < sizeof step / sizeof *step; i++) sqlite3_bind_double(set, ++at, step[i]);
  if (!isnan(e->step_move)) bind_place(set, at, f, a->step);
  const struct tb_shown shown = tb_analysis_show(e, f->level);
  return tb_store_run(store, set) && tb_movers_set(store, f->series, e->p, &shown);
}

static enum tb_written postpone(struct tb_write *self, struct tb_store *store) {
  const struct finding *f = (const struct finding *)self;
  sqlite3_stmt *wait = tb_store_get(store, TB_SQL_POSTPONE_SERIES);
  if (!wait) return TB_WRITTEN_FAILED;
  sqlite3_bind_int64(wait, 1, f->series);
  sqlite3_bind_int64(wait, 2, tb_now_ms() + LATER_MS);
  return tb_store_run(store, wait) ? TB_WRITTEN_STORED : TB_WRITTEN_FAILED;
}

/* Whether a query of `series` and two times has a row; `failed` is set where that cannot be told, with
 * store->error. */
static bool has_row(struct tb_store *store, enum tb_statement which, int64_t series, int64_t from, int64_t to,
                    bool *failed) {
  sqlite3_stmt *query = tb_store_get(store, which);
  *failed = !query;
  if (!query) return false;
  sqlite3_bind_int64(query, 1, series);
  sqlite3_bind_int64(query, 2, from);
  sqlite3_bind_int64(query, 3, to);
  const int status = sqlite3_step(query);
  *failed = status != SQLITE_ROW && status != SQLITE_DONE && !tb_store_failed(store, "the database");
  tb_store_done(query);
  return status == SQLITE_ROW;
}

/* Whether a step is one that stays as it was found, also where it is found again a little behind the oldest
 * points. */
static bool is_kept(struct tb_store *store, const struct finding *f, size_t at, bool *failed) {
  const struct points *points = &f->points;
  if (!points->anew || at >= points->anew + NEAR) return false;
  const size_t last = at + NEAR < points->anew ? at + NEAR : points->anew - 1;
  return has_row(store, TB_SQL_CHANGE_NEAR, f->series, points->started[at < NEAR ? 0 : at - NEAR],
                 points->started[last], failed);
}

/* Retention may have removed points after they were read, or the whole series, whose id another one may have
 * got: then nothing of this holds. The series waits still, and is looked at again. */
static bool is_void(struct tb_store *store, const struct finding *f, bool *failed) {
  const struct points *points = &f->points;
  return points->count &&
         !has_row(store, TB_SQL_SERIES_SINCE, f->series, points->started[0],
                  points->started[points->count - 1], failed) &&
         !*failed;
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

static bool add_changes(struct tb_store *store, const struct finding *f) {
  bool failed = false;
  for (size_t i = 0; i < f->analysis.n_changes && !failed; i++)
    if (!is_kept(store, f, f->analysis.changes[i].at, &failed) && !failed) failed = !add_change(store, f, i);
  return !failed;
}

static bool close_by(struct tb_store *store, const struct finding *f, const struct tb_change *change) {
  sqlite3_stmt *close = tb_store_get(store, TB_SQL_CLOSE_CHANGES);
  if (!close) return false;
  sqlite3_bind_int64(close, 1, f->series);
  sqlite3_bind_int64(close, 2, f->points.started[f->points.anew]);
  sqlite3_bind_int64(close, 3, f->points.started[change->at]);
  sqlite3_bind_int64(close, 4, f->points.commits[change->at]);
  sqlite3_bind_double(close, 5, change->after / (1 + tb_threshold_default));
  sqlite3_bind_int64(close, 6, f->points.calibration);
  return tb_store_run(store, close);
}

/* Kept steps to slower are open until one of those that were found takes them back. */
static bool close_kept(struct tb_store *store, const struct finding *f) {
  if (!f->points.anew) return true;
  sqlite3_stmt *reopen = tb_store_get(store, TB_SQL_REOPEN_CHANGES);
  if (!reopen) return false;
  sqlite3_bind_int64(reopen, 1, f->series);
  sqlite3_bind_int64(reopen, 2, f->points.started[f->points.anew]);
  bool good = tb_store_run(store, reopen);
  for (size_t i = 0; i < f->analysis.n_changes && good; i++)
    if (f->analysis.changes[i].at >= f->points.anew) good = close_by(store, f, &f->analysis.changes[i]);
  return good;
}

static bool remove_changes(struct tb_store *store, const struct finding *f) {
  sqlite3_stmt *remove = tb_store_get(store, TB_SQL_REMOVE_CHANGES);
  if (!remove) return false;
  sqlite3_bind_int64(remove, 1, f->series);
  sqlite3_bind_int64(remove, 2, f->points.count ? f->points.started[f->points.anew] : 0);
  return tb_store_run(store, remove);
}

static enum tb_written apply(struct tb_write *self, struct tb_store *store) {
  const struct finding *f = (const struct finding *)self;
  bool failed = false;
  if (is_void(store, f, &failed)) return TB_WRITTEN_STORED;
  return !failed && remove_changes(store, f) && set_series(store, f) && add_changes(store, f) &&
                 close_kept(store, f)
             ? TB_WRITTEN_STORED
             : TB_WRITTEN_FAILED;
}

static void done(struct tb_write *self) {
  struct tb_analyst *analyst = self->owner;
  free(self);
  atomic_store(&analyst->pending, false);
}

/* --- on its own --- */

/* The newest values that are of one kind (one version of the calibration kernel, or none) as the newest one,
 * oldest first. */
static bool load_points(struct tb_store *store, int64_t series, struct points *out) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_NEWEST_VALUES);
  size_t at = TB_ANALYSIS_POINTS;
  if (!rows) return false;
  sqlite3_bind_int64(rows, 1, series);
  sqlite3_bind_int(rows, 2, TB_ANALYSIS_POINTS);
  store->failed = 0;
  while (tb_store_step(store, rows) && at) {
    out->calibration = sqlite3_column_int64(rows, 2);
    out->started[--at] = sqlite3_column_int64(rows, 0);
    out->commits[at] = sqlite3_column_int64(rows, 1);
    out->values[at] = sqlite3_column_double(rows, 3);
  }
  out->count = TB_ANALYSIS_POINTS - at;
  memmove(out->started, out->started + at, out->count * sizeof *out->started);
  memmove(out->commits, out->commits + at, out->count * sizeof *out->commits);
  memmove(out->values, out->values + at, out->count * sizeof *out->values);
  tb_store_done(rows);
  return !store->failed;
}

/* Whether points before those that were read are gone: their steps are not found again. Where a series just
 * began so long ago that it seems so, it does no harm: three quarters of the points stand behind such a
 * step. */
static size_t first_anew(const struct tb_server *server, const struct points *points) {
  const int64_t edge = tb_retention_edge(server->settings);
  const bool full = points->count == TB_ANALYSIS_POINTS,
             at_edge = points->count && edge > 0 && points->started[0] - edge < (tb_now_ms() - edge) / OLDEST;
  return full || at_edge ? points->count / OLDEST : 0;
}

/* The series that waits longest; false: none has waited long enough. */
static bool next_series(struct tb_analyst *analyst, int64_t waited_ms, int64_t *series, int64_t *points) {
  sqlite3_stmt *next = tb_store_get(&analyst->store, TB_SQL_DIRTY_SERIES);
  if (!next) return false;
  sqlite3_bind_int64(next, 1, tb_now_ms() - waited_ms);
  const bool found = tb_store_step(&analyst->store, next);
  if (found) *series = sqlite3_column_int64(next, 0), *points = sqlite3_column_int64(next, 1);
  tb_store_done(next);
  return found;
}

/* Documents come too fast to look at each: only what has waited long is looked at. */
static int64_t patience(struct tb_analyst *analyst) {
  enum { EVERY_MS = 500 };
  const double now = tc_now_ns();
  if (now - analyst->asked_ns > (double)EVERY_MS * TC_NS_PER_MS) {
    const uint64_t items = tb_writer_counts(analyst->server->writer).items;
    analyst->rate = (double)(items - analyst->items) / (now - analyst->asked_ns) * 1e9;
    analyst->items = items;
    analyst->asked_ns = now;
  }
  return analyst->rate > BUSY_RATE ? BUSY_MS : QUIET_MS;
}

/* False: there was nothing to do. A series that cannot be analysed waits again, behind the others. */
static bool look(struct tb_analyst *analyst) {
  int64_t series, seen;
  if (atomic_load(&analyst->pending) || tb_writer_waiting(analyst->server->writer) > TB_WRITER_GROUP ||
      !next_series(analyst, patience(analyst), &series, &seen))
    return false;
  struct finding *f = calloc(1, sizeof *f);
  if (!f) return false;
  *f = (struct finding){.write = {.apply = apply, .done = done, .owner = analyst},
                        .series = series,
                        .seen = seen,
                        .level = analyst->level};
  if (load_points(&analyst->store, series, &f->points) &&
      tb_analyse(f->points.values, f->points.count, &f->analysis))
    f->points.anew = first_anew(analyst->server, &f->points);
  else
    f->write.apply = postpone;
  analyst->fresh = true;
  atomic_store(&analyst->pending, true);
  tb_writer_put(analyst->server->writer, &f->write);
  return true;
}

/* Newest values are judged together again where something was found, and now and then, since rows age. False:
 * it was not time. */
static bool judge(struct tb_analyst *analyst) {
  static const double share = 20, soon_ns = 250e6,
                      late_ns = 60e9; /* of the time, it takes one in `share` at most */
  const double now = tc_now_ns(), waited = now - analyst->judged_ns;
  if (atomic_load(&analyst->pending) ||
      waited < (analyst->fresh ? fmax(soon_ns, share * analyst->judging_ns) : late_ns))
    return false;
  struct tb_write *item;
  bool more = false;
  const bool good = tb_movers_judge(&analyst->store, &analyst->level, &item, &more);
  analyst->judged_ns = tc_now_ns();
  analyst->judging_ns = analyst->judged_ns - now;
  if (good) analyst->fresh = more;
  if (!item) return false;
  item->done = done;
  item->owner = analyst;
  atomic_store(&analyst->pending, true);
  tb_writer_put(analyst->server->writer, item);
  return true;
}

static void *run(void *self) {
  struct tb_analyst *analyst = self;
  while (!atomic_load(&analyst->stopping)) {
    const double started = tc_now_ns();
    const bool found = judge(analyst) || look(analyst);
    const double ms = (tc_now_ns() - started) / TC_NS_PER_MS;
    poll(NULL, 0, found ? 1 + (int)(ms * SHARE) : atomic_load(&analyst->pending) ? PENDING_MS : IDLE_MS);
  }
  return NULL;
}

struct tb_analyst *tb_analyst_start(struct tb_server *server, struct tc_error *err) {
  struct tb_analyst *analyst = calloc(1, sizeof *analyst);
  if (!analyst) return tc_fail_memory(err, "serve"), NULL;
  analyst->server = server;
  analyst->asked_ns = tc_now_ns();
  analyst->fresh = true;
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
