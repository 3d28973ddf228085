/* What a copy of a database leaves behind when its process ends on the way: killed, or told to end. SQLite's
 * steps are played by the test up to where that happens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dashboard/store/backup.h"
#include "dashboard/store/store.h"
#include "tests/dashboard/sql.h"

enum { CACHE_KIB = 512, PATH = 128, ROWS = 4000 /* more pages than one step takes */ };

/* At the `at`th step (from 1; 0: never) `db` is written to, or the process gets `signal`, or it tells `tell`
 * and waits for its end. */
static struct {
  int at, tell, signal, steps;
  const char *db;
} script;

static void execute(const char *path, const char *sql) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_close(db);
}

int __real_sqlite3_backup_step(sqlite3_backup *backup, int pages);
int __wrap_sqlite3_backup_step(sqlite3_backup *backup, int pages);

int __wrap_sqlite3_backup_step(sqlite3_backup *backup, int pages) {
  if (++script.steps == script.at) {
    if (script.db)
      execute(script.db, "DELETE FROM commits WHERE id = 1");
    else if (script.signal)
      raise(script.signal);
    else if (write(script.tell, "x", 1) == 1)
      pause();
  }
  return __real_sqlite3_backup_step(backup, pages);
}

/* --- a folder with a database --- */

struct fixture {
  char folder[PATH], db[2 * PATH], copy[2 * PATH];
};

static double asked(const char *path, const char *sql) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  const double value = number_of(db, sql);
  sqlite3_close(db);
  return value;
}

static int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  struct tb_store store;
  struct tc_error err;
  char sql[256];
  assert_non_null(f);
  memset(&script, 0, sizeof script);
  snprintf(f->folder, sizeof f->folder, "/tmp/tbench-backup.XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->db, sizeof f->db, "%s/results.db", f->folder);
  snprintf(f->copy, sizeof f->copy, "%s/copy.db", f->folder);
  assert_int_equal(tb_store_open(&store, f->db, TB_STORE_WRITE, CACHE_KIB, &err), TC_OK);
  tb_store_close(&store);
  snprintf(sql, sizeof sql,
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO "
           "commits(name) SELECT i || hex(zeroblob(400)) FROM n",
           ROWS);
  execute(f->db, sql);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  char command[2 * PATH];
  snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
  free(f);
  return system(command);
}

static tc_status back_up(const struct fixture *f) {
  struct tb_interrupt interrupt;
  struct tc_error err = {.message = ""};
  assert_int_equal(tb_interrupt_open(&interrupt, &err), TC_OK);
  const tc_status status = tb_backup(f->db, f->copy, &interrupt, &err);
  tb_interrupt_close(&interrupt);
  if (status != TC_OK && status != TC_INTERRUPTED) fail_msg("%s", err.message);
  return status;
}

/* Files beside the database whose names have this in them. */
static int files_with(const struct fixture *f, const char *text) {
  DIR *folder = opendir(f->folder);
  const struct dirent *entry;
  int count = 0;
  assert_non_null(folder);
  while ((entry = readdir(folder))) count += strstr(entry->d_name, text) != NULL;
  closedir(folder);
  return count;
}

static bool is_there(const struct fixture *f, const char *name) {
  char path[3 * PATH];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  return !access(path, F_OK);
}

static void put_file(const struct fixture *f, const char *name) {
  char path[3 * PATH];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("left behind", file);
  assert_int_equal(fclose(file), 0);
}

/* A process that is at work on a copy, in the middle of it. */
static pid_t start_one(const struct fixture *f) {
  int ends[2];
  char byte;
  assert_int_equal(pipe(ends), 0);
  const pid_t process = fork();
  assert_true(process >= 0);
  if (!process) {
    struct tb_interrupt interrupt;
    struct tc_error err;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it waits for as long as there is somebody to kill it */
    script.at = 2;
    script.tell = ends[1];
    _exit(tb_interrupt_open(&interrupt, &err) != TC_OK ||
          tb_backup(f->db, f->copy, &interrupt, &err) != TC_OK);
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &byte, 1), 1);
  close(ends[0]);
  return process;
}

static void kill_one(pid_t process) {
  int status;
  assert_int_equal(kill(process, SIGKILL), 0);
  assert_int_equal(waitpid(process, &status, 0), process);
  assert_true(WIFSIGNALED(status));
}

/* --- tests --- */

/* What a killed one left goes with the next copy; what another process writes stays, and becomes whole. */
static void test_killed(void **state) {
  const struct fixture *f = *state;
  const pid_t killed = start_one(f), alive = start_one(f);
  assert_int_equal(files_with(f, ".part-"), 2);
  kill_one(killed);
  assert_int_equal(back_up(f), TC_OK);
  assert_int_equal(files_with(f, ".part-"), 1);
  assert_true(script.steps > 2);
  kill_one(alive);
  assert_int_equal(files_with(f, ".part-"), 1);
  execute(f->db, "INSERT INTO commits(name) VALUES('one more')");
  assert_int_equal(back_up(f), TC_OK);
  assert_int_equal(files_with(f, ".part-"), 0);
  assert_true(asked(f->copy, "SELECT count(*) FROM commits") == ROWS + 1);
  assert_true(asked(f->copy, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1);
}

/* What has another name stays, and what is no file. */
static void test_names(void **state) {
  static const char *const gone[] = {"copy.db.part-aB3dE6", "copy.db.part-aB3dE6-journal",
                                     "copy.db.part-aB3dE6-wal", "copy.db.part-000000"};
  static const char *const kept[] = {"copy.db.part-aB3dE",     "copy.db.part-aB3dE67", "copy.db.part-aB3_E6",
                                     "copy.db.partaB3dE6",     "other.db.part-aB3dE6", "acopy.db.part-aB3dE6",
                                     "copy.db.part-aB3dE6.old"};
  const struct fixture *f = *state;
  char link[3 * PATH], folder[3 * PATH];
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) put_file(f, gone[i]);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) put_file(f, kept[i]);
  snprintf(link, sizeof link, "%s/copy.db.part-LinkOn", f->folder);
  snprintf(folder, sizeof folder, "%s/copy.db.part-Folder", f->folder);
  assert_int_equal(symlink("copy.db.partaB3dE6", link), 0);
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_int_equal(back_up(f), TC_OK);
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
    if (is_there(f, gone[i])) fail_msg("%s is there still", gone[i]);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (!is_there(f, kept[i])) fail_msg("%s is gone", kept[i]);
  assert_int_equal(files_with(f, "LinkOn") + files_with(f, "Folder"), 2);
}

/* A signal that asks to end does so at once; the earlier copy stays. */
static void test_interrupted(void **state) {
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  const struct fixture *f = *state;
  assert_int_equal(back_up(f), TC_OK);
  execute(f->db, "INSERT INTO commits(name) VALUES('one more')");
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    script.steps = 0;
    script.at = 2;
    script.signal = signals[i];
    assert_int_equal(back_up(f), TC_INTERRUPTED);
    assert_int_equal(script.steps, 2);
    assert_int_equal(files_with(f, ".part-"), 0);
    assert_true(asked(f->copy, "SELECT count(*) FROM commits") == ROWS);
  }
  script.at = 0;
  assert_int_equal(back_up(f), TC_OK);
  assert_true(asked(f->copy, "SELECT count(*) FROM commits") == ROWS + 1);
}

/* What is written between two steps is not in the copy, which is of one moment. */
static void test_snapshot(void **state) {
  const struct fixture *f = *state;
  script.at = 2;
  script.db = f->db;
  assert_int_equal(back_up(f), TC_OK);
  assert_true(script.steps > 2);
  assert_true(asked(f->db, "SELECT count(*) FROM commits") == ROWS - 1);
  assert_true(asked(f->copy, "SELECT count(*) FROM commits") == ROWS);
  assert_true(asked(f->copy, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_interrupted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_snapshot, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
