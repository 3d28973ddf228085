/* Reading of marks. */
#include "harness/verdict/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/base/args.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"

/* Marks and results are put in order by their texts, so a time has to be written as results write it: in UTC,
 * the later part may lack. */
static bool is_time(const char *text) {
  static const char *const forms[] = {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%MZ",
                                      "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
  static const char *const shapes[] = {"0000-00-00T00:00:00Z", "0000-00-00T00:00:00", "0000-00-00T00:00Z",
                                       "0000-00-00T00:00", "0000-00-00"};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    struct tm time;
    const char *end = strptime(text, forms[i], &time);
    if (end && !*end && strlen(text) == strlen(shapes[i])) return true;
  }
  return false;
}

static tc_status add_mark(struct tc_arena *arena, const char *path, int number, char *line, tb_marks *out,
                          struct tc_error *err) {
  static const char blanks[] = " \t\r\n";
  char *rest = NULL, *hash = strchr(line, '#');
  if (hash) *hash = '\0';
  const char *from = strtok_r(line, blanks, &rest), *pattern = from ? strtok_r(NULL, blanks, &rest) : NULL;
  char *why = pattern ? strtok_r(NULL, "\r\n", &rest) : NULL;
  if (!from) return TC_OK;
  if (!pattern || !is_time(from))
    return tc_fail(err, TC_ARG, "history",
                   "%s:%d: write a time, a pattern of case ids, and the reason: 2026-11-20T00:00:00Z mlp/* "
                   "new allocator (times are UTC)",
                   path, number);
  if (why) {
    why += strspn(why, blanks);
    for (size_t n = strlen(why); n && strchr(blanks, why[n - 1]); n--) why[n - 1] = '\0';
    tb_text_clean(why, TB_TEXT_LINE);
  }
  const struct tb_mark mark = {tb_format(arena, "%s", from), tb_format(arena, "%s", pattern),
                               tb_format(arena, "%s", why ? why : "")};
  return mark.from && mark.pattern && mark.why && tc_vec_push(tc_arena_alloc(arena), out, mark)
             ? TC_OK
             : tc_fail_memory(err, "history");
}

tc_status tb_marks_read(struct tc_arena *arena, const char *path, bool must, tb_marks *out,
                        struct tc_error *err) {
  char *line = NULL;
  size_t size = 0;
  const char *why;
  FILE *in = tb_regular_open(path, &why);
  tc_status status = TC_OK;
  if (!in && (must || errno != ENOENT)) status = tc_fail(err, TC_ARG, "history", "%s: %s", path, why);
  for (int number = 1; in && !status && getline(&line, &size, in) >= 0; number++)
    status = add_mark(arena, path, number, line, out, err);
  if (in && !status && ferror(in)) status = tc_fail(err, TC_ARG, "history", "%s: %s", path, strerror(errno));
  if (in) fclose(in);
  free(line);
  return status;
}
