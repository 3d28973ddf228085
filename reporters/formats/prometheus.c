/* Prometheus' text format, as a textfile collector or a Pushgateway takes it: all samples of a metric stand
 * together behind its HELP and TYPE, none has a time, and no series is there twice (of the same case of a
 * host in several results, the last one counts). All are gauges, in base units. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/series.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"

struct sample {
  char name[2 * TB_SERIES_NAME];
  const char *help, *id, *host;
  const cJSON *result, *one_case; /* one_case is NULL for what is of the run */
  double value;
  size_t place;
};
struct samples {
  struct sample *data;
  size_t len, room;
  bool full;
};

static void add(struct samples *all, const char *name, const char *help, const cJSON *result,
                const cJSON *one_case, double value) {
  enum { FIRST_ROOM = 256 };
  if (!isfinite(value) || all->full) return;
  if (all->len == all->room) {
    const size_t room = all->room ? 2 * all->room : FIRST_ROOM;
    struct sample *more = realloc(all->data, room * sizeof *more);
    if (!more) {
      all->full = true;
      return;
    }
    all->data = more;
    all->room = room;
  }
  const cJSON *environment = one_case ? tb_case_environment(result, one_case)
                                      : cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0);
  struct sample *s = &all->data[all->len];
  *s = (struct sample){.help = help,
                       .id = tb_doc_text(one_case, "id", ""),
                       .host = tb_doc_text(environment, "host", ""),
                       .result = result,
                       .one_case = one_case,
                       .value = value,
                       .place = all->len};
  snprintf(s->name, sizeof s->name, "%s", name);
  all->len++;
}

static void add_case(struct samples *all, const cJSON *result, const cJSON *one_case) {
  static const struct {
    const char *part, *help;
  } bounds[] = {{"_lower", "lower bound of the figure without this word"},
                {"_upper", "upper bound of the figure without this word"}};
  char name[2 * TB_SERIES_NAME];
  add(all, "tbench_case_ok", "1: the case is right; 0: it is wrong, or failed", result, one_case,
      tb_case_right(one_case));
  if (!tb_case_right(one_case)) return;
  add(all, "tbench_case_complete",
      "1: the case has all its replicates; 0: time (budget=) or the user ended them first", result, one_case,
      tb_case_complete(one_case));
  for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);) {
    double divisor;
    tb_unit_base(series.unit, &divisor);
    tb_metric_name(&series, "", name, sizeof name);
    add(all, name, series.help, result, one_case, series.value / divisor);
    for (int i = 0; i < 2; i++) {
      tb_metric_name(&series, bounds[i].part, name, sizeof name);
      add(all, name, bounds[i].help, result, one_case, (i ? series.hi : series.lo) / divisor);
    }
  }
}

static void add_result(struct samples *all, const cJSON *result) {
  const cJSON *one_case;
  add(all, "tbench_run_info", "program and machine of the run", result, NULL,
      tb_doc_at(result, "tbench") ? 1 : NAN);
  add(all, "tbench_run_started_timestamp_seconds", "when the run was started", result, NULL,
      tb_doc_time(result, "started"));
  add(all, "tbench_run_complete",
      "1: the result is whole; 0: the run was interrupted, did not end, or lacks planned cases", result, NULL,
      tb_result_complete(result));
  cJSON_ArrayForEach(one_case, tb_doc_at(result, "cases")) {
    if (!tb_case_absent(one_case)) add_case(all, result, one_case);
  }
}

/* By series. */
static int by_series(const struct sample *x, const struct sample *y) {
  int order = strcmp(x->name, y->name);
  if (!order) order = strcmp(x->id, y->id);
  return order ? order : strcmp(x->host, y->host);
}

/* By series, the last one first. */
static int by_order(const void *a, const void *b) {
  const struct sample *x = a, *y = b;
  const int order = by_series(x, y);
  return order ? order : x->place > y->place ? -1 : x->place < y->place;
}

static void put_label(FILE *out, const char **separator, const char *prefix, const char *name,
                      const char *text) {
  if (!text || !*text) return;
  fprintf(out, "%s%s", *separator, prefix);
  tb_put_text(out, name, tb_escape_name);
  fputs("=\"", out);
  tb_put_text(out, text, tb_escape_label);
  fputc('"', out);
  *separator = ",";
}

static void put_run_labels(FILE *out, const struct sample *s) {
  static const struct {
    const char *name, *path;
  } labels[] = {{"version", "tbench.version"}, {"commit", "tbench.commit"}, {"build", "tbench.build"}};
  const cJSON *environment = cJSON_GetArrayItem(tb_doc_at(s->result, "environments"), 0);
  const char *separator = "{";
  put_label(out, &separator, "", "host", s->host);
  if (strcmp(s->name, "tbench_run_info") == 0) {
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
      put_label(out, &separator, "", labels[i].name, tb_doc_text(s->result, labels[i].path, NULL));
    put_label(out, &separator, "", "cpu", tb_doc_text(environment, "cpu.model", NULL));
    put_label(out, &separator, "", "os", tb_doc_text(environment, "os", NULL));
    put_label(out, &separator, "", "kernel", tb_doc_text(environment, "kernel", NULL));
  }
  if (*separator == ',') fputc('}', out);
}

static void put_labels(FILE *out, const struct sample *s) {
  const char *separator = "{";
  for (struct tb_tag tag = {.row = 0}; tb_tag_next(s->result, s->one_case, &tag);)
    put_label(out, &separator, tag.prefix, tag.name, tag.text);
  if (*separator == ',') fputc('}', out);
}

static void put_sample(FILE *out, const struct sample *s, bool first) {
  if (first) {
    fprintf(out, "# HELP %s ", s->name);
    tb_put_text(out, s->help, tb_escape_help);
    fprintf(out, "\n# TYPE %s gauge\n", s->name);
  }
  fputs(s->name, out);
  if (s->one_case)
    put_labels(out, s);
  else
    put_run_labels(out, s);
  fputc(' ', out);
  tb_put_number(out, s->value);
  fputc('\n', out);
}

bool tb_report_prometheus(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct samples all = {0};
  (void)options;
  for (int i = 0; i < tb_doc_count(result); i++) add_result(&all, tb_doc_nth(result, i));
  if (all.len) qsort(all.data, all.len, sizeof *all.data, by_order);
  for (size_t i = 0; !all.full && i < all.len; i++) {
    const struct sample *s = &all.data[i];
    if (!i || by_series(s, s - 1)) put_sample(out, s, !i || strcmp(s->name, s[-1].name));
  }
  free(all.data);
  return !all.full && !ferror(out);
}
