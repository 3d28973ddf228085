/* Folders: making, trying and removing. */
#ifndef TB_FOLDER_H
#define TB_FOLDER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* Removes a folder and all in it; follows no links. What cannot be removed stays. */
void tb_folder_remove(const char *path);
/* A private folder under `parent`; NULL with an error when it cannot be made. In the arena. */
const char *tb_folder_private(struct tc_arena *arena, const char *parent, struct tc_error *err);
/* Whether `file` could be a file's name: in a folder that is there, and itself no folder or device. TC_IO
 * says what it is. */
tc_status tb_folder_there(struct tc_arena *arena, const char *file, struct tc_error *err);
/* The same, and tries to create a file beside it. */
tc_status tb_folder_writable(struct tc_arena *arena, const char *file, struct tc_error *err);
/* Makes a folder (one level) unless it is there. */
tc_status tb_folder_make(const char *path, struct tc_error *err);

#endif
