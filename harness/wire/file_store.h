/* Files that were sent to a host, by their content: each is kept once, for all runs to come, and linked into
 * the work folder of the run that uses it. Unused for a month, it is removed.
 *
 *     ~/.cache/tbench/blobs/<SHA-256>                    ($XDG_CACHE_HOME/tbench, where that is set)
 *     ~/.cache/tbench/runs/<run>/files/<folder>/<name>
 *
 * Ownership: texts in the arena. Threads: any number of processes may share a store. */
#ifndef TB_FILE_STORE_H
#define TB_FILE_STORE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"

struct tb_file_store {
  struct tc_arena *arena;
  const char *root, *work; /* work: path of the run's folder; NULL: none yet */
};

/* Finds the store of this user, and makes it where it is not. TC_IO, TC_NOMEM. */
tc_status tb_file_store_open(struct tc_arena *arena, struct tb_file_store *store, struct tc_error *err);
/* Makes a work folder, and removes files that nobody has used for a month. *name: the run's. */
tc_status tb_file_store_begin(struct tb_file_store *store, const char **name, struct tc_error *err);
/* Takes the folder of a run that another process has begun. */
tc_status tb_file_store_join(struct tb_file_store *store, const char *name, struct tc_error *err);
/* Removes the work folder that tb_file_store_begin made. */
void tb_file_store_end(struct tb_file_store *store);

/* A file that is on its way. */
struct tb_file_coming {
  int fd;           /* -1: none */
  const char *temp; /* in the store */
  char expected[TC_SHA256_HEX];
  struct tc_sha256 sha;
};
/* Whether the store has it. */
bool tb_file_store_has(const struct tb_file_store *store, const char *hash);
tc_status tb_file_coming_begin(const struct tb_file_store *store, const char *hash,
                               struct tb_file_coming *coming, struct tc_error *err);
tc_status tb_file_coming_add(struct tb_file_coming *coming, const void *data, size_t bytes,
                             struct tc_error *err);
/* Keeps it, if its content is what was said. `runs`: it is a program. */
tc_status tb_file_coming_end(const struct tb_file_store *store, struct tb_file_coming *coming, bool runs,
                             struct tc_error *err);
/* Links a file of the store as files/FOLDER/NAME into the work folder; *path: from there. */
tc_status tb_file_store_link(const struct tb_file_store *store, const char *hash, const char *folder,
                             const char *name, const char **path, struct tc_error *err);

#endif
