/* Files that are there whole or not at all. Invariants:
 * 1. A reader of the path sees the old content or all of the new, whenever the writer is killed or the power
 *    goes.
 * 2. Nothing that lies in the folder already is written to, nor what a link there leads to.
 * 3. A file that takes the place of another has that one's permissions.
 * What a writer that was killed has left beside its file (".NAME.PID.tbench-part") is of no meaning, and is
 * removed by the next one in that folder once it is an hour old. Threads: a path is one thread's. */
#ifndef TB_ATOMIC_FILE_H
#define TB_ATOMIC_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct tb_atomic_file {
  FILE *out;
  char *path, *temp;
};

/* Begins to write `path`, through its `out`. False with errno set: nothing is begun. */
bool tb_atomic_file_begin(const char *path, struct tb_atomic_file *out);
/* Ends it: with `good`, and where all could be written to `out`, the file is at its path, on disk. False
 * where that is not so, with errno set, or left as it is where it was not `good`: then what was at the path
 * before is there still, but where the folder alone could not be written. */
bool tb_atomic_file_end(struct tb_atomic_file *file, bool good);

#endif
