/* Exact figures. Invariants:
 * 1. A figure that the baseline has and head has not is MISSING, never same: what was not measured passes
 *    nothing.
 * 2. The order of findings is the table's, and of members the documents'. */
#include "harness/verdict/exact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "harness/base/args.h"
#include "results/document.h"

enum { HASH_DIGITS = 12 };

int tb_exact_count(void) {
  int count = 0;
  for (int i = 0; i < tb_field_count(); i++) count += tb_field_at(i)->exact.name != NULL;
  return count;
}

const struct tb_field *tb_exact_at(int index) {
  int i = 0;
  while (!tb_field_at(i)->exact.name || index--) i++;
  return tb_field_at(i);
}

const struct tb_field *tb_exact_find(const char *name) {
  for (int i = 0; i < tb_exact_count(); i++)
    if (tb_name_equal(tb_exact_at(i)->exact.name, name)) return tb_exact_at(i);
  return NULL;
}

const char *tb_exact_outcome_text(enum tb_exact_outcome outcome) {
  static const char *const texts[] = {"same", "worse", "better", "changed", "collapsed", "missing", "new"};
  return texts[outcome];
}

enum tb_exit tb_exact_outcome_exit(enum tb_exact_outcome outcome) {
  switch (outcome) {
    case TB_EXACT_WORSE: return TB_EXIT_REGRESSION;
    case TB_EXACT_COLLAPSE: return TB_EXIT_FAILED;
    case TB_EXACT_MISSING: return TB_EXIT_NOT_MEASURABLE;
    case TB_EXACT_SAME:
    case TB_EXACT_BETTER:
    case TB_EXACT_CHANGED:
    case TB_EXACT_NEW: break;
  }
  return TB_EXIT_PASS;
}

/* --- comparing --- */

/* The figure's number on one side; NaN: it is not there. */
static double number_of(const cJSON *item, enum tb_exact_rule_kind kind) {
  if (kind == TB_EXACT_LENGTH) return cJSON_IsArray(item) ? cJSON_GetArraySize(item) : NAN;
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static const char *text_of(const cJSON *item, enum tb_exact_rule_kind kind) {
  return kind == TB_EXACT_TEXT && cJSON_IsString(item) ? item->valuestring : NULL;
}

static bool collapsed(const struct tb_exact_finding *f) {
  const bool whole = f->figure->exact.kind == TB_EXACT_INSTRUCTIONS;
  if (!(f->base > 0) || (!whole && f->figure->exact.kind != TB_EXACT_STAGE)) return false;
  return f->head <= 0 || (whole && f->head < tb_exact_collapse_share * f->base);
}

static enum tb_exact_outcome outcome_of(const struct tb_exact_finding *f) {
  if (f->figure->exact.kind == TB_EXACT_TEXT) {
    if (!f->head_text) return TB_EXACT_MISSING;
    if (!f->base_text) return TB_EXACT_NEW;
    return strcmp(f->base_text, f->head_text) ? TB_EXACT_CHANGED : TB_EXACT_SAME;
  }
  if (isnan(f->head)) return TB_EXACT_MISSING;
  if (isnan(f->base)) return TB_EXACT_NEW;
  const double slack = f->tolerance * f->base;
  if (collapsed(f)) return TB_EXACT_COLLAPSE;
  if (f->head > f->base + slack) return TB_EXACT_WORSE;
  return f->head < f->base - slack ? TB_EXACT_BETTER : TB_EXACT_SAME;
}

struct comparing {
  struct tc_arena *arena;
  struct tb_exact_rule rule;
  tb_exact_findings *out;
};

static bool add(const struct comparing *c, const struct tb_field *figure, const char *member,
                const cJSON *base, const cJSON *head) {
  struct tb_exact_finding f = {.figure = figure, .member = member, .tolerance = c->rule.tolerance};
  f.base = number_of(base, figure->exact.kind);
  f.head = number_of(head, figure->exact.kind);
  f.base_text = text_of(base, figure->exact.kind);
  f.head_text = text_of(head, figure->exact.kind);
  if (isnan(f.base) && isnan(f.head) && !f.base_text && !f.head_text) return true;
  f.outcome = outcome_of(&f);
  return tc_vec_push(tc_arena_alloc(c->arena), c->out, f);
}

static bool add_members(const struct comparing *c, const struct tb_field *figure, const cJSON *base,
                        const cJSON *head) {
  const cJSON *one;
  cJSON_ArrayForEach(one, base)
    if (!add(c, figure, one->string, one, cJSON_GetObjectItemCaseSensitive(head, one->string))) return false;
  cJSON_ArrayForEach(one, head)
    if (!cJSON_GetObjectItemCaseSensitive(base, one->string) && !add(c, figure, one->string, NULL, one))
      return false;
  return true;
}

static bool compare_figure(const struct comparing *c, const struct tb_field *figure, const cJSON *base_case,
                           const cJSON *head_case) {
  const cJSON *base = tb_doc_at(base_case, figure->path), *head = tb_doc_at(head_case, figure->path);
  return tb_field_is_many(figure) ? add_members(c, figure, base, head) : add(c, figure, NULL, base, head);
}

bool tb_exact_compare(struct tc_arena *arena, const cJSON *base_case, const cJSON *head_case,
                      tb_exact_rule_of rule_of, const void *policy, tb_exact_findings *out) {
  for (int i = 0; i < tb_exact_count(); i++) {
    const struct tb_field *figure = tb_exact_at(i);
    const struct tb_exact_rule rule =
        rule_of ? rule_of(policy, figure) : (struct tb_exact_rule){true, figure->exact.tolerance};
    const struct comparing c = {arena, rule, out};
    if (rule.on && !compare_figure(&c, figure, base_case, head_case)) return false;
  }
  return true;
}

/* --- telling --- */

/* Of a hash its first digits tell as much as all; %.*s keeps shorter texts whole. */
static const char *side_text(struct tc_arena *arena, const struct tb_exact_finding *f, double number,
                             const char *text) {
  if (f->figure->exact.kind == TB_EXACT_TEXT)
    return text ? tb_format(arena, "%.*s", HASH_DIGITS, text) : "none";
  return isnan(number) ? "none" : tb_format(arena, "%.15g", number);
}

const char *tb_exact_line(struct tc_arena *arena, const struct tb_exact_finding *f) {
  const char *base = side_text(arena, f, f->base, f->base_text),
             *head = side_text(arena, f, f->head, f->head_text);
  const bool share = f->base > 0 && !isnan(f->head) && f->head != f->base;
  const char *change = share ? tb_format(arena, " (%+.3g%%)", 100 * (f->head / f->base - 1)) : "";
  const char *why = f->outcome == TB_EXACT_COLLAPSE
                        ? ": such a large fall means that something was not counted"
                    : f->outcome == TB_EXACT_MISSING ? ": head has no such figure"
                    : f->accepted                    ? ": a mark accepts it"
                    : f->since ? tb_format(arena, " than at %s, the smallest since the newest mark", f->since)
                               : "";
  const char *dot = f->member ? "." : "", *member = f->member ? f->member : "";
  if (!base || !head || !change || !why) return NULL;
  if (f->outcome == TB_EXACT_SAME && !share)
    return tb_format(arena, "%s%s%s %s", f->figure->exact.name, dot, member, head);
  return tb_format(arena, "%s%s%s %s -> %s%s: %s%s", f->figure->exact.name, dot, member, base, head, change,
                   tb_exact_outcome_text(f->outcome), why);
}

enum tb_exit tb_exact_exit(const tb_exact_findings *findings) {
  enum tb_exit worst = TB_EXIT_PASS;
  for (size_t i = 0; i < findings->len; i++)
    worst = tb_exit_worse(worst, tb_exact_outcome_exit(findings->data[i].outcome));
  return worst;
}
