/* What else changed between two runs: hosts, software, and causes of noise. None of it is the program's, and
 * each may change its times; so whoever reads a verdict should know. */
#include <string.h>

#include "harness/base/args.h"
#include "harness/machine/noise.h"
#include "harness/verdict/verdicts.h"
#include "results/document.h"

struct list {
  struct tc_arena *arena;
  const char *text; /* "" at first; NULL: memory is out */
};

static void add(struct list *list, const char *what, const char *before, const char *after) {
  if (list->text)
    list->text =
        tb_format(list->arena, "%s%s%s: %s -> %s", list->text, *list->text ? "; " : "", what, before, after);
}

static const cJSON *find_cause(const cJSON *environment, const char *cause) {
  const cJSON *one;
  cJSON_ArrayForEach(one, tb_doc_at(environment, "noise"))
    if (!strcmp(tb_doc_text(one, "cause", ""), cause)) return one;
  return NULL;
}

bool tb_verdicts_remark_environments(struct tb_verdicts *c, const cJSON *base_document,
                                     const cJSON *head_document) {
  const cJSON *base = tb_case_environment(base_document, NULL),
              *head = tb_case_environment(head_document, NULL);
  const char *first = tb_doc_text(base, "host", NULL), *second = tb_doc_text(head, "host", NULL);
  if (first && second && strcmp(first, second) &&
      !tb_verdicts_remark(c, tb_format(c->arena, "base was measured on %s, head on %s", first, second)))
    return false;
  struct list list = {c->arena, ""};
  /* A fact that one of them does not know has not changed, as far as anyone can tell. */
  static const struct {
    const char *path, *what;
  } facts[] = {
      {"os", "system"}, {"kernel", "kernel"}, {"blas", "matrix library"}, {"llvm", "LLVM"}, {"lua", "Lua"}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    const char *before = tb_doc_text(base, facts[i].path, NULL),
               *after = tb_doc_text(head, facts[i].path, NULL);
    if (before && after && strcmp(before, after)) add(&list, facts[i].what, before, after);
  }
  /* Causes of noise that were there in one run alone. */
  const char *worse = tb_noise_state_text(TB_NOISE_WORSE);
  const cJSON *after;
  cJSON_ArrayForEach(after, tb_doc_at(head, "noise")) {
    const cJSON *before = find_cause(base, tb_doc_text(after, "cause", "?"));
    if (!before ||
        !strcmp(tb_doc_text(before, "state", ""), worse) == !strcmp(tb_doc_text(after, "state", ""), worse))
      continue;
    add(&list, tb_doc_text(after, "what", "?"), tb_doc_text(before, "seen", "?"),
        tb_doc_text(after, "seen", "?"));
  }
  if (!list.text) return false;
  return !*list.text ||
         tb_verdicts_remark(
             c, tb_format(c->arena, "besides the program, these changed between base's run and head's: %s",
                          list.text));
}
