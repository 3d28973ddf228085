/* A disk beneath SQLite that keeps what was synced apart from what was only written: a VFS, the default one
 * from begin_disk on, that hands all to the system's and keeps account. The process or the power ends at a
 * call of choice, or that call fails; `take_remains` is what is left then, and `start_with` begins anew with
 * it. Counted are the calls that change a file. One database; one thread at a time. */
#ifndef TESTS_UNIT_CRASH_DISK_H
#define TESTS_UNIT_CRASH_DISK_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the disk --- */

enum slot { DATABASE, LOG, JOURNAL, SLOTS };
static const char *const suffixes[SLOTS] = {"", "-wal", "-journal"};
enum { SECTOR = 512 };

struct bytes {
  unsigned char *data;
  size_t count;
};
/* A change since the last sync; data NULL: it is cut to `at`. */
struct piece {
  sqlite3_int64 at;
  size_t count;
  unsigned char *data;
};

struct disk_file {
  bool exists, named;          /* now; and the disk knows that it has this name */
  struct bytes synced, former; /* former: what the disk has under this name while `named` is not so */
  bool has_former;
  struct piece *pieces;
  size_t n_pieces;
};

static struct {
  char folder[32], path[64];
  struct disk_file files[SLOTS];
  int calls, dies_at, fails_at; /* counted are those that change a file; 0: none */
  bool dead;
  uint64_t random;
} disk;

static sqlite3_vfs *below;

static uint64_t draw(uint64_t below_this) {
  disk.random = disk.random * 6364136223846793005u + 1442695040888963407u;
  return (disk.random >> 33) % below_this;
}

static const char *name_of(enum slot slot, const char *suffix) {
  static char name[96];
  snprintf(name, sizeof name, "%s%s%s", disk.path, suffixes[slot], suffix);
  return name;
}

static void set_bytes(struct bytes *to, const void *data, size_t count) {
  unsigned char *copy = malloc(count + 1);
  if (!copy) abort();
  if (count) memcpy(copy, data, count);
  free(to->data);
  *to = (struct bytes){copy, count};
}

/* What any process would read; false: no such file. */
static bool read_now(enum slot slot, struct bytes *out) {
  static unsigned char buffer[4 << 20];
  FILE *file = fopen(name_of(slot, ""), "re");
  set_bytes(out, buffer, file ? fread(buffer, 1, sizeof buffer, file) : 0);
  if (file) fclose(file);
  return file != NULL;
}

static void drop_pieces(struct disk_file *f) {
  for (size_t i = 0; i < f->n_pieces; i++) free(f->pieces[i].data);
  free(f->pieces);
  f->pieces = NULL;
  f->n_pieces = 0;
}

static void add_piece(struct disk_file *f, sqlite3_int64 at, const void *data, size_t count) {
  f->pieces = realloc(f->pieces, (f->n_pieces + 1) * sizeof *f->pieces);
  struct bytes copy = {0};
  if (data) set_bytes(&copy, data, count);
  f->pieces[f->n_pieces++] = (struct piece){at, count, copy.data};
}

/* The name leads to a new file, or to none. The disk does not know it yet. */
static void rename_file(struct disk_file *f, bool exists) {
  if (f->named) {
    set_bytes(&f->former, f->synced.data, f->synced.count);
    f->has_former = true;
  }
  f->named = false;
  f->exists = exists;
  set_bytes(&f->synced, NULL, 0);
  drop_pieces(f);
}

static void sync_names(void) {
  for (int i = 0; i < SLOTS; i++) {
    disk.files[i].named = disk.files[i].exists;
    disk.files[i].has_former = false;
  }
}

/* Does the next call have its effect? */
static bool works(void) {
  if (disk.dead) return false;
  disk.dead = ++disk.calls == disk.dies_at;
  return !disk.dead && disk.calls != disk.fails_at;
}

/* --- the VFS --- */

struct opened {
  sqlite3_file file;
  enum slot slot;
}; /* behind it the file of the system's VFS */

static sqlite3_file *real(sqlite3_file *file) { return (sqlite3_file *)((struct opened *)file + 1); }
static struct disk_file *disk_file(sqlite3_file *file) { return &disk.files[((struct opened *)file)->slot]; }

static int write_file(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 at) {
  if (!disk.dead) add_piece(disk_file(file), at, data, (size_t)bytes);
  if (works()) return real(file)->pMethods->xWrite(real(file), data, bytes, at);
  if (!disk.dead) real(file)->pMethods->xWrite(real(file), data, bytes / 2, at); /* the disk is full */
  return SQLITE_FULL;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 bytes) {
  if (!disk.dead) add_piece(disk_file(file), bytes, NULL, 0);
  return works() ? real(file)->pMethods->xTruncate(real(file), bytes) : SQLITE_IOERR_TRUNCATE;
}

/* As the system's does: the first sync of a log or a journal is one of its folder, too. */
static int sync_file(sqlite3_file *file, int flags) {
  (void)flags;
  struct disk_file *f = disk_file(file);
  if (!works()) return SQLITE_IOERR_FSYNC;
  read_now(((struct opened *)file)->slot, &f->synced);
  drop_pieces(f);
  if (!f->named && f != &disk.files[DATABASE]) sync_names();
  return SQLITE_OK;
}

static int close_file(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }
static int read_file(sqlite3_file *file, void *out, int bytes, sqlite3_int64 at) {
  return real(file)->pMethods->xRead(real(file), out, bytes, at);
}
static int size_of(sqlite3_file *file, sqlite3_int64 *bytes) {
  return real(file)->pMethods->xFileSize(real(file), bytes);
}
static int lock(sqlite3_file *file, int level) { return real(file)->pMethods->xLock(real(file), level); }
static int unlock(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
static int is_reserved(sqlite3_file *file, int *yes) {
  return real(file)->pMethods->xCheckReservedLock(real(file), yes);
}
static int control(sqlite3_file *file, int what, void *argument) {
  return real(file)->pMethods->xFileControl(real(file), what, argument);
}
static int sector_size(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }
static int characteristics(sqlite3_file *file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
static int map(sqlite3_file *file, int region, int bytes, int extend, void volatile **out) {
  return real(file)->pMethods->xShmMap(real(file), region, bytes, extend, out);
}
static int lock_map(sqlite3_file *file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
static void barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }
static int unmap(sqlite3_file *file, int remove_it) {
  return real(file)->pMethods->xShmUnmap(real(file), remove_it);
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *given) {
  static const sqlite3_io_methods methods = {.iVersion = 2,
                                             .xClose = close_file,
                                             .xRead = read_file,
                                             .xWrite = write_file,
                                             .xTruncate = truncate_file,
                                             .xSync = sync_file,
                                             .xFileSize = size_of,
                                             .xLock = lock,
                                             .xUnlock = unlock,
                                             .xCheckReservedLock = is_reserved,
                                             .xFileControl = control,
                                             .xSectorSize = sector_size,
                                             .xDeviceCharacteristics = characteristics,
                                             .xShmMap = map,
                                             .xShmLock = lock_map,
                                             .xShmBarrier = barrier,
                                             .xShmUnmap = unmap};
  (void)vfs;
  const enum slot slot = flags & SQLITE_OPEN_MAIN_DB        ? DATABASE
                         : flags & SQLITE_OPEN_WAL          ? LOG
                         : flags & SQLITE_OPEN_MAIN_JOURNAL ? JOURNAL
                                                            : SLOTS;
  if (slot == SLOTS) return below->xOpen(below, path, file, flags, given);
  file->pMethods = NULL;
  const bool made = access(path, F_OK) && flags & SQLITE_OPEN_CREATE;
  if (made && !works()) return SQLITE_CANTOPEN;
  if (made) rename_file(&disk.files[slot], true);
  ((struct opened *)file)->slot = slot;
  memset(real(file), 0, (size_t)below->szOsFile);
  const int status = below->xOpen(below, path, real(file), flags, given);
  if (real(file)->pMethods) file->pMethods = &methods;
  return status;
}

static int delete_file(sqlite3_vfs *vfs, const char *path, int sync) {
  (void)vfs;
  if (access(path, F_OK)) return SQLITE_IOERR_DELETE_NOENT;
  if (!works()) return SQLITE_IOERR_DELETE;
  const int status = below->xDelete(below, path, 0);
  for (int i = 0; i < SLOTS; i++)
    if (status == SQLITE_OK && !strcmp(path + strlen(path) - strlen(suffixes[i]), suffixes[i]) &&
        *suffixes[i])
      rename_file(&disk.files[i], false);
  if (sync) sync_names();
  return status;
}

static int begin_disk(void **state) {
  static sqlite3_vfs vfs;
  (void)state;
  strcpy(disk.folder, "crash-XXXXXX");
  if (sqlite3_initialize() != SQLITE_OK || !(below = sqlite3_vfs_find(NULL)) || !mkdtemp(disk.folder))
    return -1;
  snprintf(disk.path, sizeof disk.path, "%s/s.db", disk.folder);
  vfs = *below;
  vfs.zName = "crash";
  vfs.szOsFile = (int)sizeof(struct opened) + below->szOsFile;
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  return sqlite3_vfs_register(&vfs, 1);
}

static int end_disk(void **state) {
  (void)state;
  for (int i = 0; i < SLOTS; i++) {
    rename_file(&disk.files[i], false);
    free(disk.files[i].synced.data);
    free(disk.files[i].former.data);
    remove(name_of(i, ""));
  }
  return rmdir(disk.folder);
}

/* --- what is left --- */

enum end {
  KILLED /* what was written is there */,
  POWER /* what was synced */,
  PARTLY /* and some sectors of the rest */,
  ENDS
};

/* A piece, or some sectors of it. */
static void apply(const struct piece *piece, struct bytes *out) {
  const uint64_t how = draw(3);
  if (!how) return;
  const size_t until = (size_t)piece->at + piece->count;
  if (until > out->count || !piece->data) {
    unsigned char *grown = calloc(1, until + 1);
    if (!grown) abort();
    memcpy(grown, out->data, out->count < until ? out->count : until);
    free(out->data);
    *out = (struct bytes){grown, until};
  }
  for (size_t at = 0, count; at < piece->count; at += count) {
    count = SECTOR - ((size_t)piece->at + at) % SECTOR;
    if (count > piece->count - at) count = piece->count - at;
    if (how == 1 || draw(2)) memcpy(out->data + piece->at + at, piece->data + at, count);
  }
}

/* False: there is no such file. */
static bool content(enum slot slot, enum end how, struct bytes *out) {
  const struct disk_file *f = &disk.files[slot];
  if (how == KILLED) return read_now(slot, out);
  const bool known = f->named || (how == PARTLY && f->exists && draw(2)),
             former = !known && f->has_former && (how == POWER || draw(2));
  if (known)
    set_bytes(out, f->synced.data, f->synced.count);
  else if (former)
    set_bytes(out, f->former.data, f->former.count);
  for (size_t i = 0; known && how == PARTLY && i < f->n_pieces; i++) apply(&f->pieces[i], out);
  return known || former;
}

struct remains {
  struct bytes bytes[SLOTS];
  bool there[SLOTS];
};

static void take_remains(struct remains *r, enum end how) {
  for (int i = 0; i < SLOTS; i++) r->there[i] = content(i, how, &r->bytes[i]);
}

/* The machine starts again. */
static void start_with(struct remains *r) {
  remove(name_of(DATABASE, "-shm"));
  for (int i = 0; i < SLOTS; i++) {
    struct disk_file *f = &disk.files[i];
    remove(name_of(i, ""));
    rename_file(f, r->there[i]);
    f->named = f->exists;
    f->has_former = false;
    if (f->exists) {
      set_bytes(&f->synced, r->bytes[i].data, r->bytes[i].count);
      FILE *file = fopen(name_of(i, ""), "we");
      if (!file || fwrite(r->bytes[i].data, 1, r->bytes[i].count, file) != r->bytes[i].count || fclose(file))
        abort(); /* there is no room for the test */
    }
    free(r->bytes[i].data);
    r->bytes[i] = (struct bytes){0};
  }
  disk.calls = disk.dies_at = disk.fails_at = 0;
  disk.dead = false;
}

static void start_anew(void) {
  struct remains none = {0};
  start_with(&none);
}

#endif
