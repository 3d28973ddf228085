/* A document that was checked, as the writer stores it: its bytes, compressed, and a row for each case that
 * its run came to.
 *
 * Ownership: one block of memory, with all that it points to. */
#ifndef TB_DASHBOARD_SUBMISSION_H
#define TB_DASHBOARD_SUBMISSION_H

#include "dashboard/ingest/tape.h"
#include "dashboard/store/writer.h"

enum { TB_SUBMISSION_NAME = 1024, TB_SUBMISSION_MACHINES = 64 };

struct tb_row {
  const char *name;    /* the case's id */
  int64_t position;    /* of the case in its document */
  int machine;         /* index of the submission's */
  int outcome;         /* as in results/outcome.def; 0: ok */
  int64_t calibration; /* version of the calibration kernel that `value` is over; 0: it is nanoseconds */
  double value;        /* NaN: not measured, or not right */
  double figures[TB_FIGURE_COUNT]; /* NaN: not known; of a case that is not right none is */
};

struct tb_submission {
  struct tb_write write; /* first: the writer has nothing but this */
  unsigned char key[TC_SHA256_BYTES];
  int64_t started;
  const char *commit;
  const char *machines[TB_SUBMISSION_MACHINES];
  int n_machines;
  size_t n_rows;
  struct tb_row *rows;
  int64_t dictionary;
  size_t bytes, packed_bytes;
  const void *packed;
};

/* The rows of a document that passed the schema. NULL: `why` (TB_TAPE_WHY bytes) says what cannot be kept; ""
 * when memory is out. `packed` is copied. */
struct tb_submission *tb_submission_new(const struct tb_tape *tape, const void *packed, size_t packed_bytes,
                                        char *why);
/* Stores it: what tb_write.apply wants. */
enum tb_written tb_submission_apply(struct tb_write *self, struct tb_store *store);

#endif
