/* `tbench compare BASE.json HEAD.json`: what changed between two stored results. */
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/cli/verdicts_verb.h"
#include "harness/verdict/stored.h"

struct documents {
  cJSON *base, *head;
};

static enum tb_exit load_both(const struct tb_verb *verb, struct documents *out) {
  struct tc_error err = {0};
  if (verb->args.words.len != 2)
    return tb_verb_usage("compare", "name two result files: tbench compare BASE.json HEAD.json");
  out->base = tb_stored_load_result(verb->arena, verb->args.words.data[0], &err);
  if (out->base) out->head = tb_stored_load_result(verb->arena, verb->args.words.data[1], &err);
  return out->head ? TB_EXIT_PASS : (enum tb_exit)tb_verb_usage("compare", "%s", err.message);
}

static enum tb_exit compare(const struct tb_verb *verb, const struct documents *documents,
                            const struct tb_policy *policy, const struct tb_telling *telling) {
  struct tb_verdicts c = tb_verdicts_new(verb->arena, policy, "compare");
  c.base = tb_origin_of(verb->args.words.data[0], documents->base);
  c.head = tb_origin_of(verb->args.words.data[1], documents->head);
  if (!tb_verdicts_add_documents(&c, documents->base, documents->head) || !tb_verdicts_decide_unpaired(&c) ||
      !tb_verdicts_judge(&c) || !tb_verdicts_remark_policy(&c))
    return tb_verb_failed("compare", "out of memory");
  return tb_verdicts_tell(&c, telling);
}

int tb_verb_compare(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "compare", argc, argv, 2)) return TB_EXIT_USAGE;
  struct documents documents = {NULL, NULL};
  struct tb_policy policy;
  const char *format = tb_args_value(&verb.args, "format");
  struct tb_telling telling = {.format = format ? format : "console",
                               .out = tb_args_value(&verb.args, "out")};
  enum tb_exit code = tb_verb_flag(&verb, "verbose", &telling.verbose) ? TB_EXIT_PASS : TB_EXIT_USAGE;
  if (code == TB_EXIT_PASS) code = tb_verdicts_check("compare", verb.arena, &telling);
  if (code == TB_EXIT_PASS)
    code = tb_verdicts_policy("compare", verb.arena, tb_args_value(&verb.args, "policy"), &policy);
  if (code == TB_EXIT_PASS) code = load_both(&verb, &documents);
  if (code == TB_EXIT_PASS) code = compare(&verb, &documents, &policy, &telling);
  cJSON_Delete(documents.base);
  cJSON_Delete(documents.head);
  tb_verb_end(&verb);
  return code;
}
