/* What the spool asks of a file system: one function a system call, so that a test can stop, fail or lose
 * power at each of them.
 *
 * Names are relative to the spool's folder ("x.entry", "refused/x.entry"). As system calls do, functions
 * return -1 with errno set where they fail. Threads: one at a time. */
#ifndef TB_SPOOL_DISK_H
#define TB_SPOOL_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

enum tb_disk_how {
  TB_DISK_EXISTING,
  /* for reading and locking */ TB_DISK_NEW /* for writing; EEXIST where there is one */
};

/* One file of a folder. */
struct tb_disk_file {
  const char *name; /* without the folder; valid during the visit */
  double written_s; /* when it was written, seconds since 1970 */
  double age_s;
};

struct tb_disk {
  void *self;
  int (*open)(void *self, const char *name, enum tb_disk_how how);
  ssize_t (*read)(void *self, int fd, void *bytes, size_t count);
  ssize_t (*write)(void *self, int fd, const void *bytes, size_t count);
  int (*sync)(void *self, int fd);
  int (*close)(void *self, int fd); /* unlocks, too */
  int (*lock)(void *self, int fd);  /* never waits: EWOULDBLOCK where another has it */
  int (*is_at)(void *self, int fd,
               const char *name); /* 1: the name still leads to the open file; 0: it does not */
  int (*rename)(void *self, const char *from, const char *to); /* replaces */
  int (*place)(void *self, const char *from, const char *to);  /* EEXIST where `to` is there already */
  int (*remove)(void *self, const char *name);
  int (*make_folder)(
      void *self,
      const char *folder); /* in the spool; ENOENT where that is not there; fine where it is there itself */
  int (*sync_folder)(void *self, const char *folder); /* "" is the spool itself */
  /* The same of the folder so many levels above the spool, 0 being the spool itself; above the last one of
   * its path comes that one again. */
  int (*make_above)(void *self, int levels);
  int (*sync_above)(void *self, int levels);
  int (*list)(void *self, const char *folder, bool (*visit)(void *data, const struct tb_disk_file *file),
              void *data); /* until a visit says false */
};

/* The real one. `folder`: of the spool, which this user alone may enter, as those above it that are made; ""
 * means $XDG_STATE_HOME/tbench/spool, or ~/.local/state/tbench/spool. *path is which one it is, in the arena.
 * TC_IO: there is no home; TC_NOMEM. */
tc_status tb_spool_disk(struct tc_arena *arena, const char *folder, struct tb_disk *disk, const char **path,
                        struct tc_error *err);
/* Once the folders are there: what lies in them says whom a token goes to, so nobody else may put anything
 * there. TC_IO: another user's, or others may write there. */
tc_status tb_spool_disk_check(const char *path, struct tc_error *err);

#endif
