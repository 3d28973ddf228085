#include "lower/walk.h"

enum { NOT_ENTERED = -1 };

bool tc_walk_begin(struct tc_walk *walk, enum tc_walk_order order, int count) {
  walk->order = order;
  walk->stack.len = 0;
  walk->failed = false;
  walk->number++;
  while (walk->met.len < (size_t)count)
    if (!tc_vec_push(walk->alloc, &walk->met, 0)) return !(walk->failed = true);
  return true;
}

bool tc_walk_from(struct tc_walk *walk, const struct tc_expr *root) {
  const struct tc_walk_step step = {root, NOT_ENTERED};
  if (walk->failed || !tc_vec_push(walk->alloc, &walk->stack, step)) walk->failed = true;
  return !walk->failed;
}

/* Is it new to this walk? */
static bool enter(struct tc_walk *walk, const struct tc_expr *e) {
  if (walk->met.data[e->id] == walk->number) return false;
  walk->met.data[e->id] = walk->number;
  return true;
}

static const struct tc_expr *next_before_operands(struct tc_walk *walk) {
  while (walk->stack.len) {
    const struct tc_expr *e = walk->stack.data[--walk->stack.len].e;
    if (!enter(walk, e)) continue;
    for (int i = TC_EXPR_ARGS - 1; i >= 0; i--)
      if (e->args[i] && !tc_walk_from(walk, e->args[i])) return NULL;
    return e;
  }
  return NULL;
}

static const struct tc_expr *next_after_operands(struct tc_walk *walk) {
  while (walk->stack.len) {
    struct tc_walk_step *top = &walk->stack.data[walk->stack.len - 1];
    const struct tc_expr *e = top->e;
    if (top->next == NOT_ENTERED) {
      if (enter(walk, e))
        top->next = 0;
      else
        walk->stack.len--;
    } else if (top->next == TC_EXPR_ARGS) {
      walk->stack.len--;
      return e;
    } else {
      const struct tc_expr *operand = e->args[top->next++];
      if (operand && !tc_walk_from(walk, operand)) return NULL;
    }
  }
  return NULL;
}

const struct tc_expr *tc_walk_next(struct tc_walk *walk) {
  if (walk->failed) return NULL;
  return walk->order == TC_WALK_PRE ? next_before_operands(walk) : next_after_operands(walk);
}
