/* Ids of names that were looked up lately, so that most insertions ask the database for none. Bounded: each
 * name has one place, and pushes out whoever is there. Between the store's files alone. */
#ifndef TB_DASHBOARD_NAMES_H
#define TB_DASHBOARD_NAMES_H

#include "dashboard/store/store.h"

bool tb_names_open(struct tb_store *store); /* false when memory is out */
void tb_names_close(struct tb_store *store);

#endif
