/* Names of kernels: "fused_" and the operations in it, producers first; unique in the launch list by a
 * number. */
#include "sched/schedule.h"

#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"

enum { NAME_OPERATIONS = 5 }; /* named; the rest is counted */

struct namer {
  struct tc_sched *s;
  int n_ops;
  struct tc_strbuf text, fused;
};
struct visit {
  int loop, next;
};
struct visits {
  struct visit *data;
  size_t len, cap;
};

static bool enter(struct namer *n, struct visits *stack, int loop) {
  const struct visit fresh = {loop, 0};
  if (n->s->info[loop].name_mark == n->s->namings) return true;
  n->s->info[loop].name_mark = n->s->namings;
  return tc_vec_push(n->s->alloc, stack, fresh);
}

/* The loop, after what is inlined into it. */
static bool name_member(struct namer *n, struct visits *stack, int member) {
  struct tc_sched *s = n->s;
  if (!enter(n, stack, member)) return false;
  while (stack->len) {
    struct visit *top = &stack->data[stack->len - 1];
    const struct tc_info *info = &s->info[top->loop];
    if (top->next == info->n_operands) {
      const struct tc_loop *loop = tc_loop_at(s, top->loop);
      /* A loop that only serves a library call or a result stands for no operation of its own. */
      const enum tc_op_kind kind = tc_op_row(loop->node->op)->kind;
      const bool copies = kind == TC_KIND_INPUT || (kind == TC_KIND_MATMUL && !loop->product);
      const char *name = copies ? "copy" : tc_op_row(loop->node->op)->name;
      tc_strbuf_printf(&n->fused, "%s%s", n->n_ops ? " " : "", name);
      if (n->n_ops++ < NAME_OPERATIONS) tc_strbuf_printf(&n->text, "_%s", name);
      stack->len--;
      continue;
    }
    const int read = s->operands.data[info->first_operand + top->next++];
    if (tc_loop_at(s, read)->value && !s->info[read].anchor && !enter(n, stack, read)) return false;
  }
  return true;
}

/* --- unique names --- */

enum { FIRST_NUMBER = 2 };

/* NULL: the name is free. */
static struct tc_taken_name *find_name(const struct tc_sched *s, uint64_t hash, const char *name) {
  size_t at = tc_hash_index_first(&s->name_index, hash);
  for (int i; (i = tc_hash_index_next(&s->name_index, hash, &at)) >= 0;)
    if (!strcmp(s->names.data[i].name, name)) return &s->names.data[i];
  return NULL;
}

static bool take_name(struct tc_sched *s, uint64_t hash, const char *name) {
  const struct tc_taken_name taken = {name, FIRST_NUMBER};
  return tc_vec_push(s->alloc, &s->names, taken) &&
         tc_hash_index_add(s->alloc, &s->name_index, hash, (int)s->names.len - 1);
}

const char *tc_unique_name(struct tc_sched *s, const char *stem) {
  const char *name = stem;
  struct tc_taken_name *of_stem = NULL;
  while (name) {
    const uint64_t hash = tc_hash_bytes(0, name, strlen(name));
    struct tc_taken_name *taken = find_name(s, hash, name);
    if (!taken) return take_name(s, hash, name) ? name : NULL;
    if (!of_stem) of_stem = taken; /* the first name is the stem */
    struct tc_strbuf text;
    tc_strbuf_init(&text, s->alloc);
    tc_strbuf_printf(&text, "%s_%d", stem, of_stem->next++);
    name = tc_strbuf_text(&text);
  }
  return NULL;
}

const char *tc_cluster_name(struct tc_sched *s, const struct tc_cluster *c, struct tc_launch *out) {
  struct namer n = {.s = s};
  struct visits stack = {0};
  bool good = true;
  s->namings++;
  tc_strbuf_init(&n.text, s->alloc);
  tc_strbuf_init(&n.fused, s->alloc);
  tc_strbuf_puts(&n.text, "fused");
  for (size_t i = 0; good && i < c->members.len; i++) good = name_member(&n, &stack, c->members.data[i]);
  if (n.n_ops > NAME_OPERATIONS) tc_strbuf_printf(&n.text, "_and_%d", n.n_ops - NAME_OPERATIONS);
  out->n_ops = n.n_ops;
  out->fused = tc_strbuf_text(&n.fused);
  return good && out->fused ? tc_strbuf_text(&n.text) : NULL;
}
