/* What documents are packed with: the names of the schema's members, and behind them the beginning of a
 * document that was stored. Documents of a team look alike (the same machines, the same suites), so with one
 * of them known the others take less time and room: a tenth of either.
 *
 * 1. Of a new file the first document is the sample. Later another one is, when documents have come that it
 *    does not fit: after 64 of them, then after eight times as many, and so on, so that a file has few
 *    dictionaries (at most TB_STORE_DICTIONARIES).
 * 2. A dictionary is used after its commit alone. It stays in the file for good, since documents need it:
 *    also when its document is removed.
 * Threads: any may ask for the newest and offer samples. Dictionaries stay where they are until
 * tb_dictionaries_close. */
#ifndef TB_DASHBOARD_DICTIONARY_H
#define TB_DASHBOARD_DICTIONARY_H

#include <stdatomic.h>

#include "dashboard/ingest/schema.h"
#include "dashboard/store/writer.h"

struct tb_dictionary {
  struct tb_dictionary *older;
  int64_t id;
  size_t length;
  char bytes[TB_STORE_DICTIONARY];
};

struct tb_dictionaries {
  _Atomic(struct tb_dictionary *) newest;
  char names[TB_STORE_DICTIONARY];
  size_t names_length;
  atomic_llong misfits; /* documents that do not fit, until one of them is the sample */
  long long patience;   /* how many they are the next time; of the writer */
};

/* False with store->error. */
bool tb_dictionaries_open(struct tb_dictionaries *dictionaries, const struct tb_schema *schema,
                          struct tb_store *store);
void tb_dictionaries_close(struct tb_dictionaries *dictionaries);

static inline const struct tb_dictionary *tb_dictionary_newest(struct tb_dictionaries *dictionaries) {
  return atomic_load_explicit(&dictionaries->newest, memory_order_acquire);
}

/* A document that was packed into so many bytes. Where it is to be the next sample: what the writer is to do,
 * of which nobody need be told. */
struct tb_write *tb_dictionary_offer(struct tb_dictionaries *dictionaries, const char *text, size_t length,
                                     size_t packed);

#endif
