/* Figures and tags of a case. A figure is a row of results/fields.def with a METRIC; a tag of every case a
 * row of `tags`. */
#include "reporters/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reporters/equal_texts.h"
#include "reporters/text_out.h"

static double value_of(const cJSON *item) {
  return cJSON_IsNumber(item) ? item->valuedouble : cJSON_IsArray(item) ? cJSON_GetArraySize(item) : NAN;
}

static void describe(struct tb_series *s, const struct tb_field *field, double value) {
  s->help = field->help;
  s->unit = field->unit;
  s->higher_is_better = field->higher_is_better;
  s->value = value;
  s->lo = s->hi = NAN;
  s->samples = NULL;
}

static bool take_single(const cJSON *one_case, const struct tb_field *field, struct tb_series *s) {
  const double value = value_of(tb_doc_at(one_case, field->path));
  if (!isfinite(value)) return false;
  describe(s, field, value);
  snprintf(s->name, sizeof s->name, "%s", field->metric.name);
  const double lo = field->metric.lo ? tb_doc_number(one_case, field->metric.lo) : NAN,
               hi = field->metric.hi ? tb_doc_number(one_case, field->metric.hi) : NAN;
  if (isfinite(lo) && isfinite(hi)) {
    s->lo = lo;
    s->hi = hi;
  }
  if (field->samples) s->samples = tb_doc_at(one_case, field->samples);
  return true;
}

/* Copies what may stand in a name; anything else is an underscore. Returns false where it does not fit. */
static bool append_name(char *out, size_t size, const char *text) {
  size_t used = strlen(out);
  for (; *text && used + 1 < size; text++) {
    const char c = *text;
    out[used++] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  }
  out[used] = '\0';
  return !*text;
}

static bool take_member(const struct tb_field *field, struct tb_series *s) {
  static const char ns[] = "_ns";
  const double value = *field->member ? tb_doc_number(s->member, field->member) : value_of(s->member);
  if (!isfinite(value) || !s->member->string || !*s->member->string) return false;
  describe(s, field, value);
  snprintf(s->name, sizeof s->name, "%s_", field->metric.name);
  if (!append_name(s->name, sizeof s->name, s->member->string)) return false;
  const size_t stem = tc_text_stem(s->name, ns);
  if (s->unit == TB_UNIT_NUMBER && stem) {
    s->name[stem] = '\0';
    s->unit = TB_UNIT_NS;
  }
  return true;
}

/* The next member of the object at the row's path; false: that was the last one. */
static bool next_member(const cJSON *one_case, const struct tb_field *field, struct tb_series *s) {
  const cJSON *object = tb_doc_at(one_case, field->path);
  s->member = s->member ? s->member->next : cJSON_IsObject(object) ? object->child : NULL;
  return s->member != NULL;
}

bool tb_series_next(const cJSON *one_case, struct tb_series *s) {
  if (!tb_case_right(one_case)) return false;
  while (s->row < (size_t)tb_field_count()) {
    const struct tb_field *field = tb_field_at((int)s->row);
    const bool many = field->metric.name && tb_field_is_many(field);
    if (many && next_member(one_case, field, s)) {
      if (take_member(field, s)) return true;
      continue;
    }
    s->row++;
    if (field->metric.name && !many && take_single(one_case, field, s)) return true;
  }
  return false;
}

int tb_series_samples(const struct tb_series *series) {
  return cJSON_IsArray(series->samples) ? cJSON_GetArraySize(series->samples) : 0;
}

double tb_series_sample(const struct tb_series *series, int index) {
  const cJSON *item = cJSON_GetArrayItem(series->samples, index);
  return cJSON_IsObject(item)   ? tb_doc_number(item, "median_ns")
         : cJSON_IsNumber(item) ? item->valuedouble
                                : NAN;
}

const char *tb_unit_base(enum tb_unit unit, double *divisor) {
  static const char *const names[] = {"_seconds",          "_ratio",           "", "_bytes",
                                      "_bytes_per_second", "_flops_per_second"};
  *divisor = unit == TB_UNIT_NS ? 1e9 : 1;
  return names[unit];
}

const char *tb_unit_own(enum tb_unit unit) {
  static const char *const names[] = {"_ns", "_ratio", "", "_bytes", "_bytes_per_s", "_flops_per_s"};
  return names[unit];
}

void tb_metric_name(const struct tb_series *series, const char *part, char *out, size_t size) {
  double divisor;
  snprintf(out, size, "tbench_%s%s%s", series->name, part, tb_unit_base(series->unit, &divisor));
}

/* --- cases --- */

/* The cases of all documents, in their order. */
struct stored {
  const cJSON *result, *one_case;
};

static struct stored *all_cases(const cJSON *documents, int *count) {
  size_t room = 1;
  for (int i = 0; i < tb_doc_count(documents); i++)
    room += (size_t)cJSON_GetArraySize(tb_doc_at(tb_doc_nth(documents, i), "cases"));
  struct stored *all = calloc(room, sizeof *all);
  *count = 0;
  for (int i = 0; all && i < tb_doc_count(documents); i++) {
    const cJSON *result = tb_doc_nth(documents, i), *one;
    cJSON_ArrayForEach(one, tb_doc_at(result, "cases")) all[(*count)++] = (struct stored){result, one};
  }
  return all;
}

/* Which of them have one id; false: memory is out. */
static bool find_ids(const struct stored *all, int count, struct tb_equal_texts *out) {
  const char **ids = calloc((size_t)count + 1, sizeof *ids);
  for (int i = 0; ids && i < count; i++) ids[i] = tb_doc_text(all[i].one_case, "id", "");
  const bool good = ids && tb_equal_texts_make(ids, count, out);
  free(ids);
  return good;
}

bool tb_each_last_case(const cJSON *documents, tb_case_visit *visit, void *context) {
  int n;
  struct tb_equal_texts equal = {0};
  struct stored *all = all_cases(documents, &n);
  const bool good = all && find_ids(all, n, &equal);
  for (int i = 0; good && i < n; i++)
    if (equal.next[i] < 0) visit(all[i].result, all[i].one_case, context);
  tb_equal_texts_free(&equal);
  free(all);
  return good;
}

bool tb_two_hosts(const cJSON *documents, const char *hosts[2]) {
  hosts[0] = hosts[1] = NULL;
  for (int i = 0; i < tb_doc_count(documents); i++) {
    const cJSON *result = tb_doc_nth(documents, i), *one;
    cJSON_ArrayForEach(one, tb_doc_at(result, "cases")) {
      const char *host =
          tb_case_absent(one) ? NULL : tb_doc_text(tb_case_environment(result, one), "host", NULL);
      if (!host) continue;
      if (!hosts[0])
        hosts[0] = host;
      else if (strcmp(hosts[0], host) != 0)
        return hosts[1] = host, true;
    }
  }
  return false;
}

/* Has a case of some id another host than the one of that id before it? */
static bool repeats_elsewhere(const struct stored *all, const struct tb_equal_texts *equal, int n,
                              const char *hosts[2]) {
  for (int i = 0; i < n; i++) {
    const int next = equal->next[i];
    if (next < 0 || tb_case_absent(all[i].one_case) || tb_case_absent(all[next].one_case)) continue;
    hosts[0] = tb_doc_text(tb_case_environment(all[i].result, all[i].one_case), "host", "");
    hosts[1] = tb_doc_text(tb_case_environment(all[next].result, all[next].one_case), "host", "");
    if (strcmp(hosts[0], hosts[1]) != 0) return true;
  }
  return false;
}

bool tb_case_of_two_hosts(const cJSON *documents, const char *hosts[2]) {
  int n;
  struct tb_equal_texts equal = {0};
  struct stored *all = all_cases(documents, &n);
  const bool found = all && find_ids(all, n, &equal) && repeats_elsewhere(all, &equal, n, hosts);
  tb_equal_texts_free(&equal);
  free(all);
  return found;
}

bool tb_report_lacks_host(const struct tb_report_options *options, const char *what,
                          const char *const hosts[2], const char *why) {
  char text[TB_REPORT_FAILURE];
  snprintf(
      text, sizeof text,
      "%s of two hosts, '%.30s' and '%.30s', and %s: csv, influx, prometheus and victoriametrics hold both",
      what, hosts[0], hosts[1], why);
  return tb_report_lacks(options, text);
}

const char *tb_case_error(const cJSON *one_case) {
  const cJSON *error = tb_doc_at(one_case, "error");
  return cJSON_IsString(error) ? error->valuestring : tb_doc_text(error, "message", NULL);
}

const char *tb_run_host(const cJSON *result, char made[TB_TAG_TEXT + 1]) {
  tb_short_text(tb_doc_text(cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0), "host", ""),
                TB_TAG_TEXT, made);
  return *made ? made : NULL;
}

/* --- tags --- */

enum tag_home { OF_CASE, OF_ENVIRONMENT };
static const struct {
  const char *name, *path;
  enum tag_home home;
} tags[] = {{"id", "id", OF_CASE},
            {"host", "host", OF_ENVIRONMENT},
            {"suite", "case.suite", OF_CASE},
            {"workload", "case.workload", OF_CASE},
            {"backend", "case.backend", OF_CASE},
            {"mode", "case.mode", OF_CASE},
            {"device", "case.device", OF_CASE},
            {"dtype", "case.dtype", OF_CASE},
            {"batch", "case.batch", OF_CASE},
            {"topology", "case.topology", OF_CASE},
            {"threads", "case.threads", OF_CASE},
            {"side", "case.side", OF_CASE}};
static const struct {
  const char *prefix, *path;
} tag_objects[] = {{"param_", "case.params"}, {"switch_", "case.switches"}};
enum { N_TAGS = sizeof tags / sizeof *tags, N_TAG_OBJECTS = sizeof tag_objects / sizeof *tag_objects };

/* False: it has no value that a tag could have. */
static bool take_text(const cJSON *item, struct tb_tag *tag) {
  tag->text = tag->made;
  if (cJSON_IsString(item))
    tb_short_text(item->valuestring, TB_TAG_TEXT, tag->made);
  else if (cJSON_IsBool(item))
    tag->text = cJSON_IsTrue(item) ? "true" : "false";
  else if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
    tb_shortest_text(item->valuedouble, tag->made);
  else
    return false;
  return *tag->text != '\0';
}

static bool same_as_name(const char *a, const char *b) {
  char x[TB_SERIES_NAME] = "", y[TB_SERIES_NAME] = "";
  append_name(x, sizeof x, a);
  append_name(y, sizeof y, b);
  return !strcmp(x, y);
}

/* Is there one before it whose name becomes the same? */
static bool repeats(const cJSON *member, const cJSON *first) {
  for (const cJSON *other = first; other && other != member; other = other->next)
    if (other->string && same_as_name(other->string, member->string)) return true;
  return false;
}

bool tb_tag_next(const cJSON *result, const cJSON *one_case, struct tb_tag *tag) {
  while (tag->row < N_TAGS) {
    const size_t row = tag->row++;
    tag->prefix = "";
    tag->name = tags[row].name;
    if (take_text(tb_doc_at(tags[row].home == OF_CASE ? one_case : tb_case_environment(result, one_case),
                            tags[row].path),
                  tag))
      return true;
  }
  while (tag->row < N_TAGS + N_TAG_OBJECTS) {
    const size_t row = tag->row - N_TAGS;
    const cJSON *object = tb_doc_at(one_case, tag_objects[row].path),
                *first = cJSON_IsObject(object) ? object->child : NULL;
    tag->member = tag->member ? tag->member->next : first;
    tag->prefix = tag_objects[row].prefix;
    if (!tag->member)
      tag->row++;
    else if ((tag->name = tag->member->string) && *tag->name && take_text(tag->member, tag) &&
             !repeats(tag->member, first))
      return true;
  }
  return false;
}
