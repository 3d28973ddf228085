/* The spool: documents on their way to an endpoint, one file each, on disk before anything is sent.
 *
 *     FOLDER/NAME.entry                  to be sent
 *     FOLDER/refused/NAME.entry          refused for good, beside NAME.reason, the endpoint's own words
 *     FOLDER/.NAME.….part                half-written; of no meaning, removed when old
 *
 * NAME follows from where the document goes and what it says, so a document that is pushed twice lies there
 * once. Several processes may use one spool: an entry that one has taken is BUSY for all others until it is
 * let go, or its process ends. Threads: one at a time. Texts live in the arena that they are asked for
 * with. */
#ifndef TB_SPOOL_H
#define TB_SPOOL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/vec.h"
#include "harness/push/spool_disk.h"

enum { TB_SPOOL_NAME = 40 };

struct tb_spool {
  const struct tb_disk *disk;
  const char *folder; /* for messages */
};

struct tb_spool_entry {
  const char *url, *format, *source; /* source: the file it was made from, for people */
  char key[TC_SHA256_HEX];           /* SHA-256 of the body */
  const char *body;
  size_t bytes;
};

struct tb_spool_name {
  char text[TB_SPOOL_NAME];
};
typedef TC_VEC(struct tb_spool_name) tb_spool_names;

enum tb_spool_taken {
  TB_SPOOL_TAKEN,
  TB_SPOOL_GONE,    /* another process has sent it */
  TB_SPOOL_REFUSED, /* another process has put it into refused/; the error says what the endpoint told, the
                       entry where it came from */
  TB_SPOOL_BUSY,    /* another process has it */
  TB_SPOOL_DAMAGED, /* taken; the error says why it cannot be read, and only refuse and leave may follow */
  TB_SPOOL_FAILED,  /* the error says why */
};

/* An entry that this process has. */
struct tb_spool_hold {
  struct tb_spool_name name;
  int fd;
};

/* Makes the folders, which survive a loss of power from then on, and removes what processes that were killed
 * left half-written. */
tc_status tb_spool_open(struct tb_spool *spool, struct tc_error *err);
/* Computes the key, and writes the entry: once this returns TC_OK it survives the end of this process and of
 * the machine's power. *name is how to take it. Where an equal one lies there already, that one serves. */
tc_status tb_spool_add(struct tb_spool *spool, struct tc_arena *arena, struct tb_spool_entry *entry,
                       struct tb_spool_name *name, struct tc_error *err);
/* Names of the entries to be sent, oldest first. */
tc_status tb_spool_list(struct tb_spool *spool, struct tc_arena *arena, tb_spool_names *names,
                        struct tc_error *err);
/* Of the refused ones. */
tc_status tb_spool_list_refused(struct tb_spool *spool, struct tc_arena *arena, tb_spool_names *names,
                                struct tc_error *err);
/* Puts a refused entry back among those to be sent. */
tc_status tb_spool_restore(struct tb_spool *spool, const struct tb_spool_name *name, struct tc_error *err);
/* Reads an entry that is to be sent, or (`of_refused`) a refused one, and takes it from nobody. TC_IO,
 * TC_CORRUPT: it is gone, or cannot be read. */
tc_status tb_spool_look(struct tb_spool *spool, struct tc_arena *arena, const struct tb_spool_name *name,
                        bool of_refused, struct tb_spool_entry *entry, struct tc_error *err);

/* Takes an entry and reads it. TAKEN and DAMAGED are ended by leave. */
enum tb_spool_taken tb_spool_take(struct tb_spool *spool, struct tc_arena *arena,
                                  const struct tb_spool_name *name, struct tb_spool_hold *hold,
                                  struct tb_spool_entry *entry, struct tc_error *err);
/* The endpoint has it: removes the entry. TC_IO: it will be sent again, which is harmless. */
tc_status tb_spool_done(struct tb_spool *spool, const struct tb_spool_hold *hold, struct tc_error *err);
/* The endpoint will never have it. TC_IO: it stays where it was. */
tc_status tb_spool_refuse(struct tb_spool *spool, const struct tb_spool_hold *hold, const char *reason,
                          struct tc_error *err);
void tb_spool_leave(struct tb_spool *spool, struct tb_spool_hold *hold);

/* --- spool_entry.c: an entry as bytes --- */
/* In the arena; NULL when memory is out. */
const char *tb_spool_encode(struct tc_arena *arena, const struct tb_spool_entry *entry, size_t *bytes);
/* Texts point into `data`, which is zero-terminated behind `bytes`, and is changed. TC_CORRUPT says what is
 * wrong. */
tc_status tb_spool_decode(char *data, size_t bytes, struct tb_spool_entry *entry, struct tc_error *err);

#endif
