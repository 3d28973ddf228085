/* A result as its JSON document (results/schema.json), and on disk. */
#ifndef TB_RECORD_H
#define TB_RECORD_H

#include <cjson/cJSON.h>

#include "harness/run/result.h"

/* The document; NULL when memory is out. The caller deletes it. */
cJSON *tb_record_json(const struct tb_result *result);
/* Adds one case to the document's list of them (record_case.c). */
void tb_record_case(cJSON *cases, const struct tb_case_result *result);

/* --- record_file.c --- */
/* Writes it so that `path` holds either the old content or all of the new (atomic_file.h). */
tc_status tb_record_write(const cJSON *document, const char *path, struct tc_error *err);
/* Takes a name by an empty file: *path, or with -2, -3, … before its .json, of which no file was there.
 * False: no file could be made; *path is as it was. */
bool tb_record_take(struct tc_arena *arena, const char **path);
/* As write; where that fails, once more into $TMPDIR or /tmp under the same name, or with -2, -3, … where
 * that is taken. *written is where it lies (in the arena), NULL where nothing could be written. The status is
 * the first write's. */
tc_status tb_record_save(struct tc_arena *arena, const cJSON *document, const char *path,
                         const char **written, struct tc_error *err);

#endif
