/* Copies of a database. */
#include "dashboard/store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/store/store.h"
#include "dashboard/store/temp_file.h"

enum { CACHE_KIB = 4096, SUFFIX = 32, PAGES = 256 /* between two looks at signals */ };

struct target {
  char path[PATH_MAX];          /* links followed */
  char temp[PATH_MAX + SUFFIX]; /* the new file beside it */
  int fd;     /* of what is there now, locked against whoever would open it; -1: nothing is */
  int server; /* the lock that a server on it would have; -1: there is none to have */
};

tc_status tb_backup_source(const char *db, struct tc_error *err) {
  struct stat found;
  if (stat(db, &found))
    return tc_fail(err, TC_IO, "store", "db=%s: there is no database: %s", db, strerror(errno));
  if (!S_ISREG(found.st_mode))
    return tc_fail(err, TC_IO, "store", "db=%s: there is no database: it is no regular file", db);
  if (!found.st_size)
    return tc_fail(err, TC_IO, "store", "db=%s: there is no database: the file is empty", db);
  return TC_OK;
}

/* --- the name of the copy --- */

/* Files that SQLite and servers put beside a database, empty at times. */
static bool is_sidecar_file(const char *path) {
  static const char *const ends[] = {"-wal", "-shm", "-journal", ".serve"};
  const size_t length = strlen(path);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (length >= strlen(ends[i]) && !strcmp(path + length - strlen(ends[i]), ends[i])) return true;
  return false;
}

static tc_status find_path(const char *to, struct target *target, bool *there, struct tc_error *err) {
  struct stat link;
  *there = realpath(to, target->path) != NULL;
  if (!*there && errno != ENOENT) return tc_fail(err, TC_ARG, "store", "backup=%s: %s", to, strerror(errno));
  if (!*there && !lstat(to, &link))
    return tc_fail(err, TC_ARG, "store", "backup=%s is a link that leads nowhere", to);
  if (!*there && (size_t)snprintf(target->path, sizeof target->path, "%s", to) >= sizeof target->path)
    return tc_fail(err, TC_ARG, "store", "backup=: the name is too long");
  if (is_sidecar_file(to) || is_sidecar_file(target->path))
    return tc_fail(err, TC_ARG, "store",
                   "backup=%s: the name is one of those that belong to a database; use another one", to);
  return TC_OK;
}

/* SQLite would take what such a file has over into whatever database is beside it. */
static tc_status check_leftovers(const char *to, const struct target *target, struct tc_error *err) {
  static const char *const ends[] = {"-wal", "-journal"};
  char path[PATH_MAX + SUFFIX];
  struct stat found;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(path, sizeof path, "%s%s", target->path, ends[i]);
    if (!stat(path, &found) && found.st_size)
      return tc_fail(err, TC_ARG, "store",
                     "backup=%s: beside it is %s, whose changes would go into the copy; start tbench serve "
                     "with that database once, or remove both",
                     to, path);
  }
  return TC_OK;
}

/* --- what is there already --- */

/* The path as SQLite's URI. `immutable`: it is read as it stands, and no file is made beside it. */
static void put_uri(struct tc_strbuf *out, const char *path) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
  tc_strbuf_puts(out, "file:");
  for (; *path; path++) tc_strbuf_printf(out, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
  tc_strbuf_puts(out, "?immutable=1");
}

static bool is_database_of_ours(const char *path) {
  static const char tables[] = "SELECT count(*) = 5 FROM sqlite_schema WHERE type = 'table' AND name IN "
                               "('meta', 'dictionaries', 'documents', 'series', 'tokens')";
  struct tc_strbuf uri;
  sqlite3 *db = NULL;
  sqlite3_stmt *get = NULL;
  tc_strbuf_init(&uri, tc_alloc_system());
  put_uri(&uri, path);
  bool ours = tc_strbuf_text(&uri) &&
              sqlite3_open_v2(uri.data, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
                              NULL) == SQLITE_OK;
  ours = ours && sqlite3_prepare_v2(db, tables, -1, &get, NULL) == SQLITE_OK &&
         sqlite3_step(get) == SQLITE_ROW && sqlite3_column_int(get, 0);
  sqlite3_finalize(get);
  sqlite3_close(db);
  tc_strbuf_free(&uri);
  return ours;
}

/* Waits for nobody. SQLite has a lock in this range of every database that is open in WAL mode, by whatever
 * name; this one keeps it out. The lock is of the description, not of the process: closing another one of the
 * same file does not end it. */
static tc_status lock_existing(const char *to, struct target *target, struct tc_error *err) {
  enum { LOCKS_BEGIN = 0x40000000, LOCKS = 512 }; /* SQLite's file format: pending, reserved, 510 shared */
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS_BEGIN, .l_len = LOCKS};
  char path[PATH_MAX + SUFFIX];
  snprintf(path, sizeof path, "%s.serve", target->path);
  target->server = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (target->server < 0 && errno != ENOENT)
    return tc_fail(err, TC_IO, "store", "backup=%s: %s: %s", to, path, strerror(errno));
  if (target->server >= 0 && flock(target->server, LOCK_EX | LOCK_NB))
    return tc_fail(err, TC_IO, "store", "backup=%s is in use: a tbench serve has it", to);
  if (!fcntl(target->fd, F_OFD_SETLK, &whole)) return TC_OK;
  if (errno == EAGAIN || errno == EACCES)
    return tc_fail(err, TC_IO, "store", "backup=%s is in use: another program has it open", to);
  return tc_fail(err, TC_IO, "store", "backup=%s cannot be locked: %s", to, strerror(errno));
}

static tc_status take_existing(const char *to, struct target *target, const struct stat *source,
                               struct tc_error *err) {
  struct stat found;
  if (stat(target->path, &found)) return tc_fail(err, TC_IO, "store", "backup=%s: %s", to, strerror(errno));
  if (!S_ISREG(found.st_mode)) return tc_fail(err, TC_ARG, "store", "backup=%s is no regular file", to);
  if (found.st_dev == source->st_dev && found.st_ino == source->st_ino)
    return tc_fail(err, TC_ARG, "store", "backup=%s is the database itself; use another name", to);
  target->fd = open(target->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (target->fd < 0)
    return tc_fail(err, TC_IO, "store", "backup=%s cannot be opened: %s", to, strerror(errno));
  const tc_status status = lock_existing(to, target, err);
  if (status != TC_OK) return status;
  if (found.st_size && !is_database_of_ours(target->path))
    return tc_fail(err, TC_ARG, "store",
                   "backup=%s is no database of tbench serve, and stays as it is; use another name", to);
  return TC_OK;
}

static void leave(struct target *target) {
  if (target->fd >= 0) close(target->fd);
  if (target->server >= 0) close(target->server);
}

/* --- the copy --- */

/* One snapshot of the source, whoever writes to it meanwhile: it is held from before the first step on. */
static tc_status copy_all(sqlite3 *from, sqlite3 *to, const char *path, struct tb_interrupt *interrupt,
                          struct tc_error *err) {
  bool interrupted = false;
  if (sqlite3_exec(from, "BEGIN; SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK)
    return tc_fail(err, TC_IO, "store", "the database cannot be read: %s", sqlite3_errmsg(from));
  sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
  int status = backup ? SQLITE_OK : SQLITE_ERROR;
  while (status == SQLITE_OK && !(interrupted = tb_interrupt_poll(interrupt) > 0))
    status = sqlite3_backup_step(backup, PAGES);
  if (backup) {
    const int finished = sqlite3_backup_finish(backup);
    if (status == SQLITE_DONE) status = finished == SQLITE_OK ? SQLITE_DONE : finished;
  }
  if (interrupted) return tc_fail(err, TC_INTERRUPTED, "store", "%s was not finished", path);
  return status == SQLITE_DONE
             ? TC_OK
             : tc_fail(err, TC_IO, "store", "%s could not be written: %s", path, sqlite3_errmsg(to));
}

static tc_status write_temp(const char *db, const struct target *target, struct tb_interrupt *interrupt,
                            struct tc_error *err) {
  struct tb_store store;
  sqlite3 *copy = NULL;
  tc_status status = tb_store_open(&store, db, TB_STORE_READ, CACHE_KIB, err);
  if (status != TC_OK) return status;
  if (sqlite3_open_v2(target->temp, &copy, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
    status = tc_fail(err, TC_IO, "store", "%s cannot be opened: %s", target->temp,
                     copy ? sqlite3_errmsg(copy) : "out of memory");
  /* what would be in a log goes with the file if it is not finished */
  if (status == TC_OK && sqlite3_exec(copy, "PRAGMA journal_mode=MEMORY", NULL, NULL, NULL) != SQLITE_OK)
    status = tc_fail(err, TC_IO, "store", "%s: %s", target->temp, sqlite3_errmsg(copy));
  if (status == TC_OK) status = copy_all(store.db, copy, target->temp, interrupt, err);
  if (sqlite3_close(copy) != SQLITE_OK && status == TC_OK)
    status = tc_fail(err, TC_IO, "store", "%s could not be closed", target->temp);
  tb_store_close(&store);
  return status;
}

/* A name is kept through a cut of power once its folder is synced. */
static bool sync_folder(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool good = fd >= 0 && (!fsync(fd) || errno == EINVAL); /* some file systems sync no folders */
  if (fd >= 0) close(fd);
  return good;
}

/* A name that was free is taken only while it is: someone else may have made a file there meanwhile. */
static bool take_name(const struct target *target) {
  struct stat held, now;
  if (target->fd >= 0) {
    if (fstat(target->fd, &held) || stat(target->path, &now)) return false;
    errno = EBUSY;
    return held.st_dev == now.st_dev && held.st_ino == now.st_ino && !rename(target->temp, target->path);
  }
  if (!renameat2(AT_FDCWD, target->temp, AT_FDCWD, target->path, RENAME_NOREPLACE)) return true;
  return (errno == EINVAL || errno == ENOSYS) && !link(target->temp, target->path) && !unlink(target->temp);
}

static tc_status make_copy(const char *db, const struct stat *source, struct target *target,
                           struct tb_interrupt *interrupt, struct tc_error *err) {
  tb_temp_file_remove_left(target->path);
  const int fd = tb_temp_file_new(target->path, target->temp, sizeof target->temp);
  if (fd < 0) return tc_fail(err, TC_IO, "store", "%s cannot be made: %s", target->temp, strerror(errno));
  tc_status status = fchmod(fd, source->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO))
                         ? tc_fail(err, TC_IO, "store", "%s: %s", target->temp, strerror(errno))
                         : TC_OK;
  if (status == TC_OK) status = write_temp(db, target, interrupt, err);
  if (status == TC_OK && fsync(fd))
    status = tc_fail(err, TC_IO, "store", "%s could not be written: %s", target->temp, strerror(errno));
  if (status == TC_OK && !take_name(target))
    status = tc_fail(err, TC_IO, "store", "%s cannot be made: %s", target->path, strerror(errno));
  if (status != TC_OK)
    unlink(target->temp);
  else if (!sync_folder(target->path))
    status = tc_fail(err, TC_IO, "store", "%s is made, but its folder could not be synced: %s", target->path,
                     strerror(errno));
  close(fd); /* and with it goes the lock */
  return status;
}

tc_status tb_backup(const char *db, const char *to, struct tb_interrupt *interrupt, struct tc_error *err) {
  struct target target = {.fd = -1, .server = -1};
  struct stat source;
  bool there;
  tc_status status = tb_backup_source(db, err);
  if (status == TC_OK && stat(db, &source))
    status = tc_fail(err, TC_IO, "store", "db=%s: %s", db, strerror(errno));
  if (status == TC_OK) status = find_path(to, &target, &there, err);
  if (status == TC_OK && there) status = take_existing(to, &target, &source, err);
  if (status == TC_OK) status = check_leftovers(to, &target, err);
  if (status == TC_OK) status = make_copy(db, &source, &target, interrupt, err);
  leave(&target);
  return status;
}
