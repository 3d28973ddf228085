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
/* The same, and the file's own bytes, *size of them with a zero behind, in the arena: what the document was
 * before its texts were made fit. */
cJSON *tb_stored_load_result_bytes(struct tc_arena *arena, const char *path, const char **bytes, size_t *size,
                                   struct tc_error *err);
/* Reads a document that has a list of cases, and makes its texts fit for a terminal. The caller deletes it
 * (cJSON_Delete). NULL with an error: TC_IO (no such file), TC_LIMIT, TC_NOMEM, TC_CORRUPT (no regular file,
 * no UTF-8, no JSON, no result, another schema, a result that does not agree with itself: stored_check.h). */
cJSON *tb_stored_load(struct tc_arena *arena, const char *path, struct tc_error *err);

#endif
