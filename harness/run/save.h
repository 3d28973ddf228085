/* Where a run's result lies, from the first case that is known of to the finished document. */
#ifndef TB_SAVE_H
#define TB_SAVE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct tb_run;

struct tb_save {
  const char *path;          /* of the result; another one than was proposed where that is another run's */
  bool asked;                /* the user named it, so an older file there is replaced */
  bool there;                /* a document of this run lies there */
  bool told;                 /* that saving fails */
  int64_t ended_ns, cost_ns; /* of the newest write */
};

/* Writes what is known so far, its `finished` null: a run that is killed leaves it. Not at every call, where
 * that would cost a share of the run's time. A failure is told once and harms nothing. */
void tb_save_so_far(struct tb_run *run);
/* Writes the finished document in its place; else where tb_record_save finds room: *written is where, NULL:
 * nowhere. */
tc_status tb_save_finished(struct tb_run *run, const cJSON *document, const char **written,
                           struct tc_error *err);

#endif
