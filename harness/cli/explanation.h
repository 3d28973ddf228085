/* The document of `tbench explain format=json`, which format=html shows:
 *
 *     { "kind": "explanation", "version": "…",
 *       "cases": [ { "id": "…", "explanation": { … what tb.explain gives: breaks, pieces, stages_ns, … } } ],
 *       "sources": [ { "chunk": "@file.lua", "text": "…" } ] }     files that pieces of the cases stand in,
 *       as far as they can be read */
#ifndef TB_EXPLANATION_H
#define TB_EXPLANATION_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/error.h"

/* NULL when memory is out. */
cJSON *tb_explanation_new(void);
/* Takes over the explanation of a case, and adds the files that it speaks of. */
bool tb_explanation_add(cJSON *document, const char *id, cJSON *explanation);
/* To a file, which is whole or not there, or (path "") to standard output. */
tc_status tb_explanation_write(cJSON *document, bool html, const char *path, struct tc_error *err);

#endif
