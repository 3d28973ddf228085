/* Lines of the system's own small text files, as /proc/cpuinfo. Threads: any. */
#ifndef TB_SYSTEM_FILE_H
#define TB_SYSTEM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The first line of a file that begins with `key` ("": any), key and all, without its end; longer ones are
 * cut. False: there is none. */
bool tb_system_line(const char *path, const char *key, char *line, size_t bytes);

#endif
