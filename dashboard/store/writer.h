/* The one thread that writes: it takes all that has come, does it in one transaction, and answers after its
 * commit.
 *
 * 1. `done` is called after the commit (its fsync) of the group, or with TB_WRITTEN_FAILED after the group's
 *    rollback; never before.
 * 2. Groups form by themselves: what comes during a commit is the next group. Where many come at once, a
 *    group waits until half of them are here, but no longer than the last one took, nor than 2 ms. At most
 *    TB_WRITER_GROUP items, so that no answer waits long.
 * 3. tb_writer_stop does all that was put before it returns.
 * 4. The first group that fails after a good one, and the first good one after that, are told on standard
 *    error.
 * Ownership: an item belongs to the writer from tb_writer_put to its `done`. */
#ifndef TB_DASHBOARD_WRITER_H
#define TB_DASHBOARD_WRITER_H

#include "dashboard/store/store.h"

enum { TB_WRITER_GROUP = 1024 };

enum tb_written { TB_WRITTEN_STORED, TB_WRITTEN_THERE, TB_WRITTEN_FAILED };

struct tb_write {
  struct tb_write *next;
  enum tb_written (*apply)(struct tb_write *self, struct tb_store *store);
  void (*done)(struct tb_write *self); /* on the writer's thread; may free it */
  void *owner;                         /* for `done` */
  enum tb_written written;
};

struct tb_writer;

struct tb_writer_counts {
  uint64_t groups, items, failed_groups;
  double busy_s;
  bool failing;    /* the newest group could not be written */
  char error[256]; /* of the newest failure */
};

/* The store belongs to the writer until it is stopped. NULL when there is no thread or no memory. */
struct tb_writer *tb_writer_start(struct tb_store *store);
/* From now on `ended` is called with `self` behind the last `done` of each group. Before anything is put. */
void tb_writer_on_end(struct tb_writer *writer, void (*ended)(void *self), void *self);
void tb_writer_put(struct tb_writer *writer, struct tb_write *item);
size_t tb_writer_waiting(struct tb_writer *writer);
struct tb_writer_counts tb_writer_counts(struct tb_writer *writer);
void tb_writer_stop(struct tb_writer *writer);

#endif
