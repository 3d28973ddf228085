/* SHA-256 of documents, by the processor's instructions for it where it has them (20 times as fast as
 * tc_sha256, which else does it). */
#ifndef TB_DASHBOARD_DIGEST_H
#define TB_DASHBOARD_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

/* Whether the processor has them; asked once, since asking is slow under a hypervisor. */
bool tb_digest_is_fast(void);
void tb_digest(bool fast, const void *data, size_t bytes, unsigned char digest[TC_SHA256_BYTES]);

#endif
