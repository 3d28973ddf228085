/* A server without a network, for tests of what it does by itself: its writer, a reader's database, and
 * results that are added one by one. */
#ifndef TESTS_UNIT_WORLD_H
#define TESTS_UNIT_WORLD_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dashboard/ingest/submission.h"
#include "dashboard/server/server.h"
#include "tests/dashboard/sql.h"

enum { CACHE_KIB = 512, PATH = 128, NAME = 64 };
static const int64_t hour_ms = 3600LL * 1000, day_ms = 24 * 3600LL * 1000;

struct world {
  char folder[PATH], db[PATH + NAME];
  struct tb_settings settings;
  struct tb_server *server;
  struct tb_store reader;
  int64_t now;
  int documents;
  int64_t calibration;  /* of the points that are added */
  const double *values; /* of each case; NULL: all have the same */
  const char *machine;  /* NULL: "m" */
};

static inline int set_up(void **state) {
  struct world *w = calloc(1, sizeof *w);
  struct tc_error err;
  assert_non_null(w);
  snprintf(w->folder, sizeof w->folder, "/tmp/tbench-upkeep.XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  snprintf(w->db, sizeof w->db, "%s/results.db", w->folder);
  w->settings.db = w->db;
  w->now = tb_now_ms();
  w->server = calloc(1, sizeof *w->server);
  assert_non_null(w->server);
  w->server->settings = &w->settings;
  tb_auth_open(&w->server->auth);
  assert_int_equal(tb_store_open(&w->server->store, w->db, TB_STORE_WRITE, CACHE_KIB, &err), TC_OK);
  assert_int_equal(tb_store_open(&w->reader, w->db, TB_STORE_READ, CACHE_KIB, &err), TC_OK);
  w->server->writer = tb_writer_start(&w->server->store);
  assert_non_null(w->server->writer);
  *state = w;
  return 0;
}

static inline int tear_down(void **state) {
  struct world *w = *state;
  char command[2 * PATH];
  tb_writer_stop(w->server->writer);
  tb_store_close(&w->reader);
  tb_store_close(&w->server->store);
  tb_auth_close(&w->server->auth);
  snprintf(command, sizeof command, "rm -rf '%s'", w->folder);
  free(w->server);
  free(w);
  return system(command);
}

/* --- what the writer is given --- */

struct item {
  struct tb_submission submission;
  atomic_bool done;
};

static inline void is_done(struct tb_write *self) { atomic_store((atomic_bool *)self->owner, true); }

/* Once round a loop that waits for what should come soon. Not a failure of the test alone: the writer's
 * thread waits too. */
static inline void wait_a_moment(int *rounds) {
  enum { MOST = 300000 }; /* milliseconds at least: for the slowest machine */
  if (++*rounds > MOST) fputs("waited in vain\n", stderr), abort();
  poll(NULL, 0, 1);
}

static inline void wait_for(atomic_bool *flag) {
  for (int rounds = 0; !atomic_load(flag);) wait_a_moment(&rounds);
}

/* A result with a point for each of `count` cases, c0 and so on. */
static inline void add(struct world *w, int64_t started, int commit, int count, double value) {
  struct item item = {
      .submission = {.write = {.apply = tb_submission_apply, .done = is_done, .owner = &item.done},
                     .started = started,
                     .machines = {w->machine ? w->machine : "m"},
                     .n_machines = 1,
                     .packed = "",
                     .n_rows = (size_t)count}};
  char name[NAME], (*names)[NAME] = calloc((size_t)count, sizeof *names);
  struct tb_row *rows = calloc((size_t)count, sizeof *rows);
  assert_true(names && rows);
  snprintf(name, sizeof name, "commit%d", commit);
  memcpy(item.submission.key, &w->documents, sizeof w->documents);
  w->documents++;
  for (int i = 0; i < count; i++) {
    snprintf(names[i], sizeof *names, "c%d", i);
    rows[i] = (struct tb_row){.name = names[i],
                              .position = i,
                              .value = w->values ? w->values[i] : value,
                              .calibration = w->calibration};
  }
  item.submission.commit = name;
  item.submission.rows = rows;
  tb_writer_put(w->server->writer, &item.submission.write);
  wait_for(&item.done);
  assert_int_equal(item.submission.write.written, TB_WRITTEN_STORED);
  free(rows);
  free(names);
}

static inline enum tb_written nothing(struct tb_write *self, struct tb_store *store) {
  return (void)self, (void)store, TB_WRITTEN_STORED;
}

/* All that the writer was given is done. */
static inline void drain(struct world *w) {
  atomic_bool done = false;
  struct tb_write item = {.apply = nothing, .done = is_done, .owner = &done};
  tb_writer_put(w->server->writer, &item);
  wait_for(&done);
}

static inline double ask(struct world *w, const char *sql) { return number_of(w->reader.db, sql); }

/* The analyst looks at all series that have new points. */
static inline void analyse(struct world *w) {
  struct tc_error err;
  struct tb_analyst *analyst = w->server->analyst = tb_analyst_start(w->server, &err);
  assert_non_null(analyst);
  for (int rounds = 0; ask(w, "SELECT count(*) FROM series WHERE dirty IS NOT NULL") > 0;)
    wait_a_moment(&rounds);
  tb_analyst_stop(analyst);
}

/* Waits until a query gives that. */
static inline void wait_until(struct world *w, const char *sql, int expected) {
  enum { TRIES = 300000 };
  for (int i = 0; i < TRIES && (int)ask(w, sql) != expected; i++) poll(NULL, 0, 1);
  if ((int)ask(w, sql) != expected) fail_msg("%s: %g, not %d", sql, ask(w, sql), expected);
}

static inline struct tb_analyst *start_analyst(struct world *w) {
  struct tc_error err;
  struct tb_analyst *analyst = w->server->analyst = tb_analyst_start(w->server, &err);
  assert_non_null(analyst);
  return analyst;
}

/* --- a case of a hundred nights --- */

enum { NIGHTS = 100, SLOWER_AT = 20, FASTER_AT = 85 };

/* So that a night is a whole number of days and an hour short of being that old. */
static inline int64_t night_ms(const struct world *w, int night) {
  return w->now - (NIGHTS - night) * day_ms + hour_ms;
}

/* Nights [from, to): 30% slower from one night on, until another. */
static inline void add_nights(struct world *w, int from, int to) {
  for (int night = from; night < to; night++)
    add(w, night_ms(w, night), night, 1,
        (night >= SLOWER_AT && night < FASTER_AT ? 1300 : 1000) + night * 37 % 11);
}

static inline enum tb_written hold(struct tb_write *self, struct tb_store *store) {
  (void)store;
  wait_for(self->owner);
  return TB_WRITTEN_STORED;
}

static inline void let_go(struct tb_write *self) { (void)self; }

#endif
