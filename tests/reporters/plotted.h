/* Pictures of a document that a test fills case by case, and what their files then have: what the tests of
 * pictures share. */
#ifndef TB_TESTS_PLOTTED_H
#define TB_TESTS_PLOTTED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reporters/gnuplot/plot.h"

struct fixture {
  char folder[48], stem[80];
  cJSON *cases, *environments, *document;
  struct tb_plot plot;
};

static inline int open_fixture(void **state) {
  static struct fixture f;
  f = (struct fixture){.folder = "/tmp/tbench-plots-XXXXXX"};
  *state = &f;
  if (!mkdtemp(f.folder)) return 1;
  snprintf(f.stem, sizeof f.stem, "%s/p", f.folder);
  f.document = cJSON_Parse("{\"schema\":1,\"started\":\"2026-01-02T03:04:05Z\",\"environments\":[{\"host\":"
                           "\"h\",\"bound_to\":\"machine\",\"cpus\":\"0-1\",\"threads\":2,"
                           "\"triad_bytes_per_s\":50e9,\"fma_flops_per_s\":400e9}],\"cases\":[]}");
  f.cases = cJSON_GetObjectItem(f.document, "cases");
  f.environments = cJSON_GetObjectItem(f.document, "environments");
  return 0;
}

static inline int close_fixture(void **state) {
  struct fixture *f = *state;
  char command[96];
  cJSON_Delete(f->document);
  snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
  return system(command);
}

/* A case with all figures; batch 0: none. */
static inline cJSON *add_case(struct fixture *f, const char *workload, const char *mode, int batch,
                              double ratio) {
  char text[1024];
  snprintf(text, sizeof text,
           "{\"env\":0,\"case\":{\"suite\":\"s\",\"backend\":\"inductor\",\"mode\":\"%s\",\"device\":\"cpu\","
           "\"dtype\":\"f32\",\"params\":{},\"topology\":\"machine\",\"threads\":2,\"switches\":{}},"
           "\"outcome\":\"ok\",\"steady\":{\"median_ns\":1000},\"speedup\":{\"ratio\":%.17g,\"lo\":%.17g,"
           "\"hi\":%.17g},"
           "\"compile\":{\"cold_ns\":{\"median\":4e6,\"samples\":[3e6,4e6,6e6]},\"disk_ns\":{\"median\":5e5,"
           "\"samples\":[5e5]},\"memory_ns\":{\"median\":1e5,\"samples\":[1e5,1e5]}},"
           "\"graph\":{\"flops\":8000,\"bytes_moved\":2000}}",
           mode, ratio, ratio * 0.9, ratio * 1.1);
  cJSON *one = cJSON_Parse(text), *what = cJSON_GetObjectItem(one, "case");
  assert_non_null(one);
  cJSON_AddStringToObject(what, "workload", workload);
  if (batch)
    cJSON_AddNumberToObject(what, "batch", batch);
  else
    cJSON_AddNullToObject(what, "batch");
  snprintf(text, sizeof text, "s/%.200s/%s/b%d", workload, mode, batch);
  cJSON_AddStringToObject(one, "id", text);
  cJSON_AddItemToArray(f->cases, one);
  return one;
}

static inline bool has_gnuplot(void) { return !system("command -v gnuplot > /dev/null"); }

static inline void draw(struct fixture *f, unsigned kinds, unsigned formats,
                        const struct tb_plot_history *history) {
  const struct tb_plot_options options = {.kinds = kinds, .formats = formats, .history = history};
  assert_true(tb_plot_result(f->document, f->stem, &options, &f->plot));
  if (has_gnuplot() && !f->plot.drawn && !strstr(f->plot.message, "nothing to draw"))
    fail_msg("%s", f->plot.message);
}

static inline char *read_text(const char *path) {
  FILE *in = fopen(path, "r");
  if (!in) fail_msg("%s is not there", path);
  assert_int_equal(fseek(in, 0, SEEK_END), 0);
  const long size = ftell(in);
  char *text = size > 0 ? calloc(1, (size_t)size + 1) : NULL;
  assert_non_null(text);
  rewind(in);
  assert_int_equal(fread(text, 1, (size_t)size, in), size);
  fclose(in);
  return text;
}

enum { COLUMNS = 12, LINES = 64 };
struct block {
  char title[256], columns[256];
  double figures[LINES][COLUMNS];
  int n_lines, n_columns;
};

/* The block of the data file whose first line has that text. Texts in quotes are no figures. */
static inline struct block read_block(const struct fixture *f, const char *title) {
  static char line[4096];
  struct block b = {.n_lines = 0};
  bool inside = false;
  FILE *in = fopen(f->plot.data, "r");
  assert_non_null(in);
  while (fgets(line, sizeof line, in)) {
    if (!strncmp(line, "# block", 7)) {
      if (inside) break;
      inside = strstr(line, title) != NULL;
      if (inside)
        snprintf(b.title, sizeof b.title, "%.255s", line),
            snprintf(b.columns, sizeof b.columns, "%.255s", fgets(line, sizeof line, in));
      continue;
    }
    if (!inside || *line == '\n' || *line == '#') continue;
    int n = 0;
    for (char *at = line, *end; n < COLUMNS; at = end) {
      while (*at == ' ') at++;
      if (*at == '"') {
        end = strchr(at + 1, '"') + 1;
        continue;
      }
      const double value = strtod(at, &end);
      if (end == at) break;
      b.figures[b.n_lines][n++] = value;
    }
    b.n_columns = n;
    b.n_lines++;
    assert_in_range(b.n_lines, 1, LINES - 1);
  }
  fclose(in);
  if (!inside) fail_msg("no block '%s' in %s", title, f->plot.data);
  return b;
}

static inline int count_text(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)); text += strlen(what)) n++;
  return n;
}

/* Of histories. */
static const struct tb_plot_run runs[] = {{"2026-01-01T00:00:00Z", "aaaaaaaaaaaa"},
                                          {"2026-01-02T00:00:00Z", "bbbbbbbbbbbb"},
                                          {"2026-01-03T00:00:00Z", "it's } \"%s\""}};

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

#endif
