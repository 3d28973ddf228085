/* A disk, an endpoint and a clock for the sender, all made up, in which anything may fail or end.
 *
 * The disk knows what is synced: after a loss of power a file has what its last fsync had, and names are
 * those of a begin of the changes since the folder's last fsync. A folder that was made is there after it if
 * the one above it was synced since, and else by chance; with a folder goes all that is in it. At first there
 * is neither the spool nor what it lies in. After a kill everything written is there. A process that has
 * ended is one whose calls all fail and do nothing: its code unwinds as it likes, and what it says is not
 * heard. The endpoint stores each key once, as tbench serve does. */
#ifndef TESTS_PUSH_WORLD_H
#define TESTS_PUSH_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/push/push.h"
#include "results/stats/random.h"

enum {
  WORLD_FILES = 64,
  WORLD_NAMES = 64,
  WORLD_CHANGES = 256,
  WORLD_OPEN = 16,
  WORLD_NAME = 96,
  WORLD_BYTES = 4096,
  WORLD_DOCUMENTS = 8
};
/* Folders, each in the next one; what is above the last one is always there. */
enum { WORLD_REFUSED, WORLD_SPOOL, WORLD_ABOVE, WORLD_HIGHEST, WORLD_FOLDERS };

struct world_file {
  bool used, locked;
  char now[WORLD_BYTES], synced[WORLD_BYTES];
  size_t now_bytes, synced_bytes;
  double written_s;
};
struct world_names {
  char name[WORLD_NAMES][WORLD_NAME];
  int file[WORLD_NAMES]; /* -1: free */
};
/* A change of names: `from` "" adds, `to` "" removes. */
struct world_change {
  char from[WORLD_NAME], to[WORLD_NAME];
  int file;
};

/* What the endpoint does with a request. */
enum world_answer {
  WORLD_GOOD,
  WORLD_DOWN,
  WORLD_SLOW,
  WORLD_CUT_BODY,
  WORLD_CUT_ANSWER /* stored, and nobody hears of it */,
  WORLD_BROKEN,
  WORLD_BROKEN_STORED,
  WORLD_BUSY,
  WORLD_BUSY_LONG,
  WORLD_AWAY,
  WORLD_UNTRUSTED,
  WORLD_PAGE,
  WORLD_REDIRECT,
  WORLD_DENIED,
  WORLD_TOO_LARGE,
  WORLD_OTHER_KEY /* acknowledges another document */,
  WORLD_STRANGER /* 200 to everything */,
  WORLD_SILENT_201,
  WORLD_CUT_KEY /* stored, and the key is cut off */,
  WORLD_ANSWERS
};

struct world_document {
  char key[TC_SHA256_HEX];
  int requests, stored, told; /* answers that said it is stored, and were heard */
};

enum world_fate { WORLD_WORKS, WORLD_FAILS, WORLD_DIES_BEFORE, WORLD_DIES_AFTER };

struct world {
  struct tb_random random;
  bool folders[WORLD_FOLDERS], synced_folders[WORLD_FOLDERS];
  struct world_file files[WORLD_FILES];
  struct world_names now, synced;
  struct world_change changes[WORLD_CHANGES];
  int n_changes;
  struct {
    bool used, locks;
    int file;
    size_t at;
  } open[WORLD_OPEN];
  double clock_s, not_before_s; /* the endpoint asked for a pause until then */
  int calls;                    /* of the process that runs */
  int dies_at;                  /* the call that it does not survive; 0: none */
  bool dies_after;              /* that call still has its effect */
  int fails_at;                 /* the call that fails; 0: none */
  int fails_why;
  bool dead;
  void (*meanwhile)(void *data); /* what another process does, right before a call of this one */
  void *meanwhile_data;
  int meanwhile_in;                         /* before so many calls from now; 0: never, or it was done */
  int foreign_locks;                        /* that many more times a lock is another process's */
  enum world_answer answers[WORLD_ANSWERS]; /* one of them is drawn for each request */
  int n_answers;
  const char *refuses; /* key that is refused whatever happens; NULL: none */
  struct world_document documents[WORLD_DOCUMENTS];
  int n_documents;
  const char *broken_rule; /* of the sender, seen by the endpoint; NULL: none */
};

void world_begin(struct world *w, uint64_t seed);
struct tb_disk world_disk(struct world *w);
struct tb_push_world world_network(struct world *w); /* push_endpoint.c */
/* What becomes of the next call. */
enum world_fate world_call(struct world *w);
/* The process has ended, by itself or not: its files are closed. `power`: so has the machine's power. The
 * next one may start. */
void world_end_process(struct world *w, bool power);
/* Where an entry's file lies: with a body whose SHA-256 is `key`. `folder`: "" or "refused/". */
bool world_has(struct world *w, const char *folder, const char *key);
/* Refused entries that no reason lies beside. */
int world_without_reason(const struct world *w);
/* Names in a folder that end so. */
int world_count(const struct world *w, const char *folder, const char *suffix);
struct world_document *world_document(struct world *w, const char *key);

#endif
