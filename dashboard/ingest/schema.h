/* JSON Schema (2020-12), the part that results/schema.json uses, made once into a tree of rules and then
 * checked fast.
 *
 * Keywords: type, const, enum (null, booleans, numbers, texts), properties, required, additionalProperties,
 * items, minItems, minimum, exclusiveMinimum, exclusiveMaximum, $ref into $defs, allOf, if/then/else, format
 * (date-time: RFC 3339); title, description and $schema say nothing. Whatever else a schema says is refused
 * when it is loaded, so that it cannot say what is not checked. A member that stands twice, where the schema
 * names it, is wrong: two readers might take different ones. Threads: a schema is only read by checks. */
#ifndef TB_DASHBOARD_SCHEMA_H
#define TB_DASHBOARD_SCHEMA_H

#include "base/error.h"
#include "dashboard/ingest/tape.h"

struct tb_schema;

enum { TB_SCHEMA_WHY = 512 };

/* NULL with an error: TC_PARSE (no JSON, or a keyword that is not known), TC_NOMEM. */
struct tb_schema *tb_schema_load(const char *text, size_t length, struct tc_error *err);
void tb_schema_free(struct tb_schema *schema);
/* results/schema.json, as the program carries it. */
struct tb_schema *tb_schema_of_results(struct tc_error *err);
/* Names of members in the order of the schema, one behind the other: what documents have in common. In `out`,
 * at most `size` bytes. */
size_t tb_schema_names(const struct tb_schema *schema, char *out, size_t size);

/* Whether a document is valid; else `why` (TB_SCHEMA_WHY bytes) has the path to what is wrong and what was
 * expected there: "$.cases[3].speedup.ratio: expected number, found string". `closed`: members that the
 * schema does not name are wrong too. */
bool tb_schema_check(const struct tb_schema *schema, const struct tb_tape *json, bool closed, char *why);

#endif
