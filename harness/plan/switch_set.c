/* Reading of switch sets. Invariant: a switch that makes no other case is refused, as is a word that is no
 * name=value. */
#include "harness/plan/switch_set.h"

#include <string.h>

#include "harness/base/args.h"

static tc_status apply_one(struct tc_arena *arena, const char *word, size_t length, struct tc_config *config,
                           struct tc_error *err) {
  const char *equals = memchr(word, '=', length);
  if (!equals || equals == word)
    return tc_fail(err, TC_ARG, "suite", "'%.*s': write name=value, with blanks between switches",
                   (int)length, word);
  const char *name = tb_format(arena, "%.*s", (int)(equals - word), word),
             *value = tb_format(arena, "%.*s", (int)(word + length - equals - 1), equals + 1);
  if (!name || !value) return tc_fail_memory(err, "suite");
  const int index = tc_config_find(name);
  if (index >= 0 && tc_config_row(index)->aside)
    return tc_fail(err, TC_ARG, "suite", "%s does not make another case", name);
  return tc_config_set(config, name, value, err);
}

tc_status tb_switch_set_apply(struct tc_arena *arena, const char *set, struct tc_config *config,
                              struct tc_error *err) {
  tc_status status = TC_OK;
  for (set += strspn(set, " "); *set && !status; set += strspn(set, " ")) {
    const size_t length = strcspn(set, " ");
    status = apply_one(arena, set, length, config, err);
    set += length;
  }
  return status;
}
