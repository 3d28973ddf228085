/* SHA-256 of documents and tokens. base/hash.h has it too, for the compiler's keys, so that tbench links no
 * library for it; this one is many times as fast. */
#ifndef TB_DASHBOARD_DIGEST_H
#define TB_DASHBOARD_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

/* False: out of memory. From any thread. */
bool tb_digest(const void *data, size_t bytes, unsigned char digest[TC_SHA256_BYTES]);

#endif
