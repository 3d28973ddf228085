/* Fields of JSON documents that are written. What is not known is null, never left out. Each adds one field
 * to `object`; where memory is out it adds nothing, as cJSON does. */
#ifndef TB_RESULTS_JSON_ADD_H
#define TB_RESULTS_JSON_ADD_H

#include <cjson/cJSON.h>

#include "base/vec.h"

typedef TC_VEC(double) tb_doubles;
typedef TC_VEC(const char *) tb_texts;

/* null unless it is finite. */
void tb_add_number(cJSON *object, const char *name, double value);
/* Nanoseconds, to one decimal. */
void tb_add_ns(cJSON *object, const char *name, double ns);
/* null for NULL. */
void tb_add_text(cJSON *object, const char *name, const char *text);
void tb_add_texts(cJSON *object, const char *name, const tb_texts *texts);
void tb_add_numbers(cJSON *object, const char *name, const tb_doubles *numbers);
void tb_add_ns_list(cJSON *object, const char *name, const tb_doubles *samples);

#endif
