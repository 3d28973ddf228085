/* The made-up world: its processes, and its disk. */
#include "tests/fault/push_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_begin(struct world *w, uint64_t seed) {
  memset(w, 0, sizeof *w);
  w->random.state = seed;
  w->clock_s = 1;
  for (int i = 0; i < WORLD_NAMES; i++) w->now.file[i] = w->synced.file[i] = -1;
}

/* --- dying and failing --- */

enum world_fate world_call(struct world *w) {
  if (w->dead) return WORLD_DIES_BEFORE;
  if (w->meanwhile_in && !--w->meanwhile_in) w->meanwhile(w->meanwhile_data);
  w->calls++;
  w->clock_s += 0.001;
  if (w->calls == w->dies_at) return w->dies_after ? WORLD_DIES_AFTER : WORLD_DIES_BEFORE;
  return w->calls == w->fails_at ? WORLD_FAILS : WORLD_WORKS;
}

/* -1 where the call has no effect. */
static int begins(struct world *w, enum world_fate *fate) {
  *fate = world_call(w);
  if (*fate == WORLD_DIES_BEFORE) w->dead = true;
  errno = *fate == WORLD_FAILS ? w->fails_why : EIO;
  return *fate == WORLD_WORKS || *fate == WORLD_DIES_AFTER ? 0 : -1;
}

/* What the process sees of a call that had its effect. */
static long ends(struct world *w, enum world_fate fate, long value) {
  if (fate != WORLD_DIES_AFTER) return value;
  w->dead = true;
  errno = EIO;
  return -1;
}

/* --- names --- */

static int find_name(const struct world_names *names, const char *name) {
  for (int i = 0; i < WORLD_NAMES; i++)
    if (names->file[i] >= 0 && !strcmp(names->name[i], name)) return i;
  return -1;
}

static void apply(struct world_names *names, const struct world_change *change) {
  const int from = *change->from ? find_name(names, change->from) : -1;
  if (from >= 0) names->file[from] = -1;
  if (!*change->to) return;
  int to = find_name(names, change->to);
  for (int i = 0; to < 0 && i < WORLD_NAMES; i++)
    if (names->file[i] < 0) to = i;
  if (to < 0) abort(); /* the world is too small */
  snprintf(names->name[to], WORLD_NAME, "%s", change->to);
  names->file[to] = change->file;
}

static void change_names(struct world *w, const char *from, const char *to, int file) {
  if (w->n_changes == WORLD_CHANGES) abort(); /* the world is too small */
  struct world_change *c = &w->changes[w->n_changes++];
  snprintf(c->from, sizeof c->from, "%s", from);
  snprintf(c->to, sizeof c->to, "%s", to);
  c->file = file;
  apply(&w->now, c);
}

/* --- folders --- */

static bool is_there(const struct world *w, int folder) {
  return folder >= WORLD_FOLDERS || w->folders[folder];
}
static int folder_of(const char *name) { return strchr(name, '/') ? WORLD_REFUSED : WORLD_SPOOL; }

static int make_folder(struct world *w, int folder) {
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  if (!is_there(w, folder + 1)) return errno = ENOENT, -1;
  if (folder < WORLD_FOLDERS) w->folders[folder] = true;
  return (int)ends(w, fate, 0);
}

/* What is left of folders, and of names in them, after a loss of power. */
static void lose_folders(struct world *w) {
  for (int i = WORLD_FOLDERS - 1; i >= 0; i--) {
    if (w->folders[i] && !w->synced_folders[i]) w->synced_folders[i] = tb_random_next(&w->random) & 1;
    if (i + 1 < WORLD_FOLDERS && !w->synced_folders[i + 1]) w->synced_folders[i] = false;
    w->folders[i] = w->synced_folders[i];
  }
  for (int i = 0; i < WORLD_NAMES; i++)
    if (w->synced.file[i] >= 0 && !is_there(w, folder_of(w->synced.name[i]))) w->synced.file[i] = -1;
}

static bool lies_in(const char *name, const char *folder) {
  const char *slash = strchr(name, '/');
  return *folder ? slash && (size_t)(slash - name) == strlen(folder) && !strncmp(name, folder, strlen(folder))
                 : !slash;
}

/* All changes up to the newest one of this folder are on disk. */
static void sync_names(struct world *w, const char *folder) {
  int upto = 0;
  for (int i = 0; i < w->n_changes; i++) {
    const struct world_change *c = &w->changes[i];
    if ((*c->from && lies_in(c->from, folder)) || (*c->to && lies_in(c->to, folder))) upto = i + 1;
  }
  for (int i = 0; i < upto; i++) apply(&w->synced, &w->changes[i]);
  memmove(w->changes, w->changes + upto, (size_t)(w->n_changes - upto) * sizeof *w->changes);
  w->n_changes -= upto;
}

/* --- the disk --- */

static int new_file(struct world *w) {
  for (int i = 0; i < WORLD_FILES; i++) {
    bool named = false;
    for (int n = 0; n < WORLD_NAMES; n++) named |= w->now.file[n] == i || w->synced.file[n] == i;
    for (int n = 0; n < w->n_changes; n++) named |= w->changes[n].file == i;
    for (int n = 0; n < WORLD_OPEN; n++) named |= w->open[n].used && w->open[n].file == i;
    if (named) continue;
    memset(&w->files[i], 0, sizeof w->files[i]);
    w->files[i].used = true;
    return i;
  }
  abort(); /* the world is too small */
}

static int do_open(void *self, const char *name, enum tb_disk_how how) {
  struct world *w = self;
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  if (!is_there(w, folder_of(name))) return errno = ENOENT, -1;
  const int at = find_name(&w->now, name);
  int file = at < 0 ? -1 : w->now.file[at], fd = 0;
  if (how == TB_DISK_NEW && file >= 0) return errno = EEXIST, -1;
  if (how == TB_DISK_EXISTING && file < 0) return errno = ENOENT, -1;
  if (how == TB_DISK_NEW) change_names(w, "", name, file = new_file(w));
  while (w->open[fd].used) fd++;
  if (fd >= WORLD_OPEN) abort(); /* descriptors are lost */
  w->open[fd].used = true;
  w->open[fd].locks = false;
  w->open[fd].file = file;
  w->open[fd].at = 0;
  w->files[file].written_s = how == TB_DISK_NEW ? w->clock_s : w->files[file].written_s;
  return (int)ends(w, fate, fd);
}

static ssize_t do_read(void *self, int fd, void *bytes, size_t count) {
  struct world *w = self;
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  const struct world_file *f = &w->files[w->open[fd].file];
  const size_t rest = f->now_bytes - w->open[fd].at, piece = 1 + tb_random_next(&w->random) % WORLD_BYTES;
  size_t taken = rest < count ? rest : count;
  if (taken > piece) taken = piece;
  memcpy(bytes, f->now + w->open[fd].at, taken);
  w->open[fd].at += taken;
  return ends(w, fate, (long)taken);
}

static ssize_t do_write(void *self, int fd, const void *bytes, size_t count) {
  struct world *w = self;
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  struct world_file *f = &w->files[w->open[fd].file];
  const size_t piece = 1 + tb_random_next(&w->random) % count; /* often not all of it */
  if (f->now_bytes + piece > WORLD_BYTES) abort();
  memcpy(f->now + f->now_bytes, bytes, piece);
  f->now_bytes += piece;
  return ends(w, fate, (long)piece);
}

static int do_sync(void *self, int fd) {
  struct world *w = self;
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  struct world_file *f = &w->files[w->open[fd].file];
  memcpy(f->synced, f->now, f->now_bytes);
  f->synced_bytes = f->now_bytes;
  return (int)ends(w, fate, 0);
}

static int do_close(void *self, int fd) {
  struct world *w = self;
  enum world_fate fate;
  const int failed = begins(w, &fate);
  if (w->dead) return -1;
  w->open[fd].used = false; /* also where close says that it failed */
  if (w->open[fd].locks) w->files[w->open[fd].file].locked = false;
  return failed ? -1 : (int)ends(w, fate, 0);
}

static int do_lock(void *self, int fd) {
  struct world *w = self;
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  struct world_file *f = &w->files[w->open[fd].file];
  if (w->foreign_locks > 0 ? w->foreign_locks-- : f->locked) return errno = EWOULDBLOCK, -1;
  f->locked = w->open[fd].locks = true;
  return (int)ends(w, fate, 0);
}

static int do_is_at(void *self, int fd, const char *name) {
  struct world *w = self;
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  const int at = find_name(&w->now, name);
  return (int)ends(w, fate, at >= 0 && w->now.file[at] == w->open[fd].file);
}

static int move(struct world *w, const char *from, const char *to, bool replace) {
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  const int at = find_name(&w->now, from);
  if (at < 0 || !is_there(w, folder_of(to))) return errno = ENOENT, -1;
  if (!replace && find_name(&w->now, to) >= 0) return errno = EEXIST, -1;
  change_names(w, from, to, w->now.file[at]);
  return (int)ends(w, fate, 0);
}

static int do_rename(void *self, const char *from, const char *to) { return move(self, from, to, true); }
static int do_place(void *self, const char *from, const char *to) { return move(self, from, to, false); }

static int do_remove(void *self, const char *name) {
  struct world *w = self;
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  const int at = find_name(&w->now, name);
  if (at < 0) return errno = ENOENT, -1;
  change_names(w, name, "", w->now.file[at]);
  return (int)ends(w, fate, 0);
}

static int do_make_folder(void *self, const char *folder) {
  return make_folder(self, *folder ? WORLD_REFUSED : WORLD_SPOOL);
}
static int do_make_above(void *self, int levels) { return make_folder(self, WORLD_SPOOL + levels); }

static int sync_folder(struct world *w, int folder) {
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  if (!is_there(w, folder)) return errno = ENOENT, -1;
  if (folder > 0 && folder <= WORLD_FOLDERS) w->synced_folders[folder - 1] = w->folders[folder - 1];
  if (folder <= WORLD_SPOOL) sync_names(w, folder == WORLD_REFUSED ? "refused" : "");
  return (int)ends(w, fate, 0);
}

static int do_sync_folder(void *self, const char *folder) {
  return sync_folder(self, *folder ? WORLD_REFUSED : WORLD_SPOOL);
}
static int do_sync_above(void *self, int levels) { return sync_folder(self, WORLD_SPOOL + levels); }

static int do_list(void *self, const char *folder, bool (*visit)(void *data, const struct tb_disk_file *file),
                   void *data) {
  struct world *w = self;
  enum world_fate fate;
  if (begins(w, &fate)) return -1;
  if (!is_there(w, *folder ? WORLD_REFUSED : WORLD_SPOOL)) return errno = ENOENT, -1;
  const struct world_names names = w->now; /* a visit may remove some */
  for (int i = 0; i < WORLD_NAMES; i++) {
    if (names.file[i] < 0 || !lies_in(names.name[i], folder)) continue;
    const double written_s = w->files[names.file[i]].written_s;
    const struct tb_disk_file file = {names.name[i] + strlen(folder) + (*folder != '\0'), written_s,
                                      w->clock_s - written_s};
    if (!visit(data, &file)) break;
  }
  return (int)ends(w, fate, 0);
}

struct tb_disk world_disk(struct world *w) {
  return (struct tb_disk){
      w,         do_open,  do_read,   do_write,       do_sync,        do_close,      do_lock,       do_is_at,
      do_rename, do_place, do_remove, do_make_folder, do_sync_folder, do_make_above, do_sync_above, do_list};
}

void world_end_process(struct world *w, bool power) {
  for (int i = 0; i < WORLD_OPEN; i++) w->open[i].used = false;
  for (int i = 0; i < WORLD_FILES; i++) w->files[i].locked = false;
  if (power) {
    const int kept = (int)(tb_random_next(&w->random) % (uint64_t)(w->n_changes + 1));
    for (int i = 0; i < kept; i++) apply(&w->synced, &w->changes[i]);
    lose_folders(w);
    w->now = w->synced;
    for (int i = 0; i < WORLD_FILES; i++) {
      memcpy(w->files[i].now, w->files[i].synced, w->files[i].synced_bytes);
      w->files[i].now_bytes = w->files[i].synced_bytes;
    }
    w->n_changes = 0;
  }
  w->dead = false;
  w->calls = w->dies_at = w->fails_at = w->foreign_locks = w->meanwhile_in = 0;
  w->not_before_s = 0;
}

/* --- what lies there --- */

int world_count(const struct world *w, const char *folder, const char *suffix) {
  int count = 0;
  for (int i = 0; i < WORLD_NAMES; i++) {
    if (w->now.file[i] < 0 || !lies_in(w->now.name[i], folder)) continue;
    const size_t n = strlen(w->now.name[i]), m = strlen(suffix);
    count += n >= m && !strcmp(w->now.name[i] + n - m, suffix);
  }
  return count;
}

int world_without_reason(const struct world *w) {
  int count = 0;
  for (int i = 0; i < WORLD_NAMES; i++) {
    char reason[WORLD_NAME];
    const char *end =
        w->now.file[i] < 0 || !lies_in(w->now.name[i], "refused") ? NULL : strstr(w->now.name[i], ".entry");
    if (!end) continue;
    snprintf(reason, sizeof reason, "%.*s.reason", (int)(end - w->now.name[i]), w->now.name[i]);
    count += find_name(&w->now, reason) < 0;
  }
  return count;
}

bool world_has(struct world *w, const char *folder, const char *key) {
  for (int i = 0; i < WORLD_NAMES; i++) {
    const char *name = w->now.name[i];
    if (w->now.file[i] < 0 || !lies_in(name, folder) || !strstr(name, ".entry")) continue;
    const struct world_file *f = &w->files[w->now.file[i]];
    char data[WORLD_BYTES + 1];
    struct tb_spool_entry entry;
    memcpy(data, f->now, f->now_bytes);
    data[f->now_bytes] = '\0';
    if (!tb_spool_decode(data, f->now_bytes, &entry, NULL) && !strcmp(entry.key, key)) return true;
  }
  return false;
}
