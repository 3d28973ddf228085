/* Sums of a result that must hold in each that tbench wrote: a file that says two things is not believed.
 *
 * Only what no run can write is wrong. A run that was ended early, that counted and did not time, a peer, a
 * case that failed or is unsupported lack parts; what a document lacks is not looked at, nor what other
 * programs may have left out. */
#include "harness/verdict/stored_check.h"

#include <math.h>

#include "harness/base/args.h"
#include "harness/base/text.h"
#include "harness/verdict/exact.h"
#include "results/document.h"

/* Times are written in tenths of a nanosecond: what is compared may each be half of one away, and a number of
 * a few digits more. */
static const double rounded_ns = 0.15, rounded_share = 1e-5;

struct check {
  struct tc_arena *arena;
  const cJSON *document, *one;
  const char *why; /* the first that was found; NULL: none */
};

static void tell(struct check *c, const char *text) {
  if (!c->why) c->why = text ? text : "says two things"; /* NULL: memory is out */
}

/* A time is the median of those of its replicates; earlier versions took that of all their samples. Either
 * lies among them. */
static void check_median(struct check *c, const char *name) {
  const cJSON *timing = cJSON_GetObjectItemCaseSensitive(c->one, name), *replicate;
  const double median = tb_doc_number(timing, "median_ns");
  double least = INFINITY, most = -INFINITY;
  cJSON_ArrayForEach(replicate, tb_doc_at(timing, "replicates")) {
    const double ns = tb_doc_number(replicate, "median_ns");
    least = fmin(least, ns); /* fmin and fmax pass over a NaN */
    most = fmax(most, ns);
  }
  if (median < least - rounded_ns - rounded_share * fabs(least) && isfinite(least))
    tell(c, tb_format(c->arena, "%s.median_ns is %.10g, and the least of its replicates %.10g", name, median,
                      least));
  if (median > most + rounded_ns + rounded_share * fabs(most) && isfinite(most))
    tell(c, tb_format(c->arena, "%s.median_ns is %.10g, and the largest of its replicates %.10g", name,
                      median, most));
}

/* Ratios of times are of times. */
static void check_times(struct check *c) {
  static const char *const parts[] = {"speedup", "probe"};
  if (!cJSON_IsNull(tb_doc_at(c->one, "steady"))) return;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (cJSON_IsObject(tb_doc_at(c->one, parts[i])))
      tell(c, tb_format(c->arena, "it is ok and has figures based on its time (%s), but no time (steady)",
                        parts[i]));
}

static void check_case(struct check *c) {
  static const char *const timings[] = {"baseline", "steady", "probe"};
  for (size_t i = 0; i < sizeof timings / sizeof *timings; i++) check_median(c, timings[i]);
  for (int i = 0; i < tb_exact_count(); i++) {
    const struct tb_field *figure = tb_exact_at(i);
    const double count = tb_doc_number(c->one, figure->path);
    if (count < 0)
      tell(c, tb_format(c->arena, "%s is %.10g, but a count cannot be negative", figure->path, count));
  }
  const cJSON *all = tb_doc_at(c->document, "environments");
  const int count = cJSON_GetArraySize(all), number = tb_case_environment_number(c->one);
  if (cJSON_IsArray(all) && tb_doc_at(c->one, "env") && (number < 0 || number >= count))
    tell(c,
         tb_format(c->arena, "its env names none of the result's %d environment%s", count, tb_plural(count)));
  if (!tb_case_right(c->one)) return;
  check_times(c);
  if (cJSON_IsFalse(tb_doc_at(c->one, "correctness.ok")))
    tell(c, "its outcome is ok, but its results were wrong (correctness.ok)");
}

const char *tb_stored_wrong(struct tc_arena *arena, const cJSON *document) {
  struct check c = {.arena = arena, .document = document};
  cJSON_ArrayForEach(c.one, tb_doc_at(document, "cases")) {
    check_case(&c);
    if (!c.why) continue;
    const char *text =
        tb_format(arena, "contradicts itself: case %s: %s", tb_doc_text(c.one, "id", "?"), c.why);
    return text ? text : "contradicts itself";
  }
  return NULL;
}
