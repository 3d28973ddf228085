/* What each switch of compile time buys (reporters/ablation.h), of a stored result. */
#ifndef TB_DASHBOARD_ABLATION_H
#define TB_DASHBOARD_ABLATION_H

#include "dashboard/server/server.h"
#include "reporters/ablation.h"

enum { TB_ABLATION_KEY = 2 * TC_SHA256_BYTES + 1 };

struct tb_stored_ablation {
  char key[TB_ABLATION_KEY];
  cJSON *document;
  struct tb_ablation rows; /* borrows from the document */
};

/* The result that key= names, else the newest that has cases with such switches. False: it was answered why
 * not (404: there is none). */
bool tb_ablation_query(struct tb_query *request, struct tb_store *store, struct tb_stored_ablation *out);
void tb_stored_ablation_free(struct tb_stored_ablation *ablation);

/* Name of a row's model: that of its cases but for batch and mode; of a row over all, "over N models". */
void tb_ablation_model(const struct tb_stored_ablation *ablation, const struct tb_ablation_row *row,
                       char *out, size_t size);
/* With its 95% interval. */
struct tb_ratio tb_ablation_figure_of(const struct tb_ablation_row *row, enum tb_ablation_figure figure);
/* "equal", "differs"; NULL: not known. */
const char *tb_ablation_artifact(const struct tb_ablation_row *row);

#endif
