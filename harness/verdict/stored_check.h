/* Whether a result agrees with itself (stored.h). */
#ifndef TB_STORED_CHECK_H
#define TB_STORED_CHECK_H

#include <cjson/cJSON.h>

#include "base/arena.h"

/* What two parts of a result say that cannot both be, with the case; NULL: it holds together. The text is in
 * the arena. */
const char *tb_stored_wrong(struct tc_arena *arena, const cJSON *document);

#endif
