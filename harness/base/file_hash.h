/* The content of a file, named: SHA-256 in hex. */
#ifndef TB_FILE_HASH_H
#define TB_FILE_HASH_H

#include <stdbool.h>

#include "base/hash.h"

/* False, with errno: the file cannot be read. */
bool tb_file_hash(const char *path, char text[TC_SHA256_HEX]);

#endif
