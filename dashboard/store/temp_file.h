/* The new file beside a name in which a copy is written until it is whole: NAME.part-XXXXXX.
 *
 * Whoever writes it has a lock on it for as long, so that what a killed process left behind is told from what
 * is being written, by whatever process. SQLite's own locks are at other places of a file. */
#ifndef TB_DASHBOARD_TEMP_FILE_H
#define TB_DASHBOARD_TEMP_FILE_H

#include <stddef.h>

enum { TB_TEMP_FILE_SUFFIX = 16 /* bytes that its name is longer, with the zero */ };

/* An empty one, locked until the descriptor is closed; its name is in `temp`. -1: errno says why. */
int tb_temp_file_new(const char *path, char *temp, size_t size);
/* Removes those of this name that nobody writes any more, with what SQLite left beside them. What cannot be
 * removed stays. */
void tb_temp_file_remove_left(const char *path);

#endif
