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
/* Makes the folder of a file (one level) unless it is there, and tries to create a file in it. TC_IO says what fails. */
tc_status tb_folder_writable(struct tc_arena *arena, const char *file, struct tc_error *err);

#endif
