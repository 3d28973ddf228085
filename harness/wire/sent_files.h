/* Which files were sent to another host, and what they are called there. Ownership: all lies in the arena. */
#ifndef TB_SENT_FILES_H
#define TB_SENT_FILES_H

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct tb_sent_file {
  const char *path, *name; /* here and there */
};
struct tb_sent_files {
  struct tc_arena *arena;
  TC_VEC(struct tb_sent_file) items;
};

/* The name of a file there; NULL: it was not sent. */
const char *tb_sent_files_find(const struct tb_sent_files *files, const char *path);
/* TC_NOMEM. */
tc_status tb_sent_files_add(struct tb_sent_files *files, const char *path, const char *name,
                            struct tc_error *err);
/* Puts the paths of here in place of the names of there, in all texts of a document and of what stands beside
 * it. Where memory is out, a name stays. */
void tb_sent_files_restore(const struct tb_sent_files *files, cJSON *item);

#endif
