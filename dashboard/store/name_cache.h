/* Ids of names that were looked up lately, so that most insertions ask the database for none. Bounded: each
 * name has one place, and pushes out whoever is there. Between the store's files alone. */
#ifndef TB_DASHBOARD_NAME_CACHE_H
#define TB_DASHBOARD_NAME_CACHE_H

#include "dashboard/store/store.h"

bool tb_name_cache_open(struct tb_store *store); /* false when memory is out */
void tb_name_cache_close(struct tb_store *store);

#endif
