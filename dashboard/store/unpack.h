/* Documents are kept compressed (zstd), each with the number of the dictionary that it needs: the names of
 * the schema's members, as they were when the file was made. Between the store's files alone. */
#ifndef TB_DASHBOARD_UNPACK_H
#define TB_DASHBOARD_UNPACK_H

#include "dashboard/store/store.h"

void tb_unpack_close(struct tb_store *store);

#endif
