/* What a test asks a database itself. */
#ifndef TESTS_UNIT_SQL_H
#define TESTS_UNIT_SQL_H

#include <sqlite3.h>

/* The first column of the first row. */
static inline double number_of(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  const double value = sqlite3_column_double(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

#endif
