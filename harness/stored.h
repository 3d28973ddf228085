/* Documents that lie in files: results and comparisons. */
#ifndef TB_STORED_H
#define TB_STORED_H

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/error.h"

/* Whether a document is of ab, compare or gate; else it is a result. */
bool tb_stored_is_comparison(const cJSON *document);
/* As tb_stored_load; a comparison is TC_CORRUPT. */
cJSON *tb_stored_load_result(struct tc_arena *arena, const char *path, struct tc_error *err);
/* Reads a document that has a list of cases, and makes its texts fit for a terminal. The caller deletes it (cJSON_Delete). NULL with
 * an error: TC_IO (no such file), TC_LIMIT, TC_NOMEM, TC_CORRUPT (no JSON, no result, another schema). */
cJSON *tb_stored_load(struct tc_arena *arena, const char *path, struct tc_error *err);
/* The environment of a result that a case of it was measured in; `one_case` NULL: the first one. NULL: there is none. */
const cJSON *tb_stored_environment(const cJSON *document, const cJSON *one_case);

#endif
