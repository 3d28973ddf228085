/* Status codes and the one error record.
 *
 * Every fallible function returns a tc_status and, where it can say more, fills a caller-owned
 * struct tc_error (which may be NULL). Nothing here allocates. Thread-safe: no shared state. */
#ifndef TC_BASE_ERROR_H
#define TC_BASE_ERROR_H

typedef enum tc_status {
#define TC_STATUS(name, text) TC_##name,
#include "base/status.def"
#undef TC_STATUS
  TC_STATUS_COUNT
} tc_status;

enum { TC_ERROR_TEXT = 512, TC_ERROR_WHERE = 128 };

struct tc_error {
  tc_status status;
  const char *stage;           /* static string: "ops", "capture", "lower", … */
  char where[TC_ERROR_WHERE];  /* op, or source:line; may be empty */
  char message[TC_ERROR_TEXT]; /* one line, no newline */
};

/* Static text of a status; never NULL. */
const char *tc_status_text(tc_status status);
/* Static upper-case name of a status ("SHAPE"); never NULL. */
const char *tc_status_name(tc_status status);

/* Fills *err (if not NULL) and returns `status`, so that `return tc_fail(…)` reads well. */
tc_status tc_fail(struct tc_error *err, tc_status status, const char *stage, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for TC_NOMEM, with the one text that there is to say: "out of memory". */
tc_status tc_fail_memory(struct tc_error *err, const char *stage);

/* Sets err->where unless an inner layer already did. */
void tc_error_at(struct tc_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
