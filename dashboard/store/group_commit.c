/* What a transaction's documents have in common is written once for all of them: a statement costs some
 * percent of a document. */
#include "dashboard/store/store.h"

static bool renew_commits(struct tb_store *store) {
  bool good = true;
  for (int i = 0; good && i < store->n_measured; i++) {
    sqlite3_stmt *renew = tb_store_get(store, TB_SQL_RENEW_COMMIT);
    if (!renew) return false;
    sqlite3_bind_int64(renew, 1, store->measured[i].commit);
    sqlite3_bind_int64(renew, 2, store->measured[i].started);
    good = tb_store_run(store, renew);
  }
  store->n_measured = 0;
  return good;
}

bool tb_store_measured(struct tb_store *store, int64_t commit, int64_t started) {
  for (int i = 0; i < store->n_measured; i++) {
    if (store->measured[i].commit != commit) continue;
    if (store->measured[i].started < started) store->measured[i].started = started;
    return true;
  }
  if (store->n_measured == TB_STORE_MEASURED && !renew_commits(store)) return false;
  store->measured[store->n_measured].commit = commit;
  store->measured[store->n_measured++].started = started;
  return true;
}

bool tb_store_flush_group(struct tb_store *store) {
  const bool good =
      renew_commits(store) &&
      (!store->more_documents || tb_store_set_meta(store, "documents", store->more_documents, true)) &&
      (!store->more_points || tb_store_set_meta(store, "points", store->more_points, true));
  store->more_documents = store->more_points = 0;
  return good;
}
