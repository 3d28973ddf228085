/* The tables of a database, as this program wants them. */
#ifndef TB_DASHBOARD_MIGRATE_H
#define TB_DASHBOARD_MIGRATE_H

#include "dashboard/store/store.h"

/* The version of a file's tables, which is its `PRAGMA user_version`; 0: the file is empty. Changes nothing.
 * TC_VERSION: a newer program made it; TC_CORRUPT: it is no database of ours. `path` is for the message. */
tc_status tb_check_version(struct tb_store *store, const char *path, int64_t *version, struct tc_error *err);

/* With TB_STORE_WRITE tables are made in an empty file, those of older programs are changed, and `points`
 * gets the columns of figures that it lacks: all in one transaction, so that the file is as it was or as it
 * shall be, whenever the process ends. Of several processes one does it, and the others wait. With
 * TB_STORE_READ nothing is changed, and older tables are taken as they are. Errors: those of
 * tb_check_version, and TC_IO. */
tc_status tb_migrate(struct tb_store *store, const char *path, enum tb_store_use use, struct tc_error *err);

#endif
