/* Times as documents have them. Threads: pure. */
#ifndef TB_RESULTS_RFC3339_H
#define TB_RESULTS_RFC3339_H

#include <stdint.h>

#include "results/document.h"

/* An RFC 3339 time, as 2026-11-20T14:02:11Z, with a fraction and an offset where there are such: seconds
 * since 1970. False: it is none. */
struct tb_time {
  int64_t seconds;
  int nanoseconds;
};
bool tb_time_read(const char *text, size_t length, struct tb_time *out);
/* The same of a text at a path, with its fraction; NaN: there is none. */
double tb_doc_time(const cJSON *item, const char *path);
/* "2026-01-02T03:04:05", in UTC, of such seconds; they must be finite. */
enum { TB_UTC_TEXT = 40 };
void tb_utc_text(double seconds, char out[TB_UTC_TEXT]);

#endif
