/* A copy of a database, in a file of its own, also while a server writes to the database.
 *
 * 1. The copy is written to a new file beside its name, synced, and takes the name then: whatever ends the
 *    process, the name leads to what it led to before, or to a whole copy.
 * 2. It takes the place of nothing but an empty file or an earlier database of tbench serve: never of the one
 *    that is copied, by whatever name or link, and never of one that something has open. Any other file stays
 *    as it is.
 * 3. What a process that was killed left of a copy goes with the next copy to that name. A signal that asks
 *    to end leaves nothing behind.
 * 4. It is never put beside a log that SQLite would take for a part of it. */
#ifndef TB_DASHBOARD_BACKUP_H
#define TB_DASHBOARD_BACKUP_H

#include "base/error.h"
#include "harness/base/interrupt.h"

/* Whether there is a database to work with: a file that is not empty. */
tc_status tb_backup_source(const char *db, struct tc_error *err);

/* A whole copy of `db` under the name `to`. TC_ARG: that name cannot be taken, and what is there is unharmed.
 * TC_INTERRUPTED: a signal came before the copy was whole. */
tc_status tb_backup(const char *db, const char *to, struct tb_interrupt *interrupt, struct tc_error *err);

#endif
