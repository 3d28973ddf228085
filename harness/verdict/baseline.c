/* Updating a baseline. */
#include "harness/verdict/baseline.h"
#include "results/document.h"

#include <math.h>
#include <string.h>

bool tb_update_parse(const char *text, enum tb_update *out) {
  static const struct {
    const char *word;
    enum tb_update update;
  } words[] = {{"no", TB_UPDATE_NO}, {"yes", TB_UPDATE_WINS}, {"all", TB_UPDATE_ALL}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(text, words[i].word)) continue;
    *out = words[i].update;
    return true;
  }
  return false;
}

/* What an update does with a case. */
enum change { KEEP, TAKE, TAKE_EXACT /* graph and instructions, not the times */, DROP };

static bool any_better(const struct tb_compared *one) {
  for (size_t i = 0; i < one->exact.len; i++)
    if (one->exact.data[i].outcome == TB_EXACT_BETTER) return true;
  return false;
}

static bool is_ok(const cJSON *one_case) { return !strcmp(tb_doc_text(one_case, "outcome", ""), "ok"); }

static enum change change_of(const struct tb_verdicts *c, const struct tb_compared *one,
                             enum tb_update update) {
  if (update == TB_UPDATE_NO) return KEEP;
  if (update == TB_UPDATE_ALL && one->presence == TB_PRESENCE_VANISHED)
    return c->interrupted || c->missing ? KEEP : DROP;
  if (!one->head || !is_ok(one->head)) return KEEP;
  if (update == TB_UPDATE_ALL || !one->base || !is_ok(one->base)) return TAKE; /* new, or it failed before */
  if (one->exit != TB_EXIT_PASS) return KEEP;
  if (one->timed && one->time.verdict == TB_VERDICT_FASTER) return TAKE;
  return any_better(one) ? TAKE_EXACT : KEEP;
}

int tb_baseline_changes(const struct tb_verdicts *c, enum tb_update update) {
  int count = 0;
  for (size_t i = 0; i < c->cases.len; i++) count += change_of(c, &c->cases.data[i], update) != KEEP;
  return count;
}

static cJSON *with_exact_of(const cJSON *base, const cJSON *head) {
  static const char *const parts[] = {"graph", "instructions"};
  cJSON *copy = cJSON_Duplicate(base, true);
  bool good = copy != NULL;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(head, parts[i]);
    cJSON *fresh = good && part ? cJSON_Duplicate(part, true) : NULL;
    if (!part) continue;
    cJSON_DeleteItemFromObjectCaseSensitive(copy, parts[i]);
    good = fresh && cJSON_AddItemToObject(copy, parts[i], fresh);
    if (!good) cJSON_Delete(fresh);
  }
  if (good) return copy;
  cJSON_Delete(copy);
  return NULL;
}

/* NULL when memory is out. */
static cJSON *changed_case(const struct tb_compared *one, enum change change, int offset) {
  if (change == TAKE) {
    /* A case with its number of environment moved by `offset`. */
    cJSON *copy = cJSON_Duplicate(one->head, true);
    cJSON *env = cJSON_GetObjectItemCaseSensitive(copy, "env");
    if (cJSON_IsNumber(env)) cJSON_SetNumberValue(env, env->valuedouble + offset);
    return copy;
  }
  return change == TAKE_EXACT ? with_exact_of(one->base, one->head) : cJSON_Duplicate(one->base, true);
}

static bool replace_cases(const struct tb_verdicts *c, cJSON *document, int offset, enum tb_update update) {
  cJSON *fresh = cJSON_CreateArray();
  bool good = fresh != NULL;
  for (size_t i = 0; i < c->cases.len && good; i++) {
    const struct tb_compared *one = &c->cases.data[i];
    const enum change change = change_of(c, one, update);
    if (change == DROP || (change == KEEP && !one->base)) continue;
    cJSON *copy = changed_case(one, change, offset);
    good = copy && cJSON_AddItemToArray(fresh, copy);
  }
  if (!good) {
    cJSON_Delete(fresh);
    return false;
  }
  return cJSON_ReplaceItemInObjectCaseSensitive(document, "cases", fresh);
}

static bool is_used(const cJSON *cases, int environment) {
  const cJSON *one;
  cJSON_ArrayForEach(one, cases)
    if (tb_doc_number(one, "env") == environment) return true;
  return false;
}

/* Environments that no case is of any more go, and the numbers of the others close up: else a baseline grows
 * with every update. */
static void drop_unused_environments(cJSON *document) {
  cJSON *environments = cJSON_GetObjectItemCaseSensitive(document, "environments"),
        *cases = cJSON_GetObjectItemCaseSensitive(document, "cases"), *one;
  for (int i = cJSON_GetArraySize(environments); i-- > 0;) {
    if (is_used(cases, i)) continue;
    cJSON_DeleteItemFromArray(environments, i);
    cJSON_ArrayForEach(one, cases) {
      cJSON *env = cJSON_GetObjectItemCaseSensitive(one, "env");
      if (cJSON_IsNumber(env) && env->valuedouble > i) cJSON_SetNumberValue(env, env->valuedouble - 1);
    }
  }
}

cJSON *tb_baseline_updated(const struct tb_verdicts *c, const cJSON *base, const cJSON *head,
                           enum tb_update update) {
  cJSON *out = cJSON_Duplicate(base, true);
  cJSON *environments = cJSON_GetObjectItemCaseSensitive(out, "environments");
  const cJSON *environment;
  const int offset = cJSON_GetArraySize(environments);
  bool good = out && cJSON_IsArray(environments);
  cJSON_ArrayForEach(environment, tb_doc_at(head, "environments"))
    good = good && cJSON_AddItemToArray(environments, cJSON_Duplicate(environment, true));
  good = good && replace_cases(c, out, offset, update);
  if (good) drop_unused_environments(out);
  cJSON *planned = cJSON_GetObjectItemCaseSensitive(out, "planned");
  if (good && planned) cJSON_SetNumberValue(planned, cJSON_GetArraySize(tb_doc_at(out, "cases")));
  if (good) return out;
  cJSON_Delete(out);
  return NULL;
}
