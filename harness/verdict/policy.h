/* What a gate demands: a Lua file of assignments, run in a state with no libraries and with bounds on memory
 * and steps.
 *
 *     threshold = 0.01              -- FIELD = value holds for all cases
 *     threshold["mlp*"] = 0.02      -- FIELD["pattern"] = value for those whose id matches (wherever it
 *     stands; of several, the last)
 *     exact.peak_bytes = 0.05       -- tolerance of an exact figure (results/fields.def); false: not checked
 *
 * Patterns are globs on a case's id: '*' any text, '?' one character, '[a-z]' one of those; all else is
 * itself. Every mistake (an unknown field or figure with the nearest name, a value of another kind, out of
 * bounds, or given twice) is TC_ARG whose message starts with FILE:LINE. Fields: policy.def. Everything lies
 * in the caller's arena. */
#ifndef TB_POLICY_H
#define TB_POLICY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "harness/verdict/exact.h"

enum tb_policy_field {
#define TB_POLICY(NAME, name, kind, scope, initial, lowest, highest, help) TB_POLICY_##NAME,
#include "harness/verdict/policy.def"
#undef TB_POLICY
  TB_POLICY_COUNT
};

struct tb_policy_rule {
  enum tb_policy_field field;
  const char *pattern;
  double value; /* yes and no are 1 and 0 */
  int line;
};
struct tb_policy_exact {
  const struct tb_field *figure;
  struct tb_exact_rule rule;
  int line;
};

struct tb_policy {
  const char *path;                    /* as told, "default" for the built-in one */
  TC_VEC(struct tb_policy_rule) rules; /* in the order of the file */
  TC_VEC(struct tb_policy_exact) exact;
};

/* `path` NULL or "default": the built-in text. TC_ARG: the file is broken or cannot be read; TC_NOMEM. */
tc_status tb_policy_load(struct tc_arena *arena, const char *path, struct tb_policy *out,
                         struct tc_error *err);
/* The same from text; `name` stands in messages. */
tc_status tb_policy_parse(struct tc_arena *arena, const char *name, const char *text, size_t length,
                          struct tb_policy *out, struct tc_error *err);
/* The default policy with its comments: what `policy=default` prints and what results/policy.lua holds. */
const char *tb_policy_default_text(void);

/* The value for a case (NULL: for fields that know no cases, such as budget). NaN: no limit. */
double tb_policy_value(const struct tb_policy *policy, enum tb_policy_field field, const char *case_id);
static inline double tb_policy_threshold(const struct tb_policy *p, const char *id) {
  return tb_policy_value(p, TB_POLICY_THRESHOLD, id);
}
static inline bool tb_policy_required(const struct tb_policy *p, const char *id) {
  return tb_policy_value(p, TB_POLICY_REQUIRED, id) != 0;
}
/* Floor above which a case is too noisy to be measured. */
static inline double tb_policy_floor_limit(const struct tb_policy *p, const char *id) {
  return tb_policy_value(p, TB_POLICY_FLOOR_LIMIT, id);
}
/* Calls after which compiling has to have paid off; NaN: no limit. */
static inline double tb_policy_pays_off(const struct tb_policy *p, const char *id) {
  return tb_policy_value(p, TB_POLICY_PAYS_OFF_AFTER_CALLS, id);
}
/* The rule of an exact figure; has the type that tb_exact_compare wants. `policy` is a struct tb_policy. */
struct tb_exact_rule tb_policy_exact_rule(const void *policy, const struct tb_field *figure);
/* Patterns of `required` that match none of these ids (a required case is missing), each once, in the arena.
 * NULL when memory is out. */
const char **tb_policy_unmatched(struct tc_arena *arena, const struct tb_policy *policy,
                                 const char *const *ids, int n_ids, int *count);

/* Of the other rules by pattern those that match none of these ids, as 'threshold["mpl*"] in line 3': mostly
 * a slip of the pen. Likewise. */
const char **tb_policy_idle(struct tc_arena *arena, const struct tb_policy *policy, const char *const *ids,
                            int n_ids, int *count);

/* Whether a text matches a glob as above. */
bool tb_glob(const char *pattern, const char *text);

#endif
