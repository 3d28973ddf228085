/* What a case is called. Invariant: an id says everything that makes a case different from another; see
 * plan.h. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/plan/plan.h"

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct tb_setting *)a)->name, ((const struct tb_setting *)b)->name);
}

/* Those of its configuration that can change what is measured, and are not at their default. */
static tc_status list_switches(struct tc_arena *arena, struct tb_case *out, struct tc_error *err) {
  out->n_switches = 0;
  out->switches = tc_arena_bytes(arena, sizeof *out->switches * (size_t)tc_config_count());
  if (!out->switches) return tc_fail_memory(err, "plan");
  for (int i = 0; i < tc_config_count(); i++) {
    if (tc_config_row(i)->aside || tc_config_is_default(&out->config, i)) continue;
    struct tc_strbuf text;
    tc_strbuf_init(&text, tc_arena_alloc(arena));
    tc_config_get(&out->config, i, &text);
    const struct tb_setting setting = {tc_config_row(i)->name, tc_strbuf_text(&text)};
    if (!setting.value) return tc_fail_memory(err, "plan");
    out->switches[out->n_switches++] = setting;
  }
  qsort(out->switches, (size_t)out->n_switches, sizeof *out->switches, by_name);
  return TC_OK;
}

/* ";name=value" of parameters, smt, side and switches, sorted by name. */
static const char *id_tail(struct tc_arena *arena, const struct tb_case *kase) {
  enum { OTHERS = 2 /* smt, side */ };
  struct tb_setting *all =
      tc_arena_bytes(arena, sizeof *all * (size_t)(kase->n_params + kase->n_switches + OTHERS));
  int count = 0;
  if (!all) return NULL;
  for (int i = 0; i < kase->n_params; i++)
    all[count++] = (struct tb_setting){kase->params[i].name, kase->params[i].value.text};
  for (int i = 0; i < kase->n_switches; i++) all[count++] = kase->switches[i];
  if (!kase->smt) all[count++] = (struct tb_setting){"smt", "off"};
  if (kase->arm) all[count++] = (struct tb_setting){"side", kase->arm};
  qsort(all, (size_t)count, sizeof *all, by_name);
  const char *tail = "";
  for (int i = 0; i < count && tail; i++)
    tail = tb_format(arena, "%s;%s=%s", tail, all[i].name, all[i].value);
  return tail;
}

tc_status tb_case_name(struct tc_arena *arena, struct tb_case *kase, const char **group_key,
                       struct tc_error *err) {
  const tc_status status = list_switches(arena, kase, err);
  if (status) return status;
  const char *batch = kase->has_batch ? tb_format(arena, "b%lld", kase->batch) : "-",
             *tail = id_tail(arena, kase);
  if (!batch || !tail) return tc_fail_memory(err, "plan");
  const char *rest = tb_format(arena, "%s/%s/%s/%s/t%d%s", kase->device, kase->dtype, batch, kase->topology,
                               kase->threads, tail);
  kase->id = tb_format(arena, "%s/%s/%s/%s/%s", kase->suite, kase->workload, kase->backend, kase->mode, rest);
  *group_key = tb_format(arena, "%s/%s/%s", kase->suite, kase->workload, rest);
  return rest && kase->id && *group_key ? TC_OK : tc_fail_memory(err, "plan");
}

const char *tb_case_label(struct tc_arena *arena, const struct tb_case *kase) {
  const char *batch = kase->has_batch ? tb_format(arena, " b%lld", kase->batch) : "";
  const char *workload = strcmp(kase->suite, kase->workload) ? tb_format(arena, ".%s", kase->workload) : "";
  const char *backend = strcmp(kase->backend, "inductor") ? kase->backend : kase->mode;
  const char *arm = kase->arm ? tb_format(arena, " (%s)", kase->arm) : "";
  const char *label = batch && workload && arm
                          ? tb_format(arena, "%s%s%s %s%s", kase->suite, workload, batch, backend, arm)
                          : NULL;
  return label ? label : "";
}
