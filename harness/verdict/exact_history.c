/* The least of each figure. Invariant: of a figure and member there is one row at most. */
#include "harness/verdict/exact_history.h"

#include <math.h>
#include <string.h>

#include "harness/base/args.h"

/* Whatever the policy looks at later. */
static struct tb_exact_rule every(const void *policy, const struct tb_field *figure) {
  (void)policy;
  return (struct tb_exact_rule){true, figure->exact.tolerance};
}

static bool is_member(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static struct tb_exact_minimum *find(const struct tb_exact_history *past, const struct tb_exact_finding *f) {
  for (size_t i = 0; i < past->least.len; i++)
    if (past->least.data[i].figure == f->figure && is_member(past->least.data[i].member, f->member))
      return &past->least.data[i];
  return NULL;
}

/* A count that is not above 0 where nothing runs without any was not counted. */
static bool counts(const struct tb_exact_finding *f) {
  const bool counted =
      f->figure->exact.kind == TB_EXACT_INSTRUCTIONS || f->figure->exact.kind == TB_EXACT_STAGE;
  return isfinite(f->head) && (f->head > 0 || !counted);
}

static bool add_row(struct tc_arena *arena, struct tb_exact_history *past, const struct tb_exact_finding *f,
                    const char *started) {
  const struct tb_exact_minimum fresh = {f->figure, f->member ? tb_format(arena, "%s", f->member) : NULL,
                                         f->head, started};
  return (fresh.member || !f->member) && tc_vec_push(tc_arena_alloc(arena), &past->least, fresh);
}

bool tb_exact_history_add(struct tc_arena *arena, struct tb_exact_history *past, const cJSON *one_case,
                          const char *started, bool anew) {
  tb_exact_findings figures = {0};
  struct tc_arena *scratch = tc_arena_new(tc_alloc_system());
  const char *kept = tb_format(arena, "%s", started);
  bool good = scratch && kept && tb_exact_compare(scratch, NULL, one_case, every, NULL, &figures);
  if (anew) past->least.len = 0;
  for (size_t i = 0; good && i < figures.len; i++) {
    const struct tb_exact_finding *f = &figures.data[i];
    struct tb_exact_minimum *row = find(past, f);
    if (!counts(f)) continue;
    if (!row)
      good = add_row(arena, past, f, kept);
    else if (f->head < row->value)
      row->value = f->head, row->started = kept;
  }
  tc_arena_free(scratch);
  return good;
}

void tb_exact_history_hold(const struct tb_exact_history *past, tb_exact_findings *findings) {
  for (size_t i = 0; i < findings->len; i++) {
    struct tb_exact_finding *f = &findings->data[i];
    const struct tb_exact_minimum *least = find(past, f);
    if (past->accepted) {
      f->accepted = f->outcome == TB_EXACT_WORSE;
      if (f->accepted) f->outcome = TB_EXACT_CHANGED;
      continue;
    }
    const bool open =
        f->outcome == TB_EXACT_SAME || f->outcome == TB_EXACT_BETTER || f->outcome == TB_EXACT_NEW;
    if (!open || !least || !(f->head > least->value * (1 + f->tolerance))) continue;
    f->outcome = TB_EXACT_WORSE;
    f->base = least->value;
    f->since = least->started;
  }
}
