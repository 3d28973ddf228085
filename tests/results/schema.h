/* The validator of the dashboard (dashboard/ingest/schema.h) for documents that lie in memory: what tests
 * hold results against. */
#ifndef TESTS_UNIT_SCHEMA_H
#define TESTS_UNIT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

/* Whether `value` is valid; otherwise `why` (of `size` bytes) says where it is not. A schema that cannot be
 * loaded makes nothing valid. */
bool schema_valid(const cJSON *schema, const cJSON *value, char *why, size_t size);
/* As schema_valid, and the schema names every field of `value`: for what this program writes. (Readers must
 * take fields that they do not know, so the schema itself closes no object.) */
bool schema_describes(const cJSON *schema, const cJSON *value, char *why, size_t size);
/* Parses a JSON file; NULL when it cannot be read or is no JSON. */
cJSON *schema_load(const char *path);

#endif
