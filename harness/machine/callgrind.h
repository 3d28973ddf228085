/* Instruction counts of a worker, which valgrind's callgrind makes: they do not depend on the machine's
 * noise.
 *
 * A worker that is told callgrind=FOLDER executes itself again under valgrind, with an environment of its own
 * making, and nothing of it is timed. Counted is what all threads do between begin and end, by stage of the
 * compile (struct tc_stage_watch); stretches lie in one thread, one after the other. FOLDER takes valgrind's
 * files, each of which is read once and removed. */
#ifndef TB_CALLGRIND_H
#define TB_CALLGRIND_H

#include <limits.h>
#include <stdbool.h>

#include <cjson/cJSON.h>

#include "base/context.h"

/* What a stretch did outside of all stages. */
#define TB_CALLGRIND_OUTSIDE "other"

enum { TB_CALLGRIND_DEPTH = 16 /* of stages in stages */, TB_CALLGRIND_WHY = 256 };

struct tb_callgrind {
  char folder[PATH_MAX];
  long part;                              /* of valgrind's files: the newest that was read */
  const char *stages[TB_CALLGRIND_DEPTH]; /* that the thread is in */
  int depth;
  struct tc_stage_watch watch; /* for the context whose stages are told apart */
};

/* Whether this process runs under valgrind. */
bool tb_callgrind_inside(void);
/* Executes this program again as `tbench worker argv…` under callgrind. Its cache is one in FOLDER, whatever
 * cache_dir= says. Comes back only with the reason why that failed. */
void tb_callgrind_enter(const char *folder, int argc, char *const *argv, char why[TB_CALLGRIND_WHY]);

void tb_callgrind_open(struct tb_callgrind *c, const char *folder);
/* Around what is counted; of the form of struct tb_stretch. */
void tb_callgrind_begin(void *self);
void tb_callgrind_end(void *self);
/* {"total": N, "stages": {NAME: N, …}} of the stretch that ended; NULL: valgrind left no files. */
cJSON *tb_callgrind_take(struct tb_callgrind *c);

#endif
