/* Documents of many cases. What is equal is found by sorting: no format and no picture holds each case
 * against each (comparisons are counted, not timed), and what is found is what holding each against each
 * finds. */
#include "reporters/ablation.h"
#include "reporters/equal_texts.h"
#include "reporters/series.h"
#include "reporters/table.h"
#include "tests/reporters/plotted.h"
#include "tests/reporters/reported.h"

static long n_compared;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b) { return n_compared++, __real_strcmp(a, b); }

cJSON_bool __real_cJSON_Compare(const cJSON *a, const cJSON *b, cJSON_bool case_sensitive);
cJSON_bool __wrap_cJSON_Compare(const cJSON *a, const cJSON *b, cJSON_bool case_sensitive);
cJSON_bool __wrap_cJSON_Compare(const cJSON *a, const cJSON *b, cJSON_bool case_sensitive) {
  return n_compared++, __real_cJSON_Compare(a, b, case_sensitive);
}

static unsigned next_random(unsigned *state) { return (*state = *state * 1664525u + 1013904223u) >> 16; }

/* --- texts --- */

static void test_alike(void **state) {
  enum { DOCUMENTS = 200, MOST = 60 };
  unsigned random = 7;
  (void)state;
  for (int d = 0; d < DOCUMENTS; d++) {
    char names[MOST][8];
    const char *texts[MOST];
    const int n = (int)(next_random(&random) % MOST), kinds = 1 + (int)(next_random(&random) % MOST);
    struct tb_equal_texts equal;
    for (int i = 0; i < n; i++) {
      snprintf(names[i], sizeof names[i], "%u", next_random(&random) % (unsigned)kinds);
      texts[i] = names[i];
    }
    assert_true(tb_equal_texts_make(texts, n, &equal));
    for (int i = 0; i < n; i++) {
      int first = 0, next = i + 1;
      while (strcmp(names[first], names[i]) != 0) first++;
      while (next < n && strcmp(names[next], names[i]) != 0) next++;
      assert_int_equal(equal.first[i], first);
      assert_int_equal(equal.next[i], next < n ? next : -1);
    }
    tb_equal_texts_free(&equal);
  }
}

/* --- random documents --- */

enum { CASES = 40 };

/* What a case is of: equal numbers, equal names. id: they are told by this alone. */
struct drawn {
  int suite, workload, host, off, batch, id;
  bool right;
};

static cJSON *random_document(unsigned *random, struct drawn drawn[CASES]) {
  cJSON *document = cJSON_Parse("{\"environments\":[{\"host\":\"h0\"},{\"host\":\"h1\"}],\"cases\":[]}");
  for (int i = 0; i < CASES; i++) {
    struct drawn *d = &drawn[i];
    char text[512], switches[32] = "";
    *d = (struct drawn){(int)(next_random(random) % 2),
                        (int)(next_random(random) % 3),
                        (int)(next_random(random) % 2),
                        (int)(next_random(random) % 3),
                        i,
                        (int)(next_random(random) % CASES),
                        next_random(random) % 4 != 0};
    if (d->off) snprintf(switches, sizeof switches, "\"opt.a%d\":\"off\"", d->off);
    snprintf(text, sizeof text,
             "{\"id\":\"%d\",\"env\":%d,\"outcome\":\"%s\",\"place\":%d,\"case\":{\"suite\":\"s%d\","
             "\"workload\":\"w%d\",\"switches\":{%s}}}",
             d->id, d->host, d->right ? "ok" : "wrong", i, d->suite, d->workload, switches);
    cJSON_AddItemToArray(cJSON_GetObjectItem(document, "cases"), cJSON_Parse(text));
  }
  return document;
}

static bool same_model(const struct drawn *a, const struct drawn *b) {
  return a->suite == b->suite && a->workload == b->workload && a->host == b->host;
}

static void check_references(const cJSON *document, const struct drawn drawn[CASES], int expected[CASES]) {
  int *references = tb_ablation_references(document);
  assert_non_null(references);
  for (int i = 0; i < CASES; i++) {
    expected[i] = -1;
    for (int k = 0; k < CASES && drawn[i].off && expected[i] < 0; k++)
      if (drawn[k].right && !drawn[k].off && same_model(&drawn[k], &drawn[i])) expected[i] = k;
    assert_int_equal(references[i], expected[i]);
  }
  free(references);
}

static int place_of(const cJSON *one_case) { return (int)tb_doc_number(one_case, "place"); }

struct grouped {
  int n_groups, group[CASES];
};

static void take_group(const cJSON **cases, int count, void *context) {
  struct grouped *g = context;
  for (int i = 0; i < count; i++) g->group[place_of(cases[i])] = g->n_groups;
  g->n_groups++;
}

static bool one_group(const struct drawn *a, const struct drawn *b) {
  return a->suite == b->suite && a->workload == b->workload && a->off == b->off;
}

static void check_groups(const cJSON *document, const struct drawn drawn[CASES],
                         const int references[CASES]) {
  struct grouped found = {0};
  bool ablation, any = false;
  int n_groups = 0, expected[CASES];
  for (int i = 0; i < CASES; i++) found.group[i] = -1;
  assert_true(tb_each_group(document, take_group, &found, &ablation));
  for (int i = 0; i < CASES; i++) {
    const bool elsewhere = references[i] >= 0 && drawn[i].right;
    any |= elsewhere;
    expected[i] = -1;
    for (int k = 0; k < i && !elsewhere && expected[i] < 0; k++)
      if (expected[k] >= 0 && one_group(&drawn[k], &drawn[i])) expected[i] = expected[k];
    if (!elsewhere && expected[i] < 0) expected[i] = n_groups++;
    assert_int_equal(found.group[i], expected[i]);
  }
  assert_int_equal(ablation, any);
}

struct last {
  int count, places[CASES];
};

static void take_last(const cJSON *result, const cJSON *one_case, void *context) {
  struct last *last = context;
  assert_non_null(result);
  last->places[last->count++] = place_of(one_case);
}

static void check_last(const cJSON *document, const struct drawn drawn[CASES]) {
  struct last last = {0};
  int count = 0;
  assert_true(tb_each_last_case(document, take_last, &last));
  for (int i = 0; i < CASES; i++) {
    bool again = false;
    for (int k = i + 1; k < CASES; k++) again |= drawn[k].id == drawn[i].id;
    if (!again) assert_int_equal(last.places[count++], i);
  }
  assert_int_equal(last.count, count);
}

static void test_random(void **state) {
  enum { DOCUMENTS = 100 };
  unsigned random = 11;
  (void)state;
  for (int d = 0; d < DOCUMENTS; d++) {
    struct drawn drawn[CASES];
    int references[CASES];
    cJSON *document = random_document(&random, drawn);
    check_references(document, drawn, references);
    check_groups(document, drawn, references);
    check_last(document, drawn);
    cJSON_Delete(document);
  }
}

/* A case with a switch off is in one pair, however often the case with all on stands there. */
static void test_repeated_model(void **state) {
  struct fixture *f = *state;
  enum { TIMES = 20 };
  struct tb_ablation ablation;
  for (int i = 0; i < 2 * TIMES; i++) {
    cJSON *one = add_case(f, "m", "default", 8, 2);
    if (i % 2)
      cJSON_AddStringToObject(cJSON_GetObjectItem(cJSON_GetObjectItem(one, "case"), "switches"),
                              "opt.key_cache", "off");
  }
  assert_true(tb_ablation_make(f->document, &ablation));
  assert_int_equal(ablation.n_rows, TIMES);
  assert_int_equal(ablation.n_models, 1);
  tb_ablation_free(&ablation);
}

/* --- how much is compared --- */

/* Names and batch of case i; names that it leaves are the same for all. */
struct shaped {
  char workload[16], mode[16], off[16];
  int batch;
};
typedef void shape(int i, struct shaped *out);

static void shape_groups(int i, struct shaped *out) {
  snprintf(out->workload, sizeof out->workload, "w%d", i);
}
static void shape_curves(int i, struct shaped *out) {
  snprintf(out->workload, sizeof out->workload, "w%d", i / 2);
  out->batch = 1 + i % 2;
}
static void shape_modes(int i, struct shaped *out) { snprintf(out->mode, sizeof out->mode, "m%d", i); }
static void shape_models(int i, struct shaped *out) {
  snprintf(out->workload, sizeof out->workload, "w%d", i / 2);
  if (i % 2) snprintf(out->off, sizeof out->off, "opt.a");
}
static void shape_sets(int i, struct shaped *out) {
  snprintf(out->workload, sizeof out->workload, "w%d", i % 2);
  if (i >= 2) snprintf(out->off, sizeof out->off, "opt.a%d", i / 2);
}

static void fill(struct fixture *f, shape *make, int n) {
  cJSON_ReplaceItemInObject(f->document, "cases", cJSON_CreateArray());
  f->cases = cJSON_GetObjectItem(f->document, "cases");
  for (int i = 0; i < n; i++) {
    struct shaped s = {"w", "default", "", 8};
    make(i, &s);
    cJSON *one = add_case(f, s.workload, s.mode, s.batch, 1 + i / 1000.0);
    if (*s.off)
      cJSON_AddStringToObject(cJSON_GetObjectItem(cJSON_GetObjectItem(one, "case"), "switches"), s.off,
                              "off");
  }
}

static long compared_by(const struct tb_reporter *reporter, const cJSON *document) {
  char failure[TB_REPORT_FAILURE] = "", *text = NULL;
  n_compared = 0;
  assert_true(report_document(reporter->write, document,
                              &(struct tb_report_options){.verbose = true, .failure = failure}, &text));
  free(text);
  return n_compared;
}

static long compared_by_plot(struct fixture *f, enum tb_plot_kind kind) {
  const struct tb_plot_options options = {.kinds = 1u << kind};
  n_compared = 0;
  assert_true(tb_plot_result(f->document, f->stem, &options, &f->plot));
  return n_compared;
}

/* Four times as many cases: some four times as much, and not sixteen times. */
static void test_linear(void **state) {
  struct fixture *f = *state;
  static shape *const shapes[] = {shape_groups, shape_curves, shape_modes, shape_models, shape_sets};
  enum {
    SHAPES = sizeof shapes / sizeof *shapes,
    FEW = 200,
    TIMES = 4,
    BOUND = 2 * TIMES,
    WRITERS = 64,
    BESIDE = 2000 /* calls that do not depend on how many cases there are */
  };
  const int n_reporters = tb_reporter_count();
  const char *path = getenv("PATH");
  char *saved = strdup(path ? path : "");
  assert_in_range(n_reporters + TB_PLOT_KINDS, 1, WRITERS);
  setenv("CONBENCH_PROJECT_REPOSITORY", "https://github.com/org/repo", 1);
  setenv("PATH", "/nonexistent", 1); /* the script is enough */
  for (int s = 0; s < SHAPES; s++) {
    long compared[2][WRITERS] = {{0}};
    for (int more = 0; more < 2; more++) {
      fill(f, shapes[s], more ? TIMES * FEW : FEW);
      for (int r = 0; r < n_reporters; r++) compared[more][r] = compared_by(tb_reporter_at(r), f->document);
      for (int k = 0; k < TB_PLOT_KINDS; k++)
        compared[more][n_reporters + k] = compared_by_plot(f, (enum tb_plot_kind)k);
    }
    for (int w = 0; w < n_reporters + TB_PLOT_KINDS; w++) {
      const char *name =
          w < n_reporters ? tb_reporter_at(w)->name : tb_plot_kind_name((enum tb_plot_kind)(w - n_reporters));
      if (compared[1][w] > BOUND * compared[0][w] + BESIDE)
        fail_msg("%s, documents of shape %d: %ld comparisons of %d cases, %ld of %d", name, s, compared[0][w],
                 FEW, compared[1][w], TIMES * FEW);
    }
  }
  setenv("PATH", saved, 1);
  free(saved);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_alike), cmocka_unit_test(test_random),
                                     TEST(test_repeated_model), TEST(test_linear)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
