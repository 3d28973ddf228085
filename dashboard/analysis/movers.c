/* One pass over the series, and one item for the writer. */
#include "dashboard/analysis/movers.h"

#include <math.h>
#include <stdlib.h>

struct row {
  int64_t series, latest;
  struct tb_evidence evidence;
  struct tb_shown shown /* now: verdict, basis, lo, score */;
};
struct rows {
  struct row *at;
  size_t count, cap, family;
};
struct change {
  int64_t series;
  double p;
  struct tb_shown shown;
};
struct judgement {
  struct tb_write write;
  size_t count;
  struct change changes[];
};

static double number(sqlite3_stmt *row, int column) {
  return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN : sqlite3_column_double(row, column);
}

static bool flagged(const struct tb_evidence *e) { return !isnan(e->p) && tb_verdict_flags(e->point); }

static struct row row_of(sqlite3_stmt *rows) {
  enum {
    ID,
    LATEST,
    POINT,
    POINT_MOVE,
    P,
    ERROR,
    FREEDOM,
    STEP_MOVE,
    STEP_LO,
    STEP_HI,
    VERDICT,
    BASIS,
    LO,
    SCORE
  };
  return (struct row){.series = sqlite3_column_int64(rows, ID),
                      .latest = sqlite3_column_int64(rows, LATEST),
                      .evidence = {(enum tb_verdict)sqlite3_column_int(rows, POINT), number(rows, POINT_MOVE),
                                   number(rows, P), number(rows, ERROR), number(rows, FREEDOM),
                                   number(rows, STEP_MOVE), number(rows, STEP_LO), number(rows, STEP_HI)},
                      .shown = {.basis = (enum tb_basis)sqlite3_column_int(rows, BASIS),
                                .verdict = (enum tb_verdict)sqlite3_column_int(rows, VERDICT),
                                .lo = number(rows, LO),
                                .score = number(rows, SCORE)}};
}

static bool keep(struct rows *rows, const struct row *row) {
  if (rows->count == rows->cap) {
    const size_t cap = rows->cap ? 2 * rows->cap : 64;
    struct row *more = realloc(rows->at, cap * sizeof *more);
    if (!more) return false;
    rows->at = more;
    rows->cap = cap;
  }
  rows->at[rows->count++] = *row;
  return true;
}

/* Whether a series is to be told to be measured no longer, or no longer to be told so. */
static bool turns(const struct row *row, int64_t edge) {
  return (row->latest < edge) != ((int)row->shown.verdict == TB_MOVERS_GONE);
}

/* The series that are or may be shown as moved, those that turn, and of how many newest values are tested.
 * False: the store failed, or memory is out. */
static bool read_rows(struct tb_store *store, int64_t edge, struct rows *rows) {
  sqlite3_stmt *all = tb_store_get(store, TB_SQL_MOVERS);
  bool good = all != NULL;
  if (all) sqlite3_bind_int64(all, 1, edge), sqlite3_bind_int(all, 2, TB_MOVERS_GONE);
  while (good && tb_store_step(store, all)) {
    const struct row row = row_of(all);
    rows->family += row.latest >= edge && !isnan(row.evidence.p);
    if (flagged(&row.evidence) || row.shown.score > 0 || turns(&row, edge)) good = keep(rows, &row);
  }
  if (all) tb_store_done(all);
  return good && !store->failed;
}

static int by_p(const void *a, const void *b) {
  const double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

static bool find_level(struct rows *rows, int64_t edge, double *level) {
  double *p = malloc((rows->count + 1) * sizeof *p);
  size_t n = 0;
  if (!p) return false;
  for (size_t i = 0; i < rows->count; i++)
    if (rows->at[i].latest >= edge && flagged(&rows->at[i].evidence)) p[n++] = rows->at[i].evidence.p;
  qsort(p, n, sizeof *p, by_p);
  *level = tb_analysis_level(p, n, rows->family);
  free(p);
  return true;
}

/* Ends of intervals that differ by less are the same to whoever reads them. */
static bool is_same(const struct tb_shown *a, const struct tb_shown *b) {
  static const double seen = 1e-4;
  return a->verdict == b->verdict && a->basis == b->basis && (a->score > 0) == (b->score > 0) &&
         (isnan(a->lo) ? isnan(b->lo) : fabs(a->lo / b->lo - 1) < seen);
}

static enum tb_written apply(struct tb_write *self, struct tb_store *store) {
  const struct judgement *judgement = (const struct judgement *)self;
  for (size_t i = 0; i < judgement->count; i++)
    if (!tb_movers_set(store, judgement->changes[i].series, judgement->changes[i].p,
                       &judgement->changes[i].shown))
      return TB_WRITTEN_FAILED;
  return TB_WRITTEN_STORED;
}

static struct tb_shown show(const struct row *row, int64_t edge, double level) {
  static const struct tb_shown gone = {TB_BASIS_NONE, (enum tb_verdict)TB_MOVERS_GONE, NAN, NAN, NAN, 0};
  return row->latest >= edge ? tb_analysis_show(&row->evidence, level) : gone;
}

static bool make_item(const struct rows *rows, int64_t edge, double level, struct tb_write **item,
                      bool *more) {
  struct judgement *made = malloc(sizeof *made + TB_MOVERS_PORTION * sizeof *made->changes);
  if (!made) return false;
  *made = (struct judgement){.write.apply = apply};
  for (size_t i = 0; i < rows->count && !*more; i++) {
    const struct row *row = &rows->at[i];
    const struct tb_shown shown = show(row, edge, level);
    if (is_same(&shown, &row->shown)) continue;
    if (made->count == TB_MOVERS_PORTION)
      *more = true;
    else
      made->changes[made->count++] = (struct change){row->series, row->evidence.p, shown};
  }
  if (made->count)
    *item = &made->write;
  else
    free(made);
  return true;
}

int64_t tb_movers_edge(struct tb_store *store) {
  static const int64_t day_ms = 24LL * 3600 * 1000;
  sqlite3_stmt *newest = tb_store_get(store, TB_SQL_NEWEST_START);
  const int64_t edge =
      tb_store_step(store, newest) ? sqlite3_column_int64(newest, 0) - TB_MOVERS_DAYS * day_ms : 0;
  if (newest) tb_store_done(newest);
  return edge;
}

bool tb_movers_judge(struct tb_store *store, double *level, struct tb_write **item, bool *more) {
  struct rows rows = {0};
  *item = NULL;
  *more = false;
  store->failed = 0;
  const int64_t edge = tb_movers_edge(store);
  const bool good = !store->failed && read_rows(store, edge, &rows) && find_level(&rows, edge, level) &&
                    make_item(&rows, edge, *level, item, more);
  free(rows.at);
  return good;
}

bool tb_movers_set(struct tb_store *store, int64_t series, double p, const struct tb_shown *shown) {
  sqlite3_stmt *set = tb_store_get(store, TB_SQL_SET_SHOWN);
  if (!set) return false;
  int at = 0;
  sqlite3_bind_int64(set, ++at, series);
  sqlite3_bind_double(set, ++at, p);
  sqlite3_bind_int(set, ++at, (int)shown->verdict);
  sqlite3_bind_int(set, ++at, (int)shown->basis);
  sqlite3_bind_double(set, ++at, shown->move);
  sqlite3_bind_double(set, ++at, shown->lo);
  sqlite3_bind_double(set, ++at, shown->hi);
  sqlite3_bind_double(set, ++at, shown->score);
  return tb_store_run(store, set);
}
