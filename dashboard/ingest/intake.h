/* From the bytes of a request's body to what is stored: inflated, parsed, checked against the schema,
 * compressed, and its rows taken.
 *
 * 1. Nothing of a document that the schema does not allow gets further.
 * 2. Bounded by tb_intake_limits, whatever the body holds: a compressed body is inflated up to most_bytes and
 *    no further.
 * Threads: an intake is used by one thread at a time; a server has some of them. The schema is shared. */
#ifndef TB_DASHBOARD_INTAKE_H
#define TB_DASHBOARD_INTAKE_H

#include "dashboard/ingest/schema.h"
#include "dashboard/ingest/submission.h"

enum { TB_INTAKE_LEVEL = -2 /* of compression: documents come faster than better ones would take */ };

struct tb_intake_limits {
  size_t most_bytes, most_values, most_cases;
};

enum tb_taken {
  TB_TAKEN_OK,
  TB_TAKEN_BAD,       /* 400 */
  TB_TAKEN_TOO_LARGE, /* 413 */
  TB_TAKEN_NO_MEMORY, /* 503 */
};

struct tb_intake;

/* `dictionary`: of the database, with its number. NULL when memory is out. */
struct tb_intake *tb_intake_new(const struct tb_schema *schema, struct tb_intake_limits limits,
                                const void *dictionary, size_t length, int64_t id);
void tb_intake_free(struct tb_intake *intake);

/* `key`: the idempotency key that the request has, 64 hex digits of the SHA-256 of the document; NULL: none.
 * TB_TAKEN_OK: *out belongs to the caller (free). Else `why` (TB_SCHEMA_WHY bytes) is a message for the
 * sender. */
enum tb_taken tb_intake_take(struct tb_intake *intake, const char *body, size_t length, bool gzip,
                             const char *key, struct tb_submission **out, char *why);

/* The text of the document that was taken last, until the body goes away or the next one is taken; NULL: it
 * was too large to be kept. */
const char *tb_intake_text(const struct tb_intake *intake);
int64_t tb_intake_dictionary(const struct tb_intake *intake);

#endif
