/* Files that somebody named, to be read. Threads: any. */
#ifndef TB_REGULAR_FILE_H
#define TB_REGULAR_FILE_H

#include <stdio.h>

/* Opens it. NULL: it cannot be read, errno (EINVAL: it is no regular file) and *why, a text that stays, tell.
 * What is no regular file is not waited for: a pipe may have nobody who writes to it. */
FILE *tb_regular_open(const char *path, const char **why);

#endif
