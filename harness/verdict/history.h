/* A folder of stored results, as the series of each case: what tonight's result is held against.
 *
 * Read are FOLDER's *.json that are finished results, oldest first by when they were started. A point is
 * taken only from the machine of the result that asks (same host and CPU), where the case was ok. Its value
 * is the compiled time over the calibration kernel's time of the same rounds, so that a slow night is no
 * regression; results without a calibration kernel, or with another version of it, do not mix with such that
 * have tonight's. A case has vanished where the newest earlier result of that machine with cases of its suite
 * has it, head has cases of that suite, and this one is neither measured nor left out by it. Copies of a
 * result count once. Known steps are told in FOLDER/marks.txt (marks.h). Ownership: all in the arena, but the
 * documents of `newest` and `vanished`, which tb_history_close deletes. */
#ifndef TB_HISTORY_H
#define TB_HISTORY_H

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/error.h"
#include "harness/base/index.h"
#include "harness/run/result.h"
#include "harness/verdict/exact_history.h"
#include "harness/verdict/marks.h"
#include "results/document.h"
#include "results/stats/segment.h"

struct tb_point {
  double value;
  const char *started, *commit, *file;
};

struct tb_history_series {
  const char *id;
  bool calibrated;                /* values are over the calibration kernel's time; else nanoseconds */
  TC_VEC(struct tb_point) points; /* none: it was never measured as tonight */
  cJSON *newest;                  /* case object of the last time that it was ok */
  const char *newest_started;
  struct tb_exact_history past; /* its exact figures until then */
  struct tb_change *changes;
  size_t n_changes;
  struct tb_forecast forecast;
};

struct tb_history {
  struct tc_arena *arena;
  TC_VEC(struct tb_history_series) series;
  struct tb_index ids; /* numbered as series */
  tb_marks marks;
  int files;                 /* results that were read */
  cJSON *vanished;           /* list of {"id": …, "outcome": …} */
  struct tb_omitted omitted; /* cases of these series that were not right in a result that was read, so that
                              it has no point of them */
  tb_texts passed_over; /* "FILE: why": no results, unfinished, damaged, of another machine, not older than
                           head, copies */
};

/* The history before `head`, of its machine and its cases. TC_ARG: the folder cannot be read, a mark is wrong
 * (with its line). */
tc_status tb_history_load(struct tc_arena *arena, const char *folder, const cJSON *head,
                          struct tb_history *out, struct tc_error *err);
/* The same from several folders and files; `marks`: a file of them besides those of the folders, or NULL;
 * `with_head`: head's own points belong to it, and forecasts are of what comes next. */
struct tb_history_source {
  const char *const *places;
  size_t n_places;
  const char *marks;
  bool with_head;
};
tc_status tb_history_read(struct tc_arena *arena, const struct tb_history_source *source, const cJSON *head,
                          struct tb_history *out, struct tc_error *err);
/* Its files, and those *.json that lie in its folders, by name. TC_ARG: a folder cannot be read. */
tc_status tb_history_paths(struct tc_arena *arena, const struct tb_history_source *source, tb_texts *out,
                           struct tc_error *err);
/* Did the run of a result come to its end? */
bool tb_history_finished(const cJSON *document);
/* The newest finished result there; the caller deletes it. TC_ARG: there is none, a folder cannot be read. */
tc_status tb_history_newest(struct tc_arena *arena, const struct tb_history_source *source, cJSON **out,
                            struct tc_error *err);
/* Index of the first point of a series that a mark begins a segment at; points.len: behind all; SIZE_MAX: it
 * is not of this case. */
size_t tb_history_place(const struct tb_history_series *series, const struct tb_mark *mark);
void tb_history_close(struct tb_history *history);
/* NULL: this case was never ok on this machine. */
const struct tb_history_series *tb_history_find(const struct tb_history *history, const char *id);
/* A case's figure as a point has it (history_value.h); NaN where it was not measured. *calibrated: it is over
 * the calibration kernel's time. */
double tb_history_value(const cJSON *one_case, bool *calibrated);

#endif
